"""How much memory arrays really take: counted, not computed."""

from __future__ import annotations

from typing import Any


def held(*things: Any) -> int:
    """Return the bytes of all arrays in `things`, each allocation once.

    Looks into lists, tuples, dictionaries and objects. A view counts as all the memory that it
    keeps alive.

    Examples
    --------
    >>> import numpy as np
    >>> whole = np.zeros(10)
    >>> held(whole[:3], [whole], {"other": np.zeros(2)})
    96
    """
    sizes: dict[int, int] = {}
    seen: set[int] = set()
    waiting = list(things)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if hasattr(thing, "nbytes") and hasattr(thing, "base"):
            if thing.base is not None and hasattr(thing.base, "nbytes"):
                waiting.append(thing.base)
            else:
                sizes[id(thing)] = int(thing.nbytes)
        elif isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, list | tuple):
            waiting += thing
        else:
            waiting += getattr(thing, "__dict__", {}).values()
    return sum(sizes.values())
