"""Bruck's algorithms in three panels: rotate, send by the bits of the distance, rotate back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from collectives.draw.figures.style import LIGHT, SIZE, Picture, Theme, canvas, page
from collectives.draw.text import nbytes as in_bytes
from collectives.recording import Recording

Block: TypeAlias = tuple[int, int]
"""The rank that a block is from, and the one that it is for; for an allgather, -1."""

NAMED = 16
"""Ranks up to which blocks can be named in a picture."""


@dataclass(frozen=True)
class Step:
    """One step: how far messages go, and the blocks that each rank has afterwards.

    Attributes
    ----------
    title : str
    distances : list of int
        To the right (negative: to the left), of all messages.
    held : list of list of Block
    arrived : set of (int, Block)
        The blocks that came in this step, each with the rank where it is now.
    nbytes : list of int
        Of the messages.
    """

    title: str
    distances: list[int]
    held: list[list[Block]]
    arrived: set[tuple[int, Block]]
    nbytes: list[int]


def travels(recording: Recording) -> list[Step]:
    """Return where blocks are at the start and after every step, from what messages held.

    In an alltoall a block that is sent is gone; in an allgather it stays, too.
    """
    if recording.collective not in ("alltoall", "allgather"):
        raise ValueError(f"{recording} has no blocks to rotate; alltoall and allgather have")
    p, moves = recording.ranks, recording.collective == "alltoall"

    def blocks(hold_column: int, pips: tuple[int, ...]) -> list[Block]:
        return [(hold_column, to) for to in pips] if moves else [(hold_column, -1)]

    held = [[b for hold in holds for b in blocks(*hold[:2])] for holds in recording.start]
    steps = [Step("start", [], [list(mine) for mine in held], set(), [])]
    for frame in recording.frames():
        sends = [event for event in frame.events if event.kind == "send"]
        gone = [
            (event.rank, event.peer, block)
            for event in sends for hold in event.holds for block in blocks(*hold[:2])
        ]  # fmt: skip
        for source, _, block in gone:
            if moves and block in held[source]:
                held[source].remove(block)
        arrived = {(dest, block) for _, dest, block in gone if block not in held[dest]}
        for dest, block in sorted(arrived):
            held[dest].append(block)
        turns = sorted({(event.peer - event.rank) % p for event in sends})
        turns = [turn if moves else turn - p for turn in turns]
        sizes = sorted({event.nbytes for event in sends})
        if sends:
            steps.append(Step(frame.title, turns, [list(mine) for mine in held], arrived, sizes))
    return steps


Panel: TypeAlias = tuple[str, Step, Callable[[int, Block], int], str]
"""A title, what is held, in which row a block stands on a rank, and how rows are labelled."""


def bruck(recording: Recording, *, theme: Theme = LIGHT) -> Picture:
    """Draw what each rank holds before, during and after Bruck's algorithm, blocks named a→b.

    A column is a rank; in the middle panel a row is a distance: in an alltoall from the rank where
    a block started to the one that it is for, in an allgather from the rank that has it to the one
    that it is from. Blocks that have just arrived have a thick frame.
    """
    p, moves = recording.ranks, recording.collective == "alltoall"
    steps = travels(recording)
    uneven = [step for step in steps if len(step.distances) > 1]
    if uneven:
        raise ValueError(
            f"{recording} on {p} ranks: in step {uneven[0].title} messages go "
            f"{uneven[0].distances} to the right; in Bruck's they all go equally far"
        )
    if p > NAMED:
        raise ValueError(f"{recording} on {p} ranks: blocks can be named for up to {NAMED}")
    panels = _panels(steps, p, moves)
    cell = (0.44, 0.24) if moves else (0.36, 0.24)
    wide, tall = max(0.92 + cell[0] * p, 2.7), 0.72 + cell[1] * p
    across = min(len(panels), max(2, int(12.5 / wide)))
    down = -(-len(panels) // across)
    across = -(-len(panels) // down)
    with page(
        max(across * wide + 0.1, 6.4), down * tall + 0.08, theme=theme,
        title=f"{recording}, p = {p}, blocks of {in_bytes(recording.nbytes / p)}",
        caption=_caption(recording, steps),
    ) as sheet:  # fmt: skip
        axes = canvas(sheet.body)
        top = axes.get_ylim()[1]
        for i, (title, step, row_of, label) in enumerate(panels):
            corner = 0.72 + wide * (i % across), top - 0.48 - tall * (i // across)
            axes.text(corner[0] - 0.6, corner[1] + 0.3, title, weight="bold")
            for k in range(p):
                y = corner[1] - cell[1] * (k + 0.5)
                bits = max((p - 1).bit_length(), 1)
                axes.text(
                    corner[0] - 0.06, y, label.format(k, bits), ha="right", va="center",
                    size=SIZE - 2.5, weight="bold" if k in _moved(step, row_of) else "normal",
                )  # fmt: skip
                x = corner[0] + cell[0] * (k + 0.5)
                axes.text(x, corner[1] + 0.1, f"r{k}", ha="center", va="center", size=SIZE - 1.5)
            _cells(axes, step, row_of, corner, cell, p, theme)
    return sheet.picture(_alt(recording, steps))


def _panels(steps: Sequence[Step], p: int, moves: bool) -> list[Panel]:
    """Return the panels: rotate, hop by hop, rotate back; an alltoall also has its start."""

    def distance(rank: int, block: Block) -> int:
        return (block[1] - block[0]) % p if moves else (block[0] - rank) % p

    def place(rank: int, block: Block) -> int:
        return block[1] if moves else block[0]

    def origin(rank: int, block: Block) -> int:
        return block[0]

    in_bits = "{0} = {0:0{1}b}"
    panels: list[Panel] = []
    if moves:
        panels.append(("start: by destination", steps[0], place, "to r{}"))
    first = "1  rotate: by distance" if moves else "1  own block first"
    panels.append((first, steps[0], distance, in_bits))
    for number, step in enumerate(steps[1:], 1):
        title = f"2  step {number}: {_way(step)}, {'/'.join(map(in_bytes, step.nbytes))}"
        panels.append((title, step, distance, in_bits))
    final = Step("end", [], steps[-1].held, set(), [])
    return [*panels, ("3  rotate back: by origin", final, origin, "from r{}")]


def _moved(step: Step, row_of: Callable[[int, Block], int]) -> set[int]:
    return {row_of(rank, block) for rank, block in step.arrived}


def _way(step: Step) -> str:
    turn = step.distances[0]
    return f"{abs(turn)} to the {'right' if turn > 0 else 'left'}"


def _cells(
    axes: Axes, step: Step, row_of: Callable[[int, Block], int], corner: tuple[float, float],
    cell: tuple[float, float], p: int, theme: Theme,
) -> None:  # fmt: skip
    """Draw a column of blocks for each rank; `corner` is top left."""
    wide, tall = cell
    axes.add_patch(
        Rectangle(
            (corner[0], corner[1] - tall * p), wide * p, tall * p, fill=False,
            edgecolor=theme.faint, linewidth=0.6,
        )
    )  # fmt: skip
    for rank, mine in enumerate(step.held):
        for block in mine:
            x, y = corner[0] + wide * rank, corner[1] - tall * (row_of(rank, block) + 1)
            new, home = (rank, block) in step.arrived, block[1] == rank
            axes.add_patch(
                Rectangle(
                    (x + 0.015, y + 0.015), wide - 0.03, tall - 0.03, zorder=1,
                    facecolor="none", edgecolor=theme.ink if new else theme.faint,
                    linewidth=1.8 if new else 0.6, gid="arrived" if new else "held",
                )
            )  # fmt: skip
            axes.text(
                x + wide / 2, y + tall / 2, name(block), ha="center", va="center", zorder=2,
                size=SIZE - 2 if p <= 10 else SIZE - 3, weight="bold" if home else "normal",
                color=theme.ink,
            )  # fmt: skip


def name(block: Block) -> str:
    """Write a block as from→to, that of an allgather as c and its rank.

    Examples
    --------
    >>> name((0, 3)), name((2, -1))
    ('0→3', 'c2')
    """
    return f"c{block[0]}" if block[1] < 0 else f"{block[0]}→{block[1]}"


def _caption(recording: Recording, steps: list[Step]) -> str:
    p = recording.ranks
    if len(steps) == 1:
        return "On one rank nothing is sent."
    if recording.collective == "allgather":
        counts = ", ".join(str(max(map(len, step.held))) for step in steps)
        runs = all(
            sorted((block[0] - rank) % p for block in mine) == [*range(len(mine))]
            for step in steps for rank, mine in enumerate(step.held)
        )  # fmt: skip
        which = ": its own and those of the next ranks to the right" if runs else ""
        return (
            f"After step 0, 1, ... every rank holds up to {counts} of {p} blocks{which}. Thick "
            "frames: just arrived. In the end blocks are turned round by the own rank, into order."
        )
    rules = []
    for number, step in enumerate(steps[1:], 1):
        rows = sorted({(b - a) % p for _, (a, b) in step.arrived})
        rules.append(f"step {number} moves those of distance {', '.join(map(str, rows))}")
    hops = sum(len(step.arrived) for step in steps)
    home = all(b == rank for rank, mine in enumerate(steps[-1].held) for _, b in mine)
    return (
        f"Block a→b is from rank a for rank b, its distance (b - a) mod {p}. {'; '.join(rules)}: "
        f"thick frames, {hops} hops for {p * (p - 1)} blocks that have to move. "
        + (
            "In the end every block is at its destination (bold)."
            if home
            else "In the end not every block is at its destination."
        )
    ).replace(". step", ". Step")


def _alt(recording: Recording, steps: list[Step]) -> str:
    lines = []
    for number, step in enumerate(steps):
        what = "At the start" if number == 0 else f"After step {number} ({_way(step)})"
        holds = "; ".join(
            f"r{rank} holds {', '.join(map(name, sorted(mine)))}"
            for rank, mine in enumerate(step.held)
        )
        lines.append(f"{what} {holds}.")
    return f"Tables of what each of {recording.ranks} ranks holds. {' '.join(lines)}"
