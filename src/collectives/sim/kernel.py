"""The kernel: ranks as greenlets, virtual clocks, message matching by MPI's rules.

Every rank runs as a greenlet until it must wait. Matched messages wait in a heap, ordered by the
time from which they can go; only when no rank can run does the earliest one start, on the ports
that the network gives it. What happens later can thus never delay what happens earlier, and a run
is deterministic. When neither a rank nor a message can go on, the ranks that are left are
deadlocked, and each can say what it waits for.
"""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from greenlet import GreenletExit, getcurrent, greenlet

from collectives.sim.departures import Departures
from collectives.sim.errors import (
    BufferChangedError,
    DeadlockError,
    SimulationError,
    TruncationError,
    TypeMismatchError,
    UnfinishedError,
)
from collectives.sim.network import Hockney, Network

if TYPE_CHECKING:
    from collectives.sim.comm import SimComm

_HERE = os.path.dirname(__file__)
_OURS = tuple(os.path.join(os.path.dirname(_HERE), x) for x in ("sim/", "tracing.py", "comm.py"))
"""The source files that stand between a program and the kernel."""


class Awaited(Protocol):
    """Something a rank can wait for."""

    def peers(self) -> Iterable[Rank]:
        """The ranks without which it cannot happen."""

    def __str__(self) -> str: ...


class Rank(greenlet):
    """One simulated rank: where its program stands, its clock, and its counters."""

    def __init__(self, kernel: Kernel, index: int, program: Callable[[], Any]) -> None:
        super().__init__(program, parent=kernel.hub)
        self.kernel, self.index = kernel, index
        self.clock = 0.0
        self.pending = 0
        self.waiting: tuple[Awaited, ...] = ()
        self.messages = self.nbytes = 0
        self.unfinished: dict[Operation, None] = {}

    def charge(self, nbytes: int) -> None:
        """Let the clock go on for combining `nbytes`."""
        self.clock += self.kernel.gamma * nbytes

    def source_line(self) -> str:
        """Return file and line of the program where this rank waits."""
        frame = self.gr_frame
        while frame is not None and frame.f_code.co_filename.startswith(_OURS):
            frame = frame.f_back
        if frame is None:
            return "unknown line"
        return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


class Send:
    """A message: from the post of the send until both sides are done with it."""

    __slots__ = (
        "arrived", "buffer", "call", "dest", "done", "eager", "nbytes", "number", "payload",
        "posted", "receive", "sender", "tag", "waiter",
    )  # fmt: skip

    def __init__(
        self, sender: Rank, dest: Rank, buffer: Any, payload: Any, tag: int, call: str,
        eager: bool, number: int,
    ) -> None:  # fmt: skip
        self.sender = sender
        self.dest = dest
        self.buffer = buffer
        self.payload = payload
        self.nbytes = buffer.nbytes
        self.tag = tag
        self.call = call
        self.eager = eager
        self.number = number
        self.posted = sender.clock
        self.done: float | None = None
        self.arrived: float | None = None
        self.waiter: Rank | None = None
        self.receive: Receive | None = None

    def peers(self) -> Iterable[Rank]:
        return (self.dest,)

    def __str__(self) -> str:
        return f"{self.call} to {self.dest.index} (tag {self.tag}, {self.nbytes} bytes)"

    def finish(self) -> None:
        """Check, once the send is done, that its buffer was left alone meanwhile."""
        payload = self.payload
        if payload is None or self.call[0] != "I":
            return  # there is nothing to touch, or the sender could not touch it
        if self.buffer.tobytes() != payload.tobytes():
            raise BufferChangedError(
                f"rank {self.sender.index}: buffer of {self} was changed before Wait"
            )


