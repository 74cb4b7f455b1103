"""What is exported is read back equal, by us and by the library that trains on it."""

import json
from pathlib import Path

import pytest
from decided_items import NOON, decided, ids, render
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from realign.datasets.export import EXPORTS, write
from realign.datasets.formats import FORMATS, read
from realign.datasets.pairs import build_pairs
from realign.errors import InvalidInput, StorageFailed
from realign.records import Decided, Pair

AWKWARD = 'a,"b"\n c;d\r\n\t<script>alert(1)</script>\u2028\u0085\x0b👩‍👩‍👧‍👦 e\u0301 שלום <|im_end|> \\'
ITEMS = [
    decided("accepted"),
    decided("edited", final=AWKWARD, name="2"),
    decided("rejected", revised="", name="3"),
    decided("tied", name="4"),
    decided("accepted", first="", name="5", question=AWKWARD),
]


def pairs_of(items: list[Decided]) -> tuple[Pair, ...]:
    return build_pairs(items, kinds=("revision", "plain"), render=render).pairs


def again(path: Path) -> tuple[list[Pair], list[Decided]]:
    found = read(path, None, origin="again", now=NOON, new_id=ids())
    assert found.dropped == {}
    return found.pairs, found.decided


def test_every_export_is_read_back_equal(tmp_path: Path) -> None:  # C8, C10
    pairs = pairs_of(ITEMS)
    assert write(tmp_path / "trl.jsonl", "trl", pairs=pairs) == len(pairs) == 9
    assert write(tmp_path / "native.jsonl", "native", decided=ITEMS) == 5
    assert again(tmp_path / "trl.jsonl") == (list(pairs), [])
    assert again(tmp_path / "native.jsonl") == ([], ITEMS)
    assert EXPORTS.keys() <= FORMATS.keys()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).map("x".__add__))
def test_any_text_survives_export_and_import(tmp_path: Path, text: str) -> None:  # C8, C10
    items = [decided("edited", final=text, question=text)]
    pairs = pairs_of(items)
    write(tmp_path / "trl.jsonl", "trl", pairs=pairs)
    write(tmp_path / "native.jsonl", "native", decided=items)
    assert again(tmp_path / "trl.jsonl") == (list(pairs), [])
    assert again(tmp_path / "native.jsonl") == ([], items)


def test_of_an_edited_item_the_edited_text_is_exported_as_chosen_and_the_draft_as_rejected(
    tmp_path: Path,
) -> None:  # E10
    pairs = build_pairs([decided("edited", final="mine")], kinds=("plain",), render=render).pairs
    write(tmp_path / "a.jsonl", "trl", pairs=pairs)
    row = json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8"))
    assert row["prompt"] == [{"role": "user", "content": "Why is the sky blue?"}]
    assert row["chosen"] == [{"role": "assistant", "content": "mine"}]
    assert row["rejected"] == [{"role": "assistant", "content": "draft"}]
    assert (row["kind"], row["relation"], row["decision_id"], row["origin"]) == (
        "plain",
        "final_over_draft",
        "c1",
        "Ann",
    )


def test_a_row_is_one_line_for_every_reader_of_lines(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", "trl", pairs=pairs_of(ITEMS))
    assert len((tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()) == 9


def test_an_exported_plain_pair_cannot_claim_to_be_of_another_prompt(tmp_path: Path) -> None:
    (pair,) = build_pairs([decided("accepted")], kinds=("plain",), render=render).pairs
    write(tmp_path / "a.jsonl", "trl", pairs=[pair.model_copy(update={"prompt_hash": "0" * 64})])
    assert again(tmp_path / "a.jsonl") == ([pair], [])


def test_an_exported_revision_pair_with_a_wrong_kind_or_hash_is_refused(tmp_path: Path) -> None:
    (pair,) = build_pairs([decided("accepted")], kinds=("revision",), render=render).pairs
    for field, value, complaint in [
        ("prompt_hash", "none", "a.jsonl, line 1: field 'prompt_hash' is not a SHA-256"),
        ("kind", "drinks", "a.jsonl, line 1: field 'kind': Input should be"),
    ]:
        write(tmp_path / "a.jsonl", "trl", pairs=[pair.model_copy(update={field: value})])
        with pytest.raises(InvalidInput, match=complaint):
            again(tmp_path / "a.jsonl")


def test_nothing_to_export_is_said_and_leaves_what_stood_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("before", encoding="utf-8")
    with pytest.raises(InvalidInput, match="nothing to export"):
        write(path, "trl")
    with pytest.raises(InvalidInput, match="nothing to export"):
        write(path, "native", pairs=pairs_of(ITEMS))
    assert path.read_text(encoding="utf-8") == "before"


def test_an_unknown_export_format_is_refused_with_the_choices(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"There is no export format 'csv'. Choose one of: native, trl\."):
        write(tmp_path / "a.csv", "csv", decided=ITEMS)


def test_an_export_that_breaks_off_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "native", decided=ITEMS)
    before = path.read_bytes()

    def breaks_off():
        yield ITEMS[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(
        StorageFailed, match=r"a\.jsonl cannot be written: No space left on device\. Choose another place"
    ):
        write(path, "native", decided=breaks_off())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.jsonl").mkdir()
    for place in ("nowhere/a.jsonl", "file/a.jsonl", "folder.jsonl"):
        with pytest.raises(StorageFailed, match="cannot be written"):
            write(tmp_path / place, "native", decided=ITEMS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.jsonl"]


def test_the_datasets_library_reads_an_export(tmp_path: Path) -> None:
    from datasets import Dataset

    pairs = pairs_of(ITEMS)
    write(tmp_path / "a.jsonl", "trl", pairs=pairs)
    loaded = Dataset.from_json(str(tmp_path / "a.jsonl"), cache_dir=str(tmp_path / "cache"))
    assert loaded.column_names[:3] == ["prompt", "chosen", "rejected"]
    assert [row["chosen"][0]["content"] for row in loaded] == [pair.chosen for pair in pairs]
    assert {type(row["decision_id"]) for row in loaded} == {str}
