"""Every tab can be used with a screen reader and read by weak eyes, in light, dark and on a phone, as axe sees it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from realign.ui.keys import CURATE
from tests.browser.curating import seed
from tests.conftest import App

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

KEYS = {action.name: action.key for action in CURATE}
SHEETS = ("flag", "ask", "history", "guidelines", "keys")
OTHER_TABS = ("Browse", "Train", "Benchmark", "Chat")
LONG = f"""# Title

Some `code`, [a bank](https://bank.invalid/x), ![a cat](https://cat.invalid/c.png) and $\\boxed{{x^2}}$

> a quote with `code`

```python
{"x = 1 + " * 40}
```

|{"a long head of a column|" * 12}
|{"-|" * 12}
|{"`cell`|" * 12}

$$
{"a + b + " * 40}c
$$

- one
- {"two and more " * 60}
"""
WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize(
    ("scheme", "size"),
    [("light", WIDE), ("dark", WIDE), ("light", PHONE), ("dark", PHONE)],
    ids=["light", "dark", "phone in light", "phone in dark"],
)
def test_axe_finds_no_serious_fault(curating: App, chromium: Browser, scheme: str, size: dict[str, int]) -> None:
    context = chromium.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{curating.address}/?__theme={scheme}")
    decide_one(page)
    assert page.locator("body.dark").count() == (scheme == "dark")
    found = serious_faults(page, "Curate")
    for sheet in SHEETS:
        page.keyboard.press(KEYS[sheet])
        expect(page.locator("dialog[open]")).to_be_visible()
        found += serious_faults(page, f"Curate, {sheet}")
        page.keyboard.press("Escape")
        expect(page.locator("dialog[open]")).to_have_count(0)
    for name in OTHER_TABS if size == WIDE else ():
        tab = page.get_by_role("tab", name=name)
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        found += serious_faults(page, name)
    context.close()
    assert found == [], "\n".join(["axe finds:", *found])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_long_texts_raw_or_rendered(
    make_app: Callable[..., App], tmp_path: Path, tiny: Path, chromium: Browser, scheme: str
) -> None:
    seed(tmp_path / "home", str(tiny), [(LONG, LONG, [LONG.replace("one", "three")])])
    app = make_app(REALIGN_POLICY=str(tiny), REALIGN_REVISER=str(tiny), REALIGN_DEVICE="cpu")
    app.start()
    context = chromium.new_context(viewport=WIDE, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{app.address}/?__theme={scheme}")
    expect(page.locator("#final textarea")).to_be_visible(timeout=60_000)
    found = serious_faults(page, "raw")
    page.keyboard.press(KEYS["view"])
    expect(page.locator("#draft math").first).to_be_visible()
    found += serious_faults(page, "rendered")
    context.close()
    assert found == [], "\n".join(["axe finds:", *found])


def decide_one(page: Page) -> None:
    """Refuse an edit, accept the rest, and wait for the next item: then Browse has something to show."""
    prompt, final = page.locator("#prompt .r-words"), page.locator("#final textarea")
    expect(final).to_be_visible(timeout=60_000)
    page.wait_for_timeout(500)  # a press right after an item came is taken for the item before
    before = prompt.inner_text()
    page.locator("#changes .r-hunk").first.click()
    page.keyboard.press(KEYS["accept"])
    expect(prompt).not_to_have_text(before, timeout=30_000)
    expect(final).to_be_visible(timeout=60_000)
    page.locator("#changes .r-hunk").first.click()


def serious_faults(page: Page, where: str) -> list[str]:
    """Each place that breaks a rule whose breach is serious or critical, with what axe says of it."""
    page.wait_for_timeout(1_000)  # what fades in or is drawn late is measured when it is there
    return [f"{where}: {fault}" for fault in _faults(Axe().run(page).response["violations"])]


def _faults(violations: list[dict]) -> Iterator[str]:
    for violation in violations:
        if violation["impact"] in ("serious", "critical"):
            for node in violation["nodes"]:
                reason = " ".join(node["failureSummary"].split())
                yield f"{violation['id']} ({violation['impact']}) at {node['target']}: {reason}"
