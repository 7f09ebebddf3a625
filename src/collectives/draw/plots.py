"""Plots of measured times, as PNG or SVG, made with Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collectives.bench import Row


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
