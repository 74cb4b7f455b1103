"""What speaks against a text before it is trained on, by plain looks."""

import regex

from realign.records import Draft, Revision

_NOTHING = regex.compile(r"[\s\p{Cf}\p{Cc}]*")
_CONTROL_TOKEN = regex.compile(r"<\|[\w-]{1,40}\|>|</?s>|\[/?INST\]|<(?:bos|eos|pad|end_of_turn|start_of_turn)>")
_TASK_TALK = regex.compile(
    r"\s*(?:sure|certainly|of course|okay|ok)?[,!. ]*(?:here(?:'s| is| are)|this is|below is)\s+"
    r"(?:the|a|an|my|your)?\s*"
    r"(?:improved|revised|rewritten|better|corrected|edited|new|updated|polished|clearer)\s"
    r"|\s*(?:improved|revised|rewritten|better|corrected|edited)\s+(?:answer|version|text|response|input text)\s*:"
    r"|\s*(?:I have|I've)\s+(?:improved|revised|rewritten|corrected|edited)\b",
    regex.IGNORECASE,
)
MAX_LENGTH_RATIO = 3.0


def is_empty(text: str) -> bool:
    """Say whether a text holds nothing to read: only white space, control or zero-width characters."""
    return _NOTHING.fullmatch(text) is not None


def has_control_tokens(text: str) -> bool:
    """Say whether a text holds what some chat template takes for a control token."""
    return _CONTROL_TOKEN.search(text) is not None


def talks_about_the_task(text: str) -> bool:
    """Say whether a revision starts by speaking of itself, as in "Here is the improved answer"."""
    return _TASK_TALK.match(text) is not None


def flags(draft: Draft, revision: Revision) -> tuple[str, ...]:
    """Return what a person should know of a revision before deciding on it."""
    found = []
    if draft.text == revision.text:
        found.append("identical")
    if is_empty(revision.text):
        found.append("empty")
    if has_control_tokens(draft.text) or has_control_tokens(revision.text):
        found.append("control tokens")
    if "length" in (draft.finish, revision.finish):
        found.append("truncated")
    if talks_about_the_task(revision.text) and not talks_about_the_task(draft.text):
        found.append("task talk")
    shorter, longer = sorted((len(draft.text.split()), len(revision.text.split())))
    if longer > MAX_LENGTH_RATIO * max(shorter, 1):
        found.append("length")
    return tuple(found)


def refusal_reason(draft_text: str, revision_text: str) -> str | None:
    """Return why a revision is of no use whatever its draft is worth; None where nothing speaks against it."""
    if is_empty(revision_text):
        return "The revision is empty."
    if revision_text == draft_text:
        return "The revision is the draft, unchanged."
    if talks_about_the_task(revision_text) and not talks_about_the_task(draft_text):
        return "The revision talks about the task instead of answering."
    if has_control_tokens(revision_text):
        return "The revision holds control tokens."
    return None
