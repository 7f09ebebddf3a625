"""``collectives fingerprint``, as typed."""

import json
import os
import subprocess
import sys

import pytest

OWN_ORDER = '''
import numpy as np
from collectives import allgather_ring

def own_first(comm, sendbuf, recvbuf, op):
    """Every rank begins with its own vector."""
    rows = np.empty((comm.size, sendbuf.size), sendbuf.dtype)
    allgather_ring(comm, sendbuf, rows.reshape(-1))
    rows = np.roll(rows, -comm.rank, axis=0)
    recvbuf[:] = rows[0]
    for row in rows[1:]:
        op(recvbuf, row, out=recvbuf)

def in_double(comm, sendbuf, recvbuf, op):
    rows = np.empty((comm.size, sendbuf.size), sendbuf.dtype)
    allgather_ring(comm, sendbuf, rows.reshape(-1))
    recvbuf[:] = rows.astype(float).sum(axis=0)

def waits(comm, sendbuf, recvbuf, op):
    comm.Recv(recvbuf, source=0)
'''


def run(*arguments, ranks=0, **environment):
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    command = [*launcher, sys.executable, "-m", "collectives", "fingerprint"]
    return subprocess.run(
        [*command, *map(str, arguments)], env=os.environ | environment, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip


def test_a_ring_by_size():
    done = run("allreduce", "ring", "-p", 7, "--sizes", "8,1KiB,...,16KiB")
    assert done.returncode == 0, done.stdout + done.stderr
    small, large = done.stdout.split("\n\n")[1:]
    assert small.startswith("8 B\n")
    assert large.startswith("1 KiB to 16 KiB\n")
    for part in ("((((((1+2)+3)+4)+5)+6)+0) in block 0", "rotates with the block", " ring, ",
                 "6 additions in a row", "same grouping", "as wide as", "PASS"):  # fmt: skip
        assert part in large
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("scan", "linear", "-p", 3), "rank 2: ((0+1)+2)"),
        (("exscan", "linear", "-p", 3), "rank 2: (0+1)"),
        (("reduce", "binomial", "-p", 4, "--root", 2), "((0+1)+(2+3))"),
        (("reduce_scatter", "pairwise", "-p", 3), "rotates with the block"),
        (("allreduce", "binary_tree", "-p", 2, "--dtype", "bfloat16"), "bfloat16, simulated"),
    ],
)
def test_every_collective_that_adds(arguments, part):
    done = run(*arguments, "--sizes", "128")
    assert done.returncode == 0, done.stdout + done.stderr
    assert part in done.stdout
    assert "PASS" in done.stdout


def test_json():
    document = json.loads(run("allreduce", "ring", "-p", 3, "--sizes", "48", "--json").stdout)
    assert (document["ranks"], document["dtype"]) == (3, "float64")
    (found,) = document["sizes"]
    assert found["trees"][0] == found["trees"][2]
    assert found["trees"][0][0] == [0, 2, "((1+2)+0)"]
    assert "ring" in found["same_operand_order"]
    assert found["predicted"]
    assert found["broken"] is None


def test_ranks_that_disagree_are_a_fault(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN_ORDER)
    done = run("allreduce", f"{file}:own_first", "-p", 3, "--sizes", "8")
    assert done.returncode == 1
    assert "do NOT agree" in done.stdout
    assert "rank 1: ((1+2)+0)" in done.stdout


def test_a_wide_accumulator_is_none(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN_ORDER)
    done = run("allreduce", f"{file}:in_double", "-p", 3, "--sizes", 8, "--dtype", "float32")
    assert done.returncode == 0
    for part in ("wide(0+1+2)", "wider than the elements", "not predicted"):
        assert part in done.stdout


def test_a_deadlock_is_a_fault(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN_ORDER)
    done = run("allreduce", f"{file}:waits", "-p", 2)
    assert done.returncode == 1
    assert "2 of 2 ranks wait forever" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bcast", "ring"), "bcast adds nothing up"),
        (("allreduce",), "runs under mpirun"),
        (("allreduce", "ring", "--dtype", "int64"), "wants one of float64"),
        (("allreduce", "ring", "--target", "mpi"), "one of the two"),
        (("allreduce", "ring", "--sizes", "many"), "'many' is no size in bytes"),
        (("allreduce", "ring", "-p", "129"), "up to 128 ranks"),
        (("reduce", "binomial", "--root", "8"), "root is 8, wants 0..7"),
        (("allreduce", "swing", "-p", "3"), "needs power_of_two"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_library_is_the_target_under_mpirun():
    done = run("--sizes", "8", ranks=4)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("allreduce of mpi  p=4 float64, MPICH")
    assert done.stdout.count("random floats PASS") == 1


def test_a_forced_algorithm_of_mpich_is_recognised():
    done = run(
        "--sizes", "8", "--json", ranks=4,
        MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM="ring", MPIR_CVAR_DEVICE_COLLECTIVES="none",
        MPIR_CVAR_COLLECTIVE_FALLBACK="error",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["sizes"]
    assert "ring" in found["matches"]
    assert found["trees"][0] == [[0, 1, "(((1+2)+3)+0)"]]
