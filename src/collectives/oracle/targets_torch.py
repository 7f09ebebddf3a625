"""``torch:gloo``: the collectives of torch.distributed, in processes that are started for it.

Tensors share the memory of NumPy arrays where the backend works on CPUs; with ``nccl`` they are
copied to a GPU and back. uint64, which torch does not send, travels as int64: it moves and adds to
the same bits. What a backend says it cannot do is asked of it once and then left out.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from collectives import arguments
from collectives.comm import Array, in_mpi
from collectives.op import MAX, MIN, SUM, Op
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.payloads import exact
from collectives.oracle.promises import Subject
from collectives.oracle.trials import dtype_of
from collectives.oracle.workers import Workers
from collectives.registry import UnsupportedError

BACKENDS: Final = ("gloo", "nccl", "ucc")

OPS: Final = {
    "SUM": "SUM", "PROD": "PRODUCT", "MIN": "MIN", "MAX": "MAX", "BAND": "BAND", "BOR": "BOR",
    "BXOR": "BXOR",
}  # fmt: skip
"""Torch's names of the operations that it has."""


class TorchRank:
    """One rank of a process group, as the functions of this module take it."""

    is_private = False

    def __init__(self, group: Any, device: str, rank: int, size: int) -> None:
        self.group, self.device, self.rank, self.size = group, device, rank, size

    @contextmanager
    def lent(self, *arrays: Array, op: Op | None = None) -> Iterator[list[Any]]:
        """Lend arrays as tensors; what is written to these is in the arrays afterwards.

        UnsupportedError where the backend says that it has no such type or operation.
        """
        try:
            tensors = [_tensor(array, op).to(self.device) for array in arrays]
            yield tensors
        except (RuntimeError, ValueError, TypeError) as error:
            text = str(error).partition("\n")[0]
            if any(phrase in text for phrase in _REFUSALS):
                raise UnsupportedError(f"{arrays[0].dtype}: {text.partition('. ')[0]}") from None
            raise
        if self.device != "cpu":
            for array, tensor in zip(arrays, tensors, strict=True):
                if array.flags.writeable:
                    _tensor(array, op).copy_(tensor)


_REFUSALS: Final = (
    "Invalid scalar type",
    "can't convert np.ndarray", "Cannot use ReduceOp", "does not support", "not supported",
    "Unconvertible NCCL type", "unsupported",
)  # fmt: skip


def _tensor(array: Array, op: Op | None) -> Any:
    """Return the memory of an array as a tensor."""
    import torch

    if array.dtype == np.uint64 and op not in (MIN, MAX):
        array = array.view(np.int64)
    if in_mpi(array.dtype):
        return torch.from_numpy(array)
    bits: Any = {1: np.uint8, 2: np.uint16}[array.dtype.itemsize]
    kind = getattr(torch, array.dtype.name, None)
    if kind is None:
        raise UnsupportedError(f"torch has no {array.dtype}")
    return torch.from_numpy(array.view(bits)).view(kind)


def _reduction(op: Op) -> Any:
    import torch.distributed as dist

    if op.name not in OPS:
        raise UnsupportedError(f"torch has no {op.name}")
    return getattr(dist.ReduceOp, OPS[op.name])


# ------------------------------------------------------------------ one call each


def barrier(comm: TorchRank) -> None:
    """``torch.distributed.barrier``."""
    import torch.distributed as dist

    dist.barrier(group=comm.group)


def bcast(comm: TorchRank, buf: Array, root: int = 0) -> None:
    """``torch.distributed.broadcast``."""
    import torch.distributed as dist

    given = arguments.bcast(comm, buf, root)  # type: ignore[arg-type]
    with comm.lent(given["buf"]) as (tensor,):
        dist.broadcast(tensor, src=root, group=comm.group)


def reduce(
    comm: TorchRank, sendbuf: Array, recvbuf: Array | None, op: Any = SUM, root: int = 0
) -> None:
    """``torch.distributed.reduce``, which works in place and leaves others with leftovers."""
    import torch.distributed as dist

    given = arguments.reduce(comm, sendbuf, recvbuf, op, root)  # type: ignore[arg-type]
    partial = given["sendbuf"].copy() if given["recvbuf"] is None else given["recvbuf"]
    partial[...] = given["sendbuf"]
    with comm.lent(partial, op=given["op"]) as (tensor,):
        dist.reduce(tensor, dst=root, op=_reduction(given["op"]), group=comm.group)


