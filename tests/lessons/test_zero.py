"""The lesson on ZeRO: what it counts, and that what goes wrong fails. See also test_lessons."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

LESSON = Path(__file__).parents[2] / "lessons" / "zero.py"
ALL_PASS = dict.fromkeys(("loss", "parameters", "bits", "sent", "kept"), "PASS")


def run(*command):
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=100,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def checks(output):
    return dict(re.findall(r"^(?:check)? +(\w+) +(PASS|FAIL)", output, re.MULTILINE))


def rows(output, first_columns):
    """Return the cells of the table whose first columns have these names."""
    lines = output.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:1] == [first_columns])
    return [re.split(r"  +", line.strip()) for line in lines[start + 1 : start + 5]]


def test_the_tables_at_four_ranks():
    output = run(sys.executable, LESSON, "-n", 4, "--predict=90kB").stdout
    sent = {name: (*cells, total) for name, *cells, total, _ in rows(output, "all-reduce")}
    assert {name: cells[3] for name, cells in sent.items()} == {
        "DDP": "30.1 kB", "ZeRO-1": "30.1 kB", "ZeRO-2": "30.1 kB", "ZeRO-3": "45.2 kB",
    }  # fmt: skip
    assert sent["ZeRO-3"][:3] == (".", "15.1 kB", "30.1 kB")
    kept = {name: cells[3] for name, *cells in rows(output, "parameters")}
    assert kept == {"DDP": "80.3 kB", "ZeRO-1": "50.2 kB", "ZeRO-2": "35.1 kB", "ZeRO-3": "20.1 kB"}
    assert "you said 90 kB, the run says 45.2 kB: 1.99 times too much" in output
    assert rows(output, "k")[2] == ["ZeRO-2", "2", "3", "5"]
    assert rows(output, "k")[3] == ["ZeRO-3", "3", "6", "12"]
    assert "would be 4 times as long (counted)" in output


def test_what_the_chapter_should_say():
    text = " ".join(run(sys.executable, LESSON, "-n", 2).stdout.split())
    assert "ZeRO-1 and ZeRO-2 send as much as data parallelism, 2x the model, and keep less" in text
    assert "ZeRO-3 sends 3x, half as much again, and keeps 1/p of everything" in text
    assert "simulated: a backward pass" in text


@pytest.mark.parametrize("arguments", [("-n", 1), ("-n", 5, "--rows", 3), ("-n", 3, "--steps", 1)])
def test_small_cases(arguments):
    done = run(sys.executable, LESSON, *arguments)
    assert done.returncode == 0, done.stderr
    assert checks(done.stdout) == ALL_PASS


def test_more_rows_than_there_are():
    done = run(sys.executable, LESSON, "--rows", 1798)
    assert done.returncode == 2
    assert "1798, wants at most 1797" in done.stderr


def test_the_figure_shows_what_was_counted(tmp_path):
    figure = tmp_path / "zero.svg"
    assert run(sys.executable, LESSON, "-n", 4, "--svg", figure).returncode == 0
    svg = figure.read_text()
    assert "Counted in a run." in " ".join(svg.split())
    assert all(size in svg for size in ("80.3 kB", "45.2 kB"))


MISTAKES = {
    "the sum of means": (
        "import collectives.training.model as m\n"
        "whole = m.cross_entropy\n"
        "m.cross_entropy = lambda s, t, rows: whole(s, t, max(1, len(s)))",
        {"loss", "parameters"},
    ),
    "parameters are gathered before the step": (
        "from collectives.training.zero1 import ZeRO1\n"
        "from collectives.comm import IN_PLACE\n"
        "def update(self):\n"
        "    for b in self.buckets:\n"
        "        whole = self.parameters[b.whole]\n"
        "        self.allgather(self.comm, IN_PLACE, whole, counts=b.counts)\n"
        "    self.adam.update((self.parameters[b.own], self.gradients[b.whole][:b.mine])\n"
        "                     for b in self.buckets)\n"
        "    self.gradients[:] = 0\n"
        "ZeRO1.update = update",
        {"loss", "parameters", "bits"},
    ),
    "ZeRO-1 all-reduces and gathers": (
        "from collectives.training import ZeRO1\n"
        "from collectives.comm import IN_PLACE\n"
        "def reduce(self, b):\n"
        "    whole = self.gradients[b.whole]\n"
        "    self.allreduce(self.comm, IN_PLACE, whole)\n"
        "    whole[:b.mine] = whole[b.own.start - b.whole.start:][:b.mine].copy()\n"
        "ZeRO1.reduce = reduce",
        {"sent"},
    ),
    "ZeRO-2 keeps all gradients": (
        "from collectives.training import ZeRO2\n"
        "import numpy as np\n"
        "start = ZeRO2._start\n"
        "def _start(self, parameters, rate):\n"
        "    start(self, parameters, rate)\n"
        "    self.gradients = np.zeros_like(parameters)[: self.mine]\n"
        "ZeRO2._start = _start",
        {"kept"},
    ),
}


@pytest.mark.parametrize("ranks", [0, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_fails(mistake, ranks):
    patch, failing = MISTAKES[mistake]
    code = (
        f"import runpy, sys\n{patch}\nsys.argv = [{str(LESSON)!r}]\n"
        f"runpy.run_path({str(LESSON)!r}, run_name='__main__')"
    )
    launcher = ["mpirun", "-n", ranks] if ranks else []
    done = run(*launcher, sys.executable, "-c", code)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert {name for name, verdict in checks(done.stdout).items() if verdict == "FAIL"} == failing
