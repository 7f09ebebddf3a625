"""From the times of several algorithms to rules: from this size on, take that one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WORTH = 1.05
"""How many times faster another algorithm has to be before a rule changes for it."""


@dataclass(frozen=True)
class Choice:
    """The algorithm to take from a size on, in bytes, up to the next choice."""

    nbytes: int
    algorithm: str


def choices(
    sizes: Sequence[int], times: Mapping[str, Sequence[float]], *, worth: float = WORTH
) -> list[Choice]:
    """Return the fastest algorithm of every range of sizes.

    The first choice counts from 0 bytes on, so that there is one for every size. Where two
    algorithms are nearly as fast as each other, the one that is in use stays: measured times
    scatter, and rules that flip to and fro are noise.

    Parameters
    ----------
    sizes : sequence of int
        Bytes, ascending.
    times : dict of str to sequence of float
        The seconds of each algorithm, one for each size.
    worth : float
        How many times faster another one has to be.

    Examples
    --------
    >>> choices([8, 1000, 8000], {"few steps": [3, 9, 65], "few bytes": [14, 16, 28]})
    [Choice(nbytes=0, algorithm='few steps'), Choice(nbytes=8000, algorithm='few bytes')]
    """
    if not sizes or list(sizes) != sorted(set(sizes)):
        raise ValueError(f"sizes are {list(sizes)}, wants at least one, ascending")
    for name, row in times.items():
        if len(row) != len(sizes):
            raise ValueError(f"{name} has {len(row)} times, wants {len(sizes)}")
    found: list[Choice] = []
    for place, size in enumerate(sizes):
        best = min(times, key=lambda name: times[name][place])
        if not found:
            found.append(Choice(0, best))
            continue
        current = found[-1].algorithm
        if best != current and times[best][place] * worth <= times[current][place]:
            found.append(Choice(size, best))
    return found


def chosen(rules: Sequence[Choice], nbytes: int) -> str:
    """Return the algorithm that the rules name for a size.

    Examples
    --------
    >>> chosen([Choice(0, "tree"), Choice(4096, "ring")], 4095)
    'tree'
    """
    return [rule.algorithm for rule in rules if rule.nbytes <= nbytes][-1]
