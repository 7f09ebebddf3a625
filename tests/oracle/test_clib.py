"""C functions with MPI's signatures, compiled here and checked under mpirun."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from collectives.oracle.targets_clib import SIGNATURES, CLibrary, form_of
from collectives.registry import COLLECTIVES

MPICC = shutil.which("mpicc", path=str(Path(sys.executable).parent)) or shutil.which("mpicc")
needs_compiler = pytest.mark.skipif(
    MPICC is None or shutil.which("cc") is None, reason="there is no C compiler with mpi.h"
)

RING = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int start(int n, int p, int block) {
    return n / p * block + (block < n % p ? block : n % p);
}

/* A ring: p - 1 steps of a reduce-scatter, then p - 1 of an allgather. */
static int ring(const void *sendbuf, void *recvbuf, int count, int used, MPI_Datatype type,
                MPI_Op op, MPI_Comm callers) {
    int p, rank, commutes;
    MPI_Aint lower, extent;
    MPI_Comm comm;
    MPI_Op_commutative(op, &commutes);
    if (!commutes) return MPI_ERR_OP; /* a ring cannot keep the order of operands */
    MPI_Comm_dup(callers, &comm);
    MPI_Comm_size(comm, &p);
    MPI_Comm_rank(comm, &rank);
    MPI_Type_get_extent(type, &lower, &extent);
    char *result = recvbuf, *incoming = malloc((used / p + 1) * extent);
    if (sendbuf != MPI_IN_PLACE) memcpy(recvbuf, sendbuf, count * extent);
    int right = (rank + 1) % p, left = (rank - 1 + p) % p;
    for (int step = 0; step < 2 * (p - 1); step++) {
        int out = (rank - step + 2 * p) % p, in = (rank - step - 1 + 2 * p) % p;
        int from = start(used, p, out), to = start(used, p, out + 1);
        int at = start(used, p, in), end = start(used, p, in + 1);
        MPI_Sendrecv(result + from * extent, to - from, type, right, 0, incoming, end - at, type,
                     left, 0, comm, MPI_STATUS_IGNORE);
        if (step < p - 1)
            MPI_Reduce_local(incoming, result + at * extent, end - at, type, op);
        else
            memcpy(result + at * extent, incoming, (end - at) * extent);
    }
    free(incoming);
    MPI_Comm_free(&comm);
    return MPI_SUCCESS;
}

int right_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm) {
    return ring(sendbuf, recvbuf, count, count, type, op, comm);
}

/* The remainder of count / p is never combined. */
int tail_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
    int p;
    MPI_Comm_size(comm, &p);
    return ring(sendbuf, recvbuf, count, count / p * p, type, op, comm);
}

/* Everyone sends before anyone receives: works as long as the library buffers. */
int hangs_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm callers) {
    int p, rank;
    MPI_Aint lower, extent;
    MPI_Comm comm;
    MPI_Comm_dup(callers, &comm);
    MPI_Comm_size(comm, &p);
    MPI_Comm_rank(comm, &rank);
    MPI_Type_get_extent(type, &lower, &extent);
    char *mine = malloc(count * extent + 1), *incoming = malloc(count * extent + 1);
    memcpy(mine, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, count * extent);
    memcpy(recvbuf, mine, count * extent);
    for (int step = 1; step < p; step++) {
        MPI_Send(mine, count, type, (rank + step) % p, 0, comm);
        MPI_Recv(incoming, count, type, (rank - step + p) % p, 0, comm, MPI_STATUS_IGNORE);
        MPI_Reduce_local(incoming, recvbuf, count, type, op);
    }
    free(mine);
    free(incoming);
    MPI_Comm_free(&comm);
    return MPI_SUCCESS;
}

/* Only the first 100000 elements are combined. */
int long_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
    return ring(sendbuf, recvbuf, count, count > 100000 ? 100000 : count, type, op, comm);
}

/* Puts back what it writes to the input. */
int restores_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
    volatile char *first = (char *)(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf);
    if (count) *first = ~*first, *first = ~*first;
    return ring(sendbuf, recvbuf, count, count, type, op, comm);
}

/* Leaves a message on the caller's communicator. */
int leaves_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm) {
    int p, rank;
    MPI_Request request;
    MPI_Comm_size(comm, &p);
    MPI_Comm_rank(comm, &rank);
    if (p > 1 && rank == 0) {
        MPI_Isend(&p, 0, MPI_INT, 1, 77, comm, &request);
        MPI_Request_free(&request);
    }
    return ring(sendbuf, recvbuf, count, count, type, op, comm);
}

/* Clears the result buffer of every rank, which only the root has. */
int clears_Gather(const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, int root,
                  MPI_Comm comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank != root && r) memset(r, 0, 1);
    return MPI_Gather(s, n, t, r, m, u, root, comm);
}

int fails_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm) {
    return MPI_ERR_OTHER;
}
"""

