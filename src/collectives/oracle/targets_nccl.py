"""``nccl:ALGORITHM/PROTOCOL``: NVIDIA's library, through CuPy, one MPI rank per NCCL rank.

MPI starts the ranks, hands out NCCL's identifier and compares what they are left with; the vectors
travel through NCCL alone. Without an algorithm NCCL chooses one. With one, such as ``nccl:tree`` or
``nccl:ring/ll128``, NCCL is told by NCCL_ALGO and NCCL_PROTO, and what it says it ran is read back
from its own log after every call: a call that ran something else fails.
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from collectives import arguments
from collectives.blocks import split
from collectives.comm import Array
from collectives.gpu.cuda import Cuda
from collectives.gpu.devices import local_rank, take
from collectives.gpu.placed import OnDevice
from collectives.launch import under_mpi
from collectives.op import SUM
from collectives.oracle.cases import Case
from collectives.oracle.promises import Subject
from collectives.oracle.trials import dtype_of
from collectives.oracle.worlds import World
from collectives.registry import UnsupportedError

ALGORITHMS: Final = {
    "tree": ("AllReduce",),
    "ring": ("AllReduce", "Broadcast", "Reduce", "AllGather", "ReduceScatter"),
    "collnetdirect": ("AllReduce", "AllGather", "ReduceScatter"),
    "collnetchain": ("AllReduce",),
    "nvls": ("AllReduce", "AllGather", "ReduceScatter"),
    "nvlstree": ("AllReduce",),
    "pat": ("AllGather", "ReduceScatter"),
}
"""What NCCL 2.30 has, in the order of its numbers, and for which of its functions."""

PROTOCOLS: Final = ("ll", "ll128", "simple")
"""In the order of NCCL's numbers."""

TYPES: Final = {
    "int8": "INT8", "uint8": "UINT8", "int32": "INT32", "uint32": "UINT32", "int64": "INT64",
    "uint64": "UINT64", "float16": "FLOAT16", "float32": "FLOAT32", "float64": "FLOAT64",
    "bfloat16": "BFLOAT16",
}  # fmt: skip
"""NCCL's names of the types that it has."""

OPS: Final = {"SUM": "SUM", "PROD": "PROD", "MIN": "MIN", "MAX": "MAX"}

SHARING: Final = 23000
"""The version from which on several ranks may share a GPU, as an experiment."""


class Ran(NamedTuple):
    """What NCCL says it ran.

    Attributes
    ----------
    function : str
        Such as ``AllReduce``; empty in the logs of NCCL before 2.24.
    nbytes : int
        The size of the call.
    algorithm, protocol : str
        As in `ALGORITHMS` and `PROTOCOLS`.
    """

    function: str
    nbytes: int
    algorithm: str
    protocol: str


def read_back(log: str) -> Iterator[Ran]:
    """Yield what ran, from the lines that NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=TUNING make it write.

    Examples
    --------
    >>> new = "NCCL INFO AllReduce: 4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}"
    >>> old = "NCCL INFO 1026048 Bytes -> Algo 1 proto 2 time 34.693867"
    >>> [tuple(ran) for ran in read_back(new + chr(10) + old)]
    [('AllReduce', 4096, 'tree', 'll'), ('', 1026048, 'ring', 'simple')]
    """
    line = r"NCCL INFO (?:(\w+): )?(\d+) Bytes -> Algo (\w+) proto (\w+)"
    for function, nbytes, algorithm, protocol in re.findall(line, log):
        yield Ran(
            function, int(nbytes), _name(algorithm, [*ALGORITHMS]), _name(protocol, PROTOCOLS)
        )


def _name(text: str, names: Sequence[str]) -> str:
    """Return the name that a log gives as a number, or in capitals."""
    return names[int(text)] if text.isdigit() else text.lower().replace("_", "")


# ------------------------------------------------------------------ one rank


