"""Cross-validation: step by step, built-in and serial definition must say the same.

Runs on every rank of a communicator, real or simulated, and returns what it found there. Nothing
is raised in between, so that a fault on one rank is reported and does not become a hang.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectives import provenance
from collectives.comm import Array
from collectives.op import SUM
from collectives.oracle.cases import Buffers, Case, differing
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


def payload(case: Case, rank: int, dtype: np.dtype[Any], seed: int = 0) -> Array:
    """Return the input of `rank`: random, different for every rank and element.

    Small integers where sums have to stay exact in floating point, the whole range otherwise.
    """
    generator = np.random.default_rng([seed, rank, case.p])
    size = case.input_size(rank)
    if dtype.kind in "iub":
        info = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return generator.integers(*info, size, dtype, endpoint=True)
    exact = generator.integers(1, 8, size).astype(dtype)
    return exact + 1j * generator.integers(1, 8, size) if dtype.kind == "c" else exact


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
    inputs = [payload(case, rank, dtype) for rank in range(case.p)]
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
    wrong = differing(got, wanted) if got is not None and wanted is not None else np.empty(0, int)
    if got is None or wanted is None or not wrong.size:
        return True, f"the same bits as {source}"
    first = int(wrong[0])
    return False, (
        f"rank {rank} block {case.block_of(rank, first)} element {first} has {got[first]}, "
        f"{source} {wanted[first]} ({wrong.size} of {got.size} elements differ)"
    )


def _count(algorithm: Callable[..., None], comm: Any, case: Case) -> tuple[bool, str]:
    """Count how often each rank got into each element of the result."""
    counting = Case(case.collective, case.p, case.n, SUM, case.root, case.counts, case.in_place)
    rank = comm.rank
    totals: list[Array] = []
    for part in provenance.passes(case.p):
        mine = provenance.counters(rank, case.input_size(rank), part)
        total = Buffers(counting, rank, mine).run(algorithm, comm)
        if total is not None:
            totals.append(total)
    if not totals:
        return True, "no result here"
    once = Counter(range(case.p))
    # All elements that hold the same counters have the same story: look at one of each.
    stories = np.unique(np.stack(totals), axis=1, return_index=True)[1]
    for element in sorted(stories.tolist()):
        (counted,) = provenance.contributions(*(t[element : element + 1] for t in totals))
        if counted != once:
            has, wants = (
                provenance.named(counted.elements()),
                provenance.named(once.elements()),
            )
            block = case.block_of(rank, element)
            return False, f"rank {rank} block {block} has {has}, wants {wants}"
    return True, "every rank is counted once in every element"
