"""Who has contributed to each block, after every step: run, watch, and print a table."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from collectives import provenance
from collectives.comm import Array
from collectives.draw.text import bold
from collectives.op import SUM
from collectives.oracle.cases import FORMS, Buffers, Case
from collectives.registry import COLLECTIVES, Algorithm, in_place
from collectives.tracing import Event, Trace

TABLE_RANKS = 11
"""Ranks whose table fits the width of a terminal."""

Labels: TypeAlias = list[tuple[int, Counter[int]]]
"""Blocks as they were found: the number of each, and how often each rank is in it."""


@dataclass(frozen=True)
class Watched:
    """One rank's part of a run on blocks that tell where they are from.

    Attributes
    ----------
    start, end : list of (int, Counter)
        The blocks that the rank brought, and those that it was left with: the number of each,
        and how often each rank is in it.
    trace : Trace
        What it did, with what it sent, received and combined.
    """

    start: Labels
    end: Labels
    trace: Trace
    read: Callable[[Array], Labels]


def watch(algorithm: Algorithm, comm: Any, *, root: int = 0) -> Watched:
    """Run `algorithm` once to see who gets into which block; every rank of `comm` calls this.

    Simulated ranks send symbolic terms, one per block, which may be cut anywhere. MPI ranks send
    labels of several numbers per block, which an algorithm must not cut into parts.
    """
    rank, p, collective = comm.rank, comm.size, algorithm.collective
    form = FORMS[collective]
    if hasattr(comm, "Allreduce"):
        values, width = provenance.labelled(rank, p), 2 + len(provenance.passes(p))
        read = partial(_read_labels, p)
    else:
        values, width = provenance.terms(rank, max(p, 4)), 1
        read = partial(_read_terms, form.brings in ("block", "row", "halo"))
    vector = form.brings == "vector" and form.gets == "vector"
    case = Case(collective, p, p * width if vector else width, root=root)
    start = rank * width if form.brings == "block" else 0
    values = values[start : start + case.input_size(rank)]
    trace = Trace(keep=True)
    needs_it = in_place in algorithm.requires
    case = replace(case, op=trace.op(SUM, comm), in_place=needs_it)
    end = Buffers(case, rank, values).run(algorithm.function, trace.comm(comm))
    brought = form.brings != "nothing" and (not form.from_root or rank == root)
    return Watched(read(values) if brought else [], [] if end is None else read(end), trace, read)


def _read_labels(p: int, payload: Array) -> Labels:
    labels = provenance.read_labels(payload, p)
    return [(block, ranks) for block, ranks in labels if block is not None]


def _read_terms(by_rank: bool, payload: Array) -> Labels:
    """Read terms: the number of a block is that of the element, or of the rank it is from."""
    terms = [term for term in payload.tolist() if isinstance(term, provenance.Term)]
    return [(t.ranks()[0] if by_rank else t.element, Counter(t.ranks())) for t in terms]


def contribution_table(watched: Sequence[Watched], *, by_time: bool = False) -> Iterator[str]:
    """Yield the lines of the table, from what all ranks watched; at most `TABLE_RANKS` fit.

    A step is each rank's next call, which fits algorithms where all ranks call in step. With
    `by_time` it is what ends at the same time, in a run simulated with an alpha of 1.
    """
    p = len(watched)
    held: list[list[Counter[int]]] = [[Counter() for _ in range(p)] for _ in range(p)]
    for rank, part in enumerate(watched):
        for block, ranks in part.start:
            held[rank][block] = ranks
    word = "block " if p <= 8 else "c"
    yield " " * 10 + "".join(f"{f'{word}{c}':{_cell(p)}}" for c in range(p)) + "sends"
    yield from _rows("start", held, [set() for _ in range(p)], [""] * p)
    for title, now in _steps(Trace.merge(part.trace for part in watched), by_time):
        changed: list[set[int]] = [set() for _ in range(p)]
        sends: list[list[str]] = [[] for _ in range(p)]
        for event in now:
            assert event.payload is not None
            labels = watched[event.rank].read(event.payload)
            if event.kind == "send":
                names = _runs([block for block, _ in labels])
                sends[event.rank].append(f"{names} -> r{event.peer}")
                continue
            for block, ranks in labels:
                held[event.rank][block] = ranks
                changed[event.rank].add(block)
        yield from _rows(title, held, changed, [", ".join(parts) for parts in sends])


def _runs(blocks: list[int]) -> str:
    """Write block numbers, those in a row as one run: c0, c2-5."""
    runs: list[list[int]] = []
    for block in blocks:
        if runs and block == runs[-1][-1] + 1:
            runs[-1].append(block)
        else:
            runs.append([block])
    return ",".join(f"c{r[0]}" if len(r) == 1 else f"c{r[0]}-{r[-1]}" for r in runs) or "?"


def _steps(trace: Trace, by_time: bool) -> Iterator[tuple[str, list[Event]]]:
    """Yield the events of each step, with a title such as RS 1: phase, and step within it."""
    by_step: dict[float, list[Event]] = {}
    for event in trace.events:
        by_step.setdefault(event.end if by_time else event.step, []).append(event)
    number: Counter[str] = Counter()
    for _, events in sorted(by_step.items()):
        initials = phase(events[0])
        number[initials] += 1
        yield f"{initials} {number[initials]}", events


def _rows(
    title: str,
    held: list[list[Counter[int]]],
    changed: list[set[int]],
    sends: list[str],
) -> Iterator[str]:
    p = len(held)
    for rank in range(p):
        cells = []
        for block in range(p):
            text = contributors(held[rank][block], p) + "*" * (block in changed[rank])
            cell = f"{text:{_cell(p)}}"
            cells.append(bold(cell) if block in changed[rank] else cell)
        label = title if rank == 0 else ""
        yield f"{label:6}r{rank:<3}{''.join(cells)}{sends[rank]}".rstrip()


def _cell(p: int) -> int:
    return max(8, p + 2) if p <= 8 else 7


def contributors(ranks: Counter[int], p: int) -> str:
    """Write who contributed in few characters: each rank's number, or runs round the ring.

    Examples
    --------
    >>> contributors(Counter({0: 1, 1: 2, 3: 1}), 4)
    '0113'
    >>> contributors(Counter(), 4)
    '.'
    >>> contributors(Counter([10, 11, 0]), 12), contributors(Counter(range(12)), 12)
    ('10..0', 'all')
    """
    if not ranks:
        return "."
    if p <= 8:
        return "".join(map(str, sorted(ranks.elements())))
    if max(ranks.values(), default=0) > 1:
        return "twice!"
    if len(ranks) == p:
        return "all"
    first = [rank for rank in ranks if (rank - 1) % p not in ranks]
    if len(first) != 1:
        return f"{len(ranks)} of"
    last = (first[0] + len(ranks) - 1) % p
    return str(last) if len(ranks) == 1 else f"{first[0]}..{last}"


def phase(event: Event) -> str:
    """Return the initials of the collective whose code made the call, such as RS or AG."""
    folder = os.path.basename(os.path.dirname(event.file))
    if folder not in COLLECTIVES:
        return "step"
    return "".join(word[0].upper() for word in re.sub("^all", "all_", folder).split("_"))
