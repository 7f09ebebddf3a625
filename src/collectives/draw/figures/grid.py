"""The contribution grid: who is in which block on which rank, step by step."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from collectives.draw.cells import complete, doubled, shares, wanted, wrong
from collectives.draw.figures.grid_signs import Pips, collect, frames
from collectives.draw.figures.style import LIGHT, SIZE, Picture, Theme, canvas, page, short
from collectives.draw.findings import description, findings, titles
from collectives.draw.text import many
from collectives.recording import Recording, State
from collectives.tracing import Hold

PIPS = 16
"""Most ranks whose contributions are drawn one by one; of more, a bar shows how many there are."""
PANELS = 15, 6
"""Most steps that are shown, and where cells are large or many."""
RANKS = 128
"""Most ranks that a reader can tell apart on a page."""


def contribution_grid(recording: Recording, *, theme: Theme = LIGHT) -> Picture:
    """Draw what every rank holds of every block, one panel per step.

    A pip stands for one contribution: hollow where it is missing, half where it is only in a part
    of the block, full where it is there, ringed where it is counted more than once. A thick frame
    is a block as it must be in the end; a dashed one is wrong: something in it should not be
    there, or is not there at the end. Of more than `PIPS` ranks, bars show how many are in it.

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
        raise ValueError(f"a grid of {recording.ranks} ranks cannot be read; at most {RANKS}")
    if not recording.columns:
        raise ValueError(f"{recording} moves no data: there is nothing to show in a grid")
    states, names = recording.states(), titles(recording)
    shown = _chosen(len(states), PANELS[recording.ranks > PIPS // 2])
    layout = _Layout(recording, len(shown))
    found = findings(recording)
    if len(shown) < len(states):
        found += f" Shown are {len(shown)} of {len(states)} states, evenly chosen."
    title = f"{recording}: who is in which block, {many(recording.ranks, 'rank')}"
    with page(
        layout.width, layout.height, title=title,
        caption=" ".join(filter(None, (recording.caption, found))), theme=theme,
    ) as sheet:  # fmt: skip
        axes = canvas(sheet.body)
        for place, number in enumerate(shown):
            before = states[number - 1] if number else None
            panel = _Panel(axes, recording, layout, theme, number, layout.corner(place))
            panel.draw(states[number], before, names[number], last=number == len(states) - 1)
        _key(axes, layout, recording, theme)
    return sheet.picture(f"{description(recording)} {found}")


def _chosen(count: int, most: int) -> list[int]:
    """Return which of `count` states to show: the first, the last, and evenly between.

    Examples
    --------
    >>> _chosen(4, 12), _chosen(15, 5)
    ([0, 1, 2, 3], [0, 4, 7, 10, 14])
    """
    if count <= most:
        return list(range(count))
    return [round(k * (count - 1) / (most - 1)) for k in range(most)]


class _Layout:
    """Sizes in inches: of a cell, of a panel, of the page."""

    def __init__(self, recording: Recording, panels: int) -> None:
        p, columns = recording.ranks, max(1, len(recording.columns))
        pips = max(1, len(recording.pips))
        self.bars = pips > PIPS
        self.across = 1 if self.bars else -(-pips // int(pips**0.5))
        self.down = 1 if self.bars else -(-pips // self.across)
        if self.bars:
            self.cell = max(0.03, min(0.12, 4.2 / columns)), max(0.03, min(0.16, 5 / p))
        else:
            pip = max(0.055, min(0.11, 2.3 / (columns * self.across)))
            self.cell = self.across * pip + 0.07, self.down * pip + 0.07
        self.left, self.over, self.gap = 0.4, 0.42, 0.16
        self.panel = (
            max(self.left + columns * self.cell[0] + self.gap, 1.1),
            self.over + p * self.cell[1] + self.gap,
        )
        self.row = max(1, min(panels, int(10.5 / self.panel[0])))
        rows = -(-panels // self.row)
        self.row = -(-panels // rows)
        self.width = max(6.4, self.row * self.panel[0] + 0.2)
        self.key = 0.62
        self.height = rows * self.panel[1] + self.key

    def corner(self, place: int) -> tuple[float, float]:
        """Return where the top left cell of a panel starts."""
        down, across = divmod(place, self.row)
        return (
            0.05 + across * self.panel[0] + self.left,
            self.height - down * self.panel[1] - self.over,
        )


class _Panel:
    """One state of all ranks."""

    def __init__(
        self, axes: Axes, recording: Recording, layout: _Layout, theme: Theme, number: int,
        corner: tuple[float, float],
    ) -> None:  # fmt: skip
        self.axes, self.recording, self.layout, self.theme = axes, recording, layout, theme
        self.number, self.corner = number, corner

    def draw(self, state: State, before: State | None, title: str, *, last: bool) -> None:
        theme, layout = self.theme, self.layout
        pips = Pips(self.axes, theme, f"step-{self.number}")
        boxes: dict[str, list[Rectangle]] = {"cell": [], "changed": [], "whole": [], "wrong": []}
        for rank, row in enumerate(state):
            for column, cell in enumerate(row):
                box = self._box(rank, column)
                changed = before is not None and before[rank][column] != cell
                boxes["changed" if changed else "cell"].append(Rectangle(*box))
                if complete(self.recording, rank, column, cell):
                    boxes["whole"].append(Rectangle(*box))
                elif wrong(cell) or (last and wanted(self.recording, rank, column)):
                    boxes["wrong"].append(Rectangle(*box))
                if layout.bars:
                    pips.bar(cell, len(self.recording.pips), *box)
                elif column in self.recording.filled:
                    there, twice = shares(cell), doubled(cell)
                    for pip in range(len(self.recording.pips)):
                        place = self._centre(box, pip)
                        pips.add(there.get(pip, 0.0), pip in twice, *place)
        for kind, look in frames(theme, bars=layout.bars).items():
            if boxes[kind]:
                collect(self.axes, boxes[kind], f"{kind}-step-{self.number}", **look)
        pips.draw()
        self._labels(title)

    def _box(self, rank: int, column: int) -> tuple[tuple[float, float], float, float]:
        width, height = self.layout.cell
        x, y = self.corner
        return (x + column * width, y - (rank + 1) * height), width * 0.94, height * 0.92

    def _centre(
        self, box: tuple[tuple[float, float], float, float], pip: int
    ) -> tuple[float, float, float]:
        (x, y), width, height = box
        down, across = divmod(pip, self.layout.across)
        step = min(width / self.layout.across, height / self.layout.down) * 0.92
        x += width / 2 + (across - (self.layout.across - 1) / 2) * step
        y += height / 2 - (down - (self.layout.down - 1) / 2) * step
        return x, y, step * 0.36

    def _labels(self, title: str) -> None:
        (x, y), (width, height) = self.corner, self.layout.cell
        axes, recording = self.axes, self.recording
        axes.text(x - 0.3, y + 0.2, short(title, 14), weight="bold", va="bottom")
        small: dict[str, Any] = {"size": SIZE - 2, "color": self.theme.muted}
        if recording.adds:
            axes.text(x - 0.05, y + 0.03, "from", ha="right", va="bottom", **small)
        every = max(1, round(0.3 / width))
        for column, name in enumerate(recording.columns):
            if column % every == 0:
                label = name.removeprefix("from ")
                axes.text(x + (column + 0.47) * width, y + 0.03, short(label, 6), ha="center",
                          va="bottom", size=SIZE - 2, color=self.theme.muted)  # fmt: skip
        every = math.ceil(0.13 / height)
        for rank in range(0, recording.ranks, every):
            axes.text(x - 0.05, y - (rank + 0.5) * height, f"r{rank}", ha="right", va="center",
                      size=SIZE - 2, color=self.theme.muted)  # fmt: skip


def _key(axes: Axes, layout: _Layout, recording: Recording, theme: Theme) -> None:
    """Draw what the signs mean, in two rows at the bottom."""
    pips, size, y = Pips(axes, theme, "key"), 0.14, 0.44
    x = 0.15
    if layout.bars:
        pips.bar([Hold(0, (0, 1))], 3, (x, y - size / 2), 0.25, size)
        x = _say(
            axes, x + 0.32, y, f"length: how many of the {len(recording.pips)} ranks are in it"
        )
        pips.bar([Hold(0, (0, 0, 1, 2))], 3, (x, y - size / 2), 0.25, size)
        _say(axes, x + 0.32, y, "foot: some of them twice")
    else:
        signs = (
            (1.0, False, f"{'for' if recording.adds else 'from'} rank k, in reading order"),
            (0.0, False, "missing"),
            (0.5, False, "in a part of the block"),
            (1.0, True, "twice"),
        )
        for share, twice, word in signs:
            pips.add(share, twice, x, y, 0.055)
            x = _say(axes, x + 0.12, y, word)
    pips.draw()
    x, y, looks = 0.1, 0.2, frames(theme, bars=layout.bars)
    words = {
        "changed": "changed in this step",
        "whole": "complete",
        "wrong": "wrong",
    }
    for kind, word in words.items():
        collect(axes, [Rectangle((x, y - size / 2), size, size)], f"{kind}-key", **looks[kind])
        x = _say(axes, x + size + 0.07, y, word)


def _say(axes: Axes, x: float, y: float, word: str) -> float:
    """Write a word of the key, and return where the next sign goes."""
    axes.text(x, y, word, va="center", size=SIZE - 1)
    return x + 0.064 * len(word) + 0.2
