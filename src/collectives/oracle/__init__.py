"""How results are judged: cases with guarded buffers, and the checks that compare."""
