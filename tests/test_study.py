"""The case study, computed; and what sweeps, formulas and the search promise. All simulated."""

from dataclasses import replace

import pytest

from collectives import case_study, find
from collectives.case_study import AFTER, BEFORE, NBYTES, consistent
from collectives.closed_forms import (
    HIERARCHICAL,
    PIPELINED,
    RING,
    TREE,
    Setup,
    closed_form,
    without_latency,
)
from collectives.registry import UnsupportedError, algorithms
from collectives.sim import Cluster, Hockney, LogGP, preset
from collectives.study import Refused, attempt, least_time, options_of, simulated, sweep

CLUSTER = case_study.cluster()
NO_LATENCY = without_latency(CLUSTER)
NODES, P = 8, 64
CARD = 25e9 * 0.9  # bytes per second and direction that a network card gives
NVLINK = 300e9
BANDWIDTH = 8 * CARD  # of a node


def near(seconds):
    return pytest.approx(seconds, rel=0.02)


def time(setup, network=CLUSTER):
    return setup.simulate(network, NBYTES).time_s


def test_cluster_is_that_of_the_case_study():
    assert CLUSTER.nodes == CLUSTER.ranks_per_node == CLUSTER.nics_per_node == NODES
    assert CLUSTER.inter.bandwidth * CLUSTER.efficiency == CARD
    assert CLUSTER.intra.bandwidth == NVLINK


# ----------------------------------------------------------------------- the numbers


@pytest.mark.parametrize(("channels", "ms"), [(8, 13.125), (4, 26.25), (2, 52.5)])
def test_ring_uses_as_many_cards_as_it_has_channels(channels, ms):
    bandwidth = 2 * (P - 1) / P * NBYTES / (channels * CARD)
    assert bandwidth == pytest.approx(ms * 1e-3)
    whole = simulated(find("allreduce", RING), P, NBYTES, CLUSTER, channels=channels)
    assert whole.time_s == near(bandwidth)
    steps = 2 * (P - 1)  # each takes alpha besides
    assert whole.time_s == pytest.approx(bandwidth + steps * CLUSTER.inter.alpha)


def between_nodes(network):
    """Return the cluster with all cards of a node as one, and one rank that has it."""
    link = replace(network.inter, bandwidth=network.inter.bandwidth * network.nics_per_node)
    return replace(network, ranks_per_node=1, nics_per_node=1, inter=link)


def test_double_binary_tree_across_nodes():
    """Without latency: a segment's way up and down, and nothing else, comes on top of 2 S / B."""
    segments = 256  # of each half of the vector
    tree, options = find("allreduce", "double_binary_tree"), {"segment": NBYTES // 8 // segments}
    bandwidth = 2 * NBYTES / BANDWIDTH
    assert bandwidth == pytest.approx(13.333e-3, rel=1e-4)
    found = simulated(tree, NODES, NBYTES, between_nodes(NO_LATENCY), **options).time_s
    assert bandwidth < found == near(bandwidth)
    with_latency = simulated(tree, NODES, NBYTES, between_nodes(CLUSTER), **options).time_s
    assert found < with_latency == near(bandwidth)


@pytest.mark.slow
def test_double_binary_trees_of_64_ranks():
    """With 8 channels, and 200 segments in each tree: fewer leave the pipeline empty too long."""
    bandwidth = 2 * NBYTES / BANDWIDTH
    assert bandwidth < time(Setup(TREE, 8, 8, 200)) == near(bandwidth)


def test_latency_and_few_segments_delay_trees():
    bandwidth = 2 * NBYTES / BANDWIDTH
    assert 1.02 * bandwidth < time(Setup(TREE, 8, 8, 50)) < 1.1 * bandwidth


def test_hierarchical_is_nvlink_and_cards_one_after_the_other():
    cards = 2 * (NODES - 1) / NODES * NBYTES / BANDWIDTH
    nvlink = 2 * (NODES - 1) / NODES * NBYTES / NVLINK
    assert (cards, nvlink) == pytest.approx((11.667e-3, 7e-3), rel=1e-4)
    assert time(Setup(HIERARCHICAL, 8, 8)) == near(cards + nvlink)
    assert simulated(find("allreduce", "torus_2d"), P, NBYTES, CLUSTER).time_s == near(
        cards + nvlink
    )
    pipelined = [time(Setup(PIPELINED, 8, 8, segments)) for segments in (1, 2, 4, 16, 50)]
    assert pipelined[0] == near(cards + nvlink)
    assert pipelined == sorted(pipelined, reverse=True)
    assert cards < pipelined[-1] == near(cards)


# ----------------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    "setup",
    [
        Setup(RING, 1, 1), Setup(RING, 4, 4), Setup(RING, 4, 1), Setup(RING, 6, 6),
        Setup(RING, 7, 7), Setup(RING, 8, 4), Setup(HIERARCHICAL, 8, 8), Setup(HIERARCHICAL, 8, 5),
        Setup(HIERARCHICAL, 8, 2), Setup(PIPELINED, 8, 8, 1), Setup(PIPELINED, 8, 8, 3),
        Setup(PIPELINED, 8, 8, 16), Setup(PIPELINED, 8, 4, 4), Setup(PIPELINED, 8, 1, 16),
    ],
    ids=str,
)  # fmt: skip
def test_formula_is_the_simulated_time(setup):
    assert closed_form(setup, CLUSTER, NBYTES) == pytest.approx(time(setup), rel=0.006)


