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
======================  ========  ====  =====  ========  ============  =====
algorithm               messages  sent  steps  in a row  needs         order
======================  ========  ====  =====  ========  ============  =====
linear                  7         7     7      7         none          kept
chain                   896       7     134    1.047     none          kept
multi_chain             896       7     512    4         none          kept
binary_tree             896       7     258    2.016     none          kept
split_binary_tree       455       7     131    1.516     none          kept
binomial                7         7     3      3         none          kept
knomial                 7         7     4      4         none          kept
bine                    7         7     3      3         power_of_two  kept
scatter_allgather       31        8.5   6      1.75      power_of_two  kept
scatter_ring_allgather  63        8.5   10     1.75      none          kept
double_binary_tree      896       7     133    1.039     none          kept
circulant               896       7     130    1.016     none          kept
builtin                                                  mpi           kept
======================  ========  ====  =====  ========  ============  =====
"""

ALGORITHMS = [
    "linear",
    "chain",
    "multi_chain",
    "binary_tree",
    "split_binary_tree",
    "binomial",
    "knomial",
    "bine",
    "scatter_allgather",
    "scatter_ring_allgather",
    "double_binary_tree",
    "circulant",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
