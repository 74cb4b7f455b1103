"""Whatever rows are wrapped in: each container, each encoding, and each way a file can be broken."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from decided_items import NOON, ids

from realign.datasets.containers import read_rows
from realign.datasets.formats import read
from realign.errors import InvalidInput

ROOT = Path(__file__).parent.parent.parent


def rows(path: Path, content: str | bytes) -> list[dict[str, object]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return [row.values for row in read_rows(path)]


def refusal(path: Path, content: str | bytes | None = None) -> str:
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InvalidInput) as caught:
        read_rows(path)
    return str(caught.value)


# --- what is read ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"prompt": "one"}\n\n{"prompt": "two"}\n'),
        ("a.JSONL", '{"prompt": "one"}\r\n{"prompt": "two"}'),
        ("a.json", '[{"prompt": "one"},\n {"prompt": "two"}]'),
        ("a.json", '{"prompt": "one"}\n{"prompt": "two"}\n'),
        ("a.csv", "prompt\none\n\ntwo\n"),
        ("a.csv", "prompt\rone\rtwo\r"),
        ("a.tsv", "prompt\none\ntwo"),
        ("a.txt", "one\r\n\r\n  two  \r\n"),
    ],
)
def test_every_container_gives_the_same_rows_packed_or_not(tmp_path: Path, name: str, content: str) -> None:
    expected = [{"prompt": "one"}, {"prompt": "two"}]
    assert rows(tmp_path / name, content) == expected
    assert rows(tmp_path / f"{name}.gz", gzip.compress(content.encode())) == expected


def test_a_byte_order_mark_is_no_part_of_the_first_header(tmp_path: Path) -> None:  # C6
    assert rows(tmp_path / "a.csv", b"\xef\xbb\xbfprompt;category\r\nHello?;chat\r\n") == [
        {"prompt": "Hello?", "category": "chat"}
    ]
    assert rows(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"prompt": "Hello?"}') == [{"prompt": "Hello?"}]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_its_mark_is_read(tmp_path: Path, encoding: str) -> None:
    assert rows(tmp_path / "a.csv", "\ufeffprompt\n茶?\n".encode(encoding)) == [{"prompt": "茶?"}]


def test_commas_quotes_and_line_breaks_inside_a_cell_are_kept(tmp_path: Path) -> None:  # C8
    assert rows(tmp_path / "a.csv", 'id,prompt\n1,"a,""b""\n c;d"\n') == [{"id": "1", "prompt": 'a,"b"\n c;d'}]


def test_a_cell_may_be_longer_than_python_allows_by_itself(tmp_path: Path) -> None:
    assert rows(tmp_path / "a.csv", f"prompt\n{'x' * 200_000}\n") == [{"prompt": "x" * 200_000}]


def test_a_json_line_is_not_split_at_unusual_line_breaks(tmp_path: Path) -> None:
    text = "one\u2028two\u0085three\x0cfour"
    assert rows(tmp_path / "a.jsonl", json.dumps({"prompt": text}, ensure_ascii=False)) == [{"prompt": text}]


def test_chinese_is_read_where_the_system_speaks_ascii(tmp_path: Path) -> None:  # C4, C5
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"prompt": "茶?"}'.encode())
    code = "import sys; from pathlib import Path; from realign.datasets.containers import read_rows; "
    code += "print(ascii(read_rows(Path(sys.argv[1]))[0].values))"
    environ = {**os.environ, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ascii({"prompt": "茶?"})


# --- what is refused, and where --------------------------------------------------------------------------------------


def test_a_broken_line_is_named_and_nothing_is_taken(tmp_path: Path) -> None:  # C1
    message = refusal(tmp_path / "a.jsonl", '{"prompt": "a"}\n{"prompt": "b"}\n{"prompt": "x"')
    assert message == (
        "a.jsonl, line 3: this is not JSON (Expecting ',' delimiter, character 15). Mend or delete it. "
        "Nothing was taken from the file."
    )


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.jsonl", '{"prompt": "a"}\n["b"]', "a.jsonl, line 2: a row must be a JSON object with named fields"),
        ("a.json", '[{"prompt": "a"}, "b"]', "a.json, row 2: a row must be a JSON object with named fields"),
        ("a.json", '[{"prompt": "a"},\n{"prompt": }]', "a.json, line 2: this is not JSON"),
        ("a.jsonl", '{"prompt": "a", "prompt": "b"}', "a.jsonl, line 1: the field 'prompt' stands twice in one object"),
        ("a.jsonl", '{"n": ' + "1" * 5000 + "}", "a.jsonl, line 1: Exceeds the limit"),
        ("a.jsonl", '{"n": ' + "[" * 100_000 + "}", "a.jsonl, line 1: the JSON is nested too deeply"),
        (
            "a.jsonl",
            '{"prompt": "a"}\n{"prompt": "\\ud83d"}',
            "a.jsonl, line 2, field 'prompt': it holds a NUL or half",
        ),
        ("a.jsonl", '{"prompt": [{"content": "a\\u0000"}]}', "a.jsonl, line 1, field 'prompt': it holds a NUL or half"),
        ("a.txt", "one\ntw\0o", "a.txt, line 2: it holds a NUL character"),
        ("a.csv", "prompt,prompt\na,b\n", "a.csv, line 1: the column 'prompt' stands twice"),
        ("a.csv", 'id,prompt\n1,"two\nlines"\n2,b,c\n', "a.csv, line 4: it has 3 columns where the header has 2"),
        ("a.csv", 'id,prompt\n1,a\n2,"open\nand on\n', "a.csv, line 3: this row cannot be read as a table"),
        (
            "a.jsonl",
            b'{"prompt": "a"}\n{"prompt": "caf\xe9"}',
            "a.jsonl, line 2: byte 32 of the file is not UTF-8 text",
        ),
        ("a.csv", "prompt\n茶?\n".encode("gbk"), "a.csv, line 2: byte 8 of the file is not UTF-8 text"),
        ("a.txt", "茶?".encode("utf-16") + b"x", "a.txt, line 1: byte 7 of the file is not UTF-16 text"),
    ],
)
def test_each_fault_is_named_with_its_line(tmp_path: Path, name: str, content: str | bytes, place: str) -> None:  # C4
    message = refusal(tmp_path / name, content)
    assert message.startswith(place)
    assert message.endswith("Nothing was taken from the file.")


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl", ""), ("a.txt", " \n\n"), ("a.csv", b"\xef\xbb\xbf"), ("a.json", "[]"), ("a.csv", "prompt,id\n")],
)
def test_a_file_without_rows_is_refused(tmp_path: Path, name: str, content: str | bytes) -> None:
    assert "at least one" in refusal(tmp_path / name, content)


def test_other_endings_are_refused_with_those_that_are_read(tmp_path: Path) -> None:
    assert refusal(tmp_path / "a.parquet", b"PAR1").startswith("a.parquet: files ending in '.parquet' are not read.")


def test_a_torn_gz_file_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b'{"prompt": "Hello?"}' * 100)
    for content in (b"not gz", packed[:-9], packed[:20] + b"\xff\xff" + packed[22:]):
        assert refusal(tmp_path / "a.jsonl.gz", content).startswith("a.jsonl.gz is not a whole .gz file.")


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path).endswith("cannot be read: Is a directory. Choose another file.")
    assert refusal(tmp_path / "a.jsonl").endswith("cannot be read: No such file or directory. Choose another file.")


def test_one_bad_row_among_many_takes_nothing(tmp_path: Path) -> None:  # C1
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"prompt": f"Question {n}?"}) for n in range(1, 1001)]
    path.write_text("\n".join([*lines[:499], '{"prompt": ""}', *lines[499:]]), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"^a\.jsonl, line 500: "):
        read(path, None, origin="a", now=NOON, new_id=ids())
