"""What each shape of rows means, and what is said of rows that mean nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from decided_items import NOON, assistant, decided, ids, user

from realign.datasets.formats import FORMATS, Import, read
from realign.datasets.records_io import native_row
from realign.errors import InvalidInput
from realign.records import Message

Row = dict[str, Any]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write rows as `rows.jsonl`."""

    def write(*rows: Row) -> Path:
        path = tmp_path / "rows.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
        return path

    return write


def taken(path: Path, form: str | None = None) -> Import:
    return read(path, form, origin="rows.jsonl", now=NOON, new_id=ids())


def refusal(path: Path, form: str | None = None) -> str:
    with pytest.raises(InvalidInput) as caught:
        taken(path, form)
    return str(caught.value)


def system(text: str) -> Message:
    return Message(role="system", content=text)


# --- prompts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "messages"),
    [
        ({"prompt": "Hello?"}, (user("Hello?"),)),
        ({"prompt": [{"role": "user", "content": "Hello?"}]}, (user("Hello?"),)),
        ({"text": "Hello?"}, (user("Hello?"),)),
        ({"question": "Hello?"}, (user("Hello?"),)),
        ({"instruction": "Sort.", "input": "b a", "output": "a b"}, (user("Sort.\n\nb a"),)),
        ({"instruction": "Sing.", "input": ""}, (user("Sing."),)),
        ({"question": "Hello?", "system": "Be kind."}, (system("Be kind."), user("Hello?"))),
        (
            {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello?"}]},
            (system("Be kind."), user("Hello?")),
        ),
        (
            {"messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi!"}]},
            (user("Hello?"),),
        ),
        ({"turns": ["Hello?"], "question_id": 81}, (user("Hello?"),)),
        ({"turns": [{"content": "Hello?"}]}, (user("Hello?"),)),
    ],
)
def test_each_way_to_write_a_prompt_is_read(write: Write, row: Row, messages: tuple[Message, ...]) -> None:
    found = taken(write(row))
    assert (found.format, found.read, found.dropped) == ("prompts", 1, {})
    assert found.prompts[0].messages == messages


def test_a_prompt_keeps_its_name_category_and_language_and_says_where_it_is_from(write: Write) -> None:
    (prompt,) = taken(write({"id": 7, "prompt": "Hola?", "category": "chat", "language": "es", "score": 0.5})).prompts
    assert (prompt.id, prompt.source_id, prompt.origin, prompt.created) == ("new-1", "7", "rows.jsonl", NOON)
    assert (prompt.category, prompt.language) == ("chat", "es")


@pytest.mark.parametrize("field", ["id", "prompt_id", "question_id", "uid"])
def test_the_name_of_a_prompt_is_found_in_the_fields_public_sets_use(write: Write, field: str) -> None:
    assert taken(write({field: 0, "prompt": "Hello?"})).prompts[0].source_id == "0"


def test_the_second_turn_of_a_question_is_left_out_and_counted(write: Write) -> None:
    found = taken(write({"question_id": 81, "turns": ["Write a post.", "Now shorter."]}))
    assert found.prompts[0].messages == (user("Write a post."),)
    assert found.dropped == {"a later turn, which needs the answer before it": 1}


def test_the_same_prompt_again_is_counted(write: Write) -> None:
    found = taken(write({"prompt": "Hello?"}, {"prompt": "hello? "}, {"prompt": "Bye?"}))
    assert (len(found.prompts), found.read, found.dropped) == (2, 3, {"the same prompt again": 1})


def test_one_id_with_two_texts_is_refused_naming_both_lines(write: Write) -> None:  # C18
    message = refusal(write({"id": 1, "prompt": "One?"}, {"id": 2, "prompt": "Two?"}, {"id": "1", "prompt": "Three?"}))
    assert message.startswith("rows.jsonl, line 1 and rows.jsonl, line 3: the same id '1' and different texts.")


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"prompt": ""}, "it has no prompt: of the fields messages, prompt, turns"),
        ({"prompt": " \n"}, "the last message of the prompt is empty"),
        ({"prompt": "\u200b"}, "the last message of the prompt is empty"),
        ({"prompt": 3}, "field 'prompt' is neither a text nor a list of messages"),
        ({"prompt": ["Hello?"]}, "field 'prompt', message 1 is not an object with 'role' and 'content'"),
        ({"prompt": [{"role": "tool", "content": "x"}]}, "field 'prompt', message 1 has the role 'tool'"),
        ({"prompt": [{"role": ["user"], "content": "x"}]}, "field 'prompt', message 1 has the role ['user']"),
        ({"prompt": [{"role": "user", "content": None}]}, "field 'prompt', message 1 has no text in 'content'"),
        (
            {"messages": [{"role": "assistant", "content": "Hi"}]},
            "the last message of a prompt must come from the user",
        ),
        ({"turns": [3]}, "field 'turns' does not start with a text"),
        ({"prompt": "Hi?", "system": ["Be kind."]}, "field 'system' is not a text"),
        ({"prompt": "Hi?", "category": ["a", "b"]}, "field 'category' is not a single word or number"),
        (
            {"prompt": [{"role": "system", "content": "A"}, {"role": "user", "content": "Hi?"}], "system": "B"},
            "field 'system' and the conversation both hold a system message",
        ),
    ],
)
def test_a_row_without_a_prompt_is_refused_with_line_and_field(write: Write, row: Row, complaint: str) -> None:  # C12
    message = refusal(write({"prompt": "Fine?"}, row), "prompts")
    assert message.startswith(f"rows.jsonl, line 2: {complaint}")
    assert message.endswith("Nothing was taken from the file.")


