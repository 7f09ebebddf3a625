"""Clusters, presets, and what holds on every network."""

from collections import Counter
from dataclasses import fields, replace
from heapq import heappop, heappush
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectives import (
    allreduce_multi_ring,
    allreduce_recursive_doubling,
    allreduce_ring,
    alltoall_pairwise,
    bcast_binomial,
)
from collectives.cost import lower_bound
from collectives.op import SUM
from collectives.oracle.cases import Case
from collectives.registry import UnsupportedError, algorithms
from collectives.sim import (
    PRESETS,
    Cluster,
    Hockney,
    Link,
    LogGP,
    Phantom,
    kernel,
    preset,
    simulate,
)

NVLINK, NIC = Link(alpha=0, bandwidth=10), Link(alpha=0, bandwidth=2)


def cluster(nodes=2, ranks_per_node=2, **others):
    """Return a cluster of round numbers: 20 bytes take 2 s in a node and 10 s between nodes."""
    return Cluster(**{"intra": NVLINK, "inter": NIC} | others, nodes=nodes,
                   ranks_per_node=ranks_per_node)  # fmt: skip


def data(nbytes):
    return Phantom(nbytes, np.uint8)


def compute(seconds):
    """Let this rank's clock go on, where gamma is 1."""
    SUM(data(seconds), data(seconds), out=data(seconds))


def arrivals(network, *messages, size=None):
    """Post all messages (source, dest, bytes) at time 0; return when each has arrived."""
    size = size or 1 + max(rank for source, dest, _ in messages for rank in (source, dest))
    times = {}

    def program(comm):
        requests = []
        for i, (source, dest, nbytes) in enumerate(messages):
            if comm.rank == dest:
                requests.append((i, comm.Irecv(data(nbytes), source=source, tag=i)))
            if comm.rank == source:
                requests.append((None, comm.Isend(data(nbytes), dest=dest, tag=i)))
        for i, request in requests:
            request.Wait()
            if i is not None:
                times[i] = request.operation.done

    simulate(program, size, network=network)
    return [times[i] for i in range(len(messages))]


# ----------------------------------------------------------------------- one message


@pytest.mark.parametrize("nbytes", [0, 1, 20])
def test_single_flow_gets_the_rate_of_its_link(nbytes):
    network = cluster(intra=Link(3, 10), inter=Link(7, 2))
    assert arrivals(network, (0, 1, nbytes)) == [nbytes / 10 + 3]
    assert arrivals(network, (0, 2, nbytes)) == [nbytes / 2 + 7]


def test_efficiency_scales_the_bandwidth_between_nodes_only():
    network = cluster(efficiency=0.5)
    assert arrivals(network, (0, 1, 20), (0, 2, 20)) == [2, 20]


def test_the_buffer_is_free_when_the_last_byte_has_left():
    def program(comm):
        if comm.rank == 0:
            comm.Send(data(20), dest=2)
        elif comm.rank == 2:
            comm.Recv(data(20), source=0)

    assert simulate(program, 3, network=cluster(inter=Link(7, 2))).clocks == [10, 0, 17]


@pytest.mark.parametrize("rank", [0, 3])
def test_message_to_oneself_takes_the_own_port(rank):
    assert arrivals(cluster(), (rank, rank, 20)) == [2]


@pytest.mark.parametrize("limit", [0, 100])
def test_eager_messages_do_not_wait_for_their_receive(limit):
    def program(comm):
        if comm.rank == 0:
            comm.Send(data(20), dest=2)
        elif comm.rank == 2:
            compute(5)
            comm.Recv(data(20), source=0)

    start = 0 if limit else 5
    ran = simulate(program, 3, network=cluster(gamma=1, eager_limit=limit))
    assert ran.clocks == [start + 10, 0, start + 10]


# ------------------------------------------------------------------------- contention


def test_two_flows_over_one_card_share_it():
    assert arrivals(cluster(), (0, 2, 20), (1, 3, 20)) == [10, 20]


def test_two_flows_over_two_cards_do_not():
    assert arrivals(cluster(nics_per_node=2), (0, 2, 20), (1, 3, 20)) == [10, 10]


def test_two_flows_into_one_card_share_it():
    assert arrivals(cluster(nodes=3), (0, 4, 20), (2, 5, 20)) == [10, 20]


def test_card_works_both_ways_at_the_same_time():
    assert arrivals(cluster(), (0, 2, 20), (2, 0, 20)) == [10, 10]


