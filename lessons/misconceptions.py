"""Misconceptions: 36 things that people say of collectives, each with the run that decides it.

mpirun -n 8 python lessons/misconceptions.py        on 8 MPI ranks
python lessons/misconceptions.py M13                one of them, simulated, without MPI
"""

import argparse
import sys

from collectives import find
from collectives.recorder import record
from collectives.teach.lesson import Check, main, wrapped
from collectives.teach.misconceptions import beliefs
from collectives.teach.misconceptions.waiting import measured_progress
from collectives.teach.prediction import Prediction

QUESTION = """
What do people get wrong about collectives, and how would you find out?
"""

VERDICTS = {"true": "a", "half true": "b", "false": "c"}


def asked(options):
    """Return the number of the belief that the reader is asked about."""
    return options.which or 4


PREDICT = Prediction(
    ask=lambda p, options: (
        f'M{asked(options)}: "{beliefs()[asked(options) - 1].says}". Does this hold?'
    ),
    answer=lambda world, options: VERDICTS[beliefs()[asked(options) - 1].verdict],
    choices=("yes", "in part", "no"),
)

NEXT = [
    (
        "python lessons/misconceptions.py M13 --predict",
        "one of them: what is said, what is true, and the numbers",
    ),
    ("mpirun -n 2 python lessons/misconceptions.py M18", "needs an MPI library: it is measured"),
    ("case_study", "the claims of a real case, computed"),
    ("zero", "M25 to M29 in a training run"),
]


def measure(comm, options):
    """Measure M18, which only an MPI library can decide; all else runs on simulated ranks."""
    wanted = options.which == 18 and comm.size > 1 and hasattr(comm, "Iallreduce")
    return measured_progress(comm) if wanted else None


def report(world, options):
    """Yield what rank 0 prints: one belief, or all of them."""
    if options.which:
        yield from one(beliefs()[options.which - 1], world.results[0])
    else:
        yield from everything()


def one(belief, measured):
    """Yield a belief, the truth, and what its experiment gave."""
    evidence = measured or belief.experiment()
    yield ""
    yield from wrapped("says   ", f"{belief}: {belief.says}")
    yield from wrapped("truth  ", f"{belief.verdict}. {belief.truth}")
    yield from wrapped("run    ", f"{evidence.how}: {evidence.text}")
    if belief.source:
        yield from wrapped("source ", belief.source)
    yield ""
    if evidence.how in DECIDING:
        yield Check(str(belief), evidence.holds, "the numbers say what is called the truth above")
    else:
        yield f"check  none: {evidence.how}"


DECIDING = ("counted", "simulated", "computed")
"""Evidence that is the same in each run, and so can be checked."""


def everything():
    """Yield all beliefs, each with its evidence; list those that are not run here."""
    yield """
idea   Do not argue: count, simulate or measure. "counted" and "simulated" ran just now on simulated
       ranks, "computed" is arithmetic, "quoted" is what others saw and nothing here can measure.
"""
    failed, ran, others = [], 0, {}
    for belief in beliefs():
        evidence = belief.experiment()
        yield f"{belief!s:5}{belief.verdict:10}{belief.says}"
        yield from wrapped(" " * 15, f"{evidence.how}: {evidence.text}")
        if evidence.how in DECIDING:
            ran += 1
            failed += [str(belief)] * (not evidence.holds)
        else:
            others.setdefault(evidence.how, []).append(str(belief))
    yield ""
    rest = "; ".join(f"{how}: {', '.join(names)}" for how, names in others.items())
    detail = f"{ran - len(failed)} of {ran} came out as said; {rest}"
    yield Check("runs", not failed, f"{', '.join(failed)} did not" if failed else detail)
    yield """
limit  A simulation knows what it was told. Where the machine or the library decides, as in M12,
       M18 and M22, measure, or read its log.

use    Ask of each number that you read: of which rank, of which size, and counted how?"""


def svg(world, options):
    """Return the figure to the most stubborn of them, M10 and M11: the load of trees."""
    from collectives.draw.figures import trees

    return trees(record(find("allreduce", "double_binary_tree"), max(world.size, 2)))


def html(world, options):
    """Return a ring and a tree, to step through."""
    return [record(find("allreduce", name), world.size) for name in ("ring", "reduce_bcast")]


def flags(parser):
    """Add which belief to look at."""

    def number(text):
        digits = text.upper().removeprefix("M")
        if not digits.isdecimal() or not 1 <= int(digits) <= len(beliefs()):
            raise argparse.ArgumentTypeError(f"{text}, wants M1 to M{len(beliefs())}")
        return int(digits)

    parser.add_argument(
        "which", nargs="?", type=number, metavar="M13", help="which one; all if not given"
    )


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, flags=flags, device=False,
        )
    )  # fmt: skip
