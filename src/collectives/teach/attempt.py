"""One call of a submission on simulated ranks: what it left everywhere, and every message.

A `Runner` runs the submission, in this process or apart from it; the network it runs on is always
the grader's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from collectives.comm import Array
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.trials import Seen
from collectives.oracle.worlds import EAGER, Ending, ending
from collectives.sim import (
    DeadlockError,
    Network,
    SimComm,
    SimulationError,
    UnfinishedError,
    simulate,
)
from collectives.sim.kernel import Kernel
from collectives.teach.clerk import SPARE, Clerk, Message, TooMuchError, stand_still
from collectives.teach.learner_comm import SUBMISSION, Comm, watched_op
from collectives.teach.scene import Scene, plain

PATTERN: Final = 0xA5
"""What buffers hold before a call, byte by byte."""


class SubmissionError(Exception):
    """A submission raised, ended or stood still; `ending` says which.

    Attributes
    ----------
    kind : str
        ``raised``, ``died``, ``hung`` or ``misbehaved``.
    name, text, line : str, str, int
        The exception's class, its message, and the line of the submission.
    """

    def __init__(self, kind: str, name: str, text: str, line: int = 0) -> None:
        super().__init__(": ".join(part for part in (name, text) if part))
        self.kind, self.name, self.text, self.line = kind, name, text, line


class Runner(Protocol):
    """Where the ranks of a submission run."""

    def call(self, clerk: Clerk, job: Job, rank: int, size: int) -> Buffers:
        """Run one rank's call with all it asks for done by `clerk`; return its buffers."""

    def value(self, function: str, *arguments: Any) -> Any:
        """Return what a function of plain data gives."""

    def play(self, clerk: Clerk, function: str, scene: Scene, rank: int, size: int) -> Any:
        """Run one rank's part of a scene; return what it gives, as plain data."""

    def reset(self) -> None:
        """Forget what the ranks were doing; called when a run has broken off."""


@dataclass(frozen=True)
class Pause:
    """One rank that stands still for long before its `call`-th call, counted from 1."""

    rank: int
    call: int

    def __str__(self) -> str:
        return f"with rank {self.rank} slow before its call {self.call}"


@dataclass(frozen=True)
class Job:
    """What is asked of every rank: a function of the submission, on a case."""

    function: str
    case: Case
    inputs: tuple[Array, ...]


@dataclass
class Stuck:
    """A rank that waits for ever: what for, and where."""

    rank: int
    messages: list[Message]
    line: int
    call: str


@dataclass
class Attempt:
    """What came of one run.

    Attributes
    ----------
    case, network, inputs, pause
        What was asked.
    seen : list
        Per rank, what it was left with; empty where the run broke off.
    ending : Ending or None
        What ended it early.
    error : BaseException or None
        The same as it was raised.
    messages : list of Message
        Every end of every message, rank by rank.
    stuck, cycle : list
        Ranks that wait for ever, and those of them that wait in a circle.
    unmatched, unwaited : list of Message
        Sends that nobody received; requests that nobody waited for.
    line : int
        Where in the submission it broke off.
    early_line : int
        Where something was combined that had not arrived; 0 if nowhere.
    clocks : list of float
        When each rank was done.
    values : list
        What each rank returned, of a `Scene`.
    """

    case: Case
    network: Network
    inputs: Sequence[Array]
    pause: Pause | None = None
    seen: list[Seen] = field(default_factory=list)
    ending: Ending | None = None
    error: BaseException | None = None
    messages: list[Message] = field(default_factory=list)
    stuck: list[Stuck] = field(default_factory=list)
    cycle: list[int] = field(default_factory=list)
    unmatched: list[Message] = field(default_factory=list)
    unwaited: list[Message] = field(default_factory=list)
    line: int = 0
    early_line: int = 0
    clocks: list[float] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def of(self, rank: int, kind: str) -> list[Message]:
        """Return the messages of one rank, sent or received."""
        return [m for m in self.messages if m.rank == rank and m.kind == kind]

    def sent(self, rank: int | None = None) -> list[Message]:
        return [m for m in self.messages if m.kind == "send" and rank in (None, m.rank)]

    @property
    def volume(self) -> int:
        """The bytes of all inputs, which a right submission may send a few times."""
        if isinstance(self.case, Scene):
            return sum(array.nbytes for arrays in self.case.arrays for array in arrays)
        return sum(array.nbytes for array in self.inputs)

    @property
    def finished(self) -> bool:
        return self.ending is None


