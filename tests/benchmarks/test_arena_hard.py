"""Arena-Hard: verdicts, battles and scores on prompts small enough to count by hand, and the published rows."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from realign.benchmarks.arena_hard import (
    VERDICTS,
    last_verdict,
    only_verdict,
    read_judgments,
    score_judgments,
)
from realign.errors import InvalidInput

DATA = Path(__file__).parents[2].parent / "shared" / "data"

needs_reference = pytest.mark.skipif(
    not DATA.is_dir(), reason="the Arena-Hard reference data is not part of this project"
)


def judgment(uid: str, game_1: str | None, game_2: str | None, **fields: Any) -> dict[str, Any]:
    games = [{"score": game_1}, {"score": game_2}]
    return {"uid": uid, "model": "new", "judge": "gpt", "category": "hard", "games": games} | fields


def test_in_game_1_the_model_is_b_and_in_game_2_it_is_a() -> None:
    assert score_judgments([judgment("p", "B>A", "A>B")], "v0.1").score == 100
    assert score_judgments([judgment("p", "A>B", "B>A")], "v0.1").score == 0
    assert score_judgments([judgment("p", "A>B", "A>B")], "v0.1").score == 50


def test_a_strong_verdict_counts_three_times() -> None:
    score = score_judgments([judgment("p", "B>>A", "B>A")], "v0.1")
    assert score.score == 75
    assert score.n_games == 2


def test_a_tie_counts_one_half() -> None:
    assert score_judgments([judgment("p", "A=B", "A>B")], "v0.1").score == 75


def test_every_label_and_its_mirror_say_the_same() -> None:
    mirrored = str.maketrans("<>", "><")
    for label, battle in VERDICTS.items():
        assert VERDICTS[label[::-1].translate(mirrored)] == battle
    assert {label: battle.result for label, battle in VERDICTS.items() if label.startswith("A")} == {
        "A>>B": 1,
        "A>B": 1,
        "A=B": 0.5,
        "A<B": 0,
        "A<<B": 0,
    }


def test_v0_1_leaves_out_only_the_game_without_a_verdict() -> None:
    score = score_judgments([judgment("p", None, "A>B"), judgment("q", "A>B", "B>A")], "v0.1")
    assert score.score == pytest.approx(100 / 3)
    assert (score.n_prompts, score.n_games, score.n_unjudged) == (2, 3, 1)


def test_v2_0_leaves_out_the_whole_prompt() -> None:
    score = score_judgments([judgment("p", None, "A>B"), judgment("q", "A>B", "B>A")], "v2.0")
    assert score.score == 0
    assert (score.n_prompts, score.n_games, score.n_unjudged) == (1, 2, 2)


@pytest.mark.parametrize("version", ["v0.1", "v2.0"])
def test_nothing_judged_is_an_error_and_not_a_number(version: str) -> None:
    with pytest.raises(InvalidInput, match="None of the 4 games has a verdict"):
        score_judgments([judgment("p", None, None), judgment("q", "nonsense", None)], version)


def test_no_rows_are_an_error_too() -> None:
    with pytest.raises(InvalidInput, match="None of the 0 games"):
        score_judgments([], "v0.1")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("My final verdict is [[A>B]].", "A>B"),
        ("[[B>>A]] and again [[B>>A]]", "B>>A"),
        ("[[A>B]] or rather [[B>A]]", None),
        ("[[A>B>C]]", None),
        ("[[A>>>B]]", None),
        ("A is better", None),
        ("", None),
    ],
)
def test_v0_1_takes_a_verdict_only_where_there_is_just_one(text: str, verdict: str | None) -> None:
    assert only_verdict(text) == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("[[A>B]] or rather [[B>A]]", "B>A"),
        ("final: [[a<<b]]", "A<<B"),
        ("final: [B>A]", "B>A"),
        ("[[A>B]] but [[A>>>B]]", None),
        ("A is better", None),
    ],
)
def test_v2_0_takes_the_last_verdict(text: str, verdict: str | None) -> None:
    assert last_verdict(text) == verdict


def test_a_verdict_is_read_from_the_judgment_where_no_score_is_stored() -> None:
    games = [{"judgment": "I think [[B>>A]]"}, {"judgment": {"answer": "So [[A>B]]"}}]
    assert score_judgments([judgment("p", None, None, games=games)], "v0.1").score == 100


def test_an_unknown_version_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"'v3'. Choose one of: v0\.1, v2\.0"):
        score_judgments([judgment("p", "A>B", "A>B")], "v3")


def test_rows_of_two_models_are_refused() -> None:
    with pytest.raises(InvalidInput, match="models"):
        score_judgments([judgment("p", "A>B", "A>B"), judgment("q", "A>B", "A>B", model="other")], "v0.1")


def test_one_category_is_scored_by_itself() -> None:
    rows = [judgment("p", "B>A", "A>B"), judgment("q", "A>B", "B>A", category="creative")]
    score = score_judgments(rows, "v2.0", category="creative")
    assert (score.score, score.n_prompts, score.category) == (0, 1, "creative")
    with pytest.raises(InvalidInput, match="categories"):
        score_judgments(rows, "v2.0")


def test_a_prompt_judged_twice_is_named() -> None:
    with pytest.raises(InvalidInput, match="'p'"):
        score_judgments([judgment("p", "A>B", "A>B"), judgment("p", "A>B", "A>B")], "v0.1")


def test_a_file_in_the_old_shape_is_read_and_a_missing_field_is_named(tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    good = judgment("p", "A>B", "A>B")
    good["question_id"] = good.pop("uid")
    file.write_text(json.dumps(good) + "\n\n", encoding="utf-8")
    assert score_judgments(read_judgments(file), "v0.1").score == 50
    file.write_text(json.dumps(good) + "\n" + json.dumps(judgment("q", "A>B", None, games=[{}])), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"new\.jsonl, line 2.*games"):
        read_judgments(file)


def wins_and_losses(n: int) -> list[dict[str, Any]]:
    return [judgment(f"p{i}", *(("B>A", "A>B") if i % 2 else ("A>B", "B>A"))) for i in range(n)]


def test_prompts_are_resampled_so_that_two_games_of_one_prompt_are_not_taken_for_two() -> None:
    """100 prompts, both games alike: the error is that of 100 results, and the reference's way sees 200."""
    by_prompts = score_judgments(wins_and_losses(100), "v0.1")
    by_battles = score_judgments(wins_and_losses(100), "v0.1", resample="battles")
    assert by_prompts.upper - by_prompts.lower == pytest.approx(2 * 196 * math.sqrt(0.25 / 100), abs=1.5)
    assert by_battles.upper - by_battles.lower == pytest.approx(2 * 196 * math.sqrt(0.25 / 200), abs=3)
    assert (by_prompts.level, by_prompts.resample, by_battles.resample) == (0.95, "prompts", "battles")


