"""Which algorithm for which size: from times to rules, and to files that libraries read.

`choices` turns the times of several algorithms into rules; `openmpi` writes them as a rules file
of Open MPI, `nccl_csv` as the table of NCCL's example tuner plugin. `nccl_model` is the model by
which NCCL itself chooses.
"""

from collectives.tuning.choices import Choice, choices, chosen

__all__ = ["Choice", "choices", "chosen"]