@pytest.mark.parametrize("segments", [16, 64, 256])
@pytest.mark.parametrize("nodes", [8, 5])
def test_formula_of_trees_is_the_time_between_nodes(nodes, segments):
    network = between_nodes(replace(NO_LATENCY, nodes=nodes))
    nbytes = 8 * segments * 1000
    tree = find("allreduce", TREE)
    found = simulated(tree, nodes, nbytes, network, channels=1, segment=1000).time_s
    assert closed_form(Setup(TREE, 1, 1, segments), network, nbytes) == pytest.approx(found)


def test_time_of_formula_falls_with_efficiency():
    """As the search takes for granted."""
    for setup in case_study.setups(8):
        times = [
            closed_form(setup, replace(CLUSTER, efficiency=share), NBYTES)
            for share in (0.5, 0.6, 0.8, 1.0)
        ]
        assert times == sorted(times, reverse=True)


# ----------------------------------------------------------------------- the search


def test_18_ms_takes_six_cards():
    found = consistent(BEFORE)
    assert {way.setup.nics for way in found} == {6, 7, 8}
    assert min(way.setup.channels for way in found) == 6
    six = next(way for way in found if way.setup == Setup(RING, 6, 6))
    assert six.lowest < 0.875 < six.highest


def test_14_ms_takes_seven_cards():
    assert {way.setup.nics for way in consistent(AFTER)} == {7, 8}


@pytest.mark.parametrize(("channels", "ms"), [(2, 47.25), (4, 23.625)])
def test_few_channels_are_too_slow_even_at_line_rate(channels, ms):
    assert case_study.at_line_rate(channels) == pytest.approx(ms * 1e-3)
    assert case_study.at_line_rate(channels) > BEFORE > AFTER


def test_search_finds_what_was_put_in():
    for setup in (Setup(RING, 2, 2), Setup(TREE, 8, 8, 64), Setup(PIPELINED, 8, 8, 4)):
        network = replace(CLUSTER, efficiency=0.8)
        found = consistent(closed_form(setup, network, NBYTES), 0.01)
        (way,) = [way for way in found if way.setup == setup]
        assert way.lowest <= 0.8 <= way.highest


def test_ways_found_take_the_time_in_simulation():
    for way in consistent(BEFORE, 0.02):
        if way.setup in (Setup(RING, 7, 7), Setup(PIPELINED, 8, 8, 4)):
            for share in (way.lowest, way.highest):
                network = replace(CLUSTER, efficiency=share)
                assert time(way.setup, network) == pytest.approx(BEFORE, rel=0.022)


def test_no_way_where_there_is_none():
    assert consistent(5e-3) == []


# ----------------------------------------------------------------------- sweeps


