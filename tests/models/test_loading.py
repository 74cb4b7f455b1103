"""From a model's name to weights in memory, and a sentence of its own for every way it can fail."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tiny import make_tiny_model

from realign.errors import InvalidInput, ModelUnavailable
from realign.models.catalog import MODELS, ModelSpec, server_address
from realign.models.loading import Weights, adapter_hash, computes_bf16, load, load_tokenizer, locate

ROOT = Path(__file__).parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def quiet(message: str) -> None:
    """Keep the progress of loading to itself."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def folder(tiny: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model that a test may damage."""
    return Path(shutil.copytree(tiny, tmp_path / "model"))


def spec(source: object, **fields: Any) -> ModelSpec:
    return ModelSpec(source=str(source), cache=Path("/nowhere"), **{"device": "cpu"} | fields)


# Local folders


def test_a_local_folder_is_loaded_for_inference(tiny: Path) -> None:
    loaded = load(spec(tiny, precision="fp32"), quiet)
    assert str(loaded.model.dtype) == "torch.float32"
    assert (loaded.model.device.type, loaded.model.training, loaded.revision) == ("cpu", False, None)
    assert loaded.tokenizer.decode(loaded.tokenizer("Hi").input_ids) == "Hi"


def test_automatic_precision_on_a_cpu_is_bf16_where_it_has_the_instructions(tiny: Path) -> None:
    expected = "torch.bfloat16" if computes_bf16("cpu") else "torch.float32"
    assert str(load(spec(tiny), quiet).model.dtype) == expected


def test_loading_says_what_it_is_at(tiny: Path) -> None:
    said: list[str] = []
    load(spec(tiny), said.append)
    assert said == [f"Loading {tiny.name}"]


