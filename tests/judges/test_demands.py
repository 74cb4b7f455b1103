"""What a prompt asks for is read from its words."""

import pytest

from realign.judges import demands
from realign.judges.demands import SENTENCES, WORDS, Bounds
from realign.records import Message


@pytest.mark.parametrize(
    ("asked", "low", "high"),
    [
        ("Explain rain in under 40 words.", 0, 39),
        ("Use at most fifty words.", 0, 50),
        ("No more than 30 words, please.", 0, 30),
        ("Do not exceed 1,000 words.", 0, 1000),
        ("Limit your answer to 60 words.", 0, 60),
        ("In 25 words or less.", 0, 25),
        ("Write between 100 and 150 words.", 100, 150),
        ("5-7 words", 5, 7),
        ("Write more than 20 words.", 21, None),
        ("Write at least a hundred words.", 100, None),
        ("A 300+ words essay", 300, None),
        ("Use exactly seven words.", 7, 7),
        ("Write a 50-word summary.", 40, 60),
        ("Say it in twenty-five words.", 20, 30),
        ("About 200 words.", 160, 240),
    ],
)
def test_a_word_limit_is_found(asked: str, low: int, high: int | None) -> None:
    assert demands.limit(asked, WORDS, slack=0.2) == Bounds(low, high)


@pytest.mark.parametrize(
    ("asked", "low", "high"),
    [
        ("Answer in one sentence.", 1, 1),
        ("Reply in a single short sentence.", 1, 1),
        ("Write two sentences about cats.", 2, 2),
        ("Use up to three sentences.", 0, 3),
        ("Write 4 to 6 sentences.", 4, 6),
    ],
)
def test_a_sentence_limit_is_found(asked: str, low: int, high: int) -> None:
    assert demands.limit(asked, SENTENCES, slack=0.0) == Bounds(low, high)


@pytest.mark.parametrize(
    "asked", ["Tell me about words.", "What are the first words of it?", "Explain 40-year-old wine."]
)
def test_no_limit_is_read_where_none_is_set(asked: str) -> None:
    assert demands.limit(asked, WORDS, slack=0.2) is None


@pytest.mark.parametrize(
    ("asked", "low", "high"),
    [
        ("Give me three ideas for dinner.", 3, 3),
        ("Make a list of 5.", 5, 5),
        ("Give me a list of five words.", 5, 5),
        ("Name four planets.", 4, 4),
        ("Three tips for better sleep", 3, 3),
        ("top 10 movies of all time", 10, 10),
        ("List the top ten reasons to read.", 10, 10),
        ("Suggest at least 4 good names for a cat.", 4, None),
        ("Name up to five rivers.", 1, 5),
        ("List a dozen creative uses for a brick.", 12, 12),
    ],
)
def test_a_number_of_items_is_found(asked: str, low: int, high: int | None) -> None:
    assert demands.items(asked) == Bounds(low, high)


@pytest.mark.parametrize(
    "asked",
    [
        "Write a story about three friends.",
        "Write 3 sentences.",
        "I ran for 3 hours and saw 5 dogs.",
        "Two things are true.",
    ],
)
def test_quantities_of_something_else_are_no_items(asked: str) -> None:
    assert demands.items(asked) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("1,000", 1000),
        ("seven", 7),
        ("twenty-five", 25),
        ("a hundred", 100),
        ("two hundred", 200),
        ("a dozen", 12),
    ],
)
def test_numbers_are_read_as_digits_and_as_words(text: str, value: int) -> None:
    assert demands.number(text) == value


def test_quoted_words_are_wanted_or_ruled_out() -> None:
    asked = 'Include the words "river" and "sun". Do not use the word "very". Avoid “nice”. He said "hello".'
    assert demands.quoted_words(asked) == [("river", True), ("sun", True), ("very", False), ("nice", False)]


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("Write a Python function that adds two numbers.", True),
        ("Give me an SQL query for all users.", True),
        ("Write a program in C++ that counts lines.", True),
        ("Write a workout program.", False),
        ("Write a story about code.", False),
        ("What is code?", False),
    ],
)
def test_code_is_wanted_only_where_it_is_asked_for(asked: str, wanted: bool) -> None:
    assert demands.wants_code(asked) is wanted


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("Return only valid JSON.", True),
        ("Answer as a JSON object.", True),
        ("Respond with JSON only.", True),
        ("What is JSON?", False),
        ("How do I read a JSON file in Python?", False),
    ],
)
def test_json_is_wanted_only_where_the_answer_is_to_be_json(asked: str, wanted: bool) -> None:
    assert demands.wants_json(asked) is wanted


def test_an_email_calls_for_more_words_than_a_question_of_fact() -> None:
    email = (Message(role="user", content="Write an email to my landlord."),)
    fact = (Message(role="user", content="Who wrote Hamlet?"),)
    assert demands.expected_words(email) == 150
    assert demands.expected_words(fact) == 40
