"""Checks on real ranks: verdicts, and what is said when ranks hang, raise or die.

With MPICH, and with Open MPI where ``OPENMPI_PYTHON`` names a Python that has it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

WRONG = '''
import ctypes
import os
import numpy as np

def right(comm, sendbuf, recvbuf, op):
    """Gather everything, add in order."""
    vectors = {comm.rank: sendbuf.copy()}
    for step in range(1, comm.size):
        dest, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        vectors[source] = np.empty_like(sendbuf)
        comm.Sendrecv(sendbuf, dest=dest, sendtag=step, recvbuf=vectors[source], source=source,
                      recvtag=step)
    result = vectors[0].copy()
    for rank in range(1, comm.size):
        op(result, vectors[rank], out=result)
    recvbuf[:] = result

def skips_rank_1(comm, sendbuf, recvbuf, op):
    right(comm, sendbuf * (comm.rank != 1), recvbuf, op)

def receives_first(comm, sendbuf, recvbuf, op):
    recvbuf[:] = sendbuf
    other = np.empty_like(sendbuf)
    for step in range(1, comm.size):
        comm.Recv(other, source=(comm.rank - step) % comm.size)
        comm.Send(sendbuf, dest=(comm.rank + step) % comm.size)

def sends_first(comm, sendbuf, recvbuf, op):
    vectors = {comm.rank: sendbuf.copy()}
    for step in range(1, comm.size):
        comm.Send(sendbuf, dest=(comm.rank + step) % comm.size)
        source = (comm.rank - step) % comm.size
        vectors[source] = np.empty_like(sendbuf)
        comm.Recv(vectors[source], source=source)
    result = vectors[0].copy()
    for rank in range(1, comm.size):
        op(result, vectors[rank], out=result)
    recvbuf[:] = result

def raises_on_rank_1(comm, sendbuf, recvbuf, op):
    if comm.rank == 1:
        raise RuntimeError("no memory left")
    right(comm, sendbuf, recvbuf, op)

def dies_on_rank_1(comm, sendbuf, recvbuf, op):
    if comm.rank == 1:
        ctypes.CDLL(None)._exit(3)
    right(comm, sendbuf, recvbuf, op)

def die_in_peace(comm, sendbuf, recvbuf, op):
    right(comm, sendbuf, recvbuf, op)
    ctypes.CDLL(None)._exit(0)

def leave_in_peace(comm, sendbuf, recvbuf, op):
    right(comm, sendbuf, recvbuf, op)
    os._exit(0)

def sends_one_too_many(comm, sendbuf, recvbuf, op):
    right(comm, sendbuf, recvbuf, op)
    if comm.size > 1:
        comm.Send(np.zeros(1), dest=(comm.rank + 1) % comm.size, tag=99)
'''

OPENMPI = os.environ.get("OPENMPI_PYTHON", "")
LIBRARIES = ["MPICH", *(["Open MPI"] if OPENMPI else [])]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("targets") / "wrong.py"
    file.write_text(WRONG)
    return file


def run(library: str, *arguments: object, ranks: int = 3) -> subprocess.CompletedProcess[str]:
    """Run ``collectives check allreduce ...`` on real ranks."""
    python, environment = sys.executable, dict(os.environ)
    if library == "Open MPI":
        python = OPENMPI
        environment |= {
            "PATH": f"{Path(python).parent}{os.pathsep}{environment['PATH']}",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "OMPI_MCA_mpi_yield_when_idle": "1",
        }
    words = ["mpirun", "-n", ranks, python, "-m", "collectives", "check", "allreduce", *arguments]
    return subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=100, env=environment
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_right_function_holds(library: str, wrong: Path) -> None:
    done = run(library, f"{wrong}:right", "--quick", "--skip", "survives_foreign_traffic")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right_values                PASS" in done.stdout
    assert "time_matches_cost           -     not claimed" in done.stdout
    assert "big_counts                  -     not observable" in done.stdout


@pytest.mark.parametrize("library", LIBRARIES)
def test_wrong_values_are_reported_once_with_who_is_missing(library: str, wrong: Path) -> None:
    done = run(library, f"{wrong}:skips_rank_1", "--only", "every_rank_counted_once")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count("p=2 n=1: rank 0 block 0 element 0 has 0, wants 0+1\n    counted") == 1
    assert "counted: rank 1: 0" in done.stdout
    assert "suspected: F1 contribution" in done.stdout
    assert f'mpirun -n 3 collectives check allreduce {wrong}:skips_rank_1 --case "p=2 n=1"' in (
        done.stdout
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_ranks_in_a_circle_are_reported_and_the_job_ends(library: str, wrong: Path) -> None:
    done = run(library, f"{wrong}:receives_first", "--patience", 1)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"rank 0: Recv from 1 \(any tag\) at wrong\.py:\d+\n", done.stdout)
    assert "in a circle: 0 -> 1 -> 0" in done.stdout
    assert "suspected: F10 deadlock" in done.stdout


def test_the_report_so_far_reaches_the_files_when_ranks_hang(wrong: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    target = f"{wrong}:sends_first"
    only = "order_kept,finishes_without_buffering"
    done = run("MPICH", target, "--patience", 1, "--only", only, "--json", file, "-p", "2-3")
    document = json.loads(file.read_text())
    assert done.returncode == document["exit_code"] == 1, done.stdout + done.stderr
    first, second = document["verdicts"]
    assert (first["property"], first["status"]) == ("order_kept", "held")
    assert (second["property"], second["status"]) == ("finishes_without_buffering", "broken")
    assert "Send to" in second["fault"]["text"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_rank_that_raises_is_named_while_others_wait(library: str, wrong: Path) -> None:
    done = run(library, f"{wrong}:raises_on_rank_1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "rank 1 raised RuntimeError: no memory left (wrong.py:" in done.stdout


@pytest.mark.parametrize("library", LIBRARIES)
def test_rank_that_dies_is_named(library: str, wrong: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = run(library, f"{wrong}:dies_on_rank_1", "--json", file)
    assert done.returncode == 1, done.stdout + done.stderr
    (verdict,) = json.loads(file.read_text())["verdicts"]
    fault = verdict["fault"]
    assert (fault["rank"], fault["case"]) == (1, "p=2 n=0")
    assert fault["text"].startswith("rank 1 has died: in the target's call")
    assert fault["command"] == (
        f"mpirun -n 3 collectives check allreduce {wrong}:dies_on_rank_1 "
        '--case "p=2 n=0" --only right_values'
    )


@pytest.mark.parametrize("name", ["die_in_peace", "leave_in_peace"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_job_that_the_target_ends_well_does_not_end_well(
    library: str, name: str, wrong: Path
) -> None:
    done = run(library, f"{wrong}:{name}", "--only", "right_values", "-p", 3)
    assert done.returncode != 0, done.stdout + done.stderr
    assert re.search(r"rank \d has died|SystemExit: os\._exit\(0\)", done.stdout + done.stderr)


def test_message_that_nobody_receives(wrong: Path) -> None:
    done = run("MPICH", f"{wrong}:sends_one_too_many", "--only", "leaves_no_message_behind")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "p=2 n=0: rank 0: 1 of 2 messages to 1 were never received" in done.stdout
    assert "suspected: F9 matching" in done.stdout


def test_the_library_itself() -> None:
    done = run("MPICH", "--target", "mpi", "--quick", "--json", ranks=2)
    document = json.loads(done.stdout)
    assert done.returncode == document["exit_code"] == 0, done.stdout + done.stderr
    assert document["world"].startswith("MPICH")
    hidden = {v["property"] for v in document["verdicts"] if v["status"] == "not observable"}
    assert hidden == {
        "leaves_no_message_behind", "messages_match_cost", "ran_what_was_asked",
        "finishes_without_buffering", "time_matches_cost", "big_counts",
    }  # fmt: skip
