"""Beliefs about who sends how much: decided by counting."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from collectives.op import Op
from collectives.recorder import record
from collectives.registry import find
from collectives.sim import simulate
from collectives.teach.misconceptions.belief import (
    Evidence,
    allreduce_loads,
    belief,
    in_vectors,
    loads,
    vector,
)
from collectives.training import MLP, DataParallel, Trainer, ZeRO1, ZeRO2, ZeRO3
from collectives.training.counting import counted


def most_sent(name: str, p: int) -> float:
    """Return what the busiest rank of an all-reduce sends, in vectors."""
    return max(in_vectors([load.sent for load in allreduce_loads(name, p)], p))


def linear(comm: Any, op: Op) -> None:
    """Reduce to rank 0 and broadcast, everything straight to and from rank 0."""
    total = vector(comm.size)
    find("reduce", "linear").function(comm, vector(comm.size), total, op)
    find("bcast", "linear").function(comm, total)


@belief(
    1,
    "all-reduce sends everything to one rank",
    "Only the naive one does. In a ring, and in every reduce-scatter with an allgather, all ranks "
    "work alike.",
)
def all_to_one() -> Evidence:
    root, *others = in_vectors([load.received for load in loads(8, linear)], 8)
    ring = in_vectors([load.received for load in allreduce_loads("ring", 8)], 8)
    text = f"8 ranks, received: linear {root:g} S at rank 0, {max(others):g} S elsewhere; ring "
    right = (root, set(others), set(ring)) == (7, {1}, {1.75})
    return Evidence(right, "counted", f"{text}{max(ring):g} S each")


@belief(
    2,
    "in a ring, what each rank sends grows without end as ranks are added",
    "Each rank sends 2(p-1)/p S: less than 2 S, however many there are.",
    source="the performance page of NVIDIA/nccl-tests",
)
def ring_grows() -> Evidence:
    sent = {p: most_sent("ring", p) for p in (2, 8, 32, 64)}
    text = ", ".join(f"{amount:.4g} S" for amount in sent.values())
    right = all(abs(amount - 2 * (p - 1) / p) < 1e-9 for p, amount in sent.items())
    return Evidence(right, "counted", f"2, 8, 32, 64 ranks: {text}")


@belief(
    6,
    "recursive doubling moves the least",
    "It has the fewest steps, but sends the whole vector in each: log2 p S per rank.",
    source="pmodels/mpich issue 3438",
)
def doubling_is_least() -> Evidence:
    doubling, ring = most_sent("recursive_doubling", 8), most_sent("ring", 8)
    text = f"8 ranks: recursive doubling {doubling:g} S per rank, ring {ring:g} S"
    return Evidence((doubling, ring) == (3, 1.75), "counted", text)


@belief(
    7,
    "a ring all-reduce needs p - 1 rounds",
    "Reduce-scatter takes p - 1, and allgather another p - 1.",
)
def rounds_of_a_ring() -> Evidence:
    whole = len(record(find("allreduce", "ring"), 8).frames())
    halves = [
        len(record(find(name, "ring"), 8).frames()) for name in ("reduce_scatter", "allgather")
    ]
    text = f"8 ranks: {halves[0]} + {halves[1]} steps, {whole} in all"
    return Evidence((*halves, whole) == (7, 7, 14), "counted", text)


@belief(
    8,
    "all-reduce is reduce and then broadcast",
    "It means the same, but costs more: reduce-scatter and allgather need the fewest bytes.",
    verdict="half true",
    source="S. Bekman, ml-engineering",
)
def reduce_and_broadcast() -> Evidence:
    tree, ring = most_sent("reduce_bcast", 8), most_sent("ring", 8)
    text = f"8 ranks, busiest: reduce + broadcast {tree:g} S, reduce-scatter + allgather {ring:g} S"
    return Evidence((tree, ring) == (3, 1.75), "counted", text)


@belief(
    9,
    "reduce-scatter is a cheaper all-reduce",
    "It is the first half of one: every rank is left with its block only.",
    source="S. Bekman, ml-engineering",
)
def half_an_allreduce() -> Evidence:
    halves = find("reduce_scatter", "ring"), find("allreduce", "ring")
    part, whole = (record(entry, 8) for entry in halves)
    messages = [len(run.messages()) for run in (part, whole)]
    held = [sum(len(hold.pips) == 8 for hold in (run.end or [[]])[0]) for run in (part, whole)]
    text = f"8 ranks: {messages[0]} of {messages[1]} messages; rank 0 ends with {held[0]} of "
    right = 2 * messages[0] == messages[1] and held == [1, 8]
    return Evidence(right, "counted", f"{text}{held[1]} blocks of the sum")


@belief(
    10,
    "a tree all-reduce moves 2 log2(p) S",
    "All ranks together send 2(p-1) S, as in a ring. 2 log2 p S is what goes through the busiest "
    "ranks of a binomial tree, in and out; the root is one of them.",
)
def tree_volume() -> Evidence:
    found = allreduce_loads("reduce_bcast", 8)
    sent, received = (in_vectors([getattr(x, w) for x in found], 8) for w in ("sent", "received"))
    text = f"8 ranks: {sum(sent):g} S in all; root {sent[0]:g} S out, {received[0]:g} S in; "
    right = (sum(sent), sent[0], received[0], min(sent)) == (14, 3, 3, 1)
    return Evidence(right, "counted", f"{text}a leaf {min(sent):g} S")


@belief(
    11,
    "a double binary tree keeps all links busy",
    "Nearly: both roots work at half load, with p odd one rank is inner in both trees, and the "
    "pipeline has to fill and drain.",
    verdict="half true",
    source="NVIDIA/nccl issue 673",
)
def busy_links() -> Evidence:
    texts, right = [], True
    for p, wanted in ((8, {1.0: 2, 2.0: 6}), (13, {1.0: 1, 1.5: 2, 2.0: 10})):
        found = Counter(in_vectors([x.sent for x in allreduce_loads("double_binary_tree", p)], p))
        right = right and found == wanted
        ranks = ", ".join(f"{count} send {amount:g} S" for amount, count in sorted(found.items()))
        texts.append(f"{p} ranks: {ranks}")
    return Evidence(right, "counted", "; ".join(texts))


@belief(
    12,
    "NCCL uses trees inside a node, too",
    "Trees join nodes; inside a node the GPUs form a chain.",
    source="NVIDIA/nccl issues 545, 672; with GPUs: NCCL_DEBUG_SUBSYS=GRAPH prints the trees",
)
def chains_inside() -> Evidence:
    text = (
        "in a log of 8 GPUs (NVIDIA/nccl issue 1259) rank 4 is between 5 and 3, rank 1 between 2 "
        "and 0, in all 24 trees"
    )
    return Evidence(True, "quoted", text)


@belief(
    25,
    "ZeRO reduces communication",
    "Stages 1 and 2 send what data parallelism sends, stage 3 half as much again. What shrinks is "
    "memory.",
    source="arXiv:1910.02054",
)
def zero_traffic() -> Evidence:
    sent = [sum(step_of(scheme).values()) for scheme in (DataParallel, ZeRO1, ZeRO2, ZeRO3)]
    names = "data parallel", "ZeRO 1", "ZeRO 2", "ZeRO 3"
    text = ", ".join(f"{name} {amount:g}" for name, amount in zip(names, sent, strict=True))
    right = sent == [1.75, 1.75, 1.75, 2.625]
    return Evidence(right, "counted", f"8 ranks, a step of training, in models: {text}")


@belief(
    26,
    "ZeRO 1 and 2 all-reduce gradients, then gather parameters",
    "Gradients are reduce-scattered. Who all-reduces them, as some versions of DeepSpeed did, "
    "sends 3 times the model instead of 2.",
    source="microsoft/DeepSpeed issues 156 and 5758",
)
def zero_with_allreduce() -> Evidence:
    parts, whole = step_of(ZeRO1), step_of(DataParallel)["allreduce"]
    scatter, gather = parts["reduce_scatter"], parts["allgather"]
    text = f"8 ranks, ZeRO 1: {scatter:g} + {gather:g} models; with an all-reduce instead {whole:g}"
    right = (parts["allreduce"], scatter, gather, whole) == (0, 0.875, 0.875, 1.75)
    return Evidence(right, "counted", f"{text} + {gather:g}")


@belief(
    27,
    "ZeRO 2 never sends more than data parallelism",
    "With k micro-batches per step it reduces gradients k times: (k+1) times the model against 2.",
    source="microsoft/DeepSpeed issues 373 and 2252",
)
def accumulation() -> Evidence:
    once, four = (sum(step_of(scheme, 4).values()) for scheme in (DataParallel, ZeRO2))
    text = f"8 ranks, 4 micro-batches: data parallel {once:g}, ZeRO 2 {four:g} models"
    return Evidence((once, four) == (1.75, 4.375), "counted", text)


MODEL = MLP((7, 8, 8))  # 8 ranks have shards of the same length


@cache
def step_of(scheme: type[Trainer], micro: int = 1) -> dict[str, float]:
    """Return what a rank of 8 sends in one step of training, in models, by collective."""
    inputs, targets = np.ones((2, 7), np.float32), np.eye(8, dtype=np.float32)[:2]

    def program(comm: Any) -> dict[str, int]:
        trainer = scheme(comm, MODEL, MODEL.initial())
        traces = counted(trainer)
        trainer.step([(inputs, targets)] * micro, 16 * micro)
        return {name: trace.sent(comm.rank) for name, trace in traces.items()}

    sent = simulate(program, 8).results[0]
    return {name: nbytes / (4 * sum(MODEL.sizes)) for name, nbytes in sent.items()}


@belief(
    33,
    "everyone means the same by the size of an allgather",
    "It may be what a rank brings, or what it ends with, p times as much; so bandwidths differ.",
    source="NVIDIA/nccl-tests issue 45",
)
def sizes() -> Evidence:
    gather = find("allgather", "ring").function
    sent = loads(8, lambda comm, op: gather(comm, vector(1), vector(8)))[0].sent
    (of_all,), (of_one,) = in_vectors([sent], 8), in_vectors([sent], 1)
    text = f"8 ranks: each sends {of_all:g} of what it ends with, {of_one:g} of what it brings"
    return Evidence((of_all, of_one) == (7 / 8, 7), "counted", text)


@belief(
    34,
    "rank 0 is special",
    "Only where the program makes it so; in good algorithms all ranks do the same.",
    source="V. Eijkhout's courses",
)
def symmetric() -> Evidence:
    ring = {(load.sent, load.messages) for load in allreduce_loads("ring", 8)}
    tree = {(load.sent, load.messages) for load in allreduce_loads("reduce_bcast", 8)}
    text = f"8 ranks: {len(ring)} load for all in a ring, {len(tree)} different ones in a tree"
    return Evidence(len(ring) == 1 < len(tree), "counted", text)
