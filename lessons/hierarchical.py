"""Hierarchical all-reduce: first inside each node, then between nodes, then inside again.

mpirun -n 8 python lessons/hierarchical.py        on 8 MPI ranks
python lessons/hierarchical.py                    on 8 simulated ranks, without MPI
"""

import sys
from dataclasses import replace

from collectives import find
from collectives.draw import text
from collectives.sim import Cluster, Link, preset
from collectives.study import simulated
from collectives.teach import runs
from collectives.teach.lesson import Check, at_least, main, wrapped
from collectives.teach.prediction import Prediction

RING, LEADER, RAILS = (find("allreduce", n) for n in ("ring", "hierarchical", "multi_leader"))
ENTRIES = {"flat ring": RING, "one leader": LEADER, "rails": RAILS}

QUESTION = """
Links inside a node are about ten times as fast as those between nodes. How few bytes can leave a
node?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"{text.many(p, 'rank')} on {text.many(nodes(p, options), 'node')} add up S bytes. In a "
        f"flat ring, {ring_leaving(p, options):.4g} S leave each node. How much on rails, where "
        "the ranks of a node share?"
    ),
    answer=lambda world, options: leaving(recordings(world, options)["rails"], options),
    unit="S",
)

NEXT = [
    ("-n 16", "4 nodes"),
    ("--per-node 2", "more and smaller nodes"),
    ("-n 6 --per-node 4", "a node that is not full"),
    ("case_study", "8 nodes x 8 GPUs: which way takes how long"),
    ("collectives grade lessons/exercises/hierarchical_allreduce.py", "write it yourself"),
]


def nodes(p, options):
    """Return the number of nodes."""
    return -(-p // options.per_node)


def ring_leaving(p, options):
    """Return what a flat ring sends out of each node, as a multiple of S."""
    return 2 * (p - 1) / p if nodes(p, options) > 1 else 0


def network(p, options, cards):
    """Return nodes with NVLink inside, and between them network cards of 200 Gb/s, simulated."""
    return Cluster(
        nodes(p, options), options.per_node, nics_per_node=cards,
        intra=Link(0.6e-6, 300e9), inter=Link(1e-6, 25e9),
    )  # fmt: skip


def how(entry, options):
    """Return the options of an algorithm."""
    return {} if entry is RING else {"per_node": options.per_node}


def measure(comm, options):
    """Record all three, and run the one on rails on the whole vector."""
    parts = {
        name: runs.recorded(comm, entry, **how(entry, options)) for name, entry in ENTRIES.items()
    }
    _, total = runs.allreduced(comm, RAILS, options, **how(RAILS, options))
    return parts, total


def recordings(world, options):
    """Return the recordings, by name."""
    return {
        name: runs.recording(
            world, entry, [parts[name] for parts, _ in world.results], **how(entry, options)
        )
        for name, entry in ENTRIES.items()
    }


def report(world, options):
    """Yield what rank 0 prints."""
    p, k, count = world.size, options.per_node, nodes(world.size, options)
    yield ""
    yield from wrapped(
        "idea   ",
        f"""{text.many(count, "node")} of up to {text.many(k, "rank")}. One leader: reduce to the
        first rank of each node, all-reduce among these, broadcast. Rails: reduce-scatter inside
        each node; rank i of every node then has part i, and all-reduces it with the other ranks i,
        its rail; allgather inside each node. All ranks and all network cards work.""",
    )
    yield "\nbytes  counted, as multiples of S (* = the most of any link of that kind)\n"
    yield f"       {'':12}{'leave a node':>14}{'one card*':>12}{'inside*':>10}   messages"
    found = recordings(world, options)
    for name, recording in found.items():
        load, s = links(recording, options), recording.nbytes
        between, inside = (
            max(map(max, part.values()), default=0) for part in (load.between, load.inside)
        )
        yield (
            f"       {name:12}{leaving(recording, options):>12.4g} S{between / s:>10.4g} S"
            f"{inside / s:>8.4g} S{len(recording.messages()):>11}"
        )
    yield ""
    yield runs.values([total for _, total in world.results], options)
    for name in found:
        check = runs.contributions([parts[name] for parts, _ in world.results])
        yield replace(check, detail=f"{name}: {check.detail}")
    yield from totals(found, p, count, options)
    yield ""
    yield from times(p, options)
    yield from limit(p, options)
    yield """
