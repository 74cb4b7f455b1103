"""Plain checks that fit every answer: whole, fluent, clean, in the prompt's language, on its topic, of sensible length.

Each takes the prompt and the text and returns 0 to 1, or None where it says nothing about this prompt.
"""

import re
import unicodedata
from collections import Counter
from math import ceil

from realign.judges.demands import expected_words, request
from realign.judges.words import LIST_LINE, UNSPACED, is_blank, lines, prose, sentences, words
from realign.records import Chat

_ENDS = tuple(".!?…。！？؟।")
_CLOSERS = "\"'”’»)]}*_`」』）"
_QUOTES = '"“”„«»'
_GOES_ON = tuple(",:;-–—(/&+=،、，：；")
_ORNAMENTS = frozenset({"So", "Sk", "Cf", "Mn"})
"""Unicode categories of emoji and of the marks that modify them."""

_JOINING = frozenset({"a", "an", "and", "because", "but", "from", "if", "of", "or", "than", "the", "which"})

_TASK_TALK = re.compile(
    r"""\A\W*(?:(?:sure|certainly|of\ course|okay|absolutely)\W+)?
        (?:(?:here(?:\ is|['’]s|\ are)|below\ is|this\ is)\ (?:the|an?|my|your)\ [^.:\n]{0,30}?
              \b(?:improved|revised|rewritten|better|corrected|updated|edited|enhanced|polished)\b
          |(?:the\ |an?\ |my\ )?(?:improved|revised|rewritten|corrected|enhanced)\ (?:answer|version|response|text)\b
          |i(?:['’]ve|\ have)?\ (?:improved|revised|rewritten|rewrote|corrected|edited)\b
          |(?:question|answer)\s*:)
       |\b(?:this|the)\ (?:improved|revised|rewritten|corrected)\ (?:answer|version|response)\b
       |^\W*(?:changes\ made|what\ i\ changed|explanation\ of\ changes)\b""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_ASKS_TO_EDIT = re.compile(
    r"\b(?:rewrite|rephrase|paraphrase|improve|revise|edit|correct|proofread|polish|fix|shorten|reword)",
    re.IGNORECASE,
)

_CONTROL = re.compile(
    r"<\|[^|<>\s]{1,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|<(?:pad|unk|bos|eos)>|\[UNK\]|\ufffd"
)

_ASKS_TO_TRANSLATE = re.compile(
    r"\btranslat|\b(?:in|into|to)\s+(?:english|french|german|spanish|italian|portuguese|dutch|russian|ukrainian|greek|"
    r"arabic|hebrew|persian|hindi|chinese|mandarin|japanese|korean|thai|turkish|polish|latin)\b",
    re.IGNORECASE,
)

_FREE_REPETITION = 0.05
"""Ordinary texts repeat up to this share of their word 4-grams; only what goes beyond counts."""

_TOPICLESS = """about above after again also answer because been before being below best between both briefly bullet can
    characters code could describe does doing during each email essay example examples explain exactly few fewer find
    following from function further give good have having help here how into item items just keep know less letter like
    list long make many maximum mention message might minimum more most much must name need number only other over
    paragraph paragraphs please points program provide reply respond script sentence sentences should short some story
    such tell than that their them then there these they think this those three through under until using very want was
    were what when where which while will with within without word words would write your you"""
_EMPTY_OF_TOPIC = frozenset(_TOPICLESS.split())


def not_empty(prompt: Chat, text: str) -> float | None:
    """The answer shows something."""
    return 0.0 if is_blank(text) else 1.0


def ended(prompt: Chat, text: str) -> float | None:
    """The answer is finished, not cut in the middle."""
    return 1.0 if is_whole(text) else 0.0


def no_repetition(prompt: Chat, text: str) -> float | None:
    """The answer does not go round in circles."""
    repeated = max(repeated_4grams(text), repeated_sentences(text))
    return 1.0 - min(1.0, 2.0 * max(0.0, repeated - _FREE_REPETITION))


def no_task_talk(prompt: Chat, text: str) -> float | None:
    """The answer does not speak of being an improved answer, unless the prompt asks for editing."""
    if _ASKS_TO_EDIT.search(request(prompt)):
        return None
    return 0.0 if _TASK_TALK.search(text) else 1.0


def no_control_tokens(prompt: Chat, text: str) -> float | None:
    """No token that steers a model stands in the answer, except one that the prompt itself speaks of."""
    asked = request(prompt)
    return 0.0 if any(token not in asked for token in _CONTROL.findall(text)) else 1.0


def language(prompt: Chat, text: str) -> float | None:
    """Most letters of the answer belong to the scripts of the prompt; a translation may change the script."""
    if _ASKS_TO_TRANSLATE.search(request(prompt)):
        return None
    asked = scripts(prompt[-1].content)
    written = scripts(prose(text))
    if not asked or not written:
        return None
    known = {script for script, count in asked.items() if count >= 0.2 * asked.total()}
    return min(1.0, sum(written[script] for script in known) / written.total() / 0.7)


def on_topic(prompt: Chat, text: str) -> float | None:
    """The answer takes up content words of the prompt; half of them, or five, are enough."""
    if _ASKS_TO_TRANSLATE.search(request(prompt)):
        return None
    wanted = {_stem(word) for word in words(prompt[-1].content) if _has_content(word)}
    if not wanted:
        return None
    taken_up = wanted & {_stem(word) for word in words(text)}
    return min(1.0, len(taken_up) / min(5, ceil(len(wanted) / 2)))


def length(prompt: Chat, text: str) -> float | None:
    """The length is sensible: not under a twentieth of what such a prompt calls for, nor over four times as much."""
    count = len(words(text))
    expected = expected_words(prompt)
    fewest = expected / 20
    if count < fewest:
        return count / fewest
    return min(1.0, 4 * expected / count)


def is_whole(text: str) -> bool:
    """Say whether a text ends where its writer meant to end it, as far as its last line tells.

    True for sentence punctuation, a closed code fence or bracket, a last line that is a signature, a bare fact, a tag
    or an address, and for one without punctuation where the lines before it, of a list or a poem, end in the same way.
    """
    shown = (letter for letter in text if letter.isascii() or unicodedata.category(letter) not in _ORNAMENTS)
    seen = "".join(shown).rstrip()
    if not seen:
        return not is_blank(text)
    if seen.count("```") % 2:
        return False
    if seen.endswith(("```", "}", "]", ")", "|")) or (seen[0] in _QUOTES and seen[-1] in _QUOTES):
        return True
    *before, last = lines(prose(seen))
    end = last.rstrip(_CLOSERS)
    if end.endswith(_ENDS):
        return True
    tokens = words(last)
    if end.endswith(_GOES_ON) or (tokens and tokens[-1] in _JOINING):
        return False
    if last.rsplit(None, 1)[-1].startswith(("#", "@", "http")):
        return True
    return len(tokens) <= (4 if before else 8) or _ends_like_others(seen)


def _ends_like_others(text: str) -> bool:
    """Say whether most lines beside the last, in its list or its stanza, end without punctuation, as it does.

    A line that starts in lower case outside a list is wrapped prose, whose lines end anywhere.
    """
    *stanza, last = lines(prose(text).rstrip().rsplit("\n\n", 1)[-1])
    if LIST_LINE.match(last):
        beside = [line for line in lines(prose(text))[:-1] if LIST_LINE.match(line)]
    else:
        beside = [] if last.lstrip()[:1].islower() else stanza
    bare = [line for line in beside if not line.rstrip(_CLOSERS).endswith(_ENDS)]
    return len(beside) >= 2 and 2 * len(bare) >= len(beside)


def repeated_4grams(text: str) -> float:
    """Return the share of word 4-grams that occurred earlier in the text; 0 where there are fewer than two."""
    tokens = words(text)
    grams = list(zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False))
    return 1.0 - len(set(grams)) / len(grams) if grams else 0.0


def repeated_sentences(text: str) -> float:
    """Return the share of sentences of four words or more that occurred earlier in the text."""
    long = [tuple(tokens) for tokens in map(words, sentences(prose(text))) if len(tokens) >= 4]
    return 1.0 - len(set(long)) / len(long) if long else 0.0


def scripts(text: str) -> Counter[str]:
    """Count the letters of each script, such as LATIN or CYRILLIC; the three Japanese ones count as Chinese."""
    found: Counter[str] = Counter()
    for letter, count in Counter(text).items():
        if letter.isalpha():
            script = unicodedata.name(letter, "").partition(" ")[0]
            found["CJK" if script in {"HIRAGANA", "KATAKANA"} else script] += count
    return found


def _has_content(word: str) -> bool:
    return (len(word) >= 4 or bool(UNSPACED.match(word))) and word not in _EMPTY_OF_TOPIC and not word.isdigit()


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)[:5]
    return word[:5]
