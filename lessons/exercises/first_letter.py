"""A2 first letter: a message whose length the receiver does not know.

Story   Rank 0 writes a letter to the last rank. A receive needs a buffer before the message comes:
        how long? A buffer that is too short is an error; one that is too long is none, and its end
        keeps whatever was in it before.

Spec    `first_letter(comm, letters)`: on rank 0, `letters` is an array of uint8 (the characters'
        codes); on all others it is empty. The last rank returns the text, a str, all others
        return None. Any length. Use Send and Recv (capital letters: arrays), not send and recv
        (pickled objects), and mind the dtype of each buffer. At least 2 ranks.

Size    10 lines; 15 minutes.

Budget  2 messages: the length, then the letters.

Predict A uint8 array of 40 letters is received into np.empty(40), without a dtype. How many bytes
        has that buffer? Write it into PREDICTION.

More    `MPI.Status()` and its Get_count tell after a Recv how long the message was; Probe tells it
        before. Write it with Probe, in one message, and run it with mpirun -n 2.

collectives grade lessons/exercises/first_letter.py
"""

PREDICTION = None


def first_letter(comm, letters):
    raise NotImplementedError
