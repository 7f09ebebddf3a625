"""The signs of a contribution grid: pips, bars, and frames of cells, told apart by their shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Circle, Rectangle, Wedge

from collectives.draw.cells import WHOLE, doubled, shares
from collectives.draw.figures.style import Theme
from collectives.recording import Cell


class Pips:
    """The pips of a panel, gathered by what they look like, so that each kind is drawn at once."""

    def __init__(self, axes: Axes, theme: Theme, name: str) -> None:
        self.axes, self.theme, self.name = axes, theme, name
        self.kinds: dict[str, list[Circle | Wedge | Rectangle]] = {}

    def add(self, share: float, twice: bool, x: float, y: float, radius: float) -> None:
        if twice:
            self._put("twice", Circle((x, y), radius * 0.55))
            self._put("ring", Circle((x, y), radius * 1.25))
        elif share > WHOLE:
            self._put("full", Circle((x, y), radius))
        elif share > 0:
            self._put("half", Wedge((x, y), radius, 90, 270))
            self._put("rim", Circle((x, y), radius * 0.85))
        else:
            self._put("missing", Circle((x, y), radius * 0.85))

    def bar(
        self, cell: Cell, pips: int, corner: tuple[float, float], width: float, height: float
    ) -> None:
        """Add a bar as long as the share of all contributions that are there."""
        there = min(1, sum(shares(cell).values()) / pips)
        if there:
            self._put("full", Rectangle(corner, max(width * there, 0.012), height))
        if doubled(cell):
            self._put("twice", Rectangle(corner, width, height / 3))

    def _put(self, kind: str, patch: Circle | Wedge | Rectangle) -> None:
        self.kinds.setdefault(kind, []).append(patch)

    def draw(self) -> None:
        theme = self.theme
        looks: dict[str, dict[str, Any]] = {
            "missing": {"edgecolor": theme.muted, "linewidth": 0.5},
            "rim": {"edgecolor": theme.muted, "linewidth": 0.5},
            "half": {"facecolor": theme.accents[0]},
            "full": {"facecolor": theme.accents[0]},
            "twice": {"facecolor": theme.accents[1]},
            "ring": {"edgecolor": theme.accents[1], "linewidth": 1.0},
        }
        for kind, look in looks.items():
            if kind in self.kinds:
                collect(self.axes, self.kinds[kind], f"{kind}-{self.name}", **look)


def frames(theme: Theme, *, bars: bool) -> dict[str, dict[str, Any]]:
    """Return how the frames of cells look, from the lowest to the topmost."""
    thin = 0.3 if bars else 0.6
    wrong = {"hatch": "xxxxx"} if bars else {"linestyle": (0, (2, 1))}
    return {
        "cell": {"edgecolor": theme.faint, "linewidth": thin},
        "changed": {"edgecolor": theme.faint, "linewidth": thin, "facecolor": theme.faint},
        "wrong": {"edgecolor": theme.accents[1], "linewidth": 3 * thin, **wrong},
        "whole": {"edgecolor": theme.ink, "linewidth": 2.5 * thin},
    }


def collect(
    axes: Axes, patches: Sequence[Circle | Wedge | Rectangle], gid: str, **look: Any
) -> None:
    """Draw patches that look alike, under one name."""
    plain: dict[str, Any] = {"facecolor": "none", "edgecolor": "none"}
    collection = PatchCollection(patches, **(plain | look))
    collection.set_gid(gid)
    axes.add_collection(collection, autolim=False)
