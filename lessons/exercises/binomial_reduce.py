"""B3 binomial reduction: a broadcast played backwards, with a sum at every meeting.

Story   Every rank has a vector; the root wants all of them combined. In every step half of those
        who still have something hand it to a neighbour, and are done.

Spec    `sendbuf` (n elements) is this rank's vector and stays as it is; on the root `recvbuf`
        (n elements) gets the result, on other ranks it is not touched. `op(lower, higher, out=x)`
        combines two arrays; it may be a sum, a maximum or anything else, and with root 0 operands
        must be combined in the order of the ranks, lower ranks on the left.

Size    15 lines; 20 minutes.

Budget  binomial_reduce: messages p - 1, elements (p - 1) * n, steps ceil(log2(p))

Predict How many messages does the root receive, of 8 ranks? Write it into PREDICTION.

More    Which roots can keep the order without one more message? `collectives show reduce
        binomial` knows.

collectives grade lessons/exercises/binomial_reduce.py
"""

PREDICTION = None


def binomial_reduce(comm, sendbuf, recvbuf, op, root):
    raise NotImplementedError
