"""NCCL tuning: which knob does what, when to touch it, and what it is worth in the simulator.

mpirun -n 8 python lessons/nccl_tuning.py        on 8 MPI ranks
python lessons/nccl_tuning.py                    on 8 simulated ranks, without MPI
"""

import argparse
import sys
from dataclasses import replace

import numpy as np

from collectives import find
from collectives.case_study import NBYTES, cluster
from collectives.closed_forms import RING, Setup, closed_form
from collectives.draw import text
from collectives.recorder import record
from collectives.sim import Cluster, Link
from collectives.study import simulated
from collectives.teach import runs
from collectives.teach.lesson import Check, main, wrapped
from collectives.teach.prediction import Prediction
from collectives.tuning import nccl_model
from collectives.tuning.nccl_knobs import KNOBS, SOURCE

ENTRY, TREES = find("allreduce", RING), find("allreduce", "multi_tree")
DGX = nccl_model.Machine(nodes=8, per_node=8, channels=8, intra=22.5e9, inter=22.5e9)
CHUNKS = [1 << k for k in (18, 20, 22, 24)]

QUESTION = """
64 GPUs are slower than the formula says. Which of NCCL's variables can be the cause, and which
cannot?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        "8 nodes with 8 cards each; a channel uses one card. How many times as fast is a ring of "
        "1.2 GB with 16 channels as with 8?"
    ),
    answer=lambda world, options: ring_time(8, 8) / ring_time(16, 8),
    unit="x",
)

NEXT = [
    ("case_study", "what these numbers say about 18 ms and 14.2 ms"),
    ("choose_wisely", "NCCL's model writes the table of a tuner plugin"),
    (
        "collectives simulate allreduce multi_ring --channels 1,...,16 --nbytes 1.2GB",
        "every number of channels (simulated)",
    ),
    (
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING mpirun ...",
        "with GPUs: what NCCL itself found and chose",
    ),
]


def ring_time(channels, cards, network=None):
    """Return the seconds of the case study's ring, by formula."""
    return closed_form(Setup(RING, channels, cards), network or cluster(), NBYTES)


def measure(comm, options):
    """Count what rings in 1 and in 2 channels send, on the ranks there are."""
    mine = options.device.array(np.ones(1000 * comm.size, np.float32))
    total = np.empty_like(mine)
    return [
        runs.counted(
            comm, lambda comm, op, c=channels: ENTRY.function(comm, mine, total, op, channels=c)
        )
        for channels in (1, 2)
    ]


def report(world, options):
    """Yield what rank 0 prints."""
    yield ""
    yield from wrapped(
        "idea   ",
        """Look before you turn. NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING says which
        algorithm, protocol, channels and cards there were. Then find the knob that the gap points
        at, and what it can be worth.""",
    )
    yield ""
    yield from channels(world)
    yield from chunks()
    yield from algorithms()
    yield from inside()
    yield from knobs(options.knob)
    yield ""
    yield from wrapped(
        "limit  ",
        """What the simulator does not know, it cannot show: GPUDirect, queue pairs, NVLS, threads,
        and that each channel takes an SM from the computation and adds some overhead. So more
        channels are not always faster on a machine (M21).""",
    )
    yield ""
    yield from wrapped(
        "use    ",
        """"NCCL uses 2 channels by default" is false in general (M22): it searches rings over
        the topology until they fill the cards of a node, doubles their number, and obeys your
        limits last (search.cc, connect.cc, 2.30.7). 2 is what one GPU and one card per node give:
        1 ring, doubled (NVIDIA/nccl-tests issue 108). Others saw 16 and 24 (pytorch issue 105287,
        NVIDIA/nccl issue 1055).""",
    )


