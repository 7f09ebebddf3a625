"""The runs of a submission, and what is wrong with the values and buffers that they leave.

The inputs are new in every grading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from collectives.comm import Array
from collectives.dtypes import number_type
from collectives.op import MAX, SUM
from collectives.oracle.cases import Case
from collectives.oracle.findings import wrong_values
from collectives.oracle.payloads import exact
from collectives.oracle.worlds import EAGER
from collectives.sim import Network
from collectives.teach.attempt import Attempt, Job, Pause, Runner, attempt, play
from collectives.teach.exercise import Part
from collectives.teach.scene import Scene


@dataclass(frozen=True)
class Wrong:
    """One thing wrong with a submission.

    Attributes
    ----------
    kind : str
        ``value``, ``input``, ``outside``, ``early``, ``ended``, ``messages``, ``bytes``,
        ``steps``, ``busiest``, ``link``, ``less``, ``race``, or what a judge calls it.
    text : str
        What was seen.
    attempt : Attempt or None
        Where.
    got, wanted : float
        Where something was counted.
    diagnosis : str
        The id, where whoever found it knows.
    rank, element : int or None
        Where in the results.
    """

    kind: str
    text: str
    attempt: Attempt | None = None
    got: float = 0
    wanted: float = 0
    diagnosis: str = ""
    rank: int | None = None
    element: int | None = None


@dataclass
class Check:
    """One line of the summary: its name, how many cases were tried, and the first fault."""

    name: str
    tried: int = 0
    wrong: Wrong | None = None
    skipped: str = ""

    @property
    def passed(self) -> bool:
        return self.wrong is None and not self.skipped


@dataclass
class Trials:
    """The runs of one function of a submission, each made once.

    Parameters
    ----------
    runner : Runner
        Where it runs.
    part : Part
        The function.
    seed : int
        Of the inputs.
    reference : Trials or None
        The runs of the solution, once they have been asked for.
    played : list of Attempt
        The scenes that a judge has asked for, with the values as they were given.
    """

    runner: Runner
    part: Part
    seed: int = 0
    made: dict[Any, Attempt] = field(default_factory=dict)
    reference: Trials | None = None
    played: list[Attempt] = field(default_factory=list)

    def __call__(
        self,
        case: Case | Scene,
        network: Network = EAGER,
        payload: str = "random",
        late: tuple[float, ...] = (),
        pause: Pause | None = None,
    ) -> Attempt:
        """Run a case; `late`: how many seconds each rank comes late."""
        key = (case, network, payload, late, pause)
        if key in self.made:
            return self.made[key]
        if isinstance(case, Scene):
            self.made[key] = play(self.runner, self.part.function, case, network, pause=pause)
        else:
            inputs = tuple(PAYLOADS[payload](case, self.seed))
            job = Job(self.part.function, case, inputs)
            self.made[key] = attempt(self.runner, job, network, late=late, pause=pause)
        return self.made[key]

    def wrong(self, case: Case, network: Network = EAGER) -> Wrong | None:
        """Return what is wrong with the values and buffers of a case."""
        return wrong(self(case, network))


def _random(case: Case, seed: int) -> list[Array]:
    values = exact(case, number_type(case.dtype or "uint64"), seed)
    if case.op is MAX:  # below zero, so that a start from zero shows
        values = [-1 - abs(v // 2 if v.dtype.kind == "i" else v) for v in values]
    return values


def _counting(case: Case, seed: int) -> list[Array]:
    from collectives.oracle.payloads import counting

    return counting(case)


def _numbered(case: Case, seed: int) -> list[Array]:
    """Return the numbers of the elements, with their squares above: sums of different ones show."""
    from collectives.recorder import _labels

    return [_labels(case, rank)[0] for rank in range(case.p)]


PAYLOADS: Final[dict[str, Callable[[Case, int], list[Array]]]] = {
    "random": _random,
    "counting": _counting,
    "numbered": _numbered,
}


def wrong(found: Attempt, *, counted: bool = True) -> Wrong | None:
    """Return what is wrong with the values and buffers that a run has left.

    `counted`: its messages are known.
    """
    if found.ending is not None:
        return Wrong("ended", found.ending.text, found)
    case = found.case
    expected = case.expected(list(found.inputs))
    results = [seen.result for seen in found.seen]
    for finding in wrong_values(case, results, expected):
        return Wrong("value", finding.text, found, rank=finding.rank, element=finding.element)
    for rank, seen in enumerate(found.seen):
        if seen.changed:
            return Wrong("input", f"rank {rank}: {seen.changed}", found)
        if seen.outside:
            return Wrong("outside", f"rank {rank}: {seen.outside}", found)
    return _more_than_arrived(found, expected) if counted else None


def _more_than_arrived(found: Attempt, expected: Sequence[Array | None]) -> Wrong | None:
    """Say so where a rank knows more of the others' random numbers than it was sent."""
    case = found.case
    for rank, result in enumerate(expected):
        if result is None or case.p == 1 or result.itemsize < 8 or case.op is not SUM:
            continue
        brought = not case.form.from_root or rank == case.root
        own = case.input_size(rank) if brought and not case.form.reduces else 0
        if brought and case.form.from_root:
            continue  # the root has everything
        if case.collective in ("scan", "exscan") and rank <= (case.collective == "exscan"):
            continue
        needs = (result.size - min(own, result.size)) * result.itemsize
        if case.form.gets == "column":
            needs = (result.size - case.matrix[rank][rank]) * result.itemsize
        got = sum(m.payload.nbytes for m in found.of(rank, "receive") if m.payload is not None)
        if got < needs:
            text = f"rank {rank} received {got} bytes, but knows {needs} bytes of others"
            return Wrong("less", text, found, got, needs)
    return None
