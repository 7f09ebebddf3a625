"""Who talks to whom: index arithmetic without state. Ranks count from 0 to p - 1."""

from __future__ import annotations


def ring_neighbours(rank: int, p: int) -> tuple[int, int]:
    """Return the left and the right neighbour on a ring.

    Examples
    --------
    >>> ring_neighbours(0, 4)
    (3, 1)
    """
    return (rank - 1) % p, (rank + 1) % p


def binomial_parent(rank: int, root: int, p: int) -> int | None:
    """Return the parent of `rank` in the binomial tree under `root`, None for the root.

    Counted from the root, the parent is the rank with its lowest set bit cleared, so that every
    subtree is a run of consecutive ranks.

    Examples
    --------
    >>> [binomial_parent(rank, 0, 8) for rank in range(8)]
    [None, 0, 0, 2, 0, 4, 4, 6]
    """
    v = (rank - root) % p
    return None if v == 0 else ((v & (v - 1)) + root) % p


def binomial_children(rank: int, root: int, p: int) -> list[int]:
    """Return the children of `rank` in the binomial tree under `root`, largest subtree first.

    Examples
    --------
    >>> binomial_children(0, 0, 8), binomial_children(4, 0, 8), binomial_children(4, 0, 6)
    ([4, 2, 1], [6, 5], [5])
    >>> binomial_children(3, 3, 5)
    [2, 0, 4]
    """
    v = (rank - root) % p
    reach = v & -v if v else 1 << (p - 1).bit_length()
    steps = (1 << j for j in reversed(range(reach.bit_length() - 1)))
    return [(v + step + root) % p for step in steps if v + step < p]


def rounds(p: int) -> int:
    """Return ceil(log2 p): the fewest rounds in which one rank can reach p.

    Examples
    --------
    >>> [rounds(p) for p in (1, 2, 3, 4, 5, 8, 9)]
    [0, 1, 2, 2, 3, 3, 4]
    """
    return (p - 1).bit_length()
