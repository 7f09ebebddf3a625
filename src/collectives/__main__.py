"""``python -m collectives`` is the same as ``collectives``."""

from collectives.cli import main

main()
