"""Trees along which a run reduced and broadcast, over the load of its ranks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle

from collectives.draw.figures.forest import Tree, find_trees, loads
from collectives.draw.figures.links import together
from collectives.draw.figures.style import LIGHT, SIZE, Page, Picture, Theme, canvas, page
from collectives.draw.text import nbytes as in_bytes
from collectives.recording import Recording

LEVEL, BARS, ABOVE = 0.66, 1.35, 0.36
"""Inches: from a parent down to its children; of the bar chart; of the line above a tree."""

NAMED = 20
"""Ranks up to which every rank and every edge is labelled."""


def trees(*recordings: Recording, theme: Theme = LIGHT) -> Picture:
    """Draw the trees of each recording over the bytes that each rank sent and received.

    A rank has the same place across in all trees of a recording and in the bar chart. A recording
    whose vector goes along more than two trees is refused.
    """
    if not recordings:
        raise ValueError("trees() wants one recording or more")
    found = [find_trees(recording) for recording in recordings]
    for recording, forest in zip(recordings, found, strict=True):
        if len(forest) > 2:
            raise ValueError(f"{recording} has {len(forest)} trees; at most two can be drawn")
    largest = max(recording.ranks for recording in recordings)
    pitch = 0.46 if largest <= 10 else 0.4 if largest <= NAMED else 0.17
    widths = [max(2.9, 0.75 + r.ranks * pitch) for r in recordings]
    tall = max(sum(ABOVE + 0.35 + LEVEL * tree.height for tree in forest) for forest in found)
    caption = " ".join(_story(r, forest) for r, forest in zip(recordings, found, strict=True))
    with page(
        max(sum(widths) + 0.1, 6.2), tall + BARS + 0.75, theme=theme,
        title=f"Trees, {together(recordings)}",
        caption=f"{caption} Discs are inner ranks, a disc with a ring the root, squares leaves; "
        "bytes go to the parent (↑), to the child (↓) or both (↕).",
    ) as sheet:  # fmt: skip
        axes = canvas(sheet.body)
        top = axes.get_ylim()[1]
        left = 0.1
        highest = max(max(map(max, loads(r))) / (r.nbytes or 1) for r in recordings)
        for recording, forest, width in zip(recordings, found, widths, strict=True):
            middle = left + 0.6, (width - 0.65) / recording.ranks
            y = top - 0.05
            for number, tree in enumerate(forest, 1):
                which = f"tree {number}: " if len(forest) > 1 else ""
                axes.text(
                    left + 0.05, y - 0.12, f"{recording if number == 1 else ''}\n"
                    f"{which}{_carries(recording, tree)}", va="center",
                )  # fmt: skip
                y -= ABOVE + 0.12
                _tree(axes, recording, tree, middle, y, theme)
                y -= LEVEL * tree.height + 0.23
            _bars(sheet, recording, middle, highest, theme, legend=recording is recordings[0])
            left += width
    return sheet.picture(
        " ".join(_described(r, forest) for r, forest in zip(recordings, found, strict=True))
    )


def _tree(
    axes: Axes, recording: Recording, tree: Tree, place: tuple[float, float], top: float,
    theme: Theme,
) -> None:  # fmt: skip
    """Draw one tree, its root `top` inches high; `place`: the left end, and the width of a rank."""
    named, pitch = recording.ranks <= NAMED, place[1]
    radius = min(0.14, pitch * 0.42)
    points = {
        rank: (place[0] + (rank + 0.5) * pitch, top - LEVEL * tree.depth(rank))
        for rank in {*tree.parent, *tree.inner} or {0}
    }
    for child, parent in tree.parent.items():
        (x, y), (above, over) = points[child], points[parent]
        axes.plot(
            [x, above], [y, over], color=theme.muted, linestyle="-", lw=1, zorder=1, gid="edge"
        )
        if named:
            at = 0.3  # near the child: above a parent there are others
            axes.text(
                x + at * (above - x), y + at * (over - y), _label(recording, tree, child),
                ha="center", va="center", size=SIZE - 2.5, zorder=2,
                bbox={"facecolor": theme.paper, "edgecolor": "none", "pad": 0.6},
            )  # fmt: skip
    for rank, point in points.items():
        _node(axes, tree, rank, point, radius, f"r{rank}" if named else "", theme)


def _node(
    axes: Axes, tree: Tree, rank: int, point: tuple[float, float], radius: float, name: str,
    theme: Theme,
) -> None:  # fmt: skip
    """Draw a rank: a disc if it is inner, a square if it is a leaf; a root in a ring."""
    (x, y), inner = point, rank in tree.inner
    kind = "root" if rank in tree.roots else "inner" if inner else "leaf"
    look: dict[str, Any] = {
        "facecolor": theme.accents[0] if inner else theme.paper, "edgecolor": theme.ink,
        "linewidth": 1, "zorder": 3, "gid": kind,
    }  # fmt: skip
    if inner:
        axes.add_patch(Circle((x, y), radius, **look))
    else:
        axes.add_patch(Rectangle((x - radius, y - radius), 2 * radius, 2 * radius, **look))
    if kind == "root":
        axes.add_patch(Circle((x, y), radius + 0.045, fill=False, edgecolor=theme.ink, zorder=3))
    if name:
        axes.text(
            x, y, name, ha="center", va="center_baseline", size=SIZE - 2, zorder=4,
            color=theme.paper if inner else theme.ink,
        )  # fmt: skip


def _bars(
    sheet: Page, recording: Recording, place: tuple[float, float], highest: float, theme: Theme,
    *, legend: bool,
) -> None:  # fmt: skip
    """Draw the bytes sent and received by each rank, in units of the vector S."""
    p, size = recording.ranks, recording.nbytes or 1
    wide = float(sheet.figure.get_figwidth())
    tall = sheet.body.bbox.height / sheet.figure.dpi
    axes = sheet.body.add_axes((place[0] / wide, 0.42 / tall, place[1] * p / wide, BARS / tall))
    for shift, counts, look, hatch, name in (
        (-0.2, loads(recording)[0], theme.accents[0], "", "sent"),
        (0.2, loads(recording)[1], theme.accents[1], "////", "received"),
    ):
        heights = [count / size for count in counts]
        axes.bar(
            [rank + shift for rank in range(p)], heights, 0.36, facecolor=look, hatch=hatch,
            edgecolor=theme.ink, linewidth=0.5, label=name, gid=name,
        )  # fmt: skip
        if p <= NAMED:
            for rank, height in enumerate(heights):
                name = f"{height:.3g}"
                axes.text(
                    rank + shift, height + highest * 0.03, name, ha="center", va="bottom",
                    size=SIZE - 3, rotation=90 * (len(name) > 1),
                )  # fmt: skip
    mean = sum(loads(recording)[0]) / p / size
    axes.axhline(mean, color=theme.ink, linestyle="--", linewidth=0.8)
    axes.set(xlim=(-0.5, p - 0.5), ylim=(0, highest * 1.45 or 1), ylabel="bytes / S")
    axes.set_title(f"per rank, S = {in_bytes(recording.nbytes)}; mean {mean:.4g} S", loc="left")
    step = 1 if p <= NAMED else 8
    axes.set_xticks(range(0, p, step), [f"r{rank}" for rank in range(0, p, step)])
    axes.spines[["top", "right"]].set_visible(False)
    if legend:
        axes.legend(loc="upper right", ncols=2, frameon=False, borderaxespad=0)


def _label(recording: Recording, tree: Tree, child: int) -> str:
    up, down = (in_vectors(way.get(child, 0.0), recording.nbytes) for way in (tree.up, tree.down))
    ways = [f"{up}↑" if child in tree.up else "", f"{down}↓" if child in tree.down else ""]
    return f"{up}↕" if all(ways) and up == down else " ".join(way for way in ways if way)


def in_vectors(nbytes: float, vector: int) -> str:
    """Write bytes as a part of the vector, S.

    Examples
    --------
    >>> in_vectors(12, 24), in_vectors(48, 24), in_vectors(9, 24), in_vectors(0, 0)
    ('S/2', '2S', '3S/8', '0')
    """
    if not vector or not nbytes:
        return "0"
    part = Fraction(nbytes / vector).limit_denominator(64)
    if abs(float(part) - nbytes / vector) > 1e-6:
        return f"{nbytes / vector:.3g} S"
    over = "S" if part.numerator == 1 else f"{part.numerator}S"
    return over if part.denominator == 1 else f"{over}/{part.denominator}"


def _carries(recording: Recording, tree: Tree) -> str:
    if len(tree.columns) == recording.ranks:
        return "the whole vector"
    first, last = tree.columns[0], tree.columns[-1]
    run = last - first + 1 == len(tree.columns)
    names = (
        f"c{first}-c{last}" if run and first != last else ", ".join(f"c{c}" for c in tree.columns)
    )
    return f"blocks {names}" if first != last else f"block {names}"


def _story(recording: Recording, forest: Sequence[Tree]) -> str:
    size = recording.nbytes
    if not forest:
        return f"{recording}: nothing is sent."
    tally = Counter(zip(*loads(recording), strict=True))
    groups = "; ".join(
        f"{count} rank{'s send' if count > 1 else ' sends'} {in_vectors(sent, size)} and "
        f"receive{'s' * (count == 1)} {in_vectors(got, size)}"
        for (sent, got), count in sorted(tally.items(), reverse=True)
    )
    text = f"{recording}: {groups}"
    if len(forest) == 2:
        p, (first, second) = recording.ranks, forest
        once = len(first.inner ^ second.inner)
        both = ", ".join(f"r{rank}" for rank in sorted(first.inner & second.inner))
        text += f"; {once} of {p} ranks are inner in one tree and a leaf in the other"
        text += f", {both} inner in both" if both else ""
    return f"{text}."


def _described(recording: Recording, forest: Sequence[Tree]) -> str:
    texts = [] if forest else ["No tree."]
    for tree in forest:
        children: dict[int, list[int]] = defaultdict(list)
        for child, parent in sorted(tree.parent.items()):
            children[parent].append(child)
        edges = "; ".join(
            f"r{parent} has {', '.join(f'r{child}' for child in below)}"
            for parent, below in sorted(children.items())
        )
        texts.append(f"A tree for {_carries(recording, tree)}: {edges}.")
    sent, received = loads(recording)
    bars = ", ".join(
        f"r{rank} {in_bytes(sent[rank])} and {in_bytes(received[rank])}"
        for rank in range(recording.ranks)
    )
    return f"{recording}: {' '.join(texts)} Sent and received: {bars}."
