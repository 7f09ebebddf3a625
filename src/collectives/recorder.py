"""Record a run: what travels, when, and whose contributions it holds.

The algorithm runs several times. In the first run its calls are timed; in the others every element
says who it is, in unsigned integers that an algorithm can cut and add as it likes: once its own
number, then, `provenance.LANES` ranks at a time, a counter for each rank. The calls are the same in
all runs, so that the n-th message of a rank holds in one what it holds in the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from collectives import provenance
from collectives.comm import Array
from collectives.dtypes import number_type
from collectives.op import SUM
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.recording import Recording, Stuck
from collectives.registry import Algorithm, algorithms, in_place
from collectives.tracing import Event, Hold, Trace

if TYPE_CHECKING:
    from collectives.sim.network import Network

LABELLED = 1 << 16
"""Elements of a vector that are labelled; a longer one is labelled in a shorter run."""


@dataclass(frozen=True)
class Subject:
    """What is recorded: a function, and how it is called."""

    function: Callable[..., None]
    name: str
    case: Case
    dtype: np.dtype[Any]
    is_registered: bool

    @property
    def labelled(self) -> Case:
        """The call in which elements say who they are."""
        blocks = self.case.p if self.case.by_blocks or self.case.form.on_grid else 1
        return replace(self.case, n=min(self.case.n, max(LABELLED // blocks, self.case.p)))


def subject(
    target: Algorithm | Callable[..., None],
    p: int,
    *,
    collective: str | None = None,
    elements: int | None = None,
    dtype: str = "float32",
    root: int = 0,
    **options: Any,
) -> Subject:
    """Describe a run of a registered algorithm, or of a function that does what `collective` says.

    `elements` is n as in the collective's signature, 12 per block where not given.
    """
    entry = target if isinstance(target, Algorithm) else _entry(target)
    if entry is None and collective is None:
        raise ValueError("a function needs collective=, such as 'allreduce'")
    case = Case(
        entry.collective if entry else str(collective),
        p,
        root=root,
        in_place=bool(entry) and in_place in entry.requires,  # type: ignore[union-attr]
        chosen=tuple(options.items()),
    )
    if case.rooted and not 0 <= root < p:
        raise ValueError(f"root is {root}, wants 0..{p - 1}")
    if elements is None:
        elements = 12 if case.by_blocks or case.form.on_grid else 12 * p
    function: Any = entry.function if entry else target
    name = entry.name if entry else getattr(target, "__name__", "function")
    case = replace(case, n=elements)
    return Subject(function, name, case, number_type(dtype), entry is not None)


def _entry(function: Callable[..., None]) -> Algorithm | None:
    return next((entry for entry in algorithms() if entry.function is function), None)


# ------------------------------------------------------------------ simulated


def record(
    target: Algorithm | Callable[..., None] | Subject,
    p: int,
    *,
    network: Network | None = None,
    caption: str = "",
    **call: Any,
) -> Recording:
    """Record a simulated run on p ranks.

    Parameters
    ----------
    target : Algorithm, callable or Subject
        A registered algorithm (or its function), or any function with the signature of the
        collective that `collective` names; or what `subject` made of it.
    p : int
        The number of ranks.
    network : Network, optional
        What messages travel on; ``Hockney(alpha=1)``, a second per message, where not given.
    caption : str
        What pictures of it are to say.
    **call
        See `subject`: ``collective``, ``elements``, ``dtype``, ``root``, and the options of the
        algorithm.

    Returns
    -------
    Recording
        Of a run that broke off too; `Recording.stuck` says why.

    Examples
    --------
    >>> from collectives import find
    >>> run = record(find("allreduce", "ring"), 4, elements=8)
    >>> [frame.title for frame in run.frames()]
    ['RS 1', 'RS 2', 'RS 3', 'AG 1', 'AG 2', 'AG 3']
    >>> after_one_step = run.states()[1]
    >>> after_one_step[0][2]  # what rank 0 holds of block 2
    [Hold(column=2, pips=(0, 3), at=0.0, share=1.0)]
    """
    from collectives.sim import DeadlockError, Hockney, SimulationError, simulate

    what = target if isinstance(target, Subject) else subject(target, p, **call)
    network = network or Hockney()

    def run(layer: int | None) -> tuple[list[Trace], list[Any], SimulationError | None]:
        traces, results = [Trace(keep=layer is not None) for _ in range(p)], [None] * p

        def program(comm: Any) -> None:
            results[comm.rank] = _run(what, comm, traces[comm.rank], layer)

        try:
            simulate(program, p, network=network)
        except SimulationError as error:
            return traces, results, error
        return traces, results, None

    timed, _, error = run(None)
    stuck = None
    if isinstance(error, DeadlockError):
        stuck = Stuck(dict(error.waiting), list(error.cycle), str(error))
    elif error is not None:
        stuck = Stuck({}, [], str(error))
    layers = [run(layer) for layer in range(_layers(p))]
    parts = [
        _part(
            what.labelled, rank, timed[rank],
            [traces[rank] for traces, *_ in layers], [results[rank] for _, results, _ in layers],
        )
        for rank in range(p)
    ]  # fmt: skip
    return _assembled(what, parts, named(network), simulated=True, stuck=stuck, caption=caption)


def named(network: Network) -> str:
    """Return the name of a preset, or what makes another network differ from the default.

    Examples
    --------
    >>> from collectives.sim import Hockney
    >>> named(Hockney(alpha=5e-6, gamma=0.0))
    'Hockney(alpha=5e-06)'
    """
    from collectives.sim.presets import PRESETS

    for entry in PRESETS.values():
        if entry.network == network:
            return entry.name
    given = [
        f"{field.name}={getattr(network, field.name)!r}"
        for field in fields(network)  # type: ignore[arg-type]
        if getattr(network, field.name) != field.default
    ]
    return f"{type(network).__name__}({', '.join(given)})"


# ------------------------------------------------------------------ rank by rank


@dataclass
class Part:
    """One rank's part of a recording: its events, what it brought and what it was left with."""

    events: list[Event]
    start: list[Hold]
    end: list[Hold]


