"""The wait-for graph of a run that never ended: who waits for whom, and in which line."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from collectives.draw.figures.style import LIGHT, SIZE, Picture, Theme, arrow, canvas, page, short
from collectives.draw.text import many, source_line
from collectives.recording import Recording
from collectives.tracing import Event

RANKS = 20
"""Most ranks whose calls are written into their nodes."""
BOX, SMALL = (1.5, 0.5), (0.38, 0.22)
"""Inches of a node with a call in it, and of one without."""
GAP = {BOX: (0.5, 0.45), SMALL: (0.16, 0.16)}
"""Inches between neighbours: beside each other, and one above the other."""


def waitfor(recording: Recording, *, theme: Theme = LIGHT) -> Picture:
    """Draw who waits for whom in a run that is stuck.

    Every waiting rank is a box with its call and its source line, and has an arrow to the rank it
    waits for: a bold double one where ranks wait in a circle. Ranks that returned are dotted. Of
    more than `RANKS` ranks only the numbers are drawn, and the description has their calls.

    Parameters
    ----------
    recording : Recording
        Of a run that never ended.
    theme : Theme

    Returns
    -------
    Picture
    """
    if recording.stuck is None:
        raise ValueError(f"{recording} ended: nobody waits for anybody any more")
    calls, found = unfinished(recording), _findings(recording)
    p, box = recording.ranks, BOX if recording.ranks <= RANKS else SMALL
    radius = _radius(p, box)
    width, height = 2 * radius + box[0] + 0.5, 2 * FLAT * radius + box[1] + 0.4
    with page(
        max(6.4, width), height, theme=theme,
        title=f"{recording}: who waits for whom, {many(recording.ranks, 'rank')}",
        caption=" ".join(filter(None, (recording.caption, found))),
    ) as sheet:  # fmt: skip
        axes = canvas(sheet.body)
        centre = axes.get_xlim()[1] / 2, height / 2
        nodes = [_Node(_place(centre, radius, rank, p), box) for rank in range(p)]
        circle = _edges(recording.stuck.cycle)
        for rank, events in calls.items():
            for peer in sorted({event.peer for event in events} - {-1, rank}):
                back = any(event.peer == rank for event in calls.get(peer, []))
                _edge(axes, nodes[rank], nodes[peer], (rank, peer), theme,
                      bold=(rank, peer) in circle, bend=0.25 if back else 0.15)  # fmt: skip
        for rank, node in enumerate(nodes):
            node.draw(axes, rank, calls.get(rank, []), theme, bold=rank in recording.stuck.cycle)
    return sheet.picture(f"{found} " + " ".join(
        f"r{rank}: {_call(*events)} at {source_line(events[0])}."
        for rank, events in calls.items()
    ))  # fmt: skip


def unfinished(recording: Recording) -> dict[int, list[Event]]:
    """Return the calls that never ended, by rank."""
    found: dict[int, list[Event]] = {}
    for event in sorted(recording.events, key=lambda event: event.rank):
        if math.isinf(event.end):
            found.setdefault(event.rank, []).append(event)
    return found


def _edges(cycle: list[int]) -> set[tuple[int, int]]:
    """Return the edges of a cycle.

    Examples
    --------
    >>> sorted(_edges([0, 2, 1]))
    [(0, 2), (1, 0), (2, 1)]
    """
    return set(zip(cycle, [*cycle[1:], *cycle[:1]], strict=True))


def _findings(recording: Recording) -> str:
    stuck = recording.stuck
    assert stuck is not None
    if not stuck.waiting:
        return f"The run broke off. {short(stuck.text, 300)}."
    count = len(stuck.waiting)
    said = f"{count} of {many(recording.ranks, 'rank')} wait{'s' * (count == 1)} forever"
    if not stuck.cycle:
        calls = unfinished(recording)
        ends = {e.peer: e for events in calls.values() for e in events if e.peer not in calls}
        gone = [f"r{event.rank} for r{peer}" for peer, event in sorted(ends.items()) if peer >= 0]
        return f"{said}, not in a circle: {short(', '.join(gone), 60)}, which is in no call."
    way = [f"r{rank}" for rank in [*stuck.cycle, stuck.cycle[0]]]
    if len(way) > 12:
        way[6:-5] = ["..."]
    said += f", {len(stuck.cycle)} of them in a circle: {' → '.join(way)}."
    if recording.ranks <= RANKS:
        return said
    lines = dict.fromkeys(f"{events[0].call} at {source_line(events[0])}"
                          for events in unfinished(recording).values())  # fmt: skip
    return f"{said} They are in {short(', '.join(lines), 120)}."


def _call(*ends: Event) -> str:
    """Write what a call waits for: one message, or both of a Sendrecv."""
    words = {"send": "to", "receive": "from"}
    peers = [f"r{end.peer}" if end.peer >= 0 else "anybody" for end in ends]
    if len(ends) == 1:
        return f"{ends[0].call} {words[ends[0].kind]} {peers[0]}"
    return f"{ends[0].call} with {', '.join(dict.fromkeys(peers))}"


FLAT = 0.8
"""Height of the circle of ranks, as part of its width."""


def _radius(p: int, box: tuple[float, float]) -> float:
    """Return how large the circle has to be for neighbours to have room for an arrow between."""
    radius, (beside, above) = 1.4, GAP[box]
    for rank in range(p if p > 1 else 0):
        (x0, y0), (x1, y1) = (_place((0, 0), 1, k, p) for k in (rank, rank + 1))
        room = (
            (box[0] + beside) / (abs(x1 - x0) or 1e-9), (box[1] + above) / (abs(y1 - y0) or 1e-9)
        )  # fmt: skip
        radius = max(radius, min(room))
    return radius


def _place(centre: tuple[float, float], radius: float, rank: int, p: int) -> tuple[float, float]:
    """Return where a rank stands in the circle, which is a little flat; r0 is on top."""
    if p == 1:
        return centre
    angle = math.pi / 2 - 2 * math.pi * rank / p
    return centre[0] + radius * math.cos(angle), centre[1] + FLAT * radius * math.sin(angle)


class _Node(NamedTuple):
    """A rank on the page."""

    place: tuple[float, float]
    box: tuple[float, float]

    def draw(self, axes: Axes, rank: int, events: list[Event], theme: Theme, *, bold: bool) -> None:
        (x, y), (width, height) = self.place, self.box
        look: dict[str, Any] = {"linewidth": 2.0 if bold else 1.0, "edgecolor": theme.ink}
        if not events:
            look = {"linewidth": 1.0, "edgecolor": theme.muted, "linestyle": ":"}
        axes.add_patch(FancyBboxPatch(
            (x - width / 2, y - height / 2), width, height,
            boxstyle="round,pad=0,rounding_size=0.08", facecolor=theme.paper, zorder=3,
            gid=f"rank-{rank}", **look,
        ))  # fmt: skip
        text: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 4, "size": SIZE - 1}
        if self.box == SMALL:
            axes.text(x, y, f"r{rank}", **text)
        elif not events:
            axes.text(x, y, f"r{rank}\nin no call", color=theme.muted, **text)
        else:
            call = f"r{rank}  {_call(*events)}"
            axes.text(x, y + 0.1, short(call, 23), weight="bold", **text)
            axes.text(x, y - 0.11, _tail(source_line(events[0]), 25), **(text | {"size": SIZE - 2}))

    def border(self, towards: tuple[float, float]) -> tuple[float, float]:
        """Return the point of the frame that lies in the direction of another node."""
        dx, dy = towards[0] - self.place[0], towards[1] - self.place[1]
        width, height = self.box
        far = min((width / 2 + 0.06) / (abs(dx) or 1e-9), (height / 2 + 0.06) / (abs(dy) or 1e-9))
        return self.place[0] + far * dx, self.place[1] + far * dy


def _tail(text: str, most: int) -> str:
    """Return the end of a text: of a path that is where the file's name and line are."""
    return text if len(text) <= most else "..." + text[3 - most :]


def _edge(
    axes: Axes, start: _Node, end: _Node, edge: tuple[int, int], theme: Theme, *,
    bold: bool, bend: float,
) -> None:  # fmt: skip
    first, last = start.border(end.place), end.border(start.place)
    name = f"{edge[0]}-{edge[1]}"
    look: dict[str, Any] = {"connectionstyle": f"arc3,rad={bend}", "zorder": 2}
    if not bold:
        arrow(axes, first, last, linewidth=1.0, color=theme.muted, gid=f"waits-{name}", **look)
        return
    head = {"mutation_scale": 16, "shrinkB": 0}
    line = {"arrowstyle": "-", "shrinkB": 7}
    accent = theme.accents[1]
    arrow(axes, first, last, linewidth=5, color=accent, gid=f"circle-{name}", **line, **look)
    arrow(axes, first, last, linewidth=2, color=theme.paper, gid=f"inner-{name}", **line, **look)
    arrow(axes, first, last, linewidth=0, color=accent, gid=f"head-{name}", **head, **look)
