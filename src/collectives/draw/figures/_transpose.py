"""All-to-all as a matrix transpose: what ranks hold before and after it."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from collectives.draw.figures.style import LIGHT, SIZE, Picture, Theme, arrow, canvas, page
from collectives.recording import Recording

NAMED, SEEN = 16, 128
"""Ranks up to which blocks are named, and up to which they can be told apart."""


def matrices(recording: Recording) -> tuple[list[list[str]], list[list[str]]]:
    """Return the names of the blocks that each rank holds, in order, before and after.

    Examples
    --------
    >>> from collectives import find
    >>> from collectives.recorder import record
    >>> matrices(record(find("alltoall", "pairwise"), 2))
    ([['0→0', '0→1'], ['1→0', '1→1']], [['0→0', '1→0'], ['0→1', '1→1']])
    """
    if recording.collective != "alltoall":
        raise ValueError(f"{recording} is no alltoall")
    if recording.end is None:
        raise ValueError(f"{recording} never ended")
    before, after = (
        [[f"{hold.column}→{to}" for hold in holds for to in hold.pips] for holds in part]
        for part in (recording.start, recording.end)
    )
    for rank, blocks in enumerate(after):
        if len(blocks) != recording.ranks:
            raise ValueError(
                f"{recording}: r{rank} ended with {len(blocks)} blocks, not one from each rank"
            )
    return before, after


def transpose(recording: Recording, *, theme: Theme = LIGHT) -> Picture:
    """Draw the matrix of blocks before and after an all-to-all.

    A row is what a rank holds. Block a→b is shaded by its number a p + b, the lowest the lightest
    on paper, so that even without names one sees rows become columns.
    """
    p = recording.ranks
    if p > SEEN:
        raise ValueError(f"blocks of {p} ranks cannot be told apart; at most {SEEN}")
    before, after = matrices(recording)
    same = after == [list(column) for column in zip(*before, strict=True)]
    hops = sum(len(hold.pips) for m in recording.messages() for hold in m.send.holds)
    cell = 0.5 if p <= 8 else 0.42 if p <= NAMED else 6.0 / p
    size = cell * p
    with page(
        max(2 * size + 2.2, 6.2), size + 0.75, theme=theme,
        title=f"All-to-all is a matrix transpose, p = {p}",
        caption=(
            f"{'Afterwards row r is what was column r' if same else 'This is not the transpose'}: "
            f"{recording} turned block b of rank a into block a of rank b. The diagonal (thick "
            f"frames) stays where it is, p(p-1) = {p * (p - 1)} blocks move, in {hops} hops."
        ),
    ) as sheet:  # fmt: skip
        axes = canvas(sheet.body)
        top = axes.get_ylim()[1] - 0.5
        right = axes.get_xlim()[1]
        left = (right - 2 * size - 1.1) / 2 + 0.2
        _matrix(axes, before, (left, top), cell, "before", theme)
        _matrix(axes, after, (left + size + 1.1, top), cell, "after", theme)
        start = (left + size + 0.15, top - size / 2)
        arrow(axes, start, (start[0] + 0.5, start[1]), mutation_scale=14, linewidth=1.6)
    rows = "; ".join(
        f"r{rank} holds {', '.join(mine[:8])}{', ...' if len(mine) > 8 else ''} before and "
        f"{', '.join(result[:8])}{', ...' if len(mine) > 8 else ''} after"
        for rank, (mine, result) in enumerate(zip(before[:8], after[:8], strict=True))
    )
    more = "; and so on" if p > 8 else ""
    return sheet.picture(f"Two square tables with a row per rank, side by side: {rows}{more}.")


def _matrix(
    axes: Axes, rows: list[list[str]], corner: tuple[float, float], cell: float, title: str,
    theme: Theme,
) -> None:  # fmt: skip
    """Draw the table of blocks; `corner` is top left."""
    p = len(rows)
    ramp = LinearSegmentedColormap.from_list("ramp", [theme.paper, theme.accents[0]])
    x0, y0 = corner
    axes.text(x0 + cell * p / 2, y0 + 0.3, title, ha="center", weight="bold")
    every = 1 if p <= NAMED else 8
    for r, row in enumerate(rows):
        y = y0 - cell * (r + 1)
        if r % every == 0:
            axes.text(x0 - 0.06, y + cell / 2, f"r{r}", ha="right", va="center", size=SIZE - 1)
            axes.text(
                x0 + cell * (r + 0.5), y0 + 0.1, str(r), ha="center", va="center", size=SIZE - 1,
                color=theme.muted,
            )  # fmt: skip
        for place, block in enumerate(row):
            a, b = map(int, block.split("→"))
            stays = a == b
            if stays or p <= NAMED:
                axes.add_patch(
                    Rectangle(
                        (x0 + cell * place, y), cell, cell, fill=False,
                        edgecolor=theme.ink if stays else theme.faint,
                        linewidth=(1.6 if p <= NAMED else 0.7) if stays else 0.4,
                        zorder=2 + stays, gid="stays" if stays else "moves",
                    )
                )  # fmt: skip
            if p <= NAMED:
                axes.text(
                    x0 + cell * (place + 0.5), y + cell / 2, block, ha="center", va="center",
                    size=SIZE - 1 if p <= 8 else SIZE - 2.5, zorder=4, color=theme.ink,
                )  # fmt: skip
    shades = [[float(a) * p + float(b) for a, b in (s.split("→") for s in row)] for row in rows]
    axes.pcolormesh(
        [x0 + cell * i for i in range(p + 1)], [y0 - cell * i for i in range(p + 1)], shades,
        cmap=ramp, vmin=0, vmax=max(p * p - 1, 1) / 0.6, zorder=1, gid="ramp",
    )  # fmt: skip