def test_sweep_gives_each_algorithm_the_options_it_takes():
    ring, multi = find("allreduce", "ring"), find("allreduce", RING)
    points = sweep([ring, multi], [8, 16], [1000], [CLUSTER], {"channels": [1, 2, 4]})
    assert [(x.algorithm.name, x.p, dict(x.options)) for x in points] == [
        ("ring", p, {}) for p in (8, 16)
    ] + [(RING, p, {"channels": c, "per_node": 8}) for p in (8, 16) for c in (1, 2, 4)]
    with pytest.raises(ValueError, match="allreduce/multi_ring has no option 'radix'; there is"):
        sweep([multi], [8], [1000], [CLUSTER], {"radix": [2]})
    with pytest.raises(ValueError, match="'radix'; there is channels, per_node"):
        sweep([ring, multi], [8], [1000], [CLUSTER], {"radix": [2]})


def test_node_is_that_of_the_cluster_unless_given():
    multi, network = find("allreduce", HIERARCHICAL), Hockney(1e-6, 1e-9)
    assert simulated(multi, 16, 6400, CLUSTER).call.options == {"per_node": 8}
    assert simulated(multi, 16, 6400, CLUSTER, per_node=2).call.options == {"per_node": 2}
    assert simulated(multi, 16, 6400, network).call.options == {"per_node": 4}


def test_what_is_reported():
    network = Hockney(alpha=1.0, beta=0.25, gamma=0.125)
    found = simulated(find("allgather", "ring"), 5, 4 * 5 * 3 + 4, network)
    assert (found.nbytes, found.messages, found.sent) == (60, 20, 4 * 60)
    assert found.time_s == 4 * (1 + 0.25 * 12)
    assert found.lower_bound_s == 3 + 0.25 * 48


def test_refusals():
    bine = find("allreduce", "bine")
    (point,) = sweep([bine], [6], [4000], [CLUSTER], {})
    refused = attempt(point)
    assert isinstance(refused, Refused)
    assert refused.reason == "allreduce/bine needs power_of_two; got p=6"
    with pytest.raises(UnsupportedError):
        simulated(bine, 6, 4000, CLUSTER)
    with pytest.raises(ValueError, match="multiple of 4"):
        simulated(bine, 8, 4001, CLUSTER)


@pytest.mark.parametrize(
    "network",
    [
        CLUSTER,
        replace(CLUSTER, nics_per_node=2),
        Cluster(3, 2, CLUSTER.intra, CLUSTER.inter, gamma=1e-10),
        preset("laptop-8"),
        LogGP(L=5e-6, o=2e-6, g=4e-6, G=1e-9),
        LogGP(L=5e-6, o=0, g=0, G=1e-9),
    ],
)
def test_nothing_beats_the_least_time(network):
    for entry in algorithms():
        for p, nbytes in ((3, 4096), (4, 40), (6, 999_984)):
            for point in sweep([entry], [p], [nbytes], [network], {}):
                found = attempt(point)
                if not isinstance(found, Refused):
                    assert found.time_s >= found.lower_bound_s * (1 - 1e-9), (entry, p, nbytes)


def test_least_time_of_an_allreduce_is_what_leaves_a_node():
    bandwidth = 2 * (NODES - 1) / NODES * NBYTES / BANDWIDTH
    found = least_time("allreduce", P, NBYTES // 4, CLUSTER)
    assert found == pytest.approx(bandwidth + CLUSTER.inter.alpha)


def test_least_time_counts_what_ranks_can_use():
    n = NBYTES // 4
    on_node = 2 * 7 / 8 * NBYTES / NVLINK  # no card: they send to no other node
    assert least_time("allreduce", 8, n, CLUSTER) == pytest.approx(on_node + CLUSTER.intra.alpha)
    unused = replace(CLUSTER, nics_per_node=16, rank_to_nic=range(8))
    assert least_time("allreduce", P, n, unused) == least_time("allreduce", P, n, CLUSTER)


def test_options_are_those_of_the_algorithm_alone():
    assert options_of(find("allreduce", "ring")) == {}
    assert options_of(find("bcast", "multi_chain")) == {"chains": 4, "segment": 8192}
