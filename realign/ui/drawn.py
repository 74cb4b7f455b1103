"""The page's own components: a `gr.HTML` whose value is data, drawn in the browser as text nodes only."""

import json
from typing import Any

import gradio as gr

Value = dict[str, Any]


def drawn(
    kind: str,
    value: Value | None = None,
    *,
    elem_id: str | None = None,
    classes: str = "r-card",
    events: tuple[str, ...] = (),
) -> gr.HTML:
    """Return a component that `window.realign.<kind>` draws whenever its value changes, and that sends `events`."""
    return gr.HTML(
        value or {},
        html_template='<div class="r-root"></div>',
        js_on_load=f"""
            const send = (name, data) => trigger(name, data);
            const draw = () => window.realign.{kind}(element, props.value, send);
            watch('value', draw);
            draw();
            const events = {json.dumps(events)};
        """,
        apply_default_css=False,
        elem_id=elem_id,
        elem_classes=classes.split(),
    )
