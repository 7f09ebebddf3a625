"""Pair exchanges as a butterfly: ranks are lines, steps are columns, exchanges are crossings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from collectives.draw.figures.style import LIGHT, SIZE, Picture, Theme, arrow, canvas, page
from collectives.draw.text import nbytes as in_bytes
from collectives.recording import Message, Recording

COLUMN, NAMED = 1.55, 16
"""Inches from step to step; ranks up to which every exchange is labelled."""


@dataclass(frozen=True)
class Step:
    """The messages of one step: exchanges go both ways between two ranks, others one way."""

    title: str
    exchanges: list[tuple[Message, Message]]
    others: list[Message]

    @property
    def distances(self) -> list[int]:
        return sorted({abs(one.send.rank - one.send.peer) for one, _ in self.exchanges})

    @property
    def sizes(self) -> list[int]:
        return sorted({m.send.nbytes for m in (*sum(self.exchanges, ()), *self.others)})


def exchanges(recording: Recording) -> list[Step]:
    """Return the steps of a run, messages in pairs where two ranks send to each other in a step.

    Examples
    --------
    >>> from collectives.recorder import record
    >>> from collectives.registry import find
    >>> [step.distances for step in exchanges(record(find("allreduce", "rabenseifner"), 8))]
    [[4], [2], [1], [1], [2], [4]]
    """
    frames = recording.frames()
    of_event = {id(event): k for k, frame in enumerate(frames) for event in frame.events}
    by_frame: list[list[Message]] = [[] for _ in frames]
    for message in recording.messages():
        by_frame[of_event[id(message.send)]].append(message)
    steps = []
    for frame, messages in zip(frames, by_frame, strict=True):
        pairs, others = [], list[Message]()
        waiting: dict[tuple[int, int], list[Message]] = {}
        for message in messages:
            ends = message.send.rank, message.send.peer
            back = waiting.get(ends[::-1])
            if back:
                pairs.append((back.pop(0), message))
            else:
                waiting.setdefault(ends, []).append(message)
        others = [message for left in waiting.values() for message in left]
        if messages:
            steps.append(Step(frame.title, pairs, others))
    return steps


def butterfly(recording: Recording, *, theme: Theme = LIGHT) -> Picture:
    """Draw the pair exchanges of a run, such as recursive doubling or halving.

    ValueError where no two ranks ever exchange, as on a ring.
    """
    steps, p = exchanges(recording), recording.ranks
    if steps and not any(step.exchanges for step in steps):
        raise ValueError(f"{recording} on {p} ranks has no step in which two ranks exchange")
    pitch = 0.42 if p <= NAMED else 0.26 if p <= 32 else 0.18
    with page(
        max(0.75 + COLUMN * len(steps), 6.2), 0.82 + pitch * p, theme=theme,
        title=f"{recording}, p = {p}, S = {in_bytes(recording.nbytes)}",
        caption=_caption(recording, steps),
    ) as sheet:  # fmt: skip
        axes = canvas(sheet.body)
        top = axes.get_ylim()[1] - 0.72
        rows = [top - pitch * (rank + 0.2) for rank in range(p)]
        end = 0.5 + COLUMN * max(len(steps), 1)
        for rank, y in enumerate(rows):
            axes.plot([0.45, end], [y, y], color=theme.faint, linestyle="-", lw=1.2, zorder=0)
            if p <= 32 or rank % 4 == 0:
                axes.text(0.38, y, f"r{rank}", ha="right", va="center", size=SIZE - (p > 32))
        for k, step in enumerate(steps):
            _step(axes, step, 0.5 + COLUMN * k, rows, p <= NAMED, theme)
            axes.text(
                0.5 + COLUMN * (k + 0.5), top + 0.1, _heading(step), ha="center", va="bottom",
                linespacing=1.25,
            )  # fmt: skip
    return sheet.picture(_alt(recording, steps))


def _step(
    axes: Axes, step: Step, left: float, rows: list[float], named: bool, theme: Theme
) -> None:
    """Draw the messages of a step between two columns; `rows` says where ranks are."""
    start, stop = left + 0.14, left + COLUMN - 0.14
    for x in (start, stop):
        ends = {message.send.rank for message in step.others} if x == start else set()
        ends |= {message.send.peer for message in step.others} if x == stop else set()
        ends |= {rank for one, _ in step.exchanges for rank in (one.send.rank, one.send.peer)}
        axes.plot(
            [x] * len(ends), [rows[rank] for rank in sorted(ends)], "o", markersize=3.2,
            color=theme.ink, zorder=3,
        )  # fmt: skip
    for pair in step.exchanges:
        for message in pair:
            _arrow(axes, message, start, stop, rows, color=theme.accents[0], gid="exchange")
    for message in step.others:
        _arrow(
            axes, message, start, stop, rows, color=theme.accents[1], linestyle=(0, (4, 2)),
            gid="one-way",
        )  # fmt: skip
    if not named or len(step.sizes) == 1:
        return
    for message in (*sum(step.exchanges, ()), *step.others):
        y = rows[message.send.rank] + (rows[message.send.peer] - rows[message.send.rank]) * 0.2
        axes.text(
            start + (stop - start) * 0.2, y, in_bytes(message.send.nbytes), size=SIZE - 3,
            ha="center", va="center", zorder=4,
            bbox={"facecolor": theme.paper, "edgecolor": "none", "pad": 0.4},
        )  # fmt: skip


def _arrow(
    axes: Axes, message: Message, start: float, stop: float, rows: list[float], **options: Any
) -> None:
    ends = (start, rows[message.send.rank]), (stop, rows[message.send.peer])
    arrow(axes, *ends, mutation_scale=8, linewidth=1.1, shrinkA=2, shrinkB=2, zorder=2, **options)


def _heading(step: Step) -> str:
    ways = [f"distance {', '.join(map(str, step.distances))}"] if step.exchanges else []
    ways += ["one way" if not step.exchanges else "or one way"] if step.others else []
    sizes = in_bytes(step.sizes[0])
    if len(step.sizes) > 1:
        sizes += f" to {in_bytes(step.sizes[-1])}"
    return f"{step.title}\n{' '.join(ways)}\n{sizes}"


def _caption(recording: Recording, steps: list[Step]) -> str:
    if not steps:
        return f"Nothing is sent, p = {recording.ranks}."
    sent = [0] * recording.ranks
    for step in steps:
        for message in (*sum(step.exchanges, ()), *step.others):
            sent[message.send.rank] += message.send.nbytes
    apart = ["/".join(map(str, step.distances)) for step in steps if step.exchanges]
    where = [f"Ranks that exchange are {', '.join(apart)} apart, step by step.", _growth(recording)]
    alone = sorted({message.send.rank for message in steps[0].others})
    folded = [
        rank for rank in alone
        if all(rank not in (one.send.rank, one.send.peer) for s in steps for one, _ in s.exchanges)
    ]  # fmt: skip
    if folded:
        names = _list([f"r{rank}" for rank in folded])
        where.append(f"{names} exchange{'s' * (len(folded) == 1)} with nobody (dashed).")
    most, least = max(sent), min(sent)
    each = f"Every rank sends {in_bytes(most)}" if most == least else (
        f"Ranks send {in_bytes(least)} to {in_bytes(most)}"
    )  # fmt: skip
    size = in_bytes(recording.nbytes)
    return f"{' '.join(where)} {each} in {len(steps)} steps, S = {size}."


def _growth(recording: Recording) -> str:
    """Say how contributions, or blocks, grow from step to step in what ranks hold."""
    states = recording.states()
    cells = [[cell for row in state for cell in row if cell] for state in states]
    sums = [max((len({*h.pips}) for cell in part for h in cell), default=0) for part in cells]
    if sums[-1] > 1 and not recording.adds:
        return f"After step 0, 1, ... the fullest sum is of {_list(sums)} ranks."
    blocks = [max(sum(map(bool, row)) for row in state) for state in states]
    return f"After step 0, 1, ... a rank holds up to {_list(blocks)} blocks."


def _list(items: list[Any]) -> str:
    return ", ".join(map(str, items[:12])) + (", ..." if len(items) > 12 else "")


def _alt(recording: Recording, steps: list[Step]) -> str:
    lines = [
        f"{step.title}: {len(step.exchanges)} exchanges, "
        + (f"distance {', '.join(map(str, step.distances))}, " if step.exchanges else "")
        + (f"{len(step.others)} one-way messages, " if step.others else "")
        + f"{' to '.join(in_bytes(size) for size in step.sizes[:: len(step.sizes) - 1 or 1])}"
        for step in steps
    ]
    return (
        f"A line per rank, {recording.ranks} of them, and a column per step, in which arrows "
        f"between ranks that exchange cross. {'. '.join(lines) or 'No steps'}."
    )