class Receive:
    """A posted receive, until its message has arrived and was put into its buffer."""

    __slots__ = (
        "buffer", "call", "done", "number", "posted", "receiver", "send", "source", "tag", "waiter",
    )  # fmt: skip

    def __init__(
        self, receiver: Rank, source: Rank | None, buffer: Any, tag: int | None, call: str,
        number: int,
    ) -> None:  # fmt: skip
        self.receiver = receiver
        self.source = source
        self.buffer = buffer
        self.tag = tag
        self.call = call
        self.number = number
        self.posted = receiver.clock
        self.done: float | None = None
        self.waiter: Rank | None = None
        self.send: Send | None = None

    def peers(self) -> Iterable[Rank]:
        return () if self.source is None else (self.source,)

    def __str__(self) -> str:
        source = "any rank" if self.source is None else self.source.index
        tag = "any tag" if self.tag is None else f"tag {self.tag}"
        return f"{self.call} from {source} ({tag})"

    def finish(self) -> None:
        """Put the message, once it is there, into the buffer."""
        send, buffer = self.send, self.buffer
        assert send is not None
        sent, payload = send.buffer, send.payload
        if send.nbytes > buffer.nbytes:
            raise TruncationError(
                f"rank {self.receiver.index}: {self}: message of {send.nbytes} bytes, "
                f"buffer of {buffer.nbytes}"
            )
        if sent.dtype != buffer.dtype:
            raise TypeMismatchError(
                f"rank {self.receiver.index}: {self}: message of {sent.dtype}, "
                f"buffer of {buffer.dtype}"
            )
        if payload is not None:
            buffer[: payload.size] = payload
        elif type(buffer) is not type(sent):
            raise TypeMismatchError(
                f"rank {self.receiver.index}: {self}: message of {sent}, buffer of real data"
            )


class Nothing:
    """A send to or receive from nobody (``PROC_NULL``): done at once."""

    done: float | None = 0.0
    waiter: Rank | None = None

    def finish(self) -> None:
        pass

    def peers(self) -> Iterable[Rank]:
        return ()


Operation: TypeAlias = Send | Receive | Nothing


class Group:
    """A communicator as all its ranks share it: members, and messages not matched yet.

    ``sends`` and ``receives`` hold what is unmatched, by ``source * size + dest``, in the order
    in which it was posted; ``wildcards`` holds, by dest, receives from any source.
    """

    def __init__(self, kernel: Kernel, members: list[Rank], *, is_private: bool = False) -> None:
        self.kernel, self.members, self.is_private = kernel, members, is_private
        self.sends: dict[int, list[Send]] = {}
        self.receives: dict[int, list[Receive]] = {}
        self.wildcards: dict[int, list[Receive]] = {}
        self.meeting: Meeting | None = None
        self._private: Group | None = None
        kernel.groups.append(self)

    def private(self) -> Group:
        """Return the duplicate for algorithms; all ranks get the same one, and it is its own."""
        if self.is_private:
            return self
        if self._private is None:
            self._private = Group(self.kernel, self.members, is_private=True)
        return self._private


class Meeting:
    """A call that all ranks of a group must reach, such as Split."""

    def __init__(self, group: Group, call: str) -> None:
        self.group, self.call = group, call
        self.brought: dict[int, Any] = {}
        self.places: dict[int, tuple[Group, int]] = {}  # of each rank, once one has worked it out

    def peers(self) -> Iterable[Rank]:
        members = self.group.members
        absent = set(range(len(members))).difference(self.brought)
        return [members[rank] for rank in sorted(absent)]

    def __str__(self) -> str:
        absent = ", ".join(str(rank.index) for rank in self.peers())
        return f"{self.call} of {len(self.group.members)} ranks (not there: {absent})"


