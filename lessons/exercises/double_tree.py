"""D4 double tree: leaf here, inner there, the same load on all.

Story   In a binary tree half of the ranks are leaves and send once, while inner ranks send three
        times. Take two trees in which leaves of one are inner in the other, and give each half of
        the vector: nobody sends more than two vectors' worth.

Spec    `sendbuf` (n elements) is this rank's vector and stays as it is; `recvbuf` (n elements) gets
        the combination of all vectors, on every rank. One half of the vector (np.array_split) is
        reduced and broadcast along each tree. `collectives.topology` has the trees:
        `order = tree_pair(p, 1)[k]` for k = 0 and 1, and
        `parent, children, _ = tree_of_nodes(rank, order)`; the parent of the root is None.

Size    15 lines; 30 minutes.

Budget  double_tree: messages 4 * (p - 1), elements 2 * (p - 1) * n
        and no rank sends more than 4 * ceil(n / 2) elements

Predict In units of the vector, what does a rank with two children in one tree and none in the other
        send? Write it into PREDICTION.

More    In segments, both trees at the same time: `collectives show allreduce double_binary_tree`.
        Which ranks still have half of the load?

collectives grade lessons/exercises/double_tree.py
"""

PREDICTION = None


def double_tree(comm, sendbuf, recvbuf, op):
    raise NotImplementedError
