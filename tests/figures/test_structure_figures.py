"""Figures of structures and models: the data behind each is that of the run, or of the model."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from collectives.bench import Row
from collectives.cost import Cost
from collectives.draw.figures._bruck import bruck, travels
from collectives.draw.figures._butterfly import butterfly, exchanges
from collectives.draw.figures._hierarchy import hierarchy
from collectives.draw.figures._overlap import overlap
from collectives.draw.figures._transpose import matrices, transpose
from collectives.draw.figures._trees import trees
from collectives.draw.figures.alphabeta import alpha_beta, crossovers, model
from collectives.draw.figures.forest import find_trees, loads
from collectives.draw.figures.links import traffic
from collectives.draw.figures.measured import bench_times
from collectives.draw.figures.style import DARK, LIGHT, Picture, Theme
from collectives.draw.figures.zero import PARTS, SCHEMES, zero_bars
from collectives.recorder import record
from collectives.recording import Recording
from collectives.registry import find
from collectives.sim import Cluster, Hockney, Link
from collectives.topology import binomial_parent, tree_pair
from collectives.training.timeline import Layer, allreduce_time, schedule

SVG = "{http://www.w3.org/2000/svg}"
NETWORK = Hockney(alpha=1e-6, beta=1 / 25e9, gamma=1 / 200e9)


@cache
def recorded(name: str, p: int, **options: int) -> Recording:
    collective, algorithm = name.split("/")
    return record(find(collective, algorithm), p, **options)


def drawn(picture: Picture) -> Counter[str]:
    """Count what has a name in the SVG, after checking that it is a proper one."""
    root = ET.fromstring(picture.svg())
    assert root[0].tag == f"{SVG}title"
    assert root[0].text
    assert root[1].tag == f"{SVG}desc"
    assert root[1].text == picture.alt
    assert picture.caption.endswith(".")
    assert picture.alt.endswith(".")
    return Counter(g.get("id", "") for g in root.iter() if g.get("id"))


# ---------------------------------------------------------------------- trees


def test_loads_in_the_double_tree_are_those_of_the_table() -> None:
    """teaching: counted on NCCL's tree shape; ranks at 1, 1.5 and 2 times the vector."""
    table = {8: (2, 0, 6), 13: (1, 2, 10), 16: (2, 0, 14), 30: (2, 0, 28), 64: (2, 0, 62)}
    for p, counts in table.items():
        run = recorded("allreduce/double_binary_tree", p)
        sent, received = loads(run)
        assert sent == received
        tally = Counter(count / run.nbytes for count in sent)
        assert tuple(tally[load] for load in (1.0, 1.5, 2.0)) == counts
        assert sum(counts) == p
        assert sum(sent) == 2 * (p - 1) * run.nbytes  # the ring's total
        if p < 20:
            assert max(loads(recorded("allreduce/binary_tree", p))[0]) == 3 * run.nbytes


@pytest.mark.parametrize("p", [2, 5, 8, 13])
def test_the_two_trees_are_told_apart_by_what_messages_carry(p: int) -> None:
    run = recorded("allreduce/double_binary_tree", p)
    first, second = find_trees(run)
    for tree, nodes in zip((first, second), tree_pair(p, 1), strict=True):
        assert len(tree.parent) == p - 1
        assert tree.roots == {nodes[0][0]}
        for way in (tree.up, tree.down):
            assert sorted(way) == sorted(tree.parent)
            assert set(way.values()) == {run.nbytes / 2}
    inner_in_both = first.inner & second.inner
    assert len(inner_in_both) == p % 2
    assert len(first.inner ^ second.inner) == p - p % 2


@pytest.mark.parametrize("name", ["bcast/binomial", "reduce/binomial", "allreduce/reduce_bcast"])
def test_binomial_trees_are_found_in_the_messages(name: str) -> None:
    (tree,) = find_trees(recorded(name, 6))
    assert tree.parent == {rank: binomial_parent(rank, 0, 6) for rank in range(1, 6)}
    assert tree.height == 2
    assert bool(tree.up) == (name != "bcast/binomial")
    assert bool(tree.down) == (name != "reduce/binomial")


