"""What a prompt asks for in so many words: limits, numbers of things, quoted words, code, JSON, lists.

Read by regular expressions from the system messages and the last user message; English wordings only. What is not
recognised is not asked for.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from realign.judges.words import words
from realign.records import Chat

_SMALL = """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen"""
_ONES = _SMALL.split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_VALUES = {word: value for value, word in enumerate(_ONES, 1)} | {word: 10 * tens for tens, word in enumerate(_TENS, 2)}
_VALUES |= {"single": 1, "dozen": 12, "hundred": 100}

_ONES_PATTERN = "|".join(reversed(_ONES))
_NUMBER = (
    rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,5}}|(?:a |one )?dozen|(?:a|{_ONES_PATTERN}) hundred|(?:a )?single"
    rf"|(?:{'|'.join(_TENS)})(?:[- ](?:{_ONES_PATTERN}))?|{_ONES_PATTERN})"
)


class Bounds(NamedTuple):
    """How many are asked for, ends included; no high end means any number from the low one on."""

    low: int
    high: int | None

    @property
    def end(self) -> int:
        """The larger of the ends that are given."""
        return self.low if self.high is None else self.high


_Limit = Callable[[int, int, float], Bounds]


def _around(n: int, slack: float) -> Bounds:
    return Bounds(round(n * (1 - slack)), round(n * (1 + slack)))


_LIMITS: tuple[tuple[str, _Limit], ...] = (
    ("{N} (?:to|and) {M} {UNIT}", lambda n, m, slack: Bounds(min(n, m), max(n, m))),
    (r"(?P<N>\d{1,5}) ?[-–] ?(?P<M>\d{1,5}) {UNIT}", lambda n, m, slack: Bounds(min(n, m), max(n, m))),
    ("(?:under|below|fewer than|less than|shorter than) {N} {UNIT}", lambda n, m, slack: Bounds(0, n - 1)),
    ("(?:at most|no more than|not more than|up to|within|no longer than) {N} {UNIT}", lambda n, m, slack: Bounds(0, n)),
    (
        r"(?:max(?:imum)?(?: of)?|exceed(?:ing)?|limit(?:ed)?(?: \w+){0,4} to) {N} {UNIT}",
        lambda n, m, slack: Bounds(0, n),
    ),
    ("{N} {UNIT} (?:or (?:less|fewer)|max(?:imum)?|at most)", lambda n, m, slack: Bounds(0, n)),
    ("(?:more than|over|longer than) {N} {UNIT}", lambda n, m, slack: Bounds(n + 1, None)),
    ("(?:at least|no fewer than|no less than|min(?:imum)?(?: of)?) {N} {UNIT}", lambda n, m, slack: Bounds(n, None)),
    (r"{N}(?:\+| or more) {UNIT}", lambda n, m, slack: Bounds(n, None)),
    ("{N} {UNIT} (?:or more|min(?:imum)?|at least)", lambda n, m, slack: Bounds(n, None)),
    ("exactly {N} {UNIT}", lambda n, m, slack: Bounds(n, n)),
    ("(?:about|around|roughly|approximately|circa) {N} {UNIT}", lambda n, m, slack: _around(n, max(slack, 0.2))),
    (
        "(?:in|(?<!list )of|with|using|write|give|me|into|just|only)(?: an?)? {N}[- ]{UNIT}",
        lambda n, m, slack: _around(n, slack),
    ),
    ("{N}-{UNIT}", lambda n, m, slack: _around(n, slack)),
)
"""Wordings of a limit with what they mean; the first that matches counts. {N} and {M} are numbers of a {UNIT}."""

WORDS = "words?"
SENTENCES = r"(?:\w+ )?sentences?"

_COUNTABLE = (
    "advantages|benefits|examples|facts|headlines|ideas|names|options|points|questions|reasons|recommendations|slogans|"
    "steps|suggestions|things|tips|titles|ways"
)
_QUANTITIES = """articles characters chapters classes days dollars emails essays euros functions hours letters lines
miles minutes months pages paragraphs poems programs scripts seconds sentences stanzas stories tests times verses
versions weeks words years"""
_NOT_ITEMS = frozenset(_QUANTITIES.split())
_ITEMS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        r"\b(?:list|give|name|suggest|provide|share|offer|find|propose|recommend|brainstorm|generate|create|think of|"
        r"tell|come up with|write|mention|identify|describe|need|want|what are) (?:out |down )?"
        r"(?:(?:me|us|a|the|some|exactly|only|just|my|your|top|list of|set of) ){0,4}"
        rf"(?P<at>at least |up to |at most )?(?P<n>{_NUMBER}) (?P<noun>(?:[\w'’-]+ ){{0,3}}?[\w'’-]+s)\b",
        rf"\b(?:list|set|selection) of (?P<at>at least |up to )?(?:the )?(?:top |best )?(?P<n>{_NUMBER})\b(?P<noun>)",
        rf"^\W*(?P<at>)(?:the )?(?P<top>top )?(?P<n>{_NUMBER}) "
        rf"(?P<noun>(?(top)[\w'’-]+s|(?:[\w'’-]+ )?(?:{_COUNTABLE})))\b"
        r"(?=\W*$| (?:for|to|about|of|on|why|that|in|with|when|how)\b)",
    )
)

_QUOTED = re.compile(r'["“]([^"“”\n]{1,60})["”]')
_MENTION = re.compile(
    r"\b(?P<verb>includ(?:e|es|ing)|mentions?|us(?:e|es|ing)|contain(?:s|ing)?|avoid"
    r"|with(?:out)? (?:the )?(?:words?|phrases?))\b"
    r'[^.?!\n"“”]{0,40}?(?P<quoted>["“][^"“”\n]{1,60}["”](?:(?:,|,? and|,? or) ["“][^"“”\n]{1,60}["”])*)',
    re.IGNORECASE,
)
_RULED_OUT = re.compile(r"(?:\bnot|n['’]t|\bnever)\W+(?:\w+\W+){0,2}$", re.IGNORECASE)

_LANGUAGES = r"(?:python|javascript|typescript|java|c|c\+\+|rust|go|bash|shell|sql|ruby|php|html|css|r)"
_CODE = re.compile(
    r"\b(?:write|implement|create|give|provide|show|generate|complete|need|want)\b(?:(?!\b(?:about|given|this|these)\b)[^.?!\n]){0,60}?\b"
    r"(?:code|function|regex|regular expression|snippet|sql query|one-liner"
    rf"|{_LANGUAGES} (?:\w+ )?(?:script|program|class|query|page|module|command)"
    rf"|(?:script|program|class|query|command)s? in {_LANGUAGES})\b"
    rf"|\bimplement\b[^.?!\n]{{0,60}}\bin {_LANGUAGES}\b",
    re.IGNORECASE,
)
_JSON = re.compile(
    r"\b(?:only|just|valid|answer|respond|reply|returns?|output|produce|format(?:ted)?)\b[^.?!\n]{0,40}\bjson\b"
    r"(?! (?:files?|parsers?|librar))|\bjson only\b",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"\b(?:in|as|use|using|with|write|make|an?|short) (?:\w+ ){0,2}?bullet(?:ed|s)?\b"
    r"|\b(?:as|in|use|with) an? (?:\w+ )?list\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\b(?:numbered (?:list|steps|points)|ordered list)\b", re.IGNORECASE)

_LONG_FORM = re.compile(
    r"\b(?:write|draft|compose|create|tell)\b[^.?!\n]{0,60}\b(?:e-?mail|letter|essay|story|article|report|blog|post|"
    r"speech|review|poem|description|dialogue|proposal|summary|plan|guide|tutorial)\b",
    re.IGNORECASE,
)
_EXPLAIN = re.compile(
    r"\b(?:explain|describe|compare|discuss|summari[sz]e|analy[sz]e|how (?:do|does|can|to|did)|why)\b", re.IGNORECASE
)
_QUESTION = re.compile(
    r"^\W*(?:what(?:['’]s| is| are| was| year)|who|when|where|which|how (?:many|much|old|far|long|tall)|is|are|was|"
    r"were|do|does|did|can|will|name)\b",
    re.IGNORECASE,
)


def request(prompt: Chat) -> str:
    """Return what binds the answer: the system messages and the last user message."""
    return "\n".join([*(message.content for message in prompt if message.role == "system"), prompt[-1].content])


def number(text: str) -> int:
    """Return the value of `12`, `1,000`, `twenty-five`, `a hundred` or `a dozen`."""
    bare = text.replace(",", "").lower()
    if bare.isdigit():
        return int(bare)
    names = [name for name in re.split(r"[-\s]", bare) if name != "a"]
    values = [_VALUES[name] for name in names]
    return values[0] * values[1] if len(names) == 2 and names[1] in {"dozen", "hundred"} else sum(values)


def limit(asked: str, unit: str, *, slack: float) -> Bounds | None:
    """Return how many of `unit` (a pattern such as `WORDS`) are asked for.

    A bare number, as in "in 50 words", allows a share of `slack` on either side; "about" allows a fifth at least.
    """
    spaced = " ".join(asked.split())
    for wording, meaning in _LIMITS:
        pattern = wording.replace("{UNIT}", unit)
        for name in ("N", "M"):
            pattern = pattern.replace(f"{{{name}}}", f"(?P<{name}>{_NUMBER})")
        if found := re.search(rf"(?<![\w.])(?:{pattern})(?!\w)", spaced, re.IGNORECASE):
            numbers = found.groupdict()
            return meaning(number(numbers["N"]), number(numbers.get("M", "0")), slack)
    return None


def items(asked: str) -> Bounds | None:
    """Return how many ideas, reasons, names or the like are asked for; quantities of text or time are none."""
    for pattern in _ITEMS:
        for found in pattern.finditer(asked):
            count = number(found["n"])
            if not 2 <= count <= 50 or found["noun"].rsplit(" ", 1)[-1].lower() in _NOT_ITEMS:
                continue
            if found["at"]:
                return Bounds(count, None) if found["at"].lower() == "at least " else Bounds(1, count)
            return Bounds(count, count)
    return None


def quoted_words(asked: str) -> list[tuple[str, bool]]:
    """Return the words asked for in quotation marks, each with whether it is wanted (or ruled out)."""
    found: list[tuple[str, bool]] = []
    for match in _MENTION.finditer(asked):
        ruled_out = match["verb"].lower().startswith(("avoid", "without")) or _RULED_OUT.search(asked[: match.start()])
        found += [(quoted, not ruled_out) for quoted in _QUOTED.findall(match["quoted"])]
    return found


def wants_code(asked: str) -> bool:
    """Say whether code is asked for."""
    return bool(_CODE.search(asked))


def wants_json(asked: str) -> bool:
    """Say whether the answer is to be JSON."""
    return bool(_JSON.search(asked))


def wants_list(asked: str) -> bool:
    """Say whether a list is asked for, with bullets or with numbers."""
    return bool(_LIST.search(asked)) or wants_numbers(asked)


def wants_numbers(asked: str) -> bool:
    """Say whether the list is to be numbered."""
    return bool(_NUMBERED.search(asked))


def expected_words(prompt: Chat) -> float:
    """Return roughly how many words such a prompt calls for."""
    asked = request(prompt)
    for unit, words_each in ((WORDS, 1.0), (SENTENCES, 20.0)):
        if found := limit(asked, unit, slack=0.0):
            return words_each * found.end
    if found := items(asked):
        return 12.0 * found.end
    last = prompt[-1].content
    if _LONG_FORM.search(last):
        return 150.0
    if _EXPLAIN.search(last):
        return 100.0
    return 40.0 if _QUESTION.search(last) and len(words(last)) <= 15 else 100.0
