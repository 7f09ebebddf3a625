"""Case study: 1.2 GB on 64 GPUs took 18 ms, then 14.2 ms. What must have run, and what cannot?

mpirun -n 8 python lessons/case_study.py        on 8 MPI ranks
python lessons/case_study.py                    on 8 simulated ranks, without MPI
"""

import sys
from dataclasses import replace

import numpy as np

from collectives import case_study as study
from collectives import find
from collectives.closed_forms import RING, closed_form, without_latency
from collectives.draw import text
from collectives.study import simulated
from collectives.teach import runs
from collectives.teach.lesson import Check, main, wrapped
from collectives.teach.prediction import Prediction
from collectives.tuning import nccl_model

EIGHT = {
    "ring, 8 channels": "ring",
    "double binary trees, 8 channels, 50 segments": "trees",
    "hierarchical, one phase after the other": "rails, in turn",
    "hierarchical, pipelined in 16 segments": "rails, pipelined",
}
"""What is compared, as `COMPARED` calls it and as it is called here."""

LEAST, MOST = 0.73, 0.97
"""The part of the line rate that others have measured, as `SEEN` says."""

SEEN = """S. Bekman (ml-engineering, network chapter) measured 4 GiB on 4 nodes x 8 B200: 22.05 ms,
where one card per node would take 85.9 ms, a ring over 8 cards 20.8 ms, and a hierarchical scheme
16.1 to 26.3 ms: 73 % of the line rate in the last reading. Other public numbers reach from 73 % to
97 %, such as 24 of 25 GB/s (NVIDIA/nccl-tests issue 252)."""