def allreduce(comm: TorchRank, sendbuf: Array, recvbuf: Array, op: Any = SUM) -> None:
    """``torch.distributed.all_reduce``, which works in place."""
    import torch.distributed as dist

    given = arguments.allreduce(comm, sendbuf, recvbuf, op)  # type: ignore[arg-type]
    given["recvbuf"][...] = given["sendbuf"]
    with comm.lent(given["recvbuf"], op=given["op"]) as (tensor,):
        dist.all_reduce(tensor, op=_reduction(given["op"]), group=comm.group)


def allgather(
    comm: TorchRank, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> None:
    """``torch.distributed.all_gather_into_tensor``."""
    given = arguments.allgather(comm, sendbuf, recvbuf, counts=counts)  # type: ignore[arg-type]
    own = _own_block(comm, given, given["recvbuf"])
    with comm.lent(given["recvbuf"], own) as (result, block):
        _newest("all_gather_single", "all_gather_into_tensor")(result, block, group=comm.group)


def reduce_scatter(
    comm: TorchRank,
    sendbuf: Array,
    recvbuf: Array,
    op: Any = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """``torch.distributed.reduce_scatter_tensor``; by counts, ``reduce_scatter``."""
    import torch.distributed as dist

    given = arguments.reduce_scatter(comm, sendbuf, recvbuf, op, counts=counts)  # type: ignore[arg-type]
    whole, sizes = given["sendbuf"], given["counts"]
    block = given["recvbuf"][: sizes[comm.rank]]
    how = {"op": _reduction(given["op"]), "group": comm.group}
    with comm.lent(block, whole, op=given["op"]) as (result, vector):
        if counts is None:
            _newest("reduce_scatter_single", "reduce_scatter_tensor")(result, vector, **how)
        else:
            dist.reduce_scatter(result, list(vector.split(list(sizes))), **how)


def gather(
    comm: TorchRank,
    sendbuf: Array,
    recvbuf: Array | None,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """``torch.distributed.gather``."""
    import torch.distributed as dist

    given = arguments.gather(comm, sendbuf, recvbuf, root, counts=counts)  # type: ignore[arg-type]
    own = _own_block(comm, given, given["recvbuf"])
    if comm.rank != root:
        with comm.lent(own) as (block,):
            dist.gather(block, None, dst=root, group=comm.group)
        return
    with comm.lent(own, given["recvbuf"]) as (block, result):
        blocks = list(result.split(list(given["counts"])))
        dist.gather(block, blocks, dst=root, group=comm.group)


def scatter(
    comm: TorchRank,
    sendbuf: Array | None,
    recvbuf: Array,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """``torch.distributed.scatter``."""
    import torch.distributed as dist

    given = arguments.scatter(comm, sendbuf, recvbuf, root, counts=counts)  # type: ignore[arg-type]
    if comm.rank != root:
        with comm.lent(given["recvbuf"]) as (block,):
            dist.scatter(block, None, src=root, group=comm.group)
        return
    own = _own_block(comm, given | {"sendbuf": given["recvbuf"]}, given["sendbuf"])
    with comm.lent(own, given["sendbuf"]) as (block, whole):
        blocks = list(whole.split(list(given["counts"])))
        dist.scatter(block, blocks, src=root, group=comm.group)


def alltoall(
    comm: TorchRank,
    sendbuf: Array,
    recvbuf: Array,
    *,
    sendcounts: Sequence[int] | None = None,
    recvcounts: Sequence[int] | None = None,
) -> None:
    """``torch.distributed.all_to_all_single``, in place on a copy of what is sent."""
    import torch.distributed as dist

    given = arguments.alltoall(
        comm,  # type: ignore[arg-type]
        sendbuf, recvbuf, sendcounts=sendcounts, recvcounts=recvcounts,
    )  # fmt: skip
    same = given["sendbuf"] is given["recvbuf"]
    outgoing = given["sendbuf"].copy() if same else given["sendbuf"]
    sizes = (None, None)
    if sendcounts is not None:
        sizes = list(given["recvcounts"]), list(given["sendcounts"])  # type: ignore[assignment]
    with comm.lent(given["recvbuf"], outgoing) as (result, whole):
        dist.all_to_all_single(result, whole, *sizes, group=comm.group)


def _own_block(comm: TorchRank, given: dict[str, Any], whole: Array | None) -> Array:
    """Return the block of this rank: a buffer of its own or, in place, a part of `whole`."""
    if given["sendbuf"] is not whole or whole is None:
        return given["sendbuf"]  # type: ignore[no-any-return]
    sizes = given["counts"]
    start = sum(sizes[: comm.rank])
    block: Array = whole[start : start + sizes[comm.rank]]
    return block


def _newest(*names: str) -> Any:
    """Return the first of the functions that this torch has; older ones have other names."""
    import torch.distributed as dist

    return next(getattr(dist, name) for name in names if hasattr(dist, name))


FUNCTIONS: Final[dict[str, Callable[..., None]]] = {
    function.__name__: function
    for function in (
        barrier, bcast, reduce, scatter, gather, allgather, reduce_scatter, allreduce, alltoall,
    )
}  # fmt: skip

_EQUAL_BLOCKS: Final = ("allgather", "gather", "scatter")


# ------------------------------------------------------------------ the target


class TorchWorld(Workers):
    """Processes of torch.distributed with one backend, and a group of the first p for every p."""

    shows = frozenset({"buffers", "in_place", "delays", "several calls", "uneven"})


class Torch:
    """torch.distributed with one backend.

    Parameters
    ----------
    rest : str
        The backend: ``gloo``, ``nccl`` or ``ucc``.

    Attributes
    ----------
    left_out : dict of list of str
        What was not asked, and why, by collective.
    """

    def __init__(self, rest: str = "gloo") -> None:
        if rest not in BACKENDS:
            raise ValueError(f"torch:{rest}: wants one of {', '.join(BACKENDS)}")
        if find_spec("torch") is None:
            raise ValueError(f'torch:{rest} needs torch: pip install "collectives[torch]"')
        self.name, self.backend = f"torch:{rest}", rest
        self.left_out: dict[str, list[str]] = {}
        self._world: TorchWorld | None = None

    def world(self, patience: float = 10.0) -> TorchWorld:
        """Return where its ranks run: processes that end with this one."""
        if self._world is None:
            self._world = TorchWorld("collectives.oracle.torch_rank", [self.backend], patience)
            self._world.start()
            atexit.register(self._world.stop)
        return self._world

    def subjects(self, collective: str) -> Sequence[Subject]:
        """Return one of its collectives, or all of them."""
        if collective != "ALL" and collective not in FUNCTIONS:
            raise ValueError(f"torch.distributed has no {collective}")
        return [
            Subject(name, self.backend, function, None, self.cannot, of_library=True)
            for name, function in FUNCTIONS.items()
            if collective in ("ALL", name)
        ]

    def cannot(self, case: Case) -> str | None:
        """Return why a case is not asked of this backend, and keep it in `left_out`."""
        reason = self._reason(case)
        if reason is not None:
            reasons = self.left_out.setdefault(case.collective, [])
            if reason not in reasons:
                reasons.append(reason)
        return reason

    def _reason(self, case: Case) -> str | None:
        if case.reduces and case.op.name not in OPS:
            return f"torch has no {case.op.name}"
        if case.counts is not None and case.collective in _EQUAL_BLOCKS:
            return f"torch has no {case.collective} of blocks of different sizes"
        return self._refusal(case.collective, case.op, dtype_of(case).name)

    @cache  # noqa: B019  lives as long as the command
    def _refusal(self, collective: str, op: Op, dtype: str) -> str | None:
        """Ask two ranks once; return what the backend says against it."""
        case = Case(collective, 2, 2, op, dtype=dtype)
        outcome = self.world().run(partial(_once, FUNCTIONS[collective], case), 2)
        refused = outcome.ending is not None and outcome.ending.kind == "refused"
        if not refused or outcome.ending is None:
            return None
        return outcome.ending.text.removeprefix("UnsupportedError: ").partition(" (")[0]


def _once(function: Callable[..., None], case: Case, comm: TorchRank) -> None:
    inputs = exact(case, dtype_of(case))
    Buffers(case, comm.rank, inputs[comm.rank]).run(function, comm)
