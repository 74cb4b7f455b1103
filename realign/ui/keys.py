"""What can be done from the keyboard: one table for the buttons, the help sheet and the script that listens."""

from typing import NamedTuple


class Action(NamedTuple):
    """Something a key does; the person can give it another key."""

    name: str
    key: str
    what: str
    button: str | None = None
    """Id of the button it presses; without one, the script does it itself."""


CURATE = (
    Action("accept", "a", "Accept the final text", "accept"),
    Action("reject", "r", "The draft is better", "reject"),
    Action("tie", "t", "Tie: no preference", "tie"),
    Action("skip", "s", "Skip", "skip"),
    Action("flag", "f", "Flag, with a reason", "flag"),
    Action("undo", "z", "Undo the last decision", "undo"),
    Action("redo", "y", "Redo the decision that was undone", "redo"),
    Action("back", "arrowleft", "Back to an earlier decision", "back"),
    Action("forward", "arrowright", "Forward again", "forward"),
    Action("next-edit", "j", "Next edit"),
    Action("previous-edit", "k", "Previous edit"),
    Action("toggle", " ", "Keep or refuse the edit in focus"),
    Action("accept-all", "u", "Keep every edit"),
    Action("refuse-all", "n", "Refuse every edit"),
    Action("edit", "e", "Write into the final text; Esc leaves it"),
    Action("against", "x", "Show the final text against the draft"),
    Action("comment", "c", "Write a comment"),
    Action("rate", "q", "Rate: then 1 to 5"),
    Action("new-revision", "v", "New revision", "new-revision"),
    Action("ask", "i", "Ask for revisions in your own words", "ask-open"),
    Action("new-draft", "d", "New draft", "new-draft"),
    Action("previous-revision", "[", "Previous revision of this draft"),
    Action("next-revision", "]", "Next revision of this draft"),
    Action("task", "w", "The other kind of task"),
    Action("view", "m", "Raw or rendered text", "view"),
    Action("history", "h", "History of this item", "history-open"),
    Action("guidelines", "o", "Guidelines", "guidelines-open"),
    Action("keys", "?", "Keys", "keys-open"),
)

FIXED = (
    ("1 – 9", "Quick reasons"),
    ("Ctrl + Enter", "Accept from inside the final text"),
    ("Ctrl + Z, Ctrl + Shift + Z", "Undo and redo your edits of this item"),
    ("Esc", "Leave a field or a sheet"),
)
"""Keys that cannot be changed."""
