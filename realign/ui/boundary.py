"""Where an exception becomes a sentence on the screen: the only broad `except` of the screens."""

import functools
import inspect
import logging
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import gradio as gr

from realign.errors import RealignError

log = logging.getLogger("realign.ui")


def spoken(handler: Callable[..., Any], *, into: Any = None) -> Callable[..., Any]:
    """Let `handler`, a function or a generator, fail in words: a sentence a person can act on, never a stack trace.

    What the screen shows stays as it is, and nothing chained behind it with `success` runs. With `into`, an output
    of the event, the sentence goes there instead: Gradio would cover every output with the word Error.
    """
    if inspect.isgeneratorfunction(handler):

        @functools.wraps(handler)
        def generate(*args: Any, **kwargs: Any) -> Iterator[Any]:
            try:
                yield from handler(*args, **kwargs)
            except Exception as error:
                sentence = _sentence(error)
                if into is None:
                    raise sentence from error
                yield {into: _failed(sentence)}

        return generate

    @functools.wraps(handler)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return handler(*args, **kwargs)
        except Exception as error:
            sentence = _sentence(error)
            if into is None:
                raise sentence from error
            return {into: _failed(sentence)}

    return call


def _failed(sentence: gr.Error) -> dict[str, str]:
    return {"failed": sentence.message, "at": datetime.now(UTC).isoformat()}


def _sentence(error: Exception) -> gr.Error:
    if isinstance(error, gr.Error):
        return error
    if isinstance(error, RealignError):
        return gr.Error(str(error), title="This did not work", print_exception=False, duration=12)
    reference = uuid.uuid4().hex[:8]
    log.error("Unexpected failure %s", reference, exc_info=error)
    return gr.Error(
        f"Something unexpected went wrong. What was stored is safe. The server's log tells more under {reference}.",
        title="This did not work",
        print_exception=False,
        duration=None,
    )