def attempt(
    runner: Runner, job: Job, network: Network = EAGER, *, late: Sequence[float] = (),
    pause: Pause | None = None,
) -> Attempt:  # fmt: skip
    """Run a submission once, on `case.p` simulated ranks; some may come so many seconds late."""
    found = Attempt(job.case, network, job.inputs, pause)
    buffers = _run(runner, found, lambda *rank: runner.call(rank[0], job, *rank[1:]), late)
    found.seen = [
        Seen(each.result, each.changed_input(), each.written_outside()) for each in buffers
    ]
    return found


def play(
    runner: Runner, function: str, scene: Scene, network: Network = EAGER, *,
    pause: Pause | None = None,
) -> Attempt:  # fmt: skip
    """Run a function that is no plain collective once, on simulated ranks."""
    found = Attempt(scene, network, (), pause)  # type: ignore[arg-type]
    found.values = _run(
        runner, found, lambda *rank: runner.play(rank[0], function, scene, *rank[1:]), scene.late
    )
    return found


def _run(
    runner: Runner,
    found: Attempt,
    call: Callable[[Clerk, int, int], Any],
    late: Sequence[float],
) -> list[Any]:
    """Make a call on every rank and note what happened; return what they gave, if all did."""
    clerks: list[Clerk] = []
    given: list[Any] = [None] * found.case.p

    def program(comm: SimComm) -> None:
        pause = found.pause.call if found.pause and found.pause.rank == comm.rank else 0
        clerk = Clerk(comm, most=SPARE + 64 * found.volume, pause=pause)
        clerks.append(clerk)
        if late and late[comm.rank]:
            stand_still(comm, late[comm.rank])
        given[comm.rank] = call(clerk, comm.rank, comm.size)

    try:
        run = simulate(program, found.case.p, network=found.network)
    except (Exception, SystemExit) as error:
        runner.reset()
        found.error, found.ending = error, _story(error, clerks)
    else:
        found.clocks = run.clocks
    clerks.sort(key=lambda clerk: clerk.rank)
    found.messages = [message for clerk in clerks for message in clerk.log]
    found.early_line = max((clerk.early_line for clerk in clerks), default=0)
    if found.error is not None:
        _explain(found, clerks)
    return given if found.finished else []


def _story(error: BaseException, clerks: Sequence[Clerk]) -> Ending:
    if isinstance(error, SubmissionError):
        return Ending(error.kind, str(error))
    if isinstance(error, TooMuchError):
        return Ending("too much", str(error))
    story = ending(error)
    lines = {clerk.rank: clerk.line for clerk in clerks}
    if isinstance(error, DeadlockError):
        waiting = [
            f"rank {rank}: {text.rpartition(' at ')[0]} at line {lines.get(rank, 0)}"
            for rank, text in error.waiting.items()
        ]
        return replace(story, text="; ".join(waiting))
    if isinstance(error, UnfinishedError):
        _, first, *others = str(error).splitlines()
        more = f" (and {len(others)} more)" if others else ""
        return replace(story, text=first.strip() + more)
    if isinstance(error, SimulationError):
        return replace(story, text=str(error))
    return story


