"""The algorithms: a folder per collective, a file per algorithm, ``builtin.py`` beside them."""
