"""Unfinished work, preferences between drafts, tallies, and what makes the queue fast at any size."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

SUMS = """
    count(*),
    sum(json_array_length(record, '$.edits')),
    sum((SELECT count(*) FROM json_each(decisions.record, '$.edits') AS edit WHERE edit.value ->> '$.accepted')),
    sum(coalesce(record ->> '$.active_ms', 0))
"""


def upgrade() -> None:
    """Add the tables and columns, and fill them from what is stored."""
    _prompts()
    _decisions()
    _preferences()
    _tallies()
    _unfinished()
    _leases()


def _prompts() -> None:
    op.add_column("prompts", sa.Column("live_preference", sa.String(), nullable=True))
    op.add_column("prompts", sa.Column("unpaired", sa.Boolean(), nullable=False, server_default=sa.true()))
    pairs = "SELECT prompt_id FROM drafts GROUP BY prompt_id HAVING count(*) > 1"
    op.execute(f"UPDATE prompts SET unpaired = 0 WHERE id IN ({pairs})")
    op.create_index("ix_prompts_live_preference_unpaired_number", "prompts", ["live_preference", "unpaired", "number"])


def _decisions() -> None:
    op.add_column("decisions", sa.Column("live", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.execute("UPDATE decisions SET live = 1 WHERE id IN (SELECT live_decision FROM prompts)")
    op.drop_index("ix_decisions_annotator_decided", "decisions")
    op.create_index("ix_decisions_annotator", "decisions", ["annotator"])
    op.create_index("ix_decisions_annotator_live", "decisions", ["annotator", "live"])
    op.create_index("ix_decisions_annotator_live_decided", "decisions", ["annotator", "live", "decided"])


def _preferences() -> None:
    op.create_table(
        "preferences",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("prompt_id", sa.String(), nullable=False),
        sa.Column("left_id", sa.String(), nullable=False),
        sa.Column("right_id", sa.String(), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name="fk_preferences_prompt_id"),
        sa.ForeignKeyConstraint(["left_id"], ["drafts.id"], name="fk_preferences_left_id"),
        sa.ForeignKeyConstraint(["right_id"], ["drafts.id"], name="fk_preferences_right_id"),
        sa.PrimaryKeyConstraint("number", name="pk_preferences"),
        sa.UniqueConstraint("id", name="uq_preferences_id"),
    )
    op.create_index("ix_preferences_prompt_id", "preferences", ["prompt_id"])
    op.create_index("ix_preferences_annotator_live", "preferences", ["annotator", "live"])


def _tallies() -> None:
    for name, key in (("tallies", ("annotator", "ruling")), ("day_tallies", ("day", "annotator", "ruling"))):
        op.create_table(
            name,
            *(sa.Column(part, sa.Date() if part == "day" else sa.String(), nullable=False) for part in key),
            *(sa.Column(each, sa.Integer(), nullable=False) for each in ("n", "n_hunks", "n_kept", "active_ms")),
            sa.PrimaryKeyConstraint(*key, name=f"pk_{name}"),
        )
    op.execute(f"INSERT INTO tallies SELECT annotator, ruling, {SUMS} FROM decisions WHERE live GROUP BY 1, 2")
    by_day = f"SELECT date(decided), annotator, ruling, {SUMS} FROM decisions WHERE live GROUP BY 1, 2, 3"
    op.execute(f"INSERT INTO day_tallies {by_day}")


def _unfinished() -> None:
    op.create_table(
        "unfinished",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("prompt_id", sa.String(), nullable=False),
        sa.Column("revision_id", sa.String(), nullable=False),
        sa.Column("decision_id", sa.String(), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("saved", sa.DateTime(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name="fk_unfinished_prompt_id"),
        sa.ForeignKeyConstraint(["revision_id"], ["revisions.id"], name="fk_unfinished_revision_id"),
        sa.PrimaryKeyConstraint("number", name="pk_unfinished"),
        sa.UniqueConstraint("annotator", "revision_id", name="uq_unfinished_annotator_revision_id"),
    )
    op.create_index("ix_unfinished_annotator_prompt_id", "unfinished", ["annotator", "prompt_id"])
    op.create_index("ix_unfinished_annotator_saved", "unfinished", ["annotator", "saved"])


def _leases() -> None:
    # The constraint carries the name of its column, and SQLite renames neither without a new table.
    op.rename_table("leases", "old_leases")
    op.create_table(
        "leases",
        sa.Column("prompt_id", sa.String(), nullable=False),
        sa.Column("seat", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("decision_id", sa.String(), nullable=False),
        sa.Column("started", sa.DateTime(), nullable=False),
        sa.Column("expires", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name="fk_leases_prompt_id"),
        sa.PrimaryKeyConstraint("prompt_id", name="pk_leases"),
        sa.UniqueConstraint("seat", name="uq_leases_seat"),
    )
    op.execute(
        "INSERT INTO leases SELECT prompt_id, annotator, 'revision', decision_id, started, expires FROM old_leases"
    )
    op.drop_table("old_leases")
