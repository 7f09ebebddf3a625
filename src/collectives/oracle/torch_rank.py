"""What each process of `targets_torch` runs: ``python -m collectives.oracle.torch_rank``."""

from __future__ import annotations

import os
import sys
import warnings
from datetime import timedelta
from typing import Any

from collectives.oracle.targets_torch import TorchRank
from collectives.oracle.workers import refuse, serve

FOREVER = timedelta(hours=1)
"""Longer than the patience of whoever watches this process."""


def missing(backend: str, ranks: int) -> str | None:
    """Return what `backend` would need and is not there."""
    import torch
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_backend_available(backend):
        return f"torch:{backend}: torch {torch.__version__} was built without {backend}"
    if backend == "nccl" and torch.cuda.device_count() < ranks:
        devices = torch.cuda.device_count()
        return f"torch:nccl needs a GPU per rank: {ranks} ranks, {devices} GPUs"
    return None


def main(backend: str, rank: int, size: int, folder: str, descriptor: int) -> None:
    """Join the other processes, and run what comes."""
    import torch
    import torch.distributed as dist

    reason = missing(backend, size)
    if reason is not None:
        refuse(descriptor, reason)
        return
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FutureWarning)  # names that are to go are what older ones have
    device = "cpu"
    if backend == "nccl":
        torch.cuda.set_device(rank)
        device = f"cuda:{rank}"
    if backend == "gloo" and sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    store = dist.FileStore(os.path.join(folder, "store"), size)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=FOREVER)
    groups: dict[int, Any] = {
        p: dist.new_group(list(range(p)), timeout=FOREVER) for p in range(1, size + 1)
    }
    name = f"torch {torch.__version__} {backend}"
    serve(descriptor, name, lambda p: TorchRank(groups[p], device, rank, p))


if __name__ == "__main__":
    _, backend, rank, size, folder, descriptor = sys.argv
    main(backend, int(rank), int(size), folder, int(descriptor))
