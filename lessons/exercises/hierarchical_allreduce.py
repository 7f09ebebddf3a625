"""F2 hierarchical all-reduce: as little as possible between the nodes, through all cards.

Story   Links inside a node are ten times as fast as those between nodes. So add up inside first:
        only sums of whole nodes have to cross. And let every rank of the node take a part of them
        across, so that no network card is idle.

Spec    `hierarchical_allreduce(comm, vector, per_node)` returns the sum of all vectors, on every
        rank. Ranks r with the same r // per_node are on a node; all nodes are full, and n is a
        multiple of p. Three phases: reduce-scatter in the node, all-reduce on the rail (ranks with
        the same r % per_node), allgather in the node. Use `comm.Split` and
        `from collectives import reduce_scatter_ring, allreduce_ring, allgather_ring`.

Size    12 lines; 20 minutes.

Budget  between N nodes 2 (N - 1) n elements in all, 2 (N - 1) n / p from each rank; inside the
        nodes 2 (per_node - 1) n for each node.

Predict 2 nodes of 4 ranks, S bytes per rank: how many S leave each node? Write it into PREDICTION.

More    `python lessons/hierarchical.py --html h.html` beside a flat ring. Which of the two uses
        more than one card per node?

collectives grade lessons/exercises/hierarchical_allreduce.py
"""

PREDICTION = None


def hierarchical_allreduce(comm, vector, per_node):
    raise NotImplementedError