def _explain(found: Attempt, clerks: Sequence[Clerk]) -> None:
    """Note where a run stood when it broke off."""
    error = found.error
    if isinstance(error, SubmissionError):
        found.line = error.line
    elif found.ending is not None and found.ending.rank is not None:
        asked = next((c.line for c in clerks if c.rank == found.ending.rank), 0)
        found.line = (line_of(error) if error else 0) or asked
    if isinstance(error, DeadlockError):
        found.cycle = list(error.cycle)
        found.stuck = [
            Stuck(c.rank, [m for m in c.waiting if m.operation.done is None], c.line, c.call)
            for c in clerks
            if c.rank in error.waiting
        ]
    found.unwaited = [message for clerk in clerks for message in clerk.open.values()]
    if clerks:
        kernel: Kernel = clerks[0].kernel
        pending = {
            id(send) for group in kernel.groups for sends in group.sends.values() for send in sends
        }
        found.unmatched = [m for m in found.sent() if id(m.operation) in pending]


# ------------------------------------------------------------------ in this process


class Here:
    """Runs a submission in this process: for code that is trusted, such as a solution.

    Parameters
    ----------
    functions : mapping of str to callable
        The functions of the submission, by name.
    """

    def __init__(self, functions: dict[str, Callable[..., Any]]) -> None:
        self.functions = functions

    def call(self, clerk: Clerk, job: Job, rank: int, size: int) -> Buffers:
        try:
            comm = Comm(clerk.ask, rank, size)
            buffers = Buffers(job.case, rank, job.inputs[rank], PATTERN)
            perform(self.functions[job.function], comm, buffers, lambda at: note(clerk, at))
        except Exception as error:
            if type(error).__module__.startswith("collectives.") or isinstance(error, TooMuchError):
                raise
            raise SubmissionError(
                "raised", type(error).__name__, str(error), line_of(error)
            ) from error
        return buffers

    def value(self, function: str, *arguments: Any) -> Any:
        """Return what a function of numbers gives."""
        try:
            return plain(self.functions[function](*arguments))
        except Exception as error:
            raise SubmissionError(
                "raised", type(error).__name__, str(error), line_of(error)
            ) from error

    def play(self, clerk: Clerk, function: str, scene: Scene, rank: int, size: int) -> Any:
        """Run one rank's part of a scene."""
        arrays = [array.copy() for array in scene.arrays[rank]]
        try:
            comm = Comm(clerk.ask, rank, size)
            return plain(self.functions[function](comm, *arrays, *scene.words))
        except Exception as error:
            if line_of(error) == 0 or isinstance(error, TooMuchError | SimulationError):
                raise
            raise SubmissionError(
                "raised", type(error).__name__, str(error), line_of(error)
            ) from error

    def reset(self) -> None:
        pass


def note(clerk: Clerk, line: int) -> None:
    """Note where something was combined that had not arrived."""
    clerk.early_line = clerk.early_line or line


def perform(
    function: Callable[..., Any], comm: Comm, buffers: Buffers, say: Callable[[int], None]
) -> None:
    """Make one rank's call on its buffers."""
    case = buffers.case
    if case.reduces:
        object.__setattr__(buffers, "case", replace(case, op=watched_op(case.op, comm, say)))
    comm._buffers = {"recvbuf": buffers.received.inside, "sendbuf": buffers.sent.inside}
    buffers.run(function, comm)
    buffers.case = case


def line_of(error: BaseException) -> int:
    """Return the last line of the submission in the traceback of an exception."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == SUBMISSION:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line or getattr(error, "lineno", 0) or 0


def functions_of(source: str) -> dict[str, Callable[..., Any]]:
    """Return the functions that a submission's text defines; SubmissionError where it cannot."""
    names: dict[str, Any] = {"__name__": "submission", "__file__": SUBMISSION}
    try:
        exec(compile(source, SUBMISSION, "exec", dont_inherit=True), names)
    except BaseException as error:
        raise SubmissionError("raised", type(error).__name__, str(error), line_of(error)) from error
    return {name: value for name, value in names.items() if callable(value)}
