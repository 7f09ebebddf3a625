"""Broadcast: every rank ends with the root's vector.

Parameters
----------
comm : Comm
    The ranks that take part, p of them.
buf : array (n,)
    The vector to send on `root`, left unchanged there; receives it on the others.
root : int
    The rank that sends, the same on all ranks.

Raises
------
ValueError
    Before any message is sent, if `root` is not a rank, or `buf` is not contiguous or, on
    another rank than `root`, not writeable.
UnsupportedError
    If the algorithm cannot work with this p.

Algorithms
----------
=========  ========  ===========  =============  =====  =====
algorithm  messages  volume       alphas         needs  order
=========  ========  ===========  =============  =====  =====
linear     p - 1     (p - 1) * n  p - 1          -      kept
binomial   p - 1     (p - 1) * n  ceil(log2(p))  -      kept
builtin    -         -            -              mpi    kept
=========  ========  ===========  =============  =====  =====
"""

from collectives.algorithms.bcast.linear import bcast_linear
from collectives.algorithms.bcast.binomial import bcast_binomial
from collectives.algorithms.bcast.builtin import bcast_builtin

__all__ = ["bcast_binomial", "bcast_builtin", "bcast_linear"]
