"""PyTorch trains the same network on the same batches: DDP, ZeroRedundancyOptimizer, FSDP."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from collectives.sim import simulate
from collectives.training import MLP, DataParallel, ZeRO1, ZeRO3, batch_of, digits, tolerance

torch = pytest.importorskip("torch", reason='needs torch: pip install "collectives[torch]"')
if not torch.distributed.is_gloo_available():
    pytest.skip("this torch was built without gloo", allow_module_level=True)

SAME_IDEA = {"DDP": DataParallel, "ZeroRedundancyOptimizer": ZeRO1, "FSDP": ZeRO3}
MODEL, STEPS, ROWS, RATE, MICRO = MLP((64, 24, 10)), 8, 48, 3e-3, (1, 2)
DATA, START = digits(np.float64), MODEL.initial(np.float64)


@pytest.fixture(scope="module", params=[2, 3])
def theirs(request, tmp_path_factory):
    """The number of ranks, and the parameters that PyTorch ends with on so many processes."""
    p, folder = request.param, tmp_path_factory.mktemp("torch")
    np.savez(
        folder / "start.npz", parameters=START, pixels=DATA[0], targets=DATA[1], micro=MICRO,
        widths=MODEL.widths, counts=(STEPS, ROWS), rate=RATE, schemes=list(SAME_IDEA),
    )  # fmt: skip
    script = str(Path(__file__).with_name("torch_rank.py"))
    arguments = [[script, str(rank), str(p), str(folder)] for rank in range(p)]
    processes = [subprocess.Popen([sys.executable, *words]) for words in arguments]
    try:
        assert [process.wait(timeout=200) for process in processes] == [0] * p
    finally:
        for process in processes:
            process.kill()
    return p, np.load(folder / "end.npz")


@pytest.mark.slow
@pytest.mark.parametrize("micro", MICRO)
@pytest.mark.parametrize("scheme", SAME_IDEA)
def test_pytorch_ends_with_the_same_parameters(scheme, micro, theirs):
    """The batch comes out even: where it does not, PyTorch's mean of means is another number."""
    p, ends = theirs

    def program(comm):
        trainer = SAME_IDEA[scheme](comm, MODEL, START, rate=RATE)
        for step in range(STEPS):
            trainer.step(batch_of(DATA, step, ROWS, rank=comm.rank, p=p, micro=micro), ROWS)
        return trainer.everything()

    ours = simulate(program, p).results[0]
    assert np.abs(ours - START).max() > RATE  # they learnt something
    error = np.abs(ours - ends[f"{scheme} {micro}"]).max()
    assert error <= tolerance(np.float64, steps=STEPS, rate=RATE)
