"""A benchmark run from prompts to score, with backends that answer from a dictionary."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from realign.benchmarks.recipe import game_of, play
from realign.benchmarks.score import BenchmarkConfig, score_of
from realign.errors import InvalidInput, RunStopped
from realign.generation import Answer, Backend, Writing
from realign.models.catalog import ModelSpec
from realign.records import Chat, Decoding, Game, Message, ModelRef, Prompt, Verdict
from realign.runs import LiveRun, create, read_jsonl, stop

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
DECODING = Decoding(temperature=0, top_p=1, max_new_tokens=64, seed=0)

GOOD = {
    "Name a colour of the rainbow.": "Red is a colour of the rainbow.",
    "Why is the sky blue?": "The sky is blue because air scatters blue light more than red light.",
    "Name the capital of France.": "The capital of France is Paris.",
    "What is water made of?": "Water is made of hydrogen and oxygen.",
}
EMPTY = dict.fromkeys(GOOD, "")


class Scripted:
    """A backend that answers the last message from a dictionary and remembers how it was asked."""

    def __init__(self, spec: ModelSpec, answers: dict[str, str]) -> None:
        self.model = ModelRef(source=spec.source)
        self.batches: list[list[str]] = []
        self._answers = answers

    def generate(self, chats: Sequence[Chat], decoding: Decoding) -> list[Answer]:
        self.batches.append([chat[-1].content for chat in chats])
        return [Answer(self._answers[chat[-1].content], "stop", 1) for chat in chats]

    def stream(self, chat: Chat, decoding: Decoding) -> Iterator[Writing | Answer]:
        yield from self.generate([chat], decoding)


def opener(model: dict[str, str], baseline: dict[str, str]) -> Any:
    def open_backend(spec: ModelSpec) -> Backend:
        return Scripted(spec, model if spec.source == "new" else baseline)

    return open_backend


def prompts() -> list[Prompt]:
    return [
        Prompt(id=f"p{i}", messages=(Message(role="user", content=text),), created=NOON) for i, text in enumerate(GOOD)
    ]


def benchmark(tmp_path: Path, rows: Sequence[Prompt] | None = None, **changes: Any) -> LiveRun:
    config = BenchmarkConfig(
        model=ModelSpec(source="new", cache=tmp_path),
        baseline=ModelSpec(source="old", cache=tmp_path),
        model_label="new model",
        baseline_label="old model",
        judge="rubric",
        decoding=DECODING,
    ).model_dump(mode="json")
    created = create(
        tmp_path / "runs",
        "benchmark",
        "New against old",
        config | changes,
        {"prompts": prompts() if rows is None else rows},
        annotator="ada",
        now=NOON,
        salt="7f3a",
    )
    run = LiveRun(created.path)
    run.claim()
    return run


def test_four_good_answers_against_four_empty_ones_are_four_wins(tmp_path: Path) -> None:
    result = play(benchmark(tmp_path), opener(GOOD, EMPTY))
    assert (result["win_rate"], result["wins"], result["losses"], result["ties"]) == (100, 4, 0, 0)
    assert (result["n"], result["n_unjudged"], result["upper"]) == (4, 0, 100)
    assert result["lower"] == pytest.approx(51.01, abs=0.005)  # Wilson's interval of 4 of 4
    assert result["model"]["words"] == pytest.approx((7 + 13 + 6 + 7) / 4)
    assert result["baseline"]["words"] == 0


def test_whoever_is_the_model_the_same_answers_lose_when_swapped(tmp_path: Path) -> None:
    result = play(benchmark(tmp_path), opener(EMPTY, GOOD))
    assert (result["win_rate"], result["losses"], result["lower"]) == (0, 4, 0)


def test_the_same_answers_on_both_sides_are_ties(tmp_path: Path) -> None:
    result = play(benchmark(tmp_path), opener(GOOD, GOOD))
    assert (result["win_rate"], result["ties"], result["wins"]) == (50, 4, 0)


def test_answers_games_and_verdicts_are_kept_with_who_wrote_what(tmp_path: Path) -> None:
    run = benchmark(tmp_path)
    play(run, opener(GOOD, EMPTY))
    answers = list(read_jsonl(run.output / "answers.jsonl"))
    assert sorted((row["side"], row["prompt_id"]) for row in answers) == sorted(
        (side, f"p{i}") for side in ("model", "baseline") for i in range(4)
    )
    assert {row["model"]["source"] for row in answers if row["side"] == "model"} == {"new"}
    games = [Game.model_validate(row) for row in read_jsonl(run.output / "games.jsonl")]
    verdicts = [Verdict.model_validate(row) for row in read_jsonl(run.output / "verdicts.jsonl")]
    for game in games:
        assert GOOD[game.prompt[-1].content] == (game.first if game.first_is_model else game.second)
    assert [verdict.game_id for verdict in verdicts] == [game.id for game in games]
    score = score_of(run.name, run.info().config, games, verdicts, "rubric", now=NOON, new_id="s")
    assert (score.win_rate, score.model, score.baseline, score.n) == (100, "new model", "old model", 4)


def test_the_side_is_drawn_by_seed_and_both_sides_occur() -> None:
    answers: Any = {"model": {f"q{i}": "m" for i in range(200)}, "baseline": {f"q{i}": "b" for i in range(200)}}
    asked = [Prompt(id=f"q{i}", messages=prompts()[0].messages, created=NOON) for i in range(200)]
    drawn, again, other = (
        [game_of("r", prompt, answers, seed).first_is_model for prompt in asked] for seed in (1, 1, 2)
    )
    assert drawn == again != other
    assert 80 <= sum(drawn) <= 120


def test_the_side_of_a_prompt_does_not_hang_on_its_place_in_the_file() -> None:
    answers: Any = {side: {f"p{i}": side for i in range(4)} for side in ("model", "baseline")}
    forward = {prompt.id: game_of("r", prompt, answers, 0).first_is_model for prompt in prompts()}
    backward = {prompt.id: game_of("r", prompt, answers, 0).first_is_model for prompt in reversed(prompts())}
    assert forward == backward


def test_prompts_are_answered_in_batches_of_like_length(tmp_path: Path) -> None:
    backends: list[Scripted] = []

    def open_backend(spec: ModelSpec) -> Backend:
        backends.append(Scripted(spec, GOOD))
        return backends[-1]

    play(benchmark(tmp_path, batch_size=3), open_backend)
    shortest_first = sorted(GOOD, key=len)
    assert backends[0].batches == [shortest_first[:3], shortest_first[3:]]


def test_where_a_person_judges_the_games_wait_and_no_verdict_is_made_up(tmp_path: Path) -> None:
    run = benchmark(tmp_path, judge="person")
    result = play(run, opener(GOOD, EMPTY))
    assert (result["n"], result["waiting_for_person"]) == (4, 4)
    assert "win_rate" not in result
    assert not (run.output / "verdicts.jsonl").exists()
    assert len(list(read_jsonl(run.output / "games.jsonl"))) == 4


def test_an_unknown_judge_is_refused_before_a_model_is_opened(tmp_path: Path) -> None:
    def open_backend(spec: ModelSpec) -> Backend:
        raise AssertionError(spec)

    with pytest.raises(InvalidInput, match=r"no judge 'oracle'\. Choose one of: person, rubric"):
        play(benchmark(tmp_path, judge="oracle"), open_backend)


def test_no_prompts_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no prompts\. Import some"):
        play(benchmark(tmp_path, rows=[]), opener(GOOD, EMPTY))


def test_two_prompts_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="same id"):
        play(benchmark(tmp_path, rows=[*prompts(), prompts()[0]]), opener(GOOD, EMPTY))


def test_a_run_that_is_asked_to_stop_stops_and_keeps_what_was_answered(tmp_path: Path) -> None:
    run = benchmark(tmp_path, batch_size=1)

    class StopsAfterTwo(Scripted):
        def generate(self, chats: Sequence[Chat], decoding: Decoding) -> list[Answer]:
            if len(self.batches) == 1:
                stop(run)
            return super().generate(chats, decoding)

    with pytest.raises(RunStopped, match="Stopped after 2 of 8"):
        play(run, lambda spec: StopsAfterTwo(spec, GOOD))
    assert len(list(read_jsonl(run.output / "answers.jsonl"))) == 2
