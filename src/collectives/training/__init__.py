"""Training with data parallelism: the same steps as one process, shared among ranks.

Every class trains the same small network on parts of the same batches, with this package's own
collectives. They differ in what a rank keeps, and therefore in what is sent:

=============  ========================================  ===============================
class          a rank keeps only its share of            per step, in units of the model
=============  ========================================  ===============================
DataParallel   nothing: it keeps all                     2  (all-reduce)
ZeRO1          the optimizer's state                     2  (reduce-scatter, allgather)
ZeRO2          also the gradients                        2  (reduce-scatter, allgather)
ZeRO3          also the parameters                       3  (two allgathers, reduce-scatter)
=============  ========================================  ===============================

Each number is times (p - 1) / p and for one batch per step; for k batches, of which the gradients
are accumulated, it is 2, 2, k + 1 and 3k. The tests count them.

Source: S. Rajbhandari, J. Rasley, O. Ruwase, Y. He, "ZeRO: Memory Optimizations Toward Training
Trillion Parameter Models", SC 2020, arXiv:1910.02054.
"""

from collectives.training.adam import Adam
from collectives.training.batches import batch_of
from collectives.training.data_parallel import DataParallel
from collectives.training.dataset import digits
from collectives.training.model import MLP
from collectives.training.one_process import one_process, tolerance
from collectives.training.trainer import Trainer
from collectives.training.zero1 import ZeRO1
from collectives.training.zero2 import ZeRO2
from collectives.training.zero3 import ZeRO3

SCHEMES: tuple[type[Trainer], ...] = (DataParallel, ZeRO1, ZeRO2, ZeRO3)

__all__ = [
    "MLP", "SCHEMES", "Adam", "DataParallel", "Trainer", "ZeRO1", "ZeRO2", "ZeRO3", "batch_of",
    "digits", "one_process", "tolerance",
]  # fmt: skip
