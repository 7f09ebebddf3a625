"""Models of other checkers: what they put in, on which calls, and how they compare.

Each is written from reading the tool's source; none is the tool itself. They run the same planted
faults in simulation as the oracle, to see what it is that inputs and comparisons of their kind
notice. All get the same numbers of ranks, and one call per test whose sends wait for their
receives, as those of long messages do: a hang is noticed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from collectives.comm import Array
from collectives.dtypes import number_type
from collectives.op import BAND, BOR, BXOR, LAND, LOR, MAX, MIN, PROD, SUM, Op
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.differences import differing
from collectives.oracle.forms import FORMS
from collectives.oracle.mutants.planting import Mutant
from collectives.oracle.payloads import exact
from collectives.oracle.promises import Subject, can
from collectives.oracle.worlds import EAGER, RENDEZVOUS, SIMULATED
from collectives.registry import Algorithm

RANKS: Final = (2, 3, 4, 5)
"""Numbers of ranks that every model gets."""

Values: TypeAlias = Callable[[int, Array, int, int], Array]
"""``(rank, index, call, p)``: what a rank brings, element by element."""

Alike: TypeAlias = Callable[[Array, Array, int], bool]
"""Whether a result is taken for what is expected, with p ranks."""

NOTICED: Final = {"deadlock", "starved", "starved early", "mismatched", "truncated", "raised",
                  "misused"}  # fmt: skip
"""What ends a run of any tool: a hang, or an error of the library."""

MOVING: Final = frozenset({"bcast", "scatter", "gather", "allgather", "alltoall"})
REDUCING: Final = frozenset({"reduce", "allreduce", "reduce_scatter"})


@dataclass(frozen=True)
class Checker:
    """The model of one checker.

    Attributes
    ----------
    name, source : str
        Which tool, and which of its files was read.
    values, alike : callable
        What ranks bring, and what is taken for right.
    collectives : frozenset of str
        What it tests.
    sizes : callable
        Numbers of elements for p ranks.
    dtypes : sequence of str
    ops : sequence of Op
    every_root, in_place, uneven, reversed, calls_on : bool
        Whether it calls with every root, in place, with blocks of different sizes, on a
        communicator with the ranks reversed; whether the data of its calls differ.
    guard : bool
        Whether it looks at the element after the result.
    """

    name: str
    source: str
    values: Values | None
    alike: Alike
    collectives: frozenset[str] = MOVING | REDUCING
    sizes: Callable[[int], Sequence[int]] = lambda p: (1, 8, 64)
    dtypes: Sequence[str] = ("float32",)
    ops: Sequence[Op] = (SUM,)
    every_root: bool = False
    in_place: bool = False
    uneven: bool = False
    reversed: bool = False
    calls_on: bool = False
    guard: bool = field(default=False)

    def cases(self, collective: str) -> Iterator[Case]:
        """Yield the calls that it makes."""
        if collective not in self.collectives:
            return
        for p in RANKS:
            plain = Case(collective, p)
            roots = range(p) if self.every_root and plain.rooted else [0]
            ops = self.ops if plain.reduces else [SUM]
            places = (
                [False, True] if self.in_place and not FORMS[collective].one_buffer else [False]
            )
            for n in self.sizes(p) if plain.form.brings != "nothing" else [0]:
                for root in roots:
                    yield replace(plain, n=n, root=root, dtype=self.dtypes[0])
            middle = replace(plain, n=self.sizes(p)[-1], dtype=self.dtypes[0])
            yield from (replace(middle, dtype=dtype) for dtype in self.dtypes[1:])
            integers = self.values is not None and "int32" in self.dtypes  # exact in any order
            other = replace(middle, dtype="int32") if integers else middle
            yield from (replace(other, op=op) for op in ops if op is not SUM)
            yield from (replace(middle, in_place=True) for place in places if place)
            if self.uneven and plain.by_blocks:
                yield replace(middle, counts=tuple(range(1, p + 1)))

    def notices(self, mutant: Mutant) -> bool:
        """Tell whether it notices a planted fault."""
        entry = mutant.plant()
        subject = Subject(mutant.collective, entry.name, entry.function, entry)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPy, about what is computed with garbage
            return any(self._fails(entry, case) for case in self.cases(mutant.collective)
                       if can(subject, case))  # fmt: skip

    def _fails(self, entry: Algorithm, case: Case) -> bool:
        calls = [self._inputs(case, call) for call in range(2 if self.calls_on else 1)]
        long = case.n >= max(self.sizes(case.p)) and case.op is SUM and not case.in_place
        for network in (EAGER, RENDEZVOUS) if long else (EAGER,):
            for turned in (False, True) if self.reversed and long else (False,):
                program = partial(_calls, entry, case, calls, turned)
                outcome = SIMULATED.run(program, case.p, network=network)
                if outcome.ending is not None and outcome.ending.kind in NOTICED:
                    return True
                if any(self._is_wrong(case, calls, outcome.results, turned)):
                    return True
        return False

    def _inputs(self, case: Case, call: int) -> list[Array]:
        dtype = number_type(case.dtype)
        if self.values is None:
            return exact(case, dtype, seed=call)
        sizes = [case.input_size(rank) for rank in range(case.p)]
        return [
            self.values(rank, np.arange(size), call, case.p).astype(dtype)
            for rank, size in enumerate(sizes)
        ]

    def _is_wrong(
        self, case: Case, calls: Sequence[list[Array]], results: Sequence[Any], turned: bool
    ) -> Iterator[bool]:
        for call, inputs in enumerate(calls):
            wanted = case.expected(inputs)
            for place, found in enumerate(results):
                wants = wanted[case.p - 1 - place if turned else place]
                if found is None or found[call] is None or wants is None:
                    continue
                has, guard = found[call]
                yield not self.alike(has, wants, case.p) or (self.guard and guard)


def _calls(
    entry: Algorithm, case: Case, calls: Sequence[list[Array]], turned: bool, comm: Any
) -> list[tuple[Array, bool] | None]:
    """Make the calls of one rank, one after the other; return results, and what lies after them."""
    placed = comm.Split(0, -comm.rank) if turned else comm
    made: list[tuple[Array, bool] | None] = []
    for inputs in calls:
        buffers = Buffers(case, placed.rank, inputs[placed.rank], pattern=0)
        result = buffers.run(entry.function, placed)
        if result is None:
            made.append(None)
            continue
        after = buffers.received.changed(allowed=result.size)
        made.append((result.copy(), result.size in after))
    return made


# ------------------------------------------------------------------ what they compare


def _bits(has: Array, wants: Array, p: int) -> bool:
    return not differing(has, wants).size


def _within(error: float, relative: bool = False, per_rank: bool = False) -> Alike:
    """Return a comparison that tolerates an error, in floats only; NaN compares as it does in C."""

    def alike(has: Array, wants: Array, p: int) -> bool:
        if has.dtype.kind in "iub":
            return bool((has == wants).all())
        one, other = has.astype(complex), wants.astype(complex)
        scale = np.maximum(abs(other), 1.0) if relative else 1.0
        return not bool((abs(one - other) > error * scale * (p if per_rank else 1)).any())

    return alike


def _whole(has: Array, wants: Array, p: int) -> bool:
    """Compare what is left of the difference as an integer."""
    if has.dtype.kind in "iub":
        return bool((has == wants).all())
    return not bool((np.trunc(abs(has.astype(float) - wants.astype(float))) > 0).any())


INTEGERS: Final = ("int8", "uint8", "int32", "uint32", "int64", "uint64")
ARITHMETIC: Final = (SUM, PROD, MIN, MAX)

CHECKERS: Final = (
    Checker(
        "nccl-tests", "src/common.cu, verifiable/verifiable.cu: exact sums, compared exactly",
        None, _bits, dtypes=("float32", *INTEGERS, "float16", "float64"), ops=ARITHMETIC,
        in_place=True, calls_on=True,
    ),
    Checker(
        "OSU, float", "c/util/osu_util_mpi.c: (i % 100 + 1) (call + 1) on every rank; the "
        "difference is cut to an integer",
        lambda rank, i, call, p: (i % 100 + 1.0) * (call + 1), _whole, calls_on=True,
    ),
    Checker(
        "OSU, int", "c/util/osu_util_mpi.c: the same as integers",
        lambda rank, i, call, p: (i % 100 + 1) * (call + 1), _bits, dtypes=("int32", "int8"),
        calls_on=True,
    ),
    Checker(
        "IMB", "src_c/IMB_chk_diff.c: 0.1 (rank + 1 + i), 1 % tolerated",
        lambda rank, i, call, p: 0.1 * ((rank + 1) % 256 + i % 256), _within(1e-2, relative=True),
        sizes=lambda p: (0, 1, 8, 64), every_root=True,
    ),
    Checker(
        "UCC", "test/mpi/mpi_util.cc: (rank + i + 1) % 128, 1e-5 tolerated, teams",
        lambda rank, i, call, p: (rank + i + 1) % 128, _within(1e-5),
        dtypes=("float32", *INTEGERS, "float64"),
        ops=(*ARITHMETIC, LAND, LOR, BAND, BOR, BXOR), every_root=True, in_place=True,
        reversed=True,
    ),
    Checker(
        "Gloo", "gloo/test/base_test.h: rank + i p, compared exactly",
        lambda rank, i, call, p: rank + i * p, _bits,
        sizes=lambda p: (1, 10, 64, 100), dtypes=("float32", "int32", "uint64", "float64"),
        ops=ARITHMETIC, every_root=True, in_place=True, uneven=True,
    ),
    Checker(
        "mpi4py", "test/test_cco_buf.py: i on every rank, 7 decimals, the element after the result",
        lambda rank, i, call, p: i + 0 * rank, _within(0.5e-7),
        collectives=frozenset(FORMS), sizes=lambda p: (p,),
        dtypes=("float64", "float32", *INTEGERS, "complex128"), ops=(SUM, PROD, MIN, MAX),
        every_root=True, in_place=True, uneven=True, guard=True,
    ),
    Checker(
        "PICO", "pico_core: random numbers, compared with the library's result; 1e-4 p tolerated",
        lambda rank, i, call, p: np.random.default_rng([rank, i.size]).random(i.size) * 100,
        _within(1e-4, relative=True, per_rank=True), dtypes=("float64", "int32"),
    ),
)  # fmt: skip
"""The models."""


def noticing(mutant: Mutant) -> list[bool]:
    """Return which of the models notice a planted fault."""
    return [checker.notices(mutant) for checker in CHECKERS]


def compared(mutants: Sequence[Mutant], ours: Sequence[bool]) -> str:
    """Return a Markdown table: how many planted faults each model notices, family by family.

    `ours` says of each mutant whether the oracle does.
    """
    with ProcessPoolExecutor() as pool:
        noticed = list(pool.map(noticing, mutants, chunksize=4))
    counts: dict[str, list[int]] = {}
    for mutant, theirs, mine in zip(mutants, noticed, ours, strict=True):
        for family in (mutant.family, "all"):
            before = counts.setdefault(family, [0] * (len(CHECKERS) + 2))
            counts[family] = [a + b for a, b in zip(before, [1, *theirs, mine], strict=True)]
    counts["all"] = counts.pop("all")  # the last row
    names = [checker.name for checker in CHECKERS]
    rows: list[list[Any]] = [["family", "planted", *names, "this oracle"]]
    rows.append(["---"] * len(rows[0]))
    rows += [[family, *numbers] for family, numbers in counts.items()]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)
