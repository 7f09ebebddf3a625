"""A communicator whose calls are seen: what is sent, what is received, who waits for whom."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mpi4py import MPI

from collectives.comm import flat, is_private, private
from collectives.oracle.page import Page
from collectives.tracing import _ranks_of

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_OURS = tuple(os.path.join(_PACKAGE, x) for x in ("oracle/", "gpu/", "tracing.py", "comm.py"))
"""The source files that stand between a program and its communicator."""


@dataclass
class Log:
    """What one rank has sent and received, by the other end's rank; -1 for any."""

    sent: Counter[int] = field(default_factory=Counter)
    received: Counter[int] = field(default_factory=Counter)
    messages: int = 0
    nbytes: int = 0
    requests: list[tuple[str, int, Any]] = field(default_factory=list)

    def close(self) -> None:
        """Count the receives that are complete; what is not waited for stays in `requests`."""
        for what, peer, request in self.requests:
            if what.startswith("Irecv") and request == MPI.REQUEST_NULL:
                self.received[peer] += 1
        self.requests = [x for x in self.requests if x[2] != MPI.REQUEST_NULL]


class Watched:
    """An mpi4py communicator for the functions of a target written in Python.

    Parameters
    ----------
    comm : MPI.Comm
        The communicator underneath.
    page : Page
        Where each call is written before it is made.
    log : Log
        Where messages are counted.
    waits : bool
        Whether every send waits for its receive.
    members : sequence of int
        The ranks, as numbered in the communicator that was wrapped first.
    """

    def __init__(
        self, comm: Any, page: Page, log: Log, waits: bool, members: Sequence[int]
    ) -> None:
        self.inner, self.page, self.log, self.waits, self.members = comm, page, log, waits, members
        self.rank, self.size = comm.rank, comm.size

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _like(self, inner: Any) -> Any:
        if not inner:
            return inner
        members = [self.members[rank] for rank in _ranks_of(inner, self.inner)]
        return Watched(inner, self.page, self.log, self.waits, members)

    @property
    def is_private(self) -> bool:
        return is_private(self.inner)

    def private(self) -> Any:
        self._say("Dup for algorithms", -1)
        return Watched(private(self.inner), self.page, self.log, self.waits, self.members)

    def Dup(self) -> Any:
        self._say("Dup", -1)
        return self._like(self.inner.Dup())

    def Split(self, color: int = 0, key: int = 0) -> Any:
        self._say("Split", -1)
        return self._like(self.inner.Split(color, key))

    def Create_cart(self, *args: Any, **kwargs: Any) -> Any:
        self._say("Create_cart", -1)
        return self._like(self.inner.Create_cart(*args, **kwargs))

    # ------------------------------------------------------------------ messages

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        self._sends(buf, dest)
        send = self.inner.Ssend if self.waits else self.inner.Send
        self._call(f"Send to {self._name(dest)} (tag {tag})", dest, lambda: send(buf, dest, tag))

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        self._sends(buf, dest)
        what = f"Ssend to {self._name(dest)} (tag {tag})"
        self._call(what, dest, lambda: self.inner.Ssend(buf, dest, tag))

    def Recv(
        self, buf: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG, status: Any = None
    ) -> None:
        what = f"Recv from {self._name(source)} ({_tag(tag)})"
        self._call(what, source, lambda: self.inner.Recv(buf, source, tag, status))
        self._receives(source)

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: int = MPI.ANY_SOURCE, recvtag: int = MPI.ANY_TAG, status: Any = None,
    ) -> None:  # fmt: skip
        self._sends(sendbuf, dest)

        def act() -> None:
            if not self.waits:
                self.inner.Sendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag, status)
                return
            receive = self.inner.Irecv(recvbuf, source, recvtag)
            send = self.inner.Issend(sendbuf, dest, sendtag)
            receive.Wait(status)
            send.Wait()

        what = f"Sendrecv to {self._name(dest)}, from {self._name(source)} ({_tag(recvtag)})"
        self._call(what, source, act)
        self._receives(source)

    def Sendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = MPI.ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG, status: Any = None,
    ) -> None:  # fmt: skip
        self.Sendrecv(flat(buf).copy(), dest, sendtag, buf, source, recvtag, status)

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        self._sends(buf, dest)
        send = self.inner.Issend if self.waits else self.inner.Isend
        return self._started(f"Isend to {self._name(dest)} (tag {tag})", dest, send(buf, dest, tag))

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        self._sends(buf, dest)
        what = f"Issend to {self._name(dest)} (tag {tag})"
        return self._started(what, dest, self.inner.Issend(buf, dest, tag))

    def Irecv(self, buf: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG) -> Any:
        what = f"Irecv from {self._name(source)} ({_tag(tag)})"
        return self._started(what, source, self.inner.Irecv(buf, source, tag))

    # ------------------------------------------------------------------ how it is done

    def _sends(self, buf: Any, dest: int) -> None:
        if dest != MPI.PROC_NULL:
            self.log.sent[self._world(dest)] += 1
            self.log.messages += 1
            self.log.nbytes += flat(buf).nbytes

    def _receives(self, source: int) -> None:
        if source != MPI.PROC_NULL:
            self.log.received[self._world(source)] += 1

    def _world(self, peer: int) -> int:
        return self.members[peer] if 0 <= peer < len(self.members) else -1

    def _name(self, peer: int) -> str:
        return str(self._world(peer)) if self._world(peer) >= 0 else "any rank"

    def _started(self, what: str, peer: int, request: Any) -> Any:
        watched = WatchedRequest(request)
        watched.owner, watched.what, watched.peer = self, what, peer
        if peer != MPI.PROC_NULL:
            self.log.requests.append((what, self._world(peer), watched))
        return watched

    def _say(self, what: str, peer: int) -> None:
        self.page.write(f"{what} at {source_line()}", self._world(peer))

    def _call(self, what: str, peer: int, act: Callable[[], Any]) -> None:
        self._say(what, peer)
        act()
        self.page.write(self.page.what, -1)


class WatchedRequest(MPI.Request):
    """A request whose Wait is written to the page."""

    owner: Watched
    what: str
    peer: int

    def Wait(self, status: Any = None) -> Any:
        self.owner._say(f"Wait for {self.what}", self.peer)
        done = super().Wait(status)
        self.owner.page.write(self.owner.page.what, -1)
        return done

    wait = Wait


def _tag(tag: int) -> str:
    return "any tag" if tag == MPI.ANY_TAG else f"tag {tag}"


def source_line() -> str:
    """Return file and line of the target's call."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return "unknown line"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
