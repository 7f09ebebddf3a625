"""The ranks of this MPI job as a world: every rank gets all results, and judges alike."""

from __future__ import annotations

import atexit
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from collectives.launch import library_name
from collectives.oracle.page import BACK, CALLING, IDLE, LEFT, RAISED, Page, call_witness
from collectives.oracle.watchdog import Watchdog
from collectives.oracle.watched import Log, Watched
from collectives.oracle.worlds import EAGER, SHOWN, Ending, Outcome, ending
from collectives.sim import Network

_NOT_ON_MPI = {"terms", "time", "phantoms"}
_NOT_OF_A_LIBRARY = {"messages", "rendezvous"}

Packet = tuple[Any, Ending | None, Log]


class OnMpi:
    """The ranks of this job; with fewer than all, the first ones.

    Parameters
    ----------
    patience : float
        Seconds without progress anywhere after which ranks are taken to hang.
    is_python : bool
        Whether the target is written in Python, over point-to-point calls: these are seen then.
    """

    def __init__(self, *, patience: float = 10.0, is_python: bool = True) -> None:
        self.name = library_name()
        self.world = MPI.COMM_WORLD.Dup()
        self.sizes: Sequence[int] = range(1, self.world.size + 1)
        self.is_python, self.big = is_python, False
        self.shows = frozenset(SHOWN) - _NOT_ON_MPI - (set() if is_python else _NOT_OF_A_LIBRARY)
        self.on_hang: Callable[[Ending], None] = lambda story: print(story.text, flush=True)
        self._comms: dict[int, Any] = {}
        self._kept: list[Any] = []
        self.page = self._page()
        Watchdog(self.page, patience, lambda story: self.on_hang(story)).start()

    def _page(self) -> Page:
        path = self.world.bcast(Page.create(self.world.size) if self.world.rank == 0 else None)
        page = Page(path, self.world.size, self.world.rank)
        page.enter(IDLE)
        atexit.register(page.enter, LEFT)
        if self.world.rank == 0:
            call_witness(path, self.world.size)
        self.world.Barrier()
        return page

    def announce(self, text: str, command: str) -> None:
        """Say what is checked now, and what repeats it, for whoever tells how the job ended."""
        if self.world.rank == 0:
            self.page.about(f"{text}\n{command}")

    def run(self, program: Callable[[Any], Any], p: int, *, network: Network = EAGER) -> Outcome:
        comm, log = self._comm(p), Log()
        packet: Packet = (None, None, log)
        if self.world.rank < p:
            packet = self._call(program, comm, log, waits=network.eager_limit == 0)
        packets = self._gathered(packet)
        self.page.enter(IDLE)
        outcome = _outcome(packets[:p])
        if outcome.ending is not None:  # there may be messages on it that nobody has received
            self._comms.clear()
            self._kept.append((comm, log))
        return outcome

    def _comm(self, p: int) -> Any:
        if p not in self._comms:
            self._comms[p] = self.world.Split(0 if self.world.rank < p else MPI.UNDEFINED)
        return self._comms[p]

    def _call(self, program: Callable[[Any], Any], comm: Any, log: Log, *, waits: bool) -> Packet:
        """Run the program on this rank; what it raises becomes its story."""
        handed = comm
        if self.is_python:
            handed = Watched(comm, self.page, log, waits, range(comm.size))
        self.page.enter(CALLING, "in the target's call")
        result, story = None, None
        try:
            result = program(handed)
        except (Exception, SystemExit) as error:
            error.add_note(f"on rank {comm.rank} of {comm.size}")
            story = ending(error)
            self._kept.append(error)  # and with it the buffers of requests under way
        self.page.enter(RAISED if story else BACK, story.text if story else "")
        log.close()
        if log.requests and story is None:
            story = Ending(
                "unwaited", f"rank {comm.rank}: {log.requests[0][0]} was never waited for"
            )
            self._kept.append(log.requests)
        plain = Log(log.sent, log.received, log.messages, log.nbytes)
        return result, story, plain

    def _gathered(self, packet: Packet) -> list[Packet]:
        """Return what all ranks bring."""
        mine = np.frombuffer(pickle.dumps(packet, protocol=5), np.uint8)
        sizes = np.empty(self.world.size, np.int64)
        _patiently(self.world.Iallgather(np.array([mine.size]), sizes))
        everything = np.empty(sizes.sum(), np.uint8)
        _patiently(self.world.Iallgatherv(mine, [everything, sizes.tolist()]))
        return [pickle.loads(part.data) for part in np.split(everything, np.cumsum(sizes[:-1]))]


def _patiently(request: Any) -> None:
    """Wait and leave the processor to others: ranks that spin would take it from those at work."""
    tries = 0
    while not request.Test():
        tries += 1
        time.sleep(0 if tries < 10 else 0.0002)


def _outcome(packets: Sequence[Packet]) -> Outcome:
    results = [result for result, _, _ in packets]
    logs = [log for _, _, log in packets]
    messages, nbytes = [log.messages for log in logs], [log.nbytes for log in logs]
    stories = [(rank, story) for rank, (_, story, _) in enumerate(packets) if story is not None]
    if not stories:
        return Outcome(results, _left_over(logs), messages, nbytes)
    news = [(rank, story) for rank, story in stories if story.kind != "refused"]
    if not news and len(stories) < len(packets):
        rank, story = stories[0]
        return Outcome(
            results, Ending("raised", f"on some ranks only: {story.text}", rank), messages, nbytes
        )
    rank, story = (news or stories)[0]
    return Outcome(results, Ending(story.kind, story.text, rank), messages, nbytes)


def _left_over(logs: Sequence[Log]) -> Ending | None:
    """Return which message was sent and never received, if any was."""
    total = sum(log.received.total() for log in logs)
    if sum(log.sent.total() for log in logs) == total and any(log.received[-1] for log in logs):
        return None
    for source, log in enumerate(logs):
        for dest, sent in sorted(log.sent.items()):
            received = logs[dest].received[source]
            if sent > received and not logs[dest].received[-1]:
                text = f"rank {source}: {sent - received} of {sent} messages to {dest}"
                return Ending("left over", f"{text} were never received", source)
    return None
