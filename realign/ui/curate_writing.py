"""What Curate shows while models write, step by step."""

from collections.abc import Iterator
from typing import NamedTuple

from realign.desk import Asking, Desk
from realign.errors import InvalidInput
from realign.records import Draft, Revision
from realign.two_drafts import DraftsDesk
from realign.ui import curate_screen as screen
from realign.ui.curate_screen import Shown
from realign.ui.drawn import Value


class Step(NamedTuple):
    """What changes on the screen: what is in front, where that changes, and single panes."""

    shown: Shown | None = None
    panes: dict[str, Value] = {}  # noqa: RUF012 - read only


def missing(desk: Desk, drafts_desk: DraftsDesk, shown: Shown) -> Iterator[Step]:
    """Let the models write what the item in front lacks."""
    if shown.two:
        yield from two(drafts_desk, shown)
    elif shown.item:
        yield from revision(desk, shown) if shown.item.draft else draft(desk, shown)


def draft(desk: Desk, shown: Shown | None) -> Iterator[Step]:
    """Let the policy answer, then the reviser improve the answer."""
    if shown is None or shown.item is None:
        raise InvalidInput("There is no prompt to answer. Import some in Browse, or type one.")
    item = shown.item._replace(draft=None, revision=None, revisions=())
    yield Step(shown._replace(item=item, comparison=None), {"draft": screen.waiting("Draft")})
    for step in desk.write_draft(item.prompt):
        if isinstance(step, Draft):
            item = item._replace(draft=step)
        else:
            yield Step(panes={"draft": screen.writing("Draft", step)})
    yield from revision(desk, shown._replace(item=item))


def revision(desk: Desk, shown: Shown | None, asking: Asking | None = None) -> Iterator[Step]:
    """Let the reviser improve the draft, as asked or in the usual way."""
    if shown is None or shown.item is None or shown.item.draft is None:
        raise InvalidInput("There is no draft to improve yet. Wait until it is written.")
    item, draft = shown.item, shown.item.draft
    title = "Right" if shown.view.by_side else "Revision"
    if item.revision:  # it stays, and can be decided on, until another one is there
        yield Step(panes=screen.another(shown))
    else:
        yield Step(shown, {"revision": screen.waiting(title)})
    steps = desk.write_revisions(item.prompt, draft, asking) if asking else desk.write_revision(item.prompt, draft)
    made: list[Revision] = []
    for step in steps:
        if isinstance(step, Revision):
            made.append(step)
        elif item.revision is None:
            yield Step(panes={"revision": screen.writing(title, step)})
    candidates = tuple(desk.store.revisions_of(draft.id))
    yield Step(screen.opened(desk, shown.view, item._replace(revision=made[0], revisions=candidates)))


def two(desk: DraftsDesk, shown: Shown) -> Iterator[Step]:
    """Let the policy write the drafts that are missing."""
    if shown.two is None:
        raise InvalidInput("Nothing is open here any more. Reload the page.")
    yield Step(shown, {"draft": screen.waiting("Left"), "revision": screen.waiting("Right")})
    yield Step(shown._replace(two=desk.write_two(shown.two)))
