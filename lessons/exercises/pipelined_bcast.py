"""B2 pipelined broadcast: a chain of ranks, all links busy at the same time.

Story   A long vector goes along a chain, root, root + 1, and so on round to root - 1. Sent in one
        piece, it keeps one link busy and all others waiting. Cut into segments, it keeps all of
        them busy: first the pipeline fills, then a segment arrives everywhere in every step, then
        it drains.

Spec    `pipelined_bcast`: `buf` (n elements) holds the vector on the root before, and on every
        rank after; each message has at most `segment` elements, and all but the last just so many.
        A vector of no elements is one empty segment.
        `best_segment(p, n, alpha, beta)`: the segment, an int from 1 to n, whose time in the model
        is at most twice the shortest; alpha seconds per message, beta seconds per element.

Size    12 lines and 3 lines; 20 minutes.

Budget  pipelined_bcast: messages (p - 1) * max(1, ceil(n / segment)), elements (p - 1) * n,
        steps p - 2 + max(1, ceil(n / segment))

Predict How many steps do 12 segments take along a chain of 4 ranks? Write it into PREDICTION.

More    `collectives simulate bcast chain --segment 100` against your best segment.

collectives grade lessons/exercises/pipelined_bcast.py
"""

PREDICTION = None


def pipelined_bcast(comm, buf, root, *, segment):
    raise NotImplementedError


def best_segment(p, n, alpha, beta):
    raise NotImplementedError
