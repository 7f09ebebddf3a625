"""The lesson about GPU buffers, where there is no GPU."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from collectives.gpu import at_hand

LESSON = Path(__file__).parents[2] / "lessons" / "gpu_aware.py"


def run(*arguments, ranks=0):
    launcher = ["mpirun", "-n", ranks] if ranks else []
    command = [*launcher, sys.executable, LESSON, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)


def has_gpu():
    try:
        return bool(at_hand("cuda"))
    except ValueError:
        return False


def rows(text):
    """Return waits, copies and wrong elements by way."""
    found = re.findall(r"^ +(\w+) +(\d+) +(\d+) +\S+ \w+ +(\d+) ", text, re.MULTILINE)
    return {name: tuple(map(int, numbers)) for name, *numbers in found}


@pytest.mark.parametrize("ranks", [0, 3])
def test_what_is_counted(ranks):
    done = run("--device", "stand-in", "--elements", 1000, ranks=ranks)
    assert done.returncode == 0, done.stderr
    messages = 2 * ((ranks or 8) - 1)
    assert rows(done.stdout) == {
        "forgotten": (0, 0, 1000),
        "direct": (2 * messages, 0, 0),
        "staged": (messages, 2 * messages, 0),  # waits for what may still use a result's memory
    }
    assert "no GPU" in done.stdout


@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "complex64"])
def test_any_type_and_length(dtype):
    done = run("--elements", 5, "--dtype", dtype, ranks=3)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(has_gpu(), reason="there is a GPU here")
@pytest.mark.parametrize("ranks", [0, 3])
def test_a_gpu_that_is_not_there_is_one_sentence(ranks):
    done = run("--device", "cuda", ranks=ranks)
    assert done.returncode != 0
    assert len(re.findall("CuPy .*(is not installed|finds no GPU)", done.stderr)) == 1
    assert "Traceback" not in done.stderr
