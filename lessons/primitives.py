"""Primitives: what every collective means, as a table before and a table after.

mpirun -n 8 python lessons/primitives.py        on 8 MPI ranks
python lessons/primitives.py                    on 8 simulated ranks, without MPI
"""

import sys
from collections import Counter

import numpy as np

from collectives import find
from collectives.draw import text
from collectives.draw.steps import contributors
from collectives.gpu import to_host
from collectives.recorder import wanted
from collectives.teach import runs
from collectives.teach.lesson import Check, main
from collectives.teach.prediction import Prediction

FIRST = {  # the four of gradient synchronisation: algorithm, meaning, use
    "allreduce": ("ring", "everybody gets the sum of all vectors",
                  "sums the gradients of all replicas"),
    "allgather": ("ring", "everybody gets everybody's block",
                  "collects parameters that are kept in shards"),
    "reduce_scatter": ("ring", "everybody gets one block of the sum",
                       "leaves each rank the gradients of its own shard"),
    "bcast": ("binomial", "everybody gets the root's vector",
              "gives all replicas the same parameters at the start"),
}  # fmt: skip
OTHERS = {
    "reduce": ("binomial", "the root gets the sum of all vectors"),
    "scatter": ("linear", "the root deals out its vector, block by block"),
    "gather": ("linear", "the root gets everybody's block"),
    "alltoall": ("pairwise", "everybody has a block for everybody; a>b is from a, for b"),
    "scan": ("linear", "rank r gets the sum of ranks 0 to r"),
    "exscan": ("linear", "rank r gets the sum of ranks 0 to r - 1; rank 0 nothing"),
    "barrier": ("dissemination", "nobody goes on before everybody has come; no data"),
}
ALL = {name: find(name, about[0]) for name, about in {**FIRST, **OTHERS}.items()}
SHOWN = 8
"""Ranks whose tables fit the width of a terminal."""

QUESTION = """
Many ranks, one call: who brings what, and who has what afterwards?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"After a ReduceScatter on {text.many(p, 'rank')}, what does each rank hold?"
    ),
    answer=lambda world, options: "b" if blocks_of_the_sum(world) == 1 else "a",
    choices=("the whole sum", "one block of the sum", "one block of its own vector"),
)

NEXT = [
    ("-n 3", "three ranks: shorter tables"),
    ("ring_allreduce", "how the first of them works"),
    ("collectives list", "all collectives, all algorithms"),
    ("collectives show reduce_scatter ring -p 4", "another one, step by step"),
    ("collectives grade lessons/exercises/meaning.py", "what do they mean? a quiz"),
]


def measure(comm, options):
    """Run every collective and see what each rank holds; the library's own too, on MPI."""
    parts = {name: runs.recorded(comm, entry) for name, entry in ALL.items()}
    builtin = {}
    if hasattr(comm, "Allreduce"):
        builtin = {name: runs.recorded(comm, find(name, "builtin")).end for name in ALL}
    return parts, builtin, two_halves(comm, options.device)


def two_halves(comm, device):
    """Return whether ReduceScatter and then AllGather give what AllReduce gives."""
    vector = device.array(np.arange(3 * comm.size) * 7 + comm.rank)
    whole, shard, again = (np.empty_like(vector, shape=n) for n in (vector.size, 3, vector.size))
    ALL["allreduce"].function(comm, vector, whole)
    ALL["reduce_scatter"].function(comm, vector, shard)
    ALL["allgather"].function(comm, shard, again)
    return bool(np.array_equal(to_host(whole), to_host(again)))


def report(world, options):
    """Yield what rank 0 prints."""
    p = world.size
    yield """
idea   a vector is cut into one block per rank. A cell lists the ranks whose numbers are in a
       block: 012 is the sum of those of ranks 0, 1 and 2; a dot is nothing. The root is rank 0.
"""
    for name, (_, meaning, use) in FIRST.items():
        yield f"{name.upper()}  {meaning}"
        yield f"  in training it {use}"
        yield from table(world, name, options, rows=p)
    for name, (_, meaning) in OTHERS.items():
        yield f"{name.upper()}  {meaning}"
        yield from table(world, name, options, rows=4)
    yield from checks(world)
    yield from volumes(world)
    yield """
limit  one rank: every collective is a copy. Many ranks: where there is a root, it has p - 1 blocks
       to deal out or to take in, or log2 p whole vectors down or up a tree; where there is none,
       the load can be spread.
use    MPI_Allreduce, ncclAllReduce, torch.distributed.all_reduce are the same thing. NCCL counts
       the elements per rank for AllGather and ReduceScatter, other texts the whole vector: ask
       which, before you compare numbers."""


