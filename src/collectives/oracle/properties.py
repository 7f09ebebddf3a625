"""What every algorithm promises: one function per promise, which looks for a counterexample.

A property takes a function with a collective's signature and a `Case`; where it compares a claim,
such as the cost, also the registry entry that makes it. It runs the function in simulation and
returns None, or a sentence that says where the promise is broken, what was got and what was wanted.
It does not raise for what the function does: exceptions and deadlocks are sentences too.

`PROPERTIES` has them all, each with the cases on which it is worth checking;
`Property.counterexample` goes through these for one algorithm.

Examples
--------
>>> from collectives import allreduce_ring
>>> right_values(allreduce_ring, Case("allreduce", p=5, n=7))
>>> def allreduce_of_two(comm, sendbuf, recvbuf, op):
...     other = np.empty_like(sendbuf)
...     comm.Sendrecv(sendbuf, dest=comm.rank ^ 1, recvbuf=other, source=comm.rank ^ 1)
...     op(sendbuf, other, out=recvbuf)
>>> every_rank_counted_once(allreduce_of_two, Case("allreduce", p=4, n=4))
'allreduce/of_two p=4 n=4: rank 0 block 0 has 0+1, wants 0+1+2+3'
"""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from collectives import arguments, sim
from collectives.comm import Array
from collectives.cost import lower_bound
from collectives.op import MAX, MIN, PREDEFINED
from collectives.oracle.cases import (
    RANKS,
    Buffers,
    Case,
    difference,
    grid,
    one_per_size,
    parameters,
    taken_by,
)
from collectives.oracle.payloads import AFFINE, UINT64, exact, rounding, symbolic
from collectives.provenance import Term, named
from collectives.registry import Algorithm, Requirement, UnsupportedError, commutative
from collectives.sim import Hockney, Phantom, SimComm, simulate

Target: TypeAlias = Callable[..., None]
Check: TypeAlias = Callable[..., str | None]
Program: TypeAlias = Callable[[SimComm], str | None]

FEW = (1, 2, 3, 5, 8)
"""Numbers of ranks for what does not depend on them much."""

RENDEZVOUS = Hockney()
EAGER = Hockney(eager_limit=2**62)


@dataclass(frozen=True)
class Property:
    """A promise: how it is checked, and on which cases it is worth checking."""

    check: Check
    cases: Callable[[str, Sequence[int]], Iterator[Case]]
    ranks: Sequence[int]

    def counterexample(self, entry: Algorithm, ranks: Sequence[int] = RANKS) -> str | None:
        """Return where `entry` breaks the promise first; None if on none of the cases.

        Parameters
        ----------
        entry : Algorithm
            What is checked; ``dataclasses.replace(entry, function=...)`` holds another function
            to the same claims.
        ranks : sequence of int
            The numbers of ranks to look at.
        """
        asked = taken_by(self.check, {"function": entry.function, "entry": entry})
        return _first(self.check(case=case, **asked) for case in self._cases(entry, ranks))

    def _cases(self, entry: Algorithm, ranks: Sequence[int]) -> Iterator[Case]:
        """Yield the cases that `entry` can do; in place, where it can do no other."""
        for variant in ({}, *entry.variants):
            sizes = [p for p in self.ranks if p in ranks and (not variant or p in FEW)]
            for plain in self.cases(entry.collective, sizes):
                case = replace(plain, chosen=tuple(variant.items()))
                if self.check is refuses_what_it_cannot_do or not _unmet(entry, case):
                    yield case
                elif not _unmet(entry, replace(case, in_place=True)):
                    yield replace(case, in_place=True)


PROPERTIES: dict[str, Property] = {}
"""Every promise by its name."""


def promise(
    cases: Callable[[str, Sequence[int]], Iterator[Case]] = grid, ranks: Sequence[int] = RANKS
) -> Callable[[Check], Check]:
    """Enter a check into `PROPERTIES`."""

    def enter(check: Check) -> Check:
        PROPERTIES[check.__name__] = Property(check, cases, ranks)
        return check

    return enter


# ------------------------------------------------------------------- simulated runs