# --- pairs -----------------------------------------------------------------------------------------------------------

QUESTION = {"role": "user", "content": "Tea?"}
GOOD, BAD = {"role": "assistant", "content": "Yes."}, {"role": "assistant", "content": "No."}


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "Tea?", "chosen": "Yes.", "rejected": "No."},
        {"prompt": [QUESTION], "chosen": [GOOD], "rejected": [BAD]},
        {"chosen": [QUESTION, GOOD], "rejected": [QUESTION, BAD]},
        {
            "prompt": "Tea?",
            "prompt_id": "x",
            "chosen": [QUESTION, GOOD],
            "rejected": [QUESTION, BAD],
            "score_chosen": 8,
        },
        {"prompt": [QUESTION], "chosen": GOOD, "rejected": BAD},
        {"prompt": "Tea?", "chosen": "Yes.", "rejected": [BAD]},
    ],
)
def test_each_way_to_write_a_pair_is_read_as_the_same_pair(write: Write, row: Row) -> None:  # C13, C14
    found = taken(write(row))
    (pair,) = found.pairs
    assert (found.format, found.dropped) == ("trl", {})
    assert (pair.prompt, pair.chosen, pair.rejected) == ((user("Tea?"),), "Yes.", "No.")
    assert (pair.kind, pair.relation, pair.origin, pair.decision_id) == ("plain", "imported", "rows.jsonl", None)


def test_rows_of_different_shapes_in_one_file_are_all_read(write: Write) -> None:  # C13
    found = taken(
        write(
            {"prompt": "Tea?", "chosen": "Yes.", "rejected": "No."},
            {"prompt": "Milk?", "chosen": [GOOD], "rejected": [BAD]},
        )
    )
    assert [pair.prompt[0].content for pair in found.pairs] == ["Tea?", "Milk?"]


def test_an_implicit_prompt_ends_at_the_last_common_message_of_the_user(write: Write) -> None:
    start = [{"role": "system", "content": "Be brief."}, QUESTION, GOOD, {"role": "user", "content": "Sugar?"}]
    (pair,) = taken(write({"chosen": [*start, GOOD], "rejected": [*start, BAD]})).pairs
    assert pair.prompt == (system("Be brief."), user("Tea?"), assistant("Yes."), user("Sugar?"))
    assert (pair.chosen, pair.rejected) == ("Yes.", "No.")


def test_a_system_field_starts_the_prompt_of_a_pair(write: Write) -> None:
    (pair,) = taken(write({"system": "Be brief.", "prompt": "Tea?", "chosen": "Yes.", "rejected": "No."})).pairs
    assert pair.prompt == (system("Be brief."), user("Tea?"))


def test_pairs_without_a_difference_and_repeated_pairs_are_counted(write: Write) -> None:
    row = {"prompt": "Tea?", "chosen": "Yes.", "rejected": "No."}
    found = taken(write(row, {**row, "rejected": "Yes."}, row, {**row, "rejected": "Never."}))
    assert (len(found.pairs), found.read) == (2, 4)
    assert found.dropped == {"chosen and rejected are the same": 1, "the same pair again": 1}


def test_an_answer_that_is_there_and_empty_can_only_be_the_worse_one(write: Write) -> None:  # D17
    nothing = [{"role": "assistant", "content": ""}]
    (pair,) = taken(write({"prompt": "Tea?", "chosen": "Yes.", "rejected": nothing})).pairs
    assert pair.rejected == ""
    message = refusal(
        write({"prompt": "Tea?", "chosen": [{"role": "assistant", "content": "\u200b"}], "rejected": "No."})
    )
    assert message.startswith("rows.jsonl, line 1: field 'chosen' is an empty answer")


