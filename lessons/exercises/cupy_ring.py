"""H3 CuPy ring: the vector lies on a GPU, and a kernel may still be writing to it.

Story   Launching a kernel returns at once. A GPU-aware MPI follows the pointer that you give it and
        reads what is there; it knows nothing of kernels. So whoever sends waits for the device
        first, and waits again before it receives into memory that a kernel still uses.

Spec    `cupy_ring(comm, values, where)`: make the device with `device(where)`, put `values`
        (float64, n a multiple of p) on it, square them there, all-reduce the squares with a ring on
        the device, and return the sum as a host array.
            from collectives.teach.device import device, seen_by_mpi
        place.array(x)        a copy of a host array on the device
        place.synchronize(x)  wait for all that was launched on x's device
        place.fetch(x, host)  copy to a host array, done when it returns
        seen_by_mpi(x)        what to give to Send, Recv, Sendrecv instead of x
        np.empty_like(x), np.add(a, b, out=c), a * b and slices work on the device.
        The grader runs it on a stand-in that needs no GPU: NumPy in host memory, where kernels run
        as late as they may. `mpirun -n 4 python lessons/exercises/cupy_ring.py` uses a GPU if
        there is one that CuPy and the MPI library can use, and says which it was.

Size    18 lines; 25 minutes.

Budget  2 (p - 1) n elements, all ranks together.

Predict In a ring of 4 ranks, how many messages does a rank send, before each of which it must be
        sure that the device is done? Write it into PREDICTION.

More    An MPI without GPU support crashes on such a pointer. Stage instead: fetch a block into host
        memory, send that, store what comes in. How many copies? `python lessons/gpu_aware.py`

collectives grade lessons/exercises/cupy_ring.py
"""

PREDICTION = None


def cupy_ring(comm, values, where):
    raise NotImplementedError


if __name__ == "__main__":
    from collectives.teach.device import tried

    tried(cupy_ring)