def test_trees_are_drawn_with_leaves_and_inner_ranks_of_different_shape() -> None:
    shapes = drawn(trees(recorded("allreduce/double_binary_tree", 6)))
    assert (shapes["root"], shapes["inner"], shapes["leaf"]) == (2, 4, 6)
    assert shapes["edge"] == 10
    assert shapes["sent"] == shapes["received"] == 6


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("allreduce/ring", "is no tree: r"),
        ("allreduce/recursive_doubling", "has the parents"),
        ("allreduce/hierarchical", "r0 -> r4 -> r0 is a circle"),
        ("alltoall/pairwise", "has no trees"),
    ],
)
def test_what_is_no_tree_is_refused(name: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        trees(recorded(name, 6))


# ---------------------------------------------------------------------- butterfly


def test_every_message_of_recursive_doubling_is_half_of_an_exchange() -> None:
    steps = exchanges(recorded("allreduce/recursive_doubling", 8))
    assert [step.distances for step in steps] == [[1], [2], [4]]
    assert all(len(step.exchanges) == 4 and not step.others for step in steps)


def test_the_fold_of_extra_ranks_goes_one_way() -> None:
    run = recorded("allreduce/rabenseifner", 6)
    steps = exchanges(run)
    one_way = [[(m.send.rank, m.send.peer) for m in step.others] for step in steps]
    assert one_way == [[(0, 1), (2, 3)], [], [], [], [], [(1, 0), (3, 2)]]
    picture = butterfly(run)
    assert "r0, r2 exchange with nobody" in picture.caption
    shapes = drawn(picture)
    assert (shapes["exchange"], shapes["one-way"]) == (16, 4)
    styles = {patch.get_gid(): patch.get_linestyle() for patch in _arrows(picture)}
    assert styles["exchange"] != styles["one-way"]


def _arrows(picture: Picture) -> list:
    from matplotlib.patches import FancyArrowPatch

    return picture.figure.findobj(FancyArrowPatch)


def test_a_ring_has_no_exchanges() -> None:
    with pytest.raises(ValueError, match="no step in which two ranks exchange"):
        butterfly(recorded("allreduce/ring", 4))


# ---------------------------------------------------------------------- Bruck, transpose


@pytest.mark.parametrize("p", [2, 3, 6, 8])
def test_a_step_of_bruck_moves_the_blocks_whose_distance_has_its_bit(p: int) -> None:
    steps = travels(recorded("alltoall/bruck", p))
    assert len(steps) == 1 + (p - 1).bit_length()
    for bit, (before, after) in enumerate(pairwise(steps)):
        assert after.distances == [2**bit]
        moved = {(b - a) % p for _, (a, b) in after.arrived}
        assert moved == {d for d in range(p) if d >> bit & 1}
        assert sum(map(len, before.held)) == p * p  # a block is in one place
    for rank, held in enumerate(steps[-1].held):
        assert sorted(held) == [(a, rank) for a in range(p)]


def test_bruck_frames_what_has_moved_and_names_every_block() -> None:
    picture = bruck(recorded("alltoall/bruck", 6))
    shapes = drawn(picture)
    assert shapes["arrived"] == 42  # sum of the ones in the bits of 1..5, for 6 ranks
    assert shapes["arrived"] + shapes["held"] == 6 * 36
    assert picture.svg().count("4→1") >= 6
    assert "every block is at its destination" in picture.caption


def test_allgather_by_bruck_collects_runs() -> None:
    run = recorded("allgather/bruck", 6)
    assert [len(step.held[0]) for step in travels(run)] == [1, 2, 4, 6]
    assert "its own and those of the next ranks to the right" in bruck(run).caption


def test_what_bruck_cannot_show_is_refused() -> None:
    with pytest.raises(ValueError, match="all go equally far"):
        bruck(recorded("alltoall/pairwise", 4))
    with pytest.raises(ValueError, match="up to 16"):
        bruck(recorded("alltoall/bruck", 17))
    with pytest.raises(ValueError, match="no blocks to rotate"):
        bruck(recorded("allreduce/ring", 4))


@pytest.mark.parametrize("algorithm", ["pairwise", "bruck"])
def test_alltoall_is_a_transpose(algorithm: str) -> None:
    before, after = matrices(recorded(f"alltoall/{algorithm}", 5))
    assert before == [[f"{a}→{b}" for b in range(5)] for a in range(5)]
    assert after == [list(column) for column in zip(*before, strict=True)]
    picture = transpose(recorded(f"alltoall/{algorithm}", 5))
    shapes = drawn(picture)
    assert (shapes["stays"], shapes["moves"]) == (10, 40)
    hops = {"pairwise": 20, "bruck": 5 * sum(d.bit_count() for d in range(5))}[algorithm]
    assert f"in {hops} hops" in picture.caption
    with pytest.raises(ValueError, match="blocks of 129 ranks cannot be told apart; at most 128"):
        transpose(replace(recorded("alltoall/linear", 2), ranks=129))


def test_what_is_no_transpose_is_said() -> None:
    def nothing(comm: object, sendbuf: object, recvbuf: object) -> None:
        pass

    with pytest.raises(ValueError, match="r0 ended with 0 blocks, not one from each rank"):
        transpose(record(nothing, 3, collective="alltoall"))


# ---------------------------------------------------------------------- hierarchy


def test_links_carry_what_the_messages_say() -> None:
    ring, nodes = recorded("allreduce/ring", 8), recorded("allreduce/hierarchical", 8)
    flat, layered = traffic(ring, 4), traffic(nodes, 4)
    each = 2 * 7 * ring.nbytes // 8
    assert flat.inside == {(r, r + 1): (each, 0) for r in (0, 1, 2, 4, 5, 6)}
    assert flat.between == {(0, 1): (each, each)}
    assert layered.between == {(0, 1): (nodes.nbytes, nodes.nbytes)}
    assert layered.inside[0, 2] == (nodes.nbytes, nodes.nbytes)
    for run, load in ((ring, flat), (nodes, layered)):
        total = sum(sum(both) for both in (*load.inside.values(), *load.between.values()))
        assert total == sum(message.send.nbytes for message in run.messages())


def test_cards_are_those_of_the_network() -> None:
    run = record(find("allreduce", "multi_ring"), 8, per_node=4, channels=4)
    cluster = Cluster(2, 4, intra=Link(0, 300e9), inter=Link(0, 25e9), nics_per_node=4)
    load = traffic(run, 4, cluster)
    assert load.card == list(range(8))
    assert len({load.leaving(card) for card in range(8)}) == 1  # all cards have the same to do
    assert "one card" in hierarchy(run, per_node=4, network=cluster).caption
    with pytest.raises(ValueError, match="per_node is 2, the network has 4"):
        hierarchy(run, per_node=2, network=cluster)


def test_the_hierarchy_has_one_scale_for_all_recordings() -> None:
    picture = hierarchy(
        recorded("allreduce/ring", 8), recorded("allreduce/hierarchical", 8), per_node=4
    )
    shapes = drawn(picture)
    assert (shapes["node"], shapes["nic"], shapes["inside"], shapes["between"]) == (4, 4, 12, 2)
    widths = sorted({patch.get_linewidth() for patch in _arrows(picture)})
    assert [round((width - 0.5) / 4.5, 3) for width in widths] == [round(1 / 1.75, 3), 1.0]


# ---------------------------------------------------------------------- models


@pytest.mark.parametrize("p", [4, 6, 16])
def test_models_are_equal_where_they_cross(p: int) -> None:
    names = ["recursive_doubling", "ring", "rabenseifner"]
    times = {name: model("allreduce", name, p, NETWORK) for name in names}
    found = crossovers(times, [2, 100_000_000])
    assert found
    for change in found:
        n = change.nbytes / 4
        low, high = int(n), int(n) + 1
        for name in (change.before, change.after):
            at = times[name](low) + (n - low) * (times[name](high) - times[name](low))
            assert at == pytest.approx(change.seconds, rel=1e-9)
        assert times[change.after](2 * low) < times[change.before](2 * low)
        assert times[change.before](low // 2) < times[change.after](low // 2)


def test_a_crossover_worked_by_hand() -> None:
    """p = 4: 2 alpha + 4 m beta and 3 alpha + 3 m beta are equal at m = alpha / beta."""
    network = Hockney(alpha=1e-6, beta=1e-9)
    times = {name: model("alltoall", name, 4, network) for name in ("bruck", "pairwise")}
    (change,) = crossovers(times, [4, 1_000_000])
    assert (change.before, change.after) == ("bruck", "pairwise")
    assert change.nbytes == pytest.approx(1000)
    assert change.seconds == pytest.approx(6e-6)


def test_the_plot_of_a_model_shows_where_the_best_changes() -> None:
    """p = 4: 2 alpha + 2 m beta and 6 alpha + 3/2 m beta are equal at m = 8 alpha / beta."""
    network = Hockney(alpha=1e-6, beta=1e-9)
    names = ["recursive_doubling", "ring"]
    eager = 4096
    picture = alpha_beta(
        "allreduce", names, 4, network, eager_limit=eager, measured={"ring": [(1e4, 3e-5)]}
    )
    shapes = drawn(picture)
    assert shapes["crossover"] == shapes["eager"] == shapes["measured-ring"] == 1
    assert "recursive_doubling is the fastest of these for a small vector" in picture.caption
    assert re.search(r"ring from 8\.0[0-3] kB on", picture.caption)  # 8 kB plus up to p elements
    lines = [line for line in picture.figure.axes[0].lines if str(line.get_gid())[:5] == "model"]
    assert len({line.get_linestyle() for line in lines}) == len(lines) == 2
    assert len({line.get_marker() for line in lines}) == 2


def test_what_has_no_model_is_refused() -> None:
    with pytest.raises(ValueError, match="allreduce/builtin has no cost function"):
        alpha_beta("allreduce", ["builtin"], 4, NETWORK)
    with pytest.raises(ValueError, match="take no time"):
        alpha_beta("allreduce", ["ring"], 1, NETWORK)


def test_zero_is_as_in_the_paper() -> None:
    """arXiv:1910.02054, figure 1: 7.5 billion parameters, 64 ranks; 120, 31.4, 16.6, 1.9 GB."""
    widths = dict(zip(PARTS, (2, 2, 12), strict=True))
    kept = [sum(s.memory(7_500_000_000, 64, widths).values()) / 10**9 for s in SCHEMES]
    assert [round(float(size), 1) for size in kept] == [120.0, 31.4, 16.6, 1.9]
    shapes = drawn(zero_bars(7_500_000_000, 64))
    assert [shapes[part.replace(" ", "-")] for part in PARTS] == [4, 4, 4]


@pytest.mark.parametrize("p", [1, 2, 8])
def test_zero_sends_what_ring_algorithms_send(p: int) -> None:
    psi = 840
    widths = dict.fromkeys(PARTS, 2)

    def sent(collective: str, n: int) -> Cost:
        cost = find(collective, "ring").cost
        assert cost is not None
        return cost(p, n)

    scatter, gather = sent("reduce_scatter", psi // p), sent("allgather", psi // p)
    wanted = [sent("allreduce", psi), scatter + gather, scatter + gather, gather + gather + scatter]
    for scheme, cost in zip(SCHEMES, wanted, strict=True):
        assert sum(scheme.traffic(psi, p, widths)) * p == cost.times(2).volume


def test_overlap_is_scheduled_in_buckets_that_are_ready() -> None:
    layers = [Layer(0.002, 8_000_000)] * 12
    time = allreduce_time("ring", 8, NETWORK)
    both = schedule(layers, 20_000_000, time)
    alone = schedule(layers, 20_000_000, time, overlapped=False)
    assert [bucket.layers for bucket in both.communication] == [
        (11, 10, 9), (8, 7, 6), (5, 4, 3), (2, 1, 0)
    ]  # fmt: skip
    ends = {span.layers[0]: span.end for span in both.compute}
    for before, bucket in pairwise((None, *both.communication)):
        ready = ends[bucket.layers[-1]]
        assert bucket.start == max(ready, before.end if before else 0.0)
        assert bucket.end - bucket.start == pytest.approx(time(bucket.nbytes))
    total = 4 * time(24_000_000)
    assert alone.hidden == 0
    assert alone.end == pytest.approx(0.024 + total)
    assert both.hidden == pytest.approx(1 - (both.end - 0.024) / total)
    picture = overlap(layers, 20_000_000, time)
    assert f"{both.hidden:.0%} of the communication" in picture.caption
    shapes = drawn(picture)
    assert (shapes["bucket"], shapes["layer"]) == (8, 24)


def test_long_communication_is_never_hidden_for_more_than_the_computation() -> None:
    timeline = schedule([Layer(1.0, 1), Layer(1.0, 1), Layer(1.0, 1)], 1, lambda _: 10.0)
    assert timeline.end == 31.0
    assert timeline.hidden == pytest.approx(2 / 30)


# ---------------------------------------------------------------------- measurements


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["", "slow"])
def test_measured_times_are_drawn_beside_the_model(name: str) -> None:
    rows = [
        Row(
            collective,
            size,
            {"builtin": 1e-6, "slow": 5e-6, "fast": 2e-6},
            {"slow": 4e-6, "fast": 3e-6},
        )
        for collective in ("bcast", "scan")
        for size in (8, 8000)
    ]
    picture = bench_times(rows, 4, name)
    drawn(picture)
    assert picture.title == "2 collectives on 4 ranks: measured time against size"
    shown, time, model = ("slow", 5e-6, 4e-6) if name else ("best step by step", 2e-6, 3e-6)
    for axes, collective in zip(picture.figure.axes, ("bcast", "scan"), strict=True):
        assert axes.get_title() == collective
        lines = {line.get_label(): line for line in axes.lines}
        assert list(lines) == ["built-in", shown, "model"]
        found = [list(line.get_ydata()) for line in lines.values()]
        assert found == [[1e-6] * 2, [time] * 2, [model] * 2]
        assert len({line.get_linestyle() for line in lines.values()}) == 3
    assert "bcast of 8 kB: built-in 1 us" in picture.alt


# ---------------------------------------------------------------------- all of them

FIGURES = {
    "trees": lambda p, theme: trees(recorded("allreduce/double_binary_tree", p), theme=theme),
    "butterfly": lambda p, theme: butterfly(
        recorded("allreduce/recursive_doubling", p), theme=theme
    ),
    "bruck": lambda p, theme: bruck(recorded("alltoall/bruck", p), theme=theme),
    "transpose": lambda p, theme: transpose(recorded("alltoall/pairwise", p), theme=theme),
    "hierarchy": lambda p, theme: hierarchy(recorded("allreduce/ring", p), per_node=2, theme=theme),
    "zero_bars": lambda p, theme: zero_bars(1000, p, theme=theme),
    "overlap": lambda p, theme: overlap(
        [Layer(1e-3, 1000)], 1, allreduce_time("ring", p, NETWORK), theme=theme
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("p", "theme"), [(1, LIGHT), (2, LIGHT), (3, DARK)])
@pytest.mark.parametrize("figure", FIGURES)
def test_figures_of_few_ranks(figure: str, p: int, theme: Theme) -> None:
    picture = FIGURES[figure](p, theme)
    drawn(picture)
    assert theme.paper in picture.svg()


@pytest.mark.filterwarnings("error")
def test_figures_of_no_elements() -> None:
    for draw, name in (
        (trees, "allreduce/reduce_bcast"),
        (butterfly, "allreduce/recursive_doubling"),
        (bruck, "alltoall/bruck"),
        (lambda run: hierarchy(run, per_node=2), "allreduce/ring"),
    ):
        drawn(draw(recorded(name, 4, elements=0)))


@pytest.mark.parametrize("draw", [trees, lambda *runs: hierarchy(*runs, per_node=2)])
def test_nothing_to_draw_is_said(draw: object) -> None:
    with pytest.raises(ValueError, match="wants one recording or more"):
        draw()
