"""Runs that compare: both models answer the held-out prompts, a judge or a person says which answer is better."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from realign.benchmarks.score import BenchmarkConfig
from realign.benchmarks.win_rate import text_statistics, win_rate
from realign.errors import InvalidInput, pick
from realign.generation import Answer, Backend, ModelShelf
from realign.judges import JUDGES, PERSON, Judge
from realign.models.catalog import ModelSpec
from realign.records import Decoding, Finish, Game, ModelRef, Prompt, Record, Verdict
from realign.runs import LiveRun

Opener = Callable[[ModelSpec], Backend]
Side = Literal["model", "baseline"]


class BenchmarkAnswer(Record):
    """What one of the two models answered: a line of `output/answers.jsonl`."""

    prompt_id: str
    side: Side
    text: str
    model: ModelRef
    decoding: Decoding
    finish: Finish
    n_tokens: int


def run(run: LiveRun) -> dict[str, Any]:
    """Answer, judge and score as `run.json` says; models that share a base share its weights in memory."""
    return play(run, ModelShelf().backend)


def play(run: LiveRun, open_backend: Opener) -> dict[str, Any]:
    """The same with the opener of backends passed in.

    Writes `answers.jsonl`, `games.jsonl` and `verdicts.jsonl` into `output/` and returns win rate, interval and counts
    with the statistics of both models' texts; where a person judges, how many games wait for them.
    """
    config = BenchmarkConfig.model_validate(run.info().config)
    judge = None if config.judge == PERSON else pick(config.judge, {**JUDGES, PERSON: None}, "judge")
    prompts = _prompts(run)
    answers: dict[Side, dict[str, str]] = {
        "model": _answer(run, config, "model", prompts, open_backend),
        "baseline": _answer(run, config, "baseline", prompts, open_backend),
    }
    games = [game_of(run.name, prompt, answers, config.seed) for prompt in prompts]
    for game in games:
        run.append("games", game)
    statistics: dict[str, Any] = {
        side: text_statistics(list(texts.values()))._asdict() for side, texts in answers.items()
    }
    if judge is None:
        return {"n": len(games), "waiting_for_person": len(games), **statistics}
    verdicts = _judge(run, judge(), games)
    return {**win_rate(games, verdicts)._asdict(), **statistics}


def game_of(run_name: str, prompt: Prompt, answers: dict[Side, dict[str, str]], seed: int) -> Game:
    """Return the game of one prompt; a coin seeded by `seed` and the prompt's id decides the model's side."""
    first_is_model = random.Random(f"{seed}:{prompt.id}").random() < 0.5
    model, baseline = answers["model"][prompt.id], answers["baseline"][prompt.id]
    return Game(
        id=f"{run_name}-{prompt.id}",
        run=run_name,
        prompt=prompt.messages,
        category=prompt.category,
        first=model if first_is_model else baseline,
        second=baseline if first_is_model else model,
        first_is_model=first_is_model,
    )


def _prompts(run: LiveRun) -> list[Prompt]:
    prompts = [Prompt.model_validate(row) for row in run.rows("prompts")]
    if not prompts:
        raise InvalidInput("This benchmark has no prompts. Import some and hold them out from training.")
    if len({prompt.id for prompt in prompts}) < len(prompts):
        raise InvalidInput("Two prompts of this benchmark have the same id, so their games cannot be told apart.")
    return prompts


def _answer(
    run: LiveRun, config: BenchmarkConfig, side: Side, prompts: Sequence[Prompt], open_backend: Opener
) -> dict[str, str]:
    spec, label = (config.model, config.model_label) if side == "model" else (config.baseline, config.baseline_label)
    done, total = (0 if side == "model" else len(prompts)), 2 * len(prompts)
    run.progress(done, total, f"Loading {label}")
    backend = open_backend(spec)
    texts: dict[str, str] = {}
    for batch in batches(prompts, config.batch_size):
        answers = backend.generate([prompt.messages for prompt in batch], config.decoding)
        for prompt, answer in zip(batch, answers, strict=True):
            run.append("answers", _record(prompt, side, answer, backend, config.decoding))
            texts[prompt.id] = answer.text
        run.progress(done + len(texts), total, f"Answering as {label}")
    return texts


def batches(prompts: Sequence[Prompt], size: int) -> list[list[Prompt]]:
    """Split prompts into batches of like length, so that little is padded."""
    ordered = sorted(prompts, key=lambda prompt: sum(len(message.content) for message in prompt.messages))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def _record(prompt: Prompt, side: Side, answer: Answer, backend: Backend, decoding: Decoding) -> BenchmarkAnswer:
    return BenchmarkAnswer(
        prompt_id=prompt.id,
        side=side,
        text=answer.text,
        model=backend.model,
        decoding=decoding,
        finish=answer.finish,
        n_tokens=answer.n_tokens,
    )


def _judge(run: LiveRun, judge: Judge, games: Sequence[Game]) -> list[Verdict]:
    verdicts = []
    for done, game in enumerate(games, 1):
        judgement = judge.judge(game)
        verdict = Verdict(
            id=f"{game.id}-{judge.name}",
            game_id=game.id,
            judge=judge.name,
            preferred=judgement.preferred,
            words=judgement.words,
            created=datetime.now(UTC),
        )
        run.append("verdicts", verdict)
        verdicts.append(verdict)
        run.progress(done, len(games), f"Judging by {judge.name}")
    return verdicts