class NcclRank:
    """NCCL's communicator for the ranks of one of MPI's."""

    def __init__(self, comm: Any, cuda: Cuda) -> None:
        from cupy.cuda import nccl

        self.nccl, self.cupy, self.size = nccl, cuda.cupy, comm.size
        name = comm.bcast(nccl.get_unique_id() if comm.rank == 0 else None)
        self.comm = nccl.NcclCommunicator(comm.size, name, comm.rank)

    @property
    def stream(self) -> int:
        return int(self.cupy.cuda.get_current_stream().ptr)

    def kind(self, array: Array) -> int:
        return self._number(array.dtype.name, TYPES)

    def op(self, op: Any) -> int:
        return self._number(op.name, OPS)

    def _number(self, name: str, known: dict[str, str]) -> int:
        if name not in known:
            raise UnsupportedError(f"NCCL has no {name}")
        return int(getattr(self.nccl, f"NCCL_{known[name]}"))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make the sends and receives in the block one operation."""
        self.nccl.groupStart()
        try:
            yield
        finally:
            self.nccl.groupEnd()

    def send(self, array: Array, peer: int) -> None:
        if array.size:
            self.comm.send(_pointer(array), array.size, self.kind(array), peer, self.stream)

    def recv(self, array: Array, peer: int) -> None:
        if array.size:
            self.comm.recv(_pointer(array), array.size, self.kind(array), peer, self.stream)


def _pointer(array: Any) -> int:
    return int(array.data.ptr)


# ------------------------------------------------------------------ one call each


def bcast(ranks: NcclRank, comm: Any, buf: Array, root: int = 0) -> None:
    """``ncclBroadcast``."""
    x = arguments.bcast(comm, buf, root)["buf"]
    ranks.comm.broadcast(_pointer(x), _pointer(x), x.size, ranks.kind(x), root, ranks.stream)


def reduce(
    ranks: NcclRank, comm: Any, sendbuf: Array, recvbuf: Array, op: Any = SUM, root: int = 0
) -> None:
    """``ncclReduce``."""
    given = arguments.reduce(comm, sendbuf, recvbuf, op, root)
    x, result = given["sendbuf"], given["recvbuf"]
    into = 0 if result is None else _pointer(result)  # NULL where there is no result
    ranks.comm.reduce(
        _pointer(x), into, x.size, ranks.kind(x), ranks.op(given["op"]), root, ranks.stream
    )


def allreduce(ranks: NcclRank, comm: Any, sendbuf: Array, recvbuf: Array, op: Any = SUM) -> None:
    """``ncclAllReduce``."""
    given = arguments.allreduce(comm, sendbuf, recvbuf, op)
    x, result = given["sendbuf"], given["recvbuf"]
    ranks.comm.allReduce(
        _pointer(x), _pointer(result), x.size, ranks.kind(x), ranks.op(given["op"]), ranks.stream
    )


def allgather(
    ranks: NcclRank, comm: Any, sendbuf: Array, recvbuf: Array, *, counts: Any = None
) -> None:
    """``ncclAllGather``, of blocks of one size."""
    given = arguments.allgather(comm, sendbuf, recvbuf, counts=counts)
    x, result = given["sendbuf"], given["recvbuf"]
    own = split(result, given["counts"])[comm.rank] if x is result else x
    ranks.comm.allGather(_pointer(own), _pointer(result), own.size, ranks.kind(own), ranks.stream)


def reduce_scatter(
    ranks: NcclRank, comm: Any, sendbuf: Array, recvbuf: Array, op: Any = SUM, *, counts: Any = None
) -> None:
    """``ncclReduceScatter``, to blocks of one size."""
    given = arguments.reduce_scatter(comm, sendbuf, recvbuf, op, counts=counts)
    x, size = given["sendbuf"], given["counts"][comm.rank]
    result = given["recvbuf"][:size]
    whole = x.copy() if x is given["recvbuf"] else x  # MPI's place in it is not NCCL's
    ranks.comm.reduceScatter(
        _pointer(whole), _pointer(result), size, ranks.kind(x), ranks.op(given["op"]), ranks.stream
    )


def alltoall(
    ranks: NcclRank, comm: Any, sendbuf: Array, recvbuf: Array, *, sendcounts: Any = None,
    recvcounts: Any = None,
) -> None:  # fmt: skip
    """``ncclSend`` and ``ncclRecv`` of every block, in one group."""
    given = arguments.alltoall(comm, sendbuf, recvbuf, sendcounts=sendcounts, recvcounts=recvcounts)
    whole = given["sendbuf"].copy() if given["sendbuf"] is given["recvbuf"] else given["sendbuf"]
    leaving = split(whole, given["sendcounts"])
    arriving = split(given["recvbuf"], given["recvcounts"])
    with ranks.together():
        for peer in range(comm.size):
            ranks.send(leaving[peer], peer)
            ranks.recv(arriving[peer], peer)


def gather(
    ranks: NcclRank, comm: Any, sendbuf: Array, recvbuf: Any, root: int = 0, *, counts: Any = None
) -> None:
    """``ncclSend`` to the root, and ``ncclRecv`` there, in one group."""
    given = arguments.gather(comm, sendbuf, recvbuf, root, counts=counts)
    x, result = given["sendbuf"], given["recvbuf"]
    with ranks.together():
        if x is not result:
            ranks.send(x, root)
        for peer, block in enumerate(split(result, given["counts"]) if comm.rank == root else ()):
            if peer != root or x is not result:
                ranks.recv(block, peer)


def scatter(
    ranks: NcclRank, comm: Any, sendbuf: Any, recvbuf: Array, root: int = 0, *, counts: Any = None
) -> None:
    """``ncclSend`` by the root, and ``ncclRecv``, in one group."""
    given = arguments.scatter(comm, sendbuf, recvbuf, root, counts=counts)
    whole, own = given["sendbuf"], given["recvbuf"]
    with ranks.together():
        for peer, block in enumerate(split(whole, given["counts"]) if comm.rank == root else ()):
            if peer != root or own is not whole:
                ranks.send(block, peer)
        if own is not whole:
            ranks.recv(own, root)


FUNCTIONS: Final[dict[str, tuple[Callable[..., None], str]]] = {
    "bcast": (bcast, "Broadcast"),
    "reduce": (reduce, "Reduce"),
    "scatter": (scatter, ""),
    "gather": (gather, ""),
    "allgather": (allgather, "AllGather"),
    "reduce_scatter": (reduce_scatter, "ReduceScatter"),
    "allreduce": (allreduce, "AllReduce"),
    "alltoall": (alltoall, ""),
}
"""Our collectives, and NCCL's name of what can be forced."""


