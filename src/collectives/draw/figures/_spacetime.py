"""The space-time diagram: one line per rank, time to the right, an arrow per message."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Rectangle

from collectives.draw.figures.spans import horizon, spans
from collectives.draw.figures.style import LIGHT, SIZE, Picture, Theme, arrow, canvas, page, short
from collectives.draw.text import many, nbytes, runs, seconds
from collectives.recording import Recording

HEADS = 2000
"""Most messages that get an arrow head; of more, only lines are drawn."""
RANKS = 256
"""Most ranks whose lines can be told apart on a page."""


def spacetime(recording: Recording, *, theme: Theme = LIGHT) -> Picture:
    """Draw a run over time: when messages travel, when ranks combine, and when they wait.

    Parameters
    ----------
    recording : Recording
        With at most `RANKS` ranks.
    theme : Theme

    Returns
    -------
    Picture
    """
    if recording.ranks > RANKS:
        raise ValueError(f"lines of {recording.ranks} ranks cannot be told apart; at most {RANKS}")
    how = "simulated" if recording.simulated else "measured"
    found = _findings(recording, how)
    p, steps = recording.ranks, len(recording.frames())
    row = max(0.09, min(0.62, 6.5 / p))
    width = max(7.2, min(13.0, 0.75 * steps + 1.2))
    with page(
        width, p * row + 1.0, theme=theme,
        title=f"{recording}: space and time, {many(p, 'rank')}, {how}",
        caption=" ".join(filter(None, (recording.caption, found))),
    ) as sheet:  # fmt: skip
        axes = canvas(sheet.body)
        _Diagram(axes, recording, row, theme).draw()
    return sheet.picture(
        f"{many(p, 'line')}, one per rank, with time to the right, and "
        f"{many(len(recording.messages()), 'arrow')} between them. {found}"
    )


def _findings(recording: Recording, how: str) -> str:
    """Say how long the run took, and who waited."""
    if not recording.events:
        return "Nothing is sent."
    first = min(event.start for event in recording.events)
    messages = recording.messages()
    lost = sum(math.isinf(message.end) for message in messages)
    said = [f"{many(len(messages), 'message')}{f', {lost} of them never arrived' if lost else ''}."]
    if recording.stuck is None:
        said.append(f"The run takes {seconds(recording.time - first)} ({how}, {recording.where}).")
    waited: dict[int, float] = defaultdict(float)
    for span in spans(recording):
        if span.kind == "wait":
            waited[span.rank] += span.end - span.start
    names = [f"r{rank}" for rank in range(recording.ranks)]
    if recording.stuck is not None:
        said.append(f"Waiting forever, hatched: {runs(recording.stuck.waiting, names)}.")
    elif sum(waited.values()) > 0:
        most = max(waited.values())
        longest = runs([rank for rank in waited if waited[rank] > 0.999 * most], names)
        said.append(f"Waiting, hatched, is {seconds(sum(waited.values()))} of all ranks together, "
                    f"at most {seconds(most)} of one: {short(longest)}.")  # fmt: skip
    else:
        said.append("No rank waits.")
    return " ".join(said)


class _Diagram:
    """Lines, boxes and arrows, in inches."""

    def __init__(self, axes: Axes, recording: Recording, row: float, theme: Theme) -> None:
        self.axes, self.recording, self.row, self.theme = axes, recording, row, theme
        self.origin = min((event.start for event in recording.events), default=0.0)
        self.last = horizon(recording)
        self.left, self.right = 0.45, axes.get_xlim()[1] - 0.2
        self.top = axes.get_ylim()[1] - 0.12
        self.thick = min(0.2, 0.5 * row)

    def x(self, time: float) -> float:
        length = (self.last - self.origin) or 1.0
        return self.left + (min(time, self.last) - self.origin) / length * (self.right - self.left)

    def y(self, rank: int) -> float:
        return self.top - (rank + 0.5) * self.row

    def draw(self) -> None:
        p, axes, theme = self.recording.ranks, self.axes, self.theme
        lines = [[(self.left, self.y(rank)), (self.right, self.y(rank))] for rank in range(p)]
        axes.add_collection(LineCollection(lines, colors=theme.muted, linewidths=0.6, zorder=1),
                            autolim=False)  # fmt: skip
        for rank in range(0, p, math.ceil(0.14 / self.row)):
            axes.text(self.left - 0.08, self.y(rank), f"r{rank}", ha="right", va="center")
        self._boxes()
        self._messages()
        self._scale()
        self._key()

    def _looks(self) -> dict[str, dict[str, Any]]:
        theme = self.theme
        return {
            "wait": {"facecolor": theme.paper, "edgecolor": theme.muted, "hatch": "//////"},
            "move": {"facecolor": theme.faint, "edgecolor": theme.muted},
            "combine": {"facecolor": theme.accents[1], "edgecolor": theme.ink},
        }

    def _boxes(self) -> None:
        found: dict[str, list[Rectangle]] = defaultdict(list)
        for span in spans(self.recording):
            x, thick = self.x(span.start), self.thick
            if span.kind == "combine":  # a tick at least, where it takes no time
                thick, wide = 1.5 * thick, max(self.x(span.end) - x, 0.03)
            else:
                wide = self.x(span.end) - x
            if wide > 0:
                found[span.kind].append(Rectangle((x, self.y(span.rank) - thick / 2), wide, thick))
        for kind, look in self._looks().items():
            if found[kind]:
                boxes = PatchCollection(found[kind], linewidth=0.5, zorder=2, **look)
                boxes.set_gid(kind)
                self.axes.add_collection(boxes, autolim=False)

    def _messages(self) -> None:
        messages = self.recording.messages()
        room = (self.right - self.left) / max(1, len(self.recording.frames()))
        labels = room > 0.55 and self.row > 0.28 and len(messages) <= 120
        taken: list[tuple[float, float]] = []  # where labels are
        for number, message in enumerate(messages):
            lost = math.isinf(message.end)
            start = self.x(message.start), self.y(message.send.rank)
            end = self.x(message.end), self.y(message.send.peer)
            look: dict[str, Any] = {
                "color": self.theme.accents[1 if lost else 0], "linewidth": 0.9, "zorder": 3,
                "linestyle": (0, (3, 2)) if lost else "-", "gid": f"message-{number}",
                "mutation_scale": 8, "arrowstyle": "-|>" if len(messages) <= HEADS else "-",
            }  # fmt: skip
            arrow(self.axes, start, end, **look)
            if labels:
                self._label(nbytes(message.send.nbytes), start, end, taken)

    def _label(
        self, text: str, start: tuple[float, float], end: tuple[float, float],
        taken: list[tuple[float, float]],
    ) -> None:  # fmt: skip
        """Write the bytes onto an arrow, near its beginning if no other label is there."""
        for part in (0.4, 0.22, 0.6, 0.75):
            x, y = start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])
            if all(abs(x - a) > 0.4 or abs(y - b) > 0.13 for a, b in taken):
                taken.append((x, y))
                under = {"facecolor": self.theme.paper, "edgecolor": "none", "pad": 0.4}
                self.axes.text(x, y, text, size=SIZE - 3, ha="center", va="center", zorder=4,
                               bbox=under)  # fmt: skip
                return

    def _scale(self) -> None:
        """Draw the axis of time, with round numbers."""
        axes, y = self.axes, self.top - self.recording.ranks * self.row - 0.1
        axes.plot(
            [self.left, self.right], [y, y], color=self.theme.muted, linewidth=0.8, linestyle="-"
        )
        length = max(0.0, self.recording.time - self.origin)
        step = 10 ** math.floor(math.log10(length / 4)) if length else 1.0
        step *= next((k for k in (1, 2, 5) if length / (k * step) <= 8), 10)
        for k in range(math.floor(length / step + 1e-9) + 1):
            x = self.x(self.origin + k * step)
            axes.plot([x, x], [y, y - 0.05], color=self.theme.muted, linewidth=0.8, linestyle="-")
            axes.text(x, y - 0.08, seconds(k * step) if k else "0", ha="center", va="top",
                      size=SIZE - 1)  # fmt: skip

    def _key(self) -> None:
        x, y = self.left, 0.16
        words = {
            "move": "its message is on its way",
            "wait": "waits in a call",
            "combine": "combines",
        }
        for kind, word in words.items():
            high = 0.2 if kind == "combine" else 0.12
            self.axes.add_patch(Rectangle((x, y - high / 2), 0.25, high, linewidth=0.5,
                                          gid=f"key-{kind}", **self._looks()[kind]))  # fmt: skip
            self.axes.text(x + 0.32, y, word, va="center", size=SIZE - 1)
            x += 0.55 + 0.064 * len(word)
        if any(math.isinf(message.end) for message in self.recording.messages()):
            self.axes.plot([x, x + 0.25], [y, y], linestyle=(0, (3, 2)),
                           color=self.theme.accents[1], linewidth=0.9)  # fmt: skip
            self.axes.text(x + 0.32, y, "never arrives", va="center", size=SIZE - 1)
