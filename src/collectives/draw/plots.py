"""Plots of times, measured or simulated, as PNG or SVG, made with Matplotlib."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collectives.bench import Row
    from collectives.draw.sweeps import Outcome


def times(rows: Sequence[Row], file: Path, name: str = "") -> None:
    """Draw time against size, a panel per collective: built-in, step by step, and the model.

    Parameters
    ----------
    rows : sequence of Row
        What `collectives.bench.measure` returned.
    file : Path
        Where to; the ending decides the format.
    name : str, optional
        The algorithm to show; the best of each size where not given.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    collectives = list(dict.fromkeys(row.collective for row in rows))
    columns = min(3, len(collectives))
    lines = -(-len(collectives) // columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(4 * columns, 3 * lines), squeeze=False, layout="constrained"
    )
    for axis, collective in zip(axes.flat, collectives, strict=False):
        mine = [row for row in rows if row.collective == collective]
        sizes = [row.nbytes for row in mine]
        shown = [name or row.best for row in mine]
        step = [row.times[algorithm] for row, algorithm in zip(mine, shown, strict=True)]
        model = [row.models[algorithm] for row, algorithm in zip(mine, shown, strict=True)]
        axis.loglog(sizes, [row.times["builtin"] for row in mine], "s-", label="built-in")
        axis.loglog(sizes, step, "o--", label=name or "best step by step")
        axis.loglog(sizes, model, ":", color="grey", label="model")
        axis.set(title=collective, xlabel="vector (bytes)", ylabel="time (s)")
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(collectives) :]:
        axis.remove()
    axes.flat[0].legend()
    figure.savefig(file)
    pyplot.close(figure)


def sweep_times(outcomes: Sequence[Outcome], file: Path, network: str) -> None:
    """Draw simulated time against what was swept, with a line for each of everything else.

    Parameters
    ----------
    outcomes : sequence of Simulated or Refused
        What was simulated. Of size, ranks, options and cards, the first that has several values
        goes to the right. Lines differ in marker and dashes, not by colour alone.
    file : Path
        Where to; the ending decides the format.
    network : str
        What to call the network.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    from collectives.draw.sweeps import asked, in_common, value, varied
    from collectives.study import Simulated

    names = varied(outcomes)
    if not names:
        raise ValueError("--plot draws a sweep: give several sizes, ranks or values of an option")
    along, *others = sorted(names, key=lambda name: name != "nbytes")
    places = sorted({asked(outcome)[along] for outcome in outcomes if along in asked(outcome)})
    lines: dict[str, dict[int, float]] = defaultdict(dict)
    least: dict[int, set[float]] = defaultdict(set)
    for outcome in outcomes:
        row = asked(outcome)
        if isinstance(outcome, Simulated):
            rest = [f"{name} {value(name, row[name])}" for name in others if name in row]
            for place in [row[along]] if along in row else places:  # the same all along
                lines[", ".join([row["algorithm"], *rest])][place] = outcome.time_s
                least[place].add(outcome.lower_bound_s)
    figure, axis = pyplot.subplots(figsize=(8.5, 4.5), layout="constrained")
    for number, (label, times) in enumerate(lines.items()):
        marker, dashes = MARKERS[number % len(MARKERS)], DASHES[number % len(DASHES)]
        axis.loglog(list(times), list(times.values()), dashes, marker=marker, label=label)
    if all(len(found) == 1 and min(found) > 0 for found in least.values()):
        bounds = {place: min(least[place]) for place in sorted(least)}
        axis.loglog(*zip(*bounds.items(), strict=True), color="0.8", linewidth=4, label="least")
    if along == "nbytes":
        axis.xaxis.set_major_formatter(ticker.EngFormatter(unit="B"))
    else:
        axis.set_xticks(places, [str(place) for place in places])
        axis.xaxis.set_minor_locator(ticker.NullLocator())
    low, high = axis.get_ylim()
    if high < 100 * low:
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(ticker.EngFormatter(unit="s"))
    axis.yaxis.set_minor_formatter(ticker.NullFormatter())
    axis.set(xlabel=AXES.get(along, along), ylabel="time, simulated")
    axis.set_title("\n".join(textwrap.wrap(in_common(outcomes, network), 70)), fontsize="medium")
    axis.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small")
    figure.savefig(file)
    pyplot.close(figure)


AXES = {"nbytes": "vector", "p": "ranks", "nics": "network cards of a node"}
MARKERS, DASHES = "osD^vP*Xh", ("-", "--", "-.", ":")
