"""How jobs end: with 0 when all is well, soon and not with 0 when a rank fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

MPIRUN = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
needs_mpirun = pytest.mark.skipif(MPIRUN is None, reason="there is no mpirun")

ENVIRONMENT = {  # for Open MPI: as root, and more ranks than cores
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
SOON = 5.0
"""Seconds within which a job has to be over after a rank has failed."""

Outcome: TypeAlias = "subprocess.CompletedProcess[str]"


def run(*command: object, env: dict[str, str] | None = None, limit: float = 60) -> Outcome:
    """Run a command in a process group of its own, which ends with it."""
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=ENVIRONMENT | os.environ | (env or {}),
    )
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        pytest.fail(f"still running after {limit} s\n{out}\n{err}", pytrace=False)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def mpirun(ranks: int, *command: object) -> Outcome:
    return run(MPIRUN, "-n", ranks, *command)


# -------------------------------------------------------------------------------- programs

PROGRAM = """
import sys
from pathlib import Path

import numpy as np

from collectives import allreduce_ring
from collectives.launch import everywhere


def program(comm):
    def about_to_fail():
        Path(__file__).with_name(f"failed-{comm.rank}").touch()

    total = np.empty(1, int)
    allreduce_ring(comm, np.array([comm.rank + 1]), total)
    {fault}
    allreduce_ring(comm, np.array([comm.rank + 1]), total)
    return total.item()


world = everywhere(program, ranks=4)
if world.results:
    print(world.library or "simulated", world.size, world.results)
"""

FAULTS = {
    "an exception on rank 2": """
    if comm.rank == 2:
        about_to_fail()
        raise RuntimeError("the fault of rank 2")""",
    "an exception on rank 0": """
    if comm.rank == 0:
        about_to_fail()
        raise RuntimeError("the fault of rank 0")""",
    "an exception on all ranks": """
    about_to_fail()
    raise RuntimeError(f"the fault of rank {comm.rank}")""",
    "a bad argument on rank 3": """
    if comm.rank == 3:
        about_to_fail()
        allreduce_ring(comm, [1, 2, 3], total)  # the fault of rank 3""",
    "sys.exit(3) on rank 1": """
    if comm.rank == 1:
        about_to_fail()
        sys.exit(3)  # the fault of rank 1""",
}

Writer: TypeAlias = Callable[[str], Path]


@pytest.fixture
def script(tmp_path: Path) -> Writer:
    """Return what writes a script with a fault, given the code of the fault."""

    def write(fault: str = "") -> Path:
        path = tmp_path / "script.py"
        path.write_text(PROGRAM.replace("{fault}", fault.strip() or "pass"))
        return path

    return write


LAUNCHERS = {"python": [sys.executable], "python -m mpi4py": [sys.executable, "-m", "mpi4py"]}
however = pytest.mark.parametrize("launcher", LAUNCHERS.values(), ids=list(LAUNCHERS))


@needs_mpirun
@however
@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_a_fault_ends_the_job(script: Writer, fault: str, launcher: list[str]) -> None:
    path = script(fault)
    done = mpirun(4, *launcher, path)
    took = time.time() - max(file.stat().st_mtime for file in path.parent.glob("failed-*"))

    assert done.returncode != 0
    assert took < SOON
    assert "the fault of rank" in done.stderr
    assert "Traceback" in done.stderr
    assert "[10, 10, 10, 10]" not in done.stdout


@needs_mpirun
@however
def test_all_is_well(script: Writer, launcher: list[str]) -> None:
    done = mpirun(4, *launcher, script())
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" 4 [10, 10, 10, 10]\n")
    assert "simulated" not in done.stdout
    assert not done.stderr


def test_without_mpirun_ranks_are_simulated(script: Writer) -> None:
    done = run(sys.executable, script())
    assert done.returncode == 0, done.stderr
    assert done.stdout == "simulated 4 [10, 10, 10, 10]\n"


def test_a_fault_of_a_simulated_rank(script: Writer) -> None:
    done = run(sys.executable, script(FAULTS["an exception on rank 2"]))
    assert done.returncode != 0
    assert "RuntimeError: the fault of rank 2" in done.stderr


def test_mpirun_of_another_library(script: Writer) -> None:
    """It starts p jobs of one rank each, which must not pass for one job of p ranks."""
    foreign = {"MV2_COMM_WORLD_RANK": "0", "MV2_COMM_WORLD_SIZE": "4"}
    done = run(sys.executable, script(), env=foreign)
    assert done.returncode != 0
    assert "launcher started 4 ranks, but the MPI library sees 1" in done.stderr


# ---------------------------------------------------------------------- the tests in tests/mpi

VERDICTS = """
import pytest

pytestmark = pytest.mark.mpi


def test_good(world, agree):
    agree([])


def test_bad_on_rank_1(world, agree):
    agree([f"rank {world.rank} is odd"] if world.rank == 1 else [])


def test_raises_on_rank_2(world):
    assert world.rank != 2


def test_good_again(world):
    assert world.allreduce(1) == world.size
"""

WAITING = """
import pytest


@pytest.mark.mpi
def test_others_wait(world):
    if world.rank == 1:
        raise RuntimeError("the fault of rank 1")
    world.Barrier()
"""

DIFFERENT = """
import pytest
from mpi4py import MPI


@pytest.mark.mpi
@pytest.mark.parametrize("rank", [MPI.COMM_WORLD.rank])
def test_of_one_rank(rank):
    pass
"""


def pytest_on_mpi(folder: Path, tests: str) -> Outcome:
    shutil.copy(Path(__file__).parents[1] / "mpi" / "conftest.py", folder)
    (folder / "test_it.py").write_text(tests)
    options = ["-q", "--color=no", "-c", os.devnull, "--rootdir", folder]
    return mpirun(3, sys.executable, "-m", "pytest", "--with-mpi", *options, folder)


@needs_mpirun
def test_ranks_share_their_verdicts(tmp_path: Path) -> None:
    done = pytest_on_mpi(tmp_path, VERDICTS)
    assert done.returncode != 0
    assert done.stdout.count("2 failed, 2 passed") == 1
    assert done.stdout.count(" FAILURES ") == 1
    assert "[1] rank 1 is odd" in done.stdout
    assert "[2] test_raises_on_rank_2 raised" in done.stdout
    assert "assert world.rank != 2" in done.stdout


@needs_mpirun
def test_a_rank_that_fails_alone_ends_the_job(tmp_path: Path) -> None:
    done = pytest_on_mpi(tmp_path, WAITING)
    assert done.returncode != 0
    assert "[1] test_others_wait raised" in done.stderr
    assert "RuntimeError: the fault of rank 1" in done.stderr


@needs_mpirun
def test_ranks_that_collect_different_tests_run_none(tmp_path: Path) -> None:
    done = pytest_on_mpi(tmp_path, DIFFERENT)
    assert done.returncode != 0
    assert "the ranks have collected different tests" in done.stdout + done.stderr
    assert "passed" not in done.stdout
