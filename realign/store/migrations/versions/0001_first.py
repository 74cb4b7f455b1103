"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "collected_runs",
        sa.Column("run", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("run", name="pk_collected_runs"),
    )
    op.create_table(
        "games",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_games"),
        sa.UniqueConstraint("id", name="uq_games_id"),
    )
    op.create_index("ix_games_run", "games", ["run"])
    op.create_table(
        "imported_pairs",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_imported_pairs"),
        sa.UniqueConstraint("digest", name="uq_imported_pairs_digest"),
    )
    op.create_table(
        "promotions",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_promotions"),
        sa.UniqueConstraint("id", name="uq_promotions_id"),
    )
    op.create_table(
        "prompts",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("live_decision", sa.String(), nullable=True),
        sa.Column("unrevised", sa.Boolean(), nullable=False),
        sa.Column("searched", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_prompts"),
        sa.UniqueConstraint("content_hash", name="uq_prompts_content_hash"),
        sa.UniqueConstraint("id", name="uq_prompts_id"),
    )
    op.create_index("ix_prompts_live_decision_unrevised_number", "prompts", ["live_decision", "unrevised", "number"])
    op.create_table(
        "scores",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_scores"),
        sa.UniqueConstraint("id", name="uq_scores_id"),
        sa.UniqueConstraint("run", "judge", name="uq_scores_run_judge"),
    )
    op.create_table(
        "drafts",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("prompt_id", sa.String(), nullable=False),
        sa.Column("searched", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name="fk_drafts_prompt_id"),
        sa.PrimaryKeyConstraint("number", name="pk_drafts"),
        sa.UniqueConstraint("id", name="uq_drafts_id"),
    )
    op.create_index("ix_drafts_prompt_id", "drafts", ["prompt_id"])
    op.create_table(
        "leases",
        sa.Column("prompt_id", sa.String(), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("decision_id", sa.String(), nullable=False),
        sa.Column("started", sa.DateTime(), nullable=False),
        sa.Column("expires", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name="fk_leases_prompt_id"),
        sa.PrimaryKeyConstraint("prompt_id", name="pk_leases"),
        sa.UniqueConstraint("annotator", name="uq_leases_annotator"),
    )
    op.create_table(
        "verdicts",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("game_id", sa.String(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("withdrawn", sa.Boolean(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["game_id"], ["games.id"], name="fk_verdicts_game_id"),
        sa.PrimaryKeyConstraint("number", name="pk_verdicts"),
        sa.UniqueConstraint("id", name="uq_verdicts_id"),
    )
    op.create_index("ix_verdicts_game_id_judge", "verdicts", ["game_id", "judge"])
    op.create_table(
        "revisions",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("draft_id", sa.String(), nullable=False),
        sa.Column("searched", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["draft_id"], ["drafts.id"], name="fk_revisions_draft_id"),
        sa.PrimaryKeyConstraint("number", name="pk_revisions"),
        sa.UniqueConstraint("id", name="uq_revisions_id"),
    )
    op.create_index("ix_revisions_draft_id", "revisions", ["draft_id"])
    op.create_table(
        "decisions",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("prompt_id", sa.String(), nullable=False),
        sa.Column("draft_id", sa.String(), nullable=False),
        sa.Column("revision_id", sa.String(), nullable=False),
        sa.Column("ruling", sa.String(), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("decided", sa.DateTime(), nullable=False),
        sa.Column("searched", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["draft_id"], ["drafts.id"], name="fk_decisions_draft_id"),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompts.id"], name="fk_decisions_prompt_id"),
        sa.ForeignKeyConstraint(["revision_id"], ["revisions.id"], name="fk_decisions_revision_id"),
        sa.PrimaryKeyConstraint("number", name="pk_decisions"),
        sa.UniqueConstraint("id", name="uq_decisions_id"),
    )
    op.create_index("ix_decisions_annotator_decided", "decisions", ["annotator", "decided"])
    op.create_index("ix_decisions_prompt_id", "decisions", ["prompt_id"])
