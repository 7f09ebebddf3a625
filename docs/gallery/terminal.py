"""
Tables for the terminal
=======================

What ``collectives trace`` prints, from the same recordings.
"""

# sphinx_gallery_thumbnail_path = '_static/terminal.svg'

from collectives import find
from collectives.draw import text
from collectives.draw.steps import contribution_table
from collectives.recorder import record

run = record(find("reduce", "binomial"), 6)

# %%
# Who is in each block after every step, an asterisk where that has just changed, and what is sent:

print(*contribution_table(run), sep="\n")

# %%
# Messages in order, with the line of code that sent each:

print(*text.message_list(run), sep="\n")

# %%
# Messages and bytes of each rank, and who waited for whom:

print(*text.bytes_per_rank(run), "", *text.waits_table(run), sep="\n")
