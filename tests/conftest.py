"""What many tests share: the embedded model fetched once, and the app as a process of its own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs
import pytest

# Tiny models gain nothing from threads and lose much where the machine is busy; to be set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from playwright.sync_api import Browser, sync_playwright

from realign.models import embedded

ROOT = Path(__file__).parent.parent
START_S = 90


@pytest.fixture(scope="session")
def model_cache() -> Path:
    """Folder with the converted embedded model, kept between test runs."""
    cache = Path(os.environ.get("REALIGN_TEST_MODEL_CACHE") or platformdirs.user_cache_dir("realign-studio-tests"))
    embedded.bring(cache, print)
    return cache


class App:
    """`python app.py` as its own process, which a test may kill and start again on the same home folder."""

    def __init__(self, home: Path, environ: dict[str, str]) -> None:
        self.home = home
        self.port = free_port()
        self._environ = {**os.environ, "REALIGN_HOME": str(home), "REALIGN_ANNOTATOR": "Ann", **environ}
        self._environ["GRADIO_SERVER_PORT"] = str(self.port)
        self._environ.pop("OMP_NUM_THREADS", None)  # an app of its own computes with every core
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start and wait until the port answers."""
        log = (self.home.parent / "app.log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=ROOT, env=self._environ, stdout=log, stderr=subprocess.STDOUT
        )
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, f"the app ended: {self.log()}"
            try:
                with urllib.request.urlopen(f"{self.address}/healthz", timeout=2) as reply:
                    assert reply.status == 200
                    return
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                time.sleep(0.2)
        raise AssertionError(f"no answer within {START_S} s: {self.log()}")

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(10)

    def log(self) -> str:
        return (self.home.parent / "app.log").read_text(encoding="utf-8")[-4000:]

    def terminal(self, *words: str, timeout: int = 300) -> subprocess.CompletedProcess[str]:
        """Run `python -m realign` on the same home folder."""
        command = [sys.executable, "-m", "realign", *words]
        return subprocess.run(
            command, cwd=ROOT, env=self._environ, capture_output=True, text=True, timeout=timeout, check=False
        )


@pytest.fixture
def make_app(tmp_path: Path) -> Iterator[Callable[..., App]]:
    """Make apps that are ended with the test."""
    made: list[App] = []

    def make(home: Path | None = None, **environ: str) -> App:
        app = App(home or tmp_path / "home", environ)
        made.append(app)
        return app

    yield make
    for app in made:
        app.kill()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the tests of a file, which open pages of their own; it keeps an event loop running meanwhile."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        yield browser
        browser.close()


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
