"""The second half of a grading: the same submission on the MPI library of mpirun."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from collectives.teach.exercise import exercise
from collectives.teach.feedback import lines
from collectives.teach.grader import Grade, grade_here
from collectives.teach.limits import guards
from collectives.teach.mpi_stage import on_mpi

pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")

ASKED = exercise("ring_allgather")
SWAP = "comm.Sendrecv(outgoing, dest=right, recvbuf=incoming, source=left)"
UNDER_MPI = "hasattr(comm, 'Allreduce')"


def graded(source: str) -> Grade:
    """Grade a text that behaves in simulation, and then on MPI."""
    result = grade_here(source, ASKED, quick=True)
    on_mpi(result, patience=3.0)
    return result


def test_a_right_submission_passes() -> None:
    result = graded(ASKED.right)
    assert result.verdict == "CORRECT", "\n".join(lines(result))
    assert result.checks[-1].name == "MPI"
    assert result.checks[-1].tried == 4
    assert re.fullmatch(r"simulated ranks and \w.* \d+\.\d+.*", result.where)


def test_a_deadlock_is_explained_with_its_circle_and_lines() -> None:
    swapped = "comm.Send(outgoing, dest=right)\n        comm.Recv(incoming, source=left)"
    result = graded(ASKED.right.replace(SWAP, swapped))
    assert result.verdict == "DEADLOCK"
    assert result.diagnosis is not None
    assert result.diagnosis.id == "send-before-receive"
    line = 1 + ASKED.right[: ASKED.right.index(SWAP)].count("\n")
    for rank in range(4):
        assert f"rank {rank}: Send to {(rank + 1) % 4} (tag 0) at line {line}" in result.on_mpi
    assert "in a circle: 0 -> 1 -> 2 -> 3 -> 0" in result.on_mpi


ONLY_THERE = {
    "an exit": "__import__('os')._exit(0)",
    "an exit in order": "raise SystemExit(0)",
    "an exception on one rank": "comm.rank == 1 and 1 / 0",
    "another value": "recvbuf.fill(7)",
    "an endless loop": "[0 for _ in iter(int, 1)]",
    "a crash": "__import__('ctypes').string_at(0)",
    "endless output": "[print('PASS' * 100_000) for _ in iter(int, 1)]",
    "nothing received": "comm.Recv(recvbuf, source=left)",
}


@pytest.mark.parametrize("act", ONLY_THERE.values(), ids=ONLY_THERE)
def test_what_goes_wrong_there_only_is_no_pass(act: str) -> None:
    source = ASKED.right + f"    if {UNDER_MPI} and p == 4:\n        {act}\n"
    result = graded(source)
    print(*lines(result), sep="\n")
    assert not result.passed
    assert result.checks[-1].name == "MPI"
    assert result.checks[-1].wrong is not None


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    if "files" not in guards():
        pytest.skip("this system has no Landlock: files are not guarded")
    mine = tmp_path / "mine"
    source = ASKED.right + (
        f"    if {UNDER_MPI}:\n        try:\n            open({str(mine)!r}, 'w')\n"
        "        except OSError:\n            pass\n"
    )
    assert graded(source).passed
    assert not mine.exists()


def test_without_mpirun_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = graded(ASKED.right)
    assert result.passed
    assert "MPI skipped: there is no mpirun" in "\n".join(lines(result))


def test_a_submission_with_wrong_values_is_not_run_there() -> None:
    result = graded(ASKED.right.replace("range(p - 1)", "range(p - 2)"))
    assert "MPI" not in [check.name for check in result.checks]