@dataclass(frozen=True)
class _Trial:
    """One call in simulation: what it was about, and what it left on every rank."""

    title: str
    case: Case
    inputs: list[Array]
    buffers: list[Buffers]
    outcome: sim.Run | str

    @property
    def fault(self) -> str | None:
        """What ended the run early, if anything did."""
        return f"{self.title}: {self.outcome}" if isinstance(self.outcome, str) else None

    @property
    def results(self) -> list[Array | None]:
        return [buffers.result for buffers in self.buffers]

    def first(self, findings: Iterable[str | None]) -> str | None:
        """Return the fault, or else the first finding."""
        return self.fault or _first(f"{self.title}: {text}" for text in findings if text)

    def wrong_values(self) -> Iterator[str | None]:
        """Yield, for every rank, where its result is not what the serial definition says."""
        wanted = self.case.expected(self.inputs)
        for rank, (has, wants) in enumerate(zip(self.results, wanted, strict=True)):
            yield difference(self.case, rank, has, wants)


# A simulated run is deterministic: properties that look at the same one share it.
@lru_cache(maxsize=1024)
def _trial(
    function: Target,
    case: Case,
    network: Hockney = RENDEZVOUS,
    payload: Callable[[Case], list[Array]] = exact,
    pattern: int = 0xA5,
) -> _Trial:
    inputs = payload(case)
    buffers = [Buffers(case, rank, inputs[rank], pattern) for rank in range(case.p)]
    outcome = _simulate(lambda comm: buffers[comm.rank].run(function, comm), case.p, network)
    return _Trial(_title(function, case), case, inputs, buffers, outcome)


def _compared(function: Target, case: Case, inputs: list[Array]) -> Program:
    """Return a program that makes the call and says what is wrong with the result."""
    wanted = case.expected(inputs)

    def program(comm: SimComm) -> str | None:
        buffers = Buffers(case, comm.rank, inputs[comm.rank])
        wrong = difference(case, comm.rank, buffers.run(function, comm), wanted[comm.rank])
        buffers.sent.whole[:] = buffers.received.whole[:] = 0  # a caller may use them again
        return wrong

    return program


def _verdict(title: str, program: Program, size: int, network: Hockney = RENDEZVOUS) -> str | None:
    """Return the first complaint of a rank, or what ended the run early."""
    outcome = _simulate(program, size, network)
    if isinstance(outcome, str):
        return f"{title}: {outcome}"
    return _first(f"{title}: {text}" for text in outcome.results if text)


def _first(findings: Iterable[str | None]) -> str | None:
    """Return the first finding that is one."""
    return next((text for text in findings if text), None)


def _simulate(
    program: Callable[[SimComm], Any], size: int, network: Hockney = RENDEZVOUS
) -> sim.Run | str:
    """Return the run, or the story of what ended it."""
    try:
        return simulate(program, size, network=network)
    except sim.DeadlockError as error:
        return f"deadlock, {error}"
    except (Exception, SystemExit) as error:
        places = [
            f"{os.path.basename(frame.filename)}:{frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)
            if not frame.filename.startswith(_ELSEWHERE)
        ]
        notes = ", ".join([*places[-1:], *getattr(error, "__notes__", ())])
        return f"{type(error).__name__}: {error}" + (f" ({notes})" if notes else "")


_ELSEWHERE = tuple(os.path.dirname(str(x)) + os.sep for x in (__file__, sim.__file__, np.__file__))


def _title(function: Target, case: Case) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return f"{case.collective}/{name.removeprefix(f'{case.collective}_')} {case}"


def _on_rank(rank: int, text: str | None) -> str | None:
    return f"rank {rank}: {text}" if text else None


# ------------------------------------------------------------------- what comes out


@promise()
def right_values(function: Target, case: Case) -> str | None:
    """Every rank gets what the serial definition says, bit by bit."""
    trial = _trial(function, case)
    return trial.first(trial.wrong_values())


@promise()
def finishes_without_buffering(function: Target, case: Case) -> str | None:
    """Every rank returns, even when each send waits for its receive."""
    return _trial(function, case).fault


@promise()
def input_unchanged(function: Target, case: Case) -> str | None:
    """What ranks bring is afterwards as it was."""
    trial = _trial(function, case)
    return trial.first(_on_rank(x.rank, x.changed_input()) for x in trial.buffers)


@promise()
def writes_only_result(function: Target, case: Case) -> str | None:
    """Nothing is written around a result, nor where a rank has none."""
    trial = _trial(function, case)
    return trial.first(_on_rank(x.rank, x.written_outside()) for x in trial.buffers)


