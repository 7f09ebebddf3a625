"""What lessons print: the run step by step, loads of ranks side by side, times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from collectives.draw import text
from collectives.draw.steps import TABLE_RANKS, contribution_table, contributors
from collectives.recording import Recording
from collectives.teach.lesson import ALPHA, BETA, Options

BAR = 28
"""Columns of the longest bar."""


def steps(recording: Recording, options: Options) -> Iterator[str]:
    """Yield the table of contributions and the list of messages, as far as they are wanted."""
    if options.trace != "none" and recording.ranks <= TABLE_RANKS:
        yield "who has contributed to each block (* = changed in this step)\n"
        lines = list(contribution_table(recording))
        yield from lines
        if any("~" in line for line in lines):
            yield "(~: parts of this block differ; what the least of them holds is shown)"
        yield ""
    elif options.trace != "none":
        yield f"(the table of contributions is left out: it fits up to {TABLE_RANKS} ranks)\n"
    if options.trace == "full":
        yield from messages(recording)


def growth(
    recording: Recording, options: Options, *, block: int = 0, what: str = "the vector"
) -> Iterator[str]:
    """Yield who is in a block of each rank after every step, where all that is alike travels.

    Examples
    --------
    >>> from argparse import Namespace
    >>> from collectives import find
    >>> from collectives.recorder import record
    >>> run = record(find("allreduce", "recursive_doubling"), 4)
    >>> print(*growth(run, Namespace(trace="steps")), sep="\\n")
    who has contributed to the vector of each rank (* = changed in this step)
    <BLANKLINE>
          start   AR 1    AR 2
    r0    0       01*     0123*
    r1    1       01*     0123*
    r2    2       23*     0123*
    r3    3       23*     0123*
    <BLANKLINE>
    """
    states = recording.states()
    titles = ["start", *(frame.title for frame in recording.frames())]
    cell = max(8, recording.ranks + 2 if recording.ranks <= 8 else 8)
    if options.trace != "none" and 6 + cell * len(titles) <= text.WIDTH:
        yield f"who has contributed to {what} of each rank (* = changed in this step)\n"
        yield (" " * 6 + "".join(f"{title:{cell}}" for title in titles)).rstrip()
        for rank in range(recording.ranks):
            holds = [state[rank][block][:1] for state in states]
            counts = [Counter(pip for hold in held for pip in hold.pips) for held in holds]
            cells = [contributors(count, recording.ranks) for count in counts]
            changed = [" ", *("*" if a != b else "" for a, b in pairwise(cells))]
            row = (f"{a + b:{cell}}" for a, b in zip(cells, changed, strict=True))
            yield f"r{rank:<5}{''.join(row)}".rstrip()
        yield ""
    elif options.trace != "none":
        yield f"(the table of contributions is left out: {recording.ranks} ranks are too many)\n"


def sends(recording: Recording, rank: int = 0) -> Iterator[str]:
    """Yield what one rank sends to whom in every step of an all-to-all; a>b is from a, for b.

    Examples
    --------
    >>> from collectives import find
    >>> from collectives.recorder import record
    >>> print(*sends(record(find("alltoall", "bruck"), 4)), sep="\\n")
    AT 1  -> r1  0>1 0>3
    AT 2  -> r2  0>2 3>2
    """
    for frame in recording.frames():
        for event in frame.events:
            if event.kind == "send" and event.rank == rank:
                blocks = (f"{hold.column}>{pip}" for hold in event.holds for pip in hold.pips)
                yield f"{frame.title}  -> r{event.peer}  {' '.join(blocks)}"


def messages(recording: Recording) -> Iterator[str]:
    """Yield every message of a run."""
    yield f"every message (of a run on {recording.elements} elements)\n"
    yield from text.message_list(recording)
    yield ""


def bars(
    columns: Mapping[str, Sequence[float]], whole: float, *, unit: str = "S", most: int = 16
) -> Iterator[str]:
    """Yield a bar per rank and column, longest for the largest number, in multiples of `whole`.

    Examples
    --------
    >>> print(*bars({"sent": [0, 30, 60]}, 20), sep="\\n")
    rank  sent
    r0       0 S
    r1     1.5 S  ##############
    r2       3 S  ############################
    """
    ranks = len(next(iter(columns.values())))
    longest = max((max(numbers) for numbers in columns.values()), default=0) or 1
    room = BAR if len(columns) == 1 else BAR // len(columns) + 4
    yield ("rank  " + "".join(f"{name:{room + 9}}" for name in columns)).rstrip()
    for rank in range(min(ranks, most)):
        cells = []
        for numbers in columns.values():
            multiple = numbers[rank] / whole if whole else 0
            bar = "#" * round(numbers[rank] / longest * room)
            cells.append(f"{multiple:5.4g} {unit}  {bar:{room}}")
        yield (f"r{rank:<4}" + " ".join(cells)).rstrip()
    if ranks > most:
        yield f"(and {ranks - most} more)"


def times(measured: Mapping[str, float], simulated: Mapping[str, float]) -> Iterator[str]:
    """Yield measured times, where there are any, or else simulated ones."""
    kind = "measured" if measured else "simulated"
    rows = measured or simulated
    fastest = min(rows.values())
    for number, (name, time) in enumerate(rows.items()):
        title = "time   " if number == 0 else "       "
        factor = f"{time / fastest:.2f} x" if fastest else ""
        yield f"{title}{name:22} {text.seconds(time):>8}  {factor}".rstrip()
    if kind == "measured":
        yield "       (measured: medians of 7 runs of the slowest rank, after warm-up)"
    else:
        alpha, beta = text.seconds(ALPHA), text.nbytes(1 / BETA)
        yield f"       (simulated: {alpha} per message, {beta}/s per direction; adding is free)"
