"""The nouns of the loop: what can be made is right, and what is made does not change."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from realign.errors import InvalidInput, RealignError, pick
from realign.records import (
    Decision,
    Decoding,
    Draft,
    Message,
    ModelRef,
    Promotion,
    Prompt,
    Record,
    Score,
    Verdict,
    chat_hash,
)

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def user(text: str) -> Message:
    return Message(role="user", content=text)


def prompt(*messages: Message, **fields: Any) -> Prompt:
    return Prompt(id="p", messages=messages, created=NOON, **fields)


def test_a_record_refuses_a_field_it_does_not_know() -> None:
    with pytest.raises(ValidationError, match="question"):
        prompt(user("Hi"), question="Hi")


def test_a_record_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        prompt(user("Hi")).id = "q"  # type: ignore[misc]


def test_a_record_comes_back_equal_from_json() -> None:
    made = prompt(
        Message(role="system", content="Kurz."), user("雨?\n\t\u200b\u2028 «é»"), category="chat", source_id="7"
    )
    assert Prompt.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_prompt_with_an_empty_last_message_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="is empty"):
        prompt(user(text))


def test_a_prompt_ends_with_the_user() -> None:
    with pytest.raises(ValidationError, match="must come from the user"):
        prompt(user("Hi"), Message(role="assistant", content="Hello"))
    with pytest.raises(ValidationError):
        prompt()


def test_a_role_outside_the_three_is_refused() -> None:
    with pytest.raises(ValidationError, match="role"):
        Message.model_validate({"role": "tool", "content": "x"})


def test_times_are_kept_in_utc_and_a_time_without_a_zone_is_refused() -> None:
    made = Prompt(
        id="p", messages=(user("Hi"),), created=datetime(2026, 12, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    )
    assert made.created == NOON
    assert made.created.tzinfo == UTC
    with pytest.raises(ValidationError, match="timezone"):
        Prompt(id="p", messages=(user("Hi"),), created=datetime(2026, 12, 1))  # noqa: DTZ001 - that is the point


def test_the_hash_folds_case_and_white_space_and_nothing_else() -> None:
    same = chat_hash((user("Why  is\nthe sky BLUE?"),))
    assert chat_hash((user(" why is the sky blue? "),)) == same
    assert chat_hash((user("Why is the sky blue"),)) != same
    assert chat_hash((Message(role="system", content="Why is the sky blue?"),)) != same
    assert len(same) == 64


def test_the_hash_knows_where_one_message_ends() -> None:
    system = Message(role="system", content="a")
    assert chat_hash((system, user("b"))) != chat_hash((Message(role="system", content="a b"), user("")))


def test_prompts_of_one_conversation_have_one_hash_whatever_their_id() -> None:
    one, two = prompt(user("Hi there")), Prompt(id="q", messages=(user("hi  there"),), created=NOON + timedelta(days=1))
    assert one.content_hash == two.content_hash


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -0.1}, {"temperature": 2.1}, {"top_p": 0}, {"top_p": 1.1}, {"max_new_tokens": 0}, {"seed": -1}],
)
def test_a_decoding_outside_its_limits_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Decoding.model_validate(wrong)


def test_a_model_is_labelled_by_its_last_name_and_its_adapter() -> None:
    assert ModelRef(source="HuggingFaceTB/SmolLM2-135M-Instruct").label == "SmolLM2-135M-Instruct"
    assert ModelRef(source="/models/tiny/").label == "tiny"
    assert ModelRef(source="a/b", adapter="20261201-141503-policy-7f3a").label == "b + 20261201-141503-policy-7f3a"


def test_a_draft_says_how_it_ended() -> None:
    fields = {"id": "d", "prompt_id": "p", "text": "", "model": {"source": "m"}, "decoding": {}, "created": NOON}
    assert Draft.model_validate(fields | {"finish": "length"}).finish == "length"
    with pytest.raises(ValidationError, match="finish"):
        Draft.model_validate(fields | {"finish": "eos"})


def decision(**changes: Any) -> Decision:
    fields = {
        "id": "x",
        "prompt_id": "p",
        "draft_id": "d",
        "revision_id": "r",
        "ruling": "accepted",
        "final_text": "Better.",
        "annotator": "ada",
        "started": NOON,
        "decided": NOON + timedelta(seconds=30),
    }
    return Decision.model_validate(fields | changes)


def test_a_decision_needs_a_name_and_a_known_ruling() -> None:
    assert decision().schema_version == 1
    for wrong in ({"annotator": ""}, {"ruling": "liked"}, {"active_ms": -1}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            decision(**wrong)


def test_no_verdict_is_not_a_tie() -> None:
    fields = {"id": "v", "game_id": "g", "judge": "rubric", "created": NOON}
    assert Verdict.model_validate(fields | {"preferred": None}).preferred is None
    with pytest.raises(ValidationError, match="preferred"):
        Verdict.model_validate(fields)
    with pytest.raises(ValidationError, match="preferred"):
        Verdict.model_validate(fields | {"preferred": "draw"})


def test_a_promotion_is_of_policy_or_reviser() -> None:
    with pytest.raises(ValidationError, match="actor"):
        Promotion.model_validate({"id": "x", "actor": "judge", "run": None, "annotator": "ada", "created": NOON})


@pytest.mark.parametrize("record", [Decoding, ModelRef, Decision, Score], ids=lambda record: record.__name__)
def test_a_fields_docstring_is_its_description(record: type[Record]) -> None:
    assert any(field.description for field in record.model_fields.values())


def test_a_wrong_choice_lists_the_right_ones() -> None:
    assert pick("b", {"a": 1, "b": 2}, "letter") == 2
    with pytest.raises(InvalidInput) as caught:
        pick("c", {"b": 2, "a": 1}, "letter")
    assert str(caught.value) == "There is no letter 'c'. Choose one of: a, b."
    assert isinstance(caught.value, RealignError)
