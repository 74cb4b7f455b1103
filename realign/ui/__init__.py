"""The screens: `build` puts the tabs together, `serve` opens the page with the settings that keep it safe."""

from collections.abc import Callable
from typing import Any

import gradio as gr
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from realign.errors import InvalidInput
from realign.studio import Studio
from realign.ui import benchmark, browse, chat, curate, theme, train
from realign.ui.boundary import spoken
from realign.ui.drawn import Value, drawn
from realign.ui.guard import Guard
from realign.ui.words import TRANSLATIONS, i18n, t

TABS = (curate, browse, train, benchmark, chat)
"""Each has TITLE and `build(studio, page, opened)`. A new tab is one entry here."""

MAX_UPLOAD = "200mb"


def build(studio: Studio) -> gr.Blocks:
    """Return the page on top of `studio`."""
    # Uploads and exports are copied into Gradio's cache; a day later nobody needs them any more.
    with gr.Blocks(
        title="ReAlign Studio", fill_width=True, analytics_enabled=False, delete_cache=(3600, 86400)
    ) as blocks:
        with gr.Row(elem_id="head"):
            gr.HTML("", html_template="<h1>ReAlign Studio</h1>", js_on_load=None, elem_id="brand")
            state = drawn("state", _state(studio), elem_id="state", classes="r-state")
        with gr.Tabs(elem_id="tabs"):
            for tab in TABS:
                with gr.Tab(t(tab.TITLE), id=tab.TITLE.lower()) as opened:
                    tab.build(studio, blocks, opened)
        seen: gr.State = gr.State({})
        clock = gr.Timer(2)
        clock.tick(
            spoken(lambda shown: _changed(shown, _state(studio))),
            inputs=seen,
            outputs=[state, seen],
            queue=False,
            show_progress="hidden",
            api_visibility="private",
        )
    return blocks


def serve(studio: Studio, said: Callable[[str], None]) -> None:
    """Open the page, tell `said` its address, and serve until interrupted; raise `InvalidInput` for a taken port."""
    blocks, settings = build(studio), studio.settings
    blocks.queue(api_open=False, max_size=64, default_concurrency_limit=16)
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=[*settings.trusted_hosts]),
        Middleware(Guard, trust_proxy=settings.trust_proxy),
    ]
    try:
        _, address, _ = blocks.launch(
            server_name=settings.host,
            server_port=settings.port,
            app_kwargs={"middleware": middleware, "routes": [Route("/healthz", _healthy)]},
            theme=theme.theme(),
            css=theme.style(),
            head=theme.head(TRANSLATIONS),
            blocked_paths=[str(settings.home)],
            max_file_size=MAX_UPLOAD,
            i18n=i18n,
            state_session_capacity=500,
            show_error=False,
            enable_monitoring=False,
            run_history=False,
            ssr_mode=False,
            share=False,
            pwa=False,
            mcp_server=False,
            footer_links=[],
            prevent_thread_lock=True,
            quiet=True,
        )
    except OSError as error:
        raise InvalidInput(
            f"Port {settings.port} on {settings.host} is taken, or may not be used. Stop what listens there, or choose "
            "another one: GRADIO_SERVER_PORT=7861 python app.py"
        ) from error
    said(str(address))
    blocks.block_thread()


async def _healthy(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok")


def _state(studio: Studio) -> Value:
    now = studio.model_state()
    in_use = f"policy: {studio.spec('policy').label} · reviser: {studio.spec('reviser').label}"
    return {"state": now.state, "message": now.message, "title": in_use, "words": studio.settings.annotator}


def _changed(shown: Value, now: Value) -> tuple[Any, Any]:
    return (gr.skip(), gr.skip()) if shown == now else (now, now)
