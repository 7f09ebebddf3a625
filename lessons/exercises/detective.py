"""A5 detective: ten programs, ten symptoms; which fault is it?

Story   Ten people have written a ring all-reduce, and each has one fault in it. You have what they
        say about the run, and the lines that are unlike those of a right version. `chunks` are the
        p blocks of the result, `left` and `right` the neighbours; first p - 1 steps of
        reduce-scatter, then p - 1 of allgather, each a Sendrecv with the neighbours.

case 1  right for 192 B; for 3 MB all ranks hang.
        comm.Send(chunks[mine], dest=right)
        comm.Recv(incoming, source=left)

case 2  right with 2 ranks; with 3 and more all ranks hang.
        left = right = (rank + 1) % p

case 3  never hangs; with 4 ranks each block is the sum of some ranks, never of all.
        for step in range(p - 2):  # reduce-scatter

case 4  with 4 ranks one block is right on each rank, the others are too large.
        incoming = np.empty_like(chunks[theirs])
        comm.Sendrecv(chunks[mine], dest=right, recvbuf=incoming, source=left)
        op(incoming, chunks[theirs], out=chunks[theirs])

case 5  12 elements on 4 ranks: right. 13 elements: the last one is this rank's own.
        size = recvbuf.size // p
        chunks = [recvbuf[i * size : (i + 1) * size] for i in range(p)]

case 6  no error, no hang; most elements are this rank's own input.
        chunks[theirs] = op(incoming, chunks[theirs], out=incoming)

case 7  right on one machine; on another the sums lack whole blocks.
        outgoing = chunks[mine].copy()
        request = comm.Isend(outgoing, dest=right)
        outgoing[:] = 0
        comm.Recv(incoming, source=left)
        request.Wait()

case 8  right for every p and n, but slower than that of your neighbour.
        for step in range(p if p > 1 else 0):  # reduce-scatter

case 9  each rank has one block right; all the others are partial sums.
        comm.Sendrecv(chunks[mine], dest=right, recvbuf=chunks[theirs].flatten(), source=left)

case 10 hangs at any size, with 2 ranks and more; no message is too long.
        comm.Sendrecv(chunks[mine], dest=right, sendtag=step,
                      recvbuf=incoming, source=left, recvtag=step + 1)

Spec    `detective()` returns a list of ten names, each one of
        allgather-adds, allgather-starts-wrong, changed-before-wait, one-step-short,
        one-step-too-many, receive-before-send, received-into-copy, same-buffer-twice,
        send-before-receive, tags-differ, tail-dropped, used-before-wait, view-lost,
        wrong-block-sent, wrong-neighbour

Size    10 words; 20 minutes.

Budget  none: nothing is sent.

Predict How many of the ten stand still with 3 ranks, if no send is buffered? Write it into
        PREDICTION.

More    Take your own ring_allreduce, build one of the faults in, and let your neighbour look at
        the result alone.

collectives grade lessons/exercises/detective.py
"""

PREDICTION = None


def detective():
    return [
        "?",  # case 1
        "?",  # case 2
        "?",  # case 3
        "?",  # case 4
        "?",  # case 5
        "?",  # case 6
        "?",  # case 7
        "?",  # case 8
        "?",  # case 9
        "?",  # case 10
    ]
