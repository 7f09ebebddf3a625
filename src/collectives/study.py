"""What-if: how long collectives take on networks that are not there. All of it is simulated.

`simulated` runs one call on `collectives.sim` with arrays that have a size and no data; `sweep`
lists the calls of every combination of sizes, ranks, networks, algorithms and their options.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from collectives import arguments
from collectives.cost import lower_bound
from collectives.oracle.cases import Case
from collectives.registry import Algorithm
from collectives.sim import Cluster, Hockney, LogGP, Network, Phantom, SimComm, simulate

DTYPE = np.dtype(np.float32)
"""Of what vectors are made: gradients, most often."""


@dataclass(frozen=True)
class Simulated:
    """One simulated call.

    Attributes
    ----------
    call : Point
        What was called.
    nbytes : int
        The size of the whole vector, of all blocks together where ranks bring or get blocks.
    time_s : float
        The virtual time at which the last rank returned.
    messages, sent : int
        Messages and bytes that all ranks sent together.
    lower_bound_s : float
        A time that no algorithm can beat on this network, see `least_time`.
    """

    call: Point
    nbytes: int
    time_s: float
    messages: int
    sent: int
    lower_bound_s: float


@dataclass(frozen=True)
class Point:
    """One call to simulate: an algorithm with its options, p ranks, a vector, a network."""

    algorithm: Algorithm
    p: int
    nbytes: int
    network: Network
    options: Mapping[str, Any]

    def run(self) -> Simulated:
        """Simulate the call; ValueError where it cannot be made."""
        n, rest = divmod(self.nbytes, DTYPE.itemsize)
        if rest or n < 0:
            raise ValueError(
                f"nbytes is {self.nbytes}, wants a multiple of {DTYPE.itemsize}: {DTYPE} elements"
            )
        case = Case(self.algorithm.collective, self.p, n)
        if case.by_blocks:
            case = replace(case, n=n // self.p)
        case = replace(case, chosen=tuple(self.options.items()))
        form = case.form

        def program(comm: SimComm) -> None:
            rank, other = comm.rank, comm.rank != case.root
            sent = None if form.from_root and other else Phantom(case.input_size(rank), DTYPE)
            received = None if form.to_root and other else Phantom(case.room(rank), DTYPE)
            case.call(self.algorithm.function, comm, sent, received)

        run = simulate(program, self.p, network=self.network)
        whole = case.n * self.p if case.by_blocks else case.n
        return Simulated(
            self,
            whole * DTYPE.itemsize,
            run.time,
            sum(run.messages),
            sum(run.nbytes),
            least_time(self.algorithm.collective, self.p, case.n, self.network),
        )


@dataclass(frozen=True)
class Refused:
    """A call that cannot be made, and why."""

    call: Point
    reason: str


def attempt(call: Point) -> Simulated | Refused:
    """Simulate a call, or say why it cannot be made."""
    try:
        return call.run()
    except ValueError as error:  # UnsupportedError too
        return Refused(call, str(error))


def simulated(
    algorithm: Algorithm, p: int, nbytes: int, network: Network, **options: Any
) -> Simulated:
    """Simulate one call of `algorithm` on p ranks of `network`.

    Parameters
    ----------
    algorithm : Algorithm
        As `collectives.find` returns it.
    p : int
        The number of ranks.
    nbytes : int
        The size of the whole vector of float32 elements; where ranks bring or get blocks it is
        cut into p equal ones, and a rest is left out.
    network : Network
        Such as ``preset("a100-8x8")``.
    **options
        Options of the algorithm. On a `Cluster`, ``per_node`` is that of the cluster unless given.

    Examples
    --------
    >>> from collectives import find
    >>> from collectives.sim import preset
    >>> ring = find("allreduce", "multi_ring")
    >>> one = simulated(ring, 64, 1_200_000_000, preset("a100-8x8"), channels=1)
    >>> f"{one.time_s * 1e3:.1f} ms, {one.messages} messages"
    '105.1 ms, 8064 messages'
    """
    return Point(algorithm, p, nbytes, network, chosen(algorithm, network, options)).run()


def sweep(
    algorithms: Iterable[Algorithm],
    ranks: Sequence[int],
    sizes: Sequence[int],
    networks: Sequence[Network],
    options: Mapping[str, Sequence[Any]],
) -> list[Point]:
    """Return every combination once; an algorithm is given those options that it takes.

    Raises
    ------
    ValueError
        If there is an option that none of the algorithms takes.
    """
    algorithms = list(algorithms)
    for name in options:
        if not any(name in options_of(entry) for entry in algorithms):
            raise ValueError(_no_option(name, algorithms))
    points = []
    for entry in algorithms:
        taken = {name: values for name, values in options.items() if name in options_of(entry)}
        numbers = map(dict.fromkeys, (ranks, sizes, *taken.values()))  # each once
        for network, p, nbytes, *values in product(networks, *numbers):
            given = chosen(entry, network, dict(zip(taken, values, strict=True)))
            points.append(Point(entry, p, nbytes, network, given))
    return points


def _no_option(name: str, algorithms: Sequence[Algorithm]) -> str:
    known = dict.fromkeys(option for entry in algorithms for option in options_of(entry))
    who = str(algorithms[0]) if len(algorithms) == 1 else "none of these algorithms"
    takes = "has no option" if len(algorithms) == 1 else "takes"
    return f"{who} {takes} {name!r}; there is {', '.join(known) or 'none'}"


def options_of(algorithm: Algorithm) -> dict[str, Any]:
    """Return the numbers that an algorithm takes and its collective does not, with their defaults.

    Examples
    --------
    >>> from collectives import find
    >>> options_of(find("allreduce", "multi_ring"))
    {'channels': 2, 'per_node': 4}
    """
    shared = inspect.signature(getattr(arguments, algorithm.collective)).parameters
    own = inspect.signature(algorithm.function).parameters
    defaults = {name: own[name].default for name in own if name not in shared}
    return {name: value for name, value in defaults.items() if isinstance(value, int)}


def chosen(algorithm: Algorithm, network: Network, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a call: those given, the cluster's ``per_node``, and defaults."""
    known = options_of(algorithm)
    for name in given:
        if name not in known:
            raise ValueError(_no_option(name, [algorithm]))
    if "per_node" in known and isinstance(network, Cluster):
        known["per_node"] = network.ranks_per_node
    return known | dict(given)