@promise()
def messages_match_cost(function: Target, case: Case, entry: Algorithm) -> str | None:
    """As many messages and bytes are sent as the cost function says."""
    trial, cost = _trial(function, case), case.cost(entry.cost)
    if cost is None or isinstance(trial.outcome, str):
        return trial.fault
    sent = sum(trial.outcome.messages), sum(trial.outcome.nbytes)
    said = cost.messages, cost.times(8).volume
    if sent == said:
        return None
    return (
        f"{trial.title}: {sent[0]} messages with {sent[1]} bytes are sent, "
        f"cost() says {said[0]} with {said[1]}"
    )


@promise()
def right_when_buffered(function: Target, case: Case) -> str | None:
    """Results are right, too, when sends return before they are received."""
    trial = _trial(function, case, EAGER)
    return trial.first(trial.wrong_values())


@promise()
def leaves_no_message_behind(function: Target, case: Case) -> str | None:
    """All that was sent is received, even where no send waits for it."""
    return _trial(function, case, EAGER).fault


@promise()
def works_in_place(function: Target, case: Case) -> str | None:
    """With ``IN_PLACE``, results are right and nothing else is written."""
    if case.form.one_buffer or case.form.on_grid or case.form.brings == "nothing":
        return None
    trial = _trial(function, replace(case, in_place=True))
    wrong = trial.first(trial.wrong_values())
    return wrong or trial.first(
        _on_rank(x.rank, text) for x in trial.buffers for text in x.violations()
    )


@promise()
def same_on_all_ranks(function: Target, case: Case) -> str | None:
    """Where all ranks get the same, they get the same bits, however sums are rounded."""
    trial = _trial(function, case, RENDEZVOUS, rounding)
    results = trial.results if case.same_everywhere else []
    return trial.first(
        difference(case, rank, result, results[0], "rank 0") for rank, result in enumerate(results)
    )


@promise()
def reads_only_input(function: Target, case: Case) -> str | None:
    """What result buffers held before does not matter, be it NaN."""
    trial = _trial(function, case, RENDEZVOUS, rounding)
    other = _trial(function, case, RENDEZVOUS, rounding, pattern=0xFF)
    return other.fault or trial.first(
        difference(case, rank, one, two, "after other leftovers in its buffer")
        for rank, (one, two) in enumerate(zip(trial.results, other.results, strict=True))
    )


@promise(one_per_size)
def right_for_every_op(function: Target, case: Case) -> str | None:
    """Results are right for every predefined operation, on operands that tell them apart."""
    if not case.reduces:
        return None
    return _first(
        _right_for(function, replace(case, op=op), np.dtype("i8" if op in (MIN, MAX) else "u8"))
        for op in PREDEFINED.values()
    )


@promise(one_per_size, FEW)
def right_for_every_dtype(function: Target, case: Case) -> str | None:
    """Results are right for every type of number."""
    return _first(_right_for(function, case, np.dtype(code)) for code in _number_types())


