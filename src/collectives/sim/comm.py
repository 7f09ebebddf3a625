"""The simulator's communicator: mpi4py's calls, with mpi4py's arguments."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from collectives.comm import flat
from collectives.sim.errors import SimulationError
from collectives.sim.kernel import Group, Meeting, Nothing, Operation, Receive, Send
from collectives.sim.phantom import Phantom
from collectives.topology import grid_coordinates, grid_neighbours


class SimComm:
    """A communicator between simulated ranks; satisfies `collectives.comm.Comm`.

    A source or tag of None means any, as leaving it out does; mpi4py's ``MPI.ANY_SOURCE``,
    ``MPI.ANY_TAG`` and ``MPI.PROC_NULL`` are understood where mpi4py is loaded. A receive from any
    source takes the message that was posted first in the order in which the ranks happen to run,
    as MPI allows; that need not be the first in virtual time.
    """

    __slots__ = ("group", "kernel", "me", "rank", "size")

    def __init__(self, group: Group, rank: int) -> None:
        self.group, self.kernel = group, group.kernel
        self.rank, self.size = rank, len(group.members)
        self.me = group.members[rank]

    def __repr__(self) -> str:
        return f"SimComm(rank={self.rank}, size={self.size})"

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    @property
    def time(self) -> float:
        """This rank's virtual time in seconds."""
        return self.me.clock

    # ------------------------------------------------------------------ blocking calls

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        self.kernel.wait(self.me, self._send(buf, dest, tag, "Send"))

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        self.kernel.wait(self.me, self._send(buf, dest, tag, "Ssend"))

    def Recv(
        self, buf: Any, source: int | None = None, tag: int | None = None, status: Any = None
    ) -> None:
        receive = self._receive(buf, source, tag, "Recv")
        self.kernel.wait(self.me, receive)
        self._report(status, receive)

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int | None = None,
        recvtag: int | None = None,
        status: Any = None,
    ) -> None:
        if type(sendbuf) is not Phantom and np.may_share_memory(flat(sendbuf), flat(recvbuf)):
            raise SimulationError(
                f"rank {self.rank}: the send and receive buffers of Sendrecv overlap"
            )
        receive = self._receive(recvbuf, source, recvtag, "Sendrecv")
        send = self._send(sendbuf, dest, sendtag, "Sendrecv")
        self.kernel.wait(self.me, receive, send)
        self._report(status, receive)

    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int | None = None,
        recvtag: int | None = None,
        status: Any = None,
    ) -> None:
        send = self._send(buf, dest, sendtag, "Sendrecv_replace")  # takes a copy of the data
        receive = self._receive(buf, source, recvtag, "Sendrecv_replace")
        self.kernel.wait(self.me, receive, send)
        self._report(status, receive)

    # ------------------------------------------------------------------ nonblocking calls

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> SimRequest:
        return SimRequest(self, self._send(buf, dest, tag, "Isend"))

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> SimRequest:
        return SimRequest(self, self._send(buf, dest, tag, "Issend"))

    def Irecv(self, buf: Any, source: int | None = None, tag: int | None = None) -> SimRequest:
        return SimRequest(self, self._receive(buf, source, tag, "Irecv"))

    # ------------------------------------------------------------------ communicators

    @property
    def is_private(self) -> bool:
        return self.group.is_private

    def private(self) -> SimComm:
        """Return the duplicate on which algorithms send."""
        return self._like(self.group.private())

    def Dup(self) -> SimComm:
        meeting = self.kernel.meet(self.me, self.group, self.rank, "Dup", None)
        if not meeting.places:
            _place(meeting, range(self.size))
        return self._like(meeting.places[self.rank][0])

    def _like(self, duplicate: Group) -> SimComm:
        """Return this communicator, with its neighbours if it has any, on a duplicate group."""
        return SimComm(duplicate, self.rank)

    def Split(self, color: int = 0, key: int = 0) -> SimComm | None:
        """Return the communicator of this color; None for a negative one (``MPI.UNDEFINED``)."""
        meeting = self.kernel.meet(self.me, self.group, self.rank, "Split", (color, key))
        if color < 0:
            return None
        if self.rank not in meeting.places:
            order = sorted((k, rank) for rank, (c, k) in meeting.brought.items() if c == color)
            _place(meeting, [rank for _, rank in order])
        return SimComm(*meeting.places[self.rank])

    def Create_cart(
        self, dims: Sequence[int], periods: Sequence[bool] | None = None, reorder: bool = False
    ) -> SimCartcomm | None:
        """Return the first ranks as a grid, the last dimension running fastest; None on others."""
        size = math.prod(dims)
        if size > self.size:
            raise SimulationError(f"a grid of {[*dims]} has {size} ranks, there are {self.size}")
        part = self.Split(0 if self.rank < size else -1)
        if part is None:
            return None
        return SimCartcomm(part.group, part.rank, dims, periods or [False] * len(dims))

    def Create_dist_graph_adjacent(
        self, sources: Sequence[int], destinations: Sequence[int],
        sourceweights: Any = None, destweights: Any = None, info: Any = None, reorder: bool = False,
    ) -> SimDistgraphcomm:  # fmt: skip
        """Return all ranks, each with its own list of whom it receives from and sends to."""
        return SimDistgraphcomm(self.Dup().group, self.rank, sources, destinations)

    def Free(self) -> None:
        """Give the communicator up. Collective in MPI; here there is nothing to do."""

    # ------------------------------------------------------------------ how it is done

    def _send(self, buf: Any, dest: int, tag: int, call: str) -> Operation:
        if not 0 <= dest < self.size:
            return self._no_peer(dest, "dest")
        if tag < 0:
            raise SimulationError(f"rank {self.rank}: {call} with tag {tag}, wants 0 or more")
        kernel, group, me = self.kernel, self.group, self.me
        payload = None
        if type(buf) is not Phantom:
            buf = flat(buf)
            payload = buf.copy()
        nbytes = buf.nbytes
        me.clock += kernel.overhead
        eager = nbytes < kernel.eager_limit and call not in ("Ssend", "Issend")
        send = Send(me, group.members[dest], buf, payload, tag, call, eager, next(kernel.number))
        me.messages += 1
        me.nbytes += nbytes
        if eager:
            kernel.departures.add(send, send.posted)
        key = self.rank * self.size + dest
        if group.wildcards:
            receive = _first(tag, (group.receives, key), (group.wildcards, dest))
        else:
            receive = _take(tag, group.receives, key) if key in group.receives else None
        if receive is not None:
            kernel.match(send, receive)
        else:
            group.sends.setdefault(key, []).append(send)
        return send

    def _receive(self, buf: Any, source: int | None, tag: int | None, call: str) -> Operation:
        if tag is not None and tag < 0:
            tag = None
        if source is not None and not 0 <= source < self.size:
            if not _is_any_source(source):
                return self._no_peer(source, "source")
            source = None
        if type(buf) is not Phantom:
            buf = flat(buf)
            if not getattr(buf.flags, "writeable", True):  # CuPy has no read-only arrays
                raise SimulationError(f"rank {self.rank}: {call} into a read-only buffer")
        group, kernel, size = self.group, self.kernel, self.size
        sender = None if source is None else group.members[source]
        receive = Receive(self.me, sender, buf, tag, call, next(kernel.number))
        if source is not None:
            key = source * size + self.rank
            send = _take(tag, group.sends, key) if key in group.sends else None
            posted, place = group.receives, key
        else:
            keys = filter(group.sends.__contains__, range(self.rank, size * size, size))
            send = _first(tag, *((group.sends, key) for key in keys))
            posted, place = group.wildcards, self.rank
        if send is not None:
            kernel.match(send, receive)
        else:
            posted.setdefault(place, []).append(receive)
        return receive

    def _report(self, status: Any, receive: Operation) -> None:
        """Say in `status` whose message was received, and how long it was."""
        if status is not None and isinstance(receive, Receive) and receive.send is not None:
            send = receive.send
            status.source, status.tag = self.group.members.index(send.sender), send.tag
            if hasattr(status, "Set_elements"):  # mpi4py's
                status.Set_elements(sys.modules["mpi4py.MPI"].BYTE, send.nbytes)
            else:
                status.nbytes = send.nbytes

    def _no_peer(self, peer: int, name: str) -> Nothing:
        mpi = sys.modules.get("mpi4py.MPI")
        if mpi is None or peer != mpi.PROC_NULL:
            raise SimulationError(f"rank {self.rank}: {name} is {peer}, wants 0..{self.size - 1}")
        return Nothing()


