"""The mistakes that the grader knows, by when they show.

The rules are tried in the order of the imports below, and of the text within a module: the special
ones stand before the general ones.
"""

from collectives.teach.diagnoses import loading, stopping  # isort: skip
from collectives.teach.diagnoses import sizes, values, traffic, rest  # isort: skip
from collectives.teach.diagnoses import named  # isort: skip

__all__ = ["loading", "named", "rest", "sizes", "stopping", "traffic", "values"]