def test_port_works_both_ways_at_the_same_time():
    assert arrivals(cluster(), (0, 1, 20), (1, 0, 20)) == [2, 2]


def test_rank_uses_its_port_and_its_card_at_the_same_time():
    assert arrivals(cluster(), (0, 1, 20), (0, 2, 20), (1, 0, 20), (2, 0, 20)) == [2, 10, 2, 10]


def test_ports_of_different_pairs_do_not_disturb_each_other():
    pairs = [(rank, rank ^ 1, 20) for rank in range(8)]
    assert arrivals(cluster(1, 8), *pairs) == [2] * 8


def test_one_port_serves_one_message_after_the_other():
    assert arrivals(cluster(1, 4), (0, 1, 20), (0, 2, 20), (0, 3, 20)) == [2, 4, 6]
    assert arrivals(cluster(1, 4), (1, 0, 20), (2, 0, 20), (3, 0, 20)) == [2, 4, 6]


def test_latency_does_not_hold_the_card():
    assert arrivals(cluster(inter=Link(100, 2)), (0, 2, 20), (1, 3, 20)) == [110, 120]


def test_a_card_is_never_idle_while_something_waits_for_it():
    # 4 -> 3 leaves node 2 at once and waits at the card into node 1; 4 -> 1 follows it out.
    assert arrivals(cluster(nodes=3), (0, 2, 20), (4, 3, 20), (4, 1, 20)) == [10, 20, 20]


def test_what_has_waited_longer_goes_first():
    def program(comm):
        if comm.rank == 0:
            comm.Send(data(20), dest=4)  # until 10
        elif comm.rank in (1, 2):
            compute(5 - comm.rank)  # until 4 and 3
            comm.Send(data(20), dest=4 + comm.rank)
        elif comm.rank >= 4 and comm.rank < 7:
            comm.Recv(data(20), source=comm.rank - 4)

    ran = simulate(program, 8, network=cluster(ranks_per_node=4, gamma=1))
    assert ran.clocks == [10, 30, 20, 0, 10, 30, 20, 0]


# --------------------------------------------------------------------- cards of a node


@pytest.mark.parametrize(
    ("ranks", "cards", "chosen", "expected"),
    [
        (4, 1, None, (0, 0, 0, 0)),
        (4, 2, None, (0, 0, 1, 1)),
        (4, 4, None, (0, 1, 2, 3)),
        (3, 2, None, (0, 0, 1)),
        (2, 8, None, (0, 4)),
        (3, 2, [1, 0, 1], (1, 0, 1)),
        (3, 2, np.array([1, 0, 1]), (1, 0, 1)),
        (4, 2, lambda local: local % 2, (0, 1, 0, 1)),
    ],
)
def test_card_of_each_rank(ranks, cards, chosen, expected):
    network = cluster(ranks_per_node=ranks, nics_per_node=cards, rank_to_nic=chosen)
    assert network.nics == expected
    assert {type(card) for card in network.nics} == {int}
    assert hash(network) == hash(replace(network))


def test_ranks_send_through_the_card_they_are_given():
    flows = [(rank, rank + 4, 20) for rank in range(4)]
    network = cluster(ranks_per_node=4, nics_per_node=2, rank_to_nic=[0, 1, 0, 1])
    assert arrivals(network, *flows) == [10, 10, 20, 20]


def test_a_run_may_have_fewer_ranks_than_the_cluster():
    assert arrivals(cluster(8, 8), (0, 8, 20), size=9) == [10]


def test_sizes_may_be_integers_of_numpy():
    sizes = [np.int64(2), np.int32(3), np.uint8(1)]
    made = Cluster(*sizes[:2], intra=Link(0, 10), inter=Link(0, 2), nics_per_node=sizes[2])
    assert made == Cluster(2, 3, intra=Link(0, 10), inter=Link(0, 2), nics_per_node=1)
    assert repr(made) == repr(Cluster(2, 3, intra=Link(0, 10), inter=Link(0, 2), nics_per_node=1))


def test_a_run_of_one_rank():
    assert simulate(lambda comm: comm.size, 1, network=cluster(1, 1)).results == [1]


# ----------------------------------------------------------------------- bad arguments


def test_more_ranks_than_the_cluster_has_are_refused():
    with pytest.raises(ValueError, match="5 ranks, wants at most 4: 2 nodes x 2 ranks"):
        simulate(lambda comm: None, 5, network=cluster())


