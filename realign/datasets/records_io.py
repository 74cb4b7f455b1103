"""Records as rows of a file and back: the explicit TRL pair, and the native record of one decision."""

from typing import Any, TypeVar

from pydantic import ValidationError

from realign.datasets.containers import Row, refused
from realign.records import SCHEMA_VERSION, Decided, Decision, Draft, Pair, Prompt, Record, Revision

R = TypeVar("R", bound=Record)

PAIR_COLUMNS = ("kind", "relation", "prompt_hash", "decision_id", "origin")
"""What a pair of ours says beside TRL's columns; a row that has all of them was exported here."""


def trl_row(pair: Pair) -> dict[str, Any]:
    """Return a pair as an explicit conversational preference row; further columns say where it comes from.

    Every row has the same columns of the same types, so that `datasets` can read the file.
    """
    return {
        "prompt": [message.model_dump() for message in pair.prompt],
        "chosen": [{"role": "assistant", "content": pair.chosen}],
        "rejected": [{"role": "assistant", "content": pair.rejected}],
        "kind": pair.kind,
        "relation": pair.relation,
        "prompt_hash": pair.prompt_hash,
        "decision_id": pair.decision_id or "",
        "origin": pair.origin,
    }


def native_row(item: Decided) -> dict[str, Any]:
    """Return everything about one decision as JSON values."""
    return {name: record.model_dump(mode="json") for name, record in item._asdict().items()}


def decided_of(row: Row) -> Decided:
    """Return the decision that `native_row` wrote; raise `InvalidInput` naming place and field."""
    decision = row.values.get("decision")
    version = decision.get("schema_version", SCHEMA_VERSION) if isinstance(decision, dict) else SCHEMA_VERSION
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise refused(
            row.place,
            f"it was written in version {version} of the records, and {SCHEMA_VERSION} is read. Update first.",
        )
    item = Decided(
        _part(row, "prompt", Prompt),
        _part(row, "draft", Draft),
        _part(row, "revision", Revision),
        _part(row, "decision", Decision),
    )
    _refuse_strangers(item, row.place)
    return item


def complaint(error: ValidationError, under: str = "") -> str:
    """Return what pydantic found first as a sentence with the field, such as `field 'draft.text': Field required.`"""
    first = error.errors(include_url=False)[0]
    field = ".".join([*([under] if under else []), *(str(part) for part in first["loc"])])
    what = first["msg"].removeprefix("Value error, ")
    return f"field '{field}': {what}." if field else f"{what}."


def _part(row: Row, name: str, record: type[R]) -> R:
    if row.values.get(name) is None:
        raise refused(row.place, f"the field '{name}' is missing. Export the file again.")
    try:
        return record.model_validate(row.values[name])
    except ValidationError as error:
        raise refused(row.place, f"{complaint(error, name)} Mend it, or export the file again.") from error


def _refuse_strangers(item: Decided, place: str) -> None:
    """Refuse a row whose four records do not belong together."""
    prompt, draft, revision, decision = item
    links = {
        "draft.prompt_id": (draft.prompt_id, prompt.id),
        "revision.draft_id": (revision.draft_id, draft.id),
        "decision.prompt_id": (decision.prompt_id, prompt.id),
        "decision.draft_id": (decision.draft_id, draft.id),
        "decision.revision_id": (decision.revision_id, revision.id),
    }
    for field, (named, there) in links.items():
        if named != there:
            raise refused(
                place, f"field '{field}' names '{named}', but the row holds '{there}'. Mend or delete the row."
            )
