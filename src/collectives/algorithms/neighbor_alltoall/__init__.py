"""Neighbourhood all-to-all: every rank exchanges a block of its own with each neighbour.

Parameters
----------
comm : Cartcomm or Distgraphcomm
    The ranks that take part. Its ``inedges`` and ``outedges`` are the neighbours.
sendbuf : array (outdegree*n,)
    A block for each neighbour, in the order of ``outedges``, left unchanged.
recvbuf : array (indegree*n,)
    Receives a block from each neighbour, in the order of ``inedges``. Same dtype as `sendbuf`.
    In a grid without wrap-around, the blocks of neighbours that do not exist stay as they are.

Raises
------
ValueError
    Before any message is sent, if `comm` has no neighbours, or the buffers do not fit their
    number, differ in dtype, overlap, are not contiguous or not writeable.
UnsupportedError
    If the algorithm cannot work with these neighbours.

Algorithms
----------
=================  ========  ====  =====  ========  =====  =====
algorithm          messages  sent  steps  in a row  needs  order
=================  ========  ====  =====  ========  =====  =====
linear             32        32    4      4         none   kept
dimension_ordered  24        32    3      4         torus  kept
builtin                                             mpi    kept
=================  ========  ====  =====  ========  =====  =====
"""

ALGORITHMS = [
    "linear",
    "dimension_ordered",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
