"""Diagnoses that judges name themselves: mistakes in answers, and in more than one collective.

No rule finds them, but for the last; a judge has seen what is wrong and says which it is.
"""

from __future__ import annotations

from typing import Final

from collectives.teach.diagnosis import head, mistake
from collectives.teach.evidence import Evidence


def _never(e: Evidence) -> object:
    return False


_ROWS: Final[dict[str, tuple[str, str, str]]] = {
    # part A
    "root-or-all": (
        "expecting a result on all ranks that only the root gets, or the other way round",
        "reduce and gather fill the root alone; allreduce and allgather fill all",
        "which ranks have a result in this table?",
    ),
    "part-or-whole": (
        "taking a part of a result for the whole",
        "after a scatter or reduce-scatter each rank has its block, and no more",
        "how many elements does a rank have afterwards?",
    ),
    "wrong-collective": (
        "two collectives mixed up",
        "compare what a rank has after with what all had before: copied, added, or moved?",
        "does a number of the result stand in some input, or is it a sum?",
    ),
    "no-such-name": (
        "an answer that is none of the names asked for",
        "names are compared letter by letter, as the exercise spells them",
        "how does the exercise spell it?",
    ),
    "printed-not-returned": (
        "printing instead of returning",
        "what a rank prints nobody can collect; rank 0 is to return what all others sent to it",
        "how does rank 0 get the other ranks' lines?",
    ),
    "bytes-for-text": (
        "bytes where a text is asked for",
        "bytes are numbers; a str is what they mean",
        "which method turns bytes into a str?",
    ),
    "order-of-arrival": (
        "lines in the order in which they come",
        "messages of different ranks come in any order; ANY_SOURCE takes whichever is first",
        "from whom should the next line be?",
    ),
    "everybody-prints": (
        "a result on ranks that should have none",
        "all ranks run the same text; what one of them alone does stands under an if",
        "which rank is to have the lines?",
    ),
    "longer-than-the-letter": (
        "a receive buffer longer than the message, taken for the message",
        "a shorter message is no error; the rest of the buffer keeps what it had",
        "how does the receiver learn the length?",
    ),
    "other-way-round": (
        "passing to the left instead of to the right",
        "rank r sends to (r + 1) mod p, so it receives from (r - 1) mod p",
        "who gives me the parcel if all pass to the right?",
    ),
    "own-parcel-kept": (
        "returning what was sent, or a buffer that has not been filled",
        "what arrives lies in the receive buffer, once the receive is complete",
        "in which array is the neighbour's parcel, and from when on?",
    ),
    "another-cure": (
        "another of the three cures than the one asked for",
        "each function is to break the circle in its own way",
        "which calls is this one to be made of?",
    ),
    "there-and-back": (
        "the time there and back taken for one way",
        "a round trip is two messages",
        "how many messages were there between the two readings of the clock?",
    ),
    "warm-up-counted": (
        "the first run counted with the others",
        "the first message sets up what later ones use; a mean takes that along, a median does not",
        "which of the five times is unlike the others?",
    ),
    "upside-down": (
        "a bandwidth where seconds per byte are asked for",
        "beta is seconds per byte; bytes per second are 1 / beta",
        "which unit has the slope of seconds over bytes?",
    ),
    "first-that-waits": (
        "the first size that waits instead of the last that does not",
        "up to the limit messages leave at once; the kink lies after it",
        "did this size wait?",
    ),
    "wrong-suspect": (
        "a fault that has other symptoms",
        "read the symptom first: does it hang, is it wrong everywhere, or only for some lengths?",
        "what would this line do with 3 ranks?",
    ),
    # parts D, F and H: numbers
    "one-for-all": (
        "one algorithm for every size",
        "few steps win for short vectors, few bytes for long ones",
        "which term is the larger one here, alpha times steps or beta times bytes?",
    ),
    "far-from-the-best": (
        "an algorithm that takes far longer than the best",
        "the model gives each algorithm's time: steps times alpha plus bytes times beta",
        "what does the formula give for each of the four?",
    ),
    "no-power-of-two": (
        "the extra rounds forgotten that ranks beyond a power of two cost",
        "recursive doubling and halving fold surplus ranks in first, and tell them afterwards",
        "how many rounds, and how many bytes, does it take with 6 ranks?",
    ),
    "bits-as-bytes": (
        "gigabits taken for gigabytes",
        "cards are sold in bits: 200 Gb/s are 25 GB/s",
        "how many bits has a byte?",
    ),
    "channels-forgotten": (
        "more cards counted than channels can use",
        "a channel uses one card out and one card in: c channels use c cards at most",
        "which cards have no channel?",
    ),
    "cards-forgotten": (
        "more channels counted than cards can carry at the same time",
        "channels that share a card share its bandwidth",
        "how many channels go through the busiest card?",
    ),
    "one-phase-only": (
        "the bytes of one of the two phases",
        "an all-reduce is a reduce-scatter and an allgather, (p-1)/p of the vector each",
        "how often does each block go round the ring?",
    ),
    "limit-for-the-formula": (
        "2 S instead of 2 (p-1)/p S",
        "2 S is where the formula goes for ever more ranks; with few ranks it is less",
        "what is (p-1)/p for your p?",
    ),
    "one-neighbour-only": (
        "only one of the two neighbours waited for",
        "a step has two ends: an unbuffered send waits for its receiver as well",
        "who must be there before this rank's send is done?",
    ),
    "all-wait-at-once": (
        "everybody late from the first step on",
        "a delay travels one rank to each side per step; who is far away goes on meanwhile",
        "how does a rank that is 3 away learn of the delay in the first step?",
    ),
    "late-rank-alone": (
        "only the late rank late",
        "in each step a rank waits for both neighbours, who wait for theirs",
        "what can a neighbour of the late rank do before it comes?",
    ),
    # part F: groups
    "groups-swapped": (
        "node and rail mixed up, or both the same",
        "ranks of a node have the same rank // per_node, ranks of a rail the same rank % per_node",
        "which ranks share a node with rank 5, if a node has 4?",
    ),
    "order-in-group": (
        "ranks of a group in another order than in the world",
        "Split orders by key",
        "what should rank 0 of a group have as its key?",
    ),
    "whole-world": (
        "a collective over all ranks instead of a group",
        "a collective on comm is over all of its ranks; on a part, over the ranks of that part",
        "on which communicator is it called?",
    ),
    "factor-of-the-node": (
        "the second all-reduce over all ranks instead of one rail",
        "all ranks of a node hold the same sum already, or parts of it: it is counted again",
        "which ranks have to meet in the second step?",
    ),
    "one-card-per-node": (
        "a leader who carries the whole vector between nodes",
        "the other cards of the node are idle meanwhile",
        "what could the other ranks of the node carry?",
    ),
    "flat-between-nodes": (
        "more bytes between nodes than are needed",
        "only sums of whole nodes have to cross, and each rank's part of them",
        "what is known in the node before anything crosses?",
    ),
    # part G
    "never-divided": (
        "gradients summed, never divided",
        "the sum of p means is p times too long a step",
        "what is the mean over the rows of all ranks?",
    ),
    "divided-twice": (
        "divided by p twice",
        "each rank's gradient is a mean already; one weighting is enough",
        "which of the two divisions is already in what each rank brings?",
    ),
    "rows-ignored": (
        "all ranks weighted alike, whatever their number of rows",
        "a mean of means is the mean only if all have as many rows",
        "how much should a rank with twice as many rows count?",
    ),
    "local-gradient": (
        "an update from the own gradient",
        "each rank has seen its own rows only; replicas drift apart",
        "which collective brings the other ranks' part of my shard?",
    ),
    "old-parameters-gathered": (
        "gathering before the shards are updated",
        "what is gathered is what was there: nobody sees the others' update",
        "which comes first, the update or the allgather?",
    ),
    "tail-shard-wrong": (
        "shards of n // p, so that the last parameters belong to nobody",
        "p shards of n // p do not cover n parameters",
        "who owns the last n mod p parameters?",
    ),
    "whole-state-kept": (
        "optimizer state for all parameters on every rank",
        "a rank updates its shard only, so that it needs the state of its shard only",
        "which elements of the momentum are ever read on this rank?",
    ),
    "whole-gradients-kept": (
        "gradients accumulated in full before one reduce-scatter",
        "that is ZeRO-1: it needs room for all n gradients on every rank",
        "what may stay on this rank after each micro-batch?",
    ),
    "whole-parameters-kept": (
        "parameters gathered once and kept for the backward pass",
        "that saves an allgather and costs the memory that ZeRO-3 is to save",
        "how many layers are whole on a rank at the same time?",
    ),
    "gathered-again": (
        "an allgather of new parameters at the end of a ZeRO-3 step",
        "the next forward pass gathers each layer anyway",
        "who needs the whole vector now?",
    ),
    "scheme-miscounted": (
        "a scheme's traffic miscounted",
        "reduce-scatter and allgather are (p-1)/p each; which of them runs once per micro-batch?",
        "list the collectives of one step, one after the other: how many are there?",
    ),
    "bucket-lost": (
        "the last bucket, which is not full, never sent",
        "layer 0 closes the last bucket, however few bytes are in it",
        "what is in the bucket when the backward pass ends?",
    ),
    "front-to-back": (
        "buckets from the first layer on",
        "the backward pass begins with the last layer: its gradient is there first",
        "which gradient is there first?",
    ),
    "no-overlap": (
        "sending only after the whole backward pass",
        "a bucket may leave as soon as its own gradients are there",
        "what is the network doing during the backward pass?",
    ),
    "two-at-a-time": (
        "two all-reduces at the same time, each at full speed",
        "there is one network: a bucket waits until the one before it is done",
        "when is the network free again?",
    ),
    "partial-sums-left": (
        "partial sums never added up",
        "each rank has the product of its own rows of B: a part of every element",
        "which collective adds and leaves the total everywhere?",
    ),
    # part H
    "rounded-at-every-hop": (
        "sums rounded to half precision at every hop",
        "each hop rounds again, so that small numbers vanish beside large sums",
        "where could sums be made in float32, of numbers that were rounded once?",
    ),
    "bits-compared": (
        "a bitwise comparison of what two algorithms give",
        "additions round: in another order the last bits of the same sum are others",
        "by how much may two right sums of these terms differ?",
    ),
    "error-of-the-terms": (
        "a tolerance that is a part of the sum, or fixed",
        "where terms cancel the sum is small; its error is still that of the terms",
        "what do |terms| add up to, and which part of that is one rounding?",
    ),
    "wrong-sum-passed": (
        "a tolerance so wide that a wrong sum passes",
        "p - 1 additions are off by p - 1 roundings at most, each 2**-24 of the terms in float32",
        "how many additions does each of the two sums take?",
    ),
    "wide-messages": (
        "messages as wide as without compression",
        "float32 numbers take twice the bytes of float16 ones",
        "which dtype has the array that is sent?",
    ),
    "different-bits": (
        "ranks that end with different bits",
        "the owner of a block kept its own, unrounded, and sent it rounded",
        "does the owner keep what it sent?",
    ),
    "no-synchronize": (
        "sending before the kernel is done",
        "a launch returns at once; MPI knows nothing of kernels and reads what is there",
        "which call waits for what was launched?",
    ),
    "device-buffer": (
        "a device array given to an MPI that cannot read it",
        "MPI would follow a pointer into memory that is not the host's, and end the program",
        "through which memory must the block go?",
    ),
}

for _id, (_mistake, _why, _hint) in _ROWS.items():
    mistake(_id, _mistake, why=_why, hint=_hint, look=head)(_never)


@mistake(
    "wrong-result", "another result than the definition gives, of what is no plain collective",
    why="what this rank gives is not what the definition says",
    hint="what does each rank hold after every call, with 2 ranks and small numbers?", look=head,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "answer" and e.is_scene
