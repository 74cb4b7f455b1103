"""What an annotator is asked beside the ruling."""

from pathlib import Path

import pytest

from realign.curation.form import Form, Scale, load_form
from realign.errors import InvalidInput
from realign.records import Ruling, Work

SHIPPED = Path(__file__).parent.parent.parent / "data" / "form.toml"
STRICT = Form(ratings=(Scale(name="helpful"),), required=("reasons", "helpful"))


def test_the_form_that_comes_with_the_installation_asks_for_five_reasons_and_two_ratings_and_needs_none() -> None:
    form = load_form(SHIPPED)
    assert (len(form.reasons), [scale.name for scale in form.ratings]) == (5, ["helpful", "correct"])
    form.check("accepted", Work())


def test_a_decision_that_lacks_what_is_required_is_refused_with_the_names_of_all_that_is_missing() -> None:
    with pytest.raises(InvalidInput, match="still needs: reasons, helpful"):
        STRICT.check("accepted", Work())
    STRICT.check("accepted", Work(reasons=("tone",), ratings={"helpful": 4}))


@pytest.mark.parametrize(("ruling", "needs"), [("skipped", False), ("accepted", True), ("tied", True)])
def test_a_skipped_item_needs_nothing(ruling: Ruling, needs: bool) -> None:
    refused = False
    try:
        STRICT.check(ruling, Work())
    except InvalidInput:
        refused = True
    assert refused == needs


def test_a_flag_needs_a_reason_or_a_comment() -> None:
    with pytest.raises(InvalidInput, match="flag needs a reason"):
        Form().check("flagged", Work(comment="  "))
    Form().check("flagged", Work(comment="not a question"))
    Form().check("flagged", Work(reasons=("harmful",)))


def test_what_the_form_does_not_ask_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no rating called 'speed'"):
        STRICT.check("skipped", Work(ratings={"speed": 3}))
    with pytest.raises(InvalidInput, match="At most 20 reasons"):
        STRICT.check("skipped", Work(reasons=tuple(f"r{n}" for n in range(21))))
    with pytest.raises(InvalidInput, match="of at most 60 characters"):
        STRICT.check("skipped", Work(reasons=("x" * 61,)))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("reasons = [1]", r"field 'reasons.0'"),
        ("required = ['speed']", "'required' names 'speed'"),
        ("colour = 'red'", "field 'colour'"),
        ("reasons = [", "cannot be read"),
    ],
)
def test_a_form_that_cannot_be_used_is_named_with_the_field(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "form.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=told) as caught:
        load_form(path)
    assert "form.toml" in str(caught.value)


def test_a_form_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        load_form(Path("nowhere/form.toml"))
