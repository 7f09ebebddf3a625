"""F1 split the world: nodes and rails, two ways to cut the same ranks into groups.

Story   Ranks 0 to 3 are on one node, 4 to 7 on the next. The four of a node share fast links. The
        ranks with the same place on their nodes, 1 and 5 for instance, are a rail: they share a
        network card each. Both are communicators: `comm.Split(color, key)` makes one per color,
        ordered by key.

Spec    `split_world(comm, number, per_node)`: ranks r with the same r // per_node are on a node;
        the last node may have fewer. Return [rank in the node, size of the node, rank in the rail,
        size of the rail, sum over the node, sum over the rail], six ints; `number` is an array of
        one element, of which the sums are. Ranks of a group are in the order of the world. You may
        use the library's collectives on your groups: `from collectives import allreduce_ring`.

Size    10 lines; 15 minutes.

Budget  none but what the two sums take.

Predict 8 ranks, 4 per node: how many rails are there? Write it into PREDICTION.

More    On a real cluster, `comm.Split_type(MPI.COMM_TYPE_SHARED)` makes the nodes without per_node.
        How do you make the rails then?

collectives grade lessons/exercises/split_world.py
"""

PREDICTION = None


def split_world(comm, number, per_node):
    raise NotImplementedError
