"""F14: faults in the checker itself, planted by replacing one of its functions.

`CONTROLS` are what a checker must get right: some planted faults, each with the promise that it
breaks, and algorithms without any. A checker that gets one of them wrong is found out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import PropertyMock, patch

import numpy as np

from collectives.op import SUM
from collectives.oracle import (
    cases,
    checking,
    differences,
    examining,
    findings,
    payloads,
    report,
    request,
    skew,
    trials,
    worlds,
)
from collectives.oracle.buffers import Buffers, Guarded
from collectives.oracle.counted import wrong_terms
from collectives.oracle.mutants import f01_contribution as f01
from collectives.oracle.mutants import f02_placement as f02
from collectives.oracle.mutants import f03_boundary as f03
from collectives.oracle.mutants import f04_buffers as f04
from collectives.oracle.mutants import f06_operation as f06
from collectives.oracle.mutants import f07_floating as f07
from collectives.oracle.mutants import f09_matching as f09
from collectives.oracle.mutants import f10_deadlock as f10
from collectives.oracle.mutants import f11_synchrony as f11
from collectives.oracle.mutants.planting import Family, Mutant, edited
from collectives.oracle.promises import PROPERTIES, Property
from collectives.oracle.properties import buffers, floats, messages, progress, values
from collectives.oracle.targets import OfPython, registered
from collectives.oracle.trials import Trial
from collectives.registry import Algorithm

RANKS: Final = (2, 3, 4)
"""Of ranks, as many as the controls need."""


def _planted(family: Family, where: str, wrong: str) -> Mutant:
    return next(
        mutant
        for mutant in family.mutants
        if mutant.where == where and mutant.wrong.startswith(wrong)
    )


CONTROLS: Final[list[tuple[Mutant, str]]] = [
    (_planted(f01.FAULTS, "allreduce/recursive_doubling", "leave out the nei"), "right_values"),
    (_planted(f01.FAULTS, "reduce/linear", "leave out rank 1"), "every_rank_counted_once"),
    (_planted(f02.FAULTS, "bcast/linear", "the rank after the root"), "right_values"),
    (_planted(f02.FAULTS, "gather/linear", "number the blocks"), "right_values"),
    (_planted(f03.FAULTS, "allreduce/student", "drop the tail"), "right_values"),
    (_planted(f02.FAULTS, "neighbor_allgather/linear", "number the"), "right_values"),
    (_planted(f03.FAULTS, "allreduce/double_binary_tree", "drop what"), "right_values"),
    (_planted(f04.FAULTS, "reduce/binomial", "combine in the input"), "input_unchanged"),
    (_planted(f04.FAULTS, "allreduce/student", "write to the input"), "input_unchanged"),
    (_planted(f04.FAULTS, "gather/linear", "the root writes one"), "writes_only_result"),
    (_planted(f04.FAULTS, "gather/binomial", "clear the result"), "writes_only_result"),
    (_planted(f04.FAULTS, "allreduce/student", "read the result"), "reads_only_input"),
    (_planted(f04.FAULTS, "allgather/bruck", "take the first block"), "works_in_place"),
    (_planted(f06.FAULTS, "reduce_scatter/ring", "always sum"), "right_values"),
    (_planted(f06.FAULTS, "scan/linear", "swap the operands"), "order_kept"),
    (_planted(f07.FAULTS, "allreduce/ring", "rank 1 combines"), "same_on_all_ranks"),
    (_planted(f07.FAULTS, "allgather/ring", "NaN becomes zero"), "special_values"),
    (_planted(f07.FAULTS, "scan/linear", "double precision"), "float_error_bounded"),
    (_planted(f09.FAULTS, "bcast/binomial", "send everything"), "leaves_no_message_behind"),
    (_planted(f09.FAULTS, "bcast/binomial", "run on the caller"), "survives_foreign_traffic"),
    (_planted(f09.FAULTS, "allgather/ring", "every exchange"), "messages_match_cost"),
    (_planted(f10.FAULTS, "alltoall/pairwise", "send, then"), "finishes_without_buffering"),
    (_planted(f10.FAULTS, "neighbor_allgather/linear", "receive from"), "right_values"),
    (_planted(f11.FAULTS, "barrier/tree", "tell the root"), "survives_skew"),
    (_planted(f11.FAULTS, "gather/linear", "rank 0 brings"), "survives_skew"),
]
"""Faults, each with a promise that a checker must see broken."""

SOUND: Final = ("allreduce/recursive_doubling", "gather/binomial", "barrier/dissemination")
"""Algorithms in which a checker must find nothing."""


def found_out() -> str | None:
    """Return what the checker gets wrong first of the controls; None if it is right in all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, about what is computed with garbage
        for mutant, promise in CONTROLS:
            code = _exit_code(mutant.plant(), [promise])
            if code != 1:
                return f"{mutant}: {promise} has exit code {code}"
        for where in SOUND:
            code = _exit_code(edited(where), [])
            if code != 0:
                return f"{where}, which is right, has exit code {code}"
    return None


