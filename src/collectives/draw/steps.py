"""Who has contributed to each block, after every step, as a table for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from collectives.draw.text import bold
from collectives.recording import Cell, Recording, State
from collectives.tracing import Hold

TABLE_RANKS = 11
"""Ranks whose table fits the width of a terminal."""


def contribution_table(recording: Recording) -> Iterator[str]:
    """Yield the lines of the table; at most `TABLE_RANKS` ranks fit.

    A cell lists the ranks that are in a block; for alltoall, the ranks that the blocks are for.
    """
    p = recording.ranks
    start, *states = recording.states()
    word = "block " if p <= 8 else "c"
    names = [
        name.replace("c", word, 1) if name[1:].isdigit() else name for name in recording.columns
    ]
    rows = [["", "", *names, "sends"], *_rows("start", start, set(), [""] * p)]
    for frame, state in zip(recording.frames(), states, strict=True):
        changed, sends = set(), [[] for _ in range(p)]  # type: ignore[var-annotated]
        for event in frame.events:
            if event.kind == "send":
                blocks = _named(event.holds, recording.adds) or ("?" if event.nbytes else "nothing")
                sends[event.rank].append(f"{blocks} -> r{event.peer}")
            else:
                changed |= {(event.rank, hold.column) for hold in event.holds}
        rows += _rows(frame.title, state, changed, [", ".join(parts) for parts in sends])
    least = [6, 4, *[max(8, p + 2) if p <= 8 else 7] * len(names), 0]
    columns = zip(*rows, strict=True)
    widths = [max(w, *(len(cell) + 1 for cell in c)) for w, c in zip(least, columns, strict=True)]
    for row in rows:
        cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        yield "".join(bold(cell) if "*" in cell else cell for cell in cells).rstrip()


def _named(holds: Sequence[Hold], by_pair: bool) -> str:
    """Write block numbers, those in a row as one run: c0, c2-5; or by source and dest: 0>1."""
    if by_pair:
        return ",".join(f"{hold.column}>{pip}" for hold in holds for pip in hold.pips)
    blocks = [hold.column for hold in holds]
    runs: list[list[int]] = []
    for block in blocks:
        if runs and block == runs[-1][-1] + 1:
            runs[-1].append(block)
        elif not runs or block != runs[-1][-1]:
            runs.append([block])
    return ",".join(f"c{r[0]}" if len(r) == 1 else f"c{r[0]}-{r[-1]}" for r in runs)


def _rows(
    title: str, state: State, changed: set[tuple[int, int]], sends: Sequence[str]
) -> Iterator[list[str]]:
    """Yield the cells of a step's lines: title, rank, blocks, * where changed, what is sent."""
    for rank, row in enumerate(state):
        cells = [
            _contents(held, len(state)) + "*" * ((rank, column) in changed)
            for column, held in enumerate(row)
        ]
        yield [title if rank == 0 else "", f"r{rank}", *cells, sends[rank]]


def _contents(cell: Cell, p: int) -> str:
    """Write what a rank holds of a block; with a ~ where parts of it differ, of the least one."""
    if len({hold.at for hold in cell}) < len(cell):  # several blocks lie side by side
        return contributors(Counter(pip for hold in cell for pip in hold.pips), p)
    kinds = sorted({hold.pips for hold in cell}, key=lambda pips: (len(pips), pips))
    whole = len(kinds) == 1 and sum(hold.share for hold in cell) > 1 - 1e-6
    return contributors(Counter(kinds[0]), p) + "~" * (not whole) if kinds else "."


def contributors(ranks: Counter[int], p: int) -> str:
    """Write who contributed in few characters: each rank's number, or runs round the ring.

    Examples
    --------
    >>> contributors(Counter({0: 1, 1: 2, 3: 1}), 4)
    '0113'
    >>> contributors(Counter(), 4)
    '.'
    >>> contributors(Counter([10, 11, 0]), 12), contributors(Counter(range(12)), 12)
    ('10..0', 'all')
    """
    if not ranks:
        return "."
    if min(ranks) < 0:
        return "mixed!"
    if p <= 8:
        return "".join(map(str, sorted(ranks.elements())))
    if max(ranks.values(), default=0) > 1:
        return "twice!"
    if len(ranks) == p:
        return "all"
    first = [rank for rank in ranks if (rank - 1) % p not in ranks]
    if len(first) != 1:
        return f"{len(ranks)} of"
    last = (first[0] + len(ranks) - 1) % p
    return str(last) if len(ranks) == 1 else f"{first[0]}..{last}"
