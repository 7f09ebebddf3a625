"""B1 binomial broadcast: the news doubles its audience in every step.

Story   Rank `root` has a vector, and all others need it. Telling them one after the other takes
        p - 1 steps, while everybody who already knows stands idle. Write that first
        (`flat_bcast`), then let everybody who knows tell somebody (`binomial_bcast`).

Spec    `buf` (n elements) holds the vector on the root before, and on every rank after. Any p, any
        root, any n, 0 too. `comm` has MPI's point-to-point calls: Send, Recv, Sendrecv, Isend,
        Irecv.

Size    6 lines and 10 lines; 15 minutes.

Budget  flat_bcast: messages p - 1, elements (p - 1) * n, steps p - 1
        binomial_bcast: messages p - 1, elements (p - 1) * n, steps ceil(log2(p))

Predict How many steps does the binomial broadcast take on 6 ranks? Write it into PREDICTION.

More    The same tree with three children per step (`collectives show bcast knomial`): when is it
        faster?

collectives grade lessons/exercises/binomial_bcast.py
"""

PREDICTION = None


def flat_bcast(comm, buf, root):
    raise NotImplementedError


def binomial_bcast(comm, buf, root):
    raise NotImplementedError
