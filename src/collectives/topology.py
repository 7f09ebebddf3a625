"""Who talks to whom: index arithmetic without state. Ranks count from 0 to p - 1."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate


def ring_neighbours(rank: int, p: int) -> tuple[int, int]:
    """Return the left and the right neighbour on a ring.

    Examples
    --------
    >>> ring_neighbours(0, 4)
    (3, 1)
    """
    return (rank - 1) % p, (rank + 1) % p


def pairwise_peers(rank: int, step: int, p: int) -> tuple[int, int]:
    """Return to whom `rank` sends and from whom it receives in a step, 1 .. p - 1, of pairwise.

    Examples
    --------
    >>> [pairwise_peers(1, step, 4) for step in (1, 2, 3)]
    [(0, 0), (3, 3), (2, 2)]
    >>> [pairwise_peers(1, step, 5) for step in (1, 2, 3, 4)]
    [(2, 0), (3, 4), (4, 3), (0, 2)]
    """
    if p.bit_count() == 1:
        return rank ^ step, rank ^ step
    return (rank + step) % p, (rank - step) % p


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


def knomial_parent(rank: int, root: int, p: int, radix: int) -> int | None:
    """Return the parent of `rank` in the k-nomial tree under `root`, None for the root.

    Counted from the root in base `radix`, the parent is the rank with its lowest digit that is
    not 0 cleared, so that every subtree is a run of consecutive ranks. Radix 2: binomial.

    Examples
    --------
    >>> [knomial_parent(rank, 0, 10, radix=3) for rank in range(10)]
    [None, 0, 0, 0, 3, 3, 0, 6, 6, 0]
    """
    v = (rank - root) % p
    if v == 0:
        return None
    reach = knomial_reach(v, p, radix)
    return (v - v // reach % radix * reach + root) % p


def knomial_children(rank: int, root: int, p: int, radix: int) -> list[int]:
    """Return the children of `rank` in the k-nomial tree under `root`, farthest first.

    Examples
    --------
    >>> knomial_children(0, 0, 10, radix=3), knomial_children(6, 0, 10, radix=3)
    ([9, 6, 3, 2, 1], [8, 7])
    """
    v = (rank - root) % p
    steps, step = [], 1
    while step < knomial_reach(v, p, radix):
        steps += [digit * step for digit in range(1, radix)]
        step *= radix
    return [(v + step + root) % p for step in reversed(steps) if v + step < p]


def knomial_reach(v: int, p: int, radix: int) -> int:
    """Return how many ranks from `v` on its subtree under rank 0 spans, were p large enough.

    Examples
    --------
    >>> [knomial_reach(v, 10, radix=3) for v in range(10)]
    [27, 1, 1, 3, 1, 1, 3, 1, 1, 9]
    """
    reach = 1
    while reach < p and v // reach % radix == 0:
        reach *= radix
    return reach


def subtree_size(rank: int, root: int, p: int, radix: int = 2) -> int:
    """Return how many ranks the subtree of `rank` has in the k-nomial tree under `root`.

    They are `rank` and those after it, counted round the ring. Radix 2: in the binomial tree.

    Examples
    --------
    >>> [subtree_size(rank, 0, 6) for rank in range(6)]
    [6, 1, 2, 1, 2, 1]
    """
    v = (rank - root) % p
    return min(knomial_reach(v, p, radix), p - v)


def bine_parent(rank: int, root: int, p: int) -> int | None:
    """Return the parent of `rank` in the Bine tree under `root`, None for the root; p = 2^s.

    Ranks, counted from the root, are labelled by their digits in base -2. The parent's label has
    all those low bits flipped that are equal: hops go both ways and are a third shorter than in a
    binomial tree.

    Examples
    --------
    >>> [bine_parent(rank, 0, 8) for rank in range(8)]
    [None, 0, 3, 0, 3, 4, 7, 0]
    """
    v = (rank - root) % p
    step = _bine_reach(v, p) - 1
    return None if v == 0 else (_from_negabinary(_to_negabinary(v, p) ^ step, p) + root) % p


def bine_children(rank: int, root: int, p: int) -> list[int]:
    """Return the children of `rank` in the Bine tree under `root`, largest subtree first.

    Examples
    --------
    >>> bine_children(0, 0, 8), bine_children(3, 0, 8)
    ([3, 7, 1], [4, 2])
    """
    v = (rank - root) % p
    label = _to_negabinary(v, p)
    reaches = (1 << j for j in reversed(range(1, _bine_reach(v, p).bit_length() - 1)))
    return [(_from_negabinary(label ^ (reach - 1), p) + root) % p for reach in reaches]


def bine_subtree(rank: int, root: int, p: int) -> tuple[int, int]:
    """Return the first rank and the number of ranks of the subtree of `rank` in the Bine tree.

    A subtree is a run of ranks round the ring, with its top somewhere in it.

    Examples
    --------
    >>> bine_subtree(0, 0, 8), bine_subtree(3, 0, 8), bine_subtree(7, 0, 8)
    ((6, 8), (2, 4), (6, 2))
    """
    v = (rank - root) % p
    size = _bine_reach(v, p) // 2
    lowest = _to_negabinary(v, p) & -size | _NEGATIVE & (size - 1)
    return (_from_negabinary(lowest, p) + root) % p, size


def _bine_reach(v: int, p: int) -> int:
    """Return 2^t for the t low digits of `v` in base -2 that are equal; 2 p for v = 0."""
    label, t = _to_negabinary(v, p), 1
    while 1 << t < p and (label >> t ^ label) & 1 == 0:
        t += 1
    return 2 * p if v == 0 else 1 << t


_NEGATIVE = 0xAAAA_AAAA  # the digits of negative weight


def _to_negabinary(v: int, p: int) -> int:
    """Return as bits the log2(p) digits of `v` in base -2, or those of v - p."""
    return (v + _NEGATIVE ^ _NEGATIVE) & (p - 1)


def _from_negabinary(label: int, p: int) -> int:
    return (label ^ _NEGATIVE) - _NEGATIVE & (p - 1)


def binary_parent(rank: int, root: int, p: int) -> int | None:
    """Return the parent of `rank` in the binary tree under `root`, None for the root.

    Counted from the root, level l has the ranks from 2**l - 1 on, 2**l of them, and the parent is
    2**(l-1) or 2**l ranks before, whichever is a level higher. So the subtrees of the root are
    the odd and the even ranks, in pairs: 1 and 2, 3 and 4, ...

    Examples
    --------
    >>> [binary_parent(rank, 0, 7) for rank in range(7)]
    [None, 0, 0, 1, 2, 1, 2]
    """
    v = (rank - root) % p
    if v == 0:
        return None
    width = 1 << (v + 1).bit_length() - 1
    return ((v + 1 - width) % (width // 2) + width // 2 - 1 + root) % p


def binary_children(rank: int, root: int, p: int) -> list[int]:
    """Return the children of `rank`, up to two, in the binary tree under `root`.

    Examples
    --------
    >>> [binary_children(rank, 0, 7) for rank in range(7)]
    [[1, 2], [3, 5], [4, 6], [], [], [], []]
    """
    v = (rank - root) % p
    width = 1 << (v + 1).bit_length() - 1
    return [(u + root) % p for u in (v + width, v + 2 * width) if u < p]


def in_order_tree(rank: int, p: int) -> tuple[int | None, list[int]]:
    """Return parent and children of `rank` in the binary tree of which subtrees are runs of ranks.

    The last rank of a run is its top. The others are cut into two runs, the lower one half as
    long as the whole; their tops are its children, the nearest first. The top of all is p - 1.

    Examples
    --------
    >>> [in_order_tree(rank, 7) for rank in range(7)]  # doctest: +NORMALIZE_WHITESPACE
    [(2, []), (2, []), (6, [1, 0]), (5, []), (5, []), (6, [4, 3]), (None, [5, 2])]
    """
    parent, first, top = None, 0, p - 1
    middle = p // 2
    while rank != top:
        # Invariant: rank is in the run first .. top, which is cut at middle.
        parent = top
        first, top = (first, middle - 1) if rank < middle else (middle, top - 1)
        middle = first + (top - first + 1) // 2
    runs = ((middle, top - 1), (first, middle - 1))
    return parent, [child for start, child in runs if start <= child]


def double_tree(rank: int, root: int, p: int) -> list[tuple[int | None, list[int]]]:
    """Return parent and children of `rank` in two binary trees; it is inner in one at most.

    Ranks are counted from the root, which has one child in each tree. In the first tree the odd
    ranks are leaves, in the second the even ones. Every subtree is a run of ranks.

    Examples
    --------
    >>> [double_tree(rank, 0, 7)[0] for rank in range(7)]  # doctest: +NORMALIZE_WHITESPACE
    [(None, [4]), (2, []), (4, [1, 3]), (2, []), (0, [2, 6]), (6, []), (4, [5])]
    >>> [double_tree(rank, 0, 7)[1] for rank in range(7)]  # doctest: +NORMALIZE_WHITESPACE
    [(None, [1]), (0, [5]), (3, []), (5, [2, 4]), (3, []), (1, [3, 6]), (5, [])]
    """
    v = (rank - root) % p
    first = _tree_with_odd_leaves(v, p)
    parent, children = _tree_with_odd_leaves(v - 1, p - 1)
    second = parent, children  # of the ranks from 1 on, under rank 1
    if v == 0:
        second = None, [0][: p - 1]
    elif parent is None:
        second = -1, children
    return [
        (None if above is None else (above + start) % p, [(u + start) % p for u in below])
        for (above, below), start in ((first, root), (second, root + 1))
    ]


def _tree_with_odd_leaves(v: int, p: int) -> tuple[int | None, list[int]]:
    """Return parent and children of `v` in a binary tree with the odd ranks as its leaves.

    Rank 0 is the root and has one child, under which the others are in order. A rank that is an
    odd multiple of 2 t lies half-way between its children, t away where there are so many ranks.
    """
    if v <= 0:
        return None, [1 << (p - 1).bit_length() - 1] if p > 1 else []
    step = v & -v
    above = v - step | 2 * step
    up = down = step // 2
    while up and v + up >= p:
        up //= 2
    children = ([v - down] if down else []) + ([v + up] if up else [])
    return above if above < p else v - step, children


def grid_coordinates(rank: int, dims: Sequence[int]) -> list[int]:
    """Return where `rank` is in a grid in which the last dimension runs fastest.

    Examples
    --------
    >>> [grid_coordinates(rank, [2, 3]) for rank in range(6)]
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    """
    coordinates: list[int] = []
    for extent in reversed(dims):
        rank, coordinate = divmod(rank, extent)
        coordinates.insert(0, coordinate)
    return coordinates


def grid_shift(rank: int, axis: int, step: int, dims: Sequence[int]) -> int:
    """Return the rank that is `step` further along one axis, counted round.

    Examples
    --------
    >>> grid_shift(5, 0, 1, [2, 3]), grid_shift(5, 1, -1, [2, 3])
    (2, 4)
    """
    stride = math.prod(dims[axis + 1 :])
    here = rank // stride % dims[axis]
    return rank + ((here + step) % dims[axis] - here) * stride


def grid_neighbours(rank: int, dims: Sequence[int], periods: Sequence[bool]) -> list[int]:
    """Return MPI's neighbours in a grid: before and behind, by dimension; -1 past an open end.

    Examples
    --------
    >>> grid_neighbours(0, [2, 3], [False, True])
    [-1, 3, 2, 1]
    """
    coordinates = grid_coordinates(rank, dims)
    return [
        grid_shift(rank, axis, step, dims)
        if periods[axis] or 0 <= coordinates[axis] + step < dims[axis]
        else -1
        for axis in range(len(dims))
        for step in (-1, 1)
    ]


def torus_offsets(rank: int, others: Sequence[int], dims: Sequence[int]) -> list[tuple[int, ...]]:
    """Return how far ahead of `rank` others are, counted round in each dimension.

    Examples
    --------
    >>> torus_offsets(0, [3, 5], [2, 3]), torus_offsets(4, [1, 0], [2, 3])
    ([(1, 0), (1, 2)], [(1, 0), (1, 2)])
    """
    here = grid_coordinates(rank, dims)
    return [
        tuple(
            (there - own) % extent
            for there, own, extent in zip(grid_coordinates(other, dims), here, dims, strict=True)
        )
        for other in others
    ]


def rounds(p: int) -> int:
    """Return ceil(log2 p): the fewest rounds in which one rank can reach p.

    Examples
    --------
    >>> [rounds(p) for p in (1, 2, 3, 4, 5, 8, 9)]
    [0, 1, 2, 2, 3, 3, 4]
    """
    return (p - 1).bit_length()


@cache
def fold_runs(p: int, radix: int = 2) -> tuple[range, ...]:
    """Cut the ranks into a power of `radix` consecutive runs, as many as there can be.

    A run has at most `radix` ranks, and the longer ones come first. Its last rank stands for all
    of it in algorithms that need a power of `radix` ranks; since runs are consecutive, operands
    stay in rank order.

    Examples
    --------
    >>> fold_runs(6)
    (range(0, 2), range(2, 4), range(4, 5), range(5, 6))
    >>> [len(run) for run in fold_runs(7, radix=3)], [len(run) for run in fold_runs(8, radix=3)]
    ([3, 3, 1], [3, 3, 2])
    """
    runs = largest_power(radix, p)
    whole, rest = divmod(p - runs, radix - 1)
    lengths = [radix] * whole + [rest + 1] * (rest > 0)
    lengths += [1] * (runs - len(lengths))
    ends = list(accumulate(lengths))
    return tuple(range(end - length, end) for end, length in zip(ends, lengths, strict=True))


def largest_power(radix: int, p: int) -> int:
    """Return the largest power of `radix` that is not above p.

    Examples
    --------
    >>> [largest_power(2, p) for p in (1, 2, 3, 8)], largest_power(3, 26)
    ([1, 2, 2, 8], 9)
    """
    power = 1
    while power * radix <= p:
        power *= radix
    return power


def node_of(rank: int, p: int, per_node: int) -> range:
    """Return the ranks on the node of `rank`: `per_node` of them, fewer on the last node.

    Examples
    --------
    >>> node_of(3, 8, per_node=3), node_of(7, 8, per_node=3)
    (range(3, 6), range(6, 8))
    """
    first = rank // per_node * per_node
    return range(first, min(first + per_node, p))


def channel_ring(channel: int, p: int, per_node: int) -> list[int]:
    """Return the ranks in the order of the ring of one channel: node after node.

    Every channel enters nodes at another rank and leaves them at the rank before, so that
    channels share no link between nodes where each rank has its own.

    Examples
    --------
    >>> channel_ring(0, 8, per_node=4), channel_ring(1, 8, per_node=4)
    ([0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 0, 5, 6, 7, 4])
    """
    ranks: list[int] = []
    for first in range(0, p, per_node):
        node = node_of(first, p, per_node)
        turn = channel % len(node)
        ranks += [*node[turn:], *node[:turn]]
    return ranks


def tree_of_nodes(rank: int, nodes: Sequence[Sequence[int]]) -> tuple[int | None, list[int], int]:
    """Return parent, children and depth of `rank`: nodes form a binary tree, ranks on one a chain.

    The chain begins at the first rank of a node, which has the edges to other nodes. Where ranks
    ascend from node to node, operands combined up this tree, lower children first, stay in order.

    Examples
    --------
    >>> [tree_of_nodes(rank, [[0], [1], [2], [3]]) for rank in range(4)]
    [(None, [2], 0), (2, [], 2), (0, [1, 3], 1), (2, [], 2)]
    >>> [tree_of_nodes(rank, [[0, 1, 2], [3, 4]]) for rank in range(5)]
    [(None, [1, 3], 0), (0, [2], 1), (1, [], 2), (0, [4], 1), (3, [], 2)]
    """
    here = next(i for i, node in enumerate(nodes) if rank in node)
    chain, place = nodes[here], nodes[here].index(rank)
    children = list(chain[place + 1 : place + 2])
    above, below = _tree_with_odd_leaves(here, len(nodes))
    if place > 0:
        parent: int | None = chain[place - 1]
    else:
        parent = None if above is None else nodes[above][0]
        children += [nodes[i][0] for i in below]
    depth = place
    while here:
        here, depth = _tree_with_odd_leaves(here, len(nodes))[0] or 0, depth + 1
    return parent, children, depth


def tree_pair(p: int, per_node: int) -> tuple[list[Sequence[int]], list[Sequence[int]]]:
    """Return the nodes in the two orders that make `tree_of_nodes` complementary.

    The second order is the first one reversed, or shifted by one where there is an odd number of
    nodes: leaves of one tree are inner in the other. Chains begin at the other end.

    Examples
    --------
    >>> tree_pair(4, per_node=2)
    ([range(0, 2), range(2, 4)], [range(3, 1, -1), range(1, -1, -1)])
    """
    nodes: list[Sequence[int]] = [node_of(rank, p, per_node) for rank in range(0, p, per_node)]
    others = [node[::-1] for node in nodes]
    return nodes, others[1:] + others[:1] if len(nodes) % 2 else others[::-1]


def torus_shape(p: int) -> tuple[int, int]:
    """Return rows and columns of the grid of p ranks that is nearest to a square.

    Examples
    --------
    >>> [torus_shape(p) for p in (1, 5, 6, 12, 16)]
    [(1, 1), (1, 5), (2, 3), (3, 4), (4, 4)]
    """
    rows = max(d for d in range(1, p + 1) if d * d <= p and p % d == 0)
    return rows, p // rows


def binary_blocks(p: int) -> list[range]:
    """Cut the ranks into runs of different powers of two, the longest first.

    Examples
    --------
    >>> binary_blocks(13)
    [range(0, 8), range(8, 12), range(12, 13)]
    """
    runs: list[range] = []
    first = 0
    while first < p:
        runs.append(range(first, first + largest_power(2, p - first)))
        first = runs[-1].stop
    return runs


def bruck_skips(p: int, radix: int = 2) -> list[int]:
    """Return the numbers below p that have one digit besides zeros in base `radix`, then p.

    Examples
    --------
    >>> bruck_skips(6), bruck_skips(20, radix=4)
    ([1, 2, 4, 6], [1, 2, 3, 4, 8, 12, 16, 20])
    """
    skips, power = [], 1
    while power < p:
        skips += [digit * power for digit in range(1, radix) if digit * power < p]
        power *= radix
    return [*skips, p]


def halving_skips(p: int) -> list[int]:
    """Return 1, ..., p, each half of the next, rounded up.

    Examples
    --------
    >>> halving_skips(6), halving_skips(20)
    ([1, 2, 3, 6], [1, 2, 3, 5, 10, 20])
    """
    skips = [p]
    while skips[0] > 1:
        skips.insert(0, (skips[0] + 1) // 2)
    return skips


def pat_steps(p: int, aggregate: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the steps of parallel aggregated trees: how far to send, and which blocks.

    The block of every rank goes down a binomial tree under it; nodes are counted from there. In a
    step (distance, nodes) every rank sends, to the rank that far to its right, one block for each
    of the nodes that it is: that of rank - node. The farthest steps come first. No more than
    `aggregate` blocks go together: subtrees that are too many for that are gone through depth
    first, all at the same time.

    Examples
    --------
    >>> list(pat_steps(6, aggregate=8))
    [(4, [0]), (2, [0]), (1, [0, 2, 4])]
    >>> list(pat_steps(6, aggregate=2))
    [(4, [0]), (2, [0]), (1, [2]), (1, [0, 4])]
    """
    span = 2 ** rounds(p)
    width = max(span // largest_power(2, aggregate), 1)  # of the subtrees gone through depth first
    while span > width:
        span //= 2
        yield span, list(range(0, p - span, 2 * span))
    for distance, node in _depth_first(width):
        if distance + node < p:
            yield distance, list(range(node, p - distance, width))


def _depth_first(span: int, node: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the edges of a binomial tree on `span` nodes: length, and number of the parent."""
    while span > 1:
        span //= 2
        yield span, node
        yield from _depth_first(span, node + span)


def swing_peer(rank: int, step: int, p: int) -> int:
    """Return with whom `rank` exchanges in a step of Swing, p even.

    The distance is 1, -1, 3, -5, 11, ...: the sum of the powers of -2 up to that step. Odd ranks
    go the other way, so that peers find each other.

    Examples
    --------
    >>> [[swing_peer(rank, step, 8) for rank in range(8)] for step in range(3)]
    [[1, 0, 3, 2, 5, 4, 7, 6], [7, 2, 1, 4, 3, 6, 5, 0], [3, 6, 5, 0, 7, 2, 1, 4]]
    """
    distance: int = (1 - (-2) ** (step + 1)) // 3
    return (rank + (-distance if rank % 2 else distance)) % p


def swing_reach(rank: int, step: int, p: int) -> list[int]:
    """Return whom `rank` can reach in this step of Swing and those after it, p = 2^s.

    Those are the ranks that differ from it, or from its peer, by a multiple of 2^(step + 1).

    Examples
    --------
    >>> [swing_reach(0, step, 8) for step in range(4)]
    [[0, 1, 2, 3, 4, 5, 6, 7], [0, 3, 4, 7], [0, 3], [0]]
    """
    if 1 << step >= p:
        return [rank]
    apart = 2 << step
    ends = rank, swing_peer(rank, step, p)
    return sorted(other for end in ends for other in range(end % apart, p, apart))


def bine_positions(p: int) -> list[int]:
    """Return an order of the ranks in which whom one reaches in Swing is a run; p = 2^s.

    From its highest bit on, a rank's place has a one for every step in which one must go over to
    the peer in order to come from rank 0 to it.

    Examples
    --------
    >>> bine_positions(8), [swing_reach(0, step, 8) for step in (1, 2)]
    ([0, 3, 7, 4, 1, 6, 2, 5], [[0, 3, 4, 7], [0, 3]])
    """
    order = [0]
    for step in range(rounds(p)):
        order = [rank for near in order for rank in (near, swing_peer(near, step, p))]
    return order


def zigzag(rank: int, step: int, p: int) -> tuple[int, int]:
    """Return with whom `rank` exchanges in a step of neighbor exchange, and which pair it gets.

    It turns to its two neighbours by turns, and gets the pairs of blocks on both sides of its own,
    number rank // 2, by turns, from near to far. p is even.

    Examples
    --------
    >>> [zigzag(2, step, 10) for step in range(5)]
    [(3, 1), (1, 0), (3, 2), (1, 4), (3, 3)]
    """
    way = -1 if (rank + step) % 2 else 1
    return (rank + way) % p, (rank // 2 + way * ((step + 1) // 2)) % (p // 2)


def digit_peers(rank: int, step: int, distance: int, radix: int) -> tuple[int, int]:
    """Return the ranks whose digit of weight `distance` is `step` higher and lower, modulo `radix`.

    Examples
    --------
    >>> [digit_peers(rank, 1, distance=3, radix=3) for rank in (0, 4, 8)]
    [(3, 6), (7, 1), (2, 5)]
    """
    digit = rank // distance % radix
    higher, lower = (digit + step) % radix, (digit - step) % radix
    return rank + (higher - digit) * distance, rank + (lower - digit) * distance


def mirrored(p: int) -> list[int]:
    """Return the numbers 0 .. p - 1 with their log2(p) bits in reverse order; p = 2^s.

    Examples
    --------
    >>> mirrored(8)
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    order = [0]
    while len(order) < p:
        order = [2 * i for i in order] + [2 * i + 1 for i in order]
    return order
