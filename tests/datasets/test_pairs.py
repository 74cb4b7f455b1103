"""Decisions and ranked drafts to pairs, in numbers."""

import pytest
from decided_items import assistant, decided, draft, prompt, render, user

from realign.datasets.pairs import PairBuild, build_pairs, on_policy_pairs
from realign.records import Chat, Decided, PairKind, Ruling

BOTH: tuple[PairKind, ...] = ("revision", "plain")


def compared(build: PairBuild) -> list[tuple[str, str, str, str]]:
    """Kind, relation, chosen and rejected of each pair."""
    return [(pair.kind, pair.relation, pair.chosen, pair.rejected) for pair in build.pairs]


def built(*items: Decided, kinds: tuple[PairKind, ...] = BOTH) -> PairBuild:
    return build_pairs(items, kinds=kinds, render=render)


# --- decisions -------------------------------------------------------------------------------------------------------


def test_an_accepted_revision_is_better_than_its_draft() -> None:
    assert compared(built(decided("accepted"))) == [
        ("revision", "final_over_draft", "revision", "draft"),
        ("plain", "final_over_draft", "revision", "draft"),
    ]


def test_an_edited_text_is_better_than_the_draft_and_for_the_reviser_than_the_untouched_revision() -> None:
    assert compared(built(decided("edited", final="mine"))) == [
        ("revision", "final_over_draft", "mine", "draft"),
        ("revision", "final_over_revision", "mine", "revision"),
        ("plain", "final_over_draft", "mine", "draft"),
    ]


def test_a_rejected_revision_is_worse_than_its_draft() -> None:
    assert compared(built(decided("rejected"))) == [
        ("revision", "draft_over_revision", "draft", "revision"),
        ("plain", "draft_over_revision", "draft", "revision"),
    ]


@pytest.mark.parametrize("ruling", ["tied", "skipped", "flagged", "withdrawn"])
def test_a_ruling_that_prefers_nothing_gives_no_pair_and_is_counted_once(ruling: Ruling) -> None:
    assert built(decided(ruling)) == PairBuild((), {ruling: 1})


def test_unchanged_draft_makes_no_pair_but_is_counted() -> None:
    build = built(decided("accepted", first="same", revised="same"), decided("accepted", name="2"), kinds=("plain",))
    assert (len(build.pairs), build.dropped) == (1, {"unchanged": 1})


def test_of_an_edit_that_gave_the_revision_again_only_that_comparison_is_dropped() -> None:
    build = built(decided("edited", final="revision"), kinds=("revision",))
    assert compared(build) == [("revision", "final_over_draft", "revision", "draft")]
    assert build.dropped == {"unchanged": 1}


@pytest.mark.parametrize("nothing", ["", "  \n", "\u200b", "\ufeff\u00ad", "\u3164"])
def test_a_text_with_nothing_to_read_is_never_chosen(nothing: str) -> None:  # D17
    accepted = decided("accepted", revised=nothing, name="1")
    rejected = decided("rejected", first=nothing, name="2")
    assert built(accepted, rejected, kinds=("plain",)) == PairBuild((), {"chosen text empty": 2})


def test_a_draft_with_nothing_to_read_loses() -> None:  # D17
    assert compared(built(decided("accepted", first=""), kinds=("plain",))) == [
        ("plain", "final_over_draft", "revision", "")
    ]


def test_the_revision_prompt_is_the_one_rendered_and_the_plain_prompt_the_persons_own() -> None:
    as_revision, plain = built(decided("accepted")).pairs
    assert as_revision.prompt == (
        user("Why is the sky blue?"),
        assistant("draft"),
        user("Improve it (single-turn-v1)."),
    )
    assert plain.prompt == (user("Why is the sky blue?"),)


def test_every_pair_names_the_persons_prompt_its_decision_and_its_annotator() -> None:
    for pair in built(decided("edited", final="mine")).pairs:
        assert pair.prompt_hash == prompt(text="why is  the sky BLUE?").content_hash
        assert (pair.decision_id, pair.origin) == ("c1", "Ann")


