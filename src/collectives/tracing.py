"""A schedule is a trace: record what a run really sends, receives and combines.

`TraceComm` wraps any communicator, `Trace.op` any operation. What they record feeds counts,
tables and pictures; nobody writes schedules by hand.
"""

from __future__ import annotations

import linecache
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from collectives.comm import Array, Subgroup, flat, is_private, on_device, private
from collectives.op import SUM, Op

_GROUPS = Subgroup.Send.__code__.co_filename
_PASSING_ON = (_GROUPS, os.path.join(os.path.dirname(_GROUPS), "gpu", "comm.py"))


class Hold(NamedTuple):
    """A part of a block: what a message carries, or a rank holds.

    Attributes
    ----------
    column : int
        Which block.
    pips : tuple of int
        The ranks that are in it, one that was counted twice twice. For alltoall ``column`` is the
        rank that a block is from, and the only pip the rank that it is for. -1: numbers that do
        not belong into this block.
    at, share : float
        Where in the block the part starts, and how much of it it is: 0 and 1 for the whole.
    """

    column: int
    pips: tuple[int, ...]
    at: float = 0.0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that one rank did.

    Attributes
    ----------
    rank : int
        Who did it, as numbered in the communicator that was wrapped first.
    step : int
        Which of this rank's communication calls it belongs to, from 1.
    kind : str
        ``send``, ``receive`` or ``combine``.
    call : str
        What was called, such as ``Sendrecv`` or ``SUM``.
    peer : int
        The rank at the other end; the rank itself for ``combine``; -1 where a message from any
        rank never came.
    nbytes : int
        Bytes sent, received or combined; the room for a message that never came.
    start, end : float
        Seconds, in virtual time where the run was simulated. A nonblocking call starts when it
        is made and ends with its Wait. What never ended has an infinite ``end``.
    file, line : str, int
        The source line of the call, for a nonblocking one that of its Wait.
    code : str
        What is on that line, where its file can be read.
    tag : int
        The tag of the message; -1 where there is none.
    number : int
        How many messages with this tag this rank had posted before to, or from, this peer: the
        k-th send meets the k-th receive. -1 for receives that would have taken those with other
        tags too, -2 for those that would have taken any rank's.
    payload : array or None
        A copy of what was sent, received or combined, where the trace keeps it.
    holds : tuple of Hold
        What that is, where a recording has worked it out.
    """

    rank: int
    step: int
    kind: str
    call: str
    peer: int
    nbytes: int
    start: float
    end: float
    file: str
    line: int
    tag: int = -1
    number: int = -1
    payload: Array | None = None
    holds: tuple[Hold, ...] = ()
    code: str = ""


@dataclass
class Trace:
    """The events of one or more ranks.

    Parameters
    ----------
    keep : bool
        Whether events keep a copy of the data.
    """

    keep: bool = False
    events: list[Event] = field(default_factory=list)
    steps: int = 0
    posted: Counter[tuple[str, int, int]] = field(default_factory=Counter)

    def comm(self, comm: Any) -> TraceComm:
        """Return `comm` wrapped so that its calls are recorded here. One trace per rank."""
        return TraceComm(comm, self, list(range(comm.size)), comm.rank)

    def op(self, op: Op, comm: Any) -> Op:
        """Return `op` wrapped so that what rank ``comm.rank`` combines is recorded here."""

        def combine(lower: Array, higher: Array, out: Array) -> Array:
            start = _now(comm)
            op(lower, higher, out=out)
            end = _End("combine", out, comm.rank, comm.rank)
            self.note(comm, end, op.name, start, depth=3)
            return out

        return _TracedOp(op.name, combine, op.commutative, op.identity, op)

    def note(
        self, comm: Any, end: _End, call: str, start: float, depth: int, *, ended: bool = True
    ) -> None:
        """Record what began at `start` and ends now, called `depth` frames further up."""
        frame = sys._getframe(depth)
        while frame.f_code.co_filename in _PASSING_ON and frame.f_back is not None:
            frame = frame.f_back  # a Subgroup, a GpuComm
        buffer, file = flat(end.buffer), frame.f_code.co_filename
        nbytes = buffer.nbytes if end.nbytes is None else end.nbytes
        known = ended or end.kind == "send"
        kept = _copy(buffer[: nbytes // buffer.dtype.itemsize]) if self.keep and known else None
        self.events.append(
            Event(
                end.rank, self.steps, end.kind, call, end.peer, nbytes,
                start, _now(comm) if ended else math.inf,
                file, frame.f_lineno, end.tag, end.number, kept,
                code=linecache.getline(file, frame.f_lineno).strip(),
            )
        )  # fmt: skip

    @classmethod
    def merge(cls, traces: Iterable[Trace]) -> Trace:
        """Return the traces of several ranks as one."""
        return cls(events=[event for trace in traces for event in trace.events])

    def of(self, rank: int, kind: str | None = None) -> list[Event]:
        """Return the events of one rank, of one kind."""
        return [e for e in self.events if e.rank == rank and kind in (None, e.kind)]

    def messages(self, rank: int) -> int:
        """Return how many messages `rank` sent."""
        return len(self.of(rank, "send"))

    def sent(self, rank: int) -> int:
        """Return how many bytes `rank` sent."""
        return sum(event.nbytes for event in self.of(rank, "send"))


@dataclass(frozen=True, eq=False, repr=False)
class _TracedOp(Op):
    """An operation that is recorded where algorithms, not the MPI library, apply it."""

    inner: Op = SUM

    def __call__(self, lower: Array, higher: Array, out: Array) -> Array:
        return self.ufunc(lower, higher, out)  # type: ignore[no-any-return]

    def check(self, dtype: np.dtype[Any]) -> None:
        self.inner.check(dtype)

    @contextmanager
    def mpi(self, dtype: np.dtype[Any]) -> Iterator[Any]:
        with self.inner.mpi(dtype) as lent:
            yield lent


def _copy(array: Array) -> Array:
    """Return a copy on the host."""
    if not on_device(array):
        return array.copy()
    from collectives.gpu import to_host

    return to_host(array)


def _now(comm: Any) -> float:
    virtual = getattr(comm, "time", None)
    return time.perf_counter() if virtual is None else virtual


class TraceComm:
    """A communicator that records its calls in a `Trace` and passes them on."""

    def __init__(self, comm: Any, trace: Trace, members: list[int], rank: int) -> None:
        self.inner, self.trace, self.members, self.world_rank = comm, trace, members, rank
        self.rank, self.size = comm.rank, comm.size

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @property
    def is_private(self) -> bool:
        return is_private(self.inner)

    def private(self) -> TraceComm:
        return TraceComm(private(self.inner), self.trace, self.members, self.world_rank)

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        self._call("Send", lambda: self.inner.Send(buf, dest, tag), self._sent(buf, dest, tag))

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        self._call("Ssend", lambda: self.inner.Ssend(buf, dest, tag), self._sent(buf, dest, tag))

    def Recv(
        self, buf: Any, source: int | None = None, tag: int | None = None, status: Any = None
    ) -> None:
        status = self._status(status)
        options = _given(source=source, tag=tag, status=status)
        end = self._received(buf, source, tag)
        self._call("Recv", lambda: self.inner.Recv(buf, **options), end, status=status)

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: int | None = None, recvtag: int | None = None, status: Any = None,
    ) -> None:  # fmt: skip
        status = self._status(status)
        options = _given(recvbuf=recvbuf, source=source, recvtag=recvtag, status=status)
        self._call(
            "Sendrecv",
            lambda: self.inner.Sendrecv(sendbuf, dest, sendtag, **options),
            self._sent(sendbuf, dest, sendtag),
            self._received(recvbuf, source, recvtag),
            status=status,
        )

    def Sendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int | None = None,
        recvtag: int | None = None, status: Any = None,
    ) -> None:  # fmt: skip
        status = self._status(status)
        options = _given(source=source, recvtag=recvtag, status=status)
        outgoing = flat(buf).copy() if self.trace.keep else buf
        self._call(
            "Sendrecv_replace",
            lambda: self.inner.Sendrecv_replace(buf, dest, sendtag, **options),
            self._sent(outgoing, dest, sendtag),
            self._received(buf, source, recvtag),
            status=status,
        )

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> TraceRequest:
        request = self.inner.Isend(buf, dest, tag)
        return TraceRequest(self, request, "Isend", self._sent(buf, dest, tag))

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> TraceRequest:
        request = self.inner.Issend(buf, dest, tag)
        return TraceRequest(self, request, "Issend", self._sent(buf, dest, tag))

    def Irecv(self, buf: Any, source: int | None = None, tag: int | None = None) -> TraceRequest:
        request = self.inner.Irecv(buf, **_given(source=source, tag=tag))
        return TraceRequest(self, request, "Irecv", self._received(buf, source, tag))

    def Dup(self) -> TraceComm:
        return TraceComm(self.inner.Dup(), self.trace, self.members, self.world_rank)

    def Create_cart(self, *args: Any, **kwargs: Any) -> TraceComm:
        inner = self.inner.Create_cart(*args, **kwargs)
        return TraceComm(inner, self.trace, self.members, self.world_rank)

    def Split(self, color: int = 0, key: int = 0) -> Any:
        inner = self.inner.Split(color, key)
        if not inner:  # a negative color: None, or MPI.COMM_NULL
            return inner
        members = [self.members[rank] for rank in _ranks_of(inner, self.inner)]
        return TraceComm(inner, self.trace, members, self.world_rank)

    def _sent(self, buffer: Any, dest: int, tag: int) -> _End | None:
        return self._post("send", buffer, dest, tag)

    def _received(self, buffer: Any, source: int | None, tag: int | None) -> _End | None:
        return self._post("receive", buffer, source, -1 if tag is None else tag)

    def _post(self, kind: str, buffer: Any, peer: int | None, tag: int) -> _End | None:
        """Return what is known of a message when it is posted; None where it is to nobody."""
        if _is_nobody(peer):
            return None
        if peer is None or not 0 <= peer < len(self.members):
            return _End(kind, buffer, self.world_rank, -1, -1, -2)
        peer = self.members[peer]
        if tag < 0:
            return _End(kind, buffer, self.world_rank, peer, -1, -1)
        number = self.trace.posted[kind, peer, tag]
        self.trace.posted[kind, peer, tag] += 1
        return _End(kind, buffer, self.world_rank, peer, tag, number)

    def _status(self, given: Any) -> Any:
        """Return where the communicator underneath may say what was received."""
        if given is not None:
            return given
        if hasattr(self.inner, "kernel"):
            return SimpleNamespace()
        from mpi4py import MPI

        return MPI.Status()

    def _call(
        self, name: str, act: Callable[[], Any], *ends: _End | None, status: Any = None,
        start: float | None = None,
    ) -> None:  # fmt: skip
        """Make a blocking call and record its ends; those of a call that breaks off never end."""
        self.trace.steps += 1
        if start is None:
            start = _now(self.inner)
        ended = False
        try:
            act()
            ended = True
        finally:
            for end in ends:
                if end is not None:
                    if end.kind == "receive" and ended:
                        end = self._arrived(end, status)
                    self.trace.note(self.inner, end, name, start, depth=3, ended=ended)

    def _arrived(self, end: _End, status: Any) -> _End:
        """Return a receive with what is known now: who sent how much."""
        simulated = hasattr(status, "nbytes")
        nbytes = status.nbytes if simulated else status.Get_count(_byte())
        if end.number >= 0:
            return end._replace(nbytes=nbytes)
        return end._replace(peer=self.members[status.source], tag=status.tag, nbytes=nbytes)


class TraceRequest:
    """A nonblocking call under way; its event is recorded when it is waited for."""

    def __init__(self, comm: TraceComm, request: Any, call: str, end: _End | None) -> None:
        self.comm, self.request, self.call, self.end = comm, request, call, end
        self.start = _now(comm.inner)

    def Wait(self, status: Any = None) -> bool:
        end, self.end = self.end, None
        if end is not None:  # else it was waited for before
            status = self.comm._status(status)
            self.comm._call(
                self.call, lambda: self.request.Wait(status), end, status=status, start=self.start
            )
        return True

    wait = Wait

    @staticmethod
    def Waitall(requests: Iterable[TraceRequest]) -> bool:
        """Wait for each of `requests`."""
        return all(request.Wait() for request in list(requests))


class _End(NamedTuple):
    """One end of a message, or a combination, as known when it is posted."""

    kind: str
    buffer: Any
    rank: int
    peer: int
    tag: int = -1
    number: int = -1
    nbytes: int | None = None


def _byte() -> Any:
    from mpi4py import MPI

    return MPI.BYTE


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that were given: mpi4py's own defaults stand for the others."""
    return {name: value for name, value in options.items() if value is not None}


def _is_nobody(peer: int | None) -> bool:
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is not None and peer == mpi.PROC_NULL


def _ranks_of(inner: Any, outer: Any) -> list[int]:
    """Return the numbers that the ranks of `inner` have in `outer`."""
    mine, theirs = inner.group, outer.group
    if hasattr(mine, "members"):
        return [theirs.members.index(member) for member in mine.members]
    return list(mine.Translate_ranks(list(range(inner.size)), theirs))
