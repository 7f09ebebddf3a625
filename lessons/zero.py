"""Sharded training, ZeRO 1 to 3: every rank keeps a share, and what that costs in bytes sent.

mpirun -n 8 python lessons/zero.py        on 8 MPI ranks
python lessons/zero.py                    on 8 simulated ranks, without MPI
"""

import argparse
import sys

import numpy as np

from collectives import find
from collectives.draw import text
from collectives.gpu import to_host
from collectives.teach import runs
from collectives.teach import training_runs as training
from collectives.teach.lesson import at_least, main, slow_links
from collectives.teach.prediction import Prediction
from collectives.training import MLP, DataParallel, batch_of

MODEL = MLP((64, 48, 32, 10))  # digits of 8 by 8 pixels, in ten classes
HALVES = find("reduce_scatter", "ring"), find("allgather", "ring")

QUESTION = """
With ZeRO, each of p ranks keeps only 1/p of the optimizer's state (stage 1), also of the gradients
(stage 2), also of the parameters (stage 3). What does each stage cost in bytes sent?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"The model has {text.nbytes(setting(options).psi)} of parameters; data parallelism sends "
        f"{text.nbytes(2 * setting(options).psi * (p - 1) / p)} per rank and step. "
        "How many bytes does a rank send with ZeRO-3?"
    ),
    answer=lambda world, options: training.per_rank(of_all_ranks(world), "ZeRO-3"),
    unit="B",
)

NEXT = [
    ("-n 3", "shards of unequal length"),
    ("--rows 3", "ranks without data, which take part all the same"),
    ("--steps 100", "how far it learns"),
    ("hierarchical", "which of the bytes leave a node"),
    ("collectives grade lessons/exercises/zero1.py", "write stage 1 yourself"),
]


def setting(options):
    """Return what is trained, and how."""
    return training.Setting(
        MODEL, rows=options.rows, rate=0.01, steps=options.steps, device=options.device
    )


def measure(comm, options):
    """Train by every scheme, counted; count one bucket; sum gradients that nobody divided."""
    what = setting(options)
    parts = [runs.recorded(comm, half) for half in HALVES]
    _, load, _ = training.counted_step(comm, DataParallel, what, bucket_nbytes=what.psi)
    ratio = length_of_gradient(comm, what, own=True) / length_of_gradient(comm, what, own=False)
    return training.trained(comm, what), load["allreduce"][1], ratio, parts


class Unmoved(DataParallel):
    """Data parallelism up to the optimizer's step: look at `gradients`, the sum over ranks."""

    def update(self):
        pass


def length_of_gradient(comm, what, own):
    """Return the length of the summed gradient, divided by the own rows or by those of all."""
    trainer = Unmoved(comm, MODEL, what.start)
    [mine] = batch_of(what.data, 0, what.rows, rank=comm.rank, p=comm.size)
    trainer.step([mine], max(1, len(mine[0])) if own else what.rows)
    return float(np.linalg.norm(to_host(trainer.gradients)))


def of_all_ranks(world):
    """Return what was found about the schemes, rank by rank."""
    return [found for found, *_ in world.results]


def report(world, options):
    """Yield what rank 0 prints: bytes, memory, that it is the same training, variations."""
    what, ranks = setting(options), of_all_ranks(world)
    _, messages, ratio, _ = world.results[0]
    psi = text.nbytes(what.psi)
    yield f"""
idea   An all-reduce is a reduce-scatter and an allgather. Between the two, a rank holds the sum of
       one share of the gradients: enough to update that share of the parameters. So ZeRO takes the
       optimizer's step there, and gathers new parameters instead of gradients.

       A network of {what.n} parameters ({psi} in float32 = Psi) learns the 1797 digits of
       scikit-learn: Adam, {options.steps} steps, {options.rows} rows per step, over all ranks.

bytes  sent per rank in one step, average over ranks, counted
"""
    yield from training.sent_table(ranks, what.psi)
    yield "\nkept   between steps, by the rank that keeps most, counted\n"
    yield from training.kept_table(ranks)
    yield ""
    yield from training.same_training(ranks, what)
    yield training.sent_as_formula(ranks, what)
    yield training.kept_as_formula(ranks, what)
    yield """
say    The chapter has ZeRO lower the traffic "from 2x the model to 2x". It should read: ZeRO-1 and
       ZeRO-2 send as much as data parallelism, 2x the model, and keep less; ZeRO-3 sends 3x, half
       as much again, and keeps 1/p of everything. (Each times (p-1)/p.) And it says that there are
       twice as many communications: there are two calls instead of one, but no more messages, see
       above, as the ring all-reduce consists of the same two parts.

more   k batches per step, gradients accumulated: sent per rank, counted, in Psi (p-1)/p
"""
    yield from training.accumulation_table(ranks, what)
    yield """
       ZeRO-2 keeps no gradients of other shards, so that every batch has its reduce-scatter:
       k + 1. ZeRO-3 also gathers all parameters twice for every batch: 3k."""
    if world.size > 1:
        yield f"""
mean   A rank divides its gradient by the {options.rows} rows of all, so that the sum is the mean.
       Divided by its own rows only, the sum would be {ratio:.3g} times as long (counted). Adam
       hides this mistake, as it divides a gradient by its size; plain gradient descent does not.
       The mean of the ranks' means, as in PyTorch's DDP, is right if all have as many rows."""
        yield from buckets(world.size, ranks[0]["DDP"].loads[1]["allreduce"][1], messages, what)
    yield from limit_and_use()


