"""
The case study, computed
========================

An all-reduce of 1.2 GB on 8 nodes with 8 GPUs each took 18 ms, and 14.2 ms after tuning. What does
it take to get there? Everything here is simulated, or computed by formula.
"""

from collectives import find
from collectives.case_study import AFTER, BEFORE, NBYTES, comparison, consistent
from collectives.draw import sweeps
from collectives.draw.figures import sweep_times
from collectives.sim import preset
from collectives.study import attempt, sweep

# %%
# The more channels a ring has, the more network cards of a node it uses. With a leader per card and
# rails between the nodes all are used, whatever the channels; least is what no algorithm can beat.

names = ["multi_ring", "multi_leader", "pipelined_multi_leader"]
calls = sweep(
    [find("allreduce", name) for name in names],
    ranks=[64],
    sizes=[NBYTES],
    networks=[preset("a100-8x8")],
    options={"channels": [1, 2, 4, 8], "segment": [NBYTES // 4 // 16]},
)
sweep_times([attempt(call) for call in calls], "a100-8x8")

# %%
# The same by formula, and which ways are consistent with the two times:

found = {time: consistent(time) for time in (BEFORE, AFTER)}
print(sweeps.case_study_text(list(comparison()), found, tolerance=0.02))
