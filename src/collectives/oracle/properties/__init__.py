"""What every collective promises: one function per promise, which looks for a counterexample.

A property takes a `World`, a function with a collective's signature and a `Case`; where it compares
a claim, such as the cost, also the registry entry that makes it. It runs the function in the world
and returns None, or a `Finding` that says where the promise is broken, what was got and what was
wanted. It does not raise for what the function does: exceptions and deadlocks are findings too.

`PROPERTIES` has them all, each with the cases on which it is worth checking. They stand in one
module per family of promises.

Examples
--------
>>> from collectives import allreduce_ring
>>> from collectives.oracle.cases import Case
>>> from collectives.oracle.worlds import SIMULATED
>>> right_values(SIMULATED, allreduce_ring, Case("allreduce", p=5, n=7))
>>> def allreduce_of_two(comm, sendbuf, recvbuf, op):
...     other = sendbuf.copy()
...     comm.Sendrecv(sendbuf, dest=comm.rank ^ 1, recvbuf=other, source=comm.rank ^ 1)
...     op(sendbuf, other, out=recvbuf)
>>> print(every_rank_counted_once(SIMULATED, allreduce_of_two, Case("allreduce", p=4, n=4)))
rank 0 block 0 element 0 has 0+1, wants 0+1+2+3
"""

from collectives.oracle.promises import PROPERTIES, Check, Property, Subject
from collectives.oracle.properties.values import every_rank_counted_once, order_kept, right_values

from collectives.oracle.properties.floats import (  # isort: skip
    float_error_bounded,
    same_on_all_ranks,
    same_when_repeated,
    special_values,
)
from collectives.oracle.properties.buffers import (  # isort: skip
    ignored_arguments_ignored,
    input_unchanged,
    reads_only_input,
    works_in_place,
    writes_only_result,
)
from collectives.oracle.properties.sizes import one_rank_ok, zero_length_ok

from collectives.oracle.properties.progress import (  # isort: skip
    survives_foreign_traffic,
    survives_skew,
)
from collectives.oracle.properties.communicators import any_communicator  # isort: skip
from collectives.oracle.properties.messages import (  # isort: skip
    finishes_without_buffering,
    leaves_no_message_behind,
    messages_match_cost,
    ran_what_was_asked,
)
from collectives.oracle.properties.width import big_counts  # isort: skip
from collectives.oracle.properties.claims import (  # isort: skip
    formulas_match_cost,
    not_below_lower_bound,
    refuses_bad_input,
    refuses_what_it_cannot_do,
    time_matches_cost,
)

__all__ = [
    "PROPERTIES", "Check", "Property", "Subject", "any_communicator", "big_counts",
    "every_rank_counted_once", "finishes_without_buffering", "float_error_bounded",
    "formulas_match_cost", "ignored_arguments_ignored", "input_unchanged",
    "leaves_no_message_behind", "messages_match_cost", "not_below_lower_bound", "one_rank_ok",
    "order_kept", "ran_what_was_asked", "reads_only_input", "refuses_bad_input",
    "refuses_what_it_cannot_do", "right_values", "same_on_all_ranks", "same_when_repeated",
    "special_values", "survives_foreign_traffic", "survives_skew", "time_matches_cost",
    "works_in_place", "writes_only_result", "zero_length_ok",
]  # fmt: skip
