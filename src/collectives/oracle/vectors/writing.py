"""Write a set of vectors: a folder per case with its inputs and what every rank must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from collectives import reference
from collectives.comm import Array
from collectives.oracle.vectors import manifest
from collectives.oracle.vectors.files import save
from collectives.oracle.vectors.payload import inputs
from collectives.oracle.vectors.plan import DTYPES, IN_SETS, Planned, plan

OPS: Final = {
    "SUM": "a + b; unsigned integers wrap",
    "PROD": "a * b; integers wrap",
    "MIN": "the smaller of a and b",
    "MAX": "the larger of a and b",
    "LAND": "1 where a and b are both not 0, else 0",
    "LOR": "1 where a or b is not 0, else 0",
    "LXOR": "1 where exactly one of a and b is not 0, else 0",
    "BAND": "bitwise and",
    "BOR": "bitwise or",
    "BXOR": "bitwise exclusive or",
}

STORED: Final = {
    "bfloat16": "stored as uint16 (<u2): the upper half of a float32",
    "bool": "one byte, 0 or 1 (|b1)",
    "complex64": "two float32, real part first (<c8)",
    "complex128": "two float64, real part first (<c16)",
}

COMPARE: Final = {
    "exact": "the same bits",
    "bounded": "|got - sum| <= k u / (1 - k u) * sum of |x|, with k one less than the number of "
    "operands, u the unit roundoff of the dtype, and exact sums of the inputs; where all ranks "
    "get the result, they get the same bits",
    "class_and_sign": "NaN where NaN is wanted, whatever its payload; else the same bits, with "
    "signs of zeros and infinities. Of MIN and MAX, NaN may win or be ignored, and either zero "
    "may win, the same way on all ranks and whichever rank holds it",
}


def write(
    folder: Path,
    collectives: Sequence[str] = IN_SETS,
    ranks: Sequence[int] = range(1, 10),
    dtypes: Sequence[str] = DTYPES,
    *,
    quick: bool = False,
    progress: Callable[[int], None] = lambda cases: None,
) -> int:
    """Write a set of vectors to a folder that does not exist or is empty.

    Returns
    -------
    int
        How many cases it has.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} is not empty: vectors go to a folder of their own")
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for number, planned in enumerate(plan(collectives, ranks, dtypes, quick=quick)):
        entries.append(_write_case(folder, planned, number))
        progress(number + 1)
    index = manifest.Manifest(
        manifest.FORMAT,
        manifest.VERSION,
        f"collectives {version('collectives')}",
        {name: _meaning(name) for name in collectives},
        OPS,
        {name: STORED.get(name) or np.dtype(name).str for name in DTYPES},
        COMPARE,
        entries,
    )
    (folder / "manifest.json").write_bytes(_lines(index))
    return len(entries)


def _write_case(folder: Path, planned: Planned, number: int) -> manifest.Entry:
    case, name, dtype = planned.case, planned.name, planned.dtype
    brought = inputs(case, dtype, planned.payload, seed=number, part=planned.part)
    with np.errstate(all="ignore"):  # special values are meant to be
        wanted = case.expected(brought)
    sizes = manifest.input_sizes(case)
    used = [vector[:size] for vector, size in zip(brought, sizes, strict=True)]
    results = [case.result_size(rank) is not None for rank in range(case.p)]
    held = [x for rank, x in enumerate(wanted) if x is not None and results[rank]]
    said = manifest.layout(case)
    torus = said.pop("torus")
    return manifest.Entry(
        name=name,
        collective=case.collective,
        p=case.p,
        n=case.n,
        counts=None if case.counts is None else list(case.counts),
        op=case.op.name if case.reduces else None,
        root=case.root if case.rooted else None,
        dtype=dtype.name,
        in_place=case.in_place,
        torus=torus and msgspec.convert(torus, manifest.Torus),
        payload=planned.payload,  # type: ignore[arg-type]
        seed=number,
        part=planned.part,
        compare=planned.compare,  # type: ignore[arg-type]
        promise=planned.promise,  # type: ignore[arg-type]
        reveals=planned.reveals,
        inputs=_arrays(folder, f"{name}/inputs.npy", used, sizes, dtype),
        expected=_arrays(folder, f"{name}/expected.npy", held, manifest.result_sizes(case), dtype),
        outputs=[f"{name}/out/rank{rank}.npy" if has else None for rank, has in enumerate(results)],
        **said,
    )


def _arrays(
    folder: Path,
    place: str,
    vectors: Iterable[Array],
    sizes: Sequence[int],
    dtype: np.dtype[Any],
) -> manifest.Arrays:
    digest = save(folder / place, np.concatenate([np.empty(0, dtype), *vectors]))
    return manifest.Arrays(place, digest, [*accumulate(sizes, initial=0)])


def _meaning(collective: str) -> str:
    return str(getattr(reference, collective).__doc__)


def _lines(index: manifest.Manifest) -> bytes:
    """Return the index as JSON, a case a line, so that two sets can be compared line by line."""
    document: dict[str, Any] = msgspec.to_builtins(index)
    cases = [msgspec.json.encode(case) for case in document.pop("cases")]
    head = msgspec.json.format(msgspec.json.encode(document), indent=1).removesuffix(b"\n}")
    return head + b',\n "cases": [\n  ' + b",\n  ".join(cases) + b"\n ]\n}\n"