class Kernel:
    """One run: its ranks, the messages under way, and the order of events."""

    def __init__(self, size: int, network: Network) -> None:
        self.hub = getcurrent()
        self.gamma, self.eager_limit = network.gamma, network.eager_limit
        self.overhead = network.overhead
        self.departures = Departures(network.ports(size))
        self.ready: deque[Rank] = deque()
        self.number = count()
        self.groups: list[Group] = []
        self.ranks: list[Rank] = []
        self.starting = True
        self.over = False

    # ------------------------------------------------------------------ matching

    def match(self, send: Send, receive: Receive) -> None:
        """Bring a send and its receive together."""
        receive.send = send
        if not send.eager:
            send.receive = receive
            self.departures.add(
                send, send.posted if send.posted > receive.posted else receive.posted
            )
        elif send.arrived is None:  # not on its way yet
            send.receive = receive
        else:  # it waits at the receiver, or will
            self.complete(receive, max(send.arrived, receive.posted) + self.overhead)

    def complete(self, request: Send | Receive, time: float) -> None:
        """Note that `request` is done and wake the rank that waits for it, if it can go on."""
        request.done = time
        rank = request.waiter
        if rank is not None:
            if rank.clock < time:
                rank.clock = time
            rank.pending -= 1
            if not rank.pending:
                self.ready.append(rank)

    # ------------------------------------------------------------------ time

    def advance(self) -> None:
        """Start the message that can go first, or find that its ports are busy until later."""
        departed = self.departures.depart()
        if departed is None:
            return
        send, sent, arrived = departed
        send.arrived = arrived
        self.complete(send, sent)
        receive = send.receive
        if receive is not None:
            send.receive = None  # no cycle between the two: freed without the garbage collector
            posted = receive.posted
            self.complete(receive, (arrived if arrived > posted else posted) + self.overhead)

    def block(self, me: Rank) -> None:
        """Run others until `me` is woken."""
        if self.over:
            raise GreenletExit
        ready, departures = self.ready, self.departures
        if self.starting:
            self.hub.switch()
            return
        while not ready:
            if not departures:
                self.hub.switch()
            self.advance()
        other = ready.popleft()
        if other is not me:
            other.switch()

    def wait(self, me: Rank, *requests: Operation) -> None:
        """Return when all `requests` are done, and finish them."""
        pending = 0
        for request in requests:
            done = request.done
            if done is None:
                request.waiter = me
                pending += 1
            elif me.clock < done:
                me.clock = done
        if pending:
            me.pending, me.waiting = pending, requests
            self.block(me)
            me.waiting = ()
        for request in requests:
            request.finish()

    def meet(self, me: Rank, group: Group, rank: int, call: str, brought: Any) -> Meeting:
        """Wait for all ranks of `group` to make the same call, and share what each brought."""
        meeting = group.meeting
        if meeting is None:
            meeting = group.meeting = Meeting(group, call)
        if meeting.call != call:
            raise SimulationError(f"rank {rank} calls {call}, others of its group {meeting.call}")
        meeting.brought[rank] = brought
        if len(meeting.brought) < len(group.members):
            me.pending, me.waiting = 1, (meeting,)
            self.block(me)
            me.waiting = ()
        else:
            group.meeting = None
            now = max(member.clock for member in group.members)
            for member in group.members:
                member.clock = now
                if member is not me:
                    member.pending = 0
                    self.ready.append(member)
        return meeting

    # ------------------------------------------------------------------ the run

    def run(self) -> None:
        """Run all ranks to their end."""
        # A thousand ranks keep thousands of short-lived objects: let the collector look rarely.
        thresholds = gc.get_threshold()
        gc.set_threshold(100_000, *thresholds[1:])
        try:
            for rank in self.ranks:  # from the hub: a greenlet starts as deep as its starter is
                rank.switch()
            self.starting = False
            while self.ready or self.departures:
                if self.ready:
                    self.ready.popleft().switch()
                else:
                    self.advance()
            if any(not rank.dead for rank in self.ranks):
                raise self.deadlock()
        finally:
            gc.set_threshold(*thresholds)
            self.over = True
            for rank in self.ranks:
                if not rank.dead:
                    with suppress(BaseException):  # the error that ended the run is on its way
                        rank.throw()
        self.check_finished()

    def deadlock(self) -> DeadlockError:
        """Say which rank waits for what, and for whom in a circle."""
        stuck = [rank for rank in self.ranks if not rank.dead]
        waiting, edges = {}, {}
        for rank in stuck:
            open_ = [x for x in rank.waiting if getattr(x, "done", None) is None]
            waiting[rank.index] = f"{' and '.join(map(str, open_))} at {rank.source_line()}"
            edges[rank.index] = sorted({peer.index for x in open_ for peer in x.peers()})
        cycle = _cycle(edges)
        lines = [f"{len(stuck)} of {len(self.ranks)} ranks wait forever"]
        lines += [f"  rank {index}: {text}" for index, text in waiting.items()]
        ended = {p for peers in edges.values() for p in peers} - edges.keys()
        lines += [f"  rank {index}: has returned" for index in sorted(ended)]
        if cycle:
            lines.append("  in a circle: " + " -> ".join(map(str, [*cycle, cycle[0]])))
        return DeadlockError("\n".join(lines), waiting, cycle)

    def check_finished(self) -> None:
        """Raise UnfinishedError where messages or requests are left."""
        left = [
            f"rank {s.sender.index}: {s} was never received"
            for group in self.groups for sends in group.sends.values() for s in sends
        ]  # fmt: skip
        left += [
            f"rank {rank.index}: {request} was never waited for"
            for rank in self.ranks for request in rank.unfinished
        ]  # fmt: skip
        if left:
            raise UnfinishedError("all ranks have returned, but\n  " + "\n  ".join(left))