def test_v2_0_gives_a_90_percent_interval_and_the_seed_decides_it() -> None:
    first, again, other = (score_judgments(wins_and_losses(30), "v2.0", seed=seed) for seed in (1, 1, 2))
    assert first.level == 0.9
    assert first == again
    assert (first.lower, first.upper) != (other.lower, other.upper)


def test_a_floor_score_has_an_interval_with_a_width() -> None:
    score = score_judgments([judgment(f"p{i}", "A>>B", "B>>A") for i in range(20)], "v0.1")
    assert (score.score, score.lower) == (0, 0)
    assert score.upper == pytest.approx(16.1, abs=0.05)


def elo_share(elo: float, baseline: float) -> float:
    """The published percentage for an Elo rating."""
    return 100 / (1 + 10 ** ((baseline - elo) / 400))


def test_against_one_baseline_bradley_terry_gives_the_weighted_mean() -> None:
    """The reference fits a rating and turns it into a share; that share is what we report."""
    labels = np.random.default_rng(1).choice(
        ["A>>B", "A>B", "A=B", "B>A", "B>>A"], size=(60, 2), p=[0.1, 0.3, 0.2, 0.3, 0.1]
    )
    score = score_judgments([judgment(f"p{i}", one, two) for i, (one, two) in enumerate(labels.tolist())], "v0.1")
    battles = [(1 - VERDICTS[one].result, VERDICTS[one].copies) for one, _ in labels.tolist()]
    battles += [(VERDICTS[two].result, VERDICTS[two].copies) for _, two in labels.tolist()]
    strength = 0.0
    for _ in range(50):  # Newton's steps on the log-likelihood of one rating
        share = 1 / (1 + math.exp(-strength))
        slope = sum(copies * (result - share) for result, copies in battles)
        strength += slope / sum(copies * share * (1 - share) for _, copies in battles)
    assert elo_share(400 * strength / math.log(10), baseline=0) == pytest.approx(score.score, abs=1e-9)


@needs_reference
def test_judgments_as_frequent_as_a_published_rating_says_give_the_published_row() -> None:
    """Where a model wins the share of games that its rating stands for, its score is the published one to 0.01."""
    with (DATA / "arena_hard_v0.1_leaderboard_20240731.csv").open(encoding="utf-8", newline="") as file:
        published = {row["model"]: float(row["score"]) for row in csv.DictReader(file)}
    lines = (DATA / "arena_hard_bootstrap_bt_2024-04-14.jsonl").read_text(encoding="utf-8").splitlines()
    ratings = {row["model"]: row["score"] for row in map(json.loads, lines)}
    compared = sorted(ratings.keys() & published.keys())
    assert len(compared) == 9
    for model in compared:
        share = elo_share(ratings[model], baseline=1320)
        assert share == pytest.approx(published[model], abs=0.01)
        wins = round(share * 100)  # of 10,000 games, two a prompt
        outcomes = ["B>A"] * wins + ["A>B"] * (10_000 - wins)
        rows = [judgment(f"p{i}", outcomes[i], outcomes[-1 - i][::-1]) for i in range(5_000)]
        assert score_judgments(rows, "v0.1", resample="battles").score == pytest.approx(published[model], abs=0.015)
