"""Memory and traffic of data parallel training: DDP beside the three stages of ZeRO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from matplotlib.axes import Axes

from collectives.draw.figures.style import HATCHES, LIGHT, Picture, Theme, page
from collectives.draw.text import nbytes

PARTS = ("parameters", "gradients", "optimizer state")
"""What a rank keeps between steps, in the order in which the bars are stacked."""

UNITS = ((1e9, "GB (10⁹ bytes)"), (1e6, "MB (10⁶ bytes)"), (1e3, "kB (10³ bytes)"), (1, "bytes"))


@dataclass(frozen=True)
class Scheme:
    """A way to share the state of training among ranks.

    Attributes
    ----------
    name : str
    sharded : tuple of str
        The `PARTS` of which a rank keeps only its share.
    moves : tuple of (str, str)
        The collectives of one step, each with what it moves: `PARTS` of which a rank sends
        (p - 1) / p, twice in an all-reduce.
    """

    name: str
    sharded: tuple[str, ...]
    moves: tuple[tuple[str, str], ...]

    def memory(self, parameters: int, ranks: int, widths: dict[str, int]) -> dict[str, Fraction]:
        """Return the bytes that a rank keeps, part by part; `widths` are bytes per parameter."""
        return {
            part: Fraction(parameters * widths[part], ranks if part in self.sharded else 1)
            for part in PARTS
        }

    def traffic(self, parameters: int, ranks: int, widths: dict[str, int]) -> list[Fraction]:
        """Return the bytes that a rank sends in one step, one number for each of `moves`."""
        others = Fraction(ranks - 1, ranks)
        return [
            others * parameters * widths[part] * (2 if collective == "all-reduce" else 1)
            for collective, part in self.moves
        ]


SCHEMES = (
    Scheme("DDP", (), (("all-reduce", "gradients"),)),
    Scheme(
        "ZeRO-1",
        ("optimizer state",),
        (("reduce-scatter", "gradients"), ("allgather", "parameters")),
    ),
    Scheme(
        "ZeRO-2",
        ("gradients", "optimizer state"),
        (("reduce-scatter", "gradients"), ("allgather", "parameters")),
    ),
    Scheme(
        "ZeRO-3",
        PARTS,
        (
            ("allgather", "parameters"),  # forwards
            ("allgather", "parameters"),  # backwards
            ("reduce-scatter", "gradients"),
        ),
    ),
)
"""S. Rajbhandari, J. Rasley, O. Ruwase, Y. He, "ZeRO", SC 2020, arXiv:1910.02054."""


@dataclass(frozen=True)
class Bars:
    """What one scheme keeps and sends, per rank, in bytes.

    Attributes
    ----------
    name : str
    memory : mapping
        The bytes kept of each of `PARTS`.
    sent : sequence of (str, number)
        What is sent in one step, such as ``("allgather of parameters", 1000)``; the last word is
        one of `PARTS`.
    """

    name: str
    memory: Mapping[str, float | Fraction]
    sent: Sequence[tuple[str, float | Fraction]]

    @property
    def all_kept(self) -> float | Fraction:
        return sum(self.memory.values())

    @property
    def all_sent(self) -> float | Fraction:
        return sum(size for _, size in self.sent)


def zero_bars(
    parameters: int,
    ranks: int,
    *,
    parameter_bytes: int = 2,
    gradient_bytes: int = 2,
    optimizer_bytes: int = 12,
    theme: Theme = LIGHT,
) -> Picture:
    """Draw the memory per rank beside the bytes that a rank sends per step.

    The defaults are mixed-precision Adam as counted in the ZeRO paper, section 3.1: parameters
    and gradients in 2 bytes, and for the optimizer the parameters, momentum and variance in 4
    bytes each. Activations, buffers and fragmentation are not counted, nor is gradient
    accumulation.

    Examples
    --------
    >>> zero_bars(7_500_000_000, 64).caption.partition(" while")[0]
    'From DDP to ZeRO-3, memory per rank falls from 120 GB to 1.88 GB'
    """
    if parameters < 1 or ranks < 1:
        raise ValueError(f"got {parameters} parameters on {ranks} ranks, wants at least 1 of both")
    widths = dict(zip(PARTS, (parameter_bytes, gradient_bytes, optimizer_bytes), strict=True))
    rows = []
    for scheme in SCHEMES:
        names = [f"{collective} of {part}" for collective, part in scheme.moves]
        sent = zip(names, scheme.traffic(parameters, ranks, widths), strict=True)
        rows.append(Bars(scheme.name, scheme.memory(parameters, ranks, widths), list(sent)))
    unit = " + ".join(f"{widths[part]} ({part})" for part in PARTS)
    source = (
        f"Bytes kept per parameter: {unit}. Computed from the counts of arXiv:1910.02054; "
        "activations are not counted."
    )
    return _bars(rows, parameters, ranks, source, theme)


def counted_bars(
    rows: Sequence[Bars], parameters: int, ranks: int, *, theme: Theme = LIGHT
) -> Picture:
    """Draw the same of a run: what its ranks were counted to keep, and to send in one step.

    Examples
    --------
    >>> row = Bars("DDP", dict.fromkeys(PARTS, 40), [("all-reduce of gradients", 60)])
    >>> counted_bars([row], 10, 4).caption.partition(". ")[2]
    'Bytes sent, in bytes per parameter times (p - 1)/p: DDP 8. Counted in a run.'
    """
    return _bars(rows, parameters, ranks, "Counted in a run.", theme)


def _bars(rows: Sequence[Bars], parameters: int, ranks: int, source: str, theme: Theme) -> Picture:
    with page(
        9.4, 3.5, theme=theme, caption=_caption(rows, parameters, ranks, source),
        title=f"Data parallel training of {_setting(parameters, ranks)}",
    ) as sheet:  # fmt: skip
        left, right = sheet.body.subplots(1, 2)
        sheet.body.subplots_adjust(left=0.085, right=0.985, bottom=0.1, top=0.9, wspace=0.2)
        names = [row.name for row in rows]
        _stack(left, names, [[(part, row.memory[part]) for part in PARTS] for row in rows], theme)
        left.set_title("kept in memory, per rank")
        _stack(right, names, [row.sent for row in rows], theme)
        right.set_title("sent per training step, per rank")
    return sheet.picture(_alt(rows, parameters, ranks))


def _stack(
    axes: Axes,
    names: Sequence[str],
    stacks: Sequence[Sequence[tuple[str, float | Fraction]]],
    theme: Theme,
) -> None:
    """Draw a bar per scheme, its parts from the bottom up, with the total on top."""
    highest = max(float(sum(size for _, size in stack)) for stack in stacks)
    unit, name_of_unit = next((u for u in UNITS if highest >= u[0]), UNITS[-1])
    labelled: set[str] = set()
    for x, stack in enumerate(stacks):
        base = 0.0
        for name, size in stack:
            height = float(size) / unit
            look = next(i for i, part in enumerate(PARTS) if name.endswith(part))
            hatch = HATCHES[3 if name.startswith("all-reduce") else look]
            axes.bar(
                x, height, 0.62, base, color=theme.accents[look], hatch=hatch,
                edgecolor=theme.ink, linewidth=0.8, gid=name.replace(" ", "-"),
                label=None if name in labelled else name,
            )  # fmt: skip
            labelled.add(name)
            base += height
        axes.annotate(
            nbytes(base * unit), (x, base), xytext=(0, 3), textcoords="offset points",
            ha="center", va="bottom", weight="bold",
        )  # fmt: skip
    axes.set_xticks(range(len(names)), names)
    axes.set(ylim=(0, highest / unit * 1.42 or 1), ylabel=name_of_unit)
    axes.spines[["top", "right"]].set_visible(False)
    handles, texts = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], texts[::-1], loc="upper right", ncols=1, frameon=False)


def _caption(rows: Sequence[Bars], parameters: int, ranks: int, source: str) -> str:
    first, last = rows[0], rows[-1]
    kept = [nbytes(float(row.all_kept)) for row in (first, last)]
    if first.all_sent == 0:
        change = "nothing is sent, as there is one rank"
    else:
        times = float(last.all_sent / first.all_sent)
        change = f"a rank sends {times:.3g} times as many bytes per step"
    counts = ", ".join(f"{row.name} {_in_psi(row, parameters, ranks)}" for row in rows)
    memory_is = f"falls from {kept[0]} to {kept[1]}" if ranks > 1 else f"is {kept[0]}"
    return (
        f"From {first.name} to {last.name}, memory per rank {memory_is} while {change}. Bytes "
        f"sent, in bytes per parameter times (p - 1)/p: {counts}. {source}"
    )


def _in_psi(row: Bars, parameters: int, ranks: int) -> str:
    """Write what a rank sends as bytes per parameter, without the factor (p - 1) / p."""
    others = Fraction(ranks - 1, ranks) * parameters
    return " + ".join(f"{float(sent / others):.3g}" if others else "0" for _, sent in row.sent)


def _alt(rows: Sequence[Bars], parameters: int, ranks: int) -> str:
    lines = [
        f"{row.name} keeps {nbytes(float(row.all_kept))} ("
        + ", ".join(f"{part} {nbytes(float(size))}" for part, size in row.memory.items())
        + f") and sends {nbytes(float(row.all_sent))}"
        for row in rows
    ]
    return (
        f"Two bar charts for {_setting(parameters, ranks)}, both per rank: memory, and bytes "
        f"sent per step. {'; '.join(lines)}."
    )


def _setting(parameters: int, ranks: int) -> str:
    return f"{parameters:,} parameters on {ranks} rank{'s' * (ranks > 1)}"