def test_a_folder_without_a_config_is_no_model(folder: Path) -> None:
    (folder / "config.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"holds no config\.json, so it is not a model"):
        load(spec(folder), quiet)


def test_weights_that_can_run_code_are_refused(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelUnavailable, match=r"has no \.safetensors file\. Other formats can run code"):
        load(spec(folder), quiet)


def test_the_folder_of_an_adapter_is_no_model_and_says_what_to_do_with_it(folder: Path) -> None:
    (folder / "config.json").rename(folder / "adapter_config.json")
    with pytest.raises(ModelUnavailable, match=r"It holds an adapter: promote the run that made it"):
        load(spec(folder), quiet)


def test_weights_that_are_torn_are_a_sentence(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelUnavailable, match=r"The model in .*model cannot be loaded"):
        load(spec(folder), quiet)


def test_a_config_that_is_no_json_is_a_sentence(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        load(spec(folder), quiet)


def test_code_that_comes_with_a_model_is_not_run(folder: Path, tmp_path: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "of-its-own", "auto_map": {"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        load(spec(folder), quiet)
    assert not (tmp_path / "ran").exists()


def test_a_tokenizer_without_a_chat_template_says_what_to_choose(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(InvalidInput, match=r"has no chat template.*Choose an instruction-tuned model"):
        load_tokenizer(spec(folder), quiet)


def tokenizer_config(folder: Path, **changes: Any) -> None:
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_a_tokenizer_without_padding_pads_with_its_end(folder: Path) -> None:
    tokenizer_config(folder, pad_token=None)
    tokenizer = load_tokenizer(spec(folder), quiet)
    assert tokenizer.pad_token == tokenizer.eos_token == "<|im_end|>"


def test_a_tokenizer_without_an_end_is_refused(folder: Path) -> None:
    tokenizer_config(folder, eos_token=None, pad_token=None)
    with pytest.raises(InvalidInput, match="no end-of-text token"):
        load_tokenizer(spec(folder), quiet)


# Names


def test_a_server_is_not_loaded_here() -> None:
    with pytest.raises(InvalidInput, match="is a server: it can write text but not be trained"):
        locate(spec("http://127.0.0.1:8000/v1#tiny"), quiet)


def test_the_address_of_a_server_is_split_at_the_last_part() -> None:
    assert server_address("http://h:1/v1#owner/name") == ("http://h:1/v1", "owner/name")
    with pytest.raises(InvalidInput, match="behind '#'"):
        server_address("http://h:1/v1")


@pytest.mark.parametrize("source", ["a/b/c", "no such model", "../nowhere"])
def test_a_name_that_is_none_lists_what_there_is(source: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is no model we know") as caught:
        locate(ModelSpec(source=source, cache=tmp_path), quiet)
    for name in MODELS:
        assert name in str(caught.value)


def test_labels_are_short() -> None:
    assert spec("smollm2-135m-instruct").label == "SmolLM2-135M-Instruct"
    assert spec("/models/tiny/").label == "tiny"
    assert spec("a/b", adapter_run="r1").label == "b + r1"


def test_the_hash_of_an_adapter_is_that_of_its_weights(tmp_path: Path) -> None:
    (tmp_path / "adapter_model.safetensors").write_bytes(b"abc")
    assert adapter_hash(tmp_path).startswith("ba7816bf8f01cfea")
    with pytest.raises(ModelUnavailable, match="is gone"):
        adapter_hash(tmp_path / "nowhere")


# The Hub, as a small server on this machine


class Hub(NamedTuple):
    """What the stand-in answers for one repository; a status other than 200 comes with the Hub's own error code."""

    status: int = 200
    code: str = ""
    files: Mapping[str, bytes] = {}
    file_status: int = 200
    page: bytes = b""
    """What a network that wants a login first sends instead of the Hub's answer."""


@pytest.fixture
def hub(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that behaves like the Hub, as far as fetching one model goes."""
    told: Hub = request.param

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _, _, name = self.path.partition(f"/resolve/{COMMIT}/")
            if "/tree/" in self.path:
                entries = [
                    {"type": "file", "path": path, "size": len(told.files[path]), "oid": path} for path in told.files
                ]
                self.reply(told.status, json.dumps(entries).encode())
            elif self.path.startswith("/api/"):
                self.reply(told.status, told.page or json.dumps({"id": "owner/name", "sha": COMMIT}).encode())
            else:
                self.reply(told.file_status, told.files.get(name, b""))

        do_HEAD = do_GET

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hash(body) & 0xFFFFFFFF:x}"')
            self.send_header("Content-Length", str(len(body)))
            if status != 200:
                self.send_header("X-Error-Code", told.code)
                self.send_header("X-Error-Message", "as told")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the standard library's
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def asked(endpoint: str, cache: Path) -> str:
    """What `locate` makes of `owner/name` where the Hub is at `endpoint`, which the library reads at its import."""
    code = (
        "import sys; from pathlib import Path; from realign.errors import RealignError\n"
        "from realign.models.catalog import ModelSpec; from realign.models.loading import locate\n"
        "try: print(*locate(ModelSpec(source='owner/name', cache=Path(sys.argv[1])), lambda message: None))\n"
        "except RealignError as error: print(type(error).__name__, error)"
    )
    environment = {"HF_ENDPOINT": endpoint, "HOME": str(cache), "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "*"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(cache)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


DEAD = "http://127.0.0.1:9"
WEIGHTS = {"config.json": b"{}", "model.safetensors": b"weights", "pytorch_model.bin": b"code"}


@pytest.mark.parametrize(
    ("hub", "sentence"),
    [
        (Hub(404, "RepoNotFound"), "There is no model 'owner/name' on the Hub, or it is private"),
        (Hub(401, "RepoNotFound"), "There is no model 'owner/name' on the Hub, or it is private"),
        (Hub(403, "GatedRepo"), "asks for its licence to be accepted"),
        (Hub(200, "GatedRepo", WEIGHTS, 403), "asks for its licence to be accepted"),
        (Hub(500), "The Hub answered 500 when asked for owner/name"),
        (Hub(page=b"<html>Log in</html>"), "The Hub cannot be reached"),
        (Hub(files={"config.json": b"{}", "pytorch_model.bin": b""}), "has no .safetensors file"),
    ],
    ids=["404", "401", "gated", "gated files", "500", "a login page", "only a .bin"],
    indirect=["hub"],
)
def test_every_answer_of_the_hub_has_its_own_sentence(hub: str, sentence: str, tmp_path: Path) -> None:
    told = asked(hub, tmp_path)
    assert told.startswith("ModelUnavailable")
    assert sentence in told


def test_without_a_network_the_sentence_says_how_to_go_on(tmp_path: Path) -> None:
    told = asked(DEAD, tmp_path)
    assert "ModelUnavailable The Hub cannot be reached and owner/name has not been fetched before" in told
    assert "smollm2-135m-instruct" in told


@pytest.mark.parametrize("hub", [Hub(files=WEIGHTS)], indirect=True)
def test_what_was_fetched_once_is_there_without_a_network_with_its_commit(hub: str, tmp_path: Path) -> None:
    fetched = asked(hub, tmp_path)
    folder = Path(fetched.removesuffix(f" {COMMIT}"))
    assert fetched.endswith(COMMIT)
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert asked(DEAD, tmp_path) == fetched


def test_weights_are_named_by_folder_and_revision(tiny: Path) -> None:
    assert locate(spec(tiny), quiet) == Weights(tiny, None)
