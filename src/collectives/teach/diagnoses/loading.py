"""Before anything has run: what keeps a submission from being tried."""

from __future__ import annotations

from collectives.teach.diagnosis import head, mistake, where_it_stopped
from collectives.teach.evidence import Evidence


@mistake(
    "not-written", "the stub as it came",
    what="{text}: not written yet",
    why="the function still raises NotImplementedError, or is not there",
    hint="where does each rank's data have to go first?", look=head,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "missing" or (e.kind == "raised" and e.raised == "NotImplementedError")


@mistake(
    "cannot-be-loaded", "a syntax error, or an import that fails",
    what="the file cannot be loaded: {text}",
    why="Python stops before the first rank has begun",
    hint="does `python FILE` alone run?",
    look=where_it_stopped,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "unloadable"


@mistake(
    "uses-the-library", "calling the solution, or the MPI library's own collective",
    what="{text}",
    why="the exercise is to write it from Send and Recv",
    hint="which messages does the call that you use send?",
    look=where_it_stopped,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "library" or (e.raised == "AttributeError" and "comm has no" in e.text)


@mistake(
    "wrong-signature", "other arguments than the stub has",
    why="the grader calls the function as the stub declares it",
    hint="what are the arguments of the stub, in which order?", look=head,
)  # fmt: skip
def _(e: Evidence) -> object:
    words = ("positional argument", "unexpected keyword", "multiple values for argument")
    named = f"{e.part.function}()" in e.text
    return (
        e.kind == "raised" and e.raised == "TypeError" and named and any(w in e.text for w in words)
    )
