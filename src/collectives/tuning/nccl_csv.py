"""The table of NCCL's example tuner plugin: which algorithm and protocol for which size.

The plugin is in NCCL's source, ext-tuner/example; its README describes the format, one line per
rule, of which the first that fits counts::

    collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks

NCCL takes the plugin from ``NCCL_TUNER_PLUGIN`` and the plugin its table from
``NCCL_TUNER_CONFIG_FILE``.
"""

from __future__ import annotations

from collections.abc import Sequence

from collectives.tuning.choices import Choice

HEAD = "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks"

ALL = 2**64 - 1
"""The largest size there is; the plugin reads sizes as 64-bit numbers."""

KEEP = -1
"""As the number of channels: NCCL's own choice."""


def table(rules: Sequence[Choice], *, nodes: int, ranks: int, collective: str = "allreduce") -> str:
    """Return the text of a table.

    Parameters
    ----------
    rules : sequence of Choice
        Algorithms are written with their protocol, such as ``tree ll``.
    nodes, ranks : int
        For what it holds.
    collective : str
        One of allreduce, allgather, reducescatter, broadcast, reduce.

    Examples
    --------
    >>> rules = [Choice(0, "tree ll"), Choice(65536, "ring simple")]
    >>> print(table(rules, nodes=8, ranks=64))
    # collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks
    allreduce,0,65535,tree,ll,-1,8,64
    allreduce,65536,18446744073709551615,ring,simple,-1,8,64
    <BLANKLINE>
    """
    ends = [*(after.nbytes - 1 for after in rules[1:]), ALL]
    lines = []
    for rule, end in zip(rules, ends, strict=True):
        algorithm, protocol = rule.algorithm.split()
        fields = (collective, rule.nbytes, end, algorithm, protocol, KEEP, nodes, ranks)
        lines.append(",".join(map(str, fields)))
    return "\n".join([HEAD, *lines, ""])
