"""From a model's name to weights in memory: device and number format chosen from the machine.

Only safetensors are loaded and no code that comes with a model is run.
"""

import errno
import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from realign.errors import InvalidInput, ModelUnavailable, RealignError, StorageFailed
from realign.models import embedded
from realign.models.catalog import MODELS, ModelSpec

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Say = Callable[[str], None]

WANTED_FILES = ["*.json", "*.safetensors", "*.jinja", "*.txt", "*.model"]


class Loaded(NamedTuple):
    """A base model in memory, without adapters."""

    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"
    revision: str | None
    """Commit of the weights, where their source tells one."""


class Weights(NamedTuple):
    """A folder with a model in it."""

    folder: Path
    revision: str | None


def load(spec: ModelSpec, say: Say = print) -> Loaded:
    """Load the base that `spec` names, without its adapter, in evaluation mode on the chosen device.

    Raises `ModelUnavailable` or `InvalidInput` with what to do where that cannot be done.
    """
    from transformers import AutoModelForCausalLM

    weights = locate(spec, say)
    tokenizer = _tokenizer(weights.folder, spec.source)
    device = choose_device(spec.device)
    say(f"Loading {spec.label}")
    model = _from_folder(
        partial(AutoModelForCausalLM.from_pretrained, dtype=choose_dtype(device, spec.precision)), weights.folder
    )
    return Loaded(model.to(device).eval(), tokenizer, weights.revision)


def load_tokenizer(spec: ModelSpec, say: Say = print) -> "PreTrainedTokenizerBase":
    """Load only the tokenizer of the base that `spec` names; raise `InvalidInput` where it has no chat template."""
    return _tokenizer(locate(spec, say).folder, spec.source)


def _tokenizer(folder: Path, source: str) -> "PreTrainedTokenizerBase":
    from transformers import AutoTokenizer

    tokenizer: PreTrainedTokenizerBase = _from_folder(AutoTokenizer.from_pretrained, folder)
    if not tokenizer.chat_template:
        raise InvalidInput(
            f"The tokenizer of {source} has no chat template, so it cannot hold a conversation. "
            "Choose an instruction-tuned model, or add a chat_template.jinja to its folder."
        )
    if tokenizer.eos_token is None:
        raise InvalidInput(
            f"The tokenizer of {source} names no end-of-text token (eos_token), so no answer would end. "
            "Name it in its tokenizer_config.json."
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def locate(spec: ModelSpec, say: Say = print) -> Weights:
    """Return the folder that holds the weights of `spec.source`, fetching them where needed."""
    if spec.is_server:
        raise InvalidInput(f"{spec.source} is a server: it can write text but not be trained or loaded here.")
    entry = MODELS.get(spec.source)
    if entry and entry.embedded:
        return Weights(embedded.bring(spec.cache, say), embedded.GGUF_SHA256[:12])
    path = Path(spec.source).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            adapter = " It holds an adapter: promote the run that made it instead."
            told = adapter if (path / "adapter_config.json").is_file() else ""
            raise ModelUnavailable(f"The folder {path} holds no config.json, so it is not a model.{told}")
        return Weights(_only_safetensors(path), None)
    return _from_hub(entry.hub_id if entry else spec.source, spec, say)


def _from_hub(hub_id: str, spec: ModelSpec, say: Say) -> Weights:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
    )

    say(f"Fetching {hub_id} from the Hub")
    known = ", ".join(MODELS)
    try:
        path = Path(snapshot_download(hub_id, cache_dir=spec.cache / "hub", allow_patterns=WANTED_FILES))
    except HFValidationError as error:
        raise InvalidInput(
            f"'{spec.source}' is no model we know: neither a catalogue name ({known}), nor an existing folder, nor a "
            "Hub id of the form owner/name."
        ) from error
    except GatedRepoError as error:
        raise ModelUnavailable(
            f"{hub_id} asks for its licence to be accepted. Accept it on the model's page and set HF_TOKEN."
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelUnavailable(
            f"There is no model '{hub_id}' on the Hub, or it is private. Check the spelling, or set HF_TOKEN."
        ) from error
    except (HfHubHTTPError, OSError, json.JSONDecodeError) as error:
        raise _fetch_failed(hub_id, error, spec.cache) from error
    return Weights(_only_safetensors(path), path.name)


def _fetch_failed(hub_id: str, error: Exception, cache: Path) -> RealignError:
    """Tell a Hub that answered, a full disk and a network that is not there from each other."""
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    cause = error.__cause__ if isinstance(error, LocalEntryNotFoundError) else error
    if isinstance(cause, HfHubHTTPError):
        return ModelUnavailable(
            f"The Hub answered {cause.response.status_code} when asked for {hub_id}. Try again later, or name a local "
            "folder."
        )
    if isinstance(cause, OSError) and cause.errno in {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS}:
        return StorageFailed(f"{hub_id} cannot be kept in {cache}: {cause.strerror}. Set REALIGN_MODEL_CACHE.")
    return ModelUnavailable(
        f"The Hub cannot be reached and {hub_id} has not been fetched before. Connect to the internet, or name a "
        f"local folder or a catalogue model ({', '.join(MODELS)})."
    )


def _only_safetensors(path: Path) -> Path:
    if not any(path.glob("*.safetensors")):
        raise ModelUnavailable(
            f"The model in {path} has no .safetensors file. Other formats can run code when they are loaded and are "
            "refused; convert it with save_pretrained."
        )
    return path


def _from_folder(loader: Callable[..., Any], path: Path) -> Any:
    from safetensors import SafetensorError

    try:
        return loader(path, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise ModelUnavailable(f"The model in {path} cannot be loaded: {str(error).splitlines()[0]}") from error


def choose_device(name: str) -> str:
    """Turn `auto` into the best device of this machine."""
    import torch

    if name != "auto":
        return name
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def choose_dtype(device: str, precision: str) -> "torch.dtype":
    """Turn `auto` into bf16 where the device computes in it, else fp32."""
    import torch

    if precision == "fp32":
        return torch.float32
    return torch.bfloat16 if precision == "bf16" or computes_bf16(device) else torch.float32


def computes_bf16(device: str) -> bool:
    """Say whether `device` has instructions for bf16; without them it would be slower than fp32."""
    import torch

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return device == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


def describe_device(device: str, precision: str) -> str:
    """Say in words where models run on this machine and in which number format."""
    import torch

    chosen = choose_device(device)
    dtype = str(choose_dtype(chosen, precision)).removeprefix("torch.")
    if chosen == "cuda":
        return f"{torch.cuda.device_count()} × {torch.cuda.get_device_name(0)}, {dtype}"
    if chosen == "mps":
        return f"Apple GPU, {dtype}"
    return f"no GPU: everything runs on the CPU in {dtype}; small models train in minutes rather than seconds"


def adapter_hash(folder: Path) -> str:
    """Return the SHA-256 of an adapter's weights; raise `ModelUnavailable` where there are none."""
    file = folder / "adapter_model.safetensors"
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise ModelUnavailable(
            f"The adapter {file} is gone. Promote another run, or go back to the base model."
        ) from error
