"""Rules files of Open MPI: which of its algorithms, by collective, ranks and size.

Open MPI 5 reads the file that ``coll_tuned_dynamic_rules_filename`` names, if
``coll_tuned_use_dynamic_rules`` is 1 (`environment`). It is a list of numbers: how many
collectives; for each its id and how many communicator sizes; for each the number of ranks from
which it holds and how many sizes; for each the bytes from which it holds, the algorithm, a fan-out
and a segment size, where 0 stands for the default. Format and ids: Open MPI,
ompi/mca/coll/tuned/coll_tuned_dynamic_file.c and ompi/mca/coll/base/coll_base_functions.h.

A file with a mistake is ignored without a word, unless ``coll_base_verbose`` is set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike

from collectives.registry import Algorithm, algorithms, find
from collectives.tuning.choices import Choice

IDS = {
    "allgather": 0, "allreduce": 2, "alltoall": 3, "barrier": 6, "bcast": 7, "exscan": 8,
    "gather": 9, "reduce": 11, "scan": 14, "scatter": 15,
}  # fmt: skip
"""The numbers of collectives in a rules file."""

DEFAULT = 0
"""The number of an algorithm that leaves the choice to Open MPI."""


def number(entry: Algorithm) -> int | None:
    """Return the number by which Open MPI 5 knows an algorithm; None if it does not.

    Examples
    --------
    >>> number(find("allreduce", "ring")), number(find("allreduce", "swing"))
    (4, None)
    """
    numbers = re.findall(r"Open MPI (\d+)(?! \(from 6)\b", entry.ships)
    return int(numbers[0]) if numbers else None


def candidates(collective: str) -> list[Algorithm]:
    """Return the algorithms of a collective that a rules file can name."""
    return [entry for entry in algorithms(collective) if number(entry) is not None]


def rules_file(rules: Mapping[str, Mapping[int, Sequence[Choice]]]) -> str:
    """Return the text of a rules file.

    Parameters
    ----------
    rules : dict of str to dict of int to sequence of Choice
        For each collective and number of ranks, from which size on which algorithm. They hold for
        these numbers of ranks; with any other one Open MPI decides as it does without a file.

    Examples
    --------
    >>> ring = Choice(10_000, "ring")
    >>> rules = {"allreduce": {8: [Choice(0, "recursive_doubling"), ring]}}
    >>> print(rules_file(rules))
    1  # collectives
    2  # allreduce
    3  # communicator sizes
    0  # ranks and more
    1  # message sizes
    0 0 0 0  # bytes and more: as without this file
    8  # ranks and more
    2  # message sizes
    0 3 0 0  # bytes and more: recursive_doubling
    10000 4 0 0  # bytes and more: ring
    9  # ranks and more
    1  # message sizes
    0 0 0 0  # bytes and more: as without this file
    <BLANKLINE>
    """
    return "\n".join([f"{len(rules)}  # collectives", *_lines(rules), ""])


def _lines(rules: Mapping[str, Mapping[int, Sequence[Choice]]]) -> Iterator[str]:
    for collective, by_ranks in rules.items():
        if collective not in IDS:
            raise ValueError(f"{collective} has no rules; {', '.join(IDS)} have")
        # Invariant: below, between and above the numbers of ranks given, Open MPI decides.
        bounds: dict[int, Sequence[Choice]] = {0: []}
        for p, found in sorted(by_ranks.items()):
            bounds |= {p: found, p + 1: []}
        yield f"{IDS[collective]}  # {collective}"
        yield f"{len(bounds)}  # communicator sizes"
        for p, found in bounds.items():
            yield f"{p}  # ranks and more"
            yield f"{max(len(found), 1)}  # message sizes"
            if not found:
                yield f"0 {DEFAULT} 0 0  # bytes and more: as without this file"
            for choice in found:
                name = number(find(collective, choice.algorithm))
                if name is None:
                    raise ValueError(f"Open MPI 5 has no {collective}/{choice.algorithm}")
                yield f"{choice.nbytes} {name} 0 0  # bytes and more: {choice.algorithm}"


def read(text: str) -> dict[str, dict[int, list[tuple[int, int]]]]:
    """Return what a rules file says: by collective and ranks, (bytes, algorithm's number).

    Examples
    --------
    >>> read(rules_file({"bcast": {4: [Choice(0, "binomial")]}}))
    {'bcast': {0: [(0, 0)], 4: [(0, 6)], 5: [(0, 0)]}}
    """
    numbers = map(int, re.sub(r"#.*", "", text).split())
    names = {number: name for name, number in IDS.items()}
    found: dict[str, dict[int, list[tuple[int, int]]]] = {}
    for _ in range(next(numbers)):
        by_ranks = found.setdefault(names[next(numbers)], {})
        for _ in range(next(numbers)):
            rows = by_ranks.setdefault(next(numbers), [])
            for _ in range(next(numbers)):
                nbytes, algorithm, _, _ = (next(numbers) for _ in range(4))
                rows.append((nbytes, algorithm))
    return found


def environment(file: str | PathLike[str]) -> dict[str, str]:
    """Return what to set so that Open MPI reads a rules file."""
    return {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(file),
    }