# ------------------------------------------------------------------ the target


class Nccl:
    """NCCL as a target of the oracle.

    Parameters
    ----------
    choice : str
        An algorithm, or an algorithm and a protocol: ``ring``, ``tree/simple``; empty to let NCCL
        choose.
    """

    def __init__(self, choice: str = "") -> None:
        self.algorithm, _, self.protocol = choice.lower().partition("/")
        if self.algorithm and self.algorithm not in ALGORITHMS:
            raise ValueError(f"NCCL has no {self.algorithm!r}; it has {', '.join(ALGORITHMS)}")
        if self.protocol and self.protocol not in PROTOCOLS:
            raise ValueError(f"NCCL has no {self.protocol!r}; it has {', '.join(PROTOCOLS)}")
        cuda = take("cuda")  # on all ranks, or on none
        assert isinstance(cuda, Cuda)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # half a page, where there is no NCCL
            from cupy.cuda import nccl
        if not nccl.available:
            raise ValueError(
                "CuPy finds no NCCL: pip install nvidia-nccl-cu12 (or -cu13), or conda install nccl"
            )
        if not under_mpi():
            raise ValueError("target nccl: mpirun -n 2 collectives check ... (one rank per GPU)")
        self.name, self.cuda, self.version = "nccl" + f":{choice}" * bool(choice), cuda, 0
        self.version = int(nccl.get_version())
        self.log = self._prepare()
        self._ranks: dict[int, tuple[Any, NcclRank]] = {}

    def _prepare(self) -> Path:
        """Say in the environment what NCCL reads when it starts."""
        from mpi4py import MPI

        here = MPI.COMM_WORLD.allreduce(local_rank(MPI.COMM_WORLD), MPI.MAX) + 1
        if here > self.cuda.count():
            if self.version < SHARING:
                raise ValueError(
                    f"NCCL {self.version} wants one GPU per rank, {here} ranks here share "
                    f"{self.cuda.count()}; NCCL 2.30 lets them"
                )
            os.environ.setdefault("NCCL_MULTI_RANK_GPU_ENABLE", "1")
        functions = ALGORITHMS.get(self.algorithm, ())
        if self.algorithm:
            forced = ";".join(f"{each.lower()}:{self.algorithm}" for each in functions)
            os.environ["NCCL_ALGO"] = forced if self.version >= 22400 else self.algorithm
        if self.protocol:
            os.environ["NCCL_PROTO"] = self.protocol
        self._folder = tempfile.TemporaryDirectory(prefix="nccl-", ignore_cleanup_errors=True)
        log = Path(self._folder.name) / "log"
        os.environ |= {
            "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "TUNING", "NCCL_DEBUG_FILE": str(log),
        }  # fmt: skip
        return log

    def subjects(self, collective: str) -> Sequence[Subject]:
        """Return its collectives; with a forced algorithm, those that have it."""
        has = ALGORITHMS.get(self.algorithm)
        chosen = [
            name
            for name, (_, theirs) in FUNCTIONS.items()
            if collective in ("ALL", name) and (has is None or theirs in has)
        ]
        if not chosen:
            raise ValueError(f"{self.name} has no {collective}")
        return [
            Subject(
                each, self.name, OnDevice(partial(self._call, each), self.cuda.name), None,
                partial(self._cannot, each), of_library=True,
            )
            for each in chosen
        ]  # fmt: skip

    def world(self, patience: float) -> World:
        """Return the ranks of this MPI job."""
        from collectives.oracle.mpi_world import OnMpi

        return OnMpi(patience=patience, is_python=False)

    def _cannot(self, collective: str, case: Case) -> str | None:
        """Return why a case is not asked of NCCL."""
        kind = dtype_of(case).name
        if case.form.brings != "nothing" and kind not in TYPES:
            return f"NCCL has no {kind}"
        if case.reduces and case.op.name not in OPS:
            return f"NCCL has no {case.op.name}"
        if case.counts is not None and collective in ("allgather", "reduce_scatter"):
            return f"NCCL has no {collective} of blocks of different sizes"
        return None

    def _call(self, collective: str, comm: Any, *buffers: Any, **options: Any) -> None:
        """Make a call, wait for it, and see that what was forced is what ran."""
        function, theirs = FUNCTIONS[collective]
        before = self.log.stat().st_size if self.log.exists() else 0
        function(self._communicator(comm), comm, *buffers, **options)
        self.cuda.cupy.cuda.get_current_stream().synchronize()
        if self.algorithm and theirs:
            has_work = comm.size > 1 and any(getattr(buffer, "size", 0) for buffer in buffers)
            wrong = self._wrong(self._ran(before), has_work) if comm.rank == 0 else ""
            if wrong := comm.bcast(wrong):
                raise RuntimeError(f"{wrong}, wants {self.name}")

    def _wrong(self, calls: Sequence[Ran], has_work: bool) -> str:
        """Return what else than was forced NCCL ran, by its log; nothing where all is well."""
        if has_work and not calls:
            return "NCCL's log does not say what it ran"
        for ran in calls:
            if ran.algorithm != self.algorithm or ran.protocol != (self.protocol or ran.protocol):
                return f"NCCL ran {ran.algorithm}/{ran.protocol} for {ran.nbytes} B"
        return ""

    def _communicator(self, comm: Any) -> NcclRank:
        """Return NCCL's communicator for one of MPI's; made once, which is a collective call."""
        if id(comm) not in self._ranks:
            self._ranks[id(comm)] = comm, NcclRank(comm, self.cuda)  # comm is kept: so is its id
        return self._ranks[id(comm)][1]

    def _ran(self, start: int) -> list[Ran]:
        """Return what ran since the log had `start` bytes. NCCL writes it on its rank 0."""
        if not self.log.exists():
            return []
        return [*read_back(self.log.read_bytes()[start:].decode(errors="replace"))]
