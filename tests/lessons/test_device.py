"""Lessons that take ``--device``: the same run on a stand-in for a GPU, and a sentence without."""

import subprocess
import sys
from pathlib import Path

import pytest

LESSONS = Path(__file__).parents[2] / "lessons"
WITH_DEVICE = sorted(file.name for file in LESSONS.glob("*.py")
                     if "flags=runs.device_flag" in file.read_text())  # fmt: skip


def run(name, device, ranks=0):
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    command = [*launcher, sys.executable, LESSONS / name, "--device", device]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_some_lessons_take_a_device():
    assert "ring_allreduce.py" in WITH_DEVICE


@pytest.mark.parametrize("ranks", [0, 3])
@pytest.mark.parametrize("name", WITH_DEVICE)
def test_a_lesson_runs_on_a_stand_in(name, ranks):
    done = run(name, "stand-in", ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAIL" not in done.stdout
    assert ("copied to pinned host memory" in done.stderr) == bool(ranks)  # staged, and said so


def test_an_unknown_device_is_named():
    done = run("ring_allreduce.py", "tpu")
    assert done.returncode == 2
    assert "tpu" in done.stderr.splitlines()[-1]
