"""A4 ping-pong: read alpha, beta and the eager limit from times.

Story   Somebody has measured a network and hands you the times. A ball of `size` bytes went from
        rank 0 to rank 1 and back, five times per size; the first time, connections had to be set
        up. What does a message cost, and what does a byte cost? In a second run, rank 1 came 5 ms
        late: up to which size did Send leave without waiting? (The times are simulated, with noise
        added, and new in every grading.)

Spec    `fit(sizes, times)`: sizes in bytes; times[i] are five times there and back, in seconds.
        Return [alpha, beta], seconds per message and seconds per byte, of one way; each within 5 %.
        `eager_limit(sizes, seconds)`: seconds[i] is what Send took for sizes[i] bytes, in
        increasing order of sizes. Return the largest size that left at once.

Size    6 lines and 2 lines; 15 minutes.

Budget  none: nothing is sent.

Predict A message of 8 bytes takes 5 us one way, one of 1 MB takes 105 us. How many GB/s is that,
        about? Write it into PREDICTION.

More    Measure: `mpirun -n 2 python lessons/point_to_point.py`. Are your alpha and beta those of
        the lesson? Where is the limit of your MPI library?

collectives grade lessons/exercises/ping_pong.py
"""

PREDICTION = None


def fit(sizes, times):
    raise NotImplementedError


def eager_limit(sizes, seconds):
    raise NotImplementedError
