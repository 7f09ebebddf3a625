"""Beliefs about values: decided by computing them."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np

from collectives.comm import Array
from collectives.registry import find
from collectives.sim import simulate
from collectives.teach.misconceptions.belief import Evidence, belief


@belief(
    14,
    "ranks may end with different bits",
    "Not within one call of a ring or a tree. Between algorithms, channels, numbers of ranks: yes.",
    source="NVIDIA/nccl issues 855, 1055, 1497 (NVLS differed from call to call)",
)
def same_bits() -> Evidence:
    def bits(name: str) -> set[int]:
        def program(comm: Any) -> int:
            mine = np.random.default_rng(comm.rank).uniform(-1, 1, 1000).astype(np.float32)
            total = np.empty_like(mine)
            find("allreduce", name).function(comm, mine, total)
            return crc32(total.tobytes())

        return set(simulate(program, 8).results)

    found = [bits(name) for name in ("ring", "recursive_doubling", "rabenseifner")]
    different = len(set().union(*found))
    text = f"8 ranks, 3 algorithms: {max(map(len, found))} result per call, {different} in all"
    return Evidence(max(map(len, found)) == 1 < different, "computed", text)


@belief(
    15,
    "a ring is as accurate as a tree",
    "A ring adds one after the other: its error may grow with p, that of a tree with log p.",
    source="NVIDIA/nccl issues 855, 1055",
)
def accuracy() -> Evidence:
    ones = np.ones(4096, np.float16)
    ring, tree = float(np.add.accumulate(ones)[-1]), ones
    while len(tree) > 1:
        tree = tree[::2] + tree[1::2]
    text = f"4096 ones in float16: one by one {ring:g}, in pairs {float(tree[0]):g}"
    return Evidence((ring, float(tree[0])) == (2048, 4096), "computed", text)


@belief(
    19,
    "it was right on 2 and 4 ranks, so it is right",
    "Try 3, 5 and 6 ranks, lengths that p does not divide, and long messages.",
    source="this project: of 52 small wrong programs, 18 are right on 2 ranks (MPICH, Open MPI)",
)
def few_ranks() -> Evidence:
    def doubling_to_the_right(comm: Any) -> float:
        """Send to rank + distance, not to rank XOR distance: wrong, but not for powers of two."""
        total, incoming, distance = np.array([comm.rank + 1.0]), np.empty(1), 1
        while distance < comm.size:
            right, left = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
            comm.Sendrecv(total.copy(), dest=right, recvbuf=incoming, source=left)
            total += incoming
            distance *= 2
        return float(total[0])

    def is_right(p: int) -> bool:
        return simulate(doubling_to_the_right, p).results == [p * (p + 1) / 2] * p

    right = {p: is_right(p) for p in (2, 3, 4, 5, 6, 8)}
    passed, failed = ([str(p) for p in right if right[p] is x] for x in (True, False))
    text = f"a sum that takes some ranks twice is right on {', '.join(passed)} ranks, wrong on "
    return Evidence(passed == ["2", "4", "8"], "computed", text + ", ".join(failed))


@belief(
    24,
    "200 Gb/s are 200 GB/s; a GiB is a GB; NVLink does 900 GB/s",
    "Bits are not bytes; GB = 10**9 and GiB = 2**30 bytes; 900 GB/s is both directions together.",
    source="S. Bekman, ml-engineering, and its issue 38",
)
def units() -> Evidence:
    card, gib, link = 200e9 / 8 / 1e9, 2**30 / 10**9, 900 / 2
    text = f"200 Gb/s = {card:g} GB/s; 1 GiB = {gib:.3f} GB; NVLink {link:g} GB/s each way"
    return Evidence((card, link) == (25, 450) and 1.07 < gib < 1.08, "computed", text)


@belief(
    29,
    "data parallel training sums gradients",
    "It averages them: the gradient of the mean loss over all ranks' data.",
    source="NVIDIA/apex issue 696, fairseq issue 494, ultralytics issue 18616",
)
def mean_of_gradients() -> Evidence:
    draw = np.random.default_rng(0)
    inputs, wanted, weights = draw.normal(size=(32, 3)), draw.normal(size=32), np.ones(3)

    def gradient(x: Array, y: Array) -> Array:
        """Return the gradient of the mean squared error of a linear model."""
        return 2 * x.T @ (x @ weights - y) / len(y)

    def program(comm: Any) -> Array:
        mine = slice(8 * comm.rank, 8 * comm.rank + 8)
        total = np.empty(3)
        find("allreduce", "ring").function(comm, gradient(inputs[mine], wanted[mine]), total)
        return total

    total, alone = simulate(program, 4).results[0], gradient(inputs, wanted)
    ratio = float(np.mean(total / alone))
    text = (
        f"4 ranks, linear model: the sum is {ratio:g} x the gradient of one process, the mean 1 x"
    )
    return Evidence(bool(np.allclose(total / 4, alone)), "computed", text)
