"""What a contribution grid shows, in words, worked out from what the ranks hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from collectives.draw.figures.cells import WHOLE, complete, doubled, shares, wanted, wrong
from collectives.draw.text import many, runs
from collectives.oracle.cases import FORMS
from collectives.recording import Cell, Recording, State


def _aims(recording: Recording) -> list[tuple[int, int]]:
    """Return the blocks that must be complete in the end: rank and column of each."""
    ranks, columns = range(recording.ranks), range(len(recording.columns))
    return [(r, c) for r in ranks for c in columns if wanted(recording, r, c)]


def findings(recording: Recording, states: Sequence[State], titles: Sequence[str]) -> str:
    """Return what the states show, as sentences."""
    said = [_growth(recording, states), *_ending(recording, states, titles)]
    for cell, rank, column, number in _all_cells(states):
        if wrong(cell):
            where = f"block {recording.columns[column]} on r{rank}"
            said.append(f"The first mistake: after {titles[number]}, {where} has "
                        f"{_content(recording, cell)}.")  # fmt: skip
            break
    return " ".join(filter(None, said))


def _all_cells(states: Sequence[State]) -> Iterator[tuple[Cell, int, int, int]]:
    """Yield every cell with its rank, its column and the number of its state."""
    for number, state in enumerate(states):
        for rank, row in enumerate(state):
            for column, cell in enumerate(row):
                yield cell, rank, column, number


def _content(recording: Recording, cell: Cell) -> str:
    """Return what is in a cell: from whom, and from whom twice."""
    text, twice = runs(shares(cell), recording.pips), doubled(cell)
    return f"{text}, and {runs(twice, recording.pips)} more than once" if twice else text


def _growth(recording: Recording, states: Sequence[State]) -> str:
    """Say how many contributions the fullest block has after s steps, where there is a rule."""
    if not FORMS[recording.collective].reduces or len(states) < 3:
        return ""
    most = [max(len(shares(cell)) for row in state for cell in row) for state in states]
    full = most.index(max(most))
    said = f"After step s, up to step {full}, the fullest block has"
    if full > 1 and most[: full + 1] == [s + 1 for s in range(full + 1)]:
        return f"{said} s + 1 ranks in it."
    if full > 1 and most[: full + 1] == [min(2**s, max(most)) for s in range(full + 1)]:
        return f"{said} 2^s ranks in it, at most {max(most)}."
    return ""


def _ending(recording: Recording, states: Sequence[State], titles: Sequence[str]) -> Iterator[str]:
    """Say when blocks become complete, and which do not."""
    aims = _aims(recording)
    empty = set(range(len(recording.columns))) - {h.column for row in recording.start for h in row}
    if empty:
        yield f"No elements: {runs(empty, recording.columns)}."
    if not aims:
        return
    done = [sum(complete(recording, r, c, state[r][c]) for r, c in aims) for state in states]
    if done[-1] == len(aims):
        first = next(k for k, count in enumerate(done) if count)
        whole = done.index(len(aims))
        if 0 < whole < 8 and len(set(done)) > 2:
            counts = ", ".join(map(str, done[: whole + 1]))
            yield f"Complete blocks from the start on, step by step: {counts}."
        elif 0 < first < whole:
            yield f"After {titles[first]} the first {many(done[first], 'block')} are complete,"
            yield f"{_when(titles[whole])} all {len(aims)}."
        elif len(aims) == 1:
            yield f"The only block is complete {_when(titles[whole])}."
        else:
            yield f"All {len(aims)} blocks are complete {_when(titles[whole])}."
        return
    rank, column = next(a for a in aims if not complete(recording, *a, states[-1][a[0]][a[1]]))
    cell = states[-1][rank][column]
    missing = [q for q in wanted(recording, rank, column) if shares(cell).get(q, 0) <= WHOLE]
    lacks = f" and lacks {runs(missing, recording.pips)}" if missing else ""
    yield f"In the end {len(aims) - done[-1]} of {many(len(aims), 'block')} are not complete:"
    yield f"{recording.columns[column]} on r{rank} has {_content(recording, cell)}{lacks}."


def _when(title: str) -> str:
    return "at the start" if title == "start" else f"after {title}"


def description(recording: Recording, states: Sequence[State], titles: Sequence[str]) -> str:
    """Describe the figure: its size, then how many contributions there are at start and end."""
    p, columns, pips = recording.ranks, len(recording.columns), len(recording.pips)
    there = [sum(len(shares(cell)) for row in state for cell in row) for state in states]
    return (
        f"Tables of {many(p, 'rank')} by {many(columns, 'block')}, one for each step, with room "
        f"for {many(pips, 'contribution')} in each cell. Of {p * columns * pips}, {there[0]} are "
        f"there at the start and {there[-1]} {_when(titles[-1])}."
    )
