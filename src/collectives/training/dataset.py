"""The data: 1797 handwritten digits of 8 by 8 pixels, which come with scikit-learn."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from collectives.comm import Array


def digits(dtype: Any = np.float32) -> tuple[Array, Array]:
    """Return the pixels (1797, 64), from 0 to 1, and what they show (1797, 10), one 1 in a row.

    The rows are in an order that is shuffled and always the same. The file is the one that
    `sklearn.datasets.load_digits` reads; it is read directly because importing scikit-learn takes
    a second, on every rank.

    E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning
    Repository, 1998, doi:10.24432/C50P49.
    """
    table = _table()
    pixels, labels = table[:, :-1], table[:, -1]
    return (pixels / 16).astype(dtype), np.eye(10, dtype=dtype)[labels]


@cache
def _table() -> Array:
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise ImportError(
            "collectives.training needs the digits of scikit-learn: "
            'pip install "collectives[training]"'
        )
    path = Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"
    table = np.loadtxt(path, dtype=np.uint8, delimiter=",")
    return np.random.default_rng(0).permutation(table)
