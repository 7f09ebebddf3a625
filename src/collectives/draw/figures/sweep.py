"""Simulated time against what was swept: sizes, ranks, or values of an option."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from collectives.draw import sweeps
from collectives.draw.figures.style import (
    DASHES,
    LIGHT,
    MARKERS,
    Picture,
    Theme,
    page,
    time_against_size,
)
from collectives.draw.text import seconds as in_seconds
from collectives.study import Simulated

AXES = {"nbytes": "vector (bytes)", "p": "ranks", "nics": "network cards of a node"}


def sweep_times(
    outcomes: Sequence[sweeps.Outcome], network: str, *, theme: Theme = LIGHT
) -> Picture:
    """Draw simulated time against what was swept, with a line for each of everything else.

    Parameters
    ----------
    outcomes : sequence of Simulated or Refused
        What was simulated. Of size, ranks, options and cards, the first that has several values
        goes to the right.
    network : str
        What to call the network.
    """
    names = sweeps.varied(outcomes)
    if not names:
        raise ValueError("a plot is of a sweep: give several sizes, ranks or values of an option")
    along, *others = sorted(names, key=lambda name: name != "nbytes")
    places = sorted({row[along] for row in map(sweeps.asked, outcomes) if along in row})
    lines, least = _lines(outcomes, along, others, places)
    title = sweeps.in_common(outcomes, network)
    with page(
        9.4, 4.4, theme=theme, title=f"{title[0].upper()}{title[1:]}",
        caption="Every time is simulated." + " Least: what no algorithm can beat." * bool(least),
    ) as sheet:  # fmt: skip
        axes = sheet.body.subplots()
        sheet.body.subplots_adjust(left=0.08, right=0.68, bottom=0.13, top=0.97)
        axes.set(xscale="log", yscale="log")
        for look, (label, times) in enumerate(lines.items()):
            axes.plot(
                list(times), list(times.values()), label=label, marker=MARKERS[look % len(MARKERS)],
                linestyle=DASHES[look % len(DASHES)],
                color=theme.accents[look % len(theme.accents)], markersize=5,
            )  # fmt: skip
        if least:
            axes.plot(*zip(*least.items(), strict=True), color=theme.faint, linewidth=4,
                      linestyle="-", label="least", zorder=0)  # fmt: skip
        time_against_size(axes, AXES.get(along, along))
        if along != "nbytes":
            axes.set_xticks(places, [str(place) for place in places])
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False)
    return sheet.picture(f"{title}: {'; '.join(_points(lines))}.")


def _lines(
    outcomes: Sequence[sweeps.Outcome], along: str, others: Sequence[str], places: Sequence[int]
) -> tuple[dict[str, dict[int, float]], dict[int, float]]:
    """Return the lines by their labels, and the lower bound where all of them have the same."""
    lines: dict[str, dict[int, float]] = defaultdict(dict)
    bounds: dict[int, set[float]] = defaultdict(set)
    for outcome in outcomes:
        row: dict[str, Any] = sweeps.asked(outcome)
        if isinstance(outcome, Simulated):
            rest = [f"{name} {sweeps.value(name, row[name])}" for name in others if name in row]
            for place in [row[along]] if along in row else places:  # the same all along
                lines[", ".join([row["algorithm"], *rest])][place] = outcome.time_s
                bounds[place].add(outcome.lower_bound_s)
    shared = all(len(found) == 1 and min(found) > 0 for found in bounds.values())
    return lines, {place: min(bounds[place]) for place in sorted(bounds)} if shared else {}


def _points(lines: dict[str, dict[int, float]]) -> list[str]:
    """Return each line in words: its first and its last point."""
    words = []
    for label, times in lines.items():
        first, *_, last = [*times.items(), list(times.items())[-1]]
        words.append(
            f"{label}: {in_seconds(first[1])} at {first[0]}, {in_seconds(last[1])} at {last[0]}"
        )
    return words
