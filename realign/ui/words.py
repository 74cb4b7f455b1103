"""The words on the screen in the reader's language: Gradio's own components by its I18n, drawn ones by the script.

The English words are the keys. A phrase holds figures in braces; where English tells one from many, the two forms stand
with a bar between them.
"""

import json
from pathlib import Path
from typing import Any

import gradio as gr

Phrase = list[Any]
"""Words with figures, as the script fills them in: `["{n} waiting", {"n": 12}]`."""

TRANSLATIONS: dict[str, dict[str, str]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "translations").glob("*.json"))
}
"""Translations by language, then by the English words; what is missing stays English."""


def t(words: str) -> Any:
    """Return `words` so that Gradio shows them in the reader's language."""
    return i18n(words) if any(words in table for table in TRANSLATIONS.values()) else words


def say(words: str, **figures: Any) -> Phrase:
    """Return a phrase for a drawn component."""
    return [words, figures]


i18n = gr.I18n(
    en={words: words for table in TRANSLATIONS.values() for words in table},
    **TRANSLATIONS,
)