def buckets(p, by_layer, in_one, what):
    """Yield what buckets change: messages, not bytes; and what can be hidden."""
    from collectives.training.timeline import Layer, allreduce_time, schedule

    time = allreduce_time("ring", p, slow_links())
    parts, one = sum(time(4 * size) for size in MODEL.sizes), time(what.psi)
    yield f"""
bucket The same bytes in other messages, counted: {by_layer} per rank layer by layer, {in_one} in
       one bucket; by the model (5 us, 10 GB/s) {text.seconds(parts)} and {text.seconds(one)}.
       But a bucket can go only when its last gradient is there, and the largest is ready last:

       simulated: a backward pass of 24 layers, each 0.6 ms and 4 MB of gradients
       buckets of    all-reduces   one after the other   overlapped   hidden"""
    layers = [Layer(0.6e-3, 4_000_000)] * 24
    for nbytes in (4_000_000, 32_000_000, 96_000_000):
        alone = schedule(layers, nbytes, time, overlapped=False)
        both = schedule(layers, nbytes, time)
        yield (
            f"       {text.nbytes(nbytes):12}{len(both.communication):>13}"
            f"{text.seconds(alone.end):>22}{text.seconds(both.end):>13}{both.hidden:>9.0%}"
        )
    fast = schedule([Layer(0.1e-3, 4_000_000)] * 24, 4_000_000, time)
    hidden = f"{fast.hidden:.0%}"
    yield f"       With 0.1 ms per layer {hidden}: there is too little computation to hide behind."


def limit_and_use():
    """Yield the limit of many ranks, and what real libraries do."""
    from collectives.draw.figures.zero import SCHEMES

    widths = {"parameters": 2, "gradients": 2, "optimizer state": 12}
    kept = [sum(scheme.memory(7_500_000_000, 64, widths).values()) for scheme in SCHEMES]
    sizes = ", ".join(text.nbytes(float(size)) for size in kept)
    yield f"""
limit  Many ranks: 2, 2, 2 and 3 Psi sent; 16, 8, 4 and 0 B kept per parameter. The example of the
       ZeRO paper (arXiv:1910.02054: 7.5e9 parameters, 64 ranks, 2 + 2 + 12 B) by the same formula:
       {sizes}. Activations come on top.

use    PyTorch's DDP all-reduces buckets of 25 MB while the backward pass goes on (pytorch#118421).
       Its ZeroRedundancyOptimizer leaves DDP's all-reduce as it is, and then each rank broadcasts
       the parameters it updated (documentation of torch.distributed.optim): 3 Psi, not 2. Early
       ZeRO-1 in DeepSpeed all-reduced, too (DeepSpeed#156). Megatron Core's distributed optimizer
       is ZeRO-1; for float32 its guide has the line above, 8 + 8/p bytes per parameter.
       DeepSpeed's ZeRO-2 reduces after every batch, for the reason given here (DeepSpeed#2252)."""


def svg(world, options):
    """Return the figure: memory and bytes of the schemes, as counted."""
    from collectives.draw.figures.zero import counted_bars

    return counted_bars(training.bars(of_all_ranks(world)), setting(options).n, world.size)


def html(world, options):
    """Return the two halves of an all-reduce, to step through."""
    parts = zip(*(result[-1] for result in world.results), strict=True)
    return [runs.recording(world, *half) for half in zip(HALVES, parts, strict=True)]


def flags(parser):
    """Add the flags of this lesson."""
    add = parser.add_argument
    add("--steps", type=at_least(1), default=10, help="of training (%(default)s)")
    add("--rows", type=rows, default=100, help="per step, over all ranks (%(default)s)")


def rows(words):
    """Return a number of rows, of which there are 1797."""
    number = at_least(1)(words)
    if number > 1797:
        raise argparse.ArgumentTypeError(f"{number}, wants at most 1797: all the digits there are")
    return number


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT, svg=svg,
            html=html, next_steps=NEXT, flags=flags,
        )
    )  # fmt: skip
