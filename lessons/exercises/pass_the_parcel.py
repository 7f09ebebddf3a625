"""A3 pass the parcel: a circle in which nobody can begin, and three ways to break it.

Story   Ranks stand in a ring; each hands its parcel to the right and takes the one from the left.
        If all send first, all may wait for ever: a Send may wait for its receiver. With short
        parcels it works all the same on most machines, which makes it worse. See it happen:
        write `comm.Send(...)` and then `comm.Recv(...)` and grade it.

Spec    Each function gets this rank's `parcel`, an array, and returns an array: the parcel of its
        left neighbour, (rank - 1) mod p. At least 2 ranks. Nothing may rely on buffering.
        `parcel_in_order`     with Send and Recv only: not all in the same order
        `parcel_in_one_call`  with Sendrecv
        `parcel_at_once`      with Isend or Irecv, and Wait

Size    6 lines each; 20 minutes.

Budget  p messages each.

Predict 5 ranks in a ring call Send first and Recv second, and sends wait for their receivers. How
        many of them get beyond Send? Write it into PREDICTION.

More    Find the size at which your MPI library no longer buffers: `python lessons/deadlock.py`.
        How long does parcel_in_order take for 5 ranks, in steps? Why not 2?

collectives grade lessons/exercises/pass_the_parcel.py
"""

PREDICTION = None


def parcel_in_order(comm, parcel):
    raise NotImplementedError


def parcel_in_one_call(comm, parcel):
    raise NotImplementedError


def parcel_at_once(comm, parcel):
    raise NotImplementedError
