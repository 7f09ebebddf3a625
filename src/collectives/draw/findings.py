"""What ranks hold in the course of a run, in words: how it grows, when it is complete, or not."""

from __future__ import annotations

from collections.abc import Iterator

from collectives.draw.cells import WHOLE, complete, doubled, shares, wanted, wrong
from collectives.draw.text import many, runs
from collectives.oracle.forms import FORMS
from collectives.recording import Cell, Recording, State


def findings(recording: Recording) -> str:
    """Return what the states of a run show, as sentences.

    Examples
    --------
    >>> from collectives import find
    >>> from collectives.recorder import record
    >>> findings(record(find("bcast", "binomial"), 4))
    'Complete blocks from the start on, step by step: 4, 8, 16.'
    """
    said = [_growth(recording), *_ending(recording), _first_mistake(recording)]
    return " ".join(filter(None, said))


def shortfall(recording: Recording, state: State | None = None) -> str:
    """Return what the result of a run, or a state of it, is short of; nothing if all is right."""
    if state is None:
        state = recording.result()
    aims = _aims(recording)
    short = [aim for aim in aims if not complete(recording, *aim, state[aim[0]][aim[1]])]
    if not short:
        return ""
    rank, column = short[0]
    cell = state[rank][column]
    missing = [q for q in wanted(recording, rank, column) if shares(cell).get(q, 0) <= WHOLE]
    lacks = f" and lacks {runs(missing, recording.pips)}" if missing else ""
    return (
        f"{len(short)} of {many(len(aims), 'block')} are not as they must be: "
        f"{recording.columns[column]} on r{rank} has {_content(recording, cell)}{lacks}."
    )


def titles(recording: Recording) -> list[str]:
    """Return what the states of a run are called."""
    return ["start", *(frame.title for frame in recording.frames())]


def description(recording: Recording) -> str:
    """Describe the states: their size, then how many contributions there are at start and end."""
    p, columns, pips = recording.ranks, len(recording.columns), len(recording.pips)
    first, last = recording.states()[0], recording.states()[-1]
    there = [sum(len(shares(cell)) for row in state for cell in row) for state in (first, last)]
    return (
        f"Tables of {many(p, 'rank')} by {many(columns, 'block')}, one for each step, with room "
        f"for {many(pips, 'contribution')} in each cell. Of {p * columns * pips}, {there[0]} are "
        f"there at the start and {there[1]} {_when(titles(recording)[-1])}."
    )


def _aims(recording: Recording) -> list[tuple[int, int]]:
    """Return the blocks that must be complete in the end: rank and column of each."""
    ranks, columns = range(recording.ranks), range(len(recording.columns))
    return [(r, c) for r in ranks for c in columns if wanted(recording, r, c)]


def _growth(recording: Recording) -> str:
    """Say how many contributions the fullest block has after s steps, where there is a rule."""
    states = recording.states()
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


def _ending(recording: Recording) -> Iterator[str]:
    """Say when blocks become complete, and which do not."""
    aims, states, names = _aims(recording), recording.states(), titles(recording)
    empty = set(range(len(recording.columns))) - recording.filled
    if empty:
        yield f"No elements: {runs(empty, recording.columns)}."
    if not aims:
        return
    lacking = shortfall(recording, states[-1] if recording.end is None else None)
    if lacking:
        yield f"{'In the end' if recording.end is not None else 'The run never ended:'} {lacking}"
        return
    done = [sum(complete(recording, r, c, state[r][c]) for r, c in aims) for state in states]
    first = next(k for k, count in enumerate(done) if count)
    whole = done.index(len(aims))
    if 0 < whole < 8 and len(set(done)) > 2:
        counts = ", ".join(map(str, done[: whole + 1]))
        yield f"Complete blocks from the start on, step by step: {counts}."
    elif 0 < first < whole:
        yield f"After {names[first]} the first {many(done[first], 'block')} are complete,"
        yield f"{_when(names[whole])} all {len(aims)}."
    elif len(aims) == 1:
        yield f"The only block is complete {_when(names[whole])}."
    else:
        yield f"All {len(aims)} blocks are complete {_when(names[whole])}."


def _first_mistake(recording: Recording) -> str:
    """Say where a block first holds what must never be in it."""
    for state, title in zip(recording.states(), titles(recording), strict=True):
        for rank, row in enumerate(state):
            for name, cell in zip(recording.columns, row, strict=True):
                if wrong(cell):
                    where = f"{_when(title)}, block {name} on r{rank}"
                    return f"The first mistake: {where} has {_content(recording, cell)}."
    return ""


def _content(recording: Recording, cell: Cell) -> str:
    """Return what is in a cell: from whom, and from whom twice."""
    text, twice = runs(shares(cell), recording.pips), doubled(cell)
    return f"{text}, and {runs(twice, recording.pips)} more than once" if twice else text


def _when(title: str) -> str:
    return "at the start" if title == "start" else f"after {title}"
