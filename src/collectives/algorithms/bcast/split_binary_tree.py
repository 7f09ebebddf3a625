"""Split binary tree broadcast: each half of the vector flows down one half of a binary tree."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.algorithms.pipeline import Place, send_down
from collectives.algorithms.pipeline_cost import time_down
from collectives.blocks import even, segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import binary_children, binary_parent, ring_neighbours


def cost(p: int, n: int, *, segment: int = 8192) -> Cost:
    halves = even(n, 2)
    parts = segment_sizes(halves[0], segment)
    pieces = [even(half, len(parts)) for half in halves]

    def longest(weights: Sequence[int], halves: Sequence[int]) -> int:
        done = time_down(weights, lambda v, s: place(v, 0, p, s % 2)[1])
        # Whoever is without a partner is served by the root.
        pairs = [(v, v + 1 if v + 1 < p else 0) for v in range(1, p, 2)]
        swapped = [max(done[a], done[b]) + (halves[0] if b else halves[1]) for a, b in pairs]
        return max(swapped, default=0)

    alphas = longest([1] * 2 * len(parts), [1, 1])
    betas = longest([piece[s] for s in range(len(parts)) for piece in pieces], halves)
    return Cost((p - 1) * (len(parts) + 1), (p - 1) * n, alphas, betas)


def place(rank: int, root: int, p: int, half: int) -> Place:
    """Return the parent and the children of `rank` in the half of the tree with that number.

    Examples
    --------
    >>> [place(rank, 0, 7, half=0) for rank in range(4)]
    [(None, [1]), (0, [3, 5]), (None, []), (1, [])]
    """
    v = (rank - root) % p
    if v and v % 2 == half:
        return None, []
    children = binary_children(rank, root, p)
    return binary_parent(rank, root, p), children if v else children[half : half + 1]


@algorithm(
    cost=cost,
    keeps_order=True,
    source="J. Pješivac-Grbović, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel, J. J. Dongarra, "
    "Cluster Comput. 10, 2007, doi:10.1007/s10586-007-0012-0",
    ships="Open MPI 4",
    variants=[{"segment": 1}, {"segment": 3}],
)
def bcast_split_binary_tree(comm: Comm, buf: Array, root: int = 0, *, segment: int = 8192) -> None:
    """Send one half of the vector down each subtree of the root, then let pairs swap halves.

    The odd ranks, counted from the root, form one subtree, the even ones the other, of the same
    shape. As every link of the tree carries only half of the vector, a long one takes about
    ``1.5 * n * beta`` instead of ``2 * n * beta``.

    Notes
    -----
    messages : ``(p - 1) * (1 + max(1, ceil(ceil(n / 2) / segment)))``
    volume : ``(p - 1) * n``
    gammas : ``0``

    If p is even, the last rank has no partner and gets its other half from the root. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8, 9]) if comm.rank == 2 else np.empty(3, int)
    ...     bcast_split_binary_tree(comm, vector, root=2, segment=1)
    ...     return vector.tolist()
    >>> run = simulate(program, 7)
    >>> run.results[1], run.time
    ([7, 8, 9], 7.0)
    """
    rank, p = comm.rank, comm.size
    halves = split(buf, even(buf.size, 2))
    number = len(segment_sizes(halves.largest, segment))
    parts = [split(half, even(half.size, number)) for half in halves]
    alternating = [part[s] for s in range(number) for part in parts]
    send_down(comm, alternating, place(rank, root, p, 0), place(rank, root, p, 1))
    # Invariant: odd ranks, counted from the root, have the first half, even ones the second.
    v = (rank - root) % p
    left, right = ring_neighbours(rank, p)
    if v % 2 and right != root:
        comm.Sendrecv(halves[0], dest=right, recvbuf=halves[1], source=right)
    elif v % 2:
        comm.Recv(halves[1], source=root)
    elif v:
        comm.Sendrecv(halves[1], dest=left, recvbuf=halves[0], source=left)
    elif p % 2 == 0:
        comm.Send(halves[1], dest=left)
