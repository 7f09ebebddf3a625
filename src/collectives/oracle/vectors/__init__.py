"""Test vectors on disk: inputs and expected results as ``.npy`` files, for any language.

`write` makes a folder of them. An implementation reads the inputs that the manifest names, runs
the cases, and writes what every rank got to the places that the manifest names. `Vectors` judges
these files. ``docs/vectors.md`` is the description for implementers.

`plan` decides which cases there are and why, `payload` what the ranks bring, `manifest` is the
form of the index, `files` reads arrays that nobody vouches for, `comparing` and `judging` find
what is wrong, `target` reports it.
"""

from collectives.oracle.vectors.target import Vectors
from collectives.oracle.vectors.writing import write

__all__ = ["Vectors", "write"]
