"""The mistakes that the grader knows, by when they show.

The rules are tried in the order of the imports below, and of the text within a module: the special
ones stand before the general ones.
"""

from collectives.teach.diagnoses import loading, on_mpi, calls, waiting, stopping  # isort: skip
from collectives.teach.diagnoses import order, sizes, values, traffic, rest  # isort: skip
from collectives.teach.diagnoses import named  # isort: skip

__all__ = [
    "calls", "loading", "named", "on_mpi", "order", "rest", "sizes", "stopping", "traffic",
    "values", "waiting",
]  # fmt: skip
