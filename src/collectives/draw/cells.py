"""What a rank holds of a block, and whether that is all that it should hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from collectives.recording import Cell, Recording
from collectives.tracing import Hold

WHOLE = 1 - 1e-9
"""A share from which on a block counts as whole: shares are sums of fractions."""


def shares(holds: Iterable[Hold]) -> dict[int, float]:
    """Return of every pip that is present in how much of the block it is.

    Examples
    --------
    >>> shares([Hold(0, (1, 2), 0, 0.5), Hold(0, (1,), 0.5, 0.5)])
    {1: 1.0, 2: 0.5}
    """
    found: Counter[int] = Counter()
    for hold in holds:
        for pip in dict.fromkeys(hold.pips):
            found[pip] += hold.share  # type: ignore[assignment]
    return {pip: min(1.0, share) for pip, share in found.items()}


def doubled(holds: Iterable[Hold]) -> set[int]:
    """Return the pips that are counted more than once in some part of the block.

    Examples
    --------
    >>> doubled([Hold(0, (1, 2, 2)), Hold(0, (1,))])
    {2}
    """
    return {pip for hold in holds for pip, times in Counter(hold.pips).items() if times > 1}


def wanted(recording: Recording, rank: int, column: int) -> tuple[int, ...]:
    """Return the pips that `rank` must end with in a column; none in a block without elements."""
    return recording.wanted[rank].get(column, ()) if column in recording.filled else ()


def complete(recording: Recording, rank: int, column: int, cell: Cell) -> bool:
    """Return whether `rank` holds all that it must end with in a column, each of it once."""
    pips = wanted(recording, rank, column)
    if len(cell) == 1 and cell[0].pips == pips and cell[0].share > WHOLE:
        return True  # as most are, where there are many
    aim, found = set(pips), shares(cell)
    if not aim or wrong(cell) or (found.keys() - aim and not recording.adds):
        return False
    return all(found.get(pip, 0) > WHOLE for pip in aim)


def wrong(cell: Cell) -> bool:
    """Return whether something is counted twice, or lies where it does not belong."""
    return bool(doubled(cell)) or any(pip < 0 for hold in cell for pip in hold.pips)
