"""G1 average gradients: sum or mean, and who divides?

Story   A batch of 30 pictures is shared out among 4 ranks: 8, 8, 7 and 7. Each computes the mean
        gradient of its own pictures. All replicas must take the step that one process would take
        on all 30: with the mean over the whole batch.

Spec    `ddp_average(comm, gradient, rows)`: `gradient` (n numbers) is the mean over this rank's
        rows,
        `rows` an array of one int, how many they are. Return the mean over the rows of all ranks,
        on every rank, as one process gets it. You may use the library's collectives:
        `from collectives import allreduce_ring`.

Size    8 lines; 15 minutes.

Budget  one all-reduce of the gradient, and a few numbers: 2 (p - 1) (n + 8) elements in all.

Predict 4 ranks with 8 rows each; somebody forgets to divide the sum of the mean gradients. How many
        times too long is the step? Write it into PREDICTION.

More    PyTorch's DistributedDataParallel divides by p, whatever the rows. When does that matter?
        With Adam instead of plain steps, what does a factor of p do?

collectives grade lessons/exercises/ddp_average.py
"""

PREDICTION = None


def ddp_average(comm, gradient, rows):
    raise NotImplementedError
