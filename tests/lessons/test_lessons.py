"""What holds for every lesson, found by its file, run as a reader runs it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from collectives.draw.text import bold

LESSONS = sorted(Path(__file__).parents[2].glob("lessons/[!_]*.py"))
EACH = pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
slow = pytest.mark.slow


def run(*command, answers=None, cwd=None):
    """Run a command, ended with all that it started if it hangs."""
    stdin = {"input": answers} if answers else {"stdin": subprocess.DEVNULL}
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=120, cwd=cwd, **stdin
    )


def check_printed(done):
    """Check what all lessons print alike."""
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    text = done.stdout
    lines = text.splitlines()
    assert text.isascii()
    assert "\033" not in text
    assert max(map(len, lines)) <= 100
    assert text.count("LESSON  ") == 1
    assert re.search(r"^question \w", text, re.MULTILINE)
    assert "PASS" in text
    assert "FAIL" not in text
    assert re.search(r"^predict  .*the run says ", text, re.MULTILINE)
    end = text.rpartition("\ntry next 1) ")[2]
    assert end, "the last thing printed is what to try next"
    assert len(re.findall(r"^ +\d\) ", end, re.MULTILINE)) >= 1
    assert "\n\n" not in end


@EACH
def test_simulated(lesson, tmp_path):
    """On eight ranks: with files to look at, and a prediction that is typed before the run."""
    flags = ["--predict", "--svg", "figure.svg", "--html", "run.html"]
    done = run(sys.executable, lesson, *flags, answers="a\n1\n", cwd=tmp_path)
    check_printed(done)
    assert done.stdout.startswith("before the run\n")
    assert "you said" in done.stdout
    heading = next(line for line in done.stdout.splitlines() if line.startswith("LESSON"))
    assert re.search(r" 8 ranks, .*simulated in one process$", heading)
    assert "wrote    figure.svg, the figure\nwrote    run.html, to step through" in done.stdout
    assert "<svg" in (tmp_path / "figure.svg").read_text()
    assert (tmp_path / "run.html").read_text().lstrip().lower().startswith("<!doctype html>")


@slow
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@EACH
def test_simulated_on_any_number_of_ranks(lesson, ranks, tmp_path):
    flags = ["-n", ranks, "--svg", "figure.png", "--html", "run.html"]
    check_printed(run(sys.executable, lesson, *flags, cwd=tmp_path))
    assert all(file.stat().st_size > 1000 for file in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("ranks", [3, pytest.param(8, marks=slow), pytest.param(1, marks=slow)])
@EACH
def test_on_mpi(lesson, ranks):
    done = run("mpirun", "-n", ranks, sys.executable, lesson)
    check_printed(done)
    heading = done.stdout.splitlines()[0]
    assert f"{ranks} rank" in heading
    assert "simulated" not in heading


@EACH
def test_docstring_says_how_to_run_it(lesson):
    lines = lesson.read_text(encoding="utf-8").splitlines()
    assert re.match(r'"""[A-Z][^:]+: .+', lines[0])
    text = "\n".join(lines[:8])
    assert f"mpirun -n 8 python lessons/{lesson.name}" in text
    assert f"\npython lessons/{lesson.name}" in text


def test_many_ranks_are_simulated():
    """Who runs on MPI is not sent to 64 processes on a laptop, but to as many simulated ranks."""
    lesson = LESSONS[0].parent / "choose_wisely.py"
    done = run("mpirun", "-n", 3, sys.executable, lesson)
    assert "1) python lessons/choose_wisely.py -n 64\n" in done.stdout
    assert "2) mpirun -n 6 python lessons/choose_wisely.py\n" in done.stdout


