"""The tables: an id, the columns that are searched or that change, and the record itself as JSON text.

`number` counts the rows of a table in the order they were added; every "first", "latest" and "oldest" goes by it, not
by a clock. A change here needs a new file under `migrations/versions`.
"""

import unicodedata
from datetime import UTC, datetime

from sqlalchemy import (
    Boolean,
    Column,
    Date,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)


class Moment(TypeDecorator[datetime]):
    """A time kept as UTC, because SQLite forgets time zones."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn a time with a zone into UTC without one."""
        return value.astimezone(UTC).replace(tzinfo=None) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Say again that a stored time is UTC."""
        return value.replace(tzinfo=UTC) if value else None


def folded(text: str) -> str:
    """Return `text` as it is searched: upper and lower case, and composed and decomposed letters, are the same."""
    return unicodedata.normalize("NFC", text.casefold())


def _number() -> Column[int]:
    return Column("number", Integer, primary_key=True)


def _id() -> Column[str]:
    return Column("id", String, nullable=False, unique=True)


def _record() -> Column[str]:
    return Column("record", Text, nullable=False)


def _sums() -> list[Column[int]]:
    return [Column(name, Integer, nullable=False) for name in ("n", "n_hunks", "n_kept", "active_ms")]


# Every constraint has a name, because SQLite can only drop what has one.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

prompts = Table(
    "prompts",
    metadata,
    _number(),
    _id(),
    Column("content_hash", String, nullable=False, unique=True),
    Column("live_decision", String),  # changes: the decision that stands; none means the prompt waits
    Column("live_preference", String),  # changes: the preference that stands; none means two drafts wait
    Column("unrevised", Boolean, nullable=False, default=True),  # changes: false sorts first in the queue
    Column("unpaired", Boolean, nullable=False, default=True),  # changes: false, which sorts first, from two drafts on
    Column("searched", Text, nullable=False),
    _record(),
    Index(None, "live_decision", "unrevised", "number"),
    Index(None, "live_preference", "unpaired", "number"),
)

drafts = Table(
    "drafts",
    metadata,
    _number(),
    _id(),
    Column("prompt_id", String, ForeignKey("prompts.id"), nullable=False, index=True),
    Column("searched", Text, nullable=False),
    _record(),
)

revisions = Table(
    "revisions",
    metadata,
    _number(),
    _id(),
    Column("draft_id", String, ForeignKey("drafts.id"), nullable=False, index=True),
    Column("searched", Text, nullable=False),
    _record(),
)

decisions = Table(
    "decisions",
    metadata,
    _number(),
    _id(),
    Column("prompt_id", String, ForeignKey("prompts.id"), nullable=False, index=True),
    Column("draft_id", String, ForeignKey("drafts.id"), nullable=False),
    Column("revision_id", String, ForeignKey("revisions.id"), nullable=False),
    Column("ruling", String, nullable=False),
    Column("annotator", String, nullable=False),
    Column("decided", Moment, nullable=False),
    Column("live", Boolean, nullable=False),  # changes: it stands, and `prompts.live_decision` names it
    Column("searched", Text, nullable=False),
    _record(),
    Index(None, "annotator"),  # every index ends with the number, so that the latest is found at once
    Index(None, "annotator", "live"),
    Index(None, "annotator", "live", "decided"),
)

preferences = Table(
    "preferences",
    metadata,
    _number(),
    _id(),
    Column("prompt_id", String, ForeignKey("prompts.id"), nullable=False, index=True),
    Column("left_id", String, ForeignKey("drafts.id"), nullable=False),
    Column("right_id", String, ForeignKey("drafts.id"), nullable=False),
    Column("annotator", String, nullable=False),
    Column("live", Boolean, nullable=False),  # changes: it stands, and `prompts.live_preference` names it
    _record(),
    Index(None, "annotator", "live"),
)

# What the live decisions add up to, so that nobody has to count them: once over all days, once by day.
tallies = Table(
    "tallies",
    metadata,
    Column("annotator", String, primary_key=True),
    Column("ruling", String, primary_key=True),
    *_sums(),
)

day_tallies = Table(
    "day_tallies",
    metadata,
    Column("day", Date, primary_key=True),
    Column("annotator", String, primary_key=True),
    Column("ruling", String, primary_key=True),
    *_sums(),
)

unfinished = Table(
    "unfinished",
    metadata,
    _number(),
    Column("prompt_id", String, ForeignKey("prompts.id"), nullable=False),
    Column("revision_id", String, ForeignKey("revisions.id"), nullable=False),
    Column("decision_id", String, nullable=False),
    Column("annotator", String, nullable=False),
    Column("saved", Moment, nullable=False),
    _record(),
    UniqueConstraint("annotator", "revision_id"),
    Index(None, "annotator", "prompt_id"),
    Index(None, "annotator", "saved"),
)

leases = Table(
    "leases",
    metadata,
    Column("prompt_id", String, ForeignKey("prompts.id"), primary_key=True),
    Column("seat", String, nullable=False, unique=True),
    Column("kind", String, nullable=False),
    Column("decision_id", String, nullable=False),
    Column("started", Moment, nullable=False),
    Column("expires", Moment, nullable=False),
)

imported_pairs = Table(
    "imported_pairs",
    metadata,
    _number(),
    Column("digest", String, nullable=False, unique=True),
    _record(),
)

promotions = Table(
    "promotions",
    metadata,
    _number(),
    _id(),
    Column("actor", String, nullable=False),
    _record(),
)

games = Table(
    "games",
    metadata,
    _number(),
    _id(),
    Column("run", String, nullable=False, index=True),
    _record(),
)

verdicts = Table(
    "verdicts",
    metadata,
    _number(),
    _id(),
    Column("game_id", String, ForeignKey("games.id"), nullable=False),
    Column("judge", String, nullable=False),
    Column("withdrawn", Boolean, nullable=False, default=False),  # changes: the judge took it back
    _record(),
    Index(None, "game_id", "judge"),
)

scores = Table(
    "scores",
    metadata,
    _number(),
    _id(),
    Column("run", String, nullable=False),
    Column("judge", String, nullable=False),
    _record(),
    UniqueConstraint("run", "judge"),
)

collected_runs = Table(
    "collected_runs",
    metadata,
    Column("run", String, primary_key=True),
)
