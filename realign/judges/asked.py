"""Checks of what the prompt asks for in so many words, each silent (None) where it asks for nothing of the kind.

A number that is missed earns one half at most, and less the further off it is: a broken limit is broken.
"""

import json
import re

from realign.judges import demands
from realign.judges.demands import Bounds, request
from realign.judges.words import lines, list_items, prose, sentences, words
from realign.records import Chat

_CODE_LINE = re.compile(
    r"^\s*(?:def \w+\(|class \w+[(:{]|import \w+$|from [\w.]+ import\b|(?:async )?function \w*\("
    r"|(?:const|let|var) \w+ =|#include\b|select .+ from\b"
    r"|(?:for|while|if) ?\(.*\)|print\(|<\w+[^>]*>|\w[\w.\[\]]* = \S|.*\S.*[;{}]$)"
    r"|`[^`\n]*[()\[\]{}\\=|^$*+][^`\n]*`",
    re.IGNORECASE | re.MULTILINE,
)
_FENCED_WHOLE = re.compile(r"```\w*\n(.*)```", re.DOTALL)
_BRACED = re.compile(r"[{\[].*[}\]]", re.DOTALL)


def word_limit(prompt: Chat, text: str) -> float | None:
    """The number of words is the one asked for; a bare number is taken as about that many."""
    return _kept(len(words(text)), demands.limit(request(prompt), demands.WORDS, slack=0.2))


def sentence_limit(prompt: Chat, text: str) -> float | None:
    """The number of sentences is the one asked for."""
    return _kept(len(sentences(text)), demands.limit(request(prompt), demands.SENTENCES, slack=0.0))


def items(prompt: Chat, text: str) -> float | None:
    """As many ideas, reasons or names are given as were asked for."""
    asked = demands.items(request(prompt))
    return None if asked is None else max(_kept(count, asked) or 0.0 for count in item_counts(text))


def list_form(prompt: Chat, text: str) -> float | None:
    """A list was asked for and is there, with numbers where numbers were asked for."""
    asked = request(prompt)
    if not demands.wants_list(asked):
        return None
    found = list_items(text)
    if len(found) < 2:
        return 0.0
    return 0.5 if demands.wants_numbers(asked) and not found[0].marker.strip("(.):").isdigit() else 1.0


def mentions(prompt: Chat, text: str) -> float | None:
    """Words that were asked for in quotation marks occur, and those ruled out do not."""
    folded = text.casefold()
    kept = [(quoted.casefold() in folded) is wanted for quoted, wanted in demands.quoted_words(request(prompt))]
    return sum(kept) / len(kept) if kept else None


def code(prompt: Chat, text: str) -> float | None:
    """Code was asked for, and a fence or a line of code is there."""
    if not demands.wants_code(request(prompt)):
        return None
    return 1.0 if "```" in text or _CODE_LINE.search(text) else 0.0


def json_only(prompt: Chat, text: str) -> float | None:
    """JSON was asked for and the whole answer is JSON; inside a fence or amid other words it is worth less."""
    if not demands.wants_json(request(prompt)):
        return None
    bare = text.strip()
    if _is_json(bare):
        return 1.0
    fenced = _FENCED_WHOLE.fullmatch(bare)
    if fenced and _is_json(fenced[1]):
        return 0.5
    braced = _BRACED.search(bare)
    return 0.25 if braced and _is_json(braced[0]) else 0.0


def item_counts(text: str) -> set[int]:
    """Return how many items a text may hold: its list lines or, without a list, its lines, sentences or commas."""
    if len(listed := list_items(text)) >= 2:
        return {len(listed)}
    body = [line for line in lines(prose(text)) if not line.endswith(":")]
    return {len(body), len(sentences("\n".join(body))), max(map(_enumerated, body), default=0)}


def _enumerated(line: str) -> int:
    merged = re.sub(r",\s+(?:and|or)\b", ",", line)
    return 1 + len(re.findall(r"[,;、]|\band\b|\bor\b", merged))


def _kept(count: int, asked: Bounds | None) -> float | None:
    if asked is None:
        return None
    if count < asked.low:
        return 0.5 * count / asked.low
    if asked.high is not None and count > asked.high:
        return 0.5 * asked.high / count
    return 1.0


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
