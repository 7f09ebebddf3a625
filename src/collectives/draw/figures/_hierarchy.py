"""Bytes on every link of a machine with nodes: inside them, and between their network cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.path import Path

from collectives.draw.figures.links import Ends, Traffic, cluster, together, traffic
from collectives.draw.figures.style import LIGHT, SIZE, Picture, Theme, canvas, page
from collectives.draw.text import nbytes as in_bytes
from collectives.draw.text import seconds as in_seconds
from collectives.recording import Recording

if TYPE_CHECKING:
    from collectives.sim.cluster import Cluster

NAMED, WIDEST = 16, 5.0
"""Ranks up to which every link is labelled; points of the line with most bytes."""


def hierarchy(
    *recordings: Recording, per_node: int | None = None, network: Cluster | None = None,
    theme: Theme = LIGHT,
) -> Picture:  # fmt: skip
    """Draw nodes as frames, links by the bytes they carried, network cards as ports below.

    Nodes are those of the preset that runs were simulated on, if it has any, where neither
    `per_node` nor `network` is given; else as the algorithm was told.
    All recordings are drawn with the same scale of line widths. Where there are more than 16
    ranks, links are not labelled one by one, but counted by their bytes.
    """
    if not recordings:
        raise ValueError("hierarchy() wants one recording or more")
    if per_node is None and network is None:
        network = cluster(recordings[0])
    loads = [traffic(recording, per_node, network) for recording in recordings]
    busiest = max(load.busiest for load in loads)
    lopsided = any(
        all(both) and both[0] != both[1] for load in loads for both in load.inside.values()
    )
    panels = [
        _Panel(recording, load, busiest or 1, lopsided)
        for recording, load in zip(recordings, loads, strict=True)
    ]
    above = max(panel.above for panel in panels)
    beside = sum(panel.wide for panel in panels) <= 14
    wide = sum(panel.wide for panel in panels) if beside else max(panel.wide for panel in panels)
    for panel in panels:
        panel.above = above
    tall = max(panel.tall for panel in panels) if beside else sum(panel.tall for panel in panels)
    caption = " ".join(
        _story(recording, load, network) for recording, load in zip(recordings, loads, strict=True)
    )
    with page(
        max(wide + 0.1, 6.4), tall + 0.05, theme=theme,
        title=f"Bytes on every link, {together(recordings)}",
        caption=caption + (
            f" Lines are as thick as the bytes of the busier direction, {in_bytes(busiest)} the "
            "thickest." if busiest else ""
        ),
    ) as sheet:  # fmt: skip
        axes = canvas(sheet.body)
        x, y = 0.1, axes.get_ylim()[1]
        for panel in panels:
            panel.draw(axes, x, y, theme)
            x, y = (x + panel.wide, y) if beside else (x, y - panel.tall)
    return sheet.picture(
        " ".join(_described(r, load) for r, load in zip(recordings, loads, strict=True))
    )


class _Panel:
    """One recording: where things are, in inches from its top left corner."""

    def __init__(self, recording: Recording, load: Traffic, most: int, lopsided: bool) -> None:
        self.recording, self.load, self.most = recording, load, most
        self.p, self.named = recording.ranks, recording.ranks <= NAMED
        self.lopsided = lopsided
        self.pitch = (0.86 if self.lopsided else 0.7) if self.named else 0.24
        self.gap = 0.35 if self.named else 0.22
        self.nodes = -(-self.p // load.per_node)
        self.above = max((self.height(ends) for ends in load.inside), default=0.0)
        self.below = max((self.depth(ends) for ends in load.between), default=0.0)
        node = load.per_node * self.pitch + self.gap
        self.wide = max(self.nodes * node + 0.15, 3.2)
        self.counts = [] if self.named else _tally(load)

    @property
    def ranks_at(self) -> float:
        return 0.72 + self.above

    @property
    def cards_at(self) -> float:
        return self.ranks_at + 0.5

    @property
    def tall(self) -> float:
        return self.cards_at + 0.35 + self.below + 0.19 * len(self.counts)

    def height(self, ends: Ends) -> float:
        step = (0.32 if self.lopsided else 0.24) if self.named else 0.08
        return 0.34 + step * (ends[1] - ends[0] - 1)

    def depth(self, ends: Ends) -> float:
        apart = ends[1] // self.load.nics - ends[0] // self.load.nics
        return (0.34 if self.named else 0.24) * apart + 0.12

    def rank_x(self, rank: int) -> float:
        node = rank // self.load.per_node
        return (rank + 0.5) * self.pitch + (node + 0.5) * self.gap

    def card_x(self, card: int) -> float:
        node, number = divmod(card, self.load.nics)
        width = self.load.per_node * self.pitch
        start = node * (width + self.gap) + self.gap / 2
        return start + width * (number + 0.5) / self.load.nics

    def draw(self, axes: Axes, x: float, y: float, theme: Theme) -> None:
        """Draw the panel with its top left corner there."""
        axes.text(x + 0.05, y - 0.13, str(self.recording), weight="bold", va="center")
        for node in range(self.nodes):
            self._node(axes, x, y, node, theme)
        for ends, both in self.load.inside.items():
            points = [(x + self.rank_x(rank), y - self.ranks_at + 0.12) for rank in ends]
            self._link(
                axes, points, self.height(ends) - 0.08, both, theme.accents[0], "inside", theme
            )
        for ends, both in self.load.between.items():
            points = [(x + self.card_x(card), y - self.cards_at - 0.09) for card in ends]
            self._link(axes, points, -self.depth(ends), both, theme.accents[1], "between", theme)
        for rank in range(self.p):
            self._rank(axes, x, y, rank, theme)
        for line, (kind, text) in enumerate(self.counts):
            low = y - self.tall + 0.12 + 0.19 * (len(self.counts) - 1 - line)
            axes.text(x + 0.1, low, f"{kind}: {text}", va="center", size=SIZE - 1)

    def _node(self, axes: Axes, x: float, y: float, node: int, theme: Theme) -> None:
        per_node = self.load.per_node
        left = x + self.rank_x(node * per_node) - self.pitch / 2
        axes.add_patch(
            FancyBboxPatch(
                (left, y - self.cards_at), per_node * self.pitch, self.cards_at - 0.29,
                boxstyle="round,pad=0,rounding_size=0.08", fill=False, edgecolor=theme.ink,
                linewidth=1.2, gid="node",
            )
        )  # fmt: skip
        axes.text(left + 0.06, y - 0.32, f"node {node}", va="top", size=SIZE - 1, color=theme.muted)
        for number in range(self.load.nics):
            card = node * self.load.nics + number
            axes.add_patch(
                Rectangle(
                    (x + self.card_x(card) - 0.09, y - self.cards_at - 0.09), 0.18, 0.18, zorder=4,
                    facecolor=theme.paper, edgecolor=theme.ink, hatch="////", gid="nic",
                )
            )  # fmt: skip

    def _rank(self, axes: Axes, x: float, y: float, rank: int, theme: Theme) -> None:
        here, over = x + self.rank_x(rank), y - self.ranks_at
        if any(self.load.card[rank] in ends for ends in self.load.between):
            there = x + self.card_x(self.load.card[rank])
            axes.plot(
                [here, there], [over, y - self.cards_at], color=theme.muted, linestyle=":",
                linewidth=0.8, zorder=1,
            )  # fmt: skip
        radius = 0.13 if self.named else 0.1
        axes.add_patch(
            Circle((here, over), radius, facecolor=theme.paper, edgecolor=theme.ink, zorder=4)
        )
        axes.text(
            here, over, f"r{rank}" if self.named else str(rank), ha="center",
            va="center_baseline", size=SIZE - 2.5 if self.named else SIZE - 4, zorder=5,
        )  # fmt: skip

    def _link(
        self, axes: Axes, points: Sequence[tuple[float, float]], rise: float,
        both: tuple[int, int], colour: str, gid: str, theme: Theme,
    ) -> None:  # fmt: skip
        """Draw a link as an arc with heads where bytes arrive, and its bytes on top."""
        (left, y), (right, _) = points
        bend = y + rise * 4 / 3
        path = Path(
            [(left, y), (left, bend), (right, bend), (right, y)],
            [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
        )
        width = 0.5 + (WIDEST - 0.5) * max(both) / self.most
        style = "<|-|>" if all(both) else "-|>" if both[0] else "<|-"
        axes.add_patch(
            FancyArrowPatch(
                path=path, arrowstyle=style, color=colour, linewidth=width, zorder=2, gid=gid,
                mutation_scale=5 + width, capstyle="butt", joinstyle="miter",
            )
        )  # fmt: skip
        if self.named:
            axes.text(
                (left + right) / 2, y + rise + 0.02, _label(both), ha="center", va="center",
                size=SIZE - 2.5, zorder=6,
                bbox={"facecolor": theme.paper, "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip


def _label(both: tuple[int, int]) -> str:
    right, left = (in_bytes(n) for n in both)
    if all(both):
        return f"{right} ↔" if right == left else f"{right} →\n← {left}"
    return f"{right} →" if both[0] else f"← {left}"


def _tally(load: Traffic) -> list[tuple[str, str]]:
    """Count links by the bytes they carried, the busiest first."""
    lines = []
    for kind, links in (("inside nodes", load.inside), ("between nodes", load.between)):
        counts = Counter(tuple(sorted(both, reverse=True)) for both in links.values())
        texts = [
            f"{count} x {in_bytes(more)} " + (
                "each way" if more == less else f"and {in_bytes(less)} back" if less else "one way"
            )
            for (more, less), count in sorted(counts.items(), reverse=True)
        ]  # fmt: skip
        more = f", {len(texts) - 5} more sizes" if len(texts) > 5 else ""
        lines.append((kind, ", ".join(texts[:5]) + more or "nothing"))
    return lines


def _story(recording: Recording, load: Traffic, network: Cluster | None) -> str:
    size = recording.nbytes or 1
    cards = range((len(load.card) and max(load.card) + 1) or 0)
    leaving = [load.leaving(card) for card in cards]
    by_node = [sum(leaving[i : i + load.nics]) for i in range(0, len(leaving), load.nics)]
    inside = max((max(both) for both in load.inside.values()), default=0)
    text = (
        f"{recording}, the most that leaves a node: {_of(max(by_node, default=0), size)}"
        + (f", one card: {_of(max(leaving), size)}" if load.nics > 1 else "")
        + f"; that goes from one rank to another inside a node: {_of(inside, size)}."
    )
    if network is not None and max(leaving, default=0):
        rate = network.inter.bandwidth * network.efficiency
        text = text[:-1] + (
            f"; its busiest card needs {in_seconds(max(leaving) / rate)} at {in_bytes(rate)}/s."
        )
    return text


def _of(nbytes: int, size: int) -> str:
    return f"{nbytes / size:.4g} S ({in_bytes(nbytes)})" if nbytes else "nothing"


def _described(recording: Recording, load: Traffic) -> str:
    def lines(name: Callable[[int], str], links: Iterable[tuple[Ends, tuple[int, int]]]) -> str:
        texts = [
            f"{name(low)} to {name(high)} {in_bytes(there)}, back {in_bytes(back)}"
            for (low, high), (there, back) in sorted(links)
        ]
        return "; ".join(texts[:24]) + ("; and so on" if len(texts) > 24 else "") or "nothing"

    nodes = -(-recording.ranks // load.per_node)
    return (
        f"{recording} on {nodes} nodes of {load.per_node} ranks. Inside nodes: "
        f"{lines('r{}'.format, load.inside.items())}. Between nodes: "
        f"{lines(partial(_card, load.nics), load.between.items())}."
    )


def _card(nics: int, card: int) -> str:
    node, number = divmod(card, nics)
    return f"node {node}" + (f" card {number}" if nics > 1 else "")
