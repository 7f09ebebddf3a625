"""What all trainers have in common: the step, the buckets, the collectives, who is the worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np

from collectives.comm import Array
from collectives.registry import find
from collectives.training.adam import Adam
from collectives.training.buckets import cut
from collectives.training.held import held
from collectives.training.model import MLP, forward_backward

MEBIBYTE = 2**20


class Trainer:
    """A rank's share of training a model together with other ranks.

    Parameters
    ----------
    comm : Comm
        The ranks that train together.
    model : MLP
    parameters : array (n,)
        What training starts from, the same on every rank; it is left unchanged. All that a
        trainer keeps is an array of this kind (NumPy, CuPy) and dtype.
    rate : float, optional
        Adam's learning rate.
    bucket_nbytes : int, optional
        Gradients are sent when there are so many bytes of them; 0 is layer by layer. `ZeRO3`
        always goes layer by layer. (25 MiB is the default of PyTorch's DistributedDataParallel.)
    allreduce, reduce_scatter, allgather : str, optional
        The names of the algorithms that are used.
    overlap : bool, optional
        Whether a thread sends while this one computes. Needs an MPI that threads may take turns
        to call (``MPI_THREAD_SERIALIZED``); simulated ranks cannot do it.

    Attributes
    ----------
    name : str
        What the scheme is called.
    by_layer : bool
        Whether every layer is a bucket, whatever `bucket_nbytes`.
    parameters, gradients : array
        What this rank keeps of them between steps: all, or its shard.
    adam : Adam
        The optimizer of the same parameters as it keeps, or of this rank's shard of them.
    """

    name: ClassVar[str]
    by_layer: ClassVar[bool] = False
    parameters: Array
    gradients: Array
    adam: Adam

    def __init__(
        self,
        comm: Any,
        model: MLP,
        parameters: Array,
        *,
        rate: float = 1e-3,
        bucket_nbytes: int = 25 * MEBIBYTE,
        allreduce: str = "ring",
        reduce_scatter: str = "ring",
        allgather: str = "ring",
        overlap: bool = False,
    ) -> None:
        if parameters.shape != (sum(model.sizes),):
            raise ValueError(
                f"parameters have shape {parameters.shape}, the model wants ({sum(model.sizes)},)"
            )
        self.comm, self.model = comm, model
        self.allreduce = find("allreduce", allreduce).function
        self.reduce_scatter = find("reduce_scatter", reduce_scatter).function
        self.allgather = find("allgather", allgather).function
        at_least = 0 if self.by_layer else bucket_nbytes / parameters.dtype.itemsize
        self.buckets = cut(model.sizes, at_least, comm.rank, comm.size)
        self.bucket_of = {layer: bucket for bucket in self.buckets for layer in bucket.layers}
        ends = np.cumsum([0, *model.sizes]).tolist()
        self.places = [slice(*ends[i : i + 2]) for i in range(len(model.sizes))]
        self.is_last = True
        self.worker = _worker(comm) if overlap else None
        self.under_way: list[Future[None]] = []
        self._start(parameters, rate)

    def step(self, batches: Sequence[tuple[Array, Array]], rows: int) -> float:
        """Train on one batch of `rows` rows in all; return this rank's part of the loss.

        `batches` are the parts of it that this rank sees, one or, to accumulate gradients,
        several micro-batches one after the other. The parts of all ranks add up to the loss.
        """
        loss = 0.0
        for number, (x, targets) in enumerate(batches, start=1):
            self.is_last = number == len(batches)
            loss += forward_backward(self.model, x, targets, rows, self.weights, self.ready)
        self.wait()
        self.update()
        return loss

    # ------------------------------------------------------- what the schemes differ in

    def _start(self, parameters: Array, rate: float) -> None:
        """Allocate what this rank keeps."""
        raise NotImplementedError

    def weights(self, layer: int) -> Array:
        """Return the parameters of a layer, which the model is about to use."""
        raise NotImplementedError

    def ready(self, layer: int, gradient: Array) -> None:
        """Take the gradient of a layer, which has just been computed on this rank's rows."""
        raise NotImplementedError

    def update(self) -> None:
        """Take the optimizer's step, and leave everything ready for the next batch."""
        raise NotImplementedError

    def everything(self) -> Array:
        """Return all parameters, on every rank. For looking at them, not part of a step."""
        raise NotImplementedError

    # ------------------------------------------------------- what they share

    @property
    def mine(self) -> int:
        """How many parameters this rank owns: the length of its shard."""
        return sum(bucket.mine for bucket in self.buckets)

    def memory(self) -> dict[str, int]:
        """Return the bytes that this rank keeps between steps, counted in the arrays it holds."""
        return {
            "parameters": held(self.parameters),
            "gradients": held(self.gradients),
            "optimizer state": held(self.adam),
        }

    def later(self, call: Callable[..., None], *arguments: Any) -> None:
        """Communicate: at once, or, to overlap, when the worker has done all before it."""
        if self.worker is None:
            call(*arguments)
        else:
            self.under_way.append(self.worker.submit(call, *arguments))

    def wait(self) -> None:
        """Return when everything is done that was put off with `later`."""
        for task in self.under_way:
            task.result()
        self.under_way.clear()


def _worker(comm: Any) -> ThreadPoolExecutor:
    """Return one thread that communicates; one, so that all ranks do it in the same order."""
    if not hasattr(comm, "Allreduce"):
        raise ValueError(f"overlap is a thread's work; {type(comm).__name__} wants overlap=False")
    from mpi4py import MPI

    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        raise ValueError("overlap needs MPI_THREAD_SERIALIZED, which this MPI does not grant")
    return ThreadPoolExecutor(1, "communicate")
