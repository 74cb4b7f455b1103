"""The house: who may import whom, where third parties live, and what must stay light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "records": set(),
    "settings": {"errors"},
    "runs": {"errors"},
    "curation": {"records", "errors"},
    "datasets": {"records", "errors"},
    "store": {"records", "errors"},
    "models": {"settings", "records", "runs", "errors"},
    "generation": {"models", "records", "errors", "runs", "settings"},
    "judges": {"generation", "models", "records", "errors"},
    "benchmarks": {"judges", "generation", "models", "runs", "records", "errors"},
    "training": {"models", "runs", "records", "errors"},
    "worker": {"runs", "errors"},
    "doctor": {"models", "settings", "runs", "store", "records", "errors"},
    "pairing": {"datasets", "generation", "judges", "models", "records", "store", "training"},
    "intake": {"benchmarks", "datasets", "errors", "judges", "pairing", "records", "runs", "store"},
    "overview": {"judges", "models", "pairing", "records", "runs", "store"},
    "orders": {
        "benchmarks", "errors", "generation", "models", "pairing", "records", "runs", "settings", "store", "training",
    },
    "ahead": {"datasets", "generation", "models", "orders", "pairing", "records", "store"},
    "desk": {
        "ahead", "curation", "datasets", "errors", "generation", "models", "orders", "pairing", "records", "store",
    },
    "two_drafts": {
        "curation", "desk", "errors", "generation", "models", "orders", "pairing", "records", "store",
    },
    "studio": {
        "benchmarks", "curation", "datasets", "desk", "doctor", "errors", "generation", "intake", "judges", "models",
        "orders", "overview", "pairing", "records", "runs", "settings", "store", "training", "two_drafts",
    },
    "choices": {"datasets", "generation", "judges", "models", "training"},
    "ui": {"choices", "curation", "desk", "overview", "studio", "two_drafts", "records", "errors", "runs"},
    "cli": {"choices", "doctor", "studio", "records", "errors", "runs", "settings", "store"},
    "__main__": {"cli"},
    "app": {"ui", "studio", "settings", "store", "errors"},
}  # fmt: skip

HOMES: dict[str, set[str]] = {
    "gradio": {"ui", "app"},
    "starlette": {"ui"},
    "sqlalchemy": {"store"},
    "alembic": {"store"},
    "torch": {"models", "generation", "training", "judges"},
    "transformers": {"models", "generation", "training", "judges"},
    "peft": {"models", "generation", "training", "judges"},
    "trl": {"training"},
    "openai": {"generation", "judges"},
    "typer": {"cli"},
    "markdown_it": {"ui"},
    "latex2mathml": {"ui"},
}

HEAVY = ("torch", "gradio", "transformers", "trl", "peft", "pandas", "sklearn", "datasets")


def sources() -> list[Path]:
    return [ROOT / "app.py", *sorted((ROOT / "realign").rglob("*.py"))]


def part(path: Path) -> str:
    """The room a file belongs to: a module or package directly under realign/."""
    relative = path.relative_to(ROOT)
    return relative.parts[0].removesuffix(".py") if len(relative.parts) == 1 else relative.parts[1].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Full names of every module that `path` imports, at the top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_the_rooms_its_own_may_enter(path: Path) -> None:
    room = part(path)
    if room == "__init__":
        return
    entered = {
        name.split(".")[1]
        for name in imported(path)
        if name.startswith("realign.") and name.split(".")[1] not in {"__version__", room}
    }
    assert entered - MAY_IMPORT[room] == set()


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_third_parties_stay_in_their_homes(path: Path) -> None:
    strayed = {
        name.split(".")[0] for name in imported(path) if part(path) not in HOMES.get(name.split(".")[0], {part(path)})
    }
    assert strayed == set()


@pytest.mark.parametrize("module", ["realign.studio", "realign.worker", "realign.cli"])
def test_importing_the_middle_of_the_house_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == []


def test_modules_stay_under_400_lines_and_app_under_60() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert {name: n for name, n in lengths.items() if n > (60 if name == "app.py" else 400)} == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert {path.stem for path in sources()} & {"utils", "helpers", "common", "manager", "base", "misc"} == set()
