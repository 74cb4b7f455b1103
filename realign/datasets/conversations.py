"""Conversations and single words out of a row's fields; every complaint names place and field."""

from typing import Any

from realign.datasets.containers import Row, refused
from realign.records import Chat, Message, Role

ROLES: tuple[Role, ...] = ("system", "user", "assistant")


def chat_of(row: Row, field: str, role: Role) -> Chat:
    """Return a field that holds a text as one message of `role`, or one that holds messages as they are."""
    value = row.values[field]
    if isinstance(value, str):
        return (Message(role=role, content=value),)
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise refused(row.place, f"field '{field}' is neither a text nor a list of messages. Make it one of them.")
    return tuple(_message(message, f"field '{field}', message {n}", row.place) for n, message in enumerate(value, 1))


def with_system(row: Row, chat: Chat) -> Chat:
    """Return `chat` after the system message that the row holds in a field of its own, if it does."""
    system = row.values.get("system")
    if system in (None, ""):
        return chat
    if not isinstance(system, str):
        raise refused(row.place, "field 'system' is not a text. Make it one.")
    if chat and chat[0].role == "system":
        raise refused(row.place, "field 'system' and the conversation both hold a system message. Keep one.")
    return (Message(role="system", content=system), *chat)


def word_of(row: Row, *fields: str) -> str | None:
    """Return the first of `fields` that is filled, as a word; none where all are empty."""
    for field in fields:
        value = row.values.get(field)
        if value not in (None, ""):
            if not isinstance(value, str | int | float):
                raise refused(row.place, f"field '{field}' is not a single word or number. Make it one.")
            return str(value)
    return None


def _message(value: Any, where: str, place: str) -> Message:
    if not isinstance(value, dict):
        raise refused(place, f"{where} is not an object with 'role' and 'content'.")
    role, content = value.get("role"), value.get("content")
    if role not in ROLES:
        raise refused(place, f"{where} has the role {role!r}. Use one of: {', '.join(ROLES)}.")
    if not isinstance(content, str):
        raise refused(place, f"{where} has no text in 'content'. Write one, or delete the row.")
    return Message(role=role, content=content)
