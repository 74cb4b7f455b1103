"""The whole round in a browser, with the real embedded model: nothing scripted, nothing canned."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from realign.records import Revision
from realign.runs import Run, RunView, listing
from realign.store import Store
from tests.conftest import App

pytestmark = [pytest.mark.browser, pytest.mark.model, pytest.mark.timeout(900)]

WRITTEN_MS = 120_000
RUN_MS = 420_000


class Ruled(NamedTuple):
    """What the screen showed when a ruling was made."""

    draft: str
    revision: str
    final: str
    ruling: str


@pytest.fixture
def studio(make_app: Callable[..., App], model_cache: Path) -> App:
    app = make_app(REALIGN_MODEL_CACHE=str(model_cache))
    app.start()
    return app


def test_draft_revise_decide_export_train_promote_and_score(studio: App, chromium: Browser, tmp_path: Path) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    strange: list[str] = []
    page.on("request", lambda request: strange.append(request.url) if not_ours(request.url, studio) else None)
    page.goto(studio.address)

    first = wait_for_item(page)
    assert first.draft and first.revision
    studio.terminal("draft", "--limit", "18")  # many at once are faster than one by one
    studio.terminal("revise")

    ruled = curate(page)
    assert [row.ruling for row in ruled].count("accepted") == 6

    expected = sorted(pair for row in ruled for pair in pairs_of(row))
    assert exported(page, tmp_path) == expected

    train(page, "2 Train the reviser", "reviser")
    reviser = finished(studio, "reviser")
    assert_first_step_is_ln_2(reviser.run)
    promote(page, "reviser", reviser.info.name)

    page.get_by_role("tab", name="Curate").click()
    page.locator("#new-revision").click()
    expect(page.locator("#revision .r-note")).to_have_text(f"reviser · {reviser.info.name}", timeout=WRITTEN_MS)
    newest = newest_revision(studio)
    assert newest.model.adapter == reviser.info.name
    assert newest.model.adapter_hash is not None

    sample_drafts(page)
    train(page, "4 Train the policy", "policy")
    policy = finished(studio, "policy")
    assert_first_step_is_ln_2(policy.run)
    kinds = {row["kind"] for row in policy.run.rows("pairs")}
    assert kinds == {"on_policy", "revision"}
    promote(page, "policy", policy.info.name)

    benchmark(page, policy.info.name)
    finished(studio, "benchmark")
    line = page.locator(".r-scores tbody tr").first
    expect(line).to_contain_text(policy.info.name, timeout=30_000)
    cells = line.locator("td").all_inner_texts()
    lower, upper = (float(word) for word in cells[4].split(" – "))
    assert 0 <= lower < upper <= 100
    assert cells[5] == "4"
    assert strange == []
    page.close()


def not_ours(url: str, app: App) -> bool:
    return not url.startswith((app.address, "data:", "blob:"))


def wait_for_item(page: Page) -> Ruled:
    """Wait until draft and revision are written and return what the screen shows."""
    final = page.locator("#final textarea")
    expect(final).to_be_enabled(timeout=WRITTEN_MS)
    page.wait_for_function("!realign.justDrawn()")  # sooner, a press is taken for the item before
    draft, revision = (page.locator(f"#{side} .r-text").text_content() or "" for side in ("draft", "revision"))
    return Ruled(draft, revision, final.input_value(), "")


def rule(page: Page, item: Ruled, ruling: str, key: str) -> Ruled:
    """Press a decision's key and wait until the next item is in front."""
    final = page.locator("#final textarea").input_value()
    prompt = page.locator("#prompt .r-words").last
    before = prompt.text_content() or ""
    page.keyboard.press(key)
    expect(prompt).not_to_have_text(before, timeout=30_000)
    return item._replace(final=final, ruling=ruling)


def curate(page: Page) -> list[Ruled]:
    """Accept 6, edit 2 by hand, refuse a hunk in 2, reject 2; skip where there is nothing to decide."""
    plan = ["accepted"] * 6 + ["by hand"] * 2 + ["one refused"] * 2 + ["rejected"] * 2
    ruled: list[Ruled] = []
    while plan:
        item = wait_for_item(page)
        hunks = page.locator("#changes .r-hunk")
        if item.draft == item.revision or (plan[0] == "one refused" and hunks.count() < 2):
            ruled.append(rule(page, item, "skipped", "s"))
            continue
        what = plan.pop(0)
        if what == "by hand":
            page.keyboard.press("e")
            page.keyboard.press("Control+End")
            page.keyboard.type(" Thank you.")
            page.keyboard.press("Escape")
        elif what == "one refused":
            page.keyboard.press("j")
            page.keyboard.press(" ")
            expect(hunks.first).to_have_attribute("aria-pressed", "false")
            expect(page.locator("#final textarea")).not_to_have_value(item.revision)
        if what == "rejected":
            ruled.append(rule(page, item, "rejected", "r"))
        else:
            ruled.append(rule(page, item, "accepted" if what == "accepted" else "edited", "a"))
    return ruled