def _exit_code(entry: Algorithm, only: Sequence[str]) -> int:
    target = OfPython(str(entry), (registered(entry),))
    try:
        made = checking.check(target, entry.collective, ranks=RANKS, quick=True, only=only)
    except Exception:
        return 2
    return made.exit_code


# ------------------------------------------------------------------ the faults


@dataclass(frozen=True)
class WrongChecker:
    """One fault of the checker.

    Attributes
    ----------
    wrong : str
        What is wrong, in a line.
    replaced : tuple of (object, str, object)
        What is replaced: the owner, the name there, and by what.
    """

    wrong: str
    replaced: tuple[tuple[Any, str, Any], ...]

    def __str__(self) -> str:
        return f"F14 checker: {self.wrong}"

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Let the checker be wrong; what it has tried before is forgotten before and after."""
        with ExitStack() as stack:
            stack.callback(trials._made.cache_clear)
            for owner, name, other in self.replaced:
                stack.enter_context(patch.object(owner, name, other, create=True))
            trials._made.cache_clear()
            yield


def _nothing(*args: Any, **named: Any) -> None:
    return None


def _on_slice(a: Any, b: Any) -> Any:
    half = len(a) // 2
    return differences.differing(a[:half], b[:half])


def _nearly(a: Any, b: Any) -> Any:
    return np.flatnonzero(abs(a.astype(float) - b.astype(float)) > 1.0)


def _without_nan(a: Any, b: Any) -> Any:
    return np.flatnonzero((a != b) & (a == a) & (b == b))


def _of_rank_0(case: Any, results: Any, wanted: Any) -> Any:
    return _wrong_values(case, [results[0], *[None] * (len(results) - 1)], wanted)


def _with_itself(trial: Trial) -> Any:
    return _wrong_values(trial.case, trial.results, trial.results)


def _same_seed(case: Any, dtype: Any = payloads.UINT64, seed: int = 0) -> Any:
    return _exact(case, dtype)


def _same_on_ranks(case: Any, dtype: Any = payloads.UINT64, seed: int = 0) -> Any:
    inputs = _exact(case, dtype, seed)
    longest = max(inputs, key=len)
    return [longest[: len(own)].copy() for own in inputs]


def _ones(case: Any, dtype: Any = payloads.UINT64, seed: int = 0) -> Any:
    return [np.ones_like(own) for own in _exact(case, dtype, seed)]


def _not_called(self: Buffers, function: Any, comm: Any) -> Any:
    return self.result


def _never_ended(self: Trial) -> None:
    return None


def _zeros(self: Guarded, size: int, dtype: Any, pattern: int = 0) -> None:
    _guarded(self, size, dtype, 0)


def _only(*allowed: str) -> Callable[..., Any]:
    def ended(case: Any, outcome: worlds.Outcome) -> Any:
        found = _ended(case, outcome)
        return found if found is None or found.kind in allowed else None

    return ended


def _eager(self: worlds.Simulated, program: Any, p: int, *, network: Any = worlds.EAGER) -> Any:
    return _run(self, program, p, network=worlds.EAGER)


def _no_elements(cases_of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, subject, ranks=(): (
        replace(case, n=0, counts=None) for case in cases_of(self, subject, ranks)
    )


def _sums(cases_of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, subject, ranks=(): (
        case for case in cases_of(self, subject, ranks) if case.op is SUM
    )


_wrong_values, _exact = findings.wrong_values, payloads.exact
_guarded, _ended, _run = Guarded.__init__, trials.ended, worlds.Simulated.run
_asked = Property.asked

CHECKERS: Final = [
    WrongChecker("compare half of the elements", ((findings, "differing", _on_slice),)),
    WrongChecker("tolerate differences of one", ((findings, "differing", _nearly),)),
    WrongChecker("never take NaN for wrong", (
        (findings, "differing", _without_nan),
        (floats, "_special", _nothing),
    )),
    WrongChecker("compare on rank 0 only", ((trials, "wrong_values", _of_rank_0),)),
    WrongChecker("compare the result with itself", ((Trial, "wrong_values", _with_itself),)),
    WrongChecker("exit code 0 on a fault", ((report, "FAULT", 0),)),
    WrongChecker("exit code 1 in any case", (
        (report.Report, "exit_code", PropertyMock(return_value=1)),
    )),
    WrongChecker("never call the target", ((Buffers, "run", _not_called),)),
    WrongChecker("fill buffers with zeros", ((Guarded, "__init__", _zeros),)),
    WrongChecker("one pattern for both runs", ((buffers, "OTHER_LEFTOVERS", 0xA5),)),
    WrongChecker("the same data in every call", ((progress, "exact", _same_seed),)),
    WrongChecker("the same data on every rank", ((trials, "exact", _same_on_ranks),)),
    WrongChecker("ones everywhere", ((trials, "exact", _ones),)),
    WrongChecker("do not look beyond the result", (
        (Buffers, "written_outside", _nothing),
    )),
    WrongChecker("do not look at the input", (
        (Buffers, "changed_input", _nothing),
        (Guarded, "freeze", _nothing),
    )),
    WrongChecker("let the input be written to", ((Guarded, "freeze", _nothing),)),
    WrongChecker("take deadlocks for the end", (
        (trials, "ended", _only("raised", "left over")),
        (values, "_ending", _never_ended),
    )),
    WrongChecker("let messages be left over", ((trials, "ended", _only("deadlock", "raised")),)),
    WrongChecker("buffer every send", ((worlds.Simulated, "run", _eager),)),
    WrongChecker("nobody is late", (
        (progress, "one_late", lambda p, late: [[0]] * p),
        (progress, "delays", lambda p, seed, calls=3: [[0] * calls] * p),
    )),
    WrongChecker("one call where there should be several", (
        (progress, "in_a_row", lambda function, calls, late, comm: skew.in_a_row(
            function, calls[:1], [x[:1] for x in late], comm) * len(calls)),
        (progress, "wrong_values", lambda case, results, wanted: iter(())),
    )),
    WrongChecker("vectors without elements only", (
        (Property, "asked", _no_elements(_asked)),
    )),
    WrongChecker("sums only", ((Property, "asked", _sums(_asked)),)),
    WrongChecker("one rank only", ((request.Asked, "sizes", lambda self, world: [1]),)),
    WrongChecker("no case at all", ((request.Asked, "cases", lambda *asked: iter(())),)),
    WrongChecker("never in place", (
        (cases.Case, "shares_buffer", lambda self, rank: self.form.one_buffer),
    )),
    WrongChecker("ranks in any order", (
        (values, "_wrong_terms", lambda termed, in_order: wrong_terms(
            termed.case, termed.results, termed.case.expected(termed.inputs), in_order=False)),
    )),
    WrongChecker("do not count who is in a result", (
        (values, "_wrong_terms", lambda termed, in_order: iter(())),
    )),
    WrongChecker("allow any rounding error", ((floats, "finfo", lambda dtype: _Endless),)),
    WrongChecker("compare every rank with itself", ((floats, "differing_from", _nothing),)),
    WrongChecker("count no messages", (
        (messages, "sum", lambda numbers: 0),
    )),
    WrongChecker("take every fault for a known one", (
        (examining, "known", lambda *found: "known of old"),
    )),
    WrongChecker("let no messages of the caller wait", (
        (progress, "TAGS", ()),
    )),
    WrongChecker("stop after the first promise that is kept", (
        (request.Asked, "properties", lambda self: [PROPERTIES["one_rank_ok"]]),
    )),
]  # fmt: skip
"""Every fault of the checker."""


class _Endless:
    eps = 0.1
