"""Measured time against size: the MPI library's call, the steps in Python, and the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from collectives.draw.figures.style import (
    DASHES,
    LIGHT,
    MARKERS,
    Picture,
    Theme,
    page,
    time_against_size,
)
from collectives.draw.text import many, nbytes, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from collectives.bench import Row

ACROSS = 3
"""Most panels beside each other."""


def bench_times(rows: Sequence[Row], p: int, name: str = "", *, theme: Theme = LIGHT) -> Picture:
    """Draw what `collectives.bench.measure` found, a panel per collective.

    Parameters
    ----------
    rows : sequence of Row
    p : int
        The number of ranks.
    name : str, optional
        The algorithm to show; the best at each size where not given.
    theme : Theme
    """
    collectives = list(dict.fromkeys(row.collective for row in rows))
    across = min(ACROSS, len(collectives))
    down = -(-len(collectives) // across)
    told = []
    wide, tall = max(6.4, 4.0 * across), 3.2 * down
    what = collectives[0] if len(collectives) == 1 else f"{len(collectives)} collectives"
    with page(
        wide, tall, theme=theme,
        title=f"{what} on {many(p, 'rank')}: measured time against size",
        caption="Medians of the slowest rank, measured. The model, fitted by ping-pong, is that of "
        "the algorithm that is shown.",
    ) as sheet:  # fmt: skip
        panels = sheet.body.subplots(down, across, squeeze=False)
        sheet.body.subplots_adjust(
            left=0.75 / wide, right=1 - 0.25 / wide, bottom=0.5 / tall, top=1 - 0.3 / tall,
            wspace=0.3, hspace=0.4,
        )  # fmt: skip
        for axes, collective in zip(panels.flat, collectives, strict=False):
            told += _panel(axes, collective, rows, name, theme)
        for axes in panels.flat[len(collectives) :]:
            axes.remove()
        panels.flat[0].legend(frameon=False)
    return sheet.picture(f"Logarithmic plots of time against size. {'; '.join(told)}.")


def _panel(axes: Axes, collective: str, rows: Sequence[Row], name: str, theme: Theme) -> list[str]:
    """Draw the lines of one collective; return in words what they show."""
    mine = [row for row in rows if row.collective == collective]
    chosen = [(row, name or row.best) for row in mine]
    lines = {
        "built-in": [row.times["builtin"] for row in mine],
        name or "best step by step": [row.times[each] for row, each in chosen],
        "model": [row.models[each] for row, each in chosen],
    }
    axes.set(xscale="log", yscale="log", title=collective)
    for look, (label, times) in enumerate(lines.items()):
        axes.plot(
            [row.nbytes for row in mine], times, label=label, color=theme.accents[look],
            linestyle=DASHES[look], marker="" if label == "model" else MARKERS[look],
        )  # fmt: skip
    time_against_size(axes, "vector (bytes)")
    return [
        f"{collective} of {nbytes(row.nbytes)}: built-in {seconds(row.times['builtin'])}, "
        f"{each} {seconds(row.times[each])}"
        for row, each in chosen
    ]
