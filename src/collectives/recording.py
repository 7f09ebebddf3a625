"""One run of a collective, ready to be looked at: every table, figure and page is made from it.

A `Recording` knows what was called, what every rank held at the start, and the events of all ranks
(see `collectives.tracing`). Messages, steps, waiting and what each rank holds after every step are
worked out from these. `collectives.recorder` makes recordings; `save` and `load` keep them as JSON.
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from collectives.registry import COLLECTIVES
from collectives.tracing import Event, Hold

Cell: TypeAlias = list[Hold]
"""What a rank holds of one block: its parts, one where it holds all or nothing of it."""

State: TypeAlias = list[list[Cell]]
"""What every rank holds of every block: ``state[rank][column]``."""


class Message(NamedTuple):
    """A send and the receive that took it, None where there is none; `start` and `end` in s.

    It can start when both have been posted, or when the send was, where that did not wait. An
    infinite end: it never arrived.
    """

    send: Event
    receive: Event | None
    start: float
    end: float


class Frame(NamedTuple):
    """One step of a run: what no event of it had to wait for another one of it."""

    title: str
    events: list[Event]


@dataclass(frozen=True)
class Stuck:
    """Why a run never ended.

    Attributes
    ----------
    waiting : dict of int to str
        What each rank that did not return waits for, with its source line.
    cycle : list of int
        Ranks each of which waits for the next one, and the last for the first; may be empty.
    text : str
        All of it in words.
    """

    waiting: dict[int, str]
    cycle: list[int]
    text: str


@dataclass(frozen=True)
class Recording:
    """One run of a collective.

    Attributes
    ----------
    collective, algorithm : str
        Such as ``allreduce`` and ``ring``.
    ranks, elements : int
        p, and n as in the collective's signature.
    dtype : str
        The type of the elements.
    nbytes : int
        Bytes of the whole vector.
    root : int
        Where the collective has one.
    options : dict
        Options of the algorithm that were given.
    where : str
        The network of a simulated run, or the MPI library.
    simulated : bool
        Whether times are virtual.
    columns, pips : list of str
        What the columns of the contribution grid and the pips in its cells stand for.
    start : list of list of Hold
        What each rank brought.
    end : list of list of Hold, or None
        What the result of each rank holds; None where the run never ended.
    events : list of Event
        Of all ranks, those of a rank in the order in which its calls returned.
    stuck : Stuck, optional
        Why the run never ended, if it did not.
    caption : str
        What a picture of it is to say.
    """

    collective: str
    algorithm: str
    ranks: int
    elements: int
    dtype: str
    nbytes: int
    where: str
    simulated: bool
    columns: list[str]
    pips: list[str]
    start: list[list[Hold]]
    end: list[list[Hold]] | None
    events: list[Event]
    root: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    stuck: Stuck | None = None
    caption: str = ""

    def __str__(self) -> str:
        return f"{self.collective}/{self.algorithm}"

    @property
    def adds(self) -> bool:
        """Whether what arrives joins what a cell holds; else it takes its place."""
        return self.collective in ("alltoall", "neighbor_alltoall")

    # ------------------------------------------------------------------ what follows from it

    def messages(self) -> list[Message]:
        """Return all messages, in the order in which they could start."""
        return self._messages

    @cached_property
    def _messages(self) -> list[Message]:
        receives: dict[tuple[int, ...], Event] = {}
        wild: dict[int, list[Event]] = defaultdict(list)
        for event in self.events:
            if event.kind == "receive" and event.number >= 0:
                receives[event.peer, event.rank, event.tag, event.number] = event
            elif event.kind == "receive":
                wild[event.rank].append(event)
        found = []
        for send in sorted(self._of_kind("send"), key=lambda e: (e.start, e.number)):
            receive = receives.pop((send.rank, send.peer, send.tag, send.number), None)
            if receive is None:
                receive = _take(wild[send.peer], send)
            if receive is None:
                found.append(Message(send, None, send.start, math.inf))
                continue
            waited = send.end > receive.start
            start = max(send.start, receive.start) if waited else send.start
            found.append(Message(send, receive, start, max(send.end, receive.end)))
        return sorted(found, key=lambda message: message.start)

    def _of_kind(self, kind: str) -> Iterator[Event]:
        return (event for event in self.events if event.kind == kind)

    def frames(self) -> list[Frame]:
        """Return the steps of the run.

        Step k is what had to wait for step k - 1, of this rank or of the one at the other end; it
        depends on the order of calls only, not on how long messages took.
        """
        return self._frames

    @cached_property
    def _frames(self) -> list[Frame]:
        by_depth: dict[int, list[Event]] = defaultdict(list)
        for event, depth in zip(self.events, self._depths(), strict=True):
            by_depth[depth].append(event)
        count: dict[str, int] = defaultdict(int)
        frames = []
        for _, events in sorted(by_depth.items()):
            name = phase(events[0])
            count[name] += 1
            frames.append(Frame(f"{name} {count[name]}", events))
        return frames

    def _depths(self) -> list[int]:
        """Return, for every event, how many messages had to come one after the other up to it."""
        other: dict[int, Event] = {}
        for message in self.messages():
            if message.receive is not None:
                other[id(message.send)], other[id(message.receive)] = message.receive, message.send

        def ready(event: Event) -> float:
            """Return when what the event needs from both ends was there."""
            partner = other.get(id(event))
            if partner is None or (event.kind == "send" and event.end <= partner.start):
                return event.start
            return max(event.start, partner.start)

        depth: dict[int, int] = {}
        ended: list[list[tuple[float, int]]] = [[] for _ in range(self.ranks)]

        def before(event: Event) -> int:
            """Return the depth of what its rank had finished when it made the call."""
            place = bisect_right(ended[event.rank], (event.start, len(self.events)))
            return ended[event.rank][place - 1][1] if place else 0

        order = sorted(
            range(len(self.events)), key=lambda i: (ready(self.events[i]), self.events[i].end, i)
        )
        for event in (self.events[i] for i in order):
            partner = other.get(id(event))
            found = max(before(event), 1) if event.kind == "combine" else before(event) + 1
            if partner is not None and ready(event) >= ready(partner):
                found = max(found, depth.get(id(partner), before(partner) + 1))
            depth[id(event)] = found
            _note(ended[event.rank], event.end, found)
        return [depth[id(event)] for event in self.events]

    def states(self) -> list[State]:
        """Return what every rank holds at the start, and after each frame.

        That is what it last received or combined of each block; after the last frame, its result.
        """
        return self._states

    @cached_property
    def _states(self) -> list[State]:
        state: State = [[[] for _ in self.columns] for _ in range(self.ranks)]
        for rank, holds in enumerate(self.start):
            for hold in holds:
                self._put(state[rank][hold.column], hold)
        states = [state]
        for frame in self.frames():
            state = [list(cells) for cells in state]
            for event in frame.events:
                if event.kind == "send" or math.isinf(event.end):
                    continue
                for hold in event.holds:
                    cell = list(state[event.rank][hold.column])
                    self._put(cell, hold)
                    state[event.rank][hold.column] = cell
            states.append(state)
        if self.end is not None and self.frames():
            for mine, cells, aims in zip(state, self.result(), self.wanted, strict=True):
                for column, cell in enumerate(cells):
                    if cell or column in aims:  # not what was only passed on
                        mine[column] = cell
        return states

    def result(self) -> State:
        """Return what the results of all ranks hold: nothing where the run never ended."""
        state: State = [[[] for _ in self.columns] for _ in range(self.ranks)]
        for mine, holds in zip(state, self.end or [], strict=self.end is not None):
            for hold in holds:
                mine[hold.column].append(hold)
        return state

    def _put(self, cell: Cell, hold: Hold) -> None:
        """Put a part of a block into a cell: beside what is there (alltoall), or in its place."""
        if self.adds:
            if hold not in cell:
                cell.append(hold)
            return
        stop, parts = hold.at + hold.share, [hold]
        for old in cell:
            old_stop = old.at + old.share
            before, behind = min(old_stop, hold.at), max(old.at, stop)
            if before - old.at > _CLOSE:
                parts.append(old._replace(share=before - old.at))
            if old_stop - behind > _CLOSE:
                parts.append(old._replace(at=behind, share=old_stop - behind))
        cell[:] = _joined(sorted(parts, key=lambda part: part.at))

    @cached_property
    def filled(self) -> set[int]:
        """The columns of blocks that have elements."""
        return {hold.column for holds in self.start for hold in holds}

    @cached_property
    def wanted(self) -> list[dict[int, tuple[int, ...]]]:
        """What the result of each rank must hold, by column."""
        from collectives.recorder import wanted

        return wanted(self.collective, self.ranks, self.root)

    def waits(self) -> list[tuple[int, int, float]]:
        """Return who waited for whom, and how many seconds in all: the longest first.

        A rank waits for the other end of a message to be posted, from when it had nothing else
        left to do before it.
        """
        waited: dict[tuple[int, int], float] = defaultdict(float)
        idle = self._idle_since()
        for send, receive, start, _ in self.messages():
            if receive is None:
                continue
            for mine, other in ((receive, send), (send, receive)):
                if idle[id(mine)] < other.start <= start:
                    waited[mine.rank, other.rank] += other.start - idle[id(mine)]
        rows = [(waiter, for_whom, seconds) for (waiter, for_whom), seconds in waited.items()]
        return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))

    def _idle_since(self) -> dict[int, float]:
        """Return from when on the rank of each event had returned from all calls before it."""
        since: dict[int, float] = {}
        free: dict[int, tuple[int, float]] = {}  # by rank: its last step, and when that had begun
        ended = [-math.inf] * self.ranks
        for event in self.events:
            step, before = free.get(event.rank, (0, -math.inf))
            if event.step != step or event.kind == "combine":
                before = ended[event.rank]
                free[event.rank] = event.step, before
            since[id(event)] = max(event.start, before)
            ended[event.rank] = max(ended[event.rank], event.end)
        return since

    @property
    def time(self) -> float:
        """Seconds until the last event ended, of those that did."""
        return max((event.end for event in self.events if math.isfinite(event.end)), default=0.0)

    # ------------------------------------------------------------------ files

    def as_json(self) -> dict[str, Any]:
        """Return the recording, with what follows from it, ready for JSON."""
        from collectives.tracefile import as_json

        return as_json(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a ``.json`` file."""
        from collectives.tracefile import dumps

        Path(path).write_bytes(dumps(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read what `save` wrote; ValueError says what is wrong with another file."""
        from collectives.tracefile import loads

        return loads(Path(path).read_bytes(), str(path))


_CLOSE = 1e-9
"""Shares of a block closer than this are the same."""


def _note(ended: list[tuple[float, int]], end: float, depth: int) -> None:
    """Add to what a rank has finished, a list in which both time and depth grow."""
    place = bisect_right(ended, (end, depth))
    if place and ended[place - 1][1] >= depth:
        return
    while place < len(ended) and ended[place][1] <= depth:
        del ended[place]
    ended.insert(place, (end, depth))


def _take(receives: list[Event], send: Event) -> Event | None:
    """Take the first receive that would have taken others too, and took this send."""
    for place, receive in enumerate(receives):
        if (receive.peer, receive.tag) == (send.rank, send.tag):
            return receives.pop(place)
    return None


def _joined(parts: Sequence[Hold]) -> list[Hold]:
    """Return the parts of a cell with equal neighbours made one."""
    joined: list[Hold] = []
    for part in parts:
        last = joined[-1] if joined else None
        if last and last.pips == part.pips and abs(last.at + last.share - part.at) < _CLOSE:
            joined[-1] = last._replace(share=part.at + part.share - last.at)
        else:
            joined.append(part)
    return joined


def phase(event: Event) -> str:
    """Return the initials of the collective whose code made the call, such as RS or AG."""
    folder = os.path.basename(os.path.dirname(event.file))
    if folder not in COLLECTIVES:
        return "step"
    return "".join(word[0].upper() for word in re.sub("^all", "all_", folder).split("_"))
