"""A double of NCCL, whose messages MPI carries.

It is there where NCCL_DOUBLE gives its version, such as 23203. It runs what NCCL_ALGO and
NCCL_PROTO say, or what NCCL_DOUBLE_RUNS says in spite of them, and logs that as NCCL does.
"""

import ctypes
import os
import shutil
import tempfile
from functools import partial, reduce
from pathlib import Path

import numpy as np

from cupy import cuda

available = "NCCL_DOUBLE" in os.environ

NAMES = ("INT8", "UINT8", "INT32", "UINT32", "INT64", "UINT64", "FLOAT16", "FLOAT32", "FLOAT64")
for number, name in enumerate((*NAMES, "BFLOAT16")):
    globals()[f"NCCL_{name}"] = number
NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN = range(4)
OPS = (np.add, np.multiply, np.maximum, np.minimum)


class NcclError(RuntimeError):
    """What calls of NCCL raise."""


def get_version():
    return int(os.environ["NCCL_DOUBLE"])


def get_unique_id():
    """Return where the ranks of a communicator find each other."""
    return tempfile.mkdtemp(prefix="nccl-double-").encode().ljust(128)


def view(pointer, count, datatype):
    """Return what lies there as an array of the host."""
    if datatype < len(NAMES):
        dtype = np.dtype(NAMES[datatype].lower())
    else:
        from ml_dtypes import bfloat16

        dtype = np.dtype(bfloat16)
    if not count:
        return np.empty(0, dtype)
    memory = (ctypes.c_ubyte * (count * dtype.itemsize)).from_address(pointer)
    return np.frombuffer(memory, dtype)


class NcclCommunicator:
    """Those `ndev` processes of the MPI job that were given the same identifier."""

    def __init__(self, ndev, commId, rank, config=None):
        from mpi4py import MPI

        may_share = os.environ.get("NCCL_MULTI_RANK_GPU_ENABLE") == "1"
        if ndev > cuda.count() and not (may_share and get_version() >= 23000):
            raise NcclError("NCCL_ERROR_INVALID_USAGE: Duplicate GPU detected")
        place = Path(commId.decode().strip())
        (place / f"{rank}-{MPI.COMM_WORLD.rank}").touch()
        while len(found := [*place.iterdir()]) < ndev:
            pass
        ranks = dict(map(int, each.name.split("-")) for each in found)
        group = MPI.COMM_WORLD.group.Incl([ranks[number] for number in range(ndev)])
        self.comm, self.rank = MPI.COMM_WORLD.Create_group(group), rank
        self.comm.Barrier()  # all have seen all
        if rank == 0:
            shutil.rmtree(place)

    # ------------------------------------------------------------------ collectives

    def allReduce(self, sendbuf, recvbuf, count, datatype, op, stream):
        def act():
            every = self._of_all(sendbuf, count, datatype)
            view(recvbuf, count, datatype)[:] = reduce(OPS[op], every)

        self._launch("AllReduce", count, datatype, stream, act)

    def reduce(self, sendbuf, recvbuf, count, datatype, op, root, stream):
        def act():
            every = self._of_all(sendbuf, count, datatype)
            if self.rank == root:
                view(recvbuf, count, datatype)[:] = reduce(OPS[op], every)

        self._launch("Reduce", count, datatype, stream, act)

    def broadcast(self, sendbuff, recvbuff, count, datatype, root, stream):
        def act():
            every = self._of_all(sendbuff, count, datatype)
            view(recvbuff, count, datatype)[:] = every[root]

        self._launch("Broadcast", count, datatype, stream, act)

    def allGather(self, sendbuf, recvbuf, count, datatype, stream):
        def act():
            every = self._of_all(sendbuf, count, datatype)
            view(recvbuf, count * len(every), datatype)[:] = np.concatenate(every)

        self._launch("AllGather", count, datatype, stream, act)

    def reduceScatter(self, sendbuf, recvbuf, recvcount, datatype, op, stream):
        def act():
            every = self._of_all(sendbuf, recvcount * self.comm.size, datatype)
            own = slice(self.rank * recvcount, (self.rank + 1) * recvcount)
            view(recvbuf, recvcount, datatype)[:] = reduce(OPS[op], every)[own]

        self._launch("ReduceScatter", recvcount, datatype, stream, act)

    def _of_all(self, pointer, count, datatype):
        return self.comm.allgather(view(pointer, count, datatype).copy())

    def _launch(self, function, count, datatype, stream, act):
        on = cuda.get_current_stream()
        assert stream == on.ptr
        on.launch([], act)
        if self.rank == 0 and self.comm.size > 1 and count:
            log(function, view(0, 0, datatype).itemsize * count)

    # ------------------------------------------------------------------ messages

    def send(self, sendbuf, count, datatype, peer, stream):
        sends.append(lambda: self.comm.isend(view(sendbuf, count, datatype).copy(), peer))

    def recv(self, recvbuf, count, datatype, peer, stream):
        def receive():
            view(recvbuf, count, datatype)[:] = self.comm.recv(source=peer)

        receives.append(receive)


sends, receives = [], []


def groupStart():
    assert not sends
    assert not receives


def groupEnd():
    cuda.get_current_stream().launch([], partial(exchange, sends.copy(), receives.copy()))
    sends.clear()
    receives.clear()


def exchange(sends, receives):
    begun = [send() for send in sends]
    for receive in receives:
        receive()
    for request in begun:
        request.wait()


def log(function, nbytes):
    """Write which algorithm and protocol ran, as NCCL does since 2.24."""
    if "TUNING" not in os.environ.get("NCCL_DEBUG_SUBSYS", "") or "silent" in RUNS:
        return
    forced = dict(x.split(":") for x in os.environ.get("NCCL_ALGO", "").split(";") if ":" in x)
    algorithm = RUNS or forced.get(function.lower(), "ring")
    protocol = os.environ.get("NCCL_PROTO", "simple")
    with open(os.environ["NCCL_DEBUG_FILE"], "a") as file:
        file.write(
            f"host:1:2 [0] NCCL INFO {function}: {nbytes} Bytes -> Algo {algorithm.upper()} "
            f"proto {protocol.upper()} channel{{Lo..Hi}}={{0..1}} cgaClusterSize 4\n"
        )


RUNS = os.environ.get("NCCL_DOUBLE_RUNS", "")
