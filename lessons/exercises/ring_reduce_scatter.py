"""C2 ring reduce-scatter: sums that grow on their way, and come to rest on their owners.

Story   Every rank has a vector of p blocks; rank r wants block r of the total, and nothing else. A
        block starts somewhere on the ring and collects one operand per hop.

Spec    `sendbuf` (p * n elements) is this rank's vector and stays as it is; `recvbuf` (n elements)
        gets block `rank` of the combination of all vectors. `op(lower, higher, out=x)` combines two
        arrays. Must finish even if no send is buffered.

Size    10 lines; 15 minutes.

Budget  ring_reduce_scatter: messages p * (p - 1), elements p * (p - 1) * n, steps p - 1

Predict Of 5 ranks, how many operands are in the block that a rank sends in its last step? Write it
        into PREDICTION.

More    How many elements of scratch do you use, besides recvbuf? Could it be one block?

collectives grade lessons/exercises/ring_reduce_scatter.py
"""

PREDICTION = None


def ring_reduce_scatter(comm, sendbuf, recvbuf, op):
    raise NotImplementedError
