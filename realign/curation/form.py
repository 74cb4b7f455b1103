"""What an annotator can say beside the ruling: reasons, ratings, a comment; which of them are needed."""

import tomllib
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from realign.errors import InvalidInput
from realign.records import Record, Ruling, Work

JUDGED: tuple[Ruling, ...] = ("accepted", "edited", "rejected", "tied")
MAX_REASONS, MAX_REASON, MAX_COMMENT = 20, 60, 10_000


class Scale(Record):
    """One dimension, rated from 1 to 5."""

    name: str = Field(min_length=1, max_length=MAX_REASON)
    what: str = ""
    """The question a rating answers."""


class Form(Record):
    """Read from a TOML file; the one that comes with the installation is `data/form.toml`."""

    reasons: tuple[str, ...] = ()
    flag_reasons: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    blind: bool = False
    ratings: tuple[Scale, ...] = ()

    @model_validator(mode="after")
    def _requires_what_there_is(self) -> Self:
        known = {"reasons", "comment", *(scale.name for scale in self.ratings)}
        if unknown := sorted(set(self.required) - known):
            raise ValueError(f"'required' names {unknown[0]!r}; there is only {', '.join(sorted(known))}")
        return self

    def check(self, ruling: Ruling, work: Work) -> None:
        """Raise `InvalidInput` where `work` lacks what a decision needs, or holds what the form does not ask."""
        scales = {scale.name for scale in self.ratings}
        if unknown := sorted(set(work.ratings) - scales):
            raise InvalidInput(f"There is no rating called '{unknown[0]}'. Reload the page: the form has changed.")
        if len(work.reasons) > MAX_REASONS or any(not 0 < len(reason) <= MAX_REASON for reason in work.reasons):
            raise InvalidInput(f"At most {MAX_REASONS} reasons of at most {MAX_REASON} characters each can be given.")
        if len(work.comment) > MAX_COMMENT:
            raise InvalidInput(f"The comment is longer than {MAX_COMMENT:,} characters. Shorten it.")
        if ruling == "flagged" and not (work.reasons or work.comment.strip()):
            raise InvalidInput("A flag needs a reason or a comment, so that others know what to look at.")
        if ruling in JUDGED and (missing := [name for name in self.required if not _given(name, work)]):
            raise InvalidInput(f"This decision still needs: {', '.join(missing)}. Give it, then decide again.")


def _given(name: str, work: Work) -> bool:
    given = {"reasons": bool(work.reasons), "comment": bool(work.comment.strip())}
    return given.get(name, name in work.ratings)


def load_form(path: Path) -> Form:
    """Read the form; raise `InvalidInput` naming file and field where that cannot be done."""
    try:
        return Form.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InvalidInput(f"The form {path} cannot be read: {error.strerror}. Mend REALIGN_FORM.") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "required"
        told = first["msg"].removeprefix("Value error, ")
        raise InvalidInput(f"The form {path} cannot be used: field '{field}': {told}.") from error
    except ValueError as error:  # TOML's and UTF-8's complaints
        raise InvalidInput(f"The form {path} cannot be read: {error}. Mend it.") from error
