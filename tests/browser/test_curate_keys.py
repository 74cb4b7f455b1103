"""Every key of Curate, and when keys are off."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from realign.ui.keys import CURATE
from tests.browser.curating import DRAFT, N_HUNKS, REVISION, Desk, decided
from tests.conftest import App

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    ("key", "ruling", "final"),
    [
        ("a", "accepted", REVISION),
        ("r", "rejected", DRAFT),
        ("t", "tied", DRAFT),
        ("s", "skipped", DRAFT),
    ],
)
def test_one_key_decides_and_brings_the_next_item(desk: Desk, curating: App, key: str, ruling: str, final: str) -> None:
    before = len(decided(curating))
    prompt = desk.prompt
    desk.next(key)
    made = decided(curating)
    assert len(made) == before + 1
    assert (made[-1].decision.ruling, made[-1].decision.final_text) == (ruling, final)
    assert made[-1].prompt.messages[0].content == prompt
    expect(desk.page.locator("#said")).to_contain_text("saved")


def test_f_asks_for_a_reason_and_one_more_key_flags(desk: Desk, curating: App) -> None:
    desk.press("f")
    expect(desk.page.locator(".r-sheet")).to_contain_text("Why is it flagged?")
    before = len(decided(curating))
    desk.press("a")  # a key of the page does nothing while a sheet is open
    desk.next("2")
    made = decided(curating)
    assert len(made) == before + 1
    assert (made[-1].decision.ruling, made[-1].decision.reasons) == ("flagged", ("private data",))


def test_z_takes_back_and_y_decides_again(desk: Desk, curating: App) -> None:
    prompt = desk.prompt
    desk.press("j", " ")
    desk.next("a")
    following = desk.prompt
    desk.next("z")
    assert desk.prompt == prompt
    assert desk.refused() == [0]
    assert all(row.prompt.messages[0].content != prompt for row in decided(curating))
    desk.next("y")
    assert desk.prompt == following
    last = decided(curating)[-1]
    assert (last.prompt.messages[0].content, last.decision.ruling) == (prompt, "edited")


def test_the_arrows_go_back_and_forth_and_change_nothing_by_themselves(desk: Desk, curating: App) -> None:
    prompts = []
    for _ in range(2):
        prompts.append(desk.prompt)
        desk.next("a")
    waiting, before = desk.prompt, [row.decision.id for row in decided(curating)]
    seen = []
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowRight"):
        desk.next(key)
        seen.append(desk.prompt)
    assert seen == [prompts[1], prompts[0], prompts[1], waiting]
    assert [row.decision.id for row in decided(curating)] == before


def test_j_k_and_space_go_through_the_edits(desk: Desk) -> None:
    focused = "document.activeElement.dataset.index"
    desk.press("j", "j")
    assert desk.page.evaluate(focused) == "1"
    desk.press(" ")
    assert desk.refused() == [1]
    assert desk.final.input_value() == REVISION.replace("blue", "red")
    desk.press("k")
    assert desk.page.evaluate(focused) == "0"
    desk.press("k", " ")
    assert desk.refused() == [1, 3]
    desk.press("e")
    assert desk.page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    desk.press("Escape", "j")
    assert desk.page.evaluate(focused) == "0"  # after the last edit comes the first
    desk.press("j", "j")
    desk.next("s")
    desk.press("j")
    assert desk.page.evaluate(focused) == "0"  # another item begins with its first


def test_space_without_an_edit_in_focus_shows_the_first_and_changes_nothing(desk: Desk) -> None:
    desk.press(" ")
    assert desk.refused() == []
    assert desk.page.evaluate("document.activeElement.dataset.index") == "0"
    desk.press(" ")
    assert desk.refused() == [0]


def test_w_goes_to_the_other_kind_of_task_and_back_and_the_arrows_still_work(desk: Desk) -> None:
    desk.next("a")
    desk.press("w")
    expect(desk.page.locator("#beside .r-chips")).to_be_visible(timeout=60_000)
    desk.page.wait_for_timeout(450)
    desk.press("w")
    desk.ready()
    desk.next("ArrowLeft")


def test_n_refuses_every_edit_and_u_keeps_every_edit(desk: Desk) -> None:
    desk.press("n")
    assert (desk.refused(), desk.final.input_value()) == (list(range(N_HUNKS)), DRAFT)
    desk.press("u")
    assert (desk.refused(), desk.final.input_value()) == ([], REVISION)


def test_x_shows_the_final_text_against_the_draft(desk: Desk) -> None:
    desk.press("n", "e", "Control+End")
    desk.page.keyboard.type(" Truly.")
    desk.press("Escape", "x")
    against = desk.page.locator(".r-against")
    expect(against).to_be_visible()
    expect(against.locator("ins")).to_have_text(" Truly.")
    assert against.locator("del").count() == 0
    desk.press("x")
    expect(desk.final).to_be_visible()


def test_digits_choose_reasons_q_rates_and_c_comments(desk: Desk, curating: App) -> None:
    desk.press("1", "3", "3", "2", "q", "4", "5")
    expect(desk.page.locator(".r-star[aria-checked=true]")).to_have_text(["4", "5"])
    desk.press("c")
    desk.page.keyboard.type("nice and a bit short")
    desk.press("Escape")
    desk.next("a")
    decision = decided(curating)[-1].decision
    assert sorted(decision.reasons) == ["no repetition", "shorter"]
    assert decision.ratings == {"helpful": 4, "correct": 5}
    assert decision.comment == "nice and a bit short"


def test_the_last_rating_pressed_is_the_one_that_is_stored(desk: Desk, curating: App) -> None:  # A6
    for n in ("5", "4", "5"):
        desk.page.locator(".r-rating").first.get_by_text(n, exact=True).click()
    desk.next("a")
    assert decided(curating)[-1].decision.ratings == {"helpful": 5}


def test_v_and_d_write_new_texts_and_brackets_flip_through_them(desk: Desk) -> None:
    text = desk.page.locator("#revision .r-text")
    first = text.inner_text()
    desk.press("v")
    expect(desk.page.locator(".r-pager")).to_contain_text("of", timeout=60_000)
    desk.ready()
    second = text.inner_text()
    assert second != first
    desk.press("[")
    expect(text).not_to_have_text(second)
    desk.ready()
    desk.press("d")
    expect(desk.page.locator("#draft .r-text")).not_to_have_text(DRAFT, timeout=60_000)
    desk.ready()
    desk.next("s")


def test_i_asks_for_revisions_in_the_annotators_words(desk: Desk, curating: App) -> None:
    n = 2 if desk.page.locator(".r-pager").count() else 1
    desk.press("i")
    expect(desk.page.locator("#ask-instruction")).to_be_focused()
    desk.page.keyboard.type("shorter, please")
    desk.page.locator("#ask-n").fill("3")
    desk.page.locator("#ask-go").click()
    expect(desk.page.locator(".r-pager")).to_contain_text(f"of {n + 3}", timeout=60_000)
    expect(desk.page.locator("#revision .r-asked")).to_have_text("“shorter, please”")
    desk.next("s")


def test_m_renders_h_o_and_question_mark_open_sheets(desk: Desk) -> None:
    desk.press("m")
    expect(desk.page.locator("#draft .r-rendered")).to_be_visible()
    desk.page.reload()
    desk.ready()
    expect(desk.page.locator("#draft .r-rendered")).to_be_visible()  # a habit is remembered
    desk.press("m")
    expect(desk.page.locator("#draft .r-rendered")).to_have_count(0)
    for key, title in (("h", "History"), ("o", "Guidelines"), ("?", "Keys")):
        desk.press(key)
        expect(desk.page.locator(".r-sheet h2").first).to_have_text(title)
        desk.press("Escape")
        expect(desk.page.locator(".r-sheet")).to_have_count(0)


def test_every_action_is_in_the_help_sheet_with_its_key_and_on_its_button(desk: Desk) -> None:
    desk.press("?")
    rows = desk.page.locator(".r-keys .r-row").all_inner_texts()
    for action in CURATE:
        assert any(row.startswith(action.what) for row in rows), action.what
    caps = {
        action.button: desk.page.evaluate(
            f"getComputedStyle(document.getElementById('{action.button}'), '::after').content"
        )
        for action in CURATE
        if action.button
    }
    assert caps["accept"] == '"A"'
    assert caps["back"] == '"←"'
    assert "none" not in caps.values()


# --- when keys are off ----------------------------------------------------------------------------------------------

LETTERS = [action.key for action in CURATE if len(action.key) == 1]


def test_no_key_fires_while_typing(desk: Desk, curating: App) -> None:  # A1
    before, prompt = len(decided(curating)), desk.prompt
    for field in ("#final textarea", "#work .r-comment", "#work .r-more", "#own-prompt textarea"):
        desk.page.locator(field).focus()
        desk.page.locator(field).press("End")
        desk.page.keyboard.type("".join(LETTERS) + "123")
        assert desk.page.locator(field).input_value().endswith("".join(LETTERS) + "123")
    assert desk.page.locator(".r-sheet").count() == 0
    assert (len(decided(curating)), desk.prompt) == (before, prompt)


def test_no_key_fires_while_an_input_method_composes(desk: Desk, curating: App) -> None:
    before = len(decided(curating))
    desk.page.evaluate(
        """for (const more of [{isComposing: true}, {keyCode: 229}]) document.body.dispatchEvent(
        new KeyboardEvent('keydown', {key: 'a', bubbles: true, ...more}))"""
    )
    desk.page.wait_for_timeout(500)
    assert len(decided(curating)) == before


def test_backspace_and_a_held_key_do_nothing(desk: Desk, curating: App) -> None:  # A1
    before, prompt = len(decided(curating)), desk.prompt
    desk.press("Backspace")
    desk.page.evaluate(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', repeat: true, bubbles: true}))"
    )
    desk.page.wait_for_timeout(300)
    assert (len(decided(curating)), desk.prompt) == (before, prompt)


def test_keys_can_be_switched_off_and_that_is_remembered(desk: Desk, curating: App) -> None:
    desk.press("?")
    desk.page.locator("#keys-on").uncheck()
    desk.press("Escape")
    before = len(decided(curating))
    desk.press("a")
    desk.page.reload()
    desk.ready()
    desk.press("a")
    desk.page.wait_for_timeout(300)
    assert len(decided(curating)) == before
    content = "getComputedStyle(document.getElementById('accept'), '::after').content"
    assert desk.page.evaluate(content) == "none"


def test_a_key_can_be_given_to_another_action_and_the_two_change_places(desk: Desk, curating: App) -> None:
    desk.press("?")
    desk.page.get_by_label("Change the key for: Skip").click()
    desk.press("t")
    desk.press("Escape")
    desk.page.reload()
    desk.ready()
    desk.next("t")
    assert decided(curating)[-1].decision.ruling == "skipped"
    desk.next("s")
    assert decided(curating)[-1].decision.ruling == "tied"


def test_keys_of_curate_do_nothing_on_another_tab(desk: Desk, curating: App) -> None:
    before = len(decided(curating))
    desk.page.get_by_role("tab", name="Chat").click()
    desk.page.locator("body").click(position={"x": 5, "y": 400})
    desk.press("a", "r", "z")
    desk.page.wait_for_timeout(300)
    assert len(decided(curating)) == before


def test_ctrl_enter_accepts_from_inside_the_text(open_desk: Callable[..., Desk], curating: App) -> None:
    desk = open_desk()
    desk.press("e", "Control+End")
    desk.page.keyboard.type(" Indeed.")
    desk.next("Control+Enter")
    assert decided(curating)[-1].decision.final_text == REVISION + " Indeed."
