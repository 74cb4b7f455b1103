"""The plain checks reward form, not brevity, and the judge says why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realign.errors import InvalidInput, pick
from realign.judges import JUDGES, PERSON
from realign.judges.checks import is_whole, repeated_4grams, repeated_sentences, scripts
from realign.judges.rubric import CHECKS, WEIGHTS, RubricJudge, rate
from realign.records import Chat, Game, Message

EMAIL = """Subject: Day off on Friday

Dear Ms Lee,

I would like to ask for a day off this Friday, as my sister is moving to another town and needs my help. I will finish
the report before then, and Tom can answer any questions.

Kind regards,
Anna"""


def chat(user: str, system: str = "") -> Chat:
    asked = Message(role="user", content=user)
    return (Message(role="system", content=system), asked) if system else (asked,)


ASK_EMAIL = chat("Write an email that asks my boss for a day off on Friday.")


def game(prompt: Chat, first: str, second: str) -> Game:
    return Game(id="g1", run="r1", prompt=prompt, first=first, second=second, first_is_model=True)


@pytest.mark.parametrize(
    "worse", ["Sure.", "Friday.", "Day off.", EMAIL[:200], EMAIL + "<|im_end|>", (EMAIL + "\n") * 6]
)
def test_a_proper_email_rates_above_a_word_a_stump_and_a_loop(worse: str) -> None:
    assert rate(ASK_EMAIL, EMAIL).total > rate(ASK_EMAIL, worse).total + 0.02


def test_a_proper_email_passes_every_check() -> None:
    assert rate(ASK_EMAIL, EMAIL).total == 1.0


@pytest.mark.parametrize("nothing", ["", "  \n", "\u200b"])
def test_an_empty_answer_rates_zero(nothing: str) -> None:
    rating = rate(ASK_EMAIL, nothing)
    assert rating.total == 0.0
    assert set(rating.checks.values()) == {0.0}


def test_every_check_has_one_weight() -> None:
    assert CHECKS.keys() == WEIGHTS.keys()


def test_the_total_is_the_weighted_mean_of_the_checks_that_apply() -> None:
    rating = rate(chat("Write an email to a friend in at most 10 words."), EMAIL)
    weights = {name: WEIGHTS[name] for name in rating.checks}
    assert "word limit" in rating.checks
    assert "code" not in rating.checks
    assert rating.total == pytest.approx(sum(weights[n] * v for n, v in rating.checks.items()) / sum(weights.values()))


@pytest.mark.parametrize(
    ("check", "prompt", "good", "bad", "worth"),
    [
        ("word limit", "Describe rain in at most 5 words.", "Water falls from the clouds.", "a " * 10, 0.25),
        ("word limit", "Write at least 100 words.", "word " * 100, "word " * 50, 0.25),
        ("sentence limit", "Explain rain in one sentence.", "Water falls.", "Water falls. It is wet.", 0.25),
        ("items", "Give me three ideas.", "1. Run\n2. Swim\n3. Walk", "- Run\n- Swim", 1 / 3),
        ("items", "Name four planets.", "Mars, Venus, Earth and Saturn.", "Mars and Venus.", 0.25),
        ("list", "Answer with bullet points.", "- One\n- Two", "One and two.", 0.0),
        ("list", "Give me a numbered list.", "1. One\n2. Two", "- One\n- Two", 0.5),
        ("mentions", 'Use the words "sun" and "rain".', "Sun after rain.", "Sun again.", 0.5),
        ("mentions", 'Do not use the word "very".', "Nice.", "Very nice.", 0.0),
        ("code", "Write a Python function that adds.", "```python\nx = 1\n```", "You add them.", 0.0),
        ("code", "Write a Python function that adds.", "def add(a, b):\n    return a + b", "You add them.", 0.0),
        ("JSON only", "Return only JSON.", '{"a": 1}', '```json\n{"a": 1}\n```', 0.5),
        ("JSON only", "Return only JSON.", "[1, 2]", 'Here you go: {"a": 1}', 0.25),
        ("no task talk", "Tell me about rain.", "Rain is water.", "Here is the improved answer: rain is water.", 0.0),
        ("no control tokens", "Tell me about rain.", "Rain.", "Rain.</s>", 0.0),
        ("language", "Tell me about rain.", "Rain is water.", "Дождь это вода.", 0.0),
        ("on topic", "Tell me about rain and clouds.", "Clouds bring rain.", "Cats purr.", 0.0),
    ],
)
def test_each_check_tells_good_from_bad(check: str, prompt: str, good: str, bad: str, worth: float) -> None:
    assert rate(chat(prompt), good).checks[check] == 1.0
    assert rate(chat(prompt), bad).checks[check] == pytest.approx(worth)


def test_a_limit_in_the_system_message_binds_too() -> None:
    assert rate(chat("What is rain?", system="Answer in at most 5 words."), "water " * 10).checks["word limit"] == 0.25


@pytest.mark.parametrize(
    ("check", "prompt"),
    [
        ("no task talk", "Rewrite this: teh cat."),
        ("language", "Translate this into Russian: rain."),
        ("items", "Write a story about three friends."),
    ],
)
def test_a_check_is_silent_where_the_prompt_gives_it_nothing_to_say(check: str, prompt: str) -> None:
    assert check not in rate(chat(prompt), "Here is the corrected text.").checks


def test_a_control_token_the_prompt_speaks_of_may_be_named() -> None:
    assert (
        rate(chat("What does <|im_end|> mean?"), "The token <|im_end|> ends a turn.").checks["no control tokens"] == 1.0
    )


@pytest.mark.parametrize(
    "text",
    [
        "It is done.",
        'He said "yes."',
        "Paris",
        "Enjoy! 🎉",
        "```\nx = 1\n```",
        "- apples from the old tree\n- pears from the market\n- plums from the garden next door",
        "Dear Tom,\n\nSee you soon.\n\nBest,\nAnna",
        "雨が降る。",
        "The rose stands tall beside the garden wall\nIts petals open to the morning light\n"
        "And all the bees come humming to its call",
        "🎉",
        '{"a": 1}',
    ],
)
def test_a_finished_text_is_whole(text: str) -> None:
    assert is_whole(text)


@pytest.mark.parametrize(
    "text",
    [
        "The history of the town began when the first settlers came down the",
        "Here are some ideas:",
        "```python\nx = 1",
        "Dear Ms Lee,\n\nI would like to ask for a day off, as my sister\nis moving house on Friday and she needs\n"
        "the help of",
        "Rain falls.\n\nIt is made of water that rose from the sea and the lakes in the",
        "It rained. Then the river rose over its banks and took the old bridge with it down to",
        "",
    ],
)
def test_a_text_cut_in_the_middle_is_not_whole(text: str) -> None:
    assert not is_whole(text)


def test_repetition_is_a_share_of_what_came_before() -> None:
    assert repeated_4grams("a b c d a b c d") == pytest.approx(1 / 5)
    assert repeated_4grams("one two three") == 0.0
    assert repeated_sentences("The cat sat down. The cat sat down. It was happy there.") == pytest.approx(1 / 3)


def test_scripts_are_counted_by_letter() -> None:
    assert scripts("ab я 7") == {"LATIN": 2, "CYRILLIC": 1}


@given(st.text(max_size=300), st.text(min_size=1, max_size=100).filter(str.strip))
def test_a_rating_lies_between_0_and_1_and_is_the_same_each_time(text: str, asked: str) -> None:
    rating = rate(chat(asked), text)
    assert 0.0 <= rating.total <= 1.0
    assert all(0.0 <= value <= 1.0 for value in rating.checks.values())
    assert rate(chat(asked), text) == rating


def test_the_judge_prefers_the_higher_rating_on_either_side_and_says_why() -> None:
    judge = RubricJudge()
    assert judge.judge(game(ASK_EMAIL, EMAIL, "Sure.")).preferred == "first"
    judgement = judge.judge(game(ASK_EMAIL, "Sure.", EMAIL))
    assert judgement.preferred == "second"
    assert judgement.words == (
        "First 0.65, second 1.00: they differ most in on topic (0.00 against 1.00), length (0.13 against 1.00)."
    )


def test_two_equal_answers_are_a_tie() -> None:
    judgement = RubricJudge().judge(game(ASK_EMAIL, EMAIL, EMAIL))
    assert judgement.preferred == "tie"
    assert judgement.words == "First 1.00, second 1.00, a tie: no check tells them apart."


def test_the_rubric_can_be_called_and_the_person_cannot() -> None:
    assert JUDGES["rubric"]().name == "rubric"
    assert PERSON not in JUDGES
    with pytest.raises(InvalidInput, match="There is no judge 'oracle'"):
        pick("oracle", JUDGES, "judge")
