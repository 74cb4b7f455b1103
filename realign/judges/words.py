"""Words, sentences and list items of a text, in any script, as the plain checks count them."""

import re
import string
from typing import NamedTuple

UNSPACED = re.compile(r"[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
"""Letters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

PUNCTUATION = string.punctuation + "“”‘’„«»…—–·。，、！？：；（）「」『』؟،।"

FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)

LIST_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?:#{1,6}\s+)?(?:\*\*|__)?(?P<marker>[-*+•‣◦–]|\(?\d{1,3}[.):]|[a-zA-Z][.)])\s+"
    r"(?P<text>\S.*)$",
    re.MULTILINE,
)

_SENTENCE_BREAK = re.compile(r"""(?:(?<=[.!?…؟।])|(?<=[.!?…؟।]["'”’)*_]))\s+|(?<=[。！？])|\n+""")

_ABBREVIATION = re.compile(r"(?:^\W*\(?\d{1,3}[.)]|(?:^|\s)(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|No|e\.g|i\.e|approx)\.)$")


class ListItem(NamedTuple):
    """One line of a list."""

    indent: int
    marker: str
    text: str


def words(text: str) -> list[str]:
    """Return the words in lower case without the punctuation around them.

    Whatever stands between spaces counts as one word, so `well-known` is one; in scripts without spaces each letter is.
    """
    bare = (token.strip(PUNCTUATION) for token in UNSPACED.sub(r" \g<0> ", text).split())
    return [token.casefold() for token in bare if token.isalnum() or any(map(str.isalnum, token))]


def sentences(text: str) -> list[str]:
    """Return the sentences; a line break ends one, `Dr.` and the number of a list line do not."""
    found: list[str] = []
    for piece in _SENTENCE_BREAK.split(text):
        if found and _goes_on(found[-1], piece):
            found[-1] = f"{found[-1]} {piece}"
        else:
            found.append(piece)
    return [sentence.strip() for sentence in found if any(map(str.isalnum, sentence))]


def _goes_on(before: str, piece: str) -> bool:
    return bool(_ABBREVIATION.search(before)) or (before.endswith(("...", "…")) and piece[:1].islower())


def prose(text: str) -> str:
    """Return the text without its fenced code."""
    return FENCED.sub("", text)


def lines(text: str) -> list[str]:
    """Return the lines that are not blank, without trailing white space."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def list_items(text: str) -> list[ListItem]:
    """Return the lines of the outermost list; deeper levels and fenced code are left out."""
    items = [
        ListItem(len(match["indent"].expandtabs(4)), match["marker"], match["text"])
        for match in LIST_LINE.finditer(prose(text))
    ]
    outermost = min((item.indent for item in items), default=0)
    return [item for item in items if item.indent == outermost]


def is_blank(text: str) -> bool:
    """Say whether nothing of the text can be seen; zero-width characters show nothing."""
    return not any(letter.isprintable() and not letter.isspace() for letter in text)
