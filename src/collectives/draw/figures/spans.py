"""What ranks do at what time: a message of theirs is on its way, they wait, or they combine."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from collectives.recording import Recording
from collectives.tracing import Event


class Span(NamedTuple):
    """A time during which a rank is in a call; kind: ``wait``, ``move`` or ``combine``."""

    rank: int
    kind: str
    start: float
    end: float


def spans(recording: Recording) -> list[Span]:
    """Return what ranks do in their calls: a message of theirs is on its way, or they wait.

    A nonblocking call counts from when its rank had done everything before it: then it waits for
    the end. What never ends waits until the last event of the run.
    """
    moving: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for message in recording.messages():
        if math.isfinite(message.end):
            for event in (message.send, message.receive):
                moving[id(event)].append((message.start, message.end))
    last, found = horizon(recording), []
    calls: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for event in recording.events:
        calls[event.rank, event.step, event.kind == "combine", event.start].append(event)
    free = [-math.inf] * recording.ranks  # when each rank had done everything before
    for events in calls.values():  # those of a rank in the order in which they ended
        first = events[0]
        start, end = max(first.start, free[first.rank]), min(first.end, last)
        free[first.rank] = max(free[first.rank], end)
        if first.kind == "combine":
            found.append(Span(first.rank, "combine", start, end))
            continue
        busy = [span for event in events for span in moving[id(event)]]
        for kind, since, until in _parts(start, end, busy):
            found.append(Span(first.rank, kind, since, until))
    return found


def _parts(
    start: float, end: float, busy: Iterable[tuple[float, float]]
) -> list[tuple[str, float, float]]:
    """Cut a time into what lies in one of the `busy` spans, and what does not.

    Examples
    --------
    >>> _parts(0, 4, [(1, 2), (1.5, 3)])
    [('wait', 0, 1), ('move', 1, 1.5), ('move', 1.5, 2), ('move', 2, 3), ('wait', 3, 4)]
    """
    busy = list(busy)
    inside = {time for span in busy for time in span if start < time < end}
    return [
        ("move" if any(s <= a and b <= e for s, e in busy) else "wait", a, b)
        for a, b in pairwise(sorted({start, *inside, end}))
    ]


def horizon(recording: Recording) -> float:
    """Return when the diagram ends: with the last event, a little later if some never end."""
    if not recording.events:
        return 0.0
    first = min(event.start for event in recording.events)
    last = max([recording.time, *(event.start for event in recording.events)])
    if all(math.isfinite(event.end) for event in recording.events):
        return last
    return last + ((last - first) / 8 or 1.0)
