"""The communicator protocol: the only calls an algorithm may make.

An algorithm is given something that behaves like `Comm` and does not ask what it is: an mpi4py
communicator (which satisfies the protocol as it stands), the simulator's, or one that records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeAlias, final

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
"""Whatever NumPy dispatches to: NumPy, CuPy, phantom and object arrays."""


@final
class _InPlace:
    """The type of `IN_PLACE`."""

    def __repr__(self) -> str:
        return "IN_PLACE"


IN_PLACE: Final = _InPlace()
"""Given as ``sendbuf``: the input already lies in ``recvbuf``. ``MPI.IN_PLACE`` is taken too."""


def is_in_place(buffer: object) -> bool:
    """Tell whether `buffer` is this package's or mpi4py's ``IN_PLACE``."""
    return buffer is IN_PLACE or type(buffer).__name__ == "InPlaceType"


def flat(buffer: Any) -> Any:
    """Return the flat view of a buffer: an array, or mpi4py's ``[array, count, start, type]``.

    Examples
    --------
    >>> flat([np.arange(6), 2, 3])
    array([3, 4])
    """
    if isinstance(buffer, list | tuple):
        array, parts = flat(buffer[0]), buffer[1:]
        name = getattr(parts[-1], "typestr", "") if parts else ""
        if name and np.dtype(name).itemsize != array.itemsize:
            array = array.view(name)  # counts are of elements of the type named
        if parts and isinstance(parts[0], tuple):  # (count, start)
            parts = parts[0]
        numbers = [part for part in parts if isinstance(part, int | np.integer)]
        count, start = (*numbers, 0)[:2] if numbers else (array.size, 0)
        if min(count, start) < 0 or start + count > array.size:
            raise ValueError(f"{count} elements from {start} on, of a buffer of {array.size}")
        return array[start : start + count]
    if not hasattr(buffer, "flags"):  # neither NumPy's nor an array that acts like NumPy's
        buffer = np.frombuffer(buffer, np.uint8)
    if not buffer.flags.c_contiguous:
        raise BufferError(f"buffer {buffer.dtype}{buffer.shape} is not contiguous")
    return buffer if buffer.ndim == 1 else buffer.reshape(-1)


def on_device(array: Any) -> bool:
    """Tell whether `array` lies in the memory of a GPU, as CuPy's do."""
    return type(array) is not np.ndarray and hasattr(type(array), "__cuda_array_interface__")


class Request(Protocol):
    """A send or receive that may still be under way."""

    def Wait(self, status: Any = None) -> Any:
        """Return when the operation is complete and its buffer may be used again."""


class Comm(Protocol):
    """A group of ``size`` ranks that can send to each other."""

    @property
    def rank(self) -> int:
        """This process's number in the group, from 0."""

    @property
    def size(self) -> int:
        """The number of ranks, ``p`` in the text."""

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send `buf`; may return only when the receiver has it."""

    def Recv(self, buf: Any, source: int, tag: int = ...) -> None:
        """Receive into `buf`."""

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, *, recvbuf: Any, source: int
    ) -> None:
        """Send and receive at the same time."""

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start to send; `buf` must not change until ``Wait``."""

    def Irecv(self, buf: Any, source: int, tag: int = ...) -> Request:
        """Start to receive; `buf` must not be used until ``Wait``."""


class GraphComm(Comm, Protocol):
    """Ranks with neighbours: an MPI process topology, Cartesian or a distributed graph."""

    @property
    def inedges(self) -> list[int]:
        """Whom this rank receives from; a negative number (``MPI.PROC_NULL``) is nobody."""

    @property
    def outedges(self) -> list[int]:
        """Whom this rank sends to; a negative number (``MPI.PROC_NULL``) is nobody."""


def is_cartesian(comm: GraphComm) -> bool:
    """Tell whether the neighbours of `comm` are those in a grid."""
    return hasattr(comm, "dims")


# ------------------------------------------------------------------ the private communicator

_IS_PRIVATE = "private"
_keyval: int | None = None


def _free_duplicate(_comm: Any, _keyval: int, value: Any) -> None:
    if value is not _IS_PRIVATE:
        value.Free()


def is_private(comm: Any) -> bool:
    """Tell whether `comm` is already the duplicate that algorithms run on."""
    own = getattr(comm, "is_private", None)
    if own is not None:
        return bool(own)
    return _keyval is not None and comm.Get_attr(_keyval) is _IS_PRIVATE


def private(comm: Any) -> Any:
    """Return the duplicate of `comm` on which algorithms send, so that the caller's own messages,
    whatever their tags, cannot be taken for theirs.

    On an MPI communicator it is made once (a collective call) and cached as an attribute, as MPI
    advises libraries to do; freeing `comm` frees it. This package's own communicators bring
    their own ``private``.
    """
    own = getattr(comm, "private", None)
    if own is not None:
        return own()
    global _keyval
    if _keyval is None:
        from mpi4py import MPI

        _keyval = MPI.Comm.Create_keyval(delete_fn=_free_duplicate)
    duplicate = comm.Get_attr(_keyval)
    if duplicate is _IS_PRIVATE:
        return comm
    if duplicate is None:
        if comm.Is_inter():
            raise ValueError("comm is an inter-communicator, wants an intra-communicator")
        duplicate = comm.Dup()
        duplicate.Set_attr(_keyval, _IS_PRIVATE)
        comm.Set_attr(_keyval, duplicate)
    return duplicate


