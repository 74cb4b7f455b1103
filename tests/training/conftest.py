import os
from pathlib import Path

import pytest

from tests.tiny import make_tiny_model

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # the worker gets it from the settings


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")
