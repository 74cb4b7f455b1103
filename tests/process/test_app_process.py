"""The app as a process: what survives a kill, what it says when it cannot open, what the terminal answers."""

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from playwright.sync_api import Error as BrowserError

from realign.store import Store
from tests.conftest import ROOT, App
from tests.tiny import make_tiny_model

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_tiny_model(tmp_path_factory.mktemp("tiny"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["max_position_embeddings"] = 8192  # its tokens are bytes, and a revision prompt holds a whole draft
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture
def app(make_app: Callable[..., App], tiny: Path) -> App:
    app = make_app(REALIGN_POLICY=str(tiny), REALIGN_REVISER=str(tiny))
    app.start()
    return app


def open_page(app: App, chromium: Browser | BrowserContext) -> Page:
    page = chromium.new_page()
    page.goto(app.address)
    expect(page.locator("#final textarea")).to_be_enabled(timeout=60_000)
    page.wait_for_function("!realign.justDrawn()")  # sooner, a press is taken for the item before
    return page


def decisions(app: App) -> dict[str, int]:
    """How many decisions each prompt has, by its text."""
    store = Store(f"sqlite:///{app.home / 'realign.sqlite3'}")
    try:
        counted = {prompt.messages[-1].content: len(store.history(prompt.id)) for prompt in store.prompts()}
        return {text: n for text, n in counted.items() if n}
    finally:
        store.close()


def prompt_text(page: Page) -> str:
    return page.locator("#prompt .r-words").last.text_content() or ""


def test_a_kill_between_the_click_and_the_next_item_leaves_the_decision_there_once(app: App, chromium: Browser) -> None:
    rng = random.Random(7)
    context = chromium.new_context()  # one browser of one person, so that what was open is open again
    for trial in range(4):
        page = open_page(app, context)
        before = decisions(app)
        text = prompt_text(page)
        page.locator("#skip").click()
        if trial % 2:
            expect(page.locator("#prompt .r-words").last).not_to_have_text(text, timeout=20_000)
            moved = True
        else:
            time.sleep(rng.uniform(0, 0.05))
            moved = False
        app.kill()
        with contextlib.suppress(BrowserError):
            page.close()
        after = decisions(app)
        assert {other: n for other, n in after.items() if other != text} == before
        assert after.get(text, 0) == 1 if moved else after.get(text, 0) in (0, 1)
        app.start()
        again = open_page(app, context)
        assert (prompt_text(again) == text) == (text not in after)
        again.close()


def test_a_double_click_decides_one_item_once(app: App, chromium: Browser) -> None:
    page = open_page(app, chromium)
    text = prompt_text(page)
    page.locator("#skip").dblclick()
    expect(page.locator("#prompt .r-words").last).not_to_have_text(text, timeout=20_000)
    expect(page.locator("#final textarea")).to_be_enabled(timeout=60_000)
    assert decisions(app) == {text: 1}
    page.close()


def test_undo_shows_the_item_again_and_both_decisions_are_kept(app: App, chromium: Browser) -> None:
    page = open_page(app, chromium)
    text = prompt_text(page)
    page.keyboard.press("s")
    expect(page.locator("#prompt .r-words").last).not_to_have_text(text, timeout=20_000)
    page.keyboard.press("z")
    expect(page.locator("#prompt .r-words").last).to_have_text(text, timeout=20_000)
    assert decisions(app) == {text: 2}  # the skip, and its withdrawal
    page.close()


def test_two_browsers_get_different_items(app: App, chromium: Browser) -> None:
    pages = []
    for _ in range(2):
        context = chromium.new_context()
        page = context.new_page()
        page.goto(app.address)
        expect(page.locator("#final textarea")).to_be_enabled(timeout=60_000)
        pages.append(page)
    assert prompt_text(pages[0]) != prompt_text(pages[1])
    for page in pages:
        page.context.close()


def test_hostile_text_of_a_person_stays_text(app: App, chromium: Browser) -> None:
    page = open_page(app, chromium)
    hostile = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>{{value}}${value}"
    page.locator("#own-prompt textarea").fill(hostile)
    page.locator("#own-prompt textarea").press("Enter")
    expect(page.locator("#prompt .r-words").last).to_have_text(hostile, timeout=20_000)
    assert page.locator("#prompt img, #prompt script").count() == 0
    assert page.title() == "ReAlign Studio"
    page.close()


def test_keys_do_nothing_while_a_person_types(app: App, chromium: Browser) -> None:
    page = open_page(app, chromium)
    text = prompt_text(page)
    page.locator("#final textarea").focus()
    page.keyboard.type("arstzvd")
    page.wait_for_timeout(500)
    assert prompt_text(page) == text
    assert decisions(app) == {}
    page.close()


def test_a_taken_port_is_said_with_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        environ = {**os.environ, "REALIGN_HOME": str(tmp_path), "GRADIO_SERVER_PORT": port, "REALIGN_POLICY": "/none"}
        done = subprocess.run(
            [sys.executable, "app.py"], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=90, check=False
        )
    assert done.returncode == 2
    assert f"Port {port} on 127.0.0.1 is taken" in done.stderr
    assert "GRADIO_SERVER_PORT=" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_request_from_another_site_is_refused(app: App) -> None:
    request = urllib.request.Request(
        f"{app.address}/gradio_api/queue/join", data=b"{}", headers={"Origin": "http://evil.example"}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == 403
    proxied = f"{app.address}/gradio_api/file=http%3A//evil.example/x"
    with pytest.raises(urllib.error.HTTPError) as blocked:
        urllib.request.urlopen(proxied, timeout=10)
    assert blocked.value.code == 403


def test_an_unknown_host_name_is_refused(app: App) -> None:
    request = urllib.request.Request(f"{app.address}/", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == 400


def test_a_model_that_does_not_exist_is_said_on_the_page_and_the_page_stays_open(
    make_app: Callable[..., App], chromium: Browser, tmp_path: Path
) -> None:
    app = make_app(REALIGN_POLICY=str(tmp_path / "nothing-here"))
    app.start()
    page = chromium.new_page()
    page.goto(app.address)
    expect(page.locator("#state")).to_contain_text("is no model we know", timeout=60_000)
    page.close()


def test_the_terminal_prints_one_json_object_or_one_sentence(make_app: Callable[..., App], tiny: Path) -> None:
    app = make_app(REALIGN_POLICY=str(tiny), REALIGN_REVISER=str(tiny))
    for words in (["runs"], ["score"], ["doctor"]):
        done = app.terminal(*words, "--json")
        assert done.returncode == 0, done.stderr
        assert isinstance(json.loads(done.stdout), dict)
    missing = app.terminal("import", "nowhere.jsonl")
    assert missing.returncode == 2
    assert missing.stdout == ""
    assert len(missing.stderr.strip().splitlines()) == 1
    wrong = app.terminal("train", "reviser", "--set", "beta=-1")
    assert wrong.returncode == 2
    assert "beta" in wrong.stderr


def test_a_wrong_argument_is_one_sentence_and_exit_code_2(make_app: Callable[..., App], tiny: Path) -> None:
    app = make_app(REALIGN_POLICY=str(tiny), REALIGN_REVISER=str(tiny))
    for words in (
        ["bogus"],
        ["draft", "--samples", "abc"],
        ["draft", "--limit", "0"],
        ["train", "reviser", "--set", "stage=policy"],
    ):
        done = app.terminal(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_a_run_that_cannot_be_taken_does_not_keep_the_page_from_opening(
    make_app: Callable[..., App], tiny: Path
) -> None:
    app = make_app(REALIGN_POLICY=str(tiny), REALIGN_REVISER=str(tiny))
    assert app.terminal("draft", "--limit", "2", "--no-wait").returncode == 0
    run = next(path for path in (app.home / "runs").iterdir() if not path.name.startswith("."))
    (run / "output").mkdir(exist_ok=True)
    (run / "output" / "drafts.jsonl").write_bytes(b"\xff\xfenot a record\n")
    (app.home / "realign.sqlite3").rename(app.home / "moved.sqlite3")
    app.start()
    assert app.terminal("runs", "--json").returncode == 0


def test_a_late_text_never_covers_another_item(app: App, chromium: Browser) -> None:
    page = open_page(app, chromium)
    prompt, draft = page.locator("#prompt .r-words").last, page.locator("#draft .r-text")
    page.locator("#new-draft").click()
    own = "What is the capital of France?"
    page.locator("#own-prompt textarea").fill(own)
    page.locator("#own-prompt textarea").press("Enter")
    expect(prompt).to_have_text(own, timeout=20_000)
    for _ in range(40):  # until its own texts are there, and a while after
        assert prompt.text_content() == own
        page.wait_for_timeout(100)
    expect(page.locator("#final textarea")).to_be_enabled(timeout=60_000)
    page.wait_for_timeout(1000)
    assert prompt.text_content() == own
    shown = draft.text_content()
    page.locator("#accept").click()
    expect(prompt).not_to_have_text(own, timeout=20_000)
    store = Store(f"sqlite:///{app.home / 'realign.sqlite3'}")
    last = store.decided(newest_first=True)[0]
    store.close()
    assert (last.prompt.messages[-1].content, last.draft.text) == (own, shown)
    page.close()


def test_undo_brings_back_toggles_and_typed_text(app: App, chromium: Browser) -> None:
    page = open_page(app, chromium)
    final, first = page.locator("#final textarea"), page.locator("#changes .r-hunk").first
    page.keyboard.press("j")
    page.keyboard.press(" ")
    expect(first).to_have_attribute("aria-pressed", "false")
    page.wait_for_timeout(500)
    text = f"{final.input_value()} PS: only Friday."
    final.fill(text)
    final.blur()
    before = prompt_text(page)
    page.keyboard.press("a")
    expect(page.locator("#prompt .r-words").last).not_to_have_text(before, timeout=20_000)
    page.keyboard.press("z")
    expect(page.locator("#prompt .r-words").last).to_have_text(before, timeout=20_000)
    expect(final).to_have_value(text)
    expect(first).to_have_attribute("aria-pressed", "false")
    page.close()