def channels(world):
    """Yield what channels and cards are worth."""
    one, two = zip(*world.results, strict=True)
    same = all(
        a.sent == b.sent and 2 * a.messages == b.messages for a, b in zip(one, two, strict=True)
    )
    detail = f"2 channels: as many bytes, twice the messages, on {text.many(world.size, 'rank')}"
    yield Check("bytes", same, detail)
    yield "\ntime   MAX_NCHANNELS and IB_HCA: ring of 1.2 GB, 8 nodes x 8 A100, formula\n"
    yield "       channels  " + "".join(f"{text.many(n, 'card'):>10}" for n in (8, 4, 2, 1))
    for count in (1, 2, 4, 8, 16):
        row = "".join(f"{text.seconds(ring_time(count, min(n, count))):>10}" for n in (8, 4, 2, 1))
        yield f"       {count:8}  {row}"
    few = simulated(ENTRY, 64, NBYTES // 8, cluster(), channels=1).time_s
    yield ""
    detail = f"simulated, one of 8 channels with its eighth of the vector: {text.seconds(few)}"
    yield Check("channels", abs(few / ring_time(8, 8) - 1) < 0.001, detail)
    worth = ring_time(8, 8) / ring_time(16, 8)
    yield Check("cards", worth < 1.01, f"16 channels on 8 cards: {worth:.3g} x as fast as 8")


def chunks():
    """Yield what chunks are worth: too large, and pipelines fill slowly; too small, and alpha."""
    network = Cluster(8, 1, intra=Link(0, 1e12), inter=Link(14e-6, 22.5e9))
    times = {
        chunk: simulated(TREES, 8, 150_000_000, network, channels=1, segment=chunk // 4).time_s
        for chunk in CHUNKS
    }
    best = min(times, key=times.get)
    yield "\n       BUFFSIZE: double binary trees of 8 nodes, 150 MB, simulated\n"
    yield "       chunk " + "".join(f"{text.nbytes(chunk):>12}" for chunk in CHUNKS)
    yield "       time  " + "".join(f"{text.seconds(time):>12}" for time in times.values())
    yield ""
    detail = (
        f"{text.nbytes(best)} is best (14 us, 22.5 GB/s): smaller pay alpha, larger fill slowly"
    )
    yield Check("chunk", CHUNKS[0] < best < CHUNKS[-1], detail)


def algorithms():
    """Yield NCCL's own model of algorithms and protocols."""
    yield "\n       ALGO and PROTO: NCCL's own model (tuning.cc) of 8 nodes x 8 A100, computed\n"
    sizes = 8, 1 << 20, 1 << 27, NBYTES
    names = [f"{a} {p}" for a in nccl_model.BASE for p in nccl_model.PROTOCOLS]
    yield "       " + f"{'':12}" + "".join(f"{text.nbytes(size):>12}" for size in sizes)
    rows = [{str(p): p.time_s for p in nccl_model.predictions(DGX, size)} for size in sizes]
    for name in names:
        cells = (
            f"{text.seconds(r[name])}{'*' if min(r, key=r.get) == name else ' '}" for r in rows
        )
        yield f"       {name:12}" + "".join(f"{cell:>12}" for cell in cells).rstrip()
    yield ""
    ends = str(nccl_model.pick(DGX, 8)), str(nccl_model.pick(DGX, NBYTES))
    detail = f"shortest: {ends[0]}; longest: {ends[1]}; forcing one is wrong for the other"
    yield Check("model", ends == ("tree ll", "ring simple"), detail)


def inside():
    """Yield what a node without NVLink would do to the ring."""
    slow = replace(cluster(), intra=Link(1e-6, 20e9))
    yield ""
    yield from wrapped(
        "       ",
        f"""P2P_DISABLE: all 8 channels of a ring pass through each GPU. With 20 GB/s inside
        (assumed, for memory of the host) instead of 300: {text.seconds(ring_time(8, 8, slow))}
        instead of {text.seconds(ring_time(8, 8))} (formula).""",
    )


def knobs(wanted):
    """Yield what each variable means, its default, its values, and when to touch it."""
    yield f"\nknobs  NCCL_..., after {SOURCE}\n"
    for knob in KNOBS:
        if wanted in (*knob.name.split(", "), "ALL"):
            yield f"       {knob.name}"
            yield from wrapped("         ", f"{knob.meaning}. Default {knob.default}.")
            yield from wrapped("         values ", knob.accepted)
            yield from wrapped("         when   ", knob.when)


def flags(parser):
    """Add which variable to explain."""
    names = [name for knob in KNOBS for name in knob.name.split(", ")]

    def known(name):
        name = name.upper().removeprefix("NCCL_")
        if name not in (*names, "ALL"):
            raise argparse.ArgumentTypeError(f"{name}, wants all or one of {', '.join(names)}")
        return name

    parser.add_argument(
        "--knob", type=known, default="all", help="one variable, such as ALGO (%(default)s)"
    )


def svg(world, options):
    """Return the figure: a ring in 1 and in 4 channels, bytes on every link and card."""
    from collectives.draw.figures import hierarchy

    nodes = Cluster(2, 4, intra=Link(0, 300e9), inter=Link(0, 25e9), nics_per_node=4)
    ways = (record(ENTRY, 8, channels=count, per_node=4) for count in (1, 4))
    return hierarchy(*ways, per_node=4, network=nodes)


def html(world, options):
    """Return a ring in 1 and in 2 channels, to step through."""
    return [record(ENTRY, world.size, channels=count) for count in (1, 2)]


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, flags=flags,
        )
    )  # fmt: skip
