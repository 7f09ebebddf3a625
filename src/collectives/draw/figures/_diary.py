"""The diary of a block: its way from rank to rank, and who is in it after each hop."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Circle

from collectives.draw.cells import WHOLE, doubled, shares, wanted
from collectives.draw.figures.style import LIGHT, SIZE, Picture, Theme, arrow, canvas, page, short
from collectives.draw.text import many, runs
from collectives.recording import Message, Recording
from collectives.tracing import Hold

LINES = 22
"""Most hops in a column of the list."""
COLUMNS = 3
"""Most columns of the list; the hops between the first and the last are left out then."""


class Hop(NamedTuple):
    """One message with a part of the block; `parts` says what of it was aboard."""

    number: int
    step: int
    message: Message
    parts: list[Hold]


def hops(recording: Recording, column: int) -> list[Hop]:
    """Return the messages that carry something of a block, in order."""
    step_of = {
        id(event): number
        for number, frame in enumerate(recording.frames(), 1)
        for event in frame.events
    }
    found = []
    for message in recording.messages():
        parts = [hold for hold in message.send.holds if hold.column == column]
        if parts:
            found.append((step_of[id(message.send)], message, parts))
    found.sort(key=lambda hop: (hop[0], hop[1].send.rank, hop[1].send.peer))
    return [Hop(number, *hop) for number, hop in enumerate(found, 1)]


def diary(recording: Recording, column: int = 0, *, theme: Theme = LIGHT) -> Picture:
    """Draw the way of one block through the ranks, which stand in a circle.

    Arrows bear the number of the step. Thick ones carry the block complete, dashed ones what has
    been put together so far, dotted ones something counted twice. Ranks with a thick frame end
    with the block complete. The list says who is in it after each hop.

    Parameters
    ----------
    recording : Recording
    column : int
        Which block; for alltoall, the rank whose blocks are followed.
    theme : Theme

    Returns
    -------
    Picture
    """
    if not 0 <= column < len(recording.columns):
        raise ValueError(f"{recording} has {many(len(recording.columns), 'block')}; got {column}")
    way, name = hops(recording, column), recording.columns[column]
    lines = _lines(recording, way)
    rows = min(LINES, max(min(len(lines), 16), math.ceil(len(lines) / COLUMNS))) or 1
    p = recording.ranks
    size = min(4.6, 1.2 + 0.6 * p) if p <= 16 else max(6.2, min(9.0, 0.14 * p))
    route, aboard = (0.076 * max([len(line[k]) for line in lines], default=0) + 0.1 for k in (0, 1))
    across = max(1, math.ceil(len(lines) / rows))
    what = f"the blocks {name}" if recording.adds else f"block {name}"
    found = _findings(recording, column, way)
    with page(
        max(6.4, size + 0.2 + across * (route + aboard)), max(size, 0.2 * rows + 0.4),
        title=f"{recording}: the diary of {what}, {many(recording.ranks, 'rank')}",
        caption=" ".join(filter(None, (recording.caption, found))), theme=theme,
    ) as sheet:  # fmt: skip
        axes = canvas(sheet.body)
        top = axes.get_ylim()[1]
        _Circle(axes, recording, size, top / 2, theme).draw(way, column)
        for number, line in enumerate(lines):
            place, row = divmod(number, rows)
            x, y = size + 0.1 + place * (route + aboard), top - 0.3 - 0.2 * row
            for text, start in zip(line, (x, x + route), strict=True):
                axes.text(start, y, text, size=SIZE - 1, va="center")
    return sheet.picture(" ".join([
        f"{many(recording.ranks, 'rank')} in a circle, {many(len(way), 'arrow')} between them.",
        found, *(f"{route} carries {aboard}." for route, aboard in lines),
    ]))  # fmt: skip


def _complete(recording: Recording, hop: Hop) -> bool:
    """Return whether what is aboard is what some rank must end with; any blocks in alltoall."""
    if recording.adds:
        return True
    column = hop.parts[0].column
    aims = [set(wanted(recording, rank, column)) for rank in range(recording.ranks)]
    return not doubled(hop.parts) and set(shares(hop.parts)) in [aim for aim in aims if aim]


def _lines(recording: Recording, way: list[Hop]) -> list[tuple[str, str]]:
    """Return for every hop its route and its load; the middle of very many is left out."""
    lines = []
    for hop in way:
        send = hop.message.send
        lost = " (never arrives)" if math.isinf(hop.message.end) else ""
        route = f"{hop.step}: r{send.rank} → r{send.peer}"
        lines.append((route, _aboard(recording, hop) + lost))
    most = LINES * COLUMNS
    if len(lines) > most:
        cut = len(lines) - most + 1
        lines[most // 2 : most // 2 + cut] = [("...", f"{cut} more hops")]
    return lines


def _aboard(recording: Recording, hop: Hop) -> str:
    """Write what is aboard: from whom, who is counted twice, and how much of the block."""
    found, twice = shares(hop.parts), doubled(hop.parts)
    text = short(runs(found, recording.pips), 26)
    if twice:
        text += f" (twice: {short(runs(twice, recording.pips), 12)})"
    share = sum(part.share for part in hop.parts)
    return text if recording.adds or share > WHOLE else f"{text} ({share:.0%} of the block)"


def _findings(recording: Recording, column: int, way: list[Hop]) -> str:
    """Say how far the block travels, and when it is complete."""
    if column not in recording.filled:
        return "It has no elements."
    if not way:
        return "It never leaves its rank."
    steps = len({hop.step for hop in way})
    said = [f"{many(len(way), 'hop')} in {steps} of {many(len(recording.frames()), 'step')}."]
    whole = next((hop for hop in way if _complete(recording, hop)), None)
    if whole is not None and whole is not way[0] and not recording.adds:
        where = f"r{whole.message.send.rank}"
        said.append(f"After {many(way.index(whole), 'hop')} it is complete on {where}, "
                    "which sends it on.")  # fmt: skip
    kinds = Counter("twice" if doubled(hop.parts) else _complete(recording, hop) for hop in way)
    if not recording.adds and kinds[True] and kinds[False]:
        said.append("Thick arrows carry it complete, dashed ones what is there so far.")
    said.append("Ranks with a thick frame end with it complete.")
    wrong = next((hop for hop in way if doubled(hop.parts)), None)
    if wrong is not None:
        send = wrong.message.send
        said.append(f"The first mistake: what r{send.rank} sends to r{send.peer} in step "
                    f"{wrong.step}, dotted, has {_aboard(recording, wrong)}.")  # fmt: skip
    return " ".join(said)


class _Circle:
    """Ranks in a circle, r0 at the top, and arrows between them."""

    def __init__(
        self, axes: Axes, recording: Recording, size: float, middle: float, theme: Theme
    ) -> None:
        self.axes, self.recording, self.theme = axes, recording, theme
        p = recording.ranks
        self.centre, self.radius = (size / 2, middle), size / 2 - 0.45
        self.chord = 2 * self.radius * math.sin(math.pi / max(p, 2))
        self.node = min(0.2, 0.28 * self.chord)
        self.small = min(SIZE - 1, max(5, 65 * self.node))

    def at(self, rank: int) -> tuple[float, float]:
        """Return where a rank is."""
        if self.recording.ranks == 1:
            return self.centre
        angle = math.pi / 2 - 2 * math.pi * rank / self.recording.ranks
        x, y = self.centre
        return x + self.radius * math.cos(angle), y + self.radius * math.sin(angle)

    def draw(self, way: list[Hop], column: int) -> None:
        theme, recording = self.theme, self.recording
        last = recording.states()[-1]
        for rank in range(recording.ranks):
            aim = set(wanted(recording, rank, column))
            done = bool(aim) and aim <= shares(last[rank][column]).keys()
            self.axes.add_patch(Circle(self.at(rank), self.node, zorder=3, gid=f"rank-{rank}",
                                       facecolor=theme.paper, edgecolor=theme.ink,
                                       linewidth=2.2 if done else 0.8))  # fmt: skip
            self.axes.text(*self.at(rank), f"r{rank}", ha="center", va="center", zorder=4,
                           size=self.small)  # fmt: skip
        together: dict[tuple[int, int], list[Hop]] = defaultdict(list)
        for hop in way:
            together[hop.message.send.rank, hop.message.send.peer].append(hop)
        both_ways = Counter(frozenset(pair) for pair in together)
        for pair, same in together.items():
            for number, hop in enumerate(same):
                if both_ways[frozenset(pair)] > 1:
                    bend = self._inwards(*pair) * (0.1 + 0.18 * (pair[0] > pair[1]) + 0.3 * number)
                else:
                    bend = 0.3 * (number - (len(same) - 1) / 2)
                self._hop(hop, bend)

    def _inwards(self, rank: int, peer: int) -> int:
        """Return the sign of a bend to the middle; right across, each way has a side."""
        return 1 if (peer - rank) % self.recording.ranks <= self.recording.ranks / 2 else -1

    def _hop(self, hop: Hop, bend: float) -> None:
        send, theme = hop.message.send, self.theme
        (x0, y0), (x1, y1) = self.at(send.rank), self.at(send.peer)
        twice, whole = bool(doubled(hop.parts)), _complete(self.recording, hop)
        gap = self.node * 72 + 1.5
        look: dict[str, Any] = {
            "linestyle": ":" if twice else "-" if whole else (0, (4, 2)),
            "linewidth": 1.8 if whole or twice else 1.1, "color": theme.accents[1 if twice else 0],
            "shrinkA": gap, "shrinkB": gap, "gid": f"hop-{hop.number}",
            "mutation_scale": min(10, 24 * self.chord),
        }  # fmt: skip
        arrow(self.axes, (x0, y0), (x1, y1), connectionstyle=f"arc3,rad={bend}", **look)
        # The arrow is a quadratic curve, its control point `bend` of the chord to its side.
        t, far = 0.42, math.hypot(x1 - x0, y1 - y0)
        aside = 0.13 if far < 0.9 else 0.0  # no room on the arrow itself
        out = bend + 2 * math.copysign(aside, bend) / far
        cx, cy = (x0 + x1) / 2 + out * (y1 - y0), (y0 + y1) / 2 - out * (x1 - x0)
        x = (1 - t) ** 2 * x0 + 2 * t * (1 - t) * cx + t**2 * x1
        y = (1 - t) ** 2 * y0 + 2 * t * (1 - t) * cy + t**2 * y1
        under = None if aside else {"facecolor": theme.paper, "edgecolor": "none", "pad": 0.6}
        self.axes.text(x, y, str(hop.step), size=self.small, ha="center", va="center", zorder=5,
                       bbox=under)  # fmt: skip
