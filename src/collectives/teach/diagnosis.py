"""From what was seen to what is wrong: the typical mistakes, each with its rule and its words.

The rules stand in `diagnoses`, by when a mistake shows. They are tried one after the other, and the
first that holds is the diagnosis. The table in ``docs/grader.md`` is made from them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from collectives.teach.evidence import Evidence

Rule = Callable[[Evidence], object]
Look = Callable[[Evidence], int]


@dataclass(frozen=True)
class Diagnosis:
    """A mistake that the grader knows.

    Attributes
    ----------
    id : str
        Its name.
    mistake : str
        In a few words, for the table.
    what : str
        What the learner reads first; ``{text}`` is what was seen, ``{p}`` the number of ranks.
    why : str
        How it comes about.
    hint : str
        A question that leads on.
    rule : callable
        Tells whether it is this.
    look : callable
        Returns the line to look at; 0 if none.
    """

    id: str
    mistake: str
    what: str
    why: str
    hint: str
    rule: Rule
    look: Look

    def said(self, evidence: Evidence) -> str:
        """Return what is said first."""
        text = " ".join(evidence.story.split())
        ranks = evidence.p if evidence.wrong.attempt is not None else 0
        return self.what.format(text=text, p=ranks, raised=evidence.raised)


EVERYWHERE: Final = (
    "not-written", "differs-on-mpi", "uses-the-library", "wrong-signature", "pickle-and-buffer",
    "not-contiguous", "same-buffer-twice", "in-place-not-said", "no-such-rank",
    "changed-before-wait", "used-before-wait", "shared-communicator", "count-of-bytes",
    "dtype-differs", "longer-than-buffer", "tags-differ", "sends-to-itself", "synchronous-send",
    "send-before-receive", "wrong-neighbour", "receive-before-send", "left-early", "deadlock",
    "unwaited-request", "message-left-over", "endless-loop", "process-ended", "too-much-memory",
    "too-many-calls", "too-many-bytes", "too-many-messages", "any-source", "wrong-result",
    "wrong-answer", "misused", "raised",
)  # fmt: skip
"""The diagnoses whose rules ask nothing about a collective, in the order of their trial."""

DIAGNOSES: Final[dict[str, Diagnosis]] = {}
"""Those entered so far; `diagnoses` has all."""


def diagnoses() -> Mapping[str, Diagnosis]:
    """Return all diagnoses by id, in the order in which they are tried."""
    importlib.import_module("collectives.teach.diagnoses")
    return DIAGNOSES


def where_it_stopped(e: Evidence) -> int:
    """The line on which the run broke off."""
    return e.attempt.line if e.wrong.attempt is not None else int(e.wrong.got)


def first_phase(e: Evidence) -> int:
    """The loop around the first line that sends."""
    return e.loop_around(e.send_lines[0]) if e.send_lines else 0


def last_phase(e: Evidence) -> int:
    """The loop around the last line that sends."""
    return e.loop_around(e.send_lines[-1]) if e.send_lines else 0


def first_receive(e: Evidence) -> int:
    return e.receive_lines[0] if e.receive_lines else 0


def head(e: Evidence) -> int:
    """The line of the function itself."""
    return e.line_with(rf"def {e.part.function}\b")


def waiting_line(e: Evidence) -> int:
    """The line on which the first rank waits."""
    return e.attempt.stuck[0].line if e.attempt.stuck else where_it_stopped(e)


def mistake(
    id: str,
    mistake: str,
    *,
    what: str = "{text}",
    why: str,
    hint: str,
    look: Look = where_it_stopped,
) -> Callable[[Rule], Rule]:
    """Enter a diagnosis; the decorated function is its rule."""

    def enter(rule: Rule) -> Rule:
        DIAGNOSES[id] = Diagnosis(id, mistake, what, why, hint, rule, look)
        return rule

    return enter


def diagnose(evidence: Evidence) -> Diagnosis:
    """Return the first diagnosis whose rule holds."""
    if evidence.wrong.diagnosis:
        return diagnoses()[evidence.wrong.diagnosis]
    if evidence.is_scene:
        return next(known for id in EVERYWHERE if (known := diagnoses()[id]).rule(evidence))
    return next(each for each in diagnoses().values() if each.rule(evidence))
