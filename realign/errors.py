"""What can go wrong, said so that a person can act on it.

Every message names what happened, where (file, line, field) and what to do. Domain code raises these; only the
screen's boundary, the terminal and the worker catch them.
"""

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


class RealignError(Exception):
    """Something a person can act on; its text is shown as it stands."""


class InvalidInput(RealignError):
    """What was passed cannot be taken: a file, a row, a name, a value."""


class NotFound(RealignError):
    """What was named does not exist."""


class Conflict(RealignError):
    """The state has moved on: another decision came first, a run was launched already."""


class ModelUnavailable(RealignError):
    """A model cannot be loaded or reached."""


class StorageFailed(RealignError):
    """The disk or the database refused; what was stored before stays as it was."""


class RunStopped(RealignError):
    """A person asked this run to stop; what was finished is kept."""


def pick(name: str, choices: Mapping[str, T], what: str) -> T:
    """Return `choices[name]`, or raise `InvalidInput` that lists what can be chosen."""
    if name in choices:
        return choices[name]
    raise InvalidInput(f"There is no {what} '{name}'. Choose one of: {', '.join(sorted(choices))}.")
