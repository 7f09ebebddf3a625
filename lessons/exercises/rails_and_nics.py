"""F3 rails and cards: how many network cards does a ring use?

Story   Two nodes of four GPUs each, with several network cards per node. A ring over all GPUs
        enters a node once and leaves it once: it uses one card, however many there are. Libraries
        therefore run several rings, called channels, each on its part of the vector. Channel i
        uses card i modulo the number of cards.

Spec    `ring_seconds(nbytes, p, channels, cards, gbits)`: the time of an all-reduce of nbytes over
        p ranks by rings, one per channel, where each node has so many cards of so many Gb/s in each
        direction. Links inside the nodes are much faster, latency is nothing. Within 1 % of the
        simulated time.

Size    4 lines; 15 minutes.

Budget  none: nothing is sent.

Predict A node has 8 cards, and the library runs 2 channels. How many times as long does a long
        all-reduce take as with 8 channels? Write it into PREDICTION.

More    `collectives simulate allreduce multi_ring --channels 1,2,4,8 --nbytes 1.2GB` and the
        lesson nccl_tuning. Which variable of NCCL's caps the channels?

collectives grade lessons/exercises/rails_and_nics.py
"""

PREDICTION = None


def ring_seconds(nbytes, p, channels, cards, gbits):
    raise NotImplementedError
