"""Verdicts → win rate and interval, on games small enough to count by hand."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from realign.benchmarks.interval import bootstrap, interval, wilson
from realign.benchmarks.score import score_of
from realign.benchmarks.win_rate import text_statistics, win_rate
from realign.errors import InvalidInput
from realign.records import Game, Message, Verdict

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def game(number: int, *, first_is_model: bool = True, prompt: str | None = None) -> Game:
    return Game(
        id=f"g{number}",
        run="r",
        prompt=(Message(role="user", content=prompt or f"Prompt {number}"),),
        first="one",
        second="two",
        first_is_model=first_is_model,
    )


def verdict(number: int, preferred: str | None, *, judge: str = "rubric", minute: int = 0) -> Verdict:
    return Verdict.model_validate(
        {
            "id": f"v{number}-{judge}-{minute}",
            "game_id": f"g{number}",
            "judge": judge,
            "preferred": preferred,
            "created": NOON + timedelta(minutes=minute),
        }
    )


def test_two_wins_a_tie_and_a_loss_are_62_and_a_half_percent() -> None:
    games = [game(number) for number in range(4)]
    rate = win_rate(games, [verdict(0, "first"), verdict(1, "first"), verdict(2, "tie"), verdict(3, "second")])
    assert rate.win_rate == 62.5
    assert (rate.n, rate.n_unjudged, rate.wins, rate.losses, rate.ties) == (4, 0, 2, 1, 1)


def test_the_side_of_the_model_decides_whose_win_it_is() -> None:
    games = [game(0, first_is_model=True), game(1, first_is_model=False)]
    assert win_rate(games, [verdict(0, "first"), verdict(1, "second")]).win_rate == 100
    assert win_rate(games, [verdict(0, "second"), verdict(1, "first")]).win_rate == 0


def test_an_unreadable_verdict_is_counted_and_is_no_tie() -> None:
    games = [game(number) for number in range(4)]
    rate = win_rate(games, [verdict(0, "first"), verdict(1, None)])
    assert (rate.win_rate, rate.n, rate.n_unjudged, rate.ties) == (100, 1, 3, 0)


@pytest.mark.parametrize("verdicts", [[], [verdict(0, None)]], ids=["no verdict", "no readable verdict"])
def test_nothing_judged_is_an_error_and_not_a_number(verdicts: list[Verdict]) -> None:
    with pytest.raises(InvalidInput, match="None of the 1 games has a verdict"):
        win_rate([game(0)], verdicts)


def test_no_games_at_all_is_an_error_too() -> None:
    with pytest.raises(InvalidInput, match="None of the 0 games"):
        win_rate([], [])


def test_the_latest_verdict_on_a_game_counts_in_whatever_order_they_come() -> None:
    changed = [verdict(0, "second", minute=5), verdict(0, "first", minute=1)]
    assert win_rate([game(0)], changed).win_rate == 0
    assert win_rate([game(0)], changed[::-1]).win_rate == 0


def test_two_judges_are_never_mixed() -> None:
    with pytest.raises(InvalidInput, match=r"2 judges \(person, rubric\)"):
        win_rate([game(0), game(1)], [verdict(0, "first"), verdict(1, "first", judge="person")])


def test_a_verdict_on_another_runs_game_is_named() -> None:
    with pytest.raises(InvalidInput, match="'v7-rubric-0' is about game 'g7'"):
        win_rate([game(0)], [verdict(7, "first")])


def test_five_of_ten_has_wilsons_published_interval() -> None:
    assert wilson(0.5, 10, 0.95) == pytest.approx((23.66, 76.34), abs=0.005)


def test_ten_wins_of_ten_are_not_certain() -> None:
    games = [game(number) for number in range(10)]
    rate = win_rate(games, [verdict(number, "first") for number in range(10)])
    assert (rate.win_rate, rate.upper) == (100, 100)
    assert rate.lower == pytest.approx(72.25, abs=0.005)


def test_forty_games_half_won_have_the_binomial_interval() -> None:
    games = [game(number) for number in range(40)]
    rate = win_rate(games, [verdict(number, "first" if number % 2 else "second") for number in range(40)])
    half = 196 * np.sqrt(0.25 / 40)
    assert rate.lower == pytest.approx(50 - half, abs=1.5)
    assert rate.upper == pytest.approx(50 + half, abs=1.5)


def test_the_same_seed_gives_the_same_interval() -> None:
    results = [0.0, 1.0, 0.5] * 20
    ones = [1.0] * 60
    first, again, other = (bootstrap(results, ones, level=0.95, resamples=200, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_games_on_one_prompt_are_resampled_together() -> None:
    """Twelve prompts asked five times each know no more than twelve prompts asked once."""
    once = [game(number) for number in range(12)]
    often = [game(12 * copy + number, prompt=f"Prompt {number}") for copy in range(5) for number in range(12)]
    narrow = win_rate(once, [verdict(number, "first" if number < 6 else "second") for number in range(12)])
    wide = win_rate(often, [verdict(number, "first" if number % 12 < 6 else "second") for number in range(60)])
    assert (wide.n, wide.win_rate) == (60, 50)
    assert (wide.lower, wide.upper) == (narrow.lower, narrow.upper)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_outside_0_and_1_is_refused(level: float) -> None:
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        interval([1.0, 0.0], [1.0, 1.0], level=level, resamples=200, seed=0)


def test_too_few_resamples_are_refused() -> None:
    with pytest.raises(InvalidInput, match="100 resamples or more; 9 was given"):
        bootstrap([1.0, 0.0], [1.0, 1.0], level=0.95, resamples=9, seed=0)


def test_an_interval_always_holds_its_rate() -> None:
    generator = np.random.default_rng(5)
    for seed in range(30):
        results = generator.choice([0.0, 0.5, 1.0], size=11, p=[0.9, 0.05, 0.05]).tolist()
        lower, upper = interval(results, [1.0] * 11, level=0.5, resamples=100, seed=seed)
        assert 0 <= lower <= 100 * sum(results) / 11 <= upper <= 100


def test_text_statistics_of_two_texts() -> None:
    statistics = text_statistics(["It ended well.", "We saw the old town and we saw the old town and the"])
    assert statistics.words == (3 + 13) / 2
    assert statistics.ended == 0.5
    assert statistics.repeated_4grams == pytest.approx((0 + 3 / 10) / 2)


def test_statistics_of_no_texts_are_an_error_and_not_a_number() -> None:
    with pytest.raises(InvalidInput, match="no texts"):
        text_statistics([])


CONFIG = {
    "model": {"source": "m", "cache": "/c"},
    "baseline": {"source": "b", "cache": "/c"},
    "model_label": "new",
    "baseline_label": "old",
    "judge": "person",
    "decoding": {"temperature": 0, "top_p": 1, "max_new_tokens": 8, "seed": 0},
}


def test_a_score_is_of_one_judge_and_passes_the_others_over() -> None:
    games = [game(0), game(1), game(2)]
    verdicts = [verdict(0, "first"), verdict(1, "second"), verdict(2, "first", judge="person")]
    by_rubric = score_of("r", CONFIG, games, verdicts, "rubric", now=NOON, new_id="s1")
    by_person = score_of("r", CONFIG, games, verdicts, "person", now=NOON, new_id="s2")
    assert (by_rubric.win_rate, by_rubric.n, by_rubric.n_unjudged, by_rubric.judge) == (50, 2, 1, "rubric")
    assert (by_person.win_rate, by_person.n, by_person.n_unjudged, by_person.judge) == (100, 1, 2, "person")
    assert (by_person.model, by_person.baseline) == ("new", "old")


def test_a_score_by_a_judge_who_judged_nothing_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="None of the 1 games"):
        score_of("r", CONFIG, [game(0)], [verdict(0, "first")], "person", now=NOON, new_id="s")
