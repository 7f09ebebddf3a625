"""The pages of the documentation, built once for all tests and all workers of pytest."""

import fcntl
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Pages:
    """Where the pages are, and what the build complained about."""

    folder: Path
    complaints: str


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> Pages:
    together = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        together = together.parent  # the same for all workers
    folder, log = together / "pages", together / "pages.log"
    with open(together / "pages.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not log.exists():
            command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "auto"]
            done = subprocess.run(
                [*command, "docs", folder], cwd=ROOT, capture_output=True, text=True, timeout=900
            )
            log.write_text(done.stderr if done.returncode else "")
    return Pages(folder, log.read_text())
