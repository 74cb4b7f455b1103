"""The native record: one decision with prompt, draft and revision, as a JSON object and back."""

from typing import Any

from pydantic import BaseModel, ValidationError

from realign.errors import InvalidInput
from realign.records import Decided, Decision, Draft, Prompt, Revision

PARTS: dict[str, type[BaseModel]] = {"prompt": Prompt, "draft": Draft, "revision": Revision, "decision": Decision}


def native_row(item: Decided) -> dict[str, Any]:
    """Return everything about one decision as JSON values."""
    return {name: record.model_dump(mode="json") for name, record in item._asdict().items()}


def decided_of(row: dict[str, Any], place: str) -> Decided:
    """Return the decision that `native_row` wrote; raise `InvalidInput` naming place and field."""
    try:
        return Decided(
            Prompt.model_validate(row.get("prompt")),
            Draft.model_validate(row.get("draft")),
            Revision.model_validate(row.get("revision")),
            Decision.model_validate(row.get("decision")),
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join([error.title.lower(), *(str(part) for part in first["loc"])])
        raise InvalidInput(f"{place}, field '{field}': {first['msg']}.") from error
