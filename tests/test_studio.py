"""The loop's verbs on a real store and a tiny real model."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from realign.errors import Conflict, InvalidInput, NotFound
from realign.records import Draft, Item, Promotion, Revision, Work
from realign.settings import Settings
from realign.store import Store
from realign.studio import Studio
from realign.training.config import config_for
from tests.tiny import make_tiny_model

NOW = datetime(2026, 12, 1, tzinfo=UTC)
SEAT, OTHER = "seat-one", "seat-two"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def studio(tmp_path: Path, tiny: Path) -> Iterator[Studio]:
    settings = Settings(
        home=tmp_path, model_cache=tmp_path / "models", policy=str(tiny), reviser=str(tiny), device="cpu"
    )
    studio = Studio(settings, Store(settings.database))
    studio.import_file(rows_file(tmp_path / "prompts.jsonl", [{"prompt": f"Name {n} birds."} for n in range(2, 8)]))
    yield studio
    studio.store.close()


def rows_file(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def written(
    studio: Studio, seat: str = SEAT, draft: str = "One two three four.", revision: str = "One two four."
) -> Item:
    """The next item of `seat`, with texts as if the models in use had written them."""
    item = studio.desk.next_revision(seat, "Ann")
    assert item is not None
    model = studio.models.backend(studio.spec("policy")).model
    now = datetime.now(UTC)
    decoding = {"max_new_tokens": 8}
    first = Draft(
        id=f"d-{item.decision_id}", prompt_id=item.prompt.id, text=draft, model=model, decoding=decoding, finish="stop",
        created=now,
    )  # fmt: skip
    second = Revision(
        id=f"r-{item.decision_id}", draft_id=first.id, text=revision, model=model, template="single-turn-v1",
        decoding=decoding, finish="stop", created=now,
    )  # fmt: skip
    studio.store.add_drafts([first])
    studio.store.add_revisions([second])
    again = studio.desk.next_revision(seat, "Ann")
    assert again is not None
    assert (again.draft, again.revision) == (first, second)
    return again


def test_held_out_prompts_are_left_out_of_an_import_and_counted(studio: Studio, tmp_path: Path) -> None:
    held_out = studio.held_out()[0]
    rows = [{"messages": [message.model_dump() for message in held_out.messages]}, {"prompt": "Name one fish."}]
    report = studio.import_file(rows_file(tmp_path / "mixed.jsonl", rows))
    assert (report.read, report.kept, report.dropped) == (2, 1, {"held out for the benchmark": 1})


def test_importing_the_same_file_twice_adds_nothing(studio: Studio, tmp_path: Path) -> None:
    report = studio.import_file(tmp_path / "prompts.jsonl")
    assert (report.kept, report.dropped) == (0, {"known already": 6})


def test_a_typed_prompt_that_is_empty_or_held_out_is_refused(studio: Studio) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        studio.add_prompt(" \u200b ", SEAT, "Ann")
    held_out = next(prompt for prompt in studio.held_out() if len(prompt.messages) == 1)
    with pytest.raises(InvalidInput, match="held out"):
        studio.add_prompt(held_out.messages[0].content.upper(), SEAT, "Ann")


def test_the_models_write_and_what_they_wrote_is_stored_with_its_model(studio: Studio, tiny: Path) -> None:
    item = studio.add_prompt("Name two fish.", SEAT, "Ann")
    draft = list(studio.desk.write_draft(item.prompt))[-1]
    assert isinstance(draft, Draft)
    revision = list(studio.desk.write_revision(item.prompt, draft))[-1]
    assert isinstance(revision, Revision)
    assert studio.store.draft(draft.id) == draft
    assert studio.store.revision(revision.id) == revision
    assert (draft.model.source, draft.model.adapter) == (str(tiny), None)


def test_two_seats_hold_different_items_and_a_reload_shows_the_same_one(studio: Studio) -> None:
    one, other = studio.desk.next_revision(SEAT, "Ann"), studio.desk.next_revision(OTHER, "Ben")
    assert one is not None
    assert other is not None
    assert one.prompt != other.prompt
    assert studio.desk.next_revision(SEAT, "Ann") == one
    studio.desk.leave(SEAT)
    third = studio.desk.next_revision("seat-three", "Cy")
    assert third is not None
    assert third.prompt == one.prompt


@pytest.mark.parametrize(
    ("final", "stored"),
    [("One two four.", "accepted"), ("One two three four.", "rejected"), ("One two.", "edited")],
)
def test_what_is_stored_says_what_stands(studio: Studio, final: str, stored: str) -> None:
    decision = studio.desk.decide(written(studio), "accepted", Work(final_text=final), annotator="Ann")
    assert (decision.ruling, decision.final_text) == (stored, final)


def test_the_same_decision_twice_is_stored_once_and_another_one_is_refused(studio: Studio) -> None:
    item = written(studio)
    first = studio.desk.decide(item, "accepted", Work(final_text="One two four."), annotator="Ann")
    assert studio.desk.decide(item, "accepted", Work(final_text="One two four."), annotator="Ann") == first
    with pytest.raises(Conflict, match="was accepted in another window"):
        studio.desk.decide(item, "rejected", annotator="Ann")
    assert len(studio.store.history(item.prompt.id)) == 1


def test_a_final_text_with_nothing_to_read_is_refused(studio: Studio) -> None:
    with pytest.raises(InvalidInput, match="final text is empty"):
        studio.desk.decide(written(studio), "accepted", Work(final_text=" \u200b\n"), annotator="Ann")


def test_an_edited_text_is_exported_as_chosen_and_the_draft_as_rejected(studio: Studio, tmp_path: Path) -> None:
    studio.desk.decide(written(studio), "accepted", Work(final_text="One two!"), annotator="Ann")
    assert studio.export(tmp_path / "out.jsonl", "trl") == 1
    row = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    assert row["chosen"] == [{"role": "assistant", "content": "One two!"}]
    assert row["rejected"] == [{"role": "assistant", "content": "One two three four."}]


def test_the_reviser_trains_on_every_comparison_and_the_policy_on_final_over_draft(studio: Studio) -> None:
    studio.desk.decide(written(studio), "accepted", Work(final_text="One two!"), annotator="Ann")
    studio.desk.decide(written(studio), "rejected", annotator="Ann")
    reviser = studio.check(config_for("reviser", "demo"))
    assert (reviser.kept, reviser.by_kind) == (3, {"revision": 3})  # final over draft and revision; draft over revision
    policy = studio.check(config_for("policy", "demo"))
    assert (policy.kept, policy.dropped["comparison that only the reviser learns from"]) == (1, 2)


def test_an_own_export_imported_again_is_not_counted_twice(studio: Studio, tmp_path: Path) -> None:
    studio.desk.decide(written(studio), "accepted", Work(final_text="One two!"), annotator="Ann")
    studio.export(tmp_path / "out.jsonl", "trl")
    assert studio.import_file(tmp_path / "out.jsonl").dropped == {"decided here already": 1}
    assert len(studio.build_pairs(["plain"]).pairs) == 1
    assert studio.check(config_for("policy", "demo")).by_kind == {"revision": 1}


def test_training_on_nothing_says_why(studio: Studio) -> None:
    studio.desk.decide(written(studio), "skipped", annotator="Ann")
    with pytest.raises(InvalidInput, match="1 × skipped"):
        studio.train(config_for("reviser", "demo"), annotator="Ann")


def test_a_run_that_does_not_exist_or_made_nothing_cannot_be_promoted(studio: Studio) -> None:
    with pytest.raises(NotFound, match="no run"):
        studio.promote("policy", "20260101-000000-policy-abcd", annotator="Ann")
    with pytest.raises(InvalidInput, match="not the name of a run"):
        studio.promote("policy", "../../etc", annotator="Ann")


def test_a_promoted_run_whose_folder_is_gone_is_a_sentence_and_the_base_can_be_promoted(studio: Studio) -> None:
    promotion = Promotion(id="p1", actor="policy", run="20260101-000000-policy-abcd", annotator="Ann", created=NOW)
    studio.store.promote(promotion)
    studio.models.warm_up(studio.spec("policy")).join(60)
    assert studio.model_state().state == "failed"
    assert "is gone. Promote another run" in studio.model_state().message
    studio.promote("policy", None, annotator="Ann")
    assert studio.spec("policy").adapter is None


def test_a_benchmark_of_a_run_that_does_not_exist_says_so(studio: Studio) -> None:
    with pytest.raises(NotFound, match="no run"):
        studio.benchmark("20260101-000000-policy-abcd", None, judge="rubric", annotator="Ann")


def test_a_model_is_not_compared_with_itself(studio: Studio) -> None:
    with pytest.raises(InvalidInput, match="same model"):
        studio.benchmark(None, None, judge="rubric", annotator="Ann")


def test_a_native_export_is_taken_in_by_another_studio_with_all_its_records(
    studio: Studio, tmp_path: Path, tiny: Path
) -> None:
    studio.desk.decide(written(studio), "accepted", Work(final_text="One two!"), annotator="Ann")
    studio.export(tmp_path / "all.jsonl", "native")
    settings = Settings(home=tmp_path / "other", model_cache=tmp_path / "models", policy=str(tiny), reviser=str(tiny))
    other = Studio(settings, Store(settings.database))
    report = other.import_file(tmp_path / "all.jsonl")
    assert (report.format, report.kept) == ("native", 1)
    assert other.store.decided()[0].decision == studio.store.decided()[0].decision
    assert other.import_file(tmp_path / "all.jsonl").dropped == {"known already": 1}
    other.store.close()
