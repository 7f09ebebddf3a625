"""A model of the backward pass: when layers are computed, and their gradients all-reduced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from collectives.registry import find
from collectives.sim.network import Hockney


@dataclass(frozen=True)
class Layer:
    """A layer in the backward pass: how long it computes, and how long its gradient is."""

    seconds: float
    nbytes: int


@dataclass(frozen=True)
class Span:
    """Something that takes a lane from `start` to `end`: a layer, or the bucket of some layers."""

    layers: tuple[int, ...]
    nbytes: int
    start: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """When layers are computed and buckets are reduced, in s from the start of the pass."""

    compute: tuple[Span, ...]
    communication: tuple[Span, ...]

    @property
    def end(self) -> float:
        return max((span.end for span in self.compute + self.communication), default=0.0)

    @property
    def hidden(self) -> float:
        """The share of communication that goes on while something is computed."""
        total = sum(span.end - span.start for span in self.communication)
        finished = max((span.end for span in self.compute), default=0.0)
        covered = sum(max(0.0, min(span.end, finished) - span.start) for span in self.communication)
        return covered / total if total else 0.0


def schedule(
    layers: Sequence[Layer],
    bucket_nbytes: int,
    reduce_time: Callable[[int], float],
    *,
    overlapped: bool = True,
) -> Timeline:
    """Compute layers from the last to the first, and all-reduce their gradients in buckets.

    A bucket is full, and ready, when it has `bucket_nbytes` or more, or when the pass is over.
    Buckets are reduced one after the other, in ``reduce_time(nbytes)`` seconds each: as soon as
    they are ready, or, not `overlapped`, when the pass is over. Neither lane slows the other down.

    Examples
    --------
    >>> timeline = schedule([Layer(1.0, 10)] * 3, 20, lambda nbytes: nbytes / 10)
    >>> [(bucket.layers, bucket.start, bucket.end) for bucket in timeline.communication]
    [((2, 1), 2.0, 4.0), ((0,), 4.0, 5.0)]
    >>> timeline.end, schedule([Layer(1.0, 10)] * 3, 20, lambda n: n / 10, overlapped=False).end
    (5.0, 6.0)
    """
    compute, clock = [], 0.0
    for number in reversed(range(len(layers))):
        layer = layers[number]
        compute.append(Span((number,), layer.nbytes, clock, clock + layer.seconds))
        clock += layer.seconds
    communication: list[Span] = []
    lane_free = 0.0 if overlapped else clock
    for bucket in _buckets(compute, bucket_nbytes):
        nbytes = sum(span.nbytes for span in bucket)
        start = max(lane_free, bucket[-1].end)
        lane_free = start + reduce_time(nbytes)
        numbers = tuple(number for span in bucket for number in span.layers)
        communication.append(Span(numbers, nbytes, start, lane_free))
    return Timeline(tuple(compute), tuple(communication))


def _buckets(compute: Iterable[Span], bucket_nbytes: int) -> Iterable[list[Span]]:
    bucket: list[Span] = []
    for span in compute:
        bucket.append(span)
        if sum(part.nbytes for part in bucket) >= bucket_nbytes:
            yield bucket
            bucket = []
    if bucket:
        yield bucket


def allreduce_time(name: str, p: int, network: Hockney) -> Callable[[int], float]:
    """Return the model of an all-reduce: seconds for so many bytes, on float32.

    Examples
    --------
    >>> allreduce_time("ring", 4, Hockney(alpha=1, beta=0))(1000)
    6.0
    """
    cost = find("allreduce", name).cost
    if cost is None:
        raise ValueError(f"allreduce/{name} has no cost function")
    return lambda nbytes: (
        cost(p, -(-nbytes // 4)).times(4).time(network.alpha, network.beta, network.gamma)
    )
