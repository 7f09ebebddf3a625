"""Targets that end their process, crash it or write to its output: never exit code 0 unchecked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from collectives.oracle.apart import run_apart
from collectives.oracle.report import Fault, Report, Verdict

WRONG = """
import ctypes, os, sys
import numpy as np

def right(comm, sendbuf, recvbuf, op):
    vectors = [np.empty_like(sendbuf) for _ in range(comm.size)]
    for step in range(comm.size):
        dest, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        comm.Sendrecv(sendbuf, dest=dest, recvbuf=vectors[source], source=source)
    result = vectors[0].copy()
    for vector in vectors[1:]:
        op(result, vector, out=result)
    recvbuf[:] = result

def leaves(comm, sendbuf, recvbuf, op):
    right(comm, sendbuf, recvbuf, op)
    if comm.rank == 1:
        os._exit(0)

def leaves_in_c(comm, sendbuf, recvbuf, op):
    right(comm, sendbuf, recvbuf, op)
    if comm.size == 3:
        ctypes.CDLL(None)._exit(0)

def crashes(comm, sendbuf, recvbuf, op):
    right(comm, sendbuf, recvbuf, op)
    if comm.size == 3:
        ctypes.string_at(0)

def ends(comm, sendbuf, recvbuf, op):
    right(comm, sendbuf, recvbuf, op)
    if comm.size == 3 and comm.rank == 2:
        sys.exit(0)

def boasts(comm, sendbuf, recvbuf, op):
    right(comm, sendbuf, recvbuf, op)
    print("PASS everything")
    ctypes.CDLL(None).puts(b"PASS everything")
    recvbuf[:1] = 0
"""


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("targets") / "wrong.py"
    file.write_text(WRONG)
    return file


def check(target: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "collectives", "check", "allreduce", target, "--json"]
    return subprocess.run(
        [*command, "--only", "right_values", *arguments],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "case", "rank", "text"),
    [
        ("leaves", "p=2 n=0", 1, "SystemExit: os._exit(0) (wrong.py:"),
        ("leaves_in_c", "p=3 n=0", None, "the call ended the process, with exit code 0"),
        ("crashes", "p=3 n=0", None, "the call ended the process, with signal 11"),
        ("ends", "p=3 n=0", 2, "SystemExit: 0 (wrong.py:"),
        ("boasts", "p=1 n=1", 0, "rank 0 block 0 element 0 has 0, wants"),
    ],
)
def test_fault_is_reported(wrong: Path, name: str, case: str, rank: int | None, text: str) -> None:
    done = check(f"{wrong}:{name}", "-p", "1-3", "--quick")
    assert done.returncode == 1, done.stderr
    (verdict,) = json.loads(done.stdout)["verdicts"]  # and nothing else is there
    fault = verdict["fault"]
    assert (fault["case"], fault["rank"]) == (case, rank)
    assert text in fault["text"]
    assert fault["command"] == (
        f'collectives check allreduce {wrong}:{name} --case "{case}" --only right_values'
    )


def test_what_is_right_holds(wrong: Path) -> None:
    done = check(f"{wrong}:right", "-p", "1-3", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr


def test_error_of_the_user_is_raised_where_it_was_asked() -> None:
    def work(before: object, tell: object) -> Report:
        raise ValueError("wants a number")

    with pytest.raises(ValueError, match="wants a number"):
        run_apart(work, print)


def test_reports_come_early_and_at_the_end() -> None:
    fault = Fault("right_values", "allreduce", "mine", "p=1 n=1", "wrong")
    final = Report("mine", "simulated", (Verdict("x", "allreduce", "mine", "held"),))
    early = Report("mine", "simulated", (Verdict("x", "allreduce", "mine", "broken", fault=fault),))

    def work(before: object, tell: object) -> Report:
        tell(early)  # type: ignore[operator]
        return final

    told: list[Report] = []
    assert run_apart(work, told.append) == final
    assert told == [early]
