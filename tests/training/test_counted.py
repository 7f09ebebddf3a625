"""What a step sends and what a rank keeps: counted, and equal to the formulas to the byte."""

import tracemalloc

import numpy as np
import pytest

from collectives.blocks import even
from collectives.sim import simulate
from collectives.tracing import Trace
from collectives.training import MLP, SCHEMES, DataParallel, ZeRO1, ZeRO2, ZeRO3, batch_of, digits
from collectives.training.buckets import cut
from collectives.training.held import held

MODEL, ROWS = MLP((64, 24, 15, 10)), 24
N = sum(MODEL.sizes)
RANKS = (1, 2, 3, 4, 8)

TIMES_THE_MODEL = {
    DataParallel: lambda k: 2,
    ZeRO1: lambda k: 2,
    ZeRO2: lambda k: k + 1,
    ZeRO3: lambda k: 3 * k,
}
SHARDED = {
    DataParallel: (),
    ZeRO1: ("optimizer state",),
    ZeRO2: ("optimizer state", "gradients"),
    ZeRO3: ("optimizer state", "gradients", "parameters"),
}


def one_step(scheme, p, *, dtype=np.float32, micro=1, **options):
    """Return, of each rank, the trace of one step and the trainer."""
    data, start = digits(dtype), MODEL.initial(dtype)

    def program(comm):
        trace = Trace()
        trainer = scheme(trace.comm(comm), MODEL, start, **options)
        trainer.step(batch_of(data, 0, ROWS, rank=comm.rank, p=p, micro=micro), ROWS)
        return trace, trainer

    return simulate(program, p).results


@pytest.mark.parametrize("p", RANKS)
@pytest.mark.parametrize("micro", [1, 2, 4])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_bytes_of_a_step(scheme, micro, p):
    """All ranks together send (p - 1) times the model as often as said: (p - 1) / p of it each."""
    for dtype, bucket_nbytes in ((np.float32, 0), (np.float64, 10**9)):
        ranks = one_step(scheme, p, dtype=dtype, micro=micro, bucket_nbytes=bucket_nbytes)
        sent = [trace.sent(rank) for rank, (trace, _) in enumerate(ranks)]
        times, itemsize = TIMES_THE_MODEL[scheme](micro), np.dtype(dtype).itemsize
        assert sum(sent) == times * (p - 1) * N * itemsize
        calls = times * (3 if bucket_nbytes == 0 or scheme is ZeRO3 else 1)
        assert max(sent) - min(sent) <= 2 * calls * itemsize  # blocks differ by one element


@pytest.mark.parametrize("scheme", SCHEMES)
def test_messages_depend_on_the_buckets(scheme):
    """Bytes stay; every bucket has p - 1 messages per rank and phase."""
    p = 4
    for bucket_nbytes, buckets in ((0, 3), (1000, 2), (10**9, 1)):
        ranks = one_step(scheme, p, bucket_nbytes=bucket_nbytes)
        phases = TIMES_THE_MODEL[scheme](1)
        pieces = 3 if scheme is ZeRO3 else buckets
        assert {trace.messages(rank) for rank, (trace, _) in enumerate(ranks)} == {
            phases * pieces * (p - 1)
        }


def test_zero_needs_no_more_messages_than_data_parallel():
    """An all-reduce by ring is a reduce-scatter and an allgather already."""
    counts = [one_step(scheme, 4)[0][0].messages(0) for scheme in (DataParallel, ZeRO1, ZeRO2)]
    assert counts == [6, 6, 6]


@pytest.mark.parametrize("p", RANKS)
@pytest.mark.parametrize("bucket_nbytes", [0, 10**9])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_memory(scheme, bucket_nbytes, p):
    for rank, (_, trainer) in enumerate(one_step(scheme, p, bucket_nbytes=bucket_nbytes)):
        layers = MODEL.sizes if bucket_nbytes == 0 or scheme is ZeRO3 else [N]
        share = sum(even(size, p)[rank] for size in layers)
        assert trainer.memory() == {
            part: (share if part in SHARDED[scheme] else N) * 4 * width
            for part, width in (("parameters", 1), ("gradients", 1), ("optimizer state", 2))
        }


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_else_is_kept(scheme):
    """No array hides in another attribute, or behind a view."""
    for _, trainer in one_step(scheme, 3, micro=2):
        known = ("comm", "allreduce", "reduce_scatter", "allgather", "model")
        everything = {key: value for key, value in vars(trainer).items() if key not in known}
        assert held(everything) == sum(trainer.memory().values())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_python_counts_the_same_memory(scheme):
    """tracemalloc, which knows nothing of trainers, finds what `memory` counts, and hardly more."""
    p, data = 4, digits()
    model = MLP((64, 300, 10))
    start = model.initial()

    def program(comm):
        trainer = scheme(comm, model, start)
        trainer.step(batch_of(data, 0, 8, rank=comm.rank, p=p), 8)
        return trainer

    simulate(program, p)  # whatever is imported or cached once
    tracemalloc.start()
    try:
        trainers = simulate(program, p).results
        found, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    counted = sum(sum(trainer.memory().values()) for trainer in trainers)
    assert counted <= found <= counted + 64_000


def test_held_counts_each_allocation_once():
    whole = np.zeros(1000)
    assert held(whole[:10], {"again": [whole[20:].reshape(2, -1)]}, (np.ones(1),)) == 8008
    assert held(None, 3, "text", object()) == 0


@pytest.mark.parametrize("p", RANKS)
@pytest.mark.parametrize("at_least", [0, 30, 1e9])
def test_buckets_and_shards_cover_everything_once(at_least, p):
    sizes = [5, 3, 17, 2, 1]
    ranks = [cut(sizes, at_least, rank, p) for rank in range(p)]
    owners = np.zeros(sum(sizes), int)
    for buckets in ranks:
        assert [layer for b in buckets for layer in reversed(b.layers)] == [4, 3, 2, 1, 0]
        shard = np.zeros(sum(bucket.mine for bucket in buckets), int)
        for bucket in buckets:
            owners[bucket.own] += 1
            shard[bucket.shard] += 1
            assert bucket.mine == bucket.own.stop - bucket.own.start
            assert bucket.whole.start <= bucket.own.start <= bucket.own.stop <= bucket.whole.stop
            assert len(shard[bucket.shard]) == bucket.mine
        assert shard.tolist() == [1] * len(shard)
    assert owners.tolist() == [1] * sum(sizes)