def _number_types() -> list[Any]:
    """Return NumPy's types of numbers and, where there is `ml_dtypes`, some of its."""
    try:
        import ml_dtypes
    except ImportError:
        return [*_OF_NUMPY]
    return [*_OF_NUMPY, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


_OF_NUMPY = "?bBhHiIlLefdgFDG"


def _right_for(function: Target, case: Case, dtype: np.dtype[Any]) -> str | None:
    title = f"{_title(function, case)} {dtype}"
    return _verdict(title, _compared(function, case, exact(case, dtype)), case.p)


@promise(one_per_size)
def zero_length_ok(function: Target, case: Case) -> str | None:
    """Vectors of no elements are handled, and cost no bytes."""
    trial = _trial(function, replace(case, n=0, counts=None))
    if isinstance(trial.outcome, str) or not sum(trial.outcome.nbytes):
        return trial.fault
    return f"{trial.title}: {sum(trial.outcome.nbytes)} bytes are sent"


# ------------------------------------------------------------------- who is in it


@promise()
def every_rank_counted_once(function: Target, case: Case) -> str | None:
    """Each element of a result has in it who belongs there, once, from the right place."""
    return _compare_terms(_trial(function, case, RENDEZVOUS, symbolic), in_order=False)


@promise()
def order_kept(function: Target, case: Case, entry: Algorithm) -> str | None:
    """Where the entry says so, operands are combined in ascending order of ranks."""
    if not entry.keeps_order:
        return None
    return _compare_terms(_trial(function, case, RENDEZVOUS, symbolic), in_order=True)


def _compare_terms(trial: _Trial, in_order: bool) -> str | None:
    known: dict[int, list[int]] = {}  # many elements hold the same term

    def ranks(term: Term) -> list[int]:
        if id(term) not in known:
            known[id(term)] = term.ranks() if in_order else sorted(term.ranks())
        return known[id(term)]

    def wrong(has: Any, wants: Term) -> str | None:
        if has is wants:
            return None
        if not isinstance(has, Term):
            return f"nothing, wants {named(ranks(wants))}"
        if ranks(has) != ranks(wants):
            got, wanted = ("+".join(map(str, ranks(term))) for term in (has, wants))
            return f"{got}, wants {wanted}"
        if has.element != wants.element:
            which = "other elements" if has.element < 0 else f"element {has.element}"
            return f"{which} of {named(ranks(has))}, wants element {wants.element}"
        return None

    def findings() -> Iterator[str | None]:
        wanted = trial.case.expected(trial.inputs)
        for rank, (has, wants) in enumerate(zip(trial.results, wanted, strict=True)):
            if has is None or wants is None:
                continue
            for element, pair in enumerate(zip(has.tolist(), wants.tolist(), strict=True)):
                text = wrong(*pair)
                if text:
                    yield f"rank {rank} block {trial.case.block_of(rank, element)} has {text}"

    return trial.first(findings())


# ------------------------------------------------------------------- around the call


@promise(one_per_size, FEW)
def back_to_back(function: Target, case: Case) -> str | None:
    """Calls may follow each other at once, with other data and roots, and some ranks be late."""
    other = replace(case, root=(case.root + 1) % case.p) if case.rooted else case
    calls = [
        _compared(function, asked, exact(asked, seed=seed))
        for seed, asked in enumerate((case, case, other))
    ]

    def program(comm: SimComm) -> str | None:
        _wait(comm, 4 * ((2 * comm.rank + 1) % comm.size))
        found = [call(comm) for call in calls]
        return next((f"call {i + 1} of 3: {text}" for i, text in enumerate(found) if text), None)

    return _verdict(_title(function, case), program, case.p, EAGER)


def _wait(comm: SimComm, seconds: int) -> None:
    """Let time pass on this rank: it sends that many messages to itself."""
    nothing = np.empty(0)
    for _ in range(seconds):
        comm.Sendrecv(nothing, dest=comm.rank, recvbuf=nothing.copy(), source=comm.rank)


@promise(one_per_size, FEW)
def waits_for_everyone(function: Target, case: Case) -> str | None:
    """No rank leaves a barrier before all have come, whichever is late."""
    if case.collective != "barrier":
        return None

    def program(late: int, comm: SimComm) -> str | None:
        _wait(comm, 100 if comm.rank == late else 0)
        case.call(function, comm, None, None)
        early = f"rank {comm.rank} leaves before rank {late} comes"
        return early if comm.time < 100 else None

    title = _title(function, case)
    return _first(_verdict(title, partial(program, late), case.p) for late in range(case.p))


@promise(one_per_size, FEW)
def any_communicator(function: Target, case: Case) -> str | None:
    """Ranks are those of the communicator given, whichever processes it has."""

    def program(split: Callable[[Any], Any], calls: list[Program], world: SimComm) -> str | None:
        return calls[world.rank % len(calls)](split(world))

    def verdict(name: str, groups: int, split: Callable[[Any], Any]) -> str | None:
        calls = [_compared(function, case, exact(case, seed=group)) for group in range(groups)]
        title = f"{_title(function, case)}, {name}"
        return _verdict(title, partial(program, split, calls), groups * case.p)

    return _first(verdict(*communicator) for communicator in _COMMUNICATORS)


_COMMUNICATORS: list[tuple[str, int, Callable[[Any], Any]]] = [
    ("ranks reversed", 1, lambda world: world.Split(0, -world.rank)),
    ("odd and even ranks apart", 2, lambda world: world.Split(world.rank % 2)),
    (
        "split twice",
        4,
        lambda world: world.Split(world.rank % 2, -world.rank).Split(world.rank // 2 % 2),
    ),
]
"""How many groups are made of the world, and how; a rank's group is its number modulo that."""


@promise(one_per_size, FEW)
def leaves_callers_messages_alone(function: Target, case: Case) -> str | None:
    """Messages and receives of the caller, on its communicator with any tag, stay as they are."""
    call = _compared(function, case, exact(case))

    def program(early: str, comm: SimComm) -> str | None:
        others = [rank for rank in range(comm.size) if rank != comm.rank]
        letters = np.full((comm.size, 1), comm.rank, UINT64)
        arrived = np.full((comm.size, 1), comm.size, UINT64)
        exchange: dict[str, Callable[[], list[Any]]] = {
            "message": lambda: [comm.Isend(letters[rank], dest=rank) for rank in others],
            "receive": lambda: [comm.Irecv(arrived[rank], source=rank) for rank in others],
        }
        requests = exchange.pop(early)()
        wrong = call(comm)
        (late,) = exchange.values()
        for request in requests + late():
            request.Wait()
        lost = [rank for rank in others if arrived[rank, 0] != rank]
        return f"rank {comm.rank}: the caller's message from {lost[0]} is lost" if lost else wrong

    return _first(
        _verdict(f"{_title(function, case)}, a {early} waits", partial(program, early), case.p)
        for early in ("message", "receive")
    )


# ------------------------------------------------------------------- what is refused


@promise(one_per_size, FEW)
def refuses_bad_input(function: Target, case: Case) -> str | None:
    """What cannot be done is refused with ValueError, before any message and any write."""
    wrong = [dict(case.wrong_calls(rank)) for rank in range(case.p)]
    every = dict.fromkeys(what for calls in wrong for what in calls)
    title = _title(function, case)
    return _first(
        _refusal(
            title, _placed(function, case), [calls.get(what) for calls in wrong], ValueError, what
        )
        for what in every
    )


@promise(one_per_size)
def refuses_what_it_cannot_do(function: Target, case: Case, entry: Algorithm) -> str | None:
    """What the entry requires is enforced and named; operand order is kept or not promised."""

    def finding(case: Case) -> str | None:
        title, unmet, inputs = _title(function, case), _unmet(entry, case), exact(case)
        if unmet == [commutative] and entry.keeps_order:
            return f"{title}: order is kept, yet {case.op} refused"
        if unmet:
            calls = [
                case.buffers(rank, inputs[rank], np.zeros(case.room(rank), UINT64))
                | case.options(rank)
                for rank in range(case.p)
            ]
            need = f"needs {unmet[0].name}; got"
            return _refusal(title, _placed(function, case), calls, UnsupportedError, need)
        if case.op.commutative:
            return None
        if not entry.keeps_order:
            return f"{title}: order is not kept, yet {case.op} not refused"
        return _verdict(title, _compared(function, case, inputs), case.p)

    ops = (case.op, AFFINE) if case.reduces else (case.op,)
    return _first(finding(replace(case, op=op)) for op in ops)


def _placed(function: Target, case: Case) -> Target:
    return lambda comm, **call: function(case.place(comm), **call)


def _refusal(
    title: str,
    function: Target,
    calls: Sequence[dict[str, Any] | None],
    wanted: type[ValueError],
    what: str,
) -> str | None:
    """Return what is amiss with the way in which `calls`, the arguments of each rank, are refused.

    Ranks without arguments do not call; the others must raise `wanted`, and an UnsupportedError
    must say `what`.
    """

    def program(comm: SimComm) -> str | None:
        call = calls[comm.rank]
        if call is None:
            return None
        arrays = [x for x in call.values() if isinstance(x, np.ndarray)]
        before = [x.tobytes() for x in arrays]
        try:
            function(comm, **call)
        except wanted as error:
            if wanted is UnsupportedError and what not in str(error):
                return f"rank {comm.rank} says {str(error)!r}, wants {what!r}"
            if before != [x.tobytes() for x in arrays]:
                return f"rank {comm.rank} writes before it refuses {what}"
            return None
        return f"rank {comm.rank} does not refuse {what}"

    outcome = _simulate(program, len(calls))
    if isinstance(outcome, str):
        return f"{title}: {what}: wants {wanted.__name__}, got {outcome}"
    if sum(outcome.messages):
        return f"{title}: messages are sent before {what} is refused"
    return _first(f"{title}: {text}" for text in outcome.results if text)


def _unmet(entry: Algorithm, case: Case) -> list[Requirement]:
    """Return what the entry requires and the case does not give."""
    comm: Any = SimpleNamespace(rank=case.root, size=case.p)
    if case.form.on_grid:
        near = case.neighbours(case.root)
        comm = SimpleNamespace(**vars(comm), inedges=near, outedges=near, **case.torus)
    buffers = (Phantom(size(case.root), UINT64) for size in (case.input_size, case.room))
    given = case.buffers(case.root, *buffers) | case.options(case.root)
    check = getattr(arguments, case.collective)
    call = {"comm": comm} | check(comm, **taken_by(check, given)) | _own_options(entry, case)
    return [need for need in entry.requires if not need.holds(call)]


def _own_options(entry: Algorithm, case: Case) -> dict[str, Any]:
    """Return the values of the options that this algorithm has and its collective has not."""
    shared = parameters(getattr(arguments, case.collective))
    takes = parameters(entry.function)
    return {x: takes[x].default for x in takes if x not in shared} | dict(case.chosen)


# ------------------------------------------------------------------- what it costs


@promise()
def time_matches_cost(function: Target, case: Case, entry: Algorithm) -> str | None:
    """The simulated time is that of the cost function, for alpha, beta and gamma each."""
    cost = case.cost(entry.cost)
    if cost is None:
        return None
    most = "" if cost.exact else " at most"

    def finding(name: str, network: Hockney) -> str | None:
        outcome = _without_data(function, case, network)
        if isinstance(outcome, str):
            return f"{_title(function, case)}: {outcome}"
        said = cost.times(8).time(network.alpha, network.beta, network.gamma)
        if outcome.time == said or (most and outcome.time < said):
            return None
        took = f"takes {outcome.time:g} s where {name} is 1 and the others 0"
        return f"{_title(function, case)}: {took}, cost() says {said:g}{most}"

    networks = Hockney(1.0, 0.0, 0.0), Hockney(0.0, 1.0, 0.0), Hockney(0.0, 0.0, 1.0)
    return _first(map(finding, ("alpha", "beta", "gamma"), networks))


@promise(one_per_size, FEW)
def huge_vectors_ok(function: Target, case: Case, entry: Algorithm) -> str | None:
    """Sizes beyond 2**32 elements do not wrap: bytes are sent as the cost function says."""
    huge = replace(case, n=2**33 + case.n)
    if "segment" in _own_options(entry, case):  # as few as there can be
        huge = replace(huge, chosen=tuple((dict(case.chosen) | {"segment": 2**32}).items()))
    cost = huge.cost(entry.cost)
    if cost is None:
        return None
    outcome, title = _without_data(function, huge, RENDEZVOUS), _title(function, huge)
    if isinstance(outcome, str):
        return f"{title}: {outcome}"
    sent, volume = sum(outcome.nbytes), cost.times(8).volume
    return f"{title}: {sent} bytes are sent, cost() says {volume}" if sent != volume else None


@promise()
def formulas_match_cost(case: Case, entry: Algorithm) -> str | None:
    """The formulas in the docstring's Notes give what the cost function gives."""
    cost = case.cost(entry.cost)
    if cost is None or case.counts is not None:
        return None
    if "messages" not in entry.formulas:  # not every volume can be said in a line
        return f"{entry}: the Notes do not say how many messages"
    names = _ARITHMETIC | _own_options(entry, case) | case.names()
    for what, formula in entry.formulas.items():  # some define a name for those that follow
        value = names[what] = eval(formula, names)
        if value != getattr(cost, what, value):
            return f"{entry} {case}: {what} {formula} is {value}, cost() says {getattr(cost, what)}"
    return None


_ARITHMETIC: dict[str, Any] = {
    "__builtins__": {}, "ceil": math.ceil, "floor": math.floor, "log2": math.log2, "max": max,
    "min": min, "range": range, "sum": sum,
}  # fmt: skip


@promise()
def not_below_lower_bound(case: Case, entry: Algorithm) -> str | None:
    """The cost function does not promise what no algorithm can keep."""
    cost, bound = case.cost(entry.cost), lower_bound(case.collective, case.p, case.n)
    nothing_to_send = case.n == 0 and case.form.brings != "nothing"
    if cost is None or case.counts is not None or nothing_to_send:
        return None
    for what in ("alphas", "betas", "gammas"):
        if getattr(cost, what) < getattr(bound, what):
            least = getattr(bound, what)
            return f"{entry} {case}: cost() says {what} {getattr(cost, what)}, least is {least}"
    return None


def _without_data(function: Target, case: Case, network: Hockney) -> sim.Run | str:
    """Run on phantom arrays, without the buffers that only the root needs."""

    def program(comm: SimComm) -> None:
        rank, other = comm.rank, comm.rank != case.root
        sent = None if case.form.from_root and other else Phantom(case.input_size(rank))
        received = None if case.form.to_root and other else Phantom(case.room(rank))
        case.call(function, comm, sent, received)

    return _simulate(program, case.p, network)
