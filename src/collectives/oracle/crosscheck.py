"""Cross-validation: step by step, built-in and serial definition must say the same.

Runs on every rank of a communicator, real or simulated, and returns what it found there. Nothing
is raised in between, so that a fault on one rank is reported and does not become a hang.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from collectives import provenance
from collectives.comm import Array
from collectives.op import SUM
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.differences import difference
from collectives.oracle.payloads import exact
from collectives.registry import Algorithm


@dataclass(frozen=True)
class Finding:
    """One check on one rank.

    Attributes
    ----------
    check : str
        What was checked.
    passed : bool
        Whether it held.
    detail : str
        What was measured, or what was wrong: rank, block, what was got and what was wanted.
    """

    check: str
    passed: bool
    detail: str = ""


def crosscheck(
    algorithm: Callable[..., None],
    builtin: Algorithm | None,
    comm: Any,
    case: Case,
    dtype: np.dtype[Any],
) -> Iterator[Finding]:
    """Yield the findings of this rank.

    Parameters
    ----------
    algorithm : callable
        A function with the collective's signature.
    builtin : Algorithm or None
        The MPI library's, on communicators that have one.
    comm : Comm
        All its ranks call this.
    case : Case
        What is asked.
    dtype : dtype
        Of the payload.
    """
    inputs = exact(case, dtype)
    wanted = case.expected(inputs)[comm.rank]
    buffers = Buffers(case, comm.rank, inputs[comm.rank])
    got = buffers.run(algorithm, comm)
    yield Finding("value", *_compare(case, comm.rank, got, wanted, "the serial definition"))
    if builtin is not None:
        theirs = Buffers(case, comm.rank, inputs[comm.rank]).run(builtin.function, comm)
        yield Finding("built-in", *_compare(case, comm.rank, got, theirs, "the built-in"))
    written = buffers.violations()
    yield Finding("buffers", not written, "; ".join(written) or "nothing else was written")
    if case.reduces:
        yield Finding("counts", *_count(algorithm, comm, case))


def _compare(
    case: Case, rank: int, got: Array | None, wanted: Array | None, source: str
) -> tuple[bool, str]:
    wrong = difference(case, rank, got, wanted, source)
    return wrong is None, wrong or f"the same bits as {source}"


def _count(algorithm: Callable[..., None], comm: Any, case: Case) -> tuple[bool, str]:
    """Count how often each rank got into each element of the result."""
    counting = replace(case, op=SUM)
    rank = comm.rank
    totals: list[Array] = []
    for part in provenance.passes(case.p):
        mine = provenance.counters(rank, case.input_size(rank), part)
        total = Buffers(counting, rank, mine).run(algorithm, comm)
        if total is not None:
            totals.append(total)
    if not totals:
        return True, "no result here"
    those = {"scan": range(rank + 1), "exscan": range(rank)}.get(case.collective, range(case.p))
    once = Counter(those)
    # All elements that hold the same counters have the same story: look at one of each.
    stories = np.unique(np.stack(totals), axis=1, return_index=True)[1]
    for element in sorted(stories.tolist()):
        (counted,) = provenance.contributions(*(t[element : element + 1] for t in totals))
        if counted != once:
            has, wants = (provenance.named(x.elements()) for x in (counted, once))
            block = case.block_of(rank, element)
            return False, f"rank {rank} block {block} has {has}, wants {wants}"
    return True, f"{provenance.named(once)} in every element"
