"""E3 tokens for experts: an all-to-all in which some are more popular than others.

Story   A mixture-of-experts layer has an expert on each rank. Every rank sorts its tokens by the
        expert that they want and sends them there. Experts are not equally popular: one gets half
        of all tokens, another none.

Spec    `sendcounts[i]` is how many elements of `sendbuf` are for rank i, in rank order, one after
        the other; `recvcounts[i]` how many rank i has for this one. `recvbuf` gets them in rank
        order, the own ones too. Any counts, 0 included: a message may be empty. Must finish even
        if no send is buffered.

Size    10 lines; 15 minutes.

Budget  moe_alltoallv: messages p * (p - 1), elements p * (p - 1) * n, steps p - 1
        (n elements per block, where all are alike)

Predict sendcounts are 4, 0, 3, 1. At which element of sendbuf do the tokens for rank 3 begin? Write
        it into PREDICTION.

More    `python lessons/alltoall.py`: how long does the hot spot hold up all others? Leave empty
        messages out on both sides. When is that safe?

collectives grade lessons/exercises/moe_alltoallv.py
"""

PREDICTION = None


def moe_alltoallv(comm, sendbuf, recvbuf, sendcounts, recvcounts):
    raise NotImplementedError