def rehearse(what: Subject, comm: Any) -> None:
    """Run this rank's part of a run without recording it."""
    _run(what, comm, Trace(), None)


def record_rank(what: Subject, comm: Any) -> Part:
    """Record the part of one rank of `comm`; all of them call this together."""
    if hasattr(comm, "Barrier"):
        rehearse(what, comm)  # first messages take longer
        comm.Barrier()
    timed = Trace()
    _run(what, comm, timed, None)
    traces = [Trace(keep=True) for _ in range(_layers(comm.size))]
    results = [_run(what, comm, trace, layer) for layer, trace in enumerate(traces)]
    return _part(what.labelled, comm.rank, timed, traces, results)


def assemble(what: Subject, parts: Sequence[Part], library: str, caption: str = "") -> Recording:
    """Return the recording of a run from the parts of all ranks.

    `library` is the MPI library that it ran on; empty where the ranks were simulated.
    """
    first = min((event.start for part in parts for event in part.events), default=0.0)
    for part in parts:
        part.events = [
            replace(event, start=event.start - first, end=event.end - first)
            for event in part.events
        ]
    where = library or "one process"
    return _assembled(what, parts, where, simulated=not library, stuck=None, caption=caption)


# ------------------------------------------------------------------ how it is done


def _run(what: Subject, comm: Any, trace: Trace, layer: int | None) -> Array | None:
    """Run once with this rank's calls traced: for time, or with the labels of a layer."""
    case = what.case if layer is None else what.labelled
    case = replace(case, op=trace.op(SUM, comm))
    rank = comm.rank
    if layer is None and what.is_registered and not hasattr(comm, "Allreduce"):
        from collectives.sim import Phantom

        sendbuf, recvbuf = (Phantom(f(rank), what.dtype) for f in (case.input_size, case.room))
        case.call(what.function, trace.comm(comm), sendbuf, recvbuf)
        return None
    if layer is None:
        values = np.full(case.input_size(rank), rank + 1).astype(what.dtype)
    else:
        values = _labels(case, rank)[layer]
    return Buffers(case, rank, values).run(what.function, trace.comm(comm))


def _part(
    case: Case, rank: int, timed: Trace, traces: Sequence[Trace], results: Sequence[Any]
) -> Part:
    """Bring together what the runs of one rank have shown."""
    events = timed.events
    if all(_alike(events, trace.events) for trace in traces):
        events = [
            replace(event, holds=_decoded(case, [twin.payload for twin in twins]))
            for event, *twins in zip(events, *(trace.events for trace in traces), strict=True)
        ]
    start = [] if case.form.from_root and rank != case.root else _decoded(case, _labels(case, rank))
    return Part(events, list(start), list(dict.fromkeys(_decoded(case, results))))


def _alike(events: Sequence[Event], others: Sequence[Event]) -> bool:
    """Tell whether two runs of a rank made the same calls."""
    return len(events) == len(others) and all(
        (a.kind, a.call, a.peer, a.tag) == (b.kind, b.call, b.peer, b.tag)
        for a, b in zip(events, others, strict=True)
    )


def _assembled(
    what: Subject, parts: Sequence[Part], where: str, *, simulated: bool, stuck: Stuck | None,
    caption: str,
) -> Recording:  # fmt: skip
    case, p = what.case, len(parts)
    blocks = p if case.by_blocks or case.form.on_grid else 1
    moves = case.form.brings in ("row", "halo")
    some = case.form.brings != "nothing"
    return Recording(
        collective=case.collective, algorithm=what.name, ranks=p, elements=case.n,
        dtype=str(what.dtype), nbytes=blocks * case.n * what.dtype.itemsize, where=where,
        simulated=simulated,
        columns=[f"from r{i}" if moves else f"c{i}" for i in range(p if some else 0)],
        pips=[f"to r{i}" if moves else f"r{i}" for i in range(p)],
        start=[part.start for part in parts],
        end=None if stuck else [part.end for part in parts],
        events=[event for part in parts for event in part.events],
        root=case.root, options=dict(case.chosen), stuck=stuck, caption=caption,
    )  # fmt: skip