def _cycle(edges: dict[int, list[int]]) -> list[int]:
    """Return a cycle of the graph of who waits for whom, from its lowest rank; [] if none."""
    settled: set[int] = set()
    for start in edges:
        path: list[int] = []
        stack = [(start, iter(edges[start]))] if start not in settled else []
        while stack:
            node, peers = stack[-1]
            if len(path) < len(stack):
                path.append(node)
            following = next((peer for peer in peers if peer in edges), None)
            if following in path:
                cycle = path[path.index(following) :]
                lowest = cycle.index(min(cycle))
                return cycle[lowest:] + cycle[:lowest]
            if following is None:
                settled.add(node)
                stack.pop()
                path.pop()
            elif following not in settled:
                stack.append((following, iter(edges[following])))
    return []


@dataclass(frozen=True)
class Run:
    """What a simulated run gave.

    Attributes
    ----------
    results : list
        What the program returned on every rank.
    clocks : list of float
        The virtual time, in seconds, at which each rank returned.
    messages, nbytes : list of int
        Messages and bytes that each rank sent.
    """

    results: list[Any]
    clocks: list[float]
    messages: list[int]
    nbytes: list[int]

    @property
    def time(self) -> float:
        """The virtual time, in seconds, at which the last rank returned."""
        return max(self.clocks)


def simulate(
    program: Callable[[SimComm], Any], size: int, *, network: Network | None = None
) -> Run:
    """Run ``program(comm)`` on `size` simulated ranks in this process.

    Parameters
    ----------
    program : callable
        Runs once per rank; ``comm`` is its `SimComm`.
    size : int
        The number of ranks, at least 1.
    network : Network, optional
        What messages cost; ``Hockney()``, a second per message, where not given.

    Raises
    ------
    ValueError
        If `network` is something else, or has not so many ranks.
    DeadlockError
        If some ranks wait forever.
    UnfinishedError
        If all ranks have returned and a message or a request is left.
    Exception
        Whatever the program raises, with a note of the rank; the other ranks are ended.

    Examples
    --------
    >>> import numpy as np
    >>> def program(comm):
    ...     left = np.empty(1, int)
    ...     comm.Sendrecv(np.array([comm.rank]), dest=(comm.rank + 1) % comm.size,
    ...                   recvbuf=left, source=(comm.rank - 1) % comm.size)
    ...     return left.item()
    >>> run = simulate(program, 4)
    >>> run.results, run.time
    ([3, 0, 1, 2], 1.0)
    """
    from collectives.sim.comm import SimComm

    if size < 1:
        raise ValueError(f"size is {size}, wants at least 1")
    if network is None:
        network = Hockney()
    elif isinstance(network, type) or not hasattr(network, "ports"):
        raise ValueError(f"network is {network!r}, wants one such as Hockney() or preset(name)")
    kernel = Kernel(size, network)
    results: list[Any] = [None] * size

    def body(index: int) -> Callable[[], None]:
        def run() -> None:
            try:
                results[index] = program(SimComm(world, index))
            except BaseException as error:
                error.add_note(f"on simulated rank {index} of {size}")
                raise

        return run

    kernel.ranks.extend(Rank(kernel, index, body(index)) for index in range(size))
    world = Group(kernel, kernel.ranks)
    kernel.run()
    ranks = kernel.ranks
    return Run(
        results, [r.clock for r in ranks], [r.messages for r in ranks], [r.nbytes for r in ranks]
    )
