"""Files of prompts, pairs and decisions, found from their fields; all of a file is taken, or nothing."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from realign.datasets.containers import Row, read_rows, refused
from realign.datasets.conversations import chat_of, with_system, word_of
from realign.datasets.records_io import PAIR_COLUMNS, complaint, decided_of
from realign.errors import InvalidInput, pick
from realign.records import Chat, Decided, Message, Pair, Prompt, Record, is_empty


class Import(NamedTuple):
    """What a file held."""

    format: str
    prompts: list[Prompt]
    pairs: list[Pair]
    decided: list[Decided]
    read: int
    dropped: dict[str, int]
    """How many rows, or parts of rows, were left out, by reason."""


class Taking(NamedTuple):
    """What a reader needs beside the rows, and where it counts what it leaves out."""

    origin: str
    now: datetime
    new_id: Callable[[], str]
    dropped: Counter[str]


class Taken(NamedTuple):
    """What the rows of one format hold."""

    prompts: Sequence[Prompt] = ()
    pairs: Sequence[Pair] = ()
    decided: Sequence[Decided] = ()


class Format(NamedTuple):
    """One shape of rows."""

    what: str
    fits: Callable[[set[str]], bool]
    """Whether rows with these fields have this shape; the formats are asked in order."""
    take: Callable[[list[Row], Taking], Taken]


def read(
    path: Path,
    format: str | None,  # noqa: A002 - the word on the screen
    *,
    origin: str,
    now: datetime,
    new_id: Callable[[], str],
) -> Import:
    """Return what `path` holds in `format`, found from its fields where None; `origin` names the file in the records.

    Raises `InvalidInput` that names file, line and field of the first row that cannot be taken.
    """
    if format is not None:
        pick(format, FORMATS, "import format")
    rows = read_rows(path)
    name = format or detect(rows, path.name)
    taking = Taking(origin, now, new_id, Counter())
    taken = FORMATS[name].take(rows, taking)
    prompts, pairs, decided = taken
    return Import(name, list(prompts), list(pairs), list(decided), len(rows), dict(taking.dropped))


def detect(rows: list[Row], name: str) -> str:
    """Return the format whose fields the first row has; raise `InvalidInput` that lists the fields and the formats."""
    fields = set(rows[0].values)
    for format_name, form in FORMATS.items():
        if form.fits(fields):
            return format_name
    known = "; ".join(f"{format_name}: {form.what}" for format_name, form in FORMATS.items())
    raise InvalidInput(
        f"{name} has the fields {', '.join(sorted(fields)) or '(none)'}, which fit no format. Rename them to one of "
        f"these: {known}."
    )


# --- prompts ---------------------------------------------------------------------------------------------------------

PROMPT_FIELDS = ("messages", "prompt", "turns", "instruction", "question", "text")
ID_FIELDS = ("id", "prompt_id", "question_id", "uid")


def _take_prompts(rows: list[Row], taking: Taking) -> Taken:
    taken: dict[str, Prompt] = {}
    by_source: dict[str, tuple[str, str]] = {}
    for row in rows:
        prompt = _prompt(row, taking)
        text = prompt.content_hash
        if prompt.source_id is not None:
            place, known = by_source.setdefault(prompt.source_id, (row.place, text))
            if known != text:
                raise refused(
                    f"{place} and {row.place}", f"the same id '{prompt.source_id}' and different texts. Rename one."
                )
        if taken.setdefault(text, prompt) is not prompt:
            taking.dropped["the same prompt again"] += 1
    return Taken(prompts=list(taken.values()))


def _prompt(row: Row, taking: Taking) -> Prompt:
    prompt = _asking(row, _asked(row, taking.dropped), taking)
    words = {"source_id": word_of(row, *ID_FIELDS), "category": word_of(row, "category")}
    return prompt.model_copy(update={**words, "language": word_of(row, "language")})


def _asked(row: Row, dropped: Counter[str]) -> Chat:
    """Return the conversation of a prompt row, whichever field holds it."""
    values = row.values
    field = next((name for name in PROMPT_FIELDS if values.get(name)), None)
    if field is None:
        raise refused(
            row.place, f"it has no prompt: of the fields {', '.join(PROMPT_FIELDS)} none is filled. Fill one."
        )
    if field == "turns":
        return _first_turn(row, dropped)
    chat = chat_of(row, field, "user")
    if field == "instruction" and values.get("input"):
        chat = _joined(row, chat, chat_of(row, "input", "user"))
    while chat and chat[-1].role == "assistant":  # a whole conversation: its last answer is not part of the prompt
        chat = chat[:-1]
    return chat


def _first_turn(row: Row, dropped: Counter[str]) -> Chat:
    """Return the first of several questions; each later one follows an answer that nobody has written yet."""
    turns = row.values["turns"]
    first = turns[0] if isinstance(turns, list) else turns
    text = first.get("content") if isinstance(first, dict) else first
    if not isinstance(text, str):
        raise refused(row.place, "field 'turns' does not start with a text. Write one, or delete the row.")
    if isinstance(turns, list) and len(turns) > 1:
        dropped["a later turn, which needs the answer before it"] += len(turns) - 1
    return (Message(role="user", content=text),)


def _joined(row: Row, instruction: Chat, more: Chat) -> Chat:
    if len(instruction) != 1 or len(more) != 1:
        raise refused(row.place, "fields 'instruction' and 'input' are not two texts. Make them texts.")
    return (Message(role="user", content=f"{instruction[0].content}\n\n{more[0].content}"),)


def _asking(row: Row, chat: Chat, taking: Taking) -> Prompt:
    """Return the prompt that `chat` is, with the system message of the row, or refuse it."""
    if not chat or chat[-1].role != "user":
        raise refused(row.place, "the last message of a prompt must come from the user. Add it, or delete the row.")
    if is_empty(chat[-1].content):
        raise refused(row.place, "the last message of the prompt is empty. Write one, or delete the row.")
    return Prompt(id=taking.new_id(), messages=with_system(row, chat), origin=taking.origin, created=taking.now)


# --- pairs -----------------------------------------------------------------------------------------------------------

_HASH = re.compile(r"[0-9a-f]{64}")


def _take_pairs(rows: list[Row], taking: Taking) -> Taken:
    taken: dict[tuple[str, Chat, str, str], Pair] = {}
    for row in rows:
        pair = _imported_pair(row, taking)
        if pair.chosen == pair.rejected:
            taking.dropped["chosen and rejected are the same"] += 1
        elif taken.setdefault((pair.kind, pair.prompt, pair.chosen, pair.rejected), pair) is not pair:
            taking.dropped["the same pair again"] += 1
    return Taken(pairs=list(taken.values()))


def _imported_pair(row: Row, taking: Taking) -> Pair:
    chat, chosen, rejected = _compared(row)
    prompt = _asking(row, chat, taking)
    pair = {
        "kind": "plain",
        "relation": "imported",
        "prompt": prompt.messages,
        "chosen": chosen,
        "rejected": rejected,
        "prompt_hash": prompt.content_hash,
        "origin": taking.origin,
    }
    if set(PAIR_COLUMNS) <= row.values.keys():
        pair |= _ours(row)
    try:
        return Pair.model_validate(pair)
    except ValidationError as error:
        raise refused(row.place, f"{complaint(error)} Mend it, or export the file again.") from error


def _ours(row: Row) -> dict[str, Any]:
    """Return what an exported pair says of itself.

    Its hash counts only where the person's prompt cannot be told from the row: otherwise a wrong one could bring a
    held-out prompt into training.
    """
    said = {name: row.values[name] for name in PAIR_COLUMNS}
    if said["kind"] != "revision":
        del said["prompt_hash"]
    elif not (isinstance(said["prompt_hash"], str) and _HASH.fullmatch(said["prompt_hash"])):
        raise refused(row.place, "field 'prompt_hash' is not a SHA-256 in hexadecimal. Export the file again.")
    return {**said, "decision_id": said["decision_id"] or None}


def _compared(row: Row) -> tuple[Chat, str, str]:
    """Return prompt, chosen and rejected text, whether the prompt has a field of its own or starts both answers."""
    chosen, rejected = _answer(row, "chosen"), _answer(row, "rejected")
    if row.values.get("prompt"):
        prompt = chat_of(row, "prompt", "user")
        chosen, rejected = _without(prompt, chosen), _without(prompt, rejected)
    else:
        prompt = _common_prompt(chosen, rejected, row.place)
        chosen, rejected = chosen[len(prompt) :], rejected[len(prompt) :]
    for field, answer in (("chosen", chosen), ("rejected", rejected)):
        if len(answer) != 1 or answer[0].role != "assistant":
            raise refused(row.place, f"field '{field}' is not one answer of the assistant to the prompt. Mend it.")
    if is_empty(chosen[0].content):
        raise refused(row.place, "field 'chosen' is an empty answer, which cannot be the better one. Delete the row.")
    return prompt, chosen[0].content, rejected[0].content


def _answer(row: Row, field: str) -> Chat:
    if not row.values.get(field):
        raise refused(row.place, f"field '{field}' is missing or empty. Fill it, or delete the row.")
    return chat_of(row, field, "assistant")


def _without(prompt: Chat, answer: Chat) -> Chat:
    """Return an answer without the prompt, which a whole conversation repeats."""
    return answer[len(prompt) :] if answer[: len(prompt)] == prompt else answer


def _common_prompt(chosen: Chat, rejected: Chat, place: str) -> Chat:
    """Return what two conversations share up to their last common message of the user.

    Not up to their last common message: where one conversation goes on after the other ends, that is an answer.
    """
    n = 0
    for at, (one, other) in enumerate(zip(chosen, rejected, strict=False), 1):
        if one != other:
            break
        if one.role == "user":
            n = at
    if not n:
        raise refused(
            place, "field 'prompt' is missing or empty, and chosen and rejected share no message of the user. Fill it."
        )
    return chosen[:n]


# --- decisions -------------------------------------------------------------------------------------------------------


def _take_decided(rows: list[Row], taking: Taking) -> Taken:
    taken: dict[str, Decided] = {}
    known: dict[tuple[str, str], tuple[str, Record]] = {}
    for row in rows:
        item = decided_of(row)
        if item.decision.ruling == "withdrawn":
            taking.dropped["a decision that was withdrawn"] += 1
            continue
        for name, record in item._asdict().items():
            place, first = known.setdefault((name, record.id), (row.place, record))
            if record != first:
                raise refused(
                    f"{place} and {row.place}",
                    f"the same {name} id '{record.id}' and different contents. Keep one row.",
                )
        if taken.setdefault(item.decision.id, item) is not item:
            taking.dropped["the same decision again"] += 1
    return Taken(decided=list(taken.values()))


FORMATS: dict[str, Format] = {
    "native": Format(
        "prompt, draft, revision and decision of each item, as this studio exports them",
        lambda fields: {"draft", "revision", "decision"} <= fields,
        _take_decided,
    ),
    "trl": Format(
        "prompt, chosen, rejected as texts or messages; or chosen and rejected as whole conversations",
        lambda fields: {"chosen", "rejected"} <= fields,
        _take_pairs,
    ),
    "prompts": Format(
        "messages, prompt, instruction (with input), question, text or turns; or one prompt a line of a text file",
        lambda fields: not fields.isdisjoint(PROMPT_FIELDS),
        _take_prompts,
    ),
}
"""A new dataset format is one entry here."""
