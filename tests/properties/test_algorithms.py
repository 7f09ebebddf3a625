"""Every promise, on every step-by-step algorithm of the registry.

An algorithm is covered by being registered, a promise by standing in
`collectives.oracle.properties`: there is nothing to add here for either.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from collectives.oracle.properties import PROPERTIES, Property
from collectives.registry import Algorithm, algorithms

STEP_BY_STEP = [entry for entry in algorithms() if entry.kind == "step by step"]


@pytest.mark.parametrize("promise", PROPERTIES.values(), ids=PROPERTIES)
@pytest.mark.parametrize("entry", STEP_BY_STEP, ids=str)
def test_promise_is_kept(entry: Algorithm, promise: Property, ranks: Sequence[int]) -> None:
    broken = promise.counterexample(entry, ranks)
    assert broken is None, broken
