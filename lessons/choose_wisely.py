"""Choose wisely: no algorithm is best for every size, so let times decide, and tell the library.

mpirun -n 8 python lessons/choose_wisely.py        on 8 MPI ranks
python lessons/choose_wisely.py                    on 8 simulated ranks, without MPI
"""

import sys
from functools import cache

import numpy as np

from collectives import find
from collectives.draw import text
from collectives.recorder import record
from collectives.teach import runs
from collectives.teach.lesson import ALPHA, BETA, Check, main, new_file, slow_links, wrapped
from collectives.teach.prediction import Prediction
from collectives.tuning import choices, chosen, nccl_csv, nccl_model, openmpi
from collectives.tuning.choices import WORTH

NAMES = ["reduce_bcast", "recursive_doubling", "ring", "rabenseifner_split"]
ENTRIES = [find("allreduce", name) for name in NAMES]

SIZES = tuple(4 << k for k in range(1, 24, 2))
"""Bytes of the vector, 8 B to 32 MB."""
BETWEEN = tuple(4 << k for k in range(2, 22, 2))
MEASURED = 32, 8192, 131_072, 2_097_152

DGX = nccl_model.Machine(nodes=8, per_node=8, channels=8, intra=22.5e9, inter=22.5e9)
"""8 nodes x 8 A100, a channel for each card of 200 Gb/s, at 0.9 of that."""

QUESTION = """
Few steps or few bytes: which all-reduce for which size, and how does a library learn of it?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"Of {', '.join(NAMES[:-1])} and {NAMES[-1]} on "
        f"{text.many(p, 'rank')}, how many are "
        "the fastest at some size from 8 B to 32 MB?"
    ),
    answer=lambda world, options: len({rule.algorithm for rule in rules_of(world)}),
    unit="of them",
)

NEXT = [
    ("-n 64", "more ranks: where does the ring go?"),
    ("-n 6", "no power of two: recursive doubling has to fold"),
    ("--rules allreduce.rules", "write the file for Open MPI"),
    ("--csv nccl_tuner.conf", "write the table for NCCL's example tuner plugin"),
    ("collectives grade lessons/exercises/choose_wisely.py", "write the tuner yourself"),
]


def measure(comm, options):
    """Time all algorithms at several sizes, where there is an MPI library."""
    if not hasattr(comm, "Allreduce"):
        return {}
    times = {name: [] for name in NAMES}
    for size in MEASURED:
        mine = options.device.array(np.ones(size // 4, np.float32))
        found = runs.timed(comm, ENTRIES, mine, np.empty_like(mine), repetitions=3, warmups=1)
        for name, seconds in found.items():
            times[name].append(seconds)
    return times


def report(world, options):
    """Yield what rank 0 prints."""
    p, rules = world.size, rules_of(world)
    yield """
idea   Time is alpha times steps plus beta times bytes. A tree has few steps, a ring few bytes. So
       time each algorithm at some sizes, note who is fastest, and write that down as rules.
"""
    if world.is_simulated:
        times = simulated(p, SIZES)
        alpha, rate = text.seconds(ALPHA), text.nbytes(1 / BETA)
        yield f"time   simulated: {alpha} per message, {rate}/s per direction; * = the fastest\n"
        yield from table(SIZES, times)
        yield ""
        yield from model_checks(p, rules, times)
    else:
        times = world.results[0]
        yield "time   measured: medians of 3 runs of the slowest rank; * = the fastest\n"
        yield from table(MEASURED, times)
        yield "       (this project's own, in Python: a message costs more than in the library)\n"
    rules_text = openmpi.rules_file({"allreduce": {p: rules}})
    yield file_check(rules_text, rules, p)
    yield ""
    steps = (f"{rule.algorithm} from {text.nbytes(rule.nbytes)}" for rule in rules)
    yield from wrapped("rules  ", f"take {', then '.join(steps)}")
    yield f"       (a rule changes only for an algorithm that is {WORTH - 1:.0%} faster)"
    yield from written(options.rules, rules_text, "in Open MPI's format")
    if world.is_simulated:
        yield "       They are for this network: measure on yours (mpirun), then write the file."
    elif "Open MPI" not in world.library:
        yield f"       They were measured on {world.library}: do so on Open MPI, whose file it is."
    yield """       To use it:    export OMPI_MCA_coll_tuned_use_dynamic_rules=1
                     export OMPI_MCA_coll_tuned_dynamic_rules_filename=allreduce.rules

