"""Browse: find anything that was decided, and take it away."""

import tempfile
from pathlib import Path
from typing import Any, Literal, get_args

import gradio as gr

from realign.choices import EXPORTS, FORMATS
from realign.desk import DayTally
from realign.errors import InvalidInput
from realign.overview import Pace
from realign.records import Decided, Pair, PairKind, Ruling
from realign.studio import Studio
from realign.ui.boundary import spoken
from realign.ui.drawn import Value, drawn

TITLE = "Browse"
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}

ROWS = 50
DECISIONS, PAIRS = "Decisions", "Pairs"
ALL = "all rulings"
NOTHING = "Nothing is here yet. Decide some items in Curate."
AUTO = "found from its fields"
RULINGS = [ruling for ruling in get_args(Ruling) if ruling != "withdrawn"]
KINDS: list[PairKind] = list(get_args(PairKind))
HEADERS = {
    DECISIONS: ["decided", "ruling", "prompt", "final text", "annotator"],
    PAIRS: ["kind", "what is compared", "prompt", "chosen", "rejected"],
}
FILE_TYPES = [".jsonl", ".json", ".csv", ".tsv", ".txt", ".gz"]


def build(studio: Studio, page: gr.Blocks, opened: gr.Tab) -> None:
    """Lay the tab out and wire it."""
    Browse(studio, opened)


