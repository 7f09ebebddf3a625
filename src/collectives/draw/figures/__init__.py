"""Figures of runs and of models, as SVG or PNG; every function returns a `Picture`.

Of one run: `contribution_grid` (who is in which block, step by step), `diary` (the way of one
block), `spacetime` (messages over time), `waitfor` (who waits for whom at a deadlock). Of the
structure of an algorithm: `trees`, `butterfly`, `bruck`, `transpose`, `hierarchy`. Of models:
`alpha_beta`, `zero_bars`, `overlap`, `sweep_times`. Of measurements: `bench_times`.

A module that would have the name of its function has an underscore in front of it.
"""

from collectives.draw.figures._bruck import bruck
from collectives.draw.figures._butterfly import butterfly
from collectives.draw.figures._diary import diary
from collectives.draw.figures._hierarchy import hierarchy
from collectives.draw.figures._overlap import overlap
from collectives.draw.figures._spacetime import spacetime
from collectives.draw.figures._transpose import transpose
from collectives.draw.figures._trees import trees
from collectives.draw.figures._waitfor import waitfor
from collectives.draw.figures.alphabeta import alpha_beta
from collectives.draw.figures.grid import contribution_grid
from collectives.draw.figures.measured import bench_times
from collectives.draw.figures.style import DARK, LIGHT, Picture, Theme
from collectives.draw.figures.sweep import sweep_times
from collectives.draw.figures.zero import zero_bars

__all__ = [
    "DARK",
    "LIGHT",
    "Picture",
    "Theme",
    "alpha_beta",
    "bench_times",
    "bruck",
    "butterfly",
    "contribution_grid",
    "diary",
    "hierarchy",
    "overlap",
    "spacetime",
    "sweep_times",
    "transpose",
    "trees",
    "waitfor",
    "zero_bars",
]
