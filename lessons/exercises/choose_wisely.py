"""D5 choose wisely: a tuner, which picks an algorithm for every size.

Story   A library has four all-reduces and must pick one for each call. It has no time to try them:
        it knows p, the bytes of the vector, and what a message and a byte cost. Write the function
        that picks, and see how far it is from the best choice.

Spec    `choose(p, nbytes, alpha, beta)` returns one of "reduce_bcast", "recursive_doubling",
        "ring", "rabenseifner": p ranks, nbytes in the vector, alpha seconds per message, beta
        seconds per byte. The grader tries 90 cases, p a power of two and not, 8 B to 128 MB, on
        three networks; in each your choice may take at most 1.3 times as long as the best one, by
        the costs of `collectives list allreduce`. Rabenseifner is halving and doubling.

Size    15 lines; 25 minutes.

Budget  none: nothing is sent.

Predict Of these four, how many are the best for some size on 8 ranks? Write it into PREDICTION.

More    Make Open MPI run each of them (coll_tuned_use_dynamic_rules, coll_tuned_allreduce_algorithm
        3, 4 and 6) and compare with your choice; `python lessons/choose_wisely.py --rules FILE`
        writes the rules down.

collectives grade lessons/exercises/choose_wisely.py
"""

PREDICTION = None


def choose(p, nbytes, alpha, beta):
    raise NotImplementedError
