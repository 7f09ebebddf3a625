"""The figure of single messages: a ping-pong with its fit, and Send to a late receiver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import EngFormatter

from collectives.draw.figures.style import LIGHT, Picture, Theme, page
from collectives.draw.text import nbytes, seconds
from collectives.teach.messages import LATE, fit


def message_figure(
    times: Sequence[tuple[int, float]],
    waits: Mapping[int, float],
    edge: tuple[int, int],
    how: str,
    *,
    theme: Theme = LIGHT,
) -> Picture:
    """Draw what `collectives.teach.messages` found; `how` says measured or simulated."""
    alpha, beta = fit(times)
    _, high = edge
    kink = f"waits for it from {high} B on" if high else "never waits for it"
    caption = (
        f"One way of a ping-pong takes {seconds(alpha)} and a second for {nbytes(1 / beta)}. "
        f"Send to a receiver that comes {seconds(LATE)} late {kink}."
    )
    with page(9, 3.6, title=f"What a message costs ({how})", caption=caption, theme=theme) as sheet:
        left, right = sheet.body.subplots(1, 2)
        sheet.body.subplots_adjust(left=0.09, right=0.98, bottom=0.14, top=0.95, wspace=0.25)
        sizes = np.array([size for size, _ in times])
        left.plot(*zip(*times, strict=True), "o", label="one way of a ping-pong")
        left.plot(sizes, alpha + sizes * beta, "--", color=theme.muted, label="alpha + bytes beta")
        right.plot(*zip(*sorted(waits.items()), strict=True), "s-", label="Send")
        if high:
            right.axvline(high, color=theme.muted, linestyle=":", label="eager limit")
        for axes in (left, right):
            axes.set(xlabel="message", ylabel="time", xscale="log", yscale="log")
            for axis, unit in ((axes.xaxis, "B"), (axes.yaxis, "s")):
                axis.set_major_formatter(EngFormatter(unit=unit))
                axis.set_minor_formatter(lambda *_: "")
            axes.legend(frameon=False)
    return sheet.picture(f"Two plots of time against message size. {caption}")
