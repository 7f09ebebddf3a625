"""A1 hello, ranks: one text, run by all of them, and one who prints.

Story   `mpirun -n 4 python hello.py` starts the same program four times. Each copy knows its
        number, comm.rank, and how many there are, comm.size, and nothing of the others. If all of
        them print, lines come in any order; so let rank 0 collect the lines and print.

Spec    `hello_ranks(comm)`: on rank 0 return the list of all lines, `hello from rank 2 of 4` and
        so on, in the order of the ranks, rank 0 first; on all other ranks return None. Whoever
        comes late must not change the order, so receive from each rank by its number.
        `comm.send(text, dest=0)` sends an object, `comm.recv(source=2)` returns it.

Size    6 lines; 10 minutes.

Budget  p - 1 messages: each rank but 0 sends its line.

Predict How many messages do 8 ranks send? Write it into PREDICTION.

More    Print the list under `mpirun -n 4`. What if every rank prints its own line instead? Run
        that ten times and look at the order.

collectives grade lessons/exercises/hello_ranks.py
"""

PREDICTION = None


def hello_ranks(comm):
    raise NotImplementedError
