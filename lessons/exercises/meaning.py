"""A0 meaning: twelve tables; which collective is it?

Story   Three ranks hold some numbers, call a collective, and hold others. What they hold tells
        which one it was. No program: look, and name it.

    item  before                              after
          rank 0     rank 1     rank 2        rank 0     rank 1     rank 2
     1  2          7          17         -> 2 7 17     2 7 17     2 7 17
     2  2 3 5      7 11 13    17 19 23   -> -          26 33 41   -
     3  2 3 5      7 11 13    17 19 23   -> 7          11         13
     4  2 3 5      7 11 13    17 19 23   -> 26 33 41   26 33 41   26 33 41
     5  2 3 5      7 11 13    17 19 23   -> 2 7 17     3 11 19    5 13 23
     6  2 3 5      7 11 13    17 19 23   -> 7 11 13    7 11 13    7 11 13
     7  2          7          17         -> -          2 7 17     -
     8  2 3 5      7 11 13    17 19 23   -> 26         33         41
     9  2 3 5      7 11 13    17 19 23   -> 2 3 5      9 14 18    26 33 41
    10  reduce_scatter and then allgather: the same as which one?
    11  gather and then bcast: the same as which one?
    12  reduce and then scatter: the same as which one?

Spec    `meaning()` returns a list of twelve names, each one of bcast, scatter, gather, allgather,
        reduce, allreduce, reduce_scatter, alltoall, scan, exscan. Operations are sums; the root is
        rank 1 where there is one; - means no result.

Size    12 words; 15 minutes.

Budget  none: nothing is sent.

Predict Of the ten names, how many leave the same on all ranks? Write it into PREDICTION.

More    Cover the right half and draw it yourself. Then `python lessons/primitives.py`.

collectives grade lessons/exercises/meaning.py
"""

PREDICTION = None


def meaning():
    return [
        "?",  # 1
        "?",  # 2
        "?",  # 3
        "?",  # 4
        "?",  # 5
        "?",  # 6
        "?",  # 7
        "?",  # 8
        "?",  # 9
        "?",  # 10
        "?",  # 11
        "?",  # 12
    ]