@cache
def wanted(collective: str, p: int, root: int) -> list[dict[int, tuple[int, ...]]]:
    """Return what the result of each rank must hold: pips by column."""
    case = Case(collective, p, root=root)
    case = replace(case, n=1 if case.by_blocks or case.form.on_grid else p)
    if case.form.brings == "nothing":
        return [{} for _ in range(p)]
    inputs = [_labels(case, rank) for rank in range(p)]
    layers = [case.expected([labels[layer] for labels in inputs]) for layer in range(_layers(p))]
    found: list[dict[int, tuple[int, ...]]] = []
    for rank in range(p):
        holds = dict.fromkeys(_decoded(case, [layer[rank] for layer in layers]))  # each once
        cells: dict[int, tuple[int, ...]] = {}
        for hold in holds:
            cells[hold.column] = (*cells.get(hold.column, ()), *hold.pips)
        found.append(cells)
    return found


# ------------------------------------------------------------------ labels


def _layers(p: int) -> int:
    return 1 + len(provenance.passes(p))


def _labels(case: Case, rank: int) -> list[Array]:
    """Return the layers of a rank's input: the numbers of its elements, then its counters.

    A number is that plus one, and its square in the upper half: sums of one element k times are
    told from those of different ones.
    """
    size = case.input_size(rank)
    first = 0
    if case.form.brings == "block":
        first = rank * case.n if case.form.on_grid else case.blocks.start(rank)
    number = np.arange(first + 1, first + size + 1, dtype=np.uint64)
    counters = [provenance.counters(rank, size, part) for part in provenance.passes(case.p)]
    return [number + (number * number << np.uint64(32)), *counters]


def _decoded(case: Case, layers: Sequence[Array | None]) -> tuple[Hold, ...]:
    """Return what a buffer holds, from what it held in every labelled run."""
    if any(layer is None or not layer.size for layer in layers):
        return ()
    numbers, *counters = (np.asarray(layer).astype(np.uint64) for layer in layers)
    digits = np.arange(0, 64, 4, dtype=np.uint64)[:, None]
    times = sum(((c >> digits) & np.uint64(15)).sum(axis=0) for c in counters)
    times = np.maximum(times, 1).astype(np.uint64)
    low, square = numbers & np.uint64(0xFFFFFFFF), numbers >> np.uint64(32)
    number = low // times
    pure = (number * times == low) & ((number * number * times & np.uint64(0xFFFFFFFF)) == square)
    index = np.maximum(number.astype(np.int64), 1) - 1
    present = np.any([c != 0 for c in counters], axis=0) & (
        low <= times * np.uint64(_starts(case)[-1])
    )
    starts = _starts(case)
    column = np.clip(np.searchsorted(starts, index, side="right") - 1, 0, len(starts) - 2)
    new = np.ones(index.size, bool)
    new[1:] = (np.diff(index) != 1) | (np.diff(column) != 0) | (pure[1:] != pure[:-1])
    for c in counters:
        new[1:] |= c[1:] != c[:-1]
    firsts = np.flatnonzero(new)
    holds = []
    for first, stop in zip(firsts, [*firsts[1:], index.size], strict=True):
        if not present[first]:
            continue
        ranks = _counted(*(int(c[first]) for c in counters))
        if ranks[-1] >= case.p:
            continue
        block = int(column[first])
        size = int(starts[block + 1] - starts[block])
        where = _place(case, block, ranks) if pure[first] else (block, (*ranks, -1))
        at = (index[first] - starts[block]) / size
        holds.append(Hold(*where, float(at), float((stop - first) / size)))
    return tuple(holds)


@lru_cache(maxsize=4096)
def _counted(*totals: int) -> tuple[int, ...]:
    """Return the ranks that an element with these counters is the sum of, in order."""
    (counted,) = provenance.contributions(*(np.array([total], np.uint64) for total in totals))
    return tuple(sorted(counted.elements()))


def _starts(case: Case) -> Array:
    """Return where the blocks start in the numbers of elements, and where the last one ends."""
    if case.form.brings == "row" or case.form.on_grid:
        count = len(case.neighbours(0)) if case.form.brings == "halo" else case.p
        return np.arange(count + 1) * case.n
    return np.array([case.blocks.start(i) for i in range(case.p + 1)])


def _place(case: Case, block: int, ranks: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return column and pips of a block of these ranks."""
    if case.form.brings not in ("row", "halo"):
        return block, ranks
    source = ranks[0]
    dest = case.neighbours(source)[block] if case.form.brings == "halo" else block
    return source, (dest,) if len(ranks) == 1 else (dest, -1)