def pairs_of(row: Ruled) -> list[tuple[str, str]]:
    """The plain pairs that a ruling gives: chosen and rejected."""
    if row.ruling in ("accepted", "edited"):
        return [(row.final, row.draft)]
    return [(row.draft, row.revision)] if row.ruling == "rejected" else []


def exported(page: Page, folder: Path) -> list[tuple[str, str]]:
    """Export in the browser and return chosen and rejected of every row."""
    page.get_by_role("tab", name="Browse").click()
    expect(page.locator("#counts")).to_contain_text("edited")
    with page.expect_download() as download:
        page.locator("#export").click()
    path = folder / "export.jsonl"
    download.value.save_as(path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert all(row["prompt"][-1]["role"] == "user" for row in rows)
    return sorted((row["chosen"][0]["content"], row["rejected"][0]["content"]) for row in rows)


def choose_step(page: Page, title: str) -> None:
    page.get_by_role("tab", name="Train").click()
    page.get_by_label(title).check()


def wait_for_run(page: Page, kind: str) -> None:
    """Wait until the newest run in view is of `kind` and has finished."""
    expect(page.locator("#run .r-note")).to_contain_text(f"-{kind}-", timeout=60_000)
    expect(page.locator("#run")).to_contain_text("finished", timeout=RUN_MS)


def train(page: Page, title: str, stage: str) -> None:
    """Start a training run of three updates."""
    choose_step(page, title)
    expect(page.locator("#report")).to_contain_text("pairs found", timeout=60_000)
    page.locator("#max-steps textarea").fill("3")
    page.locator("#max-steps textarea").blur()
    if not page.locator("#batch-size textarea").is_visible():
        page.get_by_text("More", exact=True).click()
    page.locator("#batch-size textarea").fill("2")
    page.locator("#batch-size textarea").blur()
    page.locator("#start").click()
    wait_for_run(page, stage)


def sample_drafts(page: Page) -> None:
    """Let the policy write two drafts of each decided prompt."""
    choose_step(page, "1 Sample drafts")
    page.locator("#n-samples input[type=number]").fill("2")
    page.locator("#n-samples input[type=number]").blur()
    page.locator("#start").click()
    wait_for_run(page, "draft")


def promote(page: Page, actor: str, run: str) -> None:
    choose_step(page, "5 Promote")
    page.locator("#actor").get_by_label(actor).check()
    expect(page.locator("#candidate input")).to_have_value(run, timeout=10_000)
    page.locator("#start").click()
    expect(page.locator("#facts")).to_contain_text(run, timeout=30_000)


def benchmark(page: Page, policy: str) -> None:
    """Compare the promoted policy with the base on four held-out prompts."""
    page.get_by_role("tab", name="Benchmark").click()
    expect(page.locator("#bench-model input")).to_have_value(policy, timeout=10_000)
    page.locator("#bench-n input[type=number]").fill("4")
    page.locator("#bench-n input[type=number]").blur()
    page.locator("#bench-start").click()
    expect(page.locator(".r-scores")).to_be_visible(timeout=RUN_MS)


def finished(app: App, kind: str) -> RunView:
    """The newest run of `kind`, which must have finished."""
    view = next(view for view in listing(app.home / "runs") if view.info.kind == kind)
    assert view.state == "finished", view.run.log_tail()
    return view


def assert_first_step_is_ln_2(run: Run) -> None:
    first = run.metrics()[0]
    assert first["step"] == 0
    assert first["loss"] == pytest.approx(0.6931, abs=5e-4)
    assert first["margin"] == pytest.approx(0, abs=1e-3)


def newest_revision(app: App) -> Revision:
    """The revision made last, as the record says."""
    store = Store(f"sqlite:///{app.home / 'realign.sqlite3'}")
    try:
        revisions = [
            revision
            for prompt in store.prompts()
            for draft in store.drafts_of(prompt.id)
            for revision in store.revisions_of(draft.id)
        ]
        return max(revisions, key=lambda revision: revision.created)
    finally:
        store.close()
