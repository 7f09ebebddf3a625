"""
Perfetto
========

A trace for the viewer that profilers of GPUs and browsers use: open the file at
`ui.perfetto.dev <https://ui.perfetto.dev>`_ or in ``chrome://tracing``.
"""

# sphinx_gallery_thumbnail_path = '_static/perfetto.svg'

from collectives import find
from collectives.draw import perfetto
from collectives.recorder import record

# %%
# It has a track per rank, a slice per call, and an arrow per message.

run = record(find("allreduce", "ring"), 8)
perfetto.save("perfetto.json", run)

# %%
# How many slices there are of each kind:

names = [event["name"] for event in perfetto.trace(run)["traceEvents"] if event["ph"] == "X"]
print({name: names.count(name) for name in sorted(set(names))})