def table(world, name, options, *, rows):
    """Yield who holds what before and after."""
    p = world.size
    parts = [parts[name] for parts, *_ in world.results]
    if options.trace == "none" or name == "barrier":
        yield ""
        return
    if p > SHOWN:
        yield f"  (tables fit up to {SHOWN} ranks)\n"
        return
    before, after = ([cells(name, holds, p) for holds in sides(parts, side)]
                     for side in ("start", "end"))  # fmt: skip
    width, wide = (max(len(cell) for row in rows for cell in row) + 1 for rows in (before, after))
    yield f"      {'before':{max(p * width + 3, 7)}}after"
    for rank in range(min(p, rows)):
        left, right = (
            "".join(f"{cell:{size}}" for cell in row[rank])
            for row, size in ((before, width), (after, wide))
        )
        yield f"  r{rank}  {left + '   ':7}{right}".rstrip()
    yield "  ...\n" if rows < p else ""


def sides(parts, side):
    """Return what every rank holds before or after."""
    return [getattr(part, side) for part in parts]


def cells(name, holds, p):
    """Return one word per block: who is in it."""
    if name == "alltoall":
        named = sorted((hold.column, pip) for hold in holds for pip in hold.pips)
        return [f"{source}>{dest}" for source, dest in named]
    blocks = {hold.column: Counter(hold.pips) for hold in holds}
    return [contributors(blocks.get(block, Counter()), p) for block in range(p)]


def held(holds):
    """Return the pips by column, as `wanted` has them."""
    found = {}
    for hold in holds:
        found[hold.column] = tuple(sorted((*found.get(hold.column, ()), *hold.pips)))
    return found


def blocks_of_the_sum(world):
    """Return how many complete blocks each rank holds after a reduce-scatter."""
    p = world.size
    ends = [parts["reduce_scatter"].end for parts, *_ in world.results]
    return max(sum(len(hold.pips) == p for hold in end) for end in ends)


def checks(world):
    """Check what every rank holds, for our functions and for the library's own."""
    p = world.size
    for whose, index in (("ours", 0), (world.library, 1)):
        wrong = []
        for name in ALL if world.results[0][index] else ():
            for rank, right in enumerate(wanted(name, p, 0)):
                seen = world.results[rank][index][name]
                end = seen.end if index == 0 else seen
                if held(end) != {column: tuple(sorted(pips)) for column, pips in right.items()}:
                    wrong.append(f"{name} on rank {rank}")
        if world.results[0][index]:
            detail = f"{whose}: all {len(ALL)} collectives leave what the definition says"
            yield Check(
                "meaning", not wrong, f"{whose}: {', '.join(wrong[:4])}" if wrong else detail
            )
    right = all(halves for *_, halves in world.results)
    yield Check("two halves", right, "AllReduce = ReduceScatter, then AllGather")


def volumes(world):
    """Yield what all ranks send together, counted, beside the formula."""
    p = world.size
    yield "\nbytes  sent by all ranks together, for blocks of 12 float32, so S = 48 p bytes\n"
    yield f"       {'collective':16}{'algorithm':16}{'counted':>10}{'formula':>10}   in elements"
    wrong = []
    for name, entry in ALL.items():
        events = [event for parts, *_ in world.results for event in parts[name].events]
        counted = sum(event.nbytes for event in events if event.kind == "send")
        whole = name in ("allreduce", "reduce", "bcast", "scan", "exscan")
        n = () if name == "barrier" else (12 * p if whole else 12,)
        formula = entry.cost(p, *n).volume * 4
        words = entry.formulas.get("volume", "0")
        yield f"       {name:16}{entry.name:16}{counted:8} B{formula:8} B   {words}"
        wrong += [name] * (counted != formula)
    yield "       (n: elements of the vector, or of one block where ranks bring or get blocks)\n"
    detail = f"not as counted: {', '.join(wrong)}" if wrong else "as counted, for all of them"
    yield Check("formulas", not wrong, detail)


def svg(world, options):
    """Return the figure: allreduce, step by step."""
    from collectives.draw.figures import contribution_grid

    parts = [parts["allreduce"] for parts, *_ in world.results]
    return contribution_grid(runs.recording(world, ALL["allreduce"], parts))


def html(world, options):
    """Return two runs to step through: the two halves of an all-reduce."""
    return [
        runs.recording(world, ALL[name], [parts[name] for parts, *_ in world.results])
        for name in ("reduce_scatter", "allgather")
    ]


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT,
        )
    )  # fmt: skip