def test_columns_of_others_that_share_a_name_with_ours_mean_nothing(write: Write) -> None:
    row = {"prompt": "Tea?", "chosen": "Yes.", "rejected": "No.", "kind": "drinks", "origin": "web", "relation": 3}
    (pair,) = taken(write(row)).pairs
    assert (pair.kind, pair.relation, pair.origin) == ("plain", "imported", "rows.jsonl")


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"prompt": "Tea?", "chosen": "Yes."}, "field 'rejected' is missing or empty"),
        ({"prompt": "Tea?", "chosen": "", "rejected": "No."}, "field 'chosen' is missing or empty"),
        ({"prompt": "", "chosen": "Yes.", "rejected": "No."}, "field 'prompt' is missing or empty, and chosen and"),
        ({"chosen": "Yes.", "rejected": "No."}, "field 'prompt' is missing or empty, and chosen and rejected share no"),
        ({"chosen": [GOOD], "rejected": [BAD]}, "field 'prompt' is missing or empty, and chosen and rejected share no"),
        ({"prompt": "Tea?", "chosen": [GOOD, QUESTION], "rejected": "No."}, "field 'chosen' is not one answer"),
        ({"chosen": [QUESTION, GOOD], "rejected": [QUESTION]}, "field 'rejected' is not one answer"),
        ({"prompt": [QUESTION, GOOD], "chosen": "Yes.", "rejected": "No."}, "the last message of a prompt must come"),
        (
            {"prompt": "Tea?", "chosen": {"from": "gpt", "value": "Yes."}, "rejected": "No."},
            "field 'chosen', message 1",
        ),
    ],
)
def test_a_row_that_is_no_pair_is_refused_with_line_and_field(write: Write, row: Row, complaint: str) -> None:  # C12
    good = {"prompt": "Fine?", "chosen": "Yes.", "rejected": "No."}
    assert refusal(write(good, row)).startswith(f"rows.jsonl, line 2: {complaint}")


# --- decisions -------------------------------------------------------------------------------------------------------


def test_a_decided_item_is_read_whole(write: Write) -> None:
    found = taken(write(native_row(decided("edited", final="mine"))))
    assert (found.format, found.decided, found.dropped) == ("native", [decided("edited", final="mine")], {})


def test_the_same_decision_again_and_a_withdrawn_one_are_counted(write: Write) -> None:
    row = native_row(decided("accepted"))
    found = taken(write(row, row, native_row(decided("withdrawn", name="2"))))
    assert (len(found.decided), found.read) == (1, 3)
    assert found.dropped == {"the same decision again": 1, "a decision that was withdrawn": 1}


def test_one_decision_id_with_two_rulings_is_refused_naming_both_lines(write: Write) -> None:  # C18
    message = refusal(write(native_row(decided("accepted")), native_row(decided("rejected"))))
    assert message.startswith("rows.jsonl, line 1 and rows.jsonl, line 2: the same decision id 'c1'")


def test_two_drafts_under_one_id_are_refused_naming_both_lines(write: Write) -> None:  # C18
    one, other = native_row(decided("accepted")), native_row(decided("accepted", first="another"))
    other["decision"]["id"] = "c2"
    assert refusal(write(one, other)).startswith(
        "rows.jsonl, line 1 and rows.jsonl, line 2: the same draft id 'd1' and different contents."
    )


@pytest.mark.parametrize(
    ("part", "field", "value", "complaint"),
    [
        ("draft", "finish", "tired", "field 'draft.finish': Input should be 'stop', 'length' or 'cancelled'."),
        ("decision", "annotator", "", "field 'decision.annotator': String should have at least 1 character."),
        ("decision", "mood", "fine", "field 'decision.mood': Extra inputs are not permitted."),
        ("revision", "draft_id", "d9", "field 'revision.draft_id' names 'd9', but the row holds 'd1'."),
        ("decision", "prompt_id", "p9", "field 'decision.prompt_id' names 'p9', but the row holds 'p1'."),
        ("decision", "schema_version", 99, "it was written in version 99 of the records, and 1 is read."),
    ],
)
def test_a_decided_item_that_does_not_hold_together_is_refused(
    write: Write, part: str, field: str, value: object, complaint: str
) -> None:
    row = native_row(decided("accepted"))
    row[part][field] = value
    assert refusal(write(row)).startswith(f"rows.jsonl, line 1: {complaint}")


def test_a_decided_item_without_one_of_its_parts_is_refused(write: Write) -> None:
    row = native_row(decided("accepted"))
    del row["prompt"]
    assert refusal(write(row)).startswith("rows.jsonl, line 1: the field 'prompt' is missing.")


# --- which format ----------------------------------------------------------------------------------------------------


def test_fields_that_fit_no_format_are_listed_with_what_would_fit(write: Write) -> None:
    message = refusal(write({"input_ids": [1], "labels": [2]}))
    assert message.startswith("rows.jsonl has the fields input_ids, labels, which fit no format.")
    assert all(f"{name}: {form.what}" in message for name, form in FORMATS.items())


def test_a_format_that_does_not_exist_is_refused_with_the_choices(write: Write) -> None:
    message = refusal(write({"prompt": "Hello?"}), "parquet")
    assert message == "There is no import format 'parquet'. Choose one of: native, prompts, trl."


def test_a_person_may_name_the_format_where_the_fields_fit_another(write: Write) -> None:
    row = {"prompt": "Tea?", "chosen": "Yes.", "rejected": "No."}
    assert len(taken(write(row), "prompts").prompts) == 1
    assert len(taken(write(row)).pairs) == 1
