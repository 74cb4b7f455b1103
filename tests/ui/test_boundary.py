"""Where an exception becomes a sentence on the screen."""

import logging
from collections.abc import Iterator

import gradio as gr
import pytest

from realign.errors import StorageFailed
from realign.ui.boundary import spoken


def test_what_a_person_can_act_on_is_said_as_it_stands() -> None:
    def fails() -> None:
        raise StorageFailed("The disk is full. Free some space.")

    with pytest.raises(gr.Error) as said:
        spoken(fails)()
    assert said.value.message == "The disk is full. Free some space."


def test_the_unexpected_is_said_without_its_text_and_logged_under_a_reference(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> None:
        raise RuntimeError("secret detail")

    with caplog.at_level(logging.ERROR), pytest.raises(gr.Error) as said:
        spoken(fails)()
    assert "secret detail" not in str(said.value.message)
    reference = caplog.records[0].getMessage().split()[-1]
    assert reference in str(said.value.message)
    assert "secret detail" in caplog.text


def test_a_generator_that_fails_half_way_has_shown_what_came_before() -> None:
    def writes() -> Iterator[int]:
        yield 1
        raise StorageFailed("The disk is full.")

    steps = spoken(writes)()
    assert next(steps) == 1
    with pytest.raises(gr.Error, match="disk is full"):
        next(steps)


def test_a_message_that_was_meant_for_the_screen_passes() -> None:
    def warns() -> None:
        raise gr.Error("Choose a file first.")

    with pytest.raises(gr.Error, match="Choose a file first"):
        spoken(warns)()
