"""Time against size in the alpha-beta-gamma model, with the sizes at which the best changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from matplotlib.axes import Axes

from collectives.draw.figures.style import (
    DASHES,
    LIGHT,
    MARKERS,
    SIZE,
    Picture,
    Theme,
    page,
    time_against_size,
)
from collectives.draw.text import nbytes as in_bytes
from collectives.draw.text import seconds as in_seconds
from collectives.registry import find
from collectives.sim.network import Hockney


@dataclass(frozen=True)
class Crossover:
    """Where one algorithm takes over from another as the fastest of all.

    Attributes
    ----------
    before, after : str
        The fastest below and above.
    nbytes, seconds : float
        Where the two lines meet, each straight from one number of elements to the next.
    """

    before: str
    after: str
    nbytes: float
    seconds: float


def model(
    collective: str, name: str, p: int, network: Hockney, itemsize: int = 4
) -> Callable[[int], float]:
    """Return the time of an algorithm in s, for n elements; what n counts, its cost function says.

    Examples
    --------
    >>> model("allreduce", "recursive_doubling", 8, Hockney(alpha=1, beta=0.01))(100)
    15.0
    """
    cost = find(collective, name).cost
    if cost is None:
        raise ValueError(f"{collective}/{name} has no cost function")

    @cache
    def time(n: int) -> float:
        return cost(p, n).times(itemsize).time(network.alpha, network.beta, network.gamma)

    return time


def crossovers(
    times: Mapping[str, Callable[[int], float]], counts: Sequence[int], itemsize: int = 4
) -> list[Crossover]:
    """Return where the fastest changes, among the first and the last of `counts`.

    Between two neighbouring counts no more than one change is found. Each is located to a single
    element by bisection, and within it on the straight line. Where blocks get one element more one
    after the other, lines are stairs, which cross several times within p elements: it is one of
    these.

    Examples
    --------
    >>> crossovers({"flat": lambda n: 10.0, "steep": lambda n: 1.0 + 2 * n}, [1, 100])
    [Crossover(before='steep', after='flat', nbytes=18.0, seconds=10.0)]
    """

    def best(n: int) -> str:
        return min(times, key=lambda name: times[name](n))

    found = []
    for low, high in pairwise(counts):
        before, after = best(low), best(high)
        if before == after:
            continue

        def gain(n: int, old: str = before, new: str = after) -> float:
            return times[old](n) - times[new](n)

        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if gain(middle) > 0 else (middle, high)
        here, there = gain(low), gain(high)
        share = here / (here - there) if here < there else 0.0
        lines = [times[before](low), times[before](high)]
        time = lines[0] + share * (lines[1] - lines[0])
        found.append(Crossover(before, after, (low + share) * itemsize, time))
    return found


def alpha_beta(
    collective: str,
    names: Sequence[str],
    p: int,
    network: Hockney,
    *,
    measured: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    eager_limit: int | None = None,
    sizes: tuple[int, int] = (8, 1 << 28),
    itemsize: int = 4,
    theme: Theme = LIGHT,
) -> Picture:
    """Draw the time of several algorithms against the size, both on logarithmic axes.

    Parameters
    ----------
    collective : str
    names : sequence of str
        Up to six algorithms that have cost functions.
    p : int
        Ranks.
    network : Hockney
        Its alpha, beta and gamma.
    measured : mapping, optional
        Pairs (bytes, seconds) that were measured, by the name of the algorithm.
    eager_limit : int, optional
        Bytes of a message from which on it waits for its receiver; of the network if it has one.
    sizes : (int, int)
        First and last size in bytes.
    itemsize : int
        Bytes per element.
    """
    if not 1 <= len(names) <= len(DASHES):
        raise ValueError(f"got {len(names)} algorithms, wants 1 to {len(DASHES)}")
    if not itemsize <= sizes[0] < sizes[1]:
        raise ValueError(f"sizes are {sizes}, wants {itemsize} <= first < last")
    times = {name: model(collective, name, p, network, itemsize) for name in names}
    first, last = (size / itemsize for size in sizes)
    steps = 96
    counts = sorted({round(first * (last / first) ** (i / steps)) for i in range(steps + 1)})
    if not any(time(counts[-1]) for time in times.values()):
        raise ValueError(f"on {p} ranks these take no time, which has no place on a plot")
    changes = crossovers(times, counts, itemsize)
    limit = network.eager_limit if eager_limit is None else eager_limit
    what = _what(collective)
    with page(
        9.4, 4.4, theme=theme, title=f"{collective} on {p} ranks: time against size",
        caption=_caption(times, changes, counts, network, what, itemsize, bool(measured)),
    ) as sheet:  # fmt: skip
        axes = sheet.body.subplots()
        sheet.body.subplots_adjust(left=0.1, right=0.985, bottom=0.12, top=0.97)
        axes.set(xscale="log", yscale="log")
        for look, (name, time) in enumerate(times.items()):
            x, y = [n * itemsize for n in counts], [time(n) or math.nan for n in counts]
            axes.plot(
                x, y, color=theme.accents[look], linestyle=DASHES[look], linewidth=1.8,
                marker=MARKERS[look], markevery=(4 + look * 2, 16), markersize=5, label=name,
                gid=f"model-{name}",
            )  # fmt: skip
            dots = (measured or {}).get(name, ())
            if dots:
                axes.plot(
                    *zip(*dots, strict=True), linestyle="none", marker=MARKERS[look], markersize=7,
                    markerfacecolor="none", markeredgecolor=theme.accents[look],
                    markeredgewidth=1.4, label=f"{name}, measured", gid=f"measured-{name}",
                )  # fmt: skip
        _mark(axes, changes, theme)
        axes.set_xlim(sizes)
        if limit and sizes[0] < limit < sizes[1]:
            axes.axvline(limit, color=theme.muted, linestyle=(0, (2, 2)), linewidth=1, gid="eager")
            axes.text(
                limit, 0.02, f" eager limit of a message, {in_bytes(limit)}", color=theme.muted,
                transform=axes.get_xaxis_transform(), size=SIZE - 1,
                bbox={"facecolor": theme.paper, "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
            )  # fmt: skip
        time_against_size(axes, f"{what} (bytes)")
        axes.legend(loc="upper left", frameon=False)
    return sheet.picture(_alt(collective, p, times, changes, counts, itemsize, measured or {}))


def _what(collective: str) -> str:
    vector = ("bcast", "reduce", "allreduce", "scan", "exscan")
    return "vector" if collective in vector else "block of a rank"


def _mark(axes: Axes, changes: Sequence[Crossover], theme: Theme) -> None:
    for i, change in enumerate(changes):
        axes.plot(
            change.nbytes, change.seconds, "o", markersize=11, markerfacecolor="none",
            markeredgecolor=theme.ink, markeredgewidth=1.4, gid="crossover",
        )  # fmt: skip
        axes.plot(
            [change.nbytes] * 2, [0, 1], transform=axes.get_xaxis_transform(), color=theme.ink,
            linestyle="-", linewidth=0.6, zorder=0.5,
        )  # fmt: skip
        axes.text(
            change.nbytes, 0.97 - 0.055 * (i % 3),
            f" from {in_bytes(change.nbytes)}: {change.after}",
            transform=axes.get_xaxis_transform(),
            va="top", size=SIZE - 1,
            bbox={"facecolor": theme.paper, "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
        )  # fmt: skip


def _caption(
    times: Mapping[str, Callable[[int], float]], changes: Sequence[Crossover],
    counts: Sequence[int], network: Hockney, what: str, itemsize: int, measured: bool,
) -> str:  # fmt: skip
    fastest = min(times, key=lambda name: times[name](counts[0]))
    if len(times) == 1:
        story = f"The model of {fastest}"
    elif not changes:
        story = f"{fastest} is the fastest of these at every size"
    else:
        steps = ", ".join(f"{c.after} from {in_bytes(c.nbytes)} on" for c in changes)
        story = f"{fastest} is the fastest of these for a small {what}, {steps}"
    return (
        f"{story}. Lines are the model, alpha = {in_seconds(network.alpha)}, beta = "
        f"{_per_byte(network.beta)}, gamma = {_per_byte(network.gamma)}, elements of {itemsize} "
        "bytes; rings are where the fastest changes"
        + ("; hollow marks are measured." if measured else "; nothing here is measured.")
    )


def _per_byte(time: float) -> str:
    return f"1 s / {in_bytes(round(1 / time))}" if 0 < time < 1 else f"{time:g} s/byte"


def _alt(
    collective: str, p: int, times: Mapping[str, Callable[[int], float]],
    changes: Sequence[Crossover], counts: Sequence[int], itemsize: int,
    measured: Mapping[str, Sequence[tuple[float, float]]],
) -> str:  # fmt: skip
    lines = "; ".join(
        f"{name} from {in_seconds(time(counts[0]))} to {in_seconds(time(counts[-1]))}"
        for name, time in times.items()
    )
    marks = "; ".join(
        f"at {in_bytes(c.nbytes)} and {in_seconds(c.seconds)} {c.after} takes over from {c.before}"
        for c in changes
    )
    dots = ", ".join(f"{len(pairs)} of {name}" for name, pairs in measured.items())
    return (
        f"Logarithmic plot of the time of {collective} on {p} ranks, from "
        f"{in_bytes(counts[0] * itemsize)} to {in_bytes(counts[-1] * itemsize)}: {lines}. "
        f"Crossovers: {marks or 'none'}. Measured dots: {dots or 'none'}."
    )