# ------------------------------------------------------------------ dtypes that MPI lacks


_MADE_ELSEWHERE = 256
"""From here on NumPy numbers the dtypes that other packages add, such as `ml_dtypes`."""


def in_mpi(dtype: np.dtype[Any]) -> bool:
    """Tell whether MPI has such elements: NumPy's own numbers in this machine's byte order.

    Examples
    --------
    >>> in_mpi(np.dtype("f2")), in_mpi(np.dtype("f8").newbyteorder()), in_mpi(np.dtype("M8[s]"))
    (True, False, False)
    """
    return dtype.kind in "fiucb" and dtype.num < _MADE_ELSEWHERE and dtype.isnative


def carrier(comm: Any, array: Array) -> Any:
    """Return `private` of `comm`, on which `array` and others like it can be sent.

    Arrays on a device go through `gpu.GpuComm`. Elements that MPI lacks travel as bytes.
    """
    dtype = array.dtype
    known = in_mpi(dtype) or not hasattr(comm, "Allreduce")
    if not known and dtype.hasobject:
        raise ValueError(f"dtype is {dtype}, whose elements are references; wants plain numbers")
    if on_device(array):
        from collectives.gpu import for_arrays_like

        comm = for_arrays_like(array, comm)
    return private(comm) if known else AsBytes(private(comm), dtype)


class AsBytes:
    """An MPI communicator on which arrays of a dtype that MPI lacks travel as bytes.

    Parameters
    ----------
    comm : Comm
        The private communicator underneath.
    dtype : dtype
        Such as bfloat16. `library.call` makes MPI's datatype of it, where MPI has to combine.
    """

    is_private = True

    __slots__ = ("comm", "dtype", "rank", "size")

    def __init__(self, comm: Any, dtype: np.dtype[Any]) -> None:
        self.comm, self.dtype = comm, dtype
        self.rank, self.size = comm.rank, comm.size

    def __getattr__(self, name: str) -> Any:
        return getattr(self.comm, name)

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        self.comm.Send(buf.view(np.uint8), dest, tag)

    def Recv(self, buf: Any, source: int, *tag: int) -> None:
        self.comm.Recv(buf.view(np.uint8), source, *tag)

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, *, recvbuf: Any, source: int
    ) -> None:
        outgoing, incoming = sendbuf.view(np.uint8), recvbuf.view(np.uint8)
        self.comm.Sendrecv(outgoing, dest, sendtag, recvbuf=incoming, source=source)

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        return self.comm.Isend(buf.view(np.uint8), dest, tag)  # type: ignore[no-any-return]

    def Irecv(self, buf: Any, source: int, *tag: int) -> Request:
        return self.comm.Irecv(buf.view(np.uint8), source, *tag)  # type: ignore[no-any-return]


# ------------------------------------------------------------------ some of the ranks


class Subgroup:
    """Some ranks of a communicator, renumbered 0, 1, ...: an algorithm runs among them.

    Unlike MPI's ``Split`` this is no collective call and sends nothing: every rank works out its
    group by arithmetic. Messages travel on the communicator underneath, where those between two
    ranks cannot overtake each other.

    Parameters
    ----------
    comm : Comm
        The communicator underneath; this process is one of `ranks` in it.
    ranks : sequence of int
        Who belongs to the group, in the order in which they are numbered, the same on all.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> group = Subgroup(SimpleNamespace(rank=5, size=9), range(1, 9, 2))
    >>> group.rank, group.size
    (2, 4)
    """

    is_private = True
    """Algorithms called on a group are inside another one: they run as bodies."""

    __slots__ = ("comm", "rank", "ranks", "size")

    def __init__(self, comm: Comm, ranks: Sequence[int]) -> None:
        self.comm, self.ranks = comm, ranks
        self.rank, self.size = ranks.index(comm.rank), len(ranks)

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        self.comm.Send(buf, dest=self.ranks[dest], tag=tag)

    def Recv(self, buf: Any, source: int, *tag: int) -> None:
        self.comm.Recv(buf, self.ranks[source], *tag)

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, *, recvbuf: Any, source: int
    ) -> None:
        self.comm.Sendrecv(
            sendbuf, self.ranks[dest], sendtag, recvbuf=recvbuf, source=self.ranks[source]
        )

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        return self.comm.Isend(buf, dest=self.ranks[dest], tag=tag)

    def Irecv(self, buf: Any, source: int, *tag: int) -> Request:
        return self.comm.Irecv(buf, self.ranks[source], *tag)
