"""Small records for the tests of the store."""

from datetime import UTC, datetime, timedelta

from realign.records import (
    Decision,
    Decoding,
    Draft,
    Edit,
    Game,
    Message,
    ModelRef,
    Pair,
    Preference,
    Promotion,
    Prompt,
    Revision,
    Ruling,
    Score,
    Unfinished,
    Verdict,
)
from realign.store import Store

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(minutes=30)
MODEL = ModelRef(source="tiny")


def minutes(count: float) -> datetime:
    """The time `count` minutes after noon."""
    return NOON + timedelta(minutes=count)


def prompt(name: str, text: str = "") -> Prompt:
    return Prompt(id=name, messages=(Message(role="user", content=text or f"Question {name}?"),), created=NOON)


def draft(name: str, prompt_id: str, text: str = "draft") -> Draft:
    return Draft(id=name, prompt_id=prompt_id, text=text, model=MODEL, decoding=Decoding(), finish="stop", created=NOON)


def revision(name: str, draft_id: str, text: str = "revision") -> Revision:
    return Revision(
        id=name,
        draft_id=draft_id,
        text=text,
        model=MODEL,
        template="plain-1",
        decoding=Decoding(),
        finish="stop",
        created=NOON,
    )


def decision(
    name: str,
    on: str,
    ruling: Ruling = "accepted",
    *,
    annotator: str = "Ann",
    final: str = "final",
    supersedes: str | None = None,
    decided: datetime = NOON,
    kept: str = "",
    active_ms: int = 0,
) -> Decision:
    """A decision on prompt `on`, its draft `d-<on>` and its revision `r-<on>`; `kept="yn"` keeps one hunk of two."""
    return Decision(
        id=name,
        prompt_id=on,
        draft_id=f"d-{on}",
        revision_id=f"r-{on}",
        ruling=ruling,
        final_text=final,
        annotator=annotator,
        started=NOON,
        decided=decided,
        edits=tuple(Edit(op="replace", old="a", new="b", accepted=each == "y") for each in kept),
        active_ms=active_ms,
        supersedes=supersedes,
    )


def begun(
    on: str, decision_id: str = "later", *, annotator: str = "Ann", text: str = "half", saved: datetime = NOON
) -> Unfinished:
    """What an annotator has done with the revision `r-<on>` of prompt `on` so far."""
    return Unfinished(
        decision_id=decision_id,
        prompt_id=on,
        revision_id=f"r-{on}",
        annotator=annotator,
        final_text=text,
        refused=(1,),
        saved=saved,
    )


def preference(
    name: str, on: str, preferred: str | None = "left", *, annotator: str = "Ann", supersedes: str | None = None
) -> Preference:
    """A preference between the drafts `<on>1` and `<on>2` of prompt `on`."""
    fields = {"id": name, "prompt_id": on, "left_id": f"{on}1", "right_id": f"{on}2", "preferred": preferred}
    times = {"started": NOON, "decided": NOON}
    return Preference.model_validate({**fields, **times, "annotator": annotator, "supersedes": supersedes})


def draft_twice(store: Store, *names: str) -> None:
    """Store for each name a prompt and its drafts `<name>1` and `<name>2`."""
    store.add_prompts([prompt(name) for name in names])
    store.add_drafts([draft(f"{name}{number}", name) for name in names for number in (1, 2)])


def fill(store: Store, *names: str) -> None:
    """Store for each name a prompt, its draft `d-<name>` and its revision `r-<name>`."""
    store.add_prompts([prompt(name) for name in names])
    store.add_drafts([draft(f"d-{name}", name) for name in names])
    store.add_revisions([revision(f"r-{name}", f"d-{name}") for name in names])


def pair(chosen: str, rejected: str) -> Pair:
    asked = prompt("any")
    return Pair(
        kind="plain",
        relation="imported",
        prompt=asked.messages,
        chosen=chosen,
        rejected=rejected,
        prompt_hash=asked.content_hash,
    )


def promotion(name: str, run: str | None) -> Promotion:
    return Promotion(id=name, actor="policy", run=run, annotator="Ann", created=NOON)


def game(name: str, run: str = "run-1") -> Game:
    return Game(id=name, run=run, prompt=prompt(name).messages, first="one", second="two", first_is_model=True)


def verdict(name: str, game_id: str, judge: str = "Ann", preferred: str | None = "first") -> Verdict:
    return Verdict.model_validate(
        {"id": name, "game_id": game_id, "judge": judge, "preferred": preferred, "created": NOON}
    )


def score(name: str, run: str, judge: str, win_rate: float) -> Score:
    return Score(
        id=name,
        run=run,
        benchmark="alpaca_eval",
        model="tiny",
        baseline="base",
        judge=judge,
        win_rate=win_rate,
        lower=win_rate - 5,
        upper=win_rate + 5,
        n=100,
        n_unjudged=0,
        decoding=Decoding(),
        created=NOON,
    )