@pytest.mark.parametrize("network", ["a100-8x8", Hockney, 5])
def test_what_is_no_network_is_refused(network):
    with pytest.raises(ValueError, match=r"network is .*, wants one such as Hockney\(\)"):
        simulate(lambda comm: None, 2, network=network)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"nodes": 0}, "nodes is 0, wants an integer >= 1"),
        ({"nodes": 1.5}, "nodes is 1.5, wants an integer >= 1"),
        ({"ranks_per_node": 0}, "ranks_per_node is 0, wants"),
        ({"nics_per_node": -1}, "nics_per_node is -1, wants"),
        ({"intra": 5}, "intra is 5, wants a Link"),
        ({"inter": None}, "inter is None, wants a Link"),
        ({"efficiency": 0}, "efficiency is 0, wants 0 < efficiency <= 1"),
        ({"efficiency": 1.1}, "efficiency is 1.1, wants"),
        ({"efficiency": float("nan")}, "efficiency is nan, wants"),
        ({"gamma": -1}, "gamma is -1, wants a finite number >= 0"),
        ({"eager_limit": -1}, "eager_limit is -1, wants a number >= 0"),
        ({"rank_to_nic": 0}, r"rank_to_nic is 0, wants a list or a function"),
        ({"rank_to_nic": [0]}, r"rank_to_nic is \[0\], wants 2 of 0..0"),
        ({"rank_to_nic": [0, 1]}, r"rank_to_nic is \[0, 1\], wants 2 of 0..0"),
        ({"rank_to_nic": lambda local: -local}, r"rank_to_nic is \[0, -1\], wants"),
        ({"rank_to_nic": lambda local: local / 2}, r"rank_to_nic is \[0.0, 0.5\], wants"),
    ],
)
def test_bad_clusters_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        cluster(**changed)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Link(-1, 1), "alpha is -1, wants a finite number >= 0"),
        (lambda: Link(float("inf"), 1), "alpha is inf, wants"),
        (lambda: Link(0, 0), "bandwidth is 0, wants bytes per second > 0"),
        (lambda: Link(0, "25 GB/s"), "bandwidth is '25 GB/s', wants"),
        (lambda: Hockney(alpha=-1), "alpha is -1, wants"),
        (lambda: Hockney(beta=float("nan")), "beta is nan, wants"),
        (lambda: Hockney(gamma=None), "gamma is None, wants"),
        (lambda: Hockney(eager_limit=-8), "eager_limit is -8, wants"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ----------------------------------------------------------------------------- presets


def numbers(network):
    """Return all numbers of a network by name: fields, and fields of its links."""
    for field in fields(network):
        value = getattr(network, field.name)
        if isinstance(value, Link):
            yield from ((f"{field.name}.{name}", number) for name, number in numbers(value))
        elif value is not None:
            yield field.name, value


@pytest.mark.parametrize("entry", PRESETS.values(), ids=PRESETS)
def test_every_number_of_a_preset_has_a_source(entry):
    assert set(entry.sources) == set(dict(numbers(entry.network)))
    assert all(entry.sources.values())


@pytest.mark.parametrize("entry", PRESETS.values(), ids=PRESETS)
def test_the_page_about_the_model_says_the_same(entry):
    page = (Path(__file__).parents[2] / "docs/model.md").read_text()
    section = page.partition(f"### {entry.name}\n")[2].partition("\n### ")[0]
    rows = [f"| {name} | {x:g} | {entry.sources[name]} |" for name, x in numbers(entry.network)]
    assert f"{entry.summary}." in section
    assert [row for row in section.splitlines() if row.startswith("| ")][2:] == rows


@pytest.mark.parametrize("name", PRESETS)
def test_presets_run(name):
    def program(comm):
        allreduce_ring(comm, Phantom(1000), Phantom(1000))

    assert PRESETS[name].name == name
    assert 0 < simulate(program, 8, network=preset(name)).time < 1e-2


def test_unknown_preset_lists_those_there_are():
    with pytest.raises(ValueError, match="no network 'dgx'; there are a100-8x8, h100-8, "):
        preset("dgx")


@pytest.mark.parametrize(("cards", "channels"), [(8, 8), (4, 4), (2, 2)])
def test_flat_rings_on_the_chapters_cluster_take_what_their_cards_allow(cards, channels):
    p, nbytes = 64, 1.2e9

    def program(comm):
        vector = Phantom(int(nbytes) // 4, "float32")
        allreduce_multi_ring(comm, vector, vector.copy(), channels=channels, per_node=8)

    expected = 2 * (p - 1) / p * nbytes / (cards * 25e9 * 0.9)
    assert simulate(program, p, network=preset("a100-8x8")).time == pytest.approx(
        expected, rel=0.02
    )


# ------------------------------------------------------- what no algorithm can be faster than

CLUSTERED = Cluster(
    2, 4, intra=Link(3, 10), inter=Link(5, 4), nics_per_node=2, efficiency=0.5, gamma=0.25
)
ONE_PORT = Hockney(alpha=3, beta=0.125, gamma=0.25)


def least_time(network, collective, p, n):
    """Return a time below which no algorithm can stay, from `lower_bound`.

    Rounds, volume and combining are bounded one by one; as they can overlap, the time is at least
    the longest. In a cluster a rank may have all its messages under way at once, each a latency
    long: one latency is certain, no more. All its bytes go through its port and its card.
    """
    bound = lower_bound(collective, p, n).times(8)
    if isinstance(network, Hockney):
        latency, rate = bound.alphas * network.alpha, 1 / network.beta
    else:
        links = network.intra, network.inter
        latency = min(bound.alphas, 1) * min(link.alpha for link in links)
        rate = network.intra.bandwidth + network.inter.bandwidth * network.efficiency
    return max(latency, bound.betas / rate, bound.gammas * network.gamma)


def simulated_time(entry, p, n, network, options):
    """Return the time of an algorithm on phantoms; None where it cannot do it."""
    in_place = any(need.name == "in_place" for need in entry.requires)
    case = Case(entry.collective, p, n, in_place=in_place, chosen=tuple(options.items()))

    def program(comm):
        rank, other = comm.rank, comm.rank != case.root
        sent = None if case.form.from_root and other else Phantom(case.input_size(rank))
        received = None if case.form.to_root and other else Phantom(case.room(rank))
        case.call(entry.function, comm, sent, received)

    try:
        return simulate(program, p, network=network).time
    except UnsupportedError:
        return None


@pytest.mark.parametrize("network", [ONE_PORT, CLUSTERED], ids=["Hockney", "cluster"])
@pytest.mark.parametrize("collective", sorted({entry.collective for entry in algorithms()}))
def test_no_algorithm_beats_the_lower_bound(collective, network):
    ran = Counter()
    for entry in algorithms(collective):
        if entry.kind == "built-in":
            continue
        ran[entry.name] = 0
        for p, n, options in product((1, 2, 3, 4, 7, 8), (1, 5, 64), ({}, *entry.variants)):
            took = simulated_time(entry, p, n, network, options)
            least = least_time(network, collective, p, n)
            if took is not None:
                ran[entry.name] += 1
                assert took >= least * (1 - 1e-12), (entry.name, p, n, options, took, least)
    assert ran
    assert 0 not in ran.values()


# --------------------------------------------------- in which order messages go, exactly


class InOneHeap:
    """What `Departures` does, the plain way: whenever a port is free, look at all that wait."""

    def __init__(self, ports):
        self.ports, self.heap = ports, []

    def __bool__(self):
        return bool(self.heap)

    def add(self, send, time):
        heappush(self.heap, (time, time, send.number, send))

    def depart(self):
        now, since, number, send = heappop(self.heap)
        ends = send.sender.index, send.dest.index
        free = self.ports.free(*ends)
        if free > now:
            heappush(self.heap, (free, since, number, send))
            return None
        return send, *self.ports.carry(*ends, send.nbytes, now)


@pytest.mark.parametrize(
    "network",
    [
        Hockney(alpha=1, beta=0.5, gamma=1),
        Hockney(alpha=1, beta=0.5, gamma=1, eager_limit=2),
        LogGP(L=2, o=0.5, g=1, G=0.25, gamma=1),
        cluster(3, 2, gamma=1),
        cluster(3, 2, gamma=1, inter=Link(1, 2), eager_limit=2),
        cluster(2, 3, gamma=1, nics_per_node=2),
    ],
    ids=["Hockney", "Hockney, eager", "LogGP", "one card", "one card, eager", "two cards"],
)
def test_messages_go_first_come_first_served(network):
    for seed in range(60):
        messages = crowd(Random(seed))
        fast = outcome(network, messages)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "Departures", InOneHeap)
            assert fast == outcome(network, messages), messages


def crowd(random):
    """Return 30 messages (source, dest, bytes, seconds before) of 6 ranks, many at once."""
    return [
        (random.randrange(6), random.randrange(6), random.randrange(4), random.choice((0, 0, 1)))
        for _ in range(30)
    ]


def outcome(network, messages):
    """Return clocks, and when each message was sent and had arrived."""

    def program(comm):
        requests = []
        for source, dest, nbytes, wait in messages:
            if comm.rank in (source, dest):
                compute(wait)
            if comm.rank == source:
                requests.append(comm.Isend(data(nbytes), dest=dest))
            if comm.rank == dest:
                requests.append(comm.Irecv(data(nbytes), source=source))
        done = []
        for request in requests:
            request.Wait()
            done.append(request.operation.done)
        return done

    run = simulate(program, 6, network=network)
    return run.clocks, run.results


@pytest.mark.parametrize(
    "network", [Hockney(alpha=1, beta=1), cluster(12, 2)], ids=["Hockney", "cluster"]
)
def test_messages_that_wait_are_not_looked_at_again_and_again(network):
    p, looks = 24, Counter()
    ports = type(network.ports(p))
    free = ports.free

    def counted(self, source, dest):
        looks["all"] += 1
        return free(self, source, dest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ports, "free", counted)
        everybody_to_everybody = [(a, b, 5) for a in range(p) for b in range(p)]
        arrivals(network, *everybody_to_everybody)
    assert p * p < looks["all"] < 10 * p * p


# ------------------------------------------------------------------- what grows with what
#
# Not true in general: see test_a_faster_link_can_make_a_run_slower.

sizes = st.integers(1, 60)
rates = st.integers(1, 20)
latencies = st.integers(0, 5)
algorithms_without_sharing = pytest.mark.parametrize(
    "function", [allreduce_ring, allreduce_recursive_doubling, bcast_binomial]
)
short = settings(max_examples=50, deadline=None, derandomize=True, database=None)


def own_card_time(function, n, alphas, bandwidths):
    """Return the time of an algorithm where every rank has a card of its own."""
    intra, inter = map(Link, alphas, bandwidths)
    network = cluster(3, 2, intra=intra, inter=inter, nics_per_node=2, gamma=0.125)

    def program(comm):
        vectors = [Phantom(n) for _ in range(1 if function is bcast_binomial else 2)]
        function(comm, *vectors)

    return simulate(program, 6, network=network).time


@algorithms_without_sharing
@short
@given(st.lists(sizes, min_size=2, max_size=2), st.tuples(latencies, latencies),
       st.tuples(rates, rates))  # fmt: skip
def test_time_grows_with_the_size_where_nothing_is_shared(function, two_sizes, alphas, bandwidths):
    less, more = (own_card_time(function, n, alphas, bandwidths) for n in sorted(two_sizes))
    assert less <= more * (1 + 1e-12)


@algorithms_without_sharing
@short
@given(sizes, st.tuples(latencies, latencies), st.tuples(rates, rates), st.tuples(rates, rates))
def test_time_falls_with_the_bandwidth_where_nothing_is_shared(function, n, alphas, slow, more):
    fast = tuple(rate + extra for rate, extra in zip(slow, more, strict=True))
    assert own_card_time(function, n, alphas, fast) <= own_card_time(function, n, alphas, slow) * (
        1 + 1e-12
    )


flows_of_6_ranks = st.lists(st.tuples(*[st.integers(0, 5)] * 2, st.integers(0, 9)), max_size=30)


@short
@given(flows_of_6_ranks, st.integers(1, 5))
def test_sizes_and_latencies_scaled_alike_scale_the_time(flows, factor):
    scaled = [(source, dest, factor * nbytes) for source, dest, nbytes in flows]
    network = cluster(3, 2, intra=Link(1, 8), inter=Link(2, 2))
    slower = cluster(3, 2, intra=Link(factor, 8), inter=Link(2 * factor, 2))
    times = arrivals(network, *flows, size=6)
    assert arrivals(slower, *scaled, size=6) == [factor * time for time in times]


def test_a_faster_link_can_make_a_run_slower():
    def program(comm):
        alltoall_pairwise(comm, Phantom(6 * 59), Phantom(6 * 59))

    def time(bandwidth):
        network = cluster(3, 2, intra=Link(2, bandwidth), inter=Link(0, 5))
        return simulate(program, 6, network=network).time

    assert time(5) == pytest.approx(757.2)
    assert time(6) == pytest.approx(849.6)  # other messages come first at the shared cards
