"""``--device``: the same run on a stand-in for a GPU, and one sentence where there is no GPU."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from collectives.gpu import at_hand

LESSONS = Path(__file__).parents[2] / "lessons"
WITHOUT = "gpu_aware", "misconceptions"  # one has a flag of its own; the other sends no arrays
WITH = sorted(file.stem for file in LESSONS.glob("[!_]*.py") if file.stem not in WITHOUT)
EACH = pytest.mark.parametrize("name", WITH)


def run(name, *arguments, ranks=0):
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    command = [*launcher, sys.executable, LESSONS / f"{name}.py", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )


def has_gpu():
    try:
        return bool(at_hand("cuda"))
    except ValueError:
        return False


@pytest.mark.parametrize("ranks", [0, pytest.param(3, marks=pytest.mark.slow)])
@EACH
def test_a_lesson_runs_on_a_stand_in(name, ranks):
    done = run(name, "--device", "stand-in", ranks=ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAIL" not in done.stdout
    assert ", on stand-in, " in done.stdout.splitlines()[0]
    assert ("copied to pinned host memory" in done.stderr) == bool(ranks)  # staged, and said so


@EACH
def test_arrays_are_where_the_reader_wants_them(name):
    """A device that makes no arrays ends every lesson that has the flag."""
    lines = [
        "import runpy, sys",
        "from collectives.gpu.stand_in import StandIn",
        "def array(self, values): raise SystemExit('made on the device')",
        "StandIn.array = array",
        f"sys.argv = [{str(LESSONS / name) + '.py'!r}, '-n', '2', '--device', 'stand-in']",
        "runpy.run_path(sys.argv[0], run_name='__main__')",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    expected = name != "choose_wisely"  # it makes arrays only where an MPI library can be timed
    assert ("made on the device" in done.stderr) == expected


@pytest.mark.skipif(has_gpu(), reason="there is a GPU here")
@pytest.mark.parametrize("ranks", [0, 3])
def test_a_gpu_that_is_not_there_is_one_sentence(ranks):
    done = run("zero", "--device", "cuda", ranks=ranks)
    assert done.returncode == 2
    assert len(re.findall("CuPy .*(?:is not installed|finds no GPU)", done.stderr)) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ranks", [0, 3])
def test_an_unknown_device_is_named(ranks):
    done = run("ring_allreduce", "--device", "tpu", ranks=ranks)
    assert done.returncode == 2
    assert done.stderr.count("device is 'tpu', wants one of cpu, cuda") == 1


@pytest.mark.parametrize("name", WITHOUT)
def test_the_syllabus_says_which_lessons_have_no_device(name):
    syllabus = (LESSONS / "README.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"`--device cuda`[^#]*?\n\n", syllabus)
    assert f"`{name}`" in sentence
