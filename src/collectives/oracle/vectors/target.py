"""``vectors:DIR`` as a target: its ranks have run already, what they left is judged."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

from collectives.oracle.families import Evidence, family, suspected
from collectives.oracle.findings import Finding
from collectives.oracle.report import Fault, Report, Verdict
from collectives.oracle.vectors.judging import Judged, judge, open_set
from collectives.oracle.vectors.manifest import Entry
from collectives.registry import known_collective

ORDER: Final = (
    "every_rank_counted_once", "right_values", "same_on_all_ranks", "zero_length_ok",
    "one_rank_ok", "works_in_place", "special_values", "float_error_bounded",
)  # fmt: skip
"""The promises that outputs alone can show, the most telling first."""

NO_OUTPUT: Final = "not run: there is no output"


class Vectors:
    """A folder of vectors with the outputs of an implementation.

    Parameters
    ----------
    rest : str
        The folder.
    """

    def __init__(self, rest: str = "") -> None:
        if not rest:
            raise ValueError("vectors: wants a folder, as in vectors:DIR")
        self.name, self.folder = f"vectors:{rest}", Path(rest)

    def report(
        self,
        collective: str = "ALL",
        *,
        only: Collection[str] = (),
        skip: Collection[str] = (),
        ranks: Collection[int] = (),
        case: str = "",
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Report:
        """Judge all outputs, or those of one collective, of some numbers of ranks, of one case."""
        if collective != "ALL":
            known_collective(collective)
        entries = [
            entry
            for entry in open_set(self.folder).cases
            if collective in ("ALL", entry.collective)
            and (not ranks or entry.p in ranks)
            and case in ("", entry.name)
        ]
        if not entries:
            asked = case or (collective if collective != "ALL" else f"{[*ranks]} ranks")
            raise ValueError(f"{self.folder} has no case of {asked}")
        judged = []
        for number, entry in enumerate(entries):
            judged += judge(self.folder, entry)
            progress(number + 1, len(entries))
        wanted = [name for name in ORDER if (not only or name in only) and name not in skip]
        usual, _ = Counter(entry.dtype for entry in entries).most_common(1)[0]
        verdicts: list[Verdict] = []
        for each in dict.fromkeys(entry.collective for entry in entries):
            mine = [x for x in judged if x.entry.collective == each]
            verdicts += self._verdicts(each, mine, wanted, usual)
        if not any(one.ran for one in judged):
            verdicts = [replace(verdict, status="could not run") for verdict in verdicts]
        return Report(self.name, f"vectors in {self.folder}", tuple(verdicts))

    def _verdicts(
        self, collective: str, judged: list[Judged], wanted: list[str], usual: str
    ) -> list[Verdict]:
        """Return a verdict for each promise that some case of a collective is about."""
        by_promise: dict[str, list[Judged]] = defaultdict(list)
        for one in judged:
            by_promise[one.promise].append(one)
        evidence = {name: _evidence(found, usual) for name, found in by_promise.items()}
        suspicion = suspected(evidence)
        verdicts = []
        for name in wanted:
            found = by_promise.get(name, [])
            ran = [one for one in found if one.ran]
            rest = f"{len(found) - len(ran)} cases not run" if len(ran) < len(found) else ""
            made = Verdict(name, collective, "vectors", "held", len(ran), rest)
            broken = next((one for one in ran if one.finding), None)
            if broken is not None and broken.finding is not None:
                fault = self._fault(broken.entry, name, broken.finding, suspicion)
                verdicts.append(replace(made, status="broken", fault=fault))
            elif ran:
                verdicts.append(made)
            elif found:
                verdicts.append(replace(made, status="not observable", detail=NO_OUTPUT))
        return verdicts

    def _fault(self, entry: Entry, promise: str, finding: Finding, suspicion: str) -> Fault:
        counted = finding.counted
        often = None
        if counted is not None:
            ranks = {*counted, *(finding.wanted_counted or ())}
            often = {rank: counted.count(rank) for rank in sorted(ranks)}
        command = ["collectives", "vectors", "check", str(self.folder), "--case", entry.name]
        return Fault(
            promise, entry.collective, "vectors", entry.name.partition("/")[2],
            f"{finding.text}; the case reveals {entry.reveals}",
            family(suspicion) if suspicion else "", shlex.join(command), finding.rank,
            finding.element, finding.block, often, finding.got, finding.wanted,
        )  # fmt: skip


def _evidence(judged: list[Judged], usual: str) -> Evidence:
    """Sort what was found; a case of the usual dtype is one that is not about dtypes."""
    evidence = Evidence()
    for one in judged:
        dtype = "" if one.entry.dtype == usual else one.entry.dtype
        if one.finding is not None:
            case = replace(one.finding.case, dtype=dtype)
            evidence.broken.append(replace(one.finding, case=case))
        elif one.ran:
            evidence.held.append(replace(one.entry.case, dtype=dtype))
    return evidence