class SimDistgraphcomm(SimComm):
    """A communicator in which each rank has neighbours; -1 stands for one that is not there."""

    __slots__ = ("inedges", "outedges")

    def __init__(
        self, group: Group, rank: int, sources: Sequence[int], destinations: Sequence[int]
    ) -> None:
        super().__init__(group, rank)
        self.inedges, self.outedges = list(sources), list(destinations)

    def _like(self, duplicate: Group) -> SimDistgraphcomm:
        return SimDistgraphcomm(duplicate, self.rank, self.inedges, self.outedges)


class SimCartcomm(SimDistgraphcomm):
    """A grid: the neighbours are those before and behind in each dimension."""

    __slots__ = ("coords", "dims", "periods")

    def __init__(
        self, group: Group, rank: int, dims: Sequence[int], periods: Sequence[bool]
    ) -> None:
        neighbours = grid_neighbours(rank, dims, periods)
        super().__init__(group, rank, neighbours, neighbours)
        self.dims, self.periods = list(dims), list(periods)
        self.coords = grid_coordinates(rank, dims)

    def _like(self, duplicate: Group) -> SimCartcomm:
        return SimCartcomm(duplicate, self.rank, self.dims, self.periods)


class SimRequest:
    """A nonblocking send or receive; satisfies `collectives.comm.Request`."""

    __slots__ = ("comm", "operation")

    def __init__(self, comm: SimComm, operation: Operation) -> None:
        self.comm, self.operation = comm, operation
        if not isinstance(operation, Nothing):
            comm.me.unfinished[operation] = None

    def Wait(self, status: Any = None) -> bool:
        """Return when the operation is complete; a received message is in its buffer then."""
        if self.operation in self.comm.me.unfinished:
            del self.comm.me.unfinished[self.operation]
            self.comm.kernel.wait(self.comm.me, self.operation)
            self.comm._report(status, self.operation)
        return True

    wait = Wait

    @staticmethod
    def Waitall(requests: Iterable[SimRequest]) -> bool:
        """Wait for each of `requests`."""
        return all(request.Wait() for request in list(requests))


