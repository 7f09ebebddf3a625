"""Overlap of computation and communication in the backward pass of data parallel training."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from collectives.draw.figures.style import LIGHT, SIZE, Picture, Theme, page
from collectives.draw.text import nbytes as in_bytes
from collectives.draw.text import seconds as in_seconds
from collectives.training.timeline import Layer, Span, Timeline, schedule

LETTERS = 105
"""How many letters fit beside each other in a lane."""


def overlap(
    layers: Sequence[Layer],
    bucket_nbytes: int,
    reduce_time: Callable[[int], float],
    *,
    model: str = "",
    theme: Theme = LIGHT,
) -> Picture:
    """Draw the backward pass with and without overlap, a lane each for both kinds of work.

    Parameters
    ----------
    layers : sequence of Layer
        The first is the one next to the input; the backward pass begins with the last.
    bucket_nbytes : int
        Gradients are reduced when there are so many bytes of them.
    reduce_time : callable
        Seconds that an all-reduce of so many bytes takes; see `allreduce_time`.
    model : str, optional
        What `reduce_time` is, in words.
    """
    if not layers:
        raise ValueError("there are no layers: a backward pass has at least 1")
    alone = schedule(layers, bucket_nbytes, reduce_time, overlapped=False)
    both = schedule(layers, bucket_nbytes, reduce_time)
    with page(
        9.4, 3.1, theme=theme, caption=_caption(alone, both, model),
        title=f"Backward pass of {len(layers)} layers, gradients reduced in "
        f"{len(both.communication)} buckets of {in_bytes(bucket_nbytes)} or more",
    ) as sheet:  # fmt: skip
        panels = sheet.body.subplots(2, 1, sharex=True)
        sheet.body.subplots_adjust(left=0.125, right=0.985, bottom=0.15, top=0.93, hspace=0.32)
        longest = max(alone.end, both.end)
        unit, name = (1e3, "ms") if longest < 1 else (1.0, "s")
        for axes, timeline, title in zip(
            panels, (alone, both), ("one after the other", "overlapped"), strict=True
        ):
            _lanes(axes, timeline, unit, longest * unit or 1.0, theme)
            axes.set_title(f"{title}: {in_seconds(timeline.end)}", loc="left")
        panels[1].set_xlabel(f"time from the start of the backward pass ({name})")
    return sheet.picture(_alt(alone, both))


def _lanes(axes: Axes, timeline: Timeline, unit: float, longest: float, theme: Theme) -> None:
    """Draw compute above communication; what is not hidden is hatched."""
    finished = max(span.end for span in timeline.compute)
    axes.axvline(finished * unit, color=theme.muted, linestyle=":", linewidth=1)
    for lane, spans in ((1, timeline.compute), (0, timeline.communication)):
        for span in spans:
            start, end = span.start * unit, span.end * unit
            colour = theme.accents[1 - lane]
            hidden = lane == 1 or span.end <= finished
            pieces = [(start, end, hidden)]
            if lane == 0 and span.start < finished < span.end:
                pieces = [(start, finished * unit, True), (finished * unit, end, False)]
            for begin, stop, plain in pieces:
                axes.barh(
                    lane, stop - begin, 0.7, begin, facecolor=theme.paper if not plain else colour,
                    hatch="" if plain else "////", edgecolor=colour if not plain else theme.paper,
                    linewidth=0.6, gid="hidden" if plain else "exposed",
                )  # fmt: skip
            axes.barh(
                lane, end - start, 0.7, start, facecolor="none", edgecolor=theme.ink, linewidth=0.8,
                gid=("bucket", "layer")[lane],
            )  # fmt: skip
            name = _name(span, lane)
            if (end - start) / longest * LETTERS > len(name) + 0.5:
                axes.text(
                    (start + end) / 2, lane, name, ha="center", va="center", size=SIZE - 1.5,
                    color=theme.ink, bbox={"facecolor": theme.paper, "edgecolor": "none",
                                           "pad": 0.8, "alpha": 0.85},
                )  # fmt: skip
    axes.set(xlim=(0, longest * 1.005), ylim=(-0.5, 1.5))
    axes.set_yticks([1, 0], ["compute", "communicate"])
    axes.spines[["top", "right"]].set_visible(False)


def _name(span: Span, lane: int) -> str:
    if lane == 1 or len(span.layers) == 1:
        return f"L{span.layers[0]}"
    return f"L{span.layers[0]}-{span.layers[-1]}"


def _caption(alone: Timeline, both: Timeline, model: str) -> str:
    total = sum(span.end - span.start for span in both.communication)
    finished = both.compute[-1].end
    after = both.end - finished
    return (
        f"{both.hidden:.0%} of the communication ({in_seconds(total)} in all) is hidden behind "
        f"the computation ({in_seconds(finished)}); {in_seconds(after)}, hatched, is not, so that "
        f"the pass takes {in_seconds(both.end)} instead of {in_seconds(alone.end)}. The last "
        "bucket can never be hidden: its gradients come last. Computed with a schedule in which "
        "neither lane slows the other down" + (f"; all-reduce: {model}." if model else ".")
    )


def _alt(alone: Timeline, both: Timeline) -> str:
    buckets = "; ".join(
        f"{_name(span, 0)}, {in_bytes(span.nbytes)}, from {in_seconds(span.start)} to "
        f"{in_seconds(span.end)}"
        for span in both.communication
    )
    return (
        f"Two timelines with a lane for computation and one for communication. One after the "
        f"other the pass takes {in_seconds(alone.end)}, overlapped {in_seconds(both.end)}. "
        f"Overlapped, the buckets are reduced so: {buckets}."
    )
