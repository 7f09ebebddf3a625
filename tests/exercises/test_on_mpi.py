"""The second half of a grading: the same submission on the MPI library of mpirun."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from collectives.teach import mpi_stage
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


def lines_of(result: Grade) -> str:
    """Return what is printed, on one line."""
    return " ".join(" ".join(lines(result)).split())


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


def judged(name: str, *edits: tuple[str, str]) -> Grade:
    """Grade an edited right version of an exercise that has a judge."""
    asked = exercise(name)
    source = asked.right
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    result = grade_here(source, asked, quick=True)
    on_mpi(result, patience=3.0)
    return result


SENDING = (
    "hello_ranks", "first_letter", "pass_the_parcel", "split_world", "hierarchical_allreduce",
    "ddp_average", "zero1", "zero2_accum", "zero3", "tensor_parallel_pair", "compress_or_not",
    "cupy_ring",
)  # fmt: skip
"""The exercises whose judges ask for runs on ranks."""


@pytest.mark.parametrize("name", SENDING)
def test_scenes_are_played_there_too(name: str) -> None:
    result = judged(name)
    assert result.verdict == "CORRECT", "\n".join(lines(result))
    assert result.checks[-1].name == "MPI"
    assert result.checks[-1].tried >= 2


def test_where_nothing_is_sent_it_says_so() -> None:
    printed = "\n".join(lines(judged("straggler")))
    assert "MPI skipped: answers are asked for, nothing is sent" in printed


def test_a_scene_that_gives_something_else_there_is_no_pass() -> None:
    edit = ("    return", f"    if {UNDER_MPI}:\n        return gradient\n    return")
    result = judged("ddp_average", edit)
    assert not result.passed
    assert "gives another result than in simulation" in result.said


def test_the_parcel_that_nobody_can_take_is_explained_there() -> None:
    asked = exercise("pass_the_parcel")
    mutant = next(each for each in asked.mutants if each.diagnosis == "send-before-receive")
    result = grade_here(mutant.source(asked.right), asked, quick=True)
    on_mpi(result, patience=3.0)
    assert result.verdict == "DEADLOCK"
    assert "in a circle: 0 -> 1 -> 0" in result.on_mpi


def test_what_no_block_length_explains_is_named_too() -> None:
    """A fault that only MPI shows is not looked for in simulation again."""
    asked = exercise("ring_allreduce")
    result = grade_here(
        f"{asked.right}    if {UNDER_MPI}:\n        recvbuf[0] += 1\n", asked, quick=True
    )
    on_mpi(result, patience=3.0)
    assert result.diagnosis is not None
    assert result.diagnosis.id == "differs-on-mpi"


LEAVES = {
    "ended while it is loaded": (
        "import os\nif 'PMI_RANK' in os.environ or 'OMPI_COMM_WORLD_RANK' in os.environ:\n"
        "    os._exit(0)\n",
        "pass",
    ),
    "nothing in the folder": (
        "import glob, os\n",
        "[os.remove(f) for f in glob.glob(os.environ['HOME'] + '/*.*')]; os._exit(0)",
    ),
    "pipes instead of results": (
        "import os\n",
        "[os.mkfifo(f\"{os.environ['HOME']}/outcome-{i}.json\") for i in range(9)]; os._exit(0)",
    ),
    "results of its own making": (
        "import os\n",
        "[open(f\"{os.environ['HOME']}/outcome-{i}.json\", 'w').write('{\"ending\": null}') "
        "for i in range(9)]; os._exit(0)",
    ),
}


@pytest.mark.parametrize(("first", "act"), LEAVES.values(), ids=LEAVES)
def test_what_it_leaves_in_the_folder_is_no_pass(first: str, act: str) -> None:
    result = graded(f"{first}{ASKED.right}    if {UNDER_MPI}:\n        {act}\n")
    print(*lines(result), sep="\n")
    assert not result.passed
    assert result.checks[-1].name == "MPI"
    assert result.checks[-1].wrong is not None


def test_a_program_that_mpirun_starts_for_it_is_behind_walls(tmp_path: Path) -> None:
    if "files" not in guards():
        pytest.skip("this system has no Landlock: files are not guarded")
    mine = tmp_path / "mine"
    spawn = f"__import__('mpi4py.MPI').MPI.COMM_SELF.Spawn('/bin/sh', args=['-c', 'echo > {mine}'])"
    graded(f"{ASKED.right}    if {UNDER_MPI} and rank == 0:\n        {spawn}\n")
    assert not mine.exists()


def test_without_mpi4py_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi_stage, "find_spec", lambda name: None)
    assert "MPI skipped: there is no mpi4py: pip install mpi4py" in lines_of(graded(ASKED.right))


def test_without_mpirun_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = graded(ASKED.right)
    assert result.passed
    assert 'there is no mpirun: pip install "collectives[mpich]"' in lines_of(result)


def test_a_submission_with_wrong_values_is_not_run_there() -> None:
    result = graded(ASKED.right.replace("range(p - 1)", "range(p - 2)"))
    assert "MPI" not in [check.name for check in result.checks]
