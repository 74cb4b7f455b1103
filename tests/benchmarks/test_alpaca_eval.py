"""AlpacaEval 2: hand-made rows, and the published numbers where the reference data is at hand."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from realign.benchmarks.alpaca_eval import (
    preference_from_logprobs,
    read_annotations,
    read_gamed,
    score_annotations,
)
from realign.benchmarks.length_control import Gamed, Weights, predicted_win_rate
from realign.errors import InvalidInput

DATA = Path(__file__).parents[2].parent / "shared" / "data"
FUSECHAT = DATA / "ae2_annotations_FuseChat-Llama-3.2-1B-Instruct.json"

needs_reference = pytest.mark.skipif(
    not DATA.is_dir(), reason="the AlpacaEval reference data (CC BY-NC 4.0) is not part of this project"
)


def row(number: int, preference: float | None, **fields: Any) -> dict[str, Any]:
    made = {"instruction": f"Instruction {number}", "output_1": "the baseline", "output_2": "a model"}
    return {
        **made,
        "generator_1": "base",
        "generator_2": "new",
        "annotator": "judge",
        "preference": preference,
    } | fields


def table(name: str) -> dict[str, dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return {line["model"]: line for line in csv.DictReader(file)}


# Hand-made rows


def test_preferences_1_2_and_a_half_way_tie_are_a_win_rate_of_50() -> None:
    score = score_annotations([row(0, 1.0), row(1, 2.0), row(2, 1.5)], None)
    assert score.win_rate == 50
    assert score.standard_error == pytest.approx(100 * 0.5 / math.sqrt(3))
    assert (score.n_wins, score.n_wins_baseline, score.n_draws, score.n) == (1, 1, 1, 3)
    assert (score.model, score.baseline, score.judge) == ("new", "base", "judge")


def test_a_narrow_win_is_a_whole_one_only_in_the_discrete_rate() -> None:
    score = score_annotations([row(0, 1.6), row(1, 1.6), row(2, 1.6), row(3, 1.2)], None)
    assert score.win_rate == pytest.approx(50)
    assert score.discrete_win_rate == 75
    assert score.weighted


def test_whole_verdicts_are_labelled_as_such() -> None:
    assert not score_annotations([row(0, 1.0), row(1, 2.0), row(2, 1.5)], None).weighted


@pytest.mark.parametrize("fields", [{"preference": 0}, {"output_2": "the baseline", "preference": None}])
def test_the_old_code_and_identical_answers_are_ties(fields: dict[str, Any]) -> None:
    score = score_annotations([row(0, 2.0), row(1, 2.0) | fields], None)
    assert (score.win_rate, score.n_draws, score.n_unjudged) == (75, 1, 0)


@pytest.mark.parametrize("nothing", [None, math.nan])
def test_rows_without_a_preference_are_counted_and_left_out(nothing: float | None) -> None:
    score = score_annotations([row(0, 2.0), row(1, 1.0), row(2, nothing)], None)
    assert (score.win_rate, score.n, score.n_unjudged) == (50, 2, 1)


def test_nothing_judged_is_an_error_and_not_a_number() -> None:
    with pytest.raises(InvalidInput, match="0 of the 2 rows have a preference"):
        score_annotations([row(0, None), row(1, math.nan)], None)


def test_one_row_has_no_standard_error_and_is_refused() -> None:
    with pytest.raises(InvalidInput, match="1 of the 1 rows"):
        score_annotations([row(0, 2.0)], None)


@pytest.mark.parametrize("preference", [0.5, 2.01, -1, math.inf])
def test_a_preference_out_of_range_names_its_row(preference: float) -> None:
    with pytest.raises(InvalidInput, match=r"Row 2: the preference .* is neither 0 nor between 1 and 2"):
        score_annotations([row(0, 1.0), row(1, preference)], None)


def test_rows_of_two_models_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"mix models \(field 'generator_2': new, other\)"):
        score_annotations([row(0, 1.0), row(1, 1.0, generator_2="other")], None)


def test_a_repeated_instruction_names_both_rows() -> None:
    with pytest.raises(InvalidInput, match="Row 3 repeats the instruction of row 1"):
        score_annotations([row(0, 1.0), row(1, 1.0), row(0, 2.0)], None)


def test_a_missing_field_names_file_row_and_field(tmp_path: Path) -> None:
    file = tmp_path / "annotations.json"
    broken = {key: value for key, value in row(1, 1.0).items() if key != "output_2"}
    file.write_text(json.dumps([row(0, 1.0), broken]), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"annotations\.json, row 2 lacks the field 'output_2'"):
        read_annotations(file)


def test_a_byte_order_mark_and_other_alphabets_are_read(tmp_path: Path) -> None:
    file = tmp_path / "annotations.json"
    file.write_text(json.dumps([row(0, 1.0, output_2="你好 · שלום")], ensure_ascii=False), encoding="utf-8-sig")
    assert read_annotations(file)[0]["output_2"] == "你好 · שלום"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[]", "holds no rows"),
        (b"[1]", "row 1 is not a JSON object"),
        (b'[{"instruction": "x",\n oops}]', "line 2 is not JSON"),
        ("[{}]".encode("utf-16"), "is not UTF-8 text"),
    ],
)
def test_a_broken_file_says_what_is_wrong_with_it(tmp_path: Path, content: bytes, complaint: str) -> None:
    file = tmp_path / "annotations.json"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=complaint):
        read_annotations(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere\.json cannot be read: No such file"):
        read_annotations(tmp_path / "nowhere.json")


# First-token probabilities


def test_a_judge_that_gives_m_three_quarters_prefers_the_first_shown_by_that_much() -> None:
    logprobs = {"m": math.log(0.6), "M": math.log(0.2), "The": math.log(0.1)}
    assert preference_from_logprobs(logprobs, switched=False) == pytest.approx(1.25)
    assert preference_from_logprobs(logprobs, switched=True) == pytest.approx(1.75)


def test_a_missing_letter_has_no_probability_and_neither_letter_is_no_verdict() -> None:
    assert preference_from_logprobs({"M": -0.1}, switched=False) == 2
    assert preference_from_logprobs({"m": -0.1}, switched=False) == 1
    assert preference_from_logprobs({"The": -0.1}, switched=False) is None


# Length control on made-up data


def gamed(n: int) -> Gamed:
    generator = np.random.default_rng(3)
    deltas, difficulty = generator.normal(size=2 * n), generator.normal(size=n)
    q = 1 / (1 + np.exp(2 * np.tanh(deltas)))
    return Gamed(
        q=tuple(q.tolist()),
        deltas=tuple(deltas.tolist()),
        difficulties=tuple(np.tile(difficulty, 2).tolist()),
        by_position=tuple(difficulty.tolist()),
        by_instruction={f"Instruction {i}": float(value) for i, value in enumerate(difficulty)},
    )


def lengthy_rows(n: int) -> list[dict[str, Any]]:
    """A model that wins three times in four, and always where its answer is the longer one."""
    return [row(i, 1.0 if i % 4 == 0 else 2.0, output_2="word " * (1 if i % 4 == 0 else 40)) for i in range(n)]


def test_wins_that_come_with_length_weigh_less_under_length_control() -> None:
    score = score_annotations(lengthy_rows(80), gamed(80), c=1.0, resamples=20)
    assert score.length_controlled is not None
    assert score.win_rate == 75
    assert score.length_controlled.win_rate < 70
    assert score.length_controlled.c == 1.0
    assert score.length_controlled.weights.length < 0
    assert score.length_controlled.bootstrap_error > 0


def test_the_baseline_against_itself_is_50() -> None:
    rows = [row(i, None, output_1="same", output_2="same") for i in range(5)]
    score = score_annotations(rows, gamed(5))
    assert score.win_rate == 50
    assert score.length_controlled is not None
    assert score.length_controlled.win_rate == 50


def test_without_gamed_rows_there_is_no_length_controlled_rate() -> None:
    assert score_annotations(lengthy_rows(8), None).length_controlled is None


def test_difficulties_go_by_instruction_so_the_order_of_rows_is_nothing() -> None:
    rows = lengthy_rows(40)[5:]
    forward = score_annotations(rows, gamed(40), c=10.0, resamples=2).length_controlled
    backward = score_annotations(rows[::-1], gamed(40), c=10.0, resamples=2).length_controlled
    by_position = score_annotations(rows, gamed(40), c=10.0, resamples=2, difficulty_by="position").length_controlled
    assert forward is not None
    assert backward is not None
    assert by_position is not None
    assert backward.win_rate == pytest.approx(forward.win_rate, abs=1e-3)
    assert abs(by_position.win_rate - forward.win_rate) > 1e-2
    assert (forward.difficulty_by, by_position.difficulty_by) == ("instruction", "position")


def test_an_instruction_that_the_benchmark_does_not_know_is_quoted() -> None:
    rows = lengthy_rows(8)
    rows[3]["instruction"] = "Something else"
    with pytest.raises(
        InvalidInput, match="1 instructions are not in the benchmark, the first of them 'Something else'"
    ):
        score_annotations(rows, gamed(8), c=1.0, resamples=20)


def test_more_rows_than_difficulties_are_refused() -> None:
    with pytest.raises(InvalidInput, match="8 rows for 7 difficulties"):
        score_annotations(lengthy_rows(8), gamed(7), c=1.0, difficulty_by="position")


@pytest.mark.parametrize("c", [0.0, -1.0, math.nan])
def test_a_strength_that_is_none_is_refused(c: float) -> None:
    with pytest.raises(InvalidInput, match="above 0"):
        score_annotations(lengthy_rows(8), gamed(8), c=c)


def test_answers_of_one_length_have_a_length_controlled_rate_all_the_same() -> None:
    rows = [row(i, 1.0 if i % 4 == 0 else 2.0, output_1="aaaa", output_2="bbbb") for i in range(40)]
    score = score_annotations(rows, gamed(40), c=100.0, resamples=2)
    assert score.length_controlled is not None
    assert score.length_controlled.win_rate == pytest.approx(75, abs=1)


GAMED_CSV = "preference,index,std_delta_len,instruction_difficulty,not_gamed_baseline,model\n"


def test_gamed_rows_are_read_with_one_difficulty_per_instruction(tmp_path: Path) -> None:
    file, prompts = tmp_path / "df_gamed.csv", tmp_path / "prompts.json"
    file.write_text(
        GAMED_CSV + "0.9,0,-1.5,0.25,False,v\n0.1,1,2,-0.5,False,v\n0.2,0,1,0.25,False,c\n0,1,0,-0.5,False,c\n"
    )
    prompts.write_text('[{"instruction": "First"}, {"instruction": "Second"}]')
    read = read_gamed(file, prompts)
    assert read.q == (0.9, 0.1, 0.2, 0.0)
    assert read.by_position == (0.25, -0.5)
    assert read.by_instruction == {"First": 0.25, "Second": -0.5}


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("0.9,0,x,0.25,False,v\n", "row 1, column 'std_delta_len': 'x' is not a number"),
        ("0.9,0,nan,0.25,False,v\n", "'nan' is not a number"),
        ("0.9,1,1,0.25,False,v\n", "from 0 without a gap"),
        ("0.9,0,1\n", "column 'instruction_difficulty': 'None' is not a number"),
    ],
)
def test_a_faulty_gamed_file_names_row_and_column(tmp_path: Path, lines: str, complaint: str) -> None:
    file = tmp_path / "df_gamed.csv"
    file.write_text(GAMED_CSV + lines)
    with pytest.raises(InvalidInput, match=complaint):
        read_gamed(file)


def test_another_csv_is_not_taken_for_the_gamed_rows(tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInput, match=r"other\.csv lacks the column 'index'"):
        read_gamed(file)


# The published numbers


@needs_reference
def test_first_token_probabilities_give_the_published_preferences() -> None:
    fixture = json.loads((DATA / "ae2_logprob_fixture.json").read_text(encoding="utf-8"))
    assert len(fixture) == 40
    for line in fixture:
        found = preference_from_logprobs(dict(line["top_logprobs"]), switched=line["switched"])
        assert found == pytest.approx(line["preference"], abs=1e-9)


@needs_reference
def test_the_win_rate_of_a_raw_annotation_file_is_the_published_one() -> None:
    published = table("ae2_leaderboard.csv")["FuseChat-Llama-3.2-1B-Instruct"]
    score = score_annotations(read_annotations(FUSECHAT), None)
    assert score.win_rate == pytest.approx(float(published["win_rate"]), abs=1e-9)
    assert score.standard_error == pytest.approx(float(published["standard_error"]), abs=1e-9)
    assert score.discrete_win_rate == pytest.approx(float(published["discrete_win_rate"]), abs=1e-9)
    assert score.avg_length == int(published["avg_length"])
    assert (score.n_wins, score.n_wins_baseline, score.n_draws, score.n) == (233, 570, 2, 805)


def compact_rows(model: str) -> list[dict[str, Any]]:
    """The rows of `model` with texts of the published lengths; no texts are at hand for these models."""
    prompts = json.loads((DATA / "ae_805_prompts.json").read_text(encoding="utf-8"))
    with (DATA / "ae2_annotations_compact.csv").open(encoding="utf-8", newline="") as file:
        return [
            {
                "instruction": prompts[int(line["index"])]["instruction"],
                "output_1": "b" * int(line["len_baseline"]),
                "output_2": "m" * int(line["len_model"]),
                "generator_2": model,
                "preference": float(line["preference"]) if line["preference"] else None,
            }
            for line in csv.DictReader(file)
            if line["model"] == model
        ]


MODELS = [
    "FuseChat-Llama-3.1-8B-Instruct",
    "FuseChat-Llama-3.2-1B-Instruct",
    "gpt4_gamed",
    "alpaca-7b",
    "gemma-2b-it",
    "phi-2",
    "chatglm2-6b",
]


@needs_reference
@pytest.mark.parametrize("model", MODELS)
def test_win_rates_of_seven_models_are_the_published_ones(model: str) -> None:
    published = table("ae2_leaderboard.csv")[model]
    score = score_annotations(compact_rows(model), None)
    assert score.win_rate == pytest.approx(float(published["win_rate"]), abs=1e-9)
    assert score.standard_error == pytest.approx(float(published["standard_error"]), abs=1e-9)
    assert score.n == int(published["n_total"])


@needs_reference
@pytest.mark.parametrize("model", MODELS)
def test_published_weights_give_the_published_length_controlled_rate(model: str) -> None:
    weights = Weights(*(float(value) for name, value in table("ae2_glm_weights.csv")[model].items() if name != "model"))
    n = int(table("ae2_leaderboard.csv")[model]["n_total"])
    difficulty = np.array(read_gamed(DATA / "df_gamed.csv").by_position[:n])
    published = float(table("ae2_leaderboard.csv")[model]["length_controlled_winrate"])
    assert predicted_win_rate(weights, difficulty) == pytest.approx(published, abs=1e-6)


# The C each of them was published with; where none is named, cross-validation finds it.
PUBLISHED_C = [
    ("FuseChat-Llama-3.2-1B-Instruct", None),
    ("alpaca-7b", None),
    ("gemma-2b-it", 166.81005372000593),
    ("phi-2", None),
    ("chatglm2-6b", 21.54434690031882),
    ("gpt4_gamed", 166.81005372000593),
]


@needs_reference
@pytest.mark.parametrize(("model", "c"), PUBLISHED_C)
def test_a_fresh_fit_gives_the_published_length_controlled_rate(model: str, c: float | None) -> None:
    published = table("ae2_leaderboard.csv")[model]
    score = score_annotations(
        compact_rows(model), read_gamed(DATA / "df_gamed.csv"), c=c, difficulty_by="position", resamples=5
    )
    found = score.length_controlled
    assert found is not None
    assert found.win_rate == pytest.approx(float(published["length_controlled_winrate"]), abs=1e-4)
    if published["lc_standard_error"]:
        assert found.standard_error == pytest.approx(float(published["lc_standard_error"]), abs=1e-4)
    assert found.bootstrap_error > found.standard_error


@needs_reference
def test_missing_rows_shift_difficulties_by_position_but_not_by_instruction() -> None:
    with_prompts = read_gamed(DATA / "df_gamed.csv", DATA / "ae_805_prompts.json")
    score = score_annotations(compact_rows("phi-2"), with_prompts, resamples=2)
    assert score.length_controlled is not None
    assert score.length_controlled.win_rate == pytest.approx(3.8934, abs=1e-4)
