"""What each process of `test_torch` runs: the same training, by PyTorch's own classes on Gloo."""

import os
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from collectives.training import batch_of


def network(widths, parameters):
    """Return the same network with the same parameters; PyTorch stores W transposed."""
    layers, start = [], 0
    for inputs, outputs in pairwise(widths):
        layer = nn.Linear(inputs, outputs, dtype=torch.float64)
        end = start + inputs * outputs
        weights = parameters[start:end].reshape(inputs, outputs)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weights.T.copy()))
            layer.bias.copy_(torch.from_numpy(parameters[end : end + outputs].copy()))
        start = end + outputs
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def flat(model):
    """Return all parameters in this package's order; where they are sharded, gather them."""
    whole = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters()]
    return np.concatenate([p.detach().numpy().T.reshape(-1) for p in whole])


def prepared(scheme, model, rate):
    """Return a model and its optimizer as the users of PyTorch write them."""
    adam = {"lr": rate, "betas": (0.9, 0.999), "eps": 1e-8}
    if scheme == "FSDP":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model, torch.optim.Adam(model.parameters(), **adam)
    model = nn.parallel.DistributedDataParallel(model)
    if scheme == "DDP":
        return model, torch.optim.Adam(model.parameters(), **adam)
    from torch.distributed.optim import ZeroRedundancyOptimizer

    return model, ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, **adam)


def trained(scheme, micro, given, data):
    """Return the parameters after training by one scheme."""
    steps, rows = given["counts"].tolist()
    model, optimizer = prepared(
        scheme, network(given["widths"].tolist(), given["parameters"]), float(given["rate"])
    )
    for step in range(steps):
        optimizer.zero_grad()
        mine = {"rank": dist.get_rank(), "p": dist.get_world_size(), "micro": micro}
        for pixels, targets in batch_of(data, step, rows, **mine):
            scores = model(torch.from_numpy(pixels))
            loss = nn.functional.cross_entropy(scores, torch.from_numpy(targets))
            (loss / micro).backward()
        optimizer.step()
    return flat(model)


def main(rank, size, folder):
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    store = dist.FileStore(str(folder / "store"), size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    given = np.load(folder / "start.npz")
    data = given["pixels"], given["targets"]
    ends = {
        f"{scheme} {micro}": trained(scheme, micro, given, data)
        for scheme in given["schemes"].tolist()
        for micro in given["micro"].tolist()
    }
    if rank == 0:
        np.savez(folder / "end.npz", **ends)
    dist.barrier()
    os._exit(0)  # threads of Gloo (torch 2.13) may end the process with SIGABRT after this line


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
