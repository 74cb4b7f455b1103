"""REALIGN_* variables: read from what is passed in, refused by name, secrets kept to themselves."""

import subprocess
import sys
from pathlib import Path

import pytest

from realign.errors import InvalidInput
from realign.settings import EMBEDDED, VARIABLES, Settings, load_settings, worker_environment

ROOT = Path(__file__).parent.parent


def test_an_empty_environment_gives_a_working_installation() -> None:
    settings = load_settings({})
    assert (settings.policy, settings.reviser) == (EMBEDDED, EMBEDDED)
    assert (settings.host, settings.port, settings.device, settings.precision) == ("127.0.0.1", 7860, "auto", "auto")
    assert settings.home.is_absolute()
    assert settings.model_cache == settings.home / "models"
    assert settings.annotator
    assert settings.api_key is None


def test_everything_that_is_kept_lies_under_the_home_folder(tmp_path: Path) -> None:
    settings = load_settings({"REALIGN_HOME": str(tmp_path)})
    assert settings.runs == tmp_path / "runs"
    assert settings.database.endswith(f"{tmp_path}/realign.sqlite3")
    assert load_settings({"REALIGN_HOME": str(tmp_path), "REALIGN_MODEL_CACHE": "/m"}).model_cache == Path("/m")


def test_the_home_folder_may_be_written_with_a_tilde() -> None:
    assert load_settings({"REALIGN_HOME": "~/kept"}).home == Path.home() / "kept"


def test_the_model_cache_may_be_written_with_a_tilde_or_relative_too(tmp_path: Path) -> None:
    assert load_settings({"REALIGN_MODEL_CACHE": "~/models"}).model_cache == Path.home() / "models"
    assert load_settings({"REALIGN_MODEL_CACHE": "models"}).model_cache == Path.cwd() / "models"


def test_each_setting_has_its_variable() -> None:
    assert VARIABLES.keys() == Settings.model_fields.keys()
    assert (VARIABLES["host"], VARIABLES["port"]) == ("GRADIO_SERVER_NAME", "GRADIO_SERVER_PORT")
    assert VARIABLES["model_cache"] == "REALIGN_MODEL_CACHE"


def test_every_setting_explains_itself() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GRADIO_SERVER_PORT", "eighty"),
        ("GRADIO_SERVER_PORT", "0"),
        ("GRADIO_SERVER_PORT", "70000"),
        ("REALIGN_DEVICE", "gpu"),
        ("REALIGN_PRECISION", "int8"),
        ("REALIGN_TRUST_PROXY", "perhaps"),
    ],
)
def test_a_value_that_cannot_be_taken_names_its_variable(variable: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=f"The variable {variable} cannot be used"):
        load_settings({variable: value})


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert load_settings({"GRADIO_SERVER_PORT": "", "REALIGN_POLICY": ""}) == load_settings({})


def test_numbers_and_switches_are_read_from_text() -> None:
    settings = load_settings({"GRADIO_SERVER_PORT": "8080", "REALIGN_TRUST_PROXY": "1"})
    assert (settings.port, settings.trust_proxy) == (8080, True)


def test_trusted_hosts_are_split_at_commas() -> None:
    assert load_settings({"REALIGN_TRUSTED_HOSTS": "a.org, b.org,"}).trusted_hosts == ("a.org", "b.org")


def test_the_key_shows_itself_nowhere() -> None:
    settings = load_settings({"REALIGN_API_KEY": "sk-secret"})
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "sk-secret"
    for shown in (str(settings), repr(settings), settings.model_dump_json(), str(settings.model_dump())):
        assert "sk-secret" not in shown


def test_line_ends_around_a_pasted_key_are_no_part_of_it() -> None:
    settings = load_settings({"REALIGN_API_KEY": " sk-secret\r\n"})
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "sk-secret"


@pytest.mark.parametrize("key", ["sk-sec\nret", "sk-ключ"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(InvalidInput, match="REALIGN_API_KEY") as caught:
        load_settings({"REALIGN_API_KEY": key})
    assert key not in str(caught.value)


def test_a_worker_gets_the_same_folders_and_sends_no_usage_pings(tmp_path: Path) -> None:
    settings = load_settings({"REALIGN_HOME": str(tmp_path)})
    environment = worker_environment(settings)
    assert environment["REALIGN_HOME"] == str(tmp_path)
    assert environment["REALIGN_MODEL_CACHE"] == str(tmp_path / "models")
    assert environment["HF_HUB_DISABLE_TELEMETRY"] == "1"
    assert "PATH" in environment


def test_a_folder_with_letters_of_any_alphabet_survives_a_plain_locale(tmp_path: Path) -> None:
    code = "from realign.settings import from_environment; print(ascii(str(from_environment().home)))"
    environment = {"REALIGN_HOME": str(tmp_path / "雨"), "LANG": "C", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment, check=True
    )
    assert done.stdout.strip() == ascii(str(tmp_path / "雨"))


def test_on_a_space_its_proxy_decides_the_host_name() -> None:
    assert load_settings({"SPACE_ID": "ann/studio"}).trusted_hosts == ("*",)
    assert load_settings({"SPACE_ID": "ann/studio", "REALIGN_TRUSTED_HOSTS": "a.example"}).trusted_hosts == (
        "a.example",
    )


def test_a_home_folder_that_no_database_address_can_hold_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"has a '\?' in its name"):
        load_settings({"REALIGN_HOME": "/data/what?"})
