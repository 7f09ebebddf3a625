"""Barrier: no rank returns before every rank has called.

Parameters
----------
comm : Comm
    The ranks that take part, p of them.

Raises
------
UnsupportedError
    If the algorithm cannot work with this p.

Algorithms
----------
==================  ========  ====  =====  ========  =====  =====
algorithm           messages  sent  steps  in a row  needs  order
==================  ========  ====  =====  ========  =====  =====
linear              14        0     14     0         none   kept
tree                14        0     6      0         none   kept
double_ring         16        0     16     0         none   kept
recursive_doubling  24        0     3      0         none   kept
dissemination       24        0     3      0         none   kept
builtin                                              mpi    kept
==================  ========  ====  =====  ========  =====  =====
"""

ALGORITHMS = [
    "linear",
    "tree",
    "double_ring",
    "recursive_doubling",
    "dissemination",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
