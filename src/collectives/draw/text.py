"""Text for the terminal: at most `WIDTH` columns, plain ASCII, colour only as a second signal."""

from __future__ import annotations

import math
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from collectives.launch import under_mpi
from collectives.tracing import Event

if TYPE_CHECKING:
    from collectives.recording import Recording

WIDTH = 100


def bold(text: str) -> str:
    """Return `text` in bold where the terminal shows it and NO_COLOR is not set.

    Not under an MPI launcher: Open MPI gives ranks a terminal even where its own output is a file.
    """
    plain = os.environ.get("NO_COLOR") or under_mpi() or not sys.stdout.isatty()
    return text if plain else f"\033[1m{text}\033[0m"


def nbytes(count: float) -> str:
    """Write a number of bytes with its unit, powers of ten.

    Examples
    --------
    >>> nbytes(7), nbytes(1750), nbytes(1.2e9)
    ('7 B', '1.75 kB', '1.2 GB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def seconds(time: float) -> str:
    """Write a time with its unit.

    Examples
    --------
    >>> seconds(0.00234), seconds(5e-6), seconds(2.0)
    ('2.34 ms', '5 us', '2 s')
    """
    if time < 1e-3:
        return f"{time * 1e6:.3g} us"
    return f"{time * 1e3:.3g} ms" if time < 1 else f"{time:.3g} s"


def many(count: int, word: str) -> str:
    """Write a number with its word.

    Examples
    --------
    >>> many(1, "rank"), many(2, "rank")
    ('1 rank', '2 ranks')
    """
    return f"{count} {word}{'' if count == 1 else 's'}"


def runs(numbers: Iterable[int], names: Sequence[str]) -> str:
    """Write which ranks or blocks, those in a row as one run, -1 as what does not belong there.

    Examples
    --------
    >>> runs([0, 1, 2, 4], ["r0", "r1", "r2", "r3", "r4"])
    'r0..r2, r4'
    >>> runs([], [])
    'nothing'
    """
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1 and number > 0:
            found[-1].append(number)
        else:
            found.append([number])
    parts = []
    for run in found:
        ends = [names[k] if 0 <= k < len(names) else "?" for k in dict.fromkeys((run[0], run[-1]))]
        parts.append((", " if len(run) == 2 else "..").join(ends))
    return ", ".join(parts) or "nothing"


def source_line(event: Event) -> str:
    """Return the last folder, the file and the line of a call."""
    return f"{'/'.join(event.file.split(os.sep)[-2:])}:{event.line}"


def message_list(recording: Recording) -> Iterator[str]:
    """Yield a line for every message: step, sender, receiver, call, bytes, source line."""
    lost = {id(m.send): "  never arrives" for m in recording.messages() if math.isinf(m.end)}
    rows = []
    for frame in recording.frames():
        sends = [event for event in frame.events if event.kind == "send"]
        for event in sorted(sends, key=lambda event: event.rank):
            ends = f"r{event.rank} -> r{event.peer}"
            place = source_line(event) + lost.get(id(event), "")
            rows.append((frame.title, ends, event.call, nbytes(event.nbytes), place))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for title, ends, call, size, place in rows:
        left = (f"{t:{w}}" for t, w in zip((title, ends, call), widths, strict=False))
        yield f"{'  '.join(left)}  {size:>{widths[3]}}  {place}"


def bytes_per_rank(recording: Recording) -> Iterator[str]:
    """Yield the lines of a table: messages and bytes that each rank sent and received.

    Messages that nobody received count as sent, and are named below the table.
    """
    ranks = range(recording.ranks)
    sent, received = [[0, 0] for _ in ranks], [[0, 0] for _ in ranks]
    lost = 0
    for message in recording.messages():
        ends = [sent[message.send.rank]]
        if math.isfinite(message.end):
            ends.append(received[message.send.peer])
        else:
            lost += 1
        for end in ends:
            end[0] += 1
            end[1] += message.send.nbytes
    yield f"{'':6}{'sent':>20}{'received':>24}"
    yield f"{'rank':6}{'messages':>8}{'bytes':>12}{'messages':>12}{'bytes':>12}"
    for rank in ranks:
        yield _counts(f"r{rank}", sent[rank], received[rank])
    yield _counts("all", *([sum(column) for column in zip(*rows, strict=True)]
                           for rows in (sent, received)))  # fmt: skip
    if lost:
        yield f"{lost} of the messages sent never arrived"


def _counts(label: str, sent: list[int], received: list[int]) -> str:
    return f"{label:6}{sent[0]:>8}{nbytes(sent[1]):>12}{received[0]:>12}{nbytes(received[1]):>12}"


def waits_table(recording: Recording, most: int = 12) -> Iterator[str]:
    """Yield the lines of a table: who waited for whom and how long, the longest first.

    A rank waits from when it is ready for a message until the other side is; forever in a call
    that never ended. `most` lines are written out; the last line has the total of the others.
    """
    waits = [wait for wait in recording.waits() if wait[2] > 0]
    how = "simulated" if recording.simulated else "measured"
    endless = sorted({(e.rank, e.peer) for e in recording.events if math.isinf(e.end)})
    for waiter, waited_for in endless[:most]:
        whom = f"r{waited_for}" if waited_for >= 0 else "any rank"
        yield f"{f'r{waiter} for {whom}':16}{'forever':>12}"
    if len(endless) > most:
        yield f"{f'{len(endless) - most} more':16}{'forever':>12}"
    if not waits:
        if not endless:
            yield f"nobody waited ({how})"
        return
    yield f"waiting, {how}, of {many(len(waits), 'pair')} of ranks"
    for waiter, waited_for, time in waits[:most]:
        yield f"{f'r{waiter} for r{waited_for}':16}{seconds(time):>12}"
    if len(waits) > most:
        rest = sum(time for *_, time in waits[most:])
        yield f"{f'{len(waits) - most} more':16}{seconds(rest):>12}"
    by_rank: dict[int, float] = defaultdict(float)
    for waiter, _, time in waits:
        by_rank[waiter] += time
    longest = max(by_rank, key=lambda rank: by_rank[rank])
    yield (
        f"all ranks together {seconds(sum(by_rank.values()))}; "
        f"longest r{longest} with {seconds(by_rank[longest])}"
    )
