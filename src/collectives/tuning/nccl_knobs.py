"""NCCL's environment variables that matter on several nodes: what they do and when to touch them.

Defaults and values are those of NCCL 2.30.7's user guide (docs/userguide/source/env.rst).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Knob:
    """One variable, or a family of them.

    Attributes
    ----------
    name : str
        Without ``NCCL_``; several are separated by commas.
    meaning, default, accepted : str
        As in the user guide, in fewer words.
    when : str
        When to touch it.
    """

    name: str
    meaning: str
    default: str
    accepted: str
    when: str


KNOBS = (
    Knob(
        "DEBUG, DEBUG_SUBSYS",
        "what is logged, and of which parts",
        "off; INIT,BOOTSTRAP,ENV",
        "VERSION, WARN, INFO, TRACE; INIT, NET, GRAPH, TUNING, COLL, ... ALL, ^ excludes",
        "First. INFO with INIT,GRAPH,TUNING says which cards, channels, algorithm and protocol.",
    ),
    Knob(
        "ALGO",
        "which algorithms may be chosen",
        "all",
        "Ring, Tree, CollnetChain, CollnetDirect, NVLS, NVLSTree, PAT; ^ inverts; "
        "2.24 and later: allreduce:tree;allgather:ring",
        "To compare, one run each. Not in production: it holds for all sizes.",
    ),
    Knob(
        "PROTO",
        "which protocols may be chosen",
        "LL, LL128, Simple; no LL128 where it is not safe",
        "LL, LL128, Simple; as ALGO",
        "To compare. Never force LL128 on: where NCCL does not offer it, it may corrupt data.",
    ),
    Knob(
        "MIN_NCHANNELS, MAX_NCHANNELS, MIN_CTAS, MAX_CTAS",
        "bounds on channels: rings or trees at the same time, a block of threads on the GPU each",
        "unset: NCCL searches, see M22 of lessons/misconceptions.py",
        "1 to 64 (32 before 2.25); from 2.17 on the CTA names take the place of the others",
        "When the log shows fewer channels than cards; or to leave the GPU more room to compute.",
    ),
    Knob(
        "IB_HCA",
        "which InfiniBand or RoCE adapters",
        "all that are found",
        "a list such as mlx5_0,mlx5_1:1; ^ excludes, = takes names as they are; at most 32",
        "When cards for storage or management are taken too, or the log misses some.",
    ),
    Knob(
        "SOCKET_IFNAME",
        "which IP interfaces, for starting up and for TCP",
        "automatic: ib first, docker and lo last",
        "prefixes such as eth,ib; ^ excludes, = takes names as they are",
        "When start-up hangs, or goes over an interface that others cannot reach.",
    ),
    Knob(
        "CROSS_NIC",
        "may a ring or tree enter a node by one card and leave it by another rail's",
        "2: only if it is better",
        "0 never, 1 yes, 2 prefer the same",
        "0 where each rail has a switch of its own and rails meet only further up.",
    ),
    Knob(
        "IB_QPS_PER_CONNECTION",
        "queue pairs of a connection, on which its messages are spread",
        "1",
        "1 to 128",
        "2 or 4 where switches choose paths by hash (RoCE), so that flows do not share one.",
    ),
    Knob(
        "NET_GDR_LEVEL",
        "how far apart GPU and card may be for the card to read the GPU's memory directly",
        "automatic",
        "LOC, PIX, PXB, PHB, SYS: from never to across CPUs",
        "When the log says GDR 0 although the topology is known to be good.",
    ),
    Knob(
        "BUFFSIZE",
        "bytes of the buffer between two GPUs; a ring's chunk is half of it (Simple)",
        "4194304",
        "bytes",
        "Rarely: smaller for many channels on little memory, larger for long fat links.",
    ),
    Knob(
        "NTHREADS",
        "threads of a channel's block",
        "512 (256 on some older GPUs)",
        "64, 128, 256, 512",
        "Rarely: fewer leave more of the GPU to compute.",
    ),
    Knob(
        "P2P_DISABLE, P2P_LEVEL, SHM_DISABLE",
        "no direct access between GPUs of a node, or only so near; no shared memory",
        "off, automatic, off",
        "1; LOC, NVL, PIX, PXB, PHB, SYS; 1",
        "Only to find a fault, as where virtual machines break peer access. It costs NVLink.",
    ),
    Knob(
        "NVLS_ENABLE",
        "let the NVSwitch add and multiply copies (Hopper and later)",
        "2: where there is one",
        "0, 1, 2",
        "0 to compare, or for the same bits in each run.",
    ),
)
"""In the order in which to look at them."""

SOURCE = "NCCL 2.30.7, docs/userguide/source/env.rst"
