"""REALIGN_* and GRADIO_SERVER_* variables, read once at the start; nothing else reads the environment."""

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from realign.errors import InvalidInput

EMBEDDED = "smollm2-135m-instruct"

SILENT = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


class Settings(BaseModel):
    """How this installation is set up. Each field is the variable `REALIGN_<NAME>` unless its text names another."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)

    home: Path
    """Folder for everything that is kept: database, runs, models. Default: the platform's user data folder."""
    model_cache: Path
    """Folder for converted model weights. Default: `models` under the home folder."""
    policy: str = EMBEDDED
    """The model being aligned: a catalogue name, Hub id, local folder, or `http://host:port/v1#model` for a server."""
    reviser: str = EMBEDDED
    """The model that improves answers; same forms as the policy. The same name shares one copy in memory."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where models run. `auto` takes a GPU when there is one."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """Number format of the weights. `auto` is bf16 where the device supports it."""
    api_key: SecretStr | None = None
    """Key for OpenAI-compatible servers; never stored or logged."""
    form: Path = Path(__file__).parent.parent / "data" / "form.toml"
    """TOML file that says which reasons, ratings and comments Curate asks for. Default: `data/form.toml`."""
    annotator: str = Field("annotator", pattern=r"\w")
    """Name written into decisions made here. Default: the login name."""
    host: str = "127.0.0.1"
    """Address to listen on; the variable is `GRADIO_SERVER_NAME`."""
    port: int = Field(7860, ge=1, le=65535)
    """Port to listen on; the variable is `GRADIO_SERVER_PORT`."""
    trusted_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    """Comma-separated host names this page may be reached under; `*` allows any."""
    trust_proxy: bool = False
    """`1` believes `X-Forwarded-*` headers; only behind a proxy that sets them itself."""

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        bare = key.get_secret_value().strip() if key else ""
        if not (bare.isascii() and bare.isprintable()):
            raise ValueError("a key consists of plain letters, digits and signs, without a line break inside")
        return SecretStr(bare) if bare else None

    @property
    def database(self) -> str:
        """SQLAlchemy address of the database."""
        return f"sqlite:///{self.home / 'realign.sqlite3'}"

    @property
    def runs(self) -> Path:
        """Folder that holds one folder per run."""
        return self.home / "runs"


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings from `environ`; raise `InvalidInput` naming the variable that cannot be taken."""
    values: dict[str, object] = {}
    for name in Settings.model_fields:
        variable = VARIABLES[name]
        if environ.get(variable):
            values[name] = environ[variable]
    named = str(values.get("home") or platformdirs.user_data_dir("realign-studio"))
    try:
        home = Path(named).expanduser().absolute()
    except RuntimeError as error:  # ~nobody
        raise InvalidInput(f"The variable REALIGN_HOME names the home of a user who is not here: {named}.") from error
    values["home"] = home
    values["model_cache"] = Path(str(values.get("model_cache") or home / "models")).expanduser().absolute()
    values.setdefault("annotator", _login_name())
    if isinstance(values.get("trusted_hosts"), str):
        values["trusted_hosts"] = tuple(
            part.strip() for part in str(values["trusted_hosts"]).split(",") if part.strip()
        )
    if environ.get("SPACE_ID"):  # the Space's own proxy decides under which names it is reached
        values.setdefault("trusted_hosts", ("*",))
    if "?" in str(home):
        raise InvalidInput(f"The folder {home} has a '?' in its name, which a database address cannot hold.")
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        raise InvalidInput(
            f"The variable {VARIABLES[name]} cannot be used: {first['msg'].removeprefix('Value error, ')}."
        ) from error


def from_environment() -> Settings:
    """Read the settings from this process's environment."""
    return load_settings(os.environ)


def quieten() -> None:
    """Keep the libraries of this process from reporting home; to be called before they are imported."""
    os.environ.update(SILENT)


def worker_environment(settings: Settings) -> dict[str, str]:
    """Return the environment of a worker: this process's own, with the same home folder and no usage pings."""
    fixed = {
        "REALIGN_HOME": str(settings.home),
        "REALIGN_MODEL_CACHE": str(settings.model_cache),
        "PYTHONUNBUFFERED": "1",
    }
    return {**os.environ, **SILENT, **fixed}


VARIABLES = {
    name: {"host": "GRADIO_SERVER_NAME", "port": "GRADIO_SERVER_PORT"}.get(name, f"REALIGN_{name.upper()}")
    for name in Settings.model_fields
}


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no entry in the user database, as in a container
        return "annotator"
