"""What speaks against a text before it is trained on, by plain looks."""

import regex

from realign.records import Draft, Revision, is_empty

_CONTROL_TOKEN = regex.compile(
    r"<\|[^|<>\s]{1,40}\|>|<｜[^｜<>\s]{1,40}｜>|</?s>|\[/?INST\]|<</?SYS>>"
    r"|<(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>"
)
_BETTER = r"(?:improved|revised|rewritten|better|corrected|edited|updated|enhanced|polished|refined|clearer|shortened)"
_TEXT = r"(?:answers?|versions?|texts?|responses?|rewrites?|revisions?|drafts?|repl(?:y|ies))"
_HERE = r"(?:here(?:\ is|['’]s|\ are)|below\ is|this\ is)"
_TASK_TALK = regex.compile(
    rf"""\W*(?:(?:sure|certainly|of\ course|okay|ok|absolutely)\b\W*)?
        (?:{_HERE}\ [^.:!?\n]{{0,30}}?\b{_BETTER}\ [^.:!?\n]{{0,30}}?\b{_TEXT}\b
          |{_HERE}\ [^.:!?\n]{{0,30}}?\b{_TEXT},?\ {_BETTER}\b
          |{_HERE}\ (?:my|the|your)\ (?:rewrite|revision)\b
          |(?:(?:the|an?|my|your)\ )?{_BETTER}\ (?:input\ )?{_TEXT}\b\W*[:\n]
          |I(?:['’]ve|\ have)?\ (?:{_BETTER}|rewrote)\ [^.:!?\n]{{0,30}}?\b{_TEXT}\b
          |(?:the|this|your)\ {_TEXT}\ (?:has|have)\ been\ {_BETTER}\b
        )""",
    regex.IGNORECASE | regex.VERBOSE,
)

MAX_LENGTH_RATIO = 3
"""A revision this many times longer or shorter than its draft is worth a look."""


def has_control_tokens(text: str) -> bool:
    """Say whether a text holds what some model's chat template takes for a control token."""
    return _CONTROL_TOKEN.search(text) is not None


def talks_about_the_task(text: str) -> bool:
    """Say whether a text starts by speaking of itself, as in "Here is the improved answer:"; English only."""
    return _TASK_TALK.match(text) is not None


def flags(draft: Draft, revision: Revision) -> tuple[str, ...]:
    """Return what a person should know of a revision before deciding on it."""
    found = {
        "identical": draft.text == revision.text,
        "empty": is_empty(revision.text),
        "control tokens": has_control_tokens(draft.text) or has_control_tokens(revision.text),
        "truncated": "length" in (draft.finish, revision.finish),
        "task talk": _began_task_talk(draft.text, revision.text),
        "length": _differ_in_length(draft.text, revision.text),
    }
    return tuple(flag for flag, holds in found.items() if holds)


def refusal_reason(draft_text: str, revision_text: str) -> str | None:
    """Return why a revision is of no use whatever its draft is worth; None where nothing speaks against it."""
    if is_empty(revision_text):
        return "The revision is empty."
    if revision_text == draft_text:
        return "The revision is the draft, unchanged."
    if _began_task_talk(draft_text, revision_text):
        return "The revision talks about the task instead of answering."
    if has_control_tokens(revision_text):
        return "The revision holds control tokens."
    return None


def _began_task_talk(draft: str, revision: str) -> bool:
    # A draft that talks so too answers a prompt that asks for a rewrite.
    return talks_about_the_task(revision) and not talks_about_the_task(draft)


def _differ_in_length(draft: str, revision: str) -> bool:
    shorter, longer = sorted((len(draft.strip()), len(revision.strip())))
    return longer > MAX_LENGTH_RATIO * max(shorter, 1)
