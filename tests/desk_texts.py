"""A studio on a tiny model, and items whose texts are there as if the models in use had written them."""

import json
from datetime import UTC, datetime
from pathlib import Path

from realign.records import Draft, Item, Revision
from realign.settings import Settings
from realign.store import Store
from realign.studio import Studio

SEAT, OTHER = "seat-one", "seat-two"
DRAFT, REVISION = "One two three four.", "One two four."


def make_studio(home: Path, tiny: Path, n_prompts: int = 6, **settings: object) -> Studio:
    """Return a studio with `n_prompts` prompts waiting and nothing written."""
    made = Settings(
        home=home, model_cache=home / "models", policy=str(tiny), reviser=str(tiny), device="cpu", **settings
    )
    studio = Studio(made, Store(made.database))
    rows = [json.dumps({"prompt": f"Name {n} birds."}) + "\n" for n in range(2, 2 + n_prompts)]
    path = home / "prompts.jsonl"
    path.write_text("".join(rows), encoding="utf-8")
    if rows:
        studio.import_file(path)
    return studio


def written(studio: Studio, seat: str = SEAT, draft: str = DRAFT, *revisions: str, annotator: str = "Ann") -> Item:
    """Return the next item of `seat` with these texts; without any, one revision that drops a word."""
    item = studio.desk.next_revision(seat, annotator)
    assert item is not None
    model = studio.models.backend(studio.spec("policy")).model
    shared = {"model": model, "decoding": {"max_new_tokens": 8}, "finish": "stop", "created": datetime.now(UTC)}
    first = Draft(id=f"d-{item.decision_id}", prompt_id=item.prompt.id, text=draft, **shared)
    studio.store.add_drafts([first])
    made = [
        Revision(id=f"r{n}-{item.decision_id}", draft_id=first.id, text=text, template="single-turn-v1", **shared)
        for n, text in enumerate(revisions or (REVISION,))
    ]
    studio.store.add_revisions(made)
    again = studio.desk.next_revision(seat, annotator)
    assert again is not None
    assert (again.draft, again.revision, again.revisions) == (first, made[-1], tuple(made))
    return again
