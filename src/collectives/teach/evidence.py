"""What can be asked about a faulty submission: the facts from which `diagnosis` concludes.

Facts are looked up when they are asked for; many are further runs of the submission on other
cases, or on inputs whose sums say who is in them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

import numpy as np

from collectives.comm import Array
from collectives.op import SUM
from collectives.oracle.cases import Case
from collectives.oracle.worlds import EAGER, RENDEZVOUS
from collectives.provenance import named
from collectives.teach.attempt import PATTERN, Attempt, SubmissionError
from collectives.teach.cases import Cases
from collectives.teach.checks import budget, fault
from collectives.teach.clerk import Message
from collectives.teach.exercise import Exercise, Part
from collectives.teach.grading import Trials, Wrong
from collectives.teach.judging import alike
from collectives.teach.orders import pauses
from collectives.teach.scene import Scene
from collectives.teach.source_text import SourceText


class Evidence(SourceText):
    """One fault of one function, and everything that can be found out about it.

    Parameters
    ----------
    exercise, part : Exercise, Part
        What was asked.
    source : str
        The text of the submission.
    trials : Trials
        Its runs.
    wrong : Wrong
        The fault.
    """

    def __init__(
        self, exercise: Exercise, part: Part, source: str, trials: Trials, wrong: Wrong
    ) -> None:
        super().__init__(source)
        self.exercise, self.part, self.trials, self.wrong = exercise, part, trials, wrong

    # ------------------------------------------------------------------ the run that failed

    @property
    def attempt(self) -> Attempt:
        assert self.wrong.attempt is not None
        return self.wrong.attempt

    @property
    def case(self) -> Case:
        return self.attempt.case

    @property
    def p(self) -> int:
        return self.case.p

    @property
    def is_scene(self) -> bool:
        """Whether it is no plain collective that failed."""
        return self.wrong.attempt is not None and isinstance(self.wrong.attempt.case, Scene)

    @property
    def kind(self) -> str:
        """What kind of fault it is; for a run that broke off, what ended it."""
        if self.wrong.kind != "ended" or self.wrong.attempt is None:
            return self.wrong.kind
        ending = self.wrong.attempt.ending
        return ending.kind if ending else "value"

    @property
    def text(self) -> str:
        return self.wrong.text

    @cached_property
    def story(self) -> str:
        """What was seen, in ranks and blocks rather than in numbers where it can be said so."""
        rank, element = self.wrong.rank, self.wrong.element
        if self.kind != "value" or rank is None or element is None:
            return self.text
        case, place = self.case, f"rank {rank}, element {element}"
        if case.p > 1:
            place = f"rank {rank}, block {case.block_of(rank, element)}"
        got, wanted = self.results[rank], self.expected[rank]
        assert got is not None and wanted is not None  # noqa: PT018
        if (got[element : element + 1].view(np.uint8) == PATTERN).all():
            return f"{place} is as it was before the call"
        counts = self.counted[rank]
        if case.reduces and case.op is SUM and counts is not None and counts[element].max() < 9:
            sums = [named(Counter(dict(enumerate(map(int, x)))).elements()) for x in (
                counts[element], np.ones(case.p, int))]  # fmt: skip
            if sums[0] == sums[1]:
                return f"{place} holds a sum of all ranks, but of other elements than wanted"
            return f"{place} holds {sums[0]}, wants {sums[1]} (ranks)"
        if not case.reduces:
            return (
                f"{place} holds {self._whose(got[element])}, wants {self._whose(wanted[element])}"
            )
        return self.text

    def _whose(self, value: object) -> str:
        for rank, values in enumerate(self.attempt.inputs):
            found = np.flatnonzero(values == value)
            if found.size:
                return f"element {found[0]} of rank {rank}"
        return "what nobody has brought"

    @property
    def raised(self) -> str:
        """The name of the exception that ended the run."""
        if self.wrong.attempt is None:
            return self.text.partition(":")[0]
        error = self.wrong.attempt.error
        return error.name if isinstance(error, SubmissionError) else type(error).__name__

    @property
    def waits(self) -> bool:
        """Whether ranks wait for ever."""
        return self.kind in ("deadlock", "starved", "mismatched")

    @property
    def awaited(self) -> list[Message]:
        """What the ranks wait for that wait for ever."""
        stuck = self.wrong.attempt.stuck if self.wrong.attempt else []
        return [message for rank in stuck for message in rank.messages]

    @property
    def buffered(self) -> Attempt:
        """The same run where no send waits for its receive."""
        return self.trials(self.case, EAGER)

    # ------------------------------------------------------------------ other runs

    def works(self, **changes: object) -> bool:
        """Tell whether a case like the one that failed is right."""
        if "p" in changes and self.case.counts is not None:
            changes = {
                "n": self.case.counts[0],
                "counts": (self.case.counts[0],) * int(str(changes["p"])),
                **changes,
            }
        case = replace(self.case, **changes)  # type: ignore[arg-type]
        return self.trials.wrong(case) is None

    def works_on(self, *ranks: int) -> bool:
        """Tell whether plain cases of these numbers of ranks are right."""
        cases = Cases(self.part)
        return all(
            fault(self.trials, replace(case, root=0)) is None
            for p in ranks
            for case in cases.plain(p)
        )

    @cached_property
    def only_powers_of_two(self) -> bool:
        """Whether it is right for 2 and 4 ranks, but not for 3 or 6."""
        return self.works_on(2, 4) and not self.works_on(3, 6)

    @cached_property
    def divides(self) -> bool:
        """Whether the vector has p equal blocks."""
        return self.case.by_blocks or self.case.n % self.p == 0

    @cached_property
    def order_matters(self) -> bool:
        """Whether a rank that stands still changes what is left."""
        plain = _left(self.attempt)
        return not all(
            alike(_left(self.trials(self.case, self.attempt.network, pause=pause)), plain, 1e-9)
            for pause in pauses(self.attempt)
        )

    # ------------------------------------------------------------------ who is where

    @cached_property
    def counted(self) -> list[Array | None]:
        """How often each rank is in each element of each result: (n, p) per rank."""
        if not self.case.reduces or self._sum.n > 10_000:
            return [None] * self.p
        found = self.trials(self._sum, payload="counting")
        if not found.finished:
            return [None] * self.p
        return [None if s.result is None else self._digits(s.result) for s in found.seen]

    @property
    def _sum(self) -> Case:
        return replace(self.case, op=SUM, dtype="")

    def _digits(self, values: Array) -> Array:
        shifts = np.arange(self.p, dtype=np.uint64) * np.uint64(4)
        digits: Array = (values[:, None] >> shifts) & np.uint64(15)
        return digits.astype(int)

    def contributors(self, rank: int) -> list[int]:
        """Return how many operands are in each message that a rank sends, one after the other."""
        found = self.trials(self._sum, payload="counting")
        return [
            int(self._digits(m.payload[:1]).sum()) if m.payload is not None and m.size else 0
            for m in found.sent(rank)
        ]

    def received_counts(self, rank: int) -> list[int]:
        """Return the same for what it receives."""
        found = self.trials(self._sum, payload="counting")
        return [
            int(self._digits(m.payload[:1]).sum())
            for m in found.of(rank, "receive")
            if m.payload is not None and m.payload.size
        ]

    @cached_property
    def misplaced(self) -> bool:
        """Whether sums hold elements that do not belong together."""
        if not self.case.reduces or self.case.op is not SUM or self.untouched:
            return False
        labels = self.trials(self._sum, payload="numbered")
        if not labels.finished or any(c is None for c in self.counted):
            return False
        for rank, seen in enumerate(labels.seen):
            counts = self.counted[rank]
            if seen.result is None or counts is None:
                continue
            start = self.case.blocks.start(rank) if self.case.form.gets == "block" else 0
            number = np.arange(start + 1, start + 1 + seen.result.size, dtype=np.uint64)
            label = number + (number * number << np.uint64(32))
            if (seen.result != label * counts.sum(axis=1).astype(np.uint64)).any():
                return True
        return False

    @cached_property
    def results(self) -> list[Array | None]:
        return [seen.result for seen in self.attempt.seen]

    @cached_property
    def expected(self) -> list[Array | None]:
        return self.case.expected(list(self.attempt.inputs))

    @cached_property
    def right(self) -> list[Array | None]:
        """Which elements are right, on every rank."""
        return [
            None if got is None or wanted is None else got == wanted
            for got, wanted in zip(self.results, self.expected, strict=True)
        ]

    @cached_property
    def right_ranks(self) -> list[int]:
        """The ranks whose result is right."""
        return [rank for rank, right in enumerate(self.right) if right is None or right.all()]

    @cached_property
    def mostly_right(self) -> bool:
        """Whether on every rank more than half of the elements are right."""
        return all(right is None or right.mean() > 0.5 for right in self.right)

    @cached_property
    def untouched(self) -> bool:
        """Whether what is wrong still holds what was there before the call."""
        parts = [
            got[~right]
            for got, right in zip(self.results, self.right, strict=True)
            if got is not None and right is not None and not right.all()
        ]
        return bool(parts) and all((part.view(np.uint8) == PATTERN).all() for part in parts)

    @cached_property
    def keeps_own(self) -> bool:
        """Whether what is wrong holds the rank's own input."""
        if self.case.form.brings != "vector" or self.case.form.gets != "vector":
            return False
        pairs = zip(self.results, self.right, self.attempt.inputs, strict=True)
        return self.kind == "value" and all(
            (got[~right] == own[~right]).all()
            for got, right, own in pairs
            if got is not None and right is not None
        )

    @cached_property
    def only_own_block_wrong(self) -> bool:
        """Whether each rank lacks only what it brought itself."""
        if self.case.form.gets not in ("vector", "column") or self.case.reduces or self.p == 1:
            return False
        wrong = []
        for rank, right in enumerate(self.right):
            if right is None:
                continue
            blocks = {self.case.block_of(rank, int(i)) for i in np.flatnonzero(~right)}
            wrong.append(blocks <= {rank})
        return bool(wrong) and all(wrong)

    @cached_property
    def moved(self) -> bool:
        """Whether all that should be there is there, in other places."""
        return any(self._is_moved(rank) for rank in range(self.p)) and not self.case.reduces

    def _is_moved(self, rank: int) -> bool:
        got, wanted = self.results[rank], self.expected[rank]
        if got is None or wanted is None or (got == wanted).all():
            return False
        return bool((np.sort(got) == np.sort(wanted)).all())

    @cached_property
    def moved_between_ranks(self) -> bool:
        """Whether every rank has what another one should have."""
        known = [w for w in self.expected if w is not None]
        return self.p > 1 and all(
            got is not None and any(got.size == w.size and (got == w).all() for w in known)
            for got in self.results
        )

    # ------------------------------------------------------------------ traffic

    @cached_property
    def per_rank(self) -> list[int]:
        """How many messages each rank sends."""
        sent = Counter(message.rank for message in self.attempt.sent())
        return [sent[rank] for rank in range(self.p)]

    def extra_messages(self) -> int | None:
        """Return how many messages each rank sends more than in the solution, if all do alike."""
        wanted = budget(self.part, self.case).messages
        extra = sum(self.per_rank) - wanted
        return extra // self.p if extra % self.p == 0 and len(set(self.per_rank)) == 1 else None

    @cached_property
    def waits_when_unbuffered(self) -> bool:
        """Whether the same run ends where sends are buffered."""
        return self.attempt.network == RENDEZVOUS and self.buffered.finished

    @cached_property
    def send_lines(self) -> list[int]:
        """The lines that send, in the order in which rank 0 comes by."""
        sent = self.attempt.sent(0) or self.attempt.sent()
        return list(dict.fromkeys(message.line for message in sent))

    @cached_property
    def receive_lines(self) -> list[int]:
        received = [m for m in self.attempt.messages if m.kind == "receive"]
        return list(dict.fromkeys(message.line for message in received))


def _left(found: Attempt) -> list[object]:
    """Return what a run left everywhere, as plain lists."""
    results = [None if seen.result is None else seen.result.tolist() for seen in found.seen]
    return [found.finished, results, found.values]
