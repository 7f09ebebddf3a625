"""Judge what an implementation has written: one case at a time, every rank of it.

What must come out is worked out from the inputs, which must be as they were written; the expected
results in the set are there for implementers and play no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, differing_from, first
from collectives.oracle.vectors import manifest
from collectives.oracle.vectors.comparing import compared, without_payload
from collectives.oracle.vectors.files import WrongFileError, load, read
from collectives.oracle.vectors.manifest import Entry, Manifest


@dataclass(frozen=True)
class Judged:
    """One promise in one case: kept where there is no finding."""

    entry: Entry
    promise: str
    finding: Finding | None
    ran: bool = True


def open_set(folder: Path) -> Manifest:
    """Return the index of a set of vectors, whose folder must have no files but its own."""
    try:
        index = manifest.loads(read(folder, "manifest.json", manifest.LARGEST_MANIFEST))
    except FileNotFoundError:
        raise ValueError(f"{folder} has no manifest.json: it is no set of vectors") from None
    named = {"manifest.json"}
    for entry in index.cases:
        named |= {entry.inputs.file, entry.expected.file, *filter(None, entry.outputs)}
    folders = {name.partition("/")[0] for name in named if "/" in name}
    found = [x for top in sorted(folders) for x in (folder / top).rglob("*") if not x.is_dir()]
    extra = [place for x in found if (place := x.relative_to(folder).as_posix()) not in named]
    if extra:
        more = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
        raise ValueError(f"{folder} has files that its manifest does not name: {extra[0]}{more}")
    return index


def check(folder: Path, entries: Sequence[Entry] | None = None) -> Iterator[Judged]:
    """Yield what is found case by case; ValueError where the set itself is not as it was."""
    for entry in open_set(folder).cases if entries is None else entries:
        yield from judge(folder, entry)


def judge(folder: Path, entry: Entry) -> list[Judged]:
    """Return what one case shows: its promise, and whether all ranks got the same bits."""
    case = replace(entry.case, dtype=entry.dtype)
    brought = _inputs(folder, entry)
    outputs = [_output(folder, entry, case, rank) for rank in range(case.p)]
    promised: list[str] = [entry.promise]
    if case.same_everywhere and case.p > 1:
        promised.append("same_on_all_ranks")
    if not any(entry.outputs):
        return []
    if all(found is None for found in outputs):
        return [Judged(entry, name, None, ran=False) for name in promised]
    refused = first(x for x in outputs if isinstance(x, Finding)) or _missing(entry, case, outputs)
    if refused:
        return [Judged(entry, entry.promise, refused)]
    results = [x if isinstance(x, np.ndarray) else None for x in outputs]
    judged = [Judged(entry, entry.promise, compared(entry, case, brought, results))]
    if case.same_everywhere and case.p > 1:
        plain = [x if x is None else without_payload(x) for x in results]
        judged.append(Judged(entry, "same_on_all_ranks", differing_from(case, plain, plain[0])))
    return judged


# ------------------------------------------------------------------ files of one case


def _inputs(folder: Path, entry: Entry) -> list[Array]:
    """Return what every rank brought; what only the root brings stands for all."""
    vectors = []
    for arrays in (entry.inputs, entry.expected):
        try:
            whole = load(folder, arrays.file, entry.dtype, arrays.starts[-1], arrays.sha256)
        except FileNotFoundError:
            raise ValueError(f"{arrays.file} is missing: the set is not whole") from None
        vectors.append([whole[start:stop] for start, stop in pairwise(arrays.starts)])
    return vectors[0]


def _output(folder: Path, entry: Entry, case: Case, rank: int) -> Array | Finding | None:
    """Return what a rank wrote; why it is of no use; or None where there is nothing."""
    place = entry.outputs[rank]
    if place is None:
        return None
    try:
        return load(folder, place, entry.dtype, case.result_size(rank) or 0)
    except FileNotFoundError:
        return None
    except WrongFileError as error:
        return Finding(case, f"rank {rank}: {error}", "mistyped", rank)


def _missing(entry: Entry, case: Case, outputs: Sequence[Any]) -> Finding | None:
    for rank, (place, found) in enumerate(zip(entry.outputs, outputs, strict=True)):
        if place is not None and found is None:
            text = f"rank {rank} has written nothing, other ranks have: {place} is missing"
            return Finding(case, text, "starved", rank)
    return None