use    MPICH's smp and Open MPI's HAN have leaders; MPICH composition 4 and UCC's split_rail have
       rails. NCCL joins nodes by rings and trees through every card, one channel or more each."""


def links(recording, options):
    """Return the bytes on every link, where each rank has a network card of its own."""
    from collectives.draw.figures.links import traffic

    cards = options.per_node
    return traffic(recording, options.per_node, network(recording.ranks, options, cards))


def leaving(recording, options):
    """Return the most that leaves a node, as a multiple of S."""
    load = links(recording, options)
    by_card = [load.leaving(card) for card in range(nodes(recording.ranks, options) * load.nics)]
    by_node = [sum(by_card[card : card + load.nics]) for card in range(0, len(by_card), load.nics)]
    return max(by_node) / recording.nbytes


def totals(found, p, count, options):
    """Check what all nodes together send, against formulas."""
    wanted = {"flat ring": count * ring_leaving(p, options), "rails": 2 * (count - 1)}
    for name, formula in wanted.items():
        recording = found[name]
        sent = sum(map(sum, links(recording, options).between.values())) / recording.nbytes
        words = "N 2(p-1)/p S" if name == "flat ring" else "2(N-1) S"
        detail = f"{name}: {sent:.4g} S cross between {text.many(count, 'node')} in all = {words}"
        if count == 1:
            detail = f"{name}: nothing leaves the only node"
        yield Check("between", abs(sent - formula) < 1e-9, detail)


def times(p, options):
    """Yield simulated times with one network card for each node, and with one for each rank."""
    whole, k = options.elements * 4, options.per_node
    yield f"time   simulated, {text.nbytes(whole)} of float32: 300 GB/s inside, 25 GB/s per card\n"
    yield f"       {'':12}{'1 card':>12}{text.many(k, 'card'):>12}   on each node"
    for name, entry in ENTRIES.items():
        took = [
            simulated(entry, p, whole, network(p, options, cards), **how(entry, options)).time_s
            for cards in (1, k)
        ]
        yield f"       {name:12}" + "".join(f"{text.seconds(t):>12}" for t in took)
    yield "       A ring enters and leaves a node once: it uses one card. Cut it into channels."


def limit(p, options):
    """Yield how much slower 8 nodes of 8 are than one, beside how much slower their links are."""
    cluster = preset("a100-8x8")
    ways = find("allreduce", "pipelined_multi_leader")
    whole = 64_000_000
    far = simulated(ways, 64, whole, cluster, segment=whole // 4 // 8).time_s
    near = simulated(RING, 8, whole, replace(cluster, nodes=1)).time_s
    slower = cluster.intra.bandwidth / (cluster.inter.bandwidth * cluster.efficiency)
    yield ""
    yield from wrapped(
        "limit  ",
        f"""N nodes need to send 2(N-1)/N S each, less than 2 S, through all of their cards. On 8
        nodes x 8 A100, links between nodes are {slower:.0f} times slower than those inside, yet 64
        MB take only {far / near:.1f} times as long as on one node ({text.seconds(far)} and
        {text.seconds(near)}, simulated).""",
    )


def svg(world, options):
    """Return the figure: bytes on every link, of the ring and on rails."""
    from collectives.draw.figures import hierarchy

    found = recordings(world, options)
    cards = network(world.size, options, options.per_node)
    return hierarchy(found["flat ring"], found["rails"], per_node=options.per_node, network=cards)


def html(world, options):
    """Return the runs to step through."""
    found = recordings(world, options)
    return [found["flat ring"], found["rails"]]


def flags(parser):
    """Add the shape of the machine."""
    parser.add_argument(
        "--per-node", type=at_least(1), default=4, help="ranks on a node (%(default)s)"
    )


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, elements=1_000_000, flags=flags,
        )
    )  # fmt: skip
