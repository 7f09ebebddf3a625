"""What each collective does with a vector and its p blocks: who brings what, who gets what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Form:
    """What a collective does with a vector and its p blocks.

    Attributes
    ----------
    brings, gets : str
        What each rank has before and after: the ``vector``, its ``block`` of one, its ``row`` or
        its ``column`` of a matrix of blocks, or ``nothing``.
    reduces : bool
        Whether operands are combined.
    from_root, to_root : bool
        Whether only the root brings something, or gets something.
    alike : bool
        Whether all ranks that get something get the same, or the same share of it.
    one_buffer : bool
        Whether input and result share a buffer, on all ranks.
    on_grid : bool
        Whether ranks exchange blocks with their neighbours only. They stand on a torus then, and
        a ``halo`` is a block for, or from, each neighbour.
    """

    brings: str
    gets: str
    reduces: bool = False
    from_root: bool = False
    to_root: bool = False
    alike: bool = True
    one_buffer: bool = False
    on_grid: bool = False


FORMS: Final = {
    "barrier": Form("nothing", "nothing"),
    "bcast": Form("vector", "vector", from_root=True, one_buffer=True),
    "reduce": Form("vector", "vector", reduces=True, to_root=True),
    "scatter": Form("vector", "block", from_root=True),
    "gather": Form("block", "vector", to_root=True),
    "allgather": Form("block", "vector"),
    "reduce_scatter": Form("vector", "block", reduces=True),
    "allreduce": Form("vector", "vector", reduces=True),
    "alltoall": Form("row", "column"),
    "scan": Form("vector", "vector", reduces=True, alike=False),
    "exscan": Form("vector", "vector", reduces=True, alike=False),
    "neighbor_allgather": Form("block", "halo", on_grid=True),
    "neighbor_alltoall": Form("halo", "halo", on_grid=True),
}
