"""What each collective accepts: its signature, its checks, and the form algorithms see.

One function per collective, with the collective's public signature. It raises ValueError before
any message is sent, saying what was got and what was wanted, and returns the arguments as
algorithm bodies take them: buffers flat, `op` an `Op`, `counts` always given. With ``IN_PLACE`` a
body gets `recvbuf` twice: ``sendbuf is recvbuf``, and the input lies where MPI says it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from collectives.blocks import Counts, EvenCounts, even, split
from collectives.comm import Array, Comm, GraphComm, is_in_place, on_device
from collectives.op import SUM, Op, as_op

Prepared = dict[str, Any]


def bcast(comm: Comm, buf: Array, root: int = 0) -> Prepared:
    _root(comm, root)
    return {"buf": _flat(buf, "buf", written=comm.rank != root), "root": root}


def reduce(
    comm: Comm, sendbuf: Array, recvbuf: Array | None, op: Any = SUM, root: int = 0
) -> Prepared:
    _root(comm, root)
    if comm.rank == root:
        whole, result = _whole_vectors(sendbuf, recvbuf)
    elif is_in_place(sendbuf):
        raise ValueError(f"sendbuf is IN_PLACE on rank {comm.rank}, allowed on root {root} only")
    else:  # the result buffer is ignored, whatever it is
        whole, result = _flat(sendbuf, "sendbuf"), None
    return {"sendbuf": whole, "recvbuf": result, "op": _op(op, whole), "root": root}


def allreduce(comm: Comm, sendbuf: Array, recvbuf: Array, op: Any = SUM) -> Prepared:
    whole, result = _whole_vectors(sendbuf, recvbuf)
    return {"sendbuf": whole, "recvbuf": result, "op": _op(op, whole)}


def allgather(
    comm: Comm, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> Prepared:
    result = _flat(recvbuf, "recvbuf", written=True)
    sizes = _counts(comm, counts, result, "recvbuf")
    own = result
    if not is_in_place(sendbuf):
        own = _flat(sendbuf, "sendbuf")
        _fits(own, "sendbuf", split(result, sizes)[comm.rank], "its block of recvbuf")
        _apart(own, result)
    return {"sendbuf": own, "recvbuf": result, "counts": sizes}


def reduce_scatter(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Any = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> Prepared:
    result = _flat(recvbuf, "recvbuf", written=True)
    if is_in_place(sendbuf):
        whole, sizes = result, _counts(comm, counts, result, "recvbuf")
    else:
        whole = _flat(sendbuf, "sendbuf")
        sizes = _counts(comm, counts, whole, "sendbuf")
        _fits(result, "recvbuf", split(whole, sizes)[comm.rank], "its block of sendbuf")
        _apart(whole, result)
    return {"sendbuf": whole, "recvbuf": result, "op": _op(op, whole), "counts": sizes}


def barrier(comm: Comm) -> Prepared:
    return {}


def scan(comm: Comm, sendbuf: Array, recvbuf: Array, op: Any = SUM) -> Prepared:
    return allreduce(comm, sendbuf, recvbuf, op)


exscan = scan


def scatter(
    comm: Comm,
    sendbuf: Array | None,
    recvbuf: Array,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> Prepared:
    _root(comm, root)
    if comm.rank == root:
        whole = _flat(sendbuf, "sendbuf")
        sizes = _counts(comm, counts, whole, "sendbuf")
        block = whole
        if not is_in_place(recvbuf):
            block = _flat(recvbuf, "recvbuf", written=True)
            _fits(block, "recvbuf", split(whole, sizes)[root], "its block of sendbuf")
            _apart(whole, block)
        return {"sendbuf": whole, "recvbuf": block, "root": root, "counts": sizes}
    block = _own_block(comm, recvbuf, "recvbuf", root, written=True)
    return {
        "sendbuf": None, "recvbuf": block, "root": root,
        "counts": _counts_by_block(comm, counts, block, "recvbuf"),
    }  # fmt: skip


def gather(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> Prepared:
    _root(comm, root)
    if comm.rank == root:
        return allgather(comm, sendbuf, recvbuf, counts=counts) | {"root": root}  # type: ignore[arg-type]
    block = _own_block(comm, sendbuf, "sendbuf", root)
    return {
        "sendbuf": block, "recvbuf": None, "root": root,
        "counts": _counts_by_block(comm, counts, block, "sendbuf"),
    }  # fmt: skip


def alltoall(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    *,
    sendcounts: Sequence[int] | None = None,
    recvcounts: Sequence[int] | None = None,
) -> Prepared:
    result = _flat(recvbuf, "recvbuf", written=True)
    arriving = _counts(comm, recvcounts, result, "recvbuf")
    if is_in_place(sendbuf):
        return {
            "sendbuf": result, "recvbuf": result, "sendcounts": arriving, "recvcounts": arriving,
        }  # fmt: skip
    whole = _flat(sendbuf, "sendbuf")
    leaving = _counts(comm, sendcounts, whole, "sendbuf")
    if whole.dtype != result.dtype or leaving[comm.rank] != arriving[comm.rank]:
        kept = f"to itself {leaving[comm.rank]} and {arriving[comm.rank]} elements"
        raise ValueError(f"sendbuf is {describe(whole)}, recvbuf {describe(result)}, {kept}")
    _apart(whole, result)
    return {"sendbuf": whole, "recvbuf": result, "sendcounts": leaving, "recvcounts": arriving}


def neighbor_allgather(comm: GraphComm, sendbuf: Array, recvbuf: Array) -> Prepared:
    block, result, sources, _ = _with_neighbours(comm, sendbuf, recvbuf)
    if result.size != sources * block.size:
        got = f"sendbuf is {describe(block)}, recvbuf {describe(result)}"
        raise ValueError(f"{got}, with {sources} neighbours to receive from")
    return {"sendbuf": block, "recvbuf": result}


def neighbor_alltoall(comm: GraphComm, sendbuf: Array, recvbuf: Array) -> Prepared:
    whole, result, sources, destinations = _with_neighbours(comm, sendbuf, recvbuf)
    n = whole.size // destinations if destinations else result.size // max(sources, 1)
    if (whole.size, result.size) != (destinations * n, sources * n):
        got = f"sendbuf is {describe(whole)}, recvbuf {describe(result)}"
        raise ValueError(
            f"{got}, with {destinations} neighbours to send to, {sources} to receive from"
        )
    return {"sendbuf": whole, "recvbuf": result}


# ------------------------------------------------------------------------------ single checks


def describe(x: Any) -> str:
    """Return dtype and shape of an array, the type of anything else.

    Examples
    --------
    >>> describe(np.zeros((2, 3), np.float32)), describe([1, 2])
    ('float32(2, 3)', 'list')
    """
    return (
        f"{x.dtype}{x.shape}" if hasattr(x, "dtype") and hasattr(x, "shape") else type(x).__name__
    )


def _flat(x: Any, name: str, *, written: bool = False) -> Array:
    """Return a contiguous array as the flat view of its memory."""
    flags = getattr(x, "flags", None)
    if flags is None or not hasattr(x, "__array_ufunc__"):
        raise ValueError(f"{name} is {describe(x)}, wants an array (NumPy, CuPy)")
    if not flags.c_contiguous:
        if not flags.f_contiguous:
            raise ValueError(f"{name} is {describe(x)} with strides {x.strides}, wants contiguous")
        x = x.T
    if written and not getattr(flags, "writeable", True):
        raise ValueError(f"{name} is a read-only {describe(x)}, wants a writeable one")
    return x if x.ndim == 1 else x.reshape(-1)  # type: ignore[no-any-return]


def _fits(got: Array, got_name: str, wanted: Array, wanted_name: str) -> None:
    if got.size != wanted.size or got.dtype != wanted.dtype:
        raise ValueError(f"{got_name} is {describe(got)}, {wanted_name} {describe(wanted)}")


def _apart(sendbuf: Array, recvbuf: Array) -> None:
    if on_device(sendbuf) or on_device(recvbuf):
        from collectives.gpu import in_one_place

        in_one_place(sendbuf, recvbuf)
    if np.may_share_memory(sendbuf, recvbuf):
        raise ValueError("sendbuf and recvbuf overlap; pass IN_PLACE as sendbuf to reuse recvbuf")


def _whole_vectors(sendbuf: Any, recvbuf: Any) -> tuple[Array, Array]:
    """Return the buffers of a collective whose input and result are of one size."""
    result = _flat(recvbuf, "recvbuf", written=True)
    if is_in_place(sendbuf):
        return result, result
    whole = _flat(sendbuf, "sendbuf")
    _fits(whole, "sendbuf", result, "recvbuf")
    _apart(whole, result)
    return whole, result


def _with_neighbours(comm: GraphComm, sendbuf: Any, recvbuf: Any) -> tuple[Array, Array, int, int]:
    """Return the buffers, and the numbers of neighbours to receive from and to send to."""
    if not hasattr(comm, "inedges"):
        wanted = "one with neighbours: Create_cart, Create_dist_graph_adjacent"
        raise ValueError(f"comm is {type(comm).__name__}, wants {wanted}")
    if is_in_place(sendbuf):
        raise ValueError("sendbuf is IN_PLACE, which collectives among neighbours do not know")
    whole, result = _flat(sendbuf, "sendbuf"), _flat(recvbuf, "recvbuf", written=True)
    if whole.dtype != result.dtype:
        raise ValueError(f"sendbuf is {describe(whole)}, recvbuf {describe(result)}")
    _apart(whole, result)
    return whole, result, len(comm.inedges), len(comm.outedges)


def _root(comm: Comm, root: int) -> None:
    if not isinstance(root, int | np.integer) or not 0 <= root < comm.size:
        raise ValueError(f"root is {root}, wants 0..{comm.size - 1}")


def _op(op: Any, operand: Array) -> Op:
    known = as_op(op)
    known.check(operand.dtype)
    return known


def _counts(
    comm: Comm, counts: Sequence[int] | None, whole: Array, name: str
) -> EvenCounts | Counts:
    """Return the block sizes of `whole`, equal ones where none are given."""
    p = comm.size
    if counts is None:
        if whole.size % p:
            raise ValueError(f"{name} is {describe(whole)}, wants a multiple of p={p} or counts")
        return even(whole.size, p)
    sizes = _sizes(comm, counts)
    if sizes.start(p) != whole.size:
        raise ValueError(f"counts add up to {sizes.start(p)}, {name} is {describe(whole)}")
    return sizes


def _sizes(comm: Comm, counts: Sequence[int]) -> EvenCounts | Counts:
    if any(not isinstance(size, int | np.integer) for size in counts):
        raise ValueError(f"counts is {list(counts)}, wants integers")
    sizes = counts if isinstance(counts, EvenCounts | Counts) else Counts(counts)
    if len(sizes) != comm.size or any(size < 0 for size in sizes):
        raise ValueError(f"counts is {list(sizes)}, wants {comm.size} sizes >= 0")
    return sizes


def _own_block(comm: Comm, block: Any, name: str, root: int, *, written: bool = False) -> Array:
    """Return the flat block of a rank that is not the root, which has no IN_PLACE."""
    if is_in_place(block):
        raise ValueError(f"{name} is IN_PLACE on rank {comm.rank}, allowed on root {root} only")
    return _flat(block, name, written=written)


def _counts_by_block(
    comm: Comm, counts: Sequence[int] | None, block: Array, name: str
) -> EvenCounts | Counts:
    """Return the block sizes on a rank that has only its own block."""
    sizes = even(block.size * comm.size, comm.size) if counts is None else _sizes(comm, counts)
    if block.size != sizes[comm.rank]:
        raise ValueError(f"{name} is {describe(block)}, counts say {sizes[comm.rank]} elements")
    return sizes