def test_no_colour_from_ranks_of_a_launcher(monkeypatch):
    """Open MPI gives ranks a terminal even where its own output goes into a file."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert bold("PASS") == "\033[1mPASS\033[0m"
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    assert bold("PASS") == "PASS"


def test_asked_without_anybody_there():
    lesson = LESSONS[0].parent / "ring_allreduce.py"
    done = run(sys.executable, lesson, "-n", "2", "--predict")
    assert done.returncode == 0
    assert "(no answer; the run goes on)" in done.stdout
    assert "you said" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--predict=much"], "'much', wants a number, such as 1500 or 1.5 kB"),
        (["--svg", "figure.gif"], "figure.gif, wants a name in .svg or .png"),
        (["--html", "nowhere/run.html"], "there is no folder nowhere"),
    ],
)
def test_wrong_flags(arguments, message):
    lesson = LESSONS[0].parent / "ring_allreduce.py"
    done = run(sys.executable, lesson, *arguments)
    assert done.returncode == 2
    assert message in done.stderr


FAULTS = {
    "point_to_point": (
        "fit",
        """
        from collectives.sim import network
        before = network._OnePort.carry
        def carry(self, source, dest, nbytes, start):
            return before(self, source, dest, 2 * nbytes, start)
        network._OnePort.carry = carry
        """,
    ),
    "deadlock": (
        "deadlock",
        """
        from collectives.sim.comm import SimComm
        SimComm.Ssend = SimComm.Send
        """,
    ),
    "primitives": (
        "meaning",
        """
        from collectives import find
        object.__setattr__(find("bcast", "binomial"), "function", lambda *args, **kwargs: None)
        """,
    ),
    "tree_allreduce": (
        "value",
        """
        import collectives.algorithms.allreduce.reduce_bcast as module
        module.bcast_binomial = lambda *args, **kwargs: None
        """,
    ),
    "double_binary_tree": (
        "edges",
        """
        import collectives.algorithms.allreduce.double_binary_tree as module
        before = module.tree_pair
        module.tree_pair = lambda p, per_node: [before(p, per_node)[0]] * 2
        """,
    ),
    "halving_doubling": (
        "steps",
        """
        import collectives.algorithms.allreduce.rabenseifner as module
        before = module.fold_out
        def twice(comm, recvbuf):
            before(comm, recvbuf)
            before(comm, recvbuf)
        module.fold_out = twice
        """,
    ),
    "choose_wisely": (
        "formula",
        """
        from collectives.sim import network
        before = network._OnePort.carry
        def carry(self, source, dest, nbytes, start):
            return before(self, source, dest, 2 * nbytes, start)
        network._OnePort.carry = carry
        """,
    ),
    "alltoall": (
        "bruck",
        """
        from collectives import find
        object.__setattr__(find("alltoall", "bruck"), "function", lambda *args, **kwargs: None)
        """,
    ),
    "hierarchical": (
        "value",
        """
        import collectives.algorithms.allreduce.multi_leader as module
        module.allgather_ring = lambda *args, **kwargs: None
        """,
    ),
    "floating_point": (
        "ranks",
        """
        from collectives import find
        before = find("allreduce", "ring").function
        def other_bits(comm, sendbuf, recvbuf, **options):
            before(comm, sendbuf, recvbuf, **options)
            recvbuf[comm.rank] += 1
        object.__setattr__(find("allreduce", "ring"), "function", other_bits)
        """,
    ),
    "case_study": (
        "formula",
        """
        from collectives import find
        before = find("allreduce", "ring").function
        def twice(*args):
            before(*args)
            before(*args)
        object.__setattr__(find("allreduce", "ring"), "function", twice)
        """,
    ),
    "nccl_tuning": (
        "bytes",
        """
        from collectives import SUM, find
        before = find("allreduce", "multi_ring").function
        def one_channel(comm, sendbuf, recvbuf, op=SUM, *, channels=2, per_node=4):
            before(comm, sendbuf, recvbuf, op, channels=1, per_node=per_node)
        object.__setattr__(find("allreduce", "multi_ring"), "function", one_channel)
        """,
    ),
    "misconceptions": (
        "runs",
        """
        from collectives import find
        before = find("allreduce", "ring").function
        def twice(*args, **options):
            before(*args, **options)
            before(*args, **options)
        object.__setattr__(find("allreduce", "ring"), "function", twice)
        """,
    ),
}
"""By lesson: the check that has to fail, and a fault that is planted before it runs."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_gives_exit_code_1(name):
    check, fault = FAULTS[name]
    lesson = LESSONS[0].parent / f"{name}.py"
    lines = [
        "import runpy, sys, textwrap",
        f"exec(textwrap.dedent({fault!r}))",
        f"sys.argv = [{str(lesson)!r}, '-n', '3', '--trace', 'none']",
        f"runpy.run_path({str(lesson)!r}, run_name='__main__')",
    ]
    done = run(sys.executable, "-c", "\n".join(lines))
    assert done.returncode == 1, done.stderr
    assert re.search(rf"{check} +FAIL", done.stdout), done.stdout[-2000:]
    assert "Traceback" not in done.stderr


def test_deadlock_on_mpi_names_circle_and_lines():
    lesson = LESSONS[0].parent / "deadlock.py"
    done = run("mpirun", "-n", 3, sys.executable, lesson)
    assert done.returncode == 0, done.stderr
    line = next(
        number
        for number, text in enumerate(lesson.read_text().splitlines(), 1)
        if "getattr(comm, send)" in text
    )
    assert f"rank 0: Send to 1 (tag 0) at deadlock.py:{line}" in done.stdout
    assert "in a circle: 0 -> 1 -> 2 -> 0" in done.stdout