class Browse:
    """The components of the tab and what they do."""

    def __init__(self, studio: Studio, opened: gr.Tab) -> None:
        self.studio = studio
        self._lay_out()
        self._wire(opened)

    def _lay_out(self) -> None:
        self.at: gr.State = gr.State(0)
        self.rows: gr.State = gr.State([])
        with gr.Row():
            self.what = gr.Radio(
                [DECISIONS, PAIRS], value=DECISIONS, show_label=False, container=False, scale=0, min_width=230
            )
            self.text = gr.Textbox(
                placeholder="Search prompts, drafts, revisions and final texts",
                label="Search",
                show_label=False,
                container=False,
                elem_id="search",
                scale=3,
                min_width=300,
            )
            self.ruling = gr.Dropdown([ALL, *RULINGS], value=ALL, label="Ruling", show_label=False, container=False)
        self.table = gr.Dataframe(
            headers=HEADERS[DECISIONS],
            datatype="str",
            interactive=False,
            wrap=True,
            max_chars=160,
            column_widths=["15%", "12%", "30%", "30%", "13%"],
            elem_id="decisions",
            show_label=False,
            buttons=[],
        )
        with gr.Row(elem_classes="r-pages"):
            self.earlier = gr.Button("Previous page", elem_classes="r-button", scale=0)
            self.place = drawn("bar", elem_id="place", classes="r-plain")
            self.later = gr.Button("Next page", elem_classes="r-button", scale=0)
        with gr.Row(equal_height=True, visible=False) as self.whole:
            self.first = drawn("pane", elem_id="whole-first")
            self.second = drawn("pane", elem_id="whole-second")
        with gr.Row(equal_height=False):
            with gr.Column(min_width=280):
                self.counts = drawn("pane", elem_id="counts")
                self.days = drawn("days", elem_id="days")
            with gr.Column(elem_classes="r-card r-inner", min_width=300):
                self.export_format = gr.Radio(
                    [(f"{name}: {what}", name) for name, what in EXPORTS.items()], value="trl", label="Export as"
                )
                self.kinds = gr.CheckboxGroup(KINDS, value=["plain"], label="Pairs of kind", elem_id="kinds")
                self.export = gr.Button("Export", elem_id="export", elem_classes="r-button", variant="primary")
                self.ready = gr.DownloadButton("Download", visible="hidden", elem_id="download")
                self.exported = drawn("pane", {"title": ""}, elem_id="exported", classes="r-plain")
            with gr.Column(elem_classes="r-card r-inner", min_width=300):
                self.file = gr.File(label="Import a file", file_types=FILE_TYPES, elem_id="import-file", height=120)
                self.import_format = gr.Dropdown(
                    [
                        (AUTO, ""),
                        *((f"{name}: {form.what}", name) for name, form in FORMATS.items()),
                    ],
                    value="",
                    label="Format",
                )
                self.take = gr.Button("Import", elem_id="import", elem_classes="r-button", variant="primary")
                self.taken = drawn("pane", {"title": ""}, elem_id="imported", classes="r-plain")

    def _wire(self, opened: gr.Tab) -> None:
        screen = [self.table, self.rows, self.place, self.at, self.counts, self.days]
        asked = [self.what, self.text, self.ruling, self.at]
        fresh = [self.what, self.text, self.ruling, gr.State(0)]
        opened.select(spoken(self.show), asked, screen, **QUIET)
        for changed in (self.what.change, self.text.change, self.ruling.change):
            changed(spoken(self.show), fresh, screen, trigger_mode="always_last", **QUIET)
        self.earlier.click(spoken(lambda w, t, r, at: self.show(w, t, r, at - ROWS)), asked, screen, **QUIET)
        self.later.click(spoken(lambda w, t, r, at: self.show(w, t, r, at + ROWS)), asked, screen, **QUIET)
        self.table.select(spoken(self.read), self.rows, [self.whole, self.first, self.second], **QUIET)
        self.export.click(
            spoken(self.write), [self.export_format, self.kinds], [self.ready, self.exported], **QUIET
        ).success(None, js="() => document.querySelector('#download a, a#download, button#download')?.click()")
        self.take.click(spoken(self.bring), [self.file, self.import_format], [self.taken, self.file], **QUIET).success(
            spoken(self.show), asked, screen, **QUIET
        )

    # --- what the events do ------------------------------------------------------------------------------------------

    def show(self, what: str, text: str, ruling: Ruling | Literal["all rulings"], at: int) -> dict[Any, Any]:
        """Show one page of decisions or pairs."""
        found = self.studio.browse(
            pairs=what == PAIRS,
            text=text,
            ruling=None if ruling == "all rulings" else ruling,
            offset=max(0, at),
            limit=ROWS,
        )
        at = min(max(0, at), max(0, found.total - 1) // ROWS * ROWS)
        cells = [_pair_cells(row) if isinstance(row, Pair) else _decided_cells(row) for row in found.rows]
        last = min(at + ROWS, found.total)
        words = [f"{at + 1}–{last} of {found.total} · choose a row to read it whole" if found.total else NOTHING]
        return {
            self.table: gr.Dataframe(value=cells, headers=HEADERS[what]),
            self.rows: list(found.rows),
            self.place: {"title": what, "total": found.total, "done": last, "words": words},
            self.at: at,
            self.counts: _counts(found.counts),
            self.days: _days(self.studio.pace()),
        }

    def read(self, rows: list[Decided | Pair], event: gr.SelectData) -> dict[Any, Any]:
        """Show one row whole."""
        index = event.index[0]
        if not 0 <= index < len(rows):
            raise InvalidInput("This row is not on the page any more. Search again.")
        row = rows[index]
        if isinstance(row, Pair):
            note = f"{row.kind} · {row.relation.replace('_', ' ')}"
            return {
                self.whole: gr.Row(visible=True),
                self.first: {"title": "Chosen", "note": note, "text": row.chosen},
                self.second: {"title": "Rejected", "text": row.rejected},
            }
        decision = row.decision
        return {
            self.whole: gr.Row(visible=True),
            self.first: {"title": "Draft", "note": row.draft.model.label, "text": row.draft.text},
            self.second: {
                "title": "Final text",
                "note": f"{decision.ruling} by {decision.annotator} · {row.revision.model.label}",
                "text": decision.final_text,
            },
        }

    def write(self, format: str, kinds: list[PairKind]) -> dict[Any, Any]:  # noqa: A002 - the word on the screen
        """Write an export and hand it to the browser."""
        path = Path(tempfile.mkdtemp(prefix="realign-")) / f"realign-{format}.jsonl"
        n = self.studio.export(path, format, kinds)
        return {
            self.ready: gr.DownloadButton(value=str(path)),
            self.exported: {"title": "", "empty": f"{n} row{'' if n == 1 else 's'} in {path.name}."},
        }

    def bring(self, file: str | None, format: str) -> dict[Any, Any]:  # noqa: A002 - the word on the screen
        """Take a file in and say what became of its rows."""
        if not file:
            raise InvalidInput("Choose a file first.")
        report = self.studio.import_file(Path(file), format or None)
        rows = [["read", str(report.read)], ["taken", str(report.kept)]]
        rows += [[f"left out: {reason}", str(n)] for reason, n in report.dropped.items()]
        return {self.taken: {"title": Path(file).name, "note": report.format, "rows": rows}, self.file: None}


def _decided_cells(row: Decided) -> list[str]:
    decision = row.decision
    when = decision.decided.astimezone().strftime("%Y-%m-%d %H:%M")
    return [when, decision.ruling, row.prompt.messages[-1].content, decision.final_text, decision.annotator]


def _pair_cells(pair: Pair) -> list[str]:
    return [pair.kind, pair.relation.replace("_", " "), pair.prompt[-1].content, pair.chosen, pair.rejected]


def _days(pace: Pace) -> Value:
    """Return what is decided day by day, and for each annotator the rates and the time an item takes."""
    days = [
        {"day": tally.day.isoformat(), "n": sum(tally.rulings.values()), "accepted": _accepted(tally)}
        for tally in pace.days[-60:]
    ]
    rows = []
    for annotator, tally in sorted(pace.by_annotator.items()):
        n = sum(tally.rulings.values())
        judged = n - tally.rulings.get("skipped", 0) - tally.rulings.get("flagged", 0)
        words = [f"{n:,}", *([f"accepted {100 * _accepted(tally) / judged:.0f} %"] if judged else [])]
        words += [f"edits kept {100 * tally.n_kept / tally.n_hunks:.0f} %"] if tally.n_hunks else []
        words += [f"{tally.active_ms / 1000 / n:.0f} s each"] if n else []
        rows.append([annotator, " · ".join(words)])
    return {"title": "Decisions by day", "days": days, "rows": rows}


def _accepted(tally: DayTally) -> int:
    return tally.rulings.get("accepted", 0) + tally.rulings.get("edited", 0)


def _counts(counts: dict[str, int]) -> Value:
    return {"title": "Counts", "rows": [[name, f"{n:,}"] for name, n in counts.items()]}