QUESTION = """
8 nodes x 8 A100, 8 cards of 200 Gb/s per node. Theory said 13.3 ms for a 1.2 GB all-reduce, 18 ms
were measured, and 14.2 ms after tuning. Which explanations can be true?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        "They say it ran on 2 channels. A channel uses one card out and one in, 25 GB/s at most. "
        "How long would a ring of 64 GPUs take for 1.2 GB, at line rate?"
    ),
    answer=lambda world, options: study.at_line_rate(2),
    unit="s",
)

NEXT = [
    ("collectives case-study", "every way that takes 18 or 14.2 ms, and the trees simulated"),
    (
        "collectives simulate allreduce multi_ring --channels 1,2,4,8 --nbytes 1.2GB",
        "the ring, channel by channel (simulated)",
    ),
    ("nccl_tuning", "which knob to turn, and which not"),
    ("hierarchical", "why rails send less"),
    ("collectives grade lessons/exercises/case_8x8.py", "explain a table of your own"),
]


def measure(comm, options):
    """Count what a ring sends on the ranks there are: the formula is used for 64 below."""
    mine = options.device.array(np.ones(comm.size * 1000, np.float32))
    total = np.empty_like(mine)
    ring = find("allreduce", "ring").function
    return runs.counted(comm, lambda comm, op: ring(comm, mine, total, op))


def report(world, options):
    """Yield what rank 0 prints."""
    p, network = world.size, study.cluster()
    formula = 2 * (p - 1) * 1000 * 4
    sent = max(load.sent for load in world.results)
    yield ""
    yield from wrapped(
        "idea   ",
        """Time is at least the bytes that leave a node over what its cards carry. So ask of each
        explanation: how many bytes, through how many cards? First the bytes of a ring, counted on
        the ranks there are.""",
    )
    yield ""
    yield Check(
        "formula", sent == formula, f"{text.many(p, 'rank')}: {text.nbytes(sent)} sent = 2(p-1)/p S"
    )
    yield "\nbytes  that leave each of 8 nodes, S = 1.2 GB, 8 cards of 25 GB/s (computed)"
    yield from answers(network)
    yield "\ntime   in ms: formulas, and simulated on a network of 0.9 of the line rate\n"
    yield from table(network)
    yield ""
    yield from verdicts()
    yield ""
    yield from wrapped(
        "others ",
        """That links between nodes are slower than those inside is true and explains nothing: the
        13.3 ms are their time already. That a CPU changed its speed and launched kernels late can
        be: no formula says so, a profile of the run does. Finer chunks fill pipelines sooner, as of
        trees or rails; in a ring they hide additions at most.""",
    )
    yield ""
    best = nccl_model.pick(nccl_model.Machine(8, 8, 8, 22.5e9, 22.5e9), study.NBYTES)
    yield from wrapped(
        "limit  ",
        f"""For NCCL's own model (2.30.7, tuning.cc) {best.algorithm} with protocol {best.protocol}
        is the fastest, {text.seconds(best.time_s)} with 8 channels. With public efficiencies an
        honest answer is a band, about 12 to 18 ms: 18 ms is plausible, with all eight cards.""",
    )
    yield ""
    yield from wrapped("use    ", f"Another system, measured by others: {SEEN}")
    yield from wrapped(
        "       ",
        "Always ask which algorithm ran: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING prints it.",
    )


def answers(network):
    """Yield the three answers to the same question."""
    nodes, p = network.nodes, network.nodes * network.ranks_per_node
    rate = network.nics_per_node * network.inter.bandwidth
    for name, factor in (
        ("2 S, p without end; also a double binary tree", 2),
        ("flat ring of 64 ranks, 2(p-1)/p S", 2 * (p - 1) / p),
        ("on rails, 8 nodes, 2(N-1)/N S", 2 * (nodes - 1) / nodes),
    ):
        sent = factor * study.NBYTES
        at = (f"{sent / rate / share * 1e3:.1f} ms" for share in (1, network.efficiency))
        yield f"       {name:46}{sent / 1e9:7.4f} GB {next(at):>9} {next(at):>9} at 0.9"


def table(network):
    """Yield four numbers for each way."""
    titles = ("line rate", "0.9+latency", f"at {LEAST}", f"at {MOST}", "simulated")
    yield "       " + f"{'':17}" + "".join(f"{title:>13}" for title in titles)
    for name, short in EIGHT.items():
        setup = study.COMPARED[name]
        line = closed_form(setup, without_latency(replace(network, efficiency=1.0)), study.NBYTES)
        shares = [
            closed_form(setup, replace(network, efficiency=share), study.NBYTES)
            for share in (network.efficiency, LEAST, MOST)
        ]
        cells = [f"{time * 1e3:.2f}" for time in (line, *shares)]
        yield f"       {short:17}" + "".join(
            f"{c:>13}" for c in [*cells, in_simulation(name, network)]
        )
    yield """       (line rate: without latency; but trees and pipelines have to fill and drain.
       Simulated: of the ring one of its 8 channels; trees take seconds, see
       `collectives case-study`)"""


def in_simulation(name, network):
    """Return the simulated time in ms; trees take seconds to simulate, see `collectives`."""
    setup = study.COMPARED[name]
    if setup.algorithm == RING:  # channels have cards of their own: one is like the other
        ring = find("allreduce", RING)
        took = simulated(ring, 64, study.NBYTES // setup.channels, network, channels=1).time_s
    elif "trees" in name:
        return "-"
    else:
        took = setup.simulate(network, study.NBYTES).time_s
    return f"{took * 1e3:.2f}"


def verdicts():
    """Check what can be true of the explanations."""
    two, four = study.at_line_rate(2), study.at_line_rate(4)
    rails = 2 * 7 / 8 * study.NBYTES / (2 * 25e9)
    yield Check(
        "2 channels", min(two, rails) > study.BEFORE,
        f"a ring takes {text.seconds(two)} at line rate, rails {text.seconds(rails)}: "
        "18 ms cannot be",
    )  # fmt: skip
    yield Check(
        "4 channels", four > study.AFTER,
        f"a ring takes {text.seconds(four)} at line rate: no way to 14.2 ms",
    )  # fmt: skip
    for time, least in ((study.BEFORE, 6), (study.AFTER, 7)):
        ways = study.consistent(time)
        cards = study.fewest(ways)
        detail = f"{text.seconds(time)} takes {cards} cards at least; {len(ways)} ways found"
        yield Check("cards", cards == least, detail)
    ring = 2 * 63 / 64 * study.NBYTES / (8 * 25e9 * 0.9)
    detail = f"13.3 ms is 2 S; a ring of 64 needs {text.seconds(ring)}, rails 11.7 ms"
    yield Check("theory", abs(ring - 13.125e-3) < 1e-9, detail)


def svg(world, options):
    """Return the figure: bytes on every link of two such nodes, of a ring and on rails."""
    from collectives.draw.figures import hierarchy
    from collectives.recorder import record

    ways = (
        record(find("allreduce", "ring"), 16),
        record(find("allreduce", "multi_leader"), 16, per_node=8),
    )
    return hierarchy(*ways, per_node=8, network=study.cluster())


def html(world, options):
    """Return the same two on the ranks there are, to step through."""
    from collectives.recorder import record

    return [record(find("allreduce", name), world.size) for name in ("ring", "multi_leader")]


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT,
        )
    )  # fmt: skip