def _place(meeting: Meeting, ranks: Sequence[int]) -> None:
    """Give the ranks of a meeting, in this order, a group of their own."""
    old = meeting.group
    new = Group(old.kernel, [old.members[rank] for rank in ranks])
    meeting.places.update((rank, (new, place)) for place, rank in enumerate(ranks))


def _take(tag: int | None, queues: dict[int, list[Any]], key: int) -> Any:
    """Take the first operation with this tag out of a queue; None if there is none."""
    queue = queues[key]
    for place, operation in enumerate(queue):
        if tag is None or operation.tag is None or operation.tag == tag:
            if len(queue) == 1:
                del queues[key]
            else:
                del queue[place]
            return operation
    return None


def _first(tag: int | None, *places: tuple[dict[int, list[Any]], int]) -> Any:
    """Take the operation with this tag that was posted first out of whichever queue it is in."""
    found: list[tuple[int, dict[int, list[Any]], int]] = []
    for queues, key in places:
        for operation in queues.get(key, ()):
            if tag is None or operation.tag is None or operation.tag == tag:
                found.append((operation.number, queues, key))
                break
    return _take(tag, *min(found, key=lambda place: place[0])[1:]) if found else None


def _is_any_source(source: int) -> bool:
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is not None and source == mpi.ANY_SOURCE
