"""The ring lesson, run as a reader runs it: on MPI and simulated, right and broken."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

LESSON = Path(__file__).parents[2] / "lessons" / "ring_allreduce.py"


def run(*command, env=None):
    """Run a command, ended with all that it started if it hangs."""
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=60, env=env
    )


def on_mpi(ranks, *arguments):
    return run("mpirun", "-n", ranks, sys.executable, LESSON, *arguments)


def simulated(*arguments):
    return run(sys.executable, LESSON, *arguments)


def broken(ranks, patch):
    """Run the lesson after `patch`, Python code that sees the algorithm's module as `ring`."""
    code = (
        "import runpy, sys\nimport collectives.algorithms.allreduce.ring as ring\n"
        f"{patch}\nsys.argv = [{str(LESSON)!r}]\n"
        f"runpy.run_path({str(LESSON)!r}, run_name='__main__')"
    )
    launcher = ["mpirun", "-n", ranks] if ranks else []
    return run(*launcher, sys.executable, "-c", code)


def checks(output):
    return re.findall(r"^(?:check)? +(\w+) +(PASS|FAIL)", output, re.MULTILINE)


ALL_PASS = [(name, "PASS") for name in ("value", "counts", "traffic", "steps")]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 11, 12])
def test_simulated(ranks):
    done = simulated("-n", ranks)
    assert done.returncode == 0, done.stderr
    assert "simulated in one process" in done.stdout
    assert checks(done.stdout) == ALL_PASS
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert done.stdout.isascii()
    assert "\033" not in done.stdout


@pytest.mark.parametrize("ranks", [1, 3, 8])
def test_on_mpi(ranks):
    done = on_mpi(ranks)
    assert done.returncode == 0, done.stderr
    assert "simulated" not in done.stdout
    assert checks(done.stdout) == ALL_PASS
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert done.stdout.count("LESSON") == 1
    assert "ratio" in done.stdout


def test_the_table_shows_every_step():
    lines = simulated("-n", 4).stdout.splitlines()
    table = lines[lines.index(next(line for line in lines if "block 0" in line)) + 1 :]
    titles = [line[:6].strip() for line in table[: 4 * 7] if line[:6].strip()]
    assert titles == ["start", "RS 1", "RS 2", "RS 3", "AG 1", "AG 2", "AG 3"]
    assert table[4].split() == ["RS", "1", "r0", "0", "0", "03*", "0", "c3", "->", "r1"]
    assert all("0123" in cell for row in table[24:28] for cell in row.split()[-7:-3])


def test_trace_none_and_full():
    assert "block 0" not in simulated("-n", 3, "--trace", "none").stdout
    full = simulated("-n", 3, "--trace", "full").stdout
    assert len(re.findall(r"^(?:RS|AG) \d  r\d -> r\d ", full, re.MULTILINE)) == 2 * 3 * 2


@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint64", "float16", "float64", "complex64", "bfloat16", "float8_e5m2", "float8_e3m4"],
)
@pytest.mark.parametrize("elements", [0, 1, 7])
def test_any_type_and_length(dtype, elements):
    done = simulated("-n", 3, "--elements", elements, "--dtype", dtype)
    assert done.returncode == 0, done.stdout + done.stderr


def test_counted_bytes_meet_the_formula():
    output = simulated("-n", 8, "--elements", 8000, "--dtype", "float64").stdout
    assert "counted 112 kB" in output
    assert "formula 112 kB = 2(p-1)/p S" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dtype", "foo"], "NumPy has no type 'foo'"),
        (["--dtype", "U3"], "dtype is <U3, wants a number type"),
        (["--elements", "-1"], "-1, wants at least 0"),
        (["-n", "0"], "0, wants at least 1"),
    ],
)
def test_wrong_flags(arguments, message):
    done = simulated(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_wrong_flags_are_said_once_under_mpi():
    done = on_mpi(3, "-n", 5)
    assert done.returncode != 0
    assert done.stderr.count("mpirun decides how many ranks") == 1


@pytest.mark.parametrize("ranks", [0, 3])
def test_a_wrong_result_fails(ranks):
    done = broken(ranks, "ring.allgather_ring = lambda *args, **kwargs: None")
    assert done.returncode != 0
    assert ("value", "FAIL") in checks(done.stdout)
    assert ("counts", "FAIL") in checks(done.stdout)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ranks", [0, 3])
def test_too_many_messages_fail_though_values_are_right(ranks):
    patch = """
import numpy as np
before = ring.allgather_ring
def with_one_more(comm, sendbuf, recvbuf, *, counts):
    before(comm, sendbuf, recvbuf, counts=counts)
    comm.Sendrecv(recvbuf.copy(), dest=(comm.rank + 1) % comm.size,
                  recvbuf=np.empty_like(recvbuf), source=(comm.rank - 1) % comm.size)
ring.allgather_ring = with_one_more
"""
    done = broken(ranks, patch)
    assert done.returncode != 0
    assert dict(checks(done.stdout)) == {
        "value": "PASS", "counts": "PASS", "traffic": "FAIL", "steps": "FAIL",
    }  # fmt: skip


def test_an_exception_on_one_rank_ends_the_job():
    done = broken(4, "def fail(comm, *args, **kwargs):\n  assert comm.rank != 2, 'on purpose'\n"
                     "ring.allgather_ring = fail")  # fmt: skip
    assert done.returncode != 0
    assert "rank 2 of 4" in done.stderr
    assert "on purpose" in done.stderr
