"""The documentation is held to the code: whatever can be chosen or set is written down, and nothing else is."""

import re
from pathlib import Path

import pytest
import typer

from realign import choices
from realign.cli import app
from realign.settings import VARIABLES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

CHOICES = {
    "backend": choices.BACKENDS,
    "export": choices.EXPORTS,
    "format": choices.FORMATS,
    "judge": choices.JUDGES,
    "loss": choices.LOSSES,
    "model": choices.MODELS,
    "preset": choices.PRESETS,
    "template": choices.TEMPLATES,
}


@pytest.mark.parametrize("kind", CHOICES)
def test_the_readme_names_every_choice(kind: str) -> None:
    assert [name for name in CHOICES[kind] if f"`{name}`" not in README] == []


def test_the_readme_names_every_variable_and_no_other() -> None:
    named = set(re.findall(r"`((?:REALIGN|GRADIO_SERVER)_[A-Z_]+)`", README))
    assert named == set(VARIABLES.values())


def test_the_readme_names_every_command_and_no_other() -> None:
    table = README.split("## In the terminal")[1].split("## Settings")[0]
    named = set(re.findall(r"^\| `(\w+)", table, re.MULTILINE))
    assert named == set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_every_option_named_in_the_readme_exists() -> None:
    commands = typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    options = {option for command in commands for parameter in command.params for option in parameter.opts}
    named = set(re.findall(r"(?<=[ `])(--[a-z][a-z-]+)", README.split("## In the terminal")[1].split("## Settings")[0]))
    assert named <= options


def test_every_knob_has_help() -> None:
    assert [name for name, field in choices.TrainConfig.model_fields.items() if not field.description] == []


def test_files_that_the_documentation_names_exist() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_requirements_are_pinned_exactly() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        loose = [line for line in lines if line and not line.startswith(("#", "-r ")) and "==" not in line]
        assert loose == []


def test_nothing_names_a_path_of_one_machine() -> None:
    files = [path for folder in ("realign", "docs", "data") for path in (ROOT / folder).rglob("*.*")]
    files += [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "Makefile", ROOT / "Dockerfile"]
    text_files = [
        path for path in files if path.suffix in (".py", ".md", ".js", ".css", ".jsonl", "") and path.is_file()
    ]
    assert [
        path.name for path in text_files if re.search(r"/(?:work|root|tmp)/", path.read_text(encoding="utf-8"))
    ] == []


def test_every_fault_on_the_list_names_tests_that_exist() -> None:
    rows = re.findall(
        r"^\| ([A-Z]\d+) \|.*\| (.*) \|$", (ROOT / "docs/faults.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    listed = [name for name, _ in rows]
    assert listed == [
        *(f"A{n}" for n in (1, 2, 3, 5, 6, 9, 10, 12, 14, 15)),
        *(f"D{n}" for n in (2, 3, 4, 7, 8, 9, 11, 13, 15, 17)),
    ]
    for name, cell in rows:
        path = ""
        for place in re.findall(r"`([^`]*(?:\.py|::\w+))`", cell):
            path, _, test = (path + place if place.startswith("::") else place).partition("::")
            text = (ROOT / path).read_text(encoding="utf-8")
            assert f"def {test}(" in text or not test, f"{name}: {place}"