limit  0 B: steps alone count, ceil(log2 p) at least. Endless vectors: bytes alone, 2(p-1)/p S.
"""
    yield from nccl(options)


def table(sizes, times):
    """Yield the times of all algorithms, a line for each size."""
    yield "       " + f"{'bytes':>9}" + "".join(f"{name:>20}" for name in times)
    for place, size in enumerate(sizes):
        row = {name: seconds[place] for name, seconds in times.items()}
        best = min(row, key=row.get)
        cells = (f"{text.seconds(s)}{'*' if name == best else ' '}" for name, s in row.items())
        yield ("       " + f"{text.nbytes(size):>9}" + "".join(f"{c:>20}" for c in cells)).rstrip()


@cache
def simulated(p, sizes):
    """Return the simulated seconds of all algorithms at some sizes."""
    return {e.name: [runs.simulated_time(e, p, size // 4) for size in sizes] for e in ENTRIES}


def rules_of(world):
    """Return the rules that the times give, measured ones where there are."""
    if world.is_simulated:
        return choices(SIZES, simulated(world.size, SIZES))
    return choices(MEASURED, world.results[0])


def model_checks(p, rules, times):
    """Check simulated times by the cost formulas, and the rules at sizes that were not tried."""
    formulas = {
        e.name: [e.cost(p, size // 4).times(4).time(ALPHA, BETA, 0) for size in SIZES]
        for e in ENTRIES
    }
    off = max(
        abs(a - b) / (b or 1)
        for name in NAMES
        for a, b in zip(times[name], formulas[name], strict=True)
    )
    yield Check("formula", off < 1e-9, "every simulated time is what alpha, beta and steps say")
    between = simulated(p, BETWEEN)
    loss = max(
        between[chosen(rules, size)][place] / (min(row[place] for row in between.values()) or 1)
        for place, size in enumerate(BETWEEN)
    )
    detail = f"at sizes in between, at most {max(loss, 1):.2f} x the time of the best one"
    yield Check("rules", loss < 1.5, detail)


def file_check(rules_text, rules, p):
    """Read the rules file back."""
    wanted = [(rule.nbytes, openmpi.number(find("allreduce", rule.algorithm))) for rule in rules]
    same = openmpi.read(rules_text)["allreduce"][p] == wanted
    return Check(
        "file", same, f"the rules file, read back, says the same for {text.many(p, 'rank')}"
    )


def nccl(options):
    """Yield what NCCL's own model would choose, and write it as a table."""
    picks = nccl_model.picks(DGX, [1 << k for k in range(3, 31)])
    yield """use    MPICH and Open MPI have such rules built in, by collective, ranks and bytes.
       NCCL computes them: latency + bytes / bandwidth, for each algorithm and protocol. Its
       model (2.30.7, src/graph/tuning.cc) for 8 nodes x 8 A100, computed here, not measured:
"""
    for pick in picks:
        best = nccl_model.pick(DGX, max(pick.nbytes, 8))
        size = f"from {text.nbytes(pick.nbytes)}"
        yield f"       {size:14} {pick.algorithm:14} {text.seconds(best.time_s):>8} there"
    yield from written(
        options.csv,
        nccl_csv.table(picks, nodes=DGX.nodes, ranks=DGX.ranks),
        "for NCCL's ext-tuner/example; it was not run with NCCL",
    )


def written(file, content, what):
    """Write a file that was asked for."""
    if file:
        file.write_text(content)
        yield f"       wrote {file}, {what}"


def svg(world, options):
    """Return the figure: time against size, with the sizes at which the best changes."""
    from collectives.draw.figures import alpha_beta

    dots = {name: list(zip(MEASURED, row, strict=True)) for name, row in world.results[0].items()}
    p = max(world.size, 2)  # one rank takes no time, which has no place on the axes
    return alpha_beta(
        "allreduce", NAMES, p, slow_links(), measured=dots, sizes=(SIZES[0], SIZES[-1])
    )


def html(world, options):
    """Return two runs to step through: few steps, and few bytes."""
    return [record(find("allreduce", name), world.size) for name in ("recursive_doubling", "ring")]


def flags(parser):
    """Add the files to write."""
    parser.add_argument("--rules", type=new_file(), help="write the rules as a file for Open MPI")
    parser.add_argument(
        "--csv", type=new_file(), help="write a table for NCCL's example tuner plugin"
    )


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, flags=flags,
        )
    )  # fmt: skip
