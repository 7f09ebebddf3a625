"""What each rank of `test_on_mpi` runs: all schemes, on an MPI library, and what they keep."""

import json
import tracemalloc

import numpy as np
from mpi4py import MPI

from collectives.launch import abort_on_error
from collectives.tracing import Trace
from collectives.training import MLP, SCHEMES, batch_of, digits, one_process

MODEL, STEPS, ROWS, RATE = MLP((64, 24, 15, 10)), 5, 53, 3e-3
LARGE = MLP((64, 300, 300, 300, 10))  # next to which activations and messages under way are small


def trained(comm, scheme, dtype, micro, **options):
    """Return how far parameters and losses are from one process, and what was sent per step."""
    data, start = digits(dtype), MODEL.initial(dtype)
    trace = Trace()
    trainer = scheme(trace.comm(comm), MODEL, start, rate=RATE, **options)
    losses = []
    for step in range(STEPS):
        mine = batch_of(data, step, ROWS, rank=comm.rank, p=comm.size, micro=micro)
        losses.append(trainer.step(mine, ROWS))
    sent = sum(comm.allgather(trace.sent(comm.rank))) / STEPS
    losses = np.sum(comm.allgather(losses), axis=0)
    wanted, wanted_losses = one_process(MODEL, start, data, steps=STEPS, rows=ROWS, rate=RATE)
    parameters = trainer.everything()
    return parameters, {
        "sent": sent,
        "error": max(comm.allgather(float(np.abs(parameters - wanted).max()))),
        "loss": float(np.abs(losses - wanted_losses).max()),
    }


def most_memory(comm, scheme):
    """Return the most that this rank had allocated at a time, from before it had a trainer."""
    data, start = digits(), LARGE.initial()
    mine = batch_of(data, 0, 2 * comm.size, rank=comm.rank, p=comm.size)
    tracemalloc.start()
    trainer = scheme(comm, LARGE, start, bucket_nbytes=0)
    trainer.step(mine, 2 * comm.size)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return max(comm.allgather(most)) / start.nbytes


def main():
    comm, report = MPI.COMM_WORLD, {"largest layer": max(LARGE.sizes) / sum(LARGE.sizes)}
    for scheme in SCHEMES:
        found = report[scheme.name] = {}
        for dtype in ("float64", "float32"):
            for micro in (1, 3):
                _, found[f"{dtype} {micro}"] = trained(comm, scheme, dtype, micro)
        plain, _ = trained(comm, scheme, "float32", 2, bucket_nbytes=0)
        overlapped, found["overlap"] = trained(
            comm, scheme, "float32", 2, bucket_nbytes=0, overlap=True
        )
        same = comm.allgather(bool(np.array_equal(plain, overlapped)))
        found["overlap"]["same bits"] = all(same)
        found["builtin"] = trained(
            comm, scheme, "float64", 1,
            allreduce="builtin", reduce_scatter="builtin", allgather="builtin",
        )[1]  # fmt: skip
        found["most memory"] = most_memory(comm, scheme)
    if comm.rank == 0:
        print(json.dumps(report))


with abort_on_error():
    main()
