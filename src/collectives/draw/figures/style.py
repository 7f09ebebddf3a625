"""What all figures share: page, themes, and pictures that save themselves.

Colour is never the first signal: shapes, line styles, hatches and words come first.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import matplotlib
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from collectives.draw.figures.svg import lighter
from collectives.draw.text import nbytes, seconds


@dataclass(frozen=True)
class Theme:
    """Colours of a figure: paper and ink, two greys, and accents that colour-blind people can tell.

    The accents are from Okabe and Ito, "Color Universal Design" (2008), in an order in which
    neighbours also differ in lightness.
    """

    name: str
    paper: str
    ink: str
    muted: str
    faint: str
    accents: tuple[str, ...]


LIGHT = Theme(
    "light", "#ffffff", "#1a1a1a", "#5a5a5a", "#dcdcdc",
    ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
)  # fmt: skip
DARK = Theme(
    "dark", "#16191d", "#f0f0f0", "#b0b4ba", "#3c4148",
    ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00"),
)  # fmt: skip

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---")
DASHES = ("-", "--", ":", "-.", (0, (8, 2, 1, 2, 1, 2)), (0, (1, 4)))
"""One per accent, used together with it."""

SIZE = 9
"""Points of ordinary text."""


@dataclass(frozen=True)
class Picture:
    """A figure with its caption, which is drawn below it, and a description in words.

    Attributes
    ----------
    figure : Figure
    caption : str
        The fact that the figure shows.
    alt : str
        What is seen, for people who do not see it.
    title : str
    """

    figure: Figure
    caption: str
    alt: str
    title: str = "Figure"

    def save(self, path: str | Path) -> None:
        """Write an SVG or PNG file, as the ending of `path` says."""
        path = Path(path)
        if path.suffix == ".svg":
            path.write_text(self.svg(), encoding="utf-8")
        elif path.suffix == ".png":
            self._print(path, format="png", dpi=150, metadata={"Software": None})
        else:
            raise ValueError(f"{path.name} should end in .svg or .png")

    def svg(self) -> str:
        """Return the figure as SVG, the same text for the same figure every time."""
        file = io.StringIO()
        self._print(file, format="svg", metadata={"Date": None, "Creator": None})
        words = "".join(
            f"<{tag}>{escape(printable(text))}</{tag}>\n"
            for tag, text in (("title", self.title), ("desc", self.alt))
        )
        return re.sub(
            r"<svg ([^>]*)>\n", lambda tag: f'<svg role="img" {tag[1]}>\n{words}',
            lighter(file.getvalue()), count=1,
        )  # fmt: skip

    def _print(self, file: Any, **options: Any) -> None:
        for text in self.figure.findobj(Text):
            assert isinstance(text, Text)
            text.set_parse_math(False)  # a dollar sign in a name is a dollar sign
            text.set_text(printable(text.get_text()))
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "collectives"}):
            self.figure.savefig(file, facecolor=self.figure.get_facecolor(), **options)


@dataclass(frozen=True)
class Page:
    """A figure under construction: draw on `body`, then ask for the `picture`."""

    figure: Figure
    body: SubFigure
    title: str
    caption: str
    theme: Theme = field(repr=False)

    def picture(self, alt: str) -> Picture:
        """Return what was drawn, with a description of it."""
        return Picture(self.figure, self.caption, alt, self.title)


@contextmanager
def page(
    width: float, height: float, *, title: str, caption: str, theme: Theme = LIGHT
) -> Iterator[Page]:
    """Make a page whose body has this size in inches; title above it, caption below it.

    Inside the ``with``, whatever is drawn has the colours of `theme` unless it is told otherwise.
    Text is plain: no mathtext, so axes with powers of ten need a formatter of their own.

    Examples
    --------
    >>> with page(5, 3, title="Two ranks", caption="Nothing is sent.") as sheet:
    ...     axes = sheet.body.subplots()
    >>> sheet.picture("An empty plot.").svg().count("Nothing is sent.")
    1
    """
    columns = int(width * 13)
    over, under = textwrap.wrap(title, int(width * 9.5)), textwrap.wrap(caption, columns)
    top, bottom = 0.24 * len(over) + 0.1, 0.18 * len(under) + 0.14
    total = top + height + bottom
    with matplotlib.rc_context(_settings(theme)):
        figure = Figure(figsize=(width, total))
        FigureCanvasAgg(figure)
        body = figure.add_subfigure(
            figure.add_gridspec(3, 1, height_ratios=(top, height, bottom))[1]
        )
        margin = 0.12 / width
        figure.text(
            margin, 1 - 0.1 / total, "\n".join(over), va="top", weight="bold", size=SIZE + 2
        )
        figure.text(
            margin, 0.1 / total, "\n".join(under), va="bottom", color=theme.ink, gid="caption"
        )
        yield Page(figure, body, title, caption, theme)
        for axes in figure.axes:  # ticks are made later, outside these settings
            axes.tick_params(which="both", color=theme.muted, labelcolor=theme.ink)


def _settings(theme: Theme) -> Any:
    ink, muted = theme.ink, theme.muted
    return {
        "font.family": "DejaVu Sans", "font.size": SIZE, "text.color": ink,
        "text.parse_math": False,
        "figure.facecolor": theme.paper, "axes.facecolor": "none", "axes.edgecolor": muted,
        "axes.labelcolor": ink, "axes.titlesize": SIZE, "axes.labelsize": SIZE,
        "axes.prop_cycle": cycler(color=theme.accents, linestyle=DASHES),
        "xtick.color": muted, "ytick.color": muted,
        "xtick.labelcolor": ink, "ytick.labelcolor": ink,
        "grid.color": theme.faint, "legend.facecolor": theme.paper, "legend.edgecolor": theme.faint,
        "legend.fontsize": SIZE - 1, "hatch.linewidth": 0.6, "patch.edgecolor": ink,
    }  # fmt: skip


def canvas(
    body: SubFigure, left: float = 0, bottom: float = 0, right: float = 1, top: float = 1
) -> Axes:
    """Return axes on a part of `body`, without frame and ticks, where a unit is an inch.

    Their origin is bottom left. The part is given in fractions of the body.
    """
    axes = body.add_axes((left, bottom, right - left, top - bottom))
    axes.set_axis_off()
    width, height = body.bbox.width / body.dpi, body.bbox.height / body.dpi
    axes.set(xlim=(0, (right - left) * width), ylim=(0, (top - bottom) * height))
    axes.set_autoscale_on(False)
    return axes


def arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], **options: Any
) -> FancyArrowPatch:
    """Draw an arrow with a head; options are those of `FancyArrowPatch`."""
    chosen = {"arrowstyle": "-|>", "mutation_scale": 10, "shrinkA": 0, "shrinkB": 0, **options}
    chosen.setdefault("color", matplotlib.rcParams["text.color"])
    patch = FancyArrowPatch(start, end, **chosen)
    axes.add_patch(patch)
    return patch


def time_against_size(axes: Axes, size: str) -> None:
    """Name the logarithmic axes of a plot, and let their ticks say bytes and seconds."""
    axes.set(xlabel=size, ylabel="time")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: nbytes(size)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda time, _: seconds(time)))
    low, high = axes.get_ylim()
    axes.xaxis.set_major_locator(LogLocator(numticks=12))
    axes.yaxis.set_major_locator(
        LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,), numticks=12)
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.grid(linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def printable(text: str) -> str:
    """Return `text` without the characters that XML and fonts cannot show.

    Examples
    --------
    >>> printable("ring\\x00\\ud800 <p=4>")
    'ring?? <p=4>'
    """
    return "".join(c if c == "\n" or (c.isprintable() and ord(c) < 0x10000) else "?" for c in text)


def short(text: str, most: int = 40) -> str:
    """Return `text` on one line, cut to at most `most` characters.

    Examples
    --------
    >>> short("a long story", 8)
    'a lon...'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3] + "..."