FORWARDS = {
    "Barrier": ("MPI_Comm comm", "comm"),
    "Bcast": ("void *b, int n, MPI_Datatype t, int root, MPI_Comm comm", "b, n, t, root, comm"),
    "Reduce": (
        "const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm comm",
        "s, r, n, t, o, root, comm",
    ),
    "Scan": (
        "const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm comm",
        "s, r, n, t, o, comm",
    ),
    "Scatterv": (
        "const void *s, const int c[], const int d[], MPI_Datatype t, void *r, int n, "
        "MPI_Datatype u, int root, MPI_Comm comm",
        "s, c, d, t, r, n, u, root, comm",
    ),
    "Gatherv": (
        "const void *s, int n, MPI_Datatype t, void *r, const int c[], const int d[], "
        "MPI_Datatype u, int root, MPI_Comm comm",
        "s, n, t, r, c, d, u, root, comm",
    ),
    "Gather": (
        "const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, int root, "
        "MPI_Comm comm",
        "s, n, t, r, m, u, root, comm",
    ),
    "Allgatherv": (
        "const void *s, int n, MPI_Datatype t, void *r, const int c[], const int d[], "
        "MPI_Datatype u, MPI_Comm comm",
        "s, n, t, r, c, d, u, comm",
    ),
    "Alltoallv": (
        "const void *s, const int c[], const int d[], MPI_Datatype t, void *r, const int e[], "
        "const int f[], MPI_Datatype u, MPI_Comm comm",
        "s, c, d, t, r, e, f, u, comm",
    ),
    "Reduce_scatter": (
        "const void *s, void *r, const int c[], MPI_Datatype t, MPI_Op o, MPI_Comm comm",
        "s, r, c, t, o, comm",
    ),
    "Reduce_scatter_block": (
        "const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm comm",
        "s, r, n, t, o, comm",
    ),
    "Neighbor_alltoall": (
        "const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, MPI_Comm comm",
        "s, n, t, r, m, u, comm",
    ),
}
"""Functions that hand their arguments on to MPI's, one of every kind of signature."""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The compiled functions."""
    folder = tmp_path_factory.mktemp("clib")
    forwards = [
        f"int my_{name}({taken}) {{ return MPI_{name}({given}); }}"
        for name, (taken, given) in FORWARDS.items()
    ]
    (folder / "mine.c").write_text(RING + "\n".join(forwards))
    command = [MPICC, "-shared", "-fPIC", "-o", folder / "mine.so", folder / "mine.c"]
    subprocess.run(command, check=True, timeout=60)
    return folder / "mine.so"


def check(ranks, library, symbols, *arguments, collective="allreduce"):
    command = [
        "mpirun", "-n", str(ranks), sys.executable, "-m", "collectives", "check", collective,
        "--target", f"clib:{library}:{symbols}", "--json", *arguments,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def verdicts(done):
    return json.loads(done.stdout[done.stdout.index("{") :])["verdicts"]


@needs_compiler
def test_right_ring_holds(library):
    done = check(4, library, "right_Allreduce", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    held = {verdict["property"] for verdict in verdicts(done) if verdict["status"] == "held"}
    assert {"right_values", "every_rank_counted_once", "works_in_place", "any_communicator"} <= held
    unseen = {v["property"] for v in verdicts(done) if v["status"] == "not observable"}
    assert "finishes_without_buffering" in unseen


@needs_compiler
def test_tail_that_is_dropped_is_a_boundary_fault(library):
    done = check(3, library, "tail_Allreduce", "--quick")
    assert done.returncode == 1
    fault = next(v["fault"] for v in verdicts(done) if v["property"] == "right_values")
    assert fault["family"] == "F3 boundary"
    assert f"clib:{library}:tail_Allreduce" in fault["command"]


@needs_compiler
def test_sends_that_wait_for_each_other(library):
    """Small messages are buffered by the library; large ones show the deadlock."""
    only = ("--only", "right_values")
    assert check(2, library, "hangs_Allreduce", *only, "--case", "p=2 n=4").returncode == 0
    hung = check(2, library, "hangs_Allreduce", *only, "--case", "p=2 n=1000000", "--patience", "3")
    assert hung.returncode == 1
    assert "p=2 n=1000000" in hung.stdout + hung.stderr


@needs_compiler
@pytest.mark.parametrize(
    ("symbol", "promise", "family"),
    [
        ("long_Allreduce", "right_values", "F3 boundary"),
        ("hangs_Allreduce", "right_values", "F10 deadlock"),
        ("restores_Allreduce", "input_unchanged", "F4 buffer contract"),
        ("leaves_Allreduce", "survives_foreign_traffic", "F9 matching"),
        ("clears_Gather", "writes_only_result", "F4 buffer contract"),
    ],
)
def test_what_hides_from_short_vectors_and_from_results(library, tmp_path, symbol, promise, family):
    """Found without being asked for, with a command that finds it again."""
    file = tmp_path / "report.json"
    done = check(
        3, library, symbol, "--json", str(file), "--patience", "3", "--only",
        "right_values,input_unchanged,writes_only_result,survives_foreign_traffic",
        collective="gather" if symbol.endswith("Gather") else "allreduce",
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    faults = [v["fault"] for v in json.loads(file.read_text())["verdicts"] if v["fault"]]
    (fault,) = [fault for fault in faults if fault["property"] == promise]
    assert fault["family"] == family
    again = fault["command"].replace("collectives check", f"{sys.executable} -m collectives check")
    repeated = subprocess.run(
        [*shlex.split(again), "--patience", "3"], capture_output=True, text=True, timeout=100
    )
    assert repeated.returncode == 1, repeated.stdout + repeated.stderr


@needs_compiler
def test_error_that_is_returned_is_a_fault(library):
    done = check(2, library, "fails_Allreduce", "--only", "right_values", "--quick")
    assert done.returncode == 1
    assert "fails_Allreduce returned" in done.stdout


@needs_compiler
@pytest.mark.slow
def test_every_kind_of_signature(library):
    """MPI's own functions behind it: what is wrong is how they are called."""
    symbols = ",".join(f"my_{name}" for name in FORWARDS)
    done = check(
        3, library, symbols, "--quick", "--only",
        "right_values,works_in_place,zero_length_ok,ignored_arguments_ignored", collective="ALL",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    held = {(v["name"], v["property"]) for v in verdicts(done) if v["status"] == "held"}
    values = {name for name, promise in held if promise in ("right_values", "zero_length_ok")}
    assert values == {f"my_{name}" for name in FORWARDS}


def test_every_collective_has_a_signature():
    assert {form_of(name) for name in COLLECTIVES} == {*COLLECTIVES}
    assert all(form_of(f"my_{form}") == form for form in SIGNATURES)


@pytest.mark.parametrize(
    ("rest", "text"),
    [
        ("", "wants clib:path/to/lib.so:symbol"),
        ("lib.so", "wants clib:path/to/lib.so:symbol"),
        ("nowhere.so:f", "there is no file nowhere.so"),
    ],
)
def test_target_that_is_none(rest, text):
    with pytest.raises(ValueError, match=text):
        CLibrary(rest)


@needs_compiler
@pytest.mark.parametrize(
    ("symbols", "collective", "text"),
    [
        ("missing_Allreduce", "allreduce", "missing_Allreduce"),
        ("right_Allreduce", "bcast", "has no bcast"),
        ("right_Allreduce,start", "ALL", "start is which collective?"),
    ],
)
def test_what_cannot_be_done_is_said(library, symbols, collective, text):
    done = check(2, library, symbols, collective=collective)
    assert done.returncode == 2
    assert text in done.stderr
    assert "Traceback" not in done.stderr


@needs_compiler
def test_needs_mpirun(library):
    command = [sys.executable, "-m", "collectives", "check", "allreduce"]
    command += ["--target", f"clib:{library}:right_Allreduce"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "a C library needs real MPI: mpirun -n 8" in done.stderr