def least_time(collective: str, p: int, n: int, network: Network) -> float:
    """Return a time that no algorithm can beat, in seconds; 0 where nothing is known.

    It is `collectives.cost.lower_bound` with the network's numbers. On a cluster a rank can use
    its port and its card at the same time, and messages do not hold them for their latency: so
    latency counts once. Ranks of one node use their ports alone. If p ranks fill several nodes,
    what must leave a node bounds the time as well.
    """
    itemsize = DTYPE.itemsize
    least = lower_bound(collective, p, n).times(itemsize)
    if isinstance(network, Hockney):
        return least.time(network.alpha, network.beta, network.gamma)
    if isinstance(network, LogGP):
        per_byte = min(network.G, max(network.o, network.g))  # gaps stand between messages instead
        return (least.betas - 1) * per_byte + 2 * network.o + network.L if least.betas else 0.0
    if not isinstance(network, Cluster):
        return 0.0
    intra, inter, per_node = network.intra, network.inter, network.ranks_per_node
    port, card = intra.bandwidth, inter.bandwidth * network.efficiency
    one_node = p <= per_node
    latency = min(least.alphas, 1) * (intra.alpha if one_node else min(intra.alpha, inter.alpha))
    rate = port if one_node else port + card
    seconds = [least.betas / rate, least.gammas * network.gamma]
    if not one_node and p % per_node == 0:
        per_block = Case(collective, p).by_blocks
        together = per_node ** (2 if collective == "alltoall" else 1) if per_block else 1
        leaving = lower_bound(collective, p // per_node, n * together).times(itemsize)
        seconds.append(leaving.betas / (card * len(set(network.nics))))
        latency = max(latency, min(leaving.alphas, 1) * inter.alpha)
    return latency + max(seconds)
