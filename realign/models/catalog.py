"""What a model can be named, and the exact description of one that a run freezes."""

from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from realign.errors import InvalidInput
from realign.settings import EMBEDDED


class CatalogEntry(NamedTuple):
    """A model known by a short name."""

    title: str
    hub_id: str
    licence: str
    embedded: bool
    """Its weights come with the installation; no account, no network after the first start."""


MODELS: dict[str, CatalogEntry] = {
    EMBEDDED: CatalogEntry("SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-135M-Instruct", "Apache-2.0", embedded=True),
    "smollm2-360m-instruct": CatalogEntry(
        "SmolLM2-360M-Instruct", "HuggingFaceTB/SmolLM2-360M-Instruct", "Apache-2.0", embedded=False
    ),
    "qwen2.5-0.5b-instruct": CatalogEntry(
        "Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-0.5B-Instruct", "Apache-2.0", embedded=False
    ),
}
"""Other models are named by their Hub id (`owner/name`), a local folder, or a server's address."""


class ModelSpec(BaseModel):
    """Which weights, from where, on what: enough for a worker on another machine to load the same model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    cache: Path
    adapter: Path | None = None
    """Folder of the LoRA adapter to switch on; none means the base alone."""
    adapter_run: str | None = None
    """Name of the run that made the adapter."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "bf16", "fp32"] = "auto"

    @property
    def is_server(self) -> bool:
        """Say whether the text comes from an OpenAI-compatible server instead of local weights."""
        return self.source.startswith(("http://", "https://"))

    @property
    def label(self) -> str:
        """A short name for screens."""
        entry = MODELS.get(self.source)
        name = entry.title if entry else self.source.rstrip("/").rsplit("/", 1)[-1]
        return f"{name} + {self.adapter_run}" if self.adapter_run else name


def server_address(source: str) -> tuple[str, str]:
    """Split `http://host:port/v1#model` into address and model; raise `InvalidInput` where the model is missing."""
    address, _, model = source.partition("#")
    if not model:
        raise InvalidInput(f"The server '{source}' needs a model name behind '#': http://host:port/v1#model.")
    return address, model
