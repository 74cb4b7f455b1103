"""Files of prompts, pairs and decisions, found from their fields; all of a file is taken, or nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from realign.datasets.containers import Row, read_rows
from realign.datasets.records_io import decided_of
from realign.errors import InvalidInput, pick
from realign.records import Chat, Decided, Message, Pair, Prompt, chat_hash


class Import(NamedTuple):
    """What a file held."""

    format: str
    prompts: list[Prompt]
    pairs: list[Pair]
    decided: list[Decided]
    read: int
    dropped: dict[str, int]
    """Number of rows that were left out, by reason."""


class Taking(NamedTuple):
    """What a reader needs beside the rows."""

    origin: str
    now: datetime
    new_id: Callable[[], str]


class Format(NamedTuple):
    """One shape of rows."""

    what: str
    fits: Callable[[set[str]], bool]
    """Whether rows with these fields have this shape; the formats are asked in order."""
    take: Callable[[list[Row], Taking, Counter[str]], tuple[list[Prompt], list[Pair], list[Decided]]]


def read(
    path: Path,
    format: str | None,  # noqa: A002 - the word on the screen
    *,
    origin: str,
    now: datetime,
    new_id: Callable[[], str],
) -> Import:
    """Return what `path` holds in `format`, found from its fields where None; raise `InvalidInput` with the line."""
    rows = read_rows(path)
    name = format or detect(rows, path.name)
    dropped: Counter[str] = Counter()
    prompts, pairs, decided = pick(name, FORMATS, "import format").take(rows, Taking(origin, now, new_id), dropped)
    return Import(name, prompts, pairs, decided, len(rows), dict(dropped))


def detect(rows: list[Row], name: str) -> str:
    """Return the format whose fields the first row has; raise `InvalidInput` that lists the fields and the formats."""
    fields = set(rows[0].values)
    for format_name, form in FORMATS.items():
        if form.fits(fields):
            return format_name
    known = "; ".join(f"{format_name}: {form.what}" for format_name, form in FORMATS.items())
    raise InvalidInput(f"{name} has the fields {', '.join(sorted(fields))}, which fit no format. What fits: {known}.")


# --- prompts ---------------------------------------------------------------------------------------------------------

PROMPT_FIELDS = ("messages", "prompt", "turns", "instruction", "question", "text")


def _take_prompts(
    rows: list[Row], taking: Taking, dropped: Counter[str]
) -> tuple[list[Prompt], list[Pair], list[Decided]]:
    taken: list[Prompt] = []
    by_source: dict[str, tuple[str, str]] = {}
    seen: set[str] = set()
    for row in rows:
        prompt = _prompt(row, taking)
        if prompt.source_id:
            place, known = by_source.setdefault(prompt.source_id, (row.place, prompt.content_hash))
            if known != prompt.content_hash:
                raise InvalidInput(
                    f"{place} and {row.place} have the same id '{prompt.source_id}' and different texts. Rename one."
                )
        if prompt.content_hash in seen:
            dropped["the same prompt again"] += 1
            continue
        seen.add(prompt.content_hash)
        taken.append(prompt)
    return taken, [], []


def _prompt(row: Row, taking: Taking) -> Prompt:
    values = row.values
    source = values.get("id", values.get("prompt_id", values.get("question_id")))
    try:
        return Prompt(
            id=taking.new_id(),
            messages=_asked(row),
            origin=taking.origin,
            source_id=None if source in (None, "") else str(source),
            category=_word(values.get("category")),
            language=_word(values.get("language")),
            created=taking.now,
        )
    except ValidationError as error:
        raise InvalidInput(f"{row.place}: {_first_message(error)}.") from error


def _asked(row: Row) -> Chat:
    """Return the conversation of a prompt row, whichever field holds it."""
    values = row.values
    field = next((name for name in PROMPT_FIELDS if values.get(name)), None)
    if field is None:
        raise InvalidInput(f"{row.place} has no prompt: none of the fields {', '.join(PROMPT_FIELDS)} is filled.")
    value = values[field]
    if field == "turns" and isinstance(value, list):
        value = value[0] if value else ""
        value = value.get("content", "") if isinstance(value, dict) else value
    if field == "instruction" and values.get("input"):
        value = f"{value}\n\n{values['input']}"
    chat = _chat(value, "user", row.place, field)
    while chat and chat[-1].role == "assistant":  # a whole conversation: its last answer is not part of the prompt
        chat = chat[:-1]
    system = values.get("system")
    if system and chat and chat[0].role != "system":
        chat = (Message(role="system", content=str(system)), *chat)
    return chat


# --- pairs -----------------------------------------------------------------------------------------------------------


def _take_pairs(
    rows: list[Row], taking: Taking, dropped: Counter[str]
) -> tuple[list[Prompt], list[Pair], list[Decided]]:
    taken: list[Pair] = []
    seen: set[tuple[str, str, str, str]] = set()
    for row in rows:
        pair = _imported_pair(row, taking)
        key = (pair.kind, chat_hash(pair.prompt), pair.chosen, pair.rejected)
        if pair.chosen == pair.rejected:
            dropped["chosen and rejected are the same"] += 1
        elif key in seen:
            dropped["the same pair again"] += 1
        else:
            seen.add(key)
            taken.append(pair)
    return [], taken, []


def _imported_pair(row: Row, taking: Taking) -> Pair:
    values = row.values
    for field in ("chosen", "rejected"):
        if not values.get(field):
            raise InvalidInput(
                f"{row.place} lacks the field '{field}', or it is empty. Nothing was taken from the file."
            )
    chosen = _chat(values["chosen"], "assistant", row.place, "chosen")
    rejected = _chat(values["rejected"], "assistant", row.place, "rejected")
    if values.get("prompt"):
        prompt = _chat(values["prompt"], "user", row.place, "prompt")
        chosen, rejected = chosen[len(_shared(prompt, chosen)) :], rejected[len(_shared(prompt, rejected)) :]
    else:
        prompt = _common_prompt(chosen, rejected, row.place)
        chosen, rejected = chosen[len(prompt) :], rejected[len(prompt) :]
    for field, answer in (("chosen", chosen), ("rejected", rejected)):
        if len(answer) != 1 or answer[0].role != "assistant" or not answer[0].content.strip():
            raise InvalidInput(f"{row.place}, field '{field}' is not one answer of the assistant after the prompt.")
    try:
        asked = Prompt(id="import", messages=prompt, created=taking.now)
        return Pair(
            kind=values.get("kind") or "plain",
            relation=values.get("relation") or "imported",
            prompt=prompt,
            chosen=chosen[0].content,
            rejected=rejected[0].content,
            prompt_hash=str(values.get("prompt_hash") or asked.content_hash),
            decision_id=values.get("decision_id") or None,
            origin=str(values.get("origin") or taking.origin),
        )
    except ValidationError as error:
        raise InvalidInput(f"{row.place}: {_first_message(error)}.") from error


def _shared(prompt: Chat, answer: Chat) -> Chat:
    """Return the prompt where an answer repeats it, as a whole conversation does."""
    return prompt if answer[: len(prompt)] == prompt else ()


def _common_prompt(chosen: Chat, rejected: Chat, place: str) -> Chat:
    """Return what two conversations share up to their last common message of the user."""
    n = 0
    for at, (one, other) in enumerate(zip(chosen, rejected, strict=False), 1):
        if one != other:
            break
        if one.role == "user":
            n = at
    if not n:
        raise InvalidInput(
            f"{place} has no field 'prompt', and chosen and rejected share no message of the user. Add a prompt."
        )
    return chosen[:n]


# --- decisions -------------------------------------------------------------------------------------------------------


def _take_decided(
    rows: list[Row], taking: Taking, dropped: Counter[str]
) -> tuple[list[Prompt], list[Pair], list[Decided]]:
    taken = {item.decision.id: item for item in (decided_of(row.values, row.place) for row in rows)}
    if len(taken) < len(rows):
        dropped["the same decision again"] += len(rows) - len(taken)
    return [], [], list(taken.values())


# --- values ----------------------------------------------------------------------------------------------------------


def _chat(value: Any, role: str, place: str, field: str) -> Chat:
    """Return a text as one message of `role`, or a list of messages as they are."""
    if isinstance(value, str):
        return _messages([{"role": role, "content": value}], place, field)
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise InvalidInput(f"{place}, field '{field}' is neither a text nor a list of messages.")
    return _messages(value, place, field)


def _messages(values: Iterable[Any], place: str, field: str) -> Chat:
    messages = []
    for n, value in enumerate(values, 1):
        where = f"{place}, field '{field}', message {n}"
        if not isinstance(value, Mapping):
            raise InvalidInput(f"{where} is not an object with 'role' and 'content'.")
        role, content = value.get("role"), value.get("content")
        if not isinstance(content, str):
            raise InvalidInput(f"{where} has no text in 'content'.")
        try:
            messages.append(Message.model_validate({"role": role, "content": content}))
        except ValidationError as error:
            raise InvalidInput(f"{where} has the role '{role}'; use system, user or assistant.") from error
    return tuple(messages)


def _word(value: Any) -> str | None:
    return None if value in (None, "") else str(value)


def _first_message(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"{f'{field}: ' if field else ''}{first['msg'].removeprefix('Value error, ')}"


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
        lambda fields: bool(fields & set(PROMPT_FIELDS)),
        _take_prompts,
    ),
}
"""A new dataset format is one entry here."""
