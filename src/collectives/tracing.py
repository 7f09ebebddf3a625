"""A schedule is a trace: record what a run really sends, receives and combines.

`TraceComm` wraps any communicator, `Trace.op` any operation. What they record feeds counts,
tables and pictures; nobody writes schedules by hand.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from collectives.comm import Array, Subgroup, is_private, private
from collectives.op import SUM, Op

_GROUPS = Subgroup.Send.__code__.co_filename


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
        The rank at the other end; the rank itself for ``combine``; -1 for a receive from any rank.
    nbytes : int
        Bytes sent, room to receive, or bytes combined.
    start, end : float
        Seconds, in virtual time where the run was simulated. A nonblocking call starts when it
        is made and ends with its Wait.
    file, line : str, int
        The source line of the call, for a nonblocking one that of its Wait.
    payload : array or None
        A copy of what was sent, received or combined, where the trace keeps it.
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
    payload: Array | None = None


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

    def comm(self, comm: Any) -> TraceComm:
        """Return `comm` wrapped so that its calls are recorded here. One trace per rank."""
        return TraceComm(comm, self, list(range(comm.size)), comm.rank)

    def op(self, op: Op, comm: Any) -> Op:
        """Return `op` wrapped so that what rank ``comm.rank`` combines is recorded here."""

        def combine(lower: Array, higher: Array, out: Array) -> Array:
            start = _now(comm)
            op(lower, higher, out=out)
            self.note(comm, comm.rank, "combine", op.name, comm.rank, out, start, depth=3)
            return out

        return _TracedOp(op.name, combine, op.commutative, op.identity, op)

    def note(
        self, comm: Any, rank: int, kind: str, call: str, peer: int, buffer: Any, start: float,
        depth: int,
    ) -> None:  # fmt: skip
        """Record an event that began at `start` and ends now, called `depth` frames further up."""
        frame = sys._getframe(depth)
        while frame.f_code.co_filename == _GROUPS and frame.f_back is not None:
            frame = frame.f_back  # a Subgroup only passes the call on
        payload = buffer.copy() if self.keep else None
        self.events.append(
            Event(rank, self.steps, kind, call, peer, buffer.nbytes, start, _now(comm),
                  frame.f_code.co_filename, frame.f_lineno, payload)
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
        self._call("Send", lambda: self.inner.Send(buf, dest, tag), send=(buf, dest))

    def Recv(self, buf: Any, source: int, *tag: int, **options: Any) -> None:
        self._call(
            "Recv",
            lambda: self.inner.Recv(buf, source, *tag, **options),
            receive=(buf, source),
        )

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        *,
        recvbuf: Any,
        source: int,
        **options: Any,
    ) -> None:
        self._call(
            "Sendrecv",
            lambda: self.inner.Sendrecv(
                sendbuf, dest, sendtag, recvbuf=recvbuf, source=source, **options
            ),
            send=(sendbuf, dest),
            receive=(recvbuf, source),
        )

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> TraceRequest:
        request = self.inner.Isend(buf, dest, tag)
        return TraceRequest(self, request, "Isend", send=(buf, dest))

    def Irecv(self, buf: Any, source: int, *tag: int, **options: Any) -> TraceRequest:
        request = self.inner.Irecv(buf, source, *tag, **options)
        return TraceRequest(self, request, "Irecv", receive=(buf, source))

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

    def _call(
        self,
        name: str,
        act: Callable[[], Any],
        start: float | None = None,
        **ends: tuple[Any, int | None],
    ) -> None:
        self.trace.steps += 1
        if start is None:
            start = _now(self.inner)
        act()
        for kind, (buffer, peer) in ends.items():
            if _is_nobody(peer):
                continue
            end = -1 if peer is None or peer < 0 else self.members[peer]
            self.trace.note(self.inner, self.world_rank, kind, name, end, buffer, start, depth=3)


class TraceRequest:
    """A nonblocking call under way; its event is recorded when it is waited for."""

    def __init__(self, comm: TraceComm, request: Any, call: str, **ends: tuple[Any, int]) -> None:
        self.comm, self.request, self.call, self.ends = comm, request, call, ends
        self.start = _now(comm.inner)

    def Wait(self, status: Any = None) -> bool:
        ends, self.ends = self.ends, {}
        if ends:  # else it was waited for before
            self.comm._call(self.call, lambda: self.request.Wait(status), self.start, **ends)
        return True


def _is_nobody(peer: int | None) -> bool:
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is not None and peer == mpi.PROC_NULL


def _ranks_of(inner: Any, outer: Any) -> list[int]:
    """Return the numbers that the ranks of `inner` have in `outer`."""
    mine, theirs = inner.group, outer.group
    if hasattr(mine, "members"):
        return [theirs.members.index(member) for member in mine.members]
    return list(mine.Translate_ranks(list(range(inner.size)), theirs))