def test_only_the_kinds_asked_for_are_built() -> None:
    assert {pair.kind for pair in built(decided("accepted"), kinds=("plain",)).pairs} == {"plain"}
    assert {pair.kind for pair in built(decided("accepted"), kinds=("revision",)).pairs} == {"revision"}
    assert built(decided("accepted"), kinds=("on_policy",)) == PairBuild((), {})


def test_pairs_and_drops_add_up_to_the_comparisons() -> None:
    items = [decided("accepted"), decided("edited", final="mine", name="2"), decided("tied", name="3")]
    build = built(*items, decided("accepted", revised="draft", name="4"), kinds=("revision",))
    assert len(build.pairs) + sum(build.dropped.values()) == 1 + 2 + 1 + 1


# --- ranked drafts ---------------------------------------------------------------------------------------------------

RATINGS = {"good": 0.9, "fair": 0.5, "bad": 0.25, "as bad": 0.25, "nearly fair": 0.49, "": 0.0, " ": 1.0}


def rate(chat: Chat, text: str) -> float:
    assert chat[-1].role == "user"
    return RATINGS[text]


def ranked(*texts: str, min_gap: float = 0.02) -> PairBuild:
    drafts = [draft(text, name=f"d{n}") for n, text in enumerate(texts)]
    return on_policy_pairs({"p": prompt()}, drafts, rate, min_gap=min_gap, origin="rubric")


def test_the_best_of_three_drafts_is_chosen_over_the_worst() -> None:
    build = ranked("fair", "bad", "good")
    assert compared(build) == [("on_policy", "best_over_worst", "good", "bad")]
    (pair,) = build.pairs
    assert (pair.prompt, pair.prompt_hash) == (prompt().messages, prompt().content_hash)
    assert (pair.decision_id, pair.origin) == (None, "rubric")


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (("good",), "only one draft"),
        (("good", "good", "good"), "all drafts equal"),
        (("fair", "nearly fair"), "drafts too close to rank"),
        (("bad", "as bad"), "drafts too close to rank"),
        ((" ", "bad"), "chosen text empty"),
    ],
)
def test_drafts_that_cannot_be_ranked_give_no_pair_and_are_counted(texts: tuple[str, ...], reason: str) -> None:
    assert ranked(*texts) == PairBuild((), {reason: 1})


def test_equal_ratings_give_no_pair_even_where_no_gap_is_asked_for() -> None:
    assert ranked("bad", "as bad", min_gap=0) == PairBuild((), {"drafts too close to rank": 1})


def test_a_rating_that_is_not_a_number_gives_no_pair() -> None:
    drafts = [draft("one", name="d1"), draft("two", name="d2")]
    build = on_policy_pairs({"p": prompt()}, drafts, lambda _, text: float("nan"), origin="rubric")
    assert build == PairBuild((), {"drafts too close to rank": 1})


def test_an_empty_draft_is_the_worst_of_its_prompt() -> None:  # D17
    assert compared(ranked("", "fair")) == [("on_policy", "best_over_worst", "fair", "")]


def test_each_prompt_is_ranked_by_itself_and_a_draft_without_its_prompt_is_counted() -> None:
    prompts = {name: prompt(name, f"Question {name}?") for name in ("a", "b")}
    texts = [("a", "good"), ("b", "fair"), ("a", "bad"), ("b", "bad"), ("c", "good"), ("c", "bad")]
    drafts = [draft(text, name=f"d{n}", on=on) for n, (on, text) in enumerate(texts)]
    build = on_policy_pairs(prompts, drafts, rate, origin="rubric")
    assert [(pair.prompt[0].content, pair.chosen) for pair in build.pairs] == [
        ("Question a?", "good"),
        ("Question b?", "fair"),
    ]
    assert build.dropped == {"prompt unknown": 1}
