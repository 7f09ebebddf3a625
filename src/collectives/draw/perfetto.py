"""Recordings as Chrome trace-event JSON, which Perfetto (ui.perfetto.dev) opens.

One process per recording and one track per rank. A call is a slice, and so is a combination; an
arrow leads from the call that sent a message to the one that received it. Nonblocking calls
overlap, so they lie on tracks of their own below the rank's, as many as are under way at a time.

The format: Google, "Trace Event Format" (2016), with times in microseconds.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collectives.draw.text import runs, source_line
from collectives.recording import Message, Recording
from collectives.tracing import Event


def trace(*recordings: Recording) -> dict[str, Any]:
    """Return the trace of one or more recordings, ready for JSON.

    Times count from the first event of a recording, in microseconds rounded to nanoseconds. A call
    that never ended is drawn until the last event of all, and says so.
    """
    processes = [_Process(recording, number) for number, recording in enumerate(recordings, 1)]
    timed = sorted((event for process in processes for event in process.events()), key=_order)
    return {
        "traceEvents": [*(event for each in processes for event in each.metadata()), *timed],
        "displayTimeUnit": "ns",
        "otherData": {
            f"run {each.pid}": f"{each.recording}, {_how(each.recording)}" for each in processes
        },
    }


def save(path: str | Path, *recordings: Recording) -> None:
    """Write the trace of one or more recordings to a file."""
    Path(path).write_text(json.dumps(trace(*recordings), allow_nan=False), encoding="utf-8")


def _how(recording: Recording) -> str:
    return f"{'simulated' if recording.simulated else 'measured'} on {recording.where}"


def _order(event: dict[str, Any]) -> tuple[float, int, float]:
    """Sort by time, arrows after the slices they belong to, what takes no time first."""
    return event["ts"], "Xsf".index(event["ph"]), event.get("dur", 0)


class _Process:
    """The trace of one recording, as process number `pid`."""

    def __init__(self, recording: Recording, pid: int) -> None:
        self.recording, self.pid = recording, pid
        self.origin = min((event.start for event in recording.events), default=0.0)
        starts = [self._ns(event.start) for event in recording.events]
        ends = [self._ns(event.end) for event in recording.events if math.isfinite(event.end)]
        self.horizon = max([*ends, *(start + 1000 for start in starts)], default=0)
        self.tracks = {(rank, 0): rank + 1 for rank in range(recording.ranks)}
        self.free: dict[tuple[int, int], int] = {}  # when a lane of a rank is free again
        self.slice_of: dict[int, dict[str, Any]] = {}  # of an event, by its id

    def _ns(self, time: float) -> int:
        return round((time - self.origin) * 1e9)

    def events(self) -> list[dict[str, Any]]:
        """Return slices, and both ends of arrows."""
        slices = list(self._slices())
        messages = enumerate(self.recording.messages())
        return [*slices, *(end for k, message in messages for end in self._arrow(k, message))]

    def metadata(self) -> Iterator[dict[str, Any]]:
        """Yield the names of the process and of its tracks, once `events` has made these."""
        name = f"{self.recording} p={self.recording.ranks} ({_how(self.recording)})"
        yield self._named("process_name", {"name": name})
        for place, ((rank, lane), track) in enumerate(sorted(self.tracks.items())):
            label = f"r{rank}, under way {lane}" if lane else f"r{rank}"
            yield self._named("thread_name", {"name": label}, track)
            yield self._named("thread_sort_index", {"sort_index": place}, track)

    def _named(self, what: str, args: dict[str, Any], track: int = 0) -> dict[str, Any]:
        return {"ph": "M", "name": what, "pid": self.pid, "tid": track, "args": args}

    def _slices(self) -> Iterator[dict[str, Any]]:
        calls: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
        for event in self.recording.events:
            combination = id(event) if event.kind == "combine" else 0
            calls[event.rank, event.step, event.call, event.start, combination].append(event)
        for events in sorted(calls.values(), key=lambda call: (call[0].start, call[0].end)):
            first = events[0]
            start = self._ns(first.start)
            end = self._ns(first.end) if math.isfinite(first.end) else self.horizon
            found = {
                "ph": "X", "cat": "combine" if first.kind == "combine" else "call",
                "name": first.call, "pid": self.pid, "tid": self._track(first, start, end),
                "ts": start / 1000, "dur": (end - start) / 1000, "args": self._args(events),
            }  # fmt: skip
            self.slice_of.update({id(event): found for event in events})
            yield found

    def _track(self, event: Event, start: int, end: int) -> int:
        """Return the first track on which the rank has nothing under way at `start`."""
        lane = 1 if event.call.startswith("I") and event.kind != "combine" else 0
        while self.free.get((event.rank, lane), start) > start:
            lane += 1
        self.free[event.rank, lane] = end
        return self.tracks.setdefault((event.rank, lane), len(self.tracks) + 1)

    def _args(self, events: list[Event]) -> dict[str, Any]:
        """Return what a click on a slice shows."""
        args: dict[str, Any] = {"step": events[0].step, "source": source_line(events[0])}
        for event in events:
            peer = f"r{event.peer}" if event.peer >= 0 else "any rank"
            blocks = {hold.column for hold in event.holds}
            if event.kind == "combine":
                args["bytes"] = event.nbytes
            else:
                args["to" if event.kind == "send" else "from"] = peer
                args[f"bytes {'sent' if event.kind == 'send' else 'received'}"] = event.nbytes
            if blocks:
                args[f"blocks of {event.kind}"] = runs(blocks, self.recording.columns)
            if math.isinf(event.end):
                args["ended"] = "never"
        return args

    def _arrow(self, number: int, message: Message) -> Iterator[dict[str, Any]]:
        """Yield both ends of an arrow, each in its call; nothing for what never arrived."""
        if message.receive is None or math.isinf(message.end):
            return
        times = self._ns(message.start), self._ns(message.end)
        for phase, event, time in zip("sf", (message.send, message.receive), times, strict=True):
            found = self.slice_of[id(event)]
            start, end = round(found["ts"] * 1000), round((found["ts"] + found["dur"]) * 1000)
            inside = max(min(start + 1, end), min(time, end - 1))  # not where two slices meet
            arrow = {
                "ph": phase, "cat": "message", "name": "message", "id": f"{self.pid}.{number}",
                "pid": self.pid, "tid": found["tid"], "ts": inside / 1000,
            }  # fmt: skip
            yield {**arrow, "bp": "e"} if phase == "f" else arrow
