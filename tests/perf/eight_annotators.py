"""Eight people who decide once a second on the real app: what `queue.py` beside this runs."""

import asyncio
import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import platformdirs
from conftest import App

from realign.curation import hunks
from realign.records import Decision, Decoding, Draft, Message, ModelRef, Prompt, Revision, Ruling
from realign.settings import load_settings
from realign.store import Store
from realign.store.decisions import add_decision

SMALL, LARGE = 1_000, 100_000
ANNOTATORS = 8
BLOCK_S = 7.5
TURNS = (SMALL, LARGE, LARGE, SMALL) * 2
"""Sizes take turns, so that what else the machine does meets both."""
SETTLE_S = 10
"""The app loads its models in the background after its start."""
REQUEST_S = 10.0
WORDS = (
    "river stone light seven because under quickly answer model garden winter paper the a of to and in is was it "
    "that for on with as people water house morning question number little very after every another letter story"
)
VOCABULARY = WORDS.split()
RULINGS: tuple[Ruling, ...] = ("accepted", "accepted", "accepted", "rejected", "tied")
BUTTONS = ("accept",) * 8 + ("reject", "tie")

Json = dict[str, Any]

# --- the store ---------------------------------------------------------------------------------------------------


def fill(home: Path, n_prompts: int) -> None:
    """Fill a store with prompts that have a draft and a revision of 80 words, half of them decided."""
    settings = load_settings({"REALIGN_HOME": str(home)})
    dice, now = random.Random(n_prompts), datetime.now(UTC)
    texts = [_two_texts(dice) for _ in range(300)]
    compared = [hunks.compare(*both) for both in texts]
    names = [f"{dice.getrandbits(128):032x}" for _ in range(n_prompts)]
    policy, reviser = ModelRef(source=settings.policy), ModelRef(source=settings.reviser)
    made: Json = {"decoding": Decoding(), "finish": "stop", "created": now}

    def prompts() -> Iterator[Prompt]:
        for name in names:
            asked = f"{' '.join(dice.choices(VOCABULARY, k=15))} {name}?"
            yield Prompt(id=name, messages=(Message(role="user", content=asked),), created=now)

    def drafts() -> Iterator[Draft]:
        for at, name in enumerate(names):
            yield Draft(id=f"d{name}", prompt_id=name, text=texts[at % 300][0], model=policy, **made)

    def revisions() -> Iterator[Revision]:
        for at, name in enumerate(names):
            text = texts[at % 300][1]
            yield Revision(id=f"r{name}", draft_id=f"d{name}", text=text, model=reviser, template="fill", **made)

    def decisions() -> Iterator[Decision]:
        for at, name in enumerate(names[: n_prompts // 2]):
            ruling = dice.choice(RULINGS)
            decided = now - timedelta(minutes=n_prompts - at)
            yield Decision(
                id=f"{dice.getrandbits(128):032x}",
                prompt_id=name,
                draft_id=f"d{name}",
                revision_id=f"r{name}",
                ruling=ruling,
                final_text=texts[at % 300][ruling == "accepted"],
                edits=hunks.edits(compared[at % 300], () if ruling == "accepted" else range(100)),
                annotator=dice.choice(("Ann", "Bob", "Cy")),
                started=decided - timedelta(seconds=20),
                decided=decided,
                active_ms=20_000,
            )

    store = Store(settings.database)
    store.add_prompts(prompts())
    store.add_drafts(drafts())
    store.add_revisions(revisions())
    with store._database.writing() as connection:  # one transaction: 50,000 waits for the disk take too long
        for decision in decisions():
            add_decision(connection, decision)
    assert store.count_decided() == n_prompts // 2
    store.close()


def _two_texts(dice: random.Random) -> tuple[str, str]:
    words = dice.choices(VOCABULARY, k=80)
    changed = [dice.choice(VOCABULARY) if dice.random() < 0.1 else word for word in words]
    return " ".join(words), " ".join(changed)


# --- one page in a browser ---------------------------------------------------------------------------------------


class Page:
    """What a browser does with the page: it keeps the values of the components and posts events."""

    def __init__(self, address: str, config: Json, seed: int) -> None:
        self._client = httpx.AsyncClient(base_url=address, timeout=REQUEST_S, trust_env=False)
        self._session = f"{random.Random(seed).getrandbits(50):x}"
        self._components = {each["id"]: each for each in config["components"]}
        self._events = config["dependencies"]
        self._values = {at: _first_value(each["props"]) for at, each in self._components.items()}
        self._named = {each["props"].get("elem_id"): at for at, each in self._components.items()}

    @property
    def work(self) -> Json:
        """What the person works on."""
        return self._values[self._named["work"]]

    def event(self, name: str, elem_id: str | None = None) -> Json:
        """Return the event that the page wires to `name` of a component; `load` is the page's own."""
        for event in self._events:
            for component, happened in event["targets"]:
                its_id = self._components.get(component, {"props": {}})["props"].get("elem_id")
                if happened == name and its_id == elem_id and not event["queue"]:
                    return event
        raise SystemExit(f"The page has no event {name} of {elem_id} without a queue any more. Adapt this script.")

    async def post(self, event: Json, data: Any = None) -> None:
        """Send an event with the values of its inputs and take the values of its outputs."""
        body = {
            "data": self.given(event),
            "event_data": data,
            "fn_index": event["id"],
            "trigger_id": event["targets"][0][0],
            "session_hash": self._session,
        }
        reply = await self._client.post("/gradio_api/run/predict", json=body)
        if reply.status_code != 200:
            raise SystemExit(f"The app answered {reply.status_code}: {reply.text[:500]}")
        for component, value in zip(event["outputs"], reply.json()["data"], strict=True):
            if not (isinstance(value, dict) and value.get("__type__") == "update"):
                self._values[component] = value

    def given(self, event: Json) -> list[Any]:
        """Return the inputs of an event as the browser sends them: it knows no server-side state."""
        values = []
        for component in event["inputs"]:
            value = self._values[component]
            if self._components[component]["type"] == "state":
                value = None
            elif event["js"] and component == self._named["work"]:
                value = self.handed()
            values.append(value)
        return values

    def handed(self) -> Json:
        """Return what the page's own script hands in of the item in front."""
        work = self.work
        refused = set(work["refused"])
        pieces = (
            piece if isinstance(piece, str) else piece["old"] if piece["index"] in refused else piece["new"]
            for piece in work["pieces"]
        )
        given = {name: work[name] for name in ("key", "reasons", "comment", "ratings")}
        return {**given, "refused": sorted(refused), "final_text": "".join(pieces), "active_ms": 900}

    async def tick(self) -> None:
        """Do what the page's active clocks do, until cancelled."""
        clocks = [
            (event, self._components[component]["props"]["value"])
            for event in self._events
            for component, happened in event["targets"]
            if happened == "tick" and self._components[component]["props"]["active"]
        ]

        async def run(event: Json, seconds: float) -> None:
            while True:
                await asyncio.sleep(seconds)
                await self.post(event)

        await asyncio.gather(*(run(*clock) for clock in clocks))

    async def close(self) -> None:
        await self._client.aclose()


def _first_value(props: Json) -> Any:
    return props.get("value", props.get("default_value"))


# --- eight people ------------------------------------------------------------------------------------------------


async def decide_for(page: Page, seconds: float, dice: random.Random) -> list[float]:
    """Decide about once a second; return how many milliseconds each next item took."""
    took: list[float] = []
    until = time.monotonic() + seconds
    await asyncio.sleep(dice.uniform(0, 1))
    while (began := time.monotonic()) < until:
        before = page.work
        if before["mode"] != "edit":
            raise SystemExit(f"An item without its revision came: {before}")
        if dice.random() < 0.3 and any(isinstance(piece, dict) for piece in before["pieces"]):
            before["refused"] = [0]
            await page.post(page.event("keep", "work"), page.handed())
        await asyncio.sleep(dice.uniform(0.4, 0.6))
        pressed = page.event("click", dice.choice(BUTTONS))
        sent = time.perf_counter()
        await page.post(pressed)
        took.append((time.perf_counter() - sent) * 1000)
        if page.work["key"] == before["key"]:
            raise SystemExit("The same item came again.")
        await asyncio.sleep(max(0.0, began + dice.uniform(0.9, 1.1) - time.monotonic()))
    return took


async def open_pages(app: App) -> list[Page]:
    """Open a page for each annotator."""
    async with httpx.AsyncClient(base_url=app.address, timeout=REQUEST_S, trust_env=False) as client:
        config = (await client.get("/config")).json()
    pages = [Page(app.address, config, seed) for seed in range(ANNOTATORS)]
    for page in pages:
        await page.post(page.event("load"))
    return pages


async def turn(pages: list[Page], dice: random.Random) -> list[float]:
    """Let everybody decide for a while."""
    clocks = [asyncio.create_task(page.tick()) for page in pages]
    took = await asyncio.gather(*(decide_for(page, BLOCK_S, dice) for page in pages))
    for clock in clocks:
        clock.cancel()
    await asyncio.gather(*clocks, return_exceptions=True)
    return [each for one in took for each in one]


async def measure(apps: dict[int, App]) -> dict[int, list[float]]:
    """Let both sizes take turns."""
    pages = {size: await open_pages(app) for size, app in apps.items()}
    took: dict[int, list[float]] = {size: [] for size in apps}
    dice = random.Random(0)
    for size in TURNS:
        took[size] += await turn(pages[size], dice)
    for page in (page for opened in pages.values() for page in opened):
        await page.close()
    return took


def percentile(values: list[float], percent: float) -> float:
    """Return the smallest value that at least `percent` of all do not exceed."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def main() -> None:
    """Fill, start, measure, print."""
    cache = os.environ.get("REALIGN_TEST_MODEL_CACHE") or platformdirs.user_cache_dir("realign-studio-tests")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as at_the_end:
        homes = {size: Path(folder) / str(size) / "home" for size in (SMALL, LARGE)}
        for size, home in homes.items():
            began = time.monotonic()
            fill(home, size)
            print(f"filled {size:,} prompts in {time.monotonic() - began:.0f} s", flush=True)
        apps = {size: App(home, {"REALIGN_MODEL_CACHE": cache}) for size, home in homes.items()}
        for app in apps.values():
            at_the_end.callback(app.kill)
            app.start()
        time.sleep(SETTLE_S)
        print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
        try:
            took = asyncio.run(measure(apps))
        except httpx.HTTPError:
            print(*(app.log() for app in apps.values()), sep="\n")
            raise
    p95 = {size: percentile(times, 95) for size, times in took.items()}
    for size, times in took.items():
        median = statistics.median(times)
        words = f"median {median:.0f} ms, p95 {p95[size]:.0f} ms, max {max(times):.0f} ms"
        print(f"{size:>7,} prompts: n {len(times)}, {words}")
    print(f"p95_ms at 1,000 prompts {p95[SMALL]:.1f}")
    print(f"growth {p95[LARGE] / p95[SMALL]:.2f}")
    print(f"p95_ms {p95[LARGE]:.1f}")
