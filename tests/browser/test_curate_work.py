"""What a person does is never lost: toggles, text by hand, reloads, restarts, failures, slow disks, hasty presses."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.curating import DRAFT, REVISION, Desk, decided, seed, sql
from tests.conftest import App

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def write_at_end(desk: Desk, words: str) -> None:
    desk.press("e", "Control+End")
    desk.page.keyboard.type(words)


# --- toggles and text by hand ---------------------------------------------------------------------------------------


def test_the_final_text_follows_each_click_at_once(desk: Desk) -> None:
    desk.hunks.nth(0).click()
    assert desk.final.input_value() == REVISION.replace("dog", "cat")
    desk.hunks.nth(2).click()
    assert desk.final.input_value() == REVISION.replace("dog", "cat").replace("a good", "a very good")
    desk.hunks.nth(0).click()
    assert desk.final.input_value() == REVISION.replace("a good", "a very good")
    expect(desk.page.locator("#changes .r-note")).to_have_text("4 edits · 3 kept · −3 +4 words")


def test_text_by_hand_stays_when_an_edit_elsewhere_is_toggled(desk: Desk, curating: App) -> None:
    write_at_end(desk, " Truly.")
    desk.hunks.nth(0).click()
    expect(desk.final).to_have_value(REVISION.replace("dog", "cat") + " Truly.")
    desk.hunks.nth(1).click()
    expect(desk.final).to_have_value(REVISION.replace("dog", "cat").replace("blue", "red") + " Truly.")
    desk.next("a")
    decision = decided(curating)[-1].decision
    assert decision.final_text == REVISION.replace("dog", "cat").replace("blue", "red") + " Truly."
    assert [edit.accepted for edit in decision.edits] == [False, False, True, True]


def test_an_edit_whose_place_was_rewritten_by_hand_stays_as_it_is_and_says_so(desk: Desk) -> None:
    by_hand = REVISION.replace("blue", "purple")
    desk.final.fill(by_hand)
    desk.hunks.nth(1).click()
    expect(desk.page.locator("#said")).to_contain_text("rewrote this place by hand")
    assert (desk.final.input_value(), desk.refused()) == (by_hand, [])


def test_another_revision_leaves_the_one_in_front_to_decide_on_and_its_work_kept(desk: Desk, curating: App) -> None:
    write_at_end(desk, " Truly.")
    desk.press("Escape", "v")
    assert desk.final.input_value() == REVISION + " Truly."
    expect(desk.page.locator(".r-pager")).to_contain_text("2 of 2", timeout=60_000)
    desk.ready()
    assert desk.final.input_value() != REVISION + " Truly."
    desk.press("[")
    expect(desk.final).to_have_value(REVISION + " Truly.")
    desk.next("s")


def test_half_a_character_is_refused_in_words_and_the_text_stays(desk: Desk) -> None:
    desk.final.evaluate("field => { field.value = 'half \\ud83d'; field.dispatchEvent(new Event('input')); }")
    desk.press("a")
    expect(desk.page.locator(".r-failure")).to_contain_text("half a character")
    desk.press("Escape")
    expect(desk.page.locator(".r-failure")).to_have_count(0)


def test_two_clicks_while_text_is_carried_over_are_both_heard(desk: Desk) -> None:
    write_at_end(desk, " Truly.")
    desk.page.evaluate("for (const n of [0, 1]) document.querySelectorAll('#changes .r-hunk')[n].click()")
    expect(desk.final).to_have_value(REVISION.replace("dog", "cat").replace("blue", "red") + " Truly.")
    assert desk.refused() == [0, 1]


def test_a_click_on_accept_right_after_a_toggle_waits_for_the_text_that_the_toggle_makes(
    desk: Desk, curating: App
) -> None:
    write_at_end(desk, " Truly.")
    prompt = desk.prompt
    desk.page.evaluate("document.querySelector('#changes .r-hunk').click(); document.getElementById('accept').click()")
    expect(desk.page.locator("#prompt .r-words")).not_to_have_text(prompt)
    assert decided(curating)[-1].decision.final_text == REVISION.replace("dog", "cat") + " Truly."


def test_ctrl_z_undoes_toggles_and_typing_and_ctrl_shift_z_redoes_them(desk: Desk) -> None:
    desk.hunks.nth(0).click()
    write_at_end(desk, " Truly.")
    desk.press("Control+z")
    assert (desk.final.input_value(), desk.refused()) == (REVISION.replace("dog", "cat"), [0])
    desk.press("Control+z")
    assert (desk.final.input_value(), desk.refused()) == (REVISION, [])
    desk.press("Control+Shift+z", "Control+y")
    assert (desk.final.input_value(), desk.refused()) == (REVISION.replace("dog", "cat") + " Truly.", [0])


def test_an_accepted_text_that_equals_the_draft_is_stored_as_the_draft_being_better(desk: Desk, curating: App) -> None:
    desk.press("n")
    desk.next("a")
    decision = decided(curating)[-1].decision
    assert (decision.ruling, decision.final_text) == ("rejected", DRAFT)


# --- half-done edits ------------------------------------------------------------------------------------------------


def test_half_done_edits_survive_a_reload_two_seconds_later(desk: Desk) -> None:  # A2
    desk.hunks.nth(0).click()
    desk.press("2", "c")
    desk.page.keyboard.type("so so")
    desk.press("Escape")
    write_at_end(desk, " Truly.")
    desk.saved()
    desk.page.evaluate("localStorage.removeItem('realign-work')")  # what the database has is enough
    desk.page.reload()
    desk.ready()
    assert (desk.final.input_value(), desk.refused()) == (REVISION.replace("dog", "cat") + " Truly.", [0])
    expect(desk.page.locator(".r-chip[aria-pressed=true]")).to_have_text(["no repetition"])
    expect(desk.page.locator("#work .r-comment")).to_have_value("so so")


def test_half_done_edits_survive_a_reload_at_once(desk: Desk) -> None:
    write_at_end(desk, " Truly.")
    desk.page.reload()
    desk.ready()
    assert desk.final.input_value() == REVISION + " Truly."


def test_half_done_edits_survive_another_page_and_the_way_back(desk: Desk) -> None:  # A15
    write_at_end(desk, " Truly.")
    desk.page.goto(f"{desk.app.address}/healthz")
    desk.page.go_back()
    desk.ready()
    assert desk.final.input_value() == REVISION + " Truly."


def test_half_done_edits_are_there_in_another_browser_once_the_first_is_closed(
    open_desk: Callable[..., Desk], curating: App, chromium: Browser
) -> None:
    first = open_desk()
    prompt = first.prompt
    write_at_end(first, " Truly.")
    first.saved()
    first.context.close()
    time.sleep(1)
    second = open_desk()
    assert (second.prompt, second.final.input_value()) == (prompt, REVISION + " Truly.")


def test_half_done_edits_survive_kill_dash_9(
    make_app: Callable[..., App], tmp_path: Path, tiny: Path, chromium: Browser
) -> None:
    app = make_app(REALIGN_POLICY=str(tiny), REALIGN_REVISER=str(tiny), REALIGN_DEVICE="cpu")
    seed(app.home, str(tiny), [("Tell a story.", DRAFT, [REVISION])])
    app.start()
    desk = Desk(app, chromium)
    desk.hunks.nth(1).click()
    desk.saved()
    app.kill()
    app.start()
    desk.page.goto(app.address)
    desk.ready()
    assert (desk.refused(), desk.final.input_value()) == ([1], REVISION.replace("blue", "red"))
    desk.close()


def test_what_was_typed_just_before_undo_is_there_on_the_way_back(desk: Desk) -> None:
    desk.next("a")
    prompt = desk.prompt
    write_at_end(desk, " Truly.")
    desk.page.evaluate("document.getElementById('undo').click()")  # at once, before anything could be kept by itself
    expect(desk.page.locator("#prompt .r-words")).not_to_have_text(prompt)
    desk.page.evaluate("localStorage.removeItem('realign-work')")
    desk.ready()
    desk.next("s")
    assert (desk.prompt, desk.final.input_value()) == (prompt, REVISION + " Truly.")
    desk.next("s")


def test_half_done_edits_never_override_a_decision(desk: Desk, curating: App) -> None:
    write_at_end(desk, " Truly.")
    desk.saved()
    desk.next("Control+Enter")
    desk.next("ArrowLeft")
    assert desk.final.input_value() == REVISION + " Truly."
    write_at_end(desk, " Really.")
    desk.saved()
    assert decided(curating)[-1].decision.final_text == REVISION + " Truly."
    desk.press("Escape")
    desk.next("ArrowRight")  # half-done edits of a decided item wait there
    desk.next("ArrowLeft")
    assert desk.final.input_value() == REVISION + " Truly. Really."
    desk.next("a")
    versions = [row.decision.final_text for row in decided(curating)][-1:]
    assert versions == [REVISION + " Truly. Really."]


def test_nothing_of_one_item_is_left_on_the_next(desk: Desk, curating: App) -> None:  # A12
    desk.press("1", "q", "3", "c")
    desk.page.keyboard.type("leftover")
    desk.press("Escape")
    desk.next("a")
    assert desk.page.locator("#work .r-comment").input_value() == ""
    assert desk.page.locator("#work [aria-pressed=true].r-chip, #work [aria-checked=true]").count() == 0
    with closing(sqlite3.connect(curating.home / "realign.sqlite3")) as database:
        assert database.execute("SELECT count(*) FROM unfinished").fetchone() == (0,)


# --- hasty presses, slow and failing disks --------------------------------------------------------------------------


def test_a_double_click_and_a_double_enter_decide_once(desk: Desk, curating: App) -> None:  # A10
    before = len(decided(curating))
    prompt = desk.prompt
    desk.page.locator("#accept").dblclick()
    expect(desk.page.locator("#prompt .r-words")).not_to_have_text(prompt)
    desk.page.wait_for_timeout(500)
    assert len(decided(curating)) == before + 1
    prompt = desk.prompt
    desk.page.locator("#accept").focus()
    desk.press("Enter", "Enter")
    expect(desk.page.locator("#prompt .r-words")).not_to_have_text(prompt)
    desk.page.wait_for_timeout(500)
    assert len(decided(curating)) == before + 2
    prompt = desk.prompt
    desk.page.locator("body").click(position={"x": 5, "y": 400})
    desk.press("a", "a", "a")
    expect(desk.page.locator("#prompt .r-words")).not_to_have_text(prompt)
    desk.page.wait_for_timeout(500)
    assert len(decided(curating)) == before + 3


def test_a_slow_save_loses_no_keystroke(desk: Desk, curating: App) -> None:
    with closing(sqlite3.connect(curating.home / "realign.sqlite3", timeout=10)) as slow:
        slow.isolation_level = None
        slow.execute("BEGIN IMMEDIATE")  # every save waits for this
        write_at_end(desk, " One")
        desk.page.wait_for_timeout(800)
        desk.page.keyboard.type(" two")
        desk.page.wait_for_timeout(800)
        desk.page.keyboard.type(" three")
        assert desk.final.input_value() == REVISION + " One two three"
        slow.execute("ROLLBACK")
    desk.saved()
    assert desk.final.input_value() == REVISION + " One two three"
    desk.page.evaluate("localStorage.removeItem('realign-work')")
    desk.page.wait_for_timeout(800)
    desk.page.reload()
    desk.ready()
    assert desk.final.input_value() == REVISION + " One two three"


def test_a_slow_decision_is_made_once_and_what_is_pressed_meanwhile_is_not_for_the_next_item(
    desk: Desk, curating: App
) -> None:
    before, prompt = len(decided(curating)), desk.prompt
    with closing(sqlite3.connect(curating.home / "realign.sqlite3", timeout=10)) as slow:
        slow.isolation_level = None
        slow.execute("BEGIN IMMEDIATE")
        desk.press("a")
        for _ in range(3):
            desk.page.wait_for_timeout(200)
            desk.press("a")
        assert desk.prompt == prompt
        slow.execute("ROLLBACK")
    expect(desk.page.locator("#prompt .r-words")).not_to_have_text(prompt, timeout=15_000)
    desk.page.wait_for_timeout(600)
    assert len(decided(curating)) == before + 1


def test_a_store_that_fails_keeps_item_and_text_on_the_screen_and_says_so(desk: Desk, curating: App) -> None:  # A3
    write_at_end(desk, " Truly.")
    desk.saved()
    desk.press("Escape")
    before, prompt = len(decided(curating)), desk.prompt
    sql(curating, "CREATE TRIGGER full BEFORE INSERT ON decisions BEGIN SELECT RAISE(ABORT, 'disk refused'); END")
    try:
        desk.press("a")
        expect(desk.page.get_by_text("This did not work")).to_be_visible()
        assert (desk.prompt, desk.final.input_value()) == (prompt, REVISION + " Truly.")
    finally:
        sql(curating, "DROP TRIGGER full")
    assert len(decided(curating)) == before
    desk.next("a")
    assert decided(curating)[-1].decision.final_text == REVISION + " Truly."


def test_a_draft_that_cannot_be_saved_says_so_beside_the_text(desk: Desk, curating: App) -> None:
    sql(curating, "CREATE TRIGGER full BEFORE INSERT ON unfinished BEGIN SELECT RAISE(ABORT, 'disk refused'); END")
    try:
        write_at_end(desk, " Truly.")
        expect(desk.page.locator(".r-kept")).to_contain_text("not saved")
        assert desk.final.input_value() == REVISION + " Truly."
    finally:
        sql(curating, "DROP TRIGGER full")
    desk.page.keyboard.type(" Yes.")
    desk.saved()


def test_a_server_that_is_gone_keeps_the_text_and_it_is_there_when_it_is_back(
    make_app: Callable[..., App], tiny: Path, chromium: Browser
) -> None:
    app = make_app(REALIGN_POLICY=str(tiny), REALIGN_REVISER=str(tiny), REALIGN_DEVICE="cpu")
    seed(app.home, str(tiny), [("Tell a story.", DRAFT, [REVISION])])
    app.start()
    desk = Desk(app, chromium)
    app.kill()
    write_at_end(desk, " Truly.")
    desk.page.wait_for_timeout(1500)
    assert desk.final.input_value() == REVISION + " Truly."
    app.start()
    desk.page.goto(app.address)
    desk.ready()
    assert desk.final.input_value() == REVISION + " Truly."
    desk.context.close()


def test_two_browsers_of_one_person_hold_different_items(open_desk: Callable[..., Desk]) -> None:  # B1
    assert open_desk().prompt != open_desk().prompt


def test_a_second_tab_of_the_same_browser_cannot_decide_the_same_item_twice(desk: Desk, curating: App) -> None:
    other = desk.context.new_page()
    other.goto(desk.app.address)
    expect(other.locator("#final textarea")).to_be_visible(timeout=30_000)
    before = len(decided(curating))
    desk.next("a")
    other.wait_for_timeout(400)
    other.keyboard.press("r")
    expect(other.get_by_text("This did not work")).to_be_visible()
    assert len(decided(curating)) == before + 1
