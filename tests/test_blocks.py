import numpy as np
import pytest

from collectives.blocks import Blocks, Counts, EvenCounts, even, run_of, split


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 7, 8, 16, 17])
def test_even_cuts_like_array_split(p):
    for n in (0, 1, p - 1, p, p + 1, 2 * p, 3 * p + 1, 100):
        vector = np.arange(n)
        wanted = [part.tolist() for part in np.array_split(vector, p)]
        counts = even(n, p)
        assert [block.tolist() for block in split(vector, counts)] == wanted
        assert list(counts) == [len(part) for part in wanted]
        assert [vector[counts.where(i)].tolist() for i in range(p)] == wanted
        assert [counts.start(i) for i in range(p + 1)] == [sum(counts[:i]) for i in range(p + 1)]
        assert (len(counts), sum(counts), counts.largest) == (p, n, max(counts))


def test_even_is_indexed_like_a_list():
    counts, wanted = even(11, 4), [3, 3, 3, 2]
    for i in range(-4, 4):
        assert counts[i] == wanted[i]
    for cut in (slice(None), slice(1, 3), slice(None, None, -1), slice(-9, 9), slice(3, 1)):
        assert counts[cut] == wanted[cut]
    for i in (4, -5):
        with pytest.raises(IndexError, match=f"block {i} of 4"):
            counts[i]
    assert repr(counts) == "EvenCounts(11, 4)"


@pytest.mark.parametrize("sizes", [[3, 0, 2], (1,), [0, 0], np.array([2, 5, 1])])
def test_counts_are_taken_as_they_are(sizes):
    vector = np.arange(sum(sizes))
    wanted = [part.tolist() for part in np.split(vector, np.cumsum(sizes)[:-1])]
    blocks = split(vector, sizes)
    assert [block.tolist() for block in blocks] == wanted
    assert (len(blocks), blocks.largest) == (len(sizes), max(sizes))
    counts = Counts(sizes)
    assert [counts.start(i) for i in range(len(sizes) + 1)] == [0, *np.cumsum(sizes)]
    assert [vector[counts.where(i)].tolist() for i in range(len(sizes))] == wanted


@pytest.mark.parametrize("counts", [even(10, 4), Counts([4, 0, 5, 1])])
def test_a_slice_of_blocks_is_the_view_of_all_of_them(counts):
    vector = np.arange(10)
    blocks = split(vector, counts)
    parts = [block.tolist() for block in blocks]
    for first in (None, -9, -2, 0, 1, 4, 9):
        for stop in (None, -9, -2, 0, 1, 4, 9):
            assert blocks[first:stop].tolist() == [x for part in parts[first:stop] for x in part]
    for step in (-1, 2):
        with pytest.raises(ValueError, match=f"step {step} is not one view"):
            blocks[::step]


def test_blocks_are_views_and_count_on_round_the_ring():
    vector = np.zeros(7, int)
    blocks = Blocks(vector, even(7, 3))
    for i in range(-3, 6):
        blocks[i][...] += 1
    blocks[1:][...] += 10
    assert vector.tolist() == [3, 3, 3, 13, 13, 13, 13]


@pytest.mark.parametrize("counts", [even(0, 4), even(12, 4), even(13, 4), Counts([2, 0, 5])])
def test_a_run_goes_on_round_the_ring(counts):
    sizes = list(counts)
    for first in range(len(sizes)):
        for number in range(len(sizes) + 1):
            run = run_of(counts, first, number)
            wanted = (sizes + sizes)[first : first + number]
            assert list(run) == wanted
            assert [run.start(i) for i in range(number + 1)] == [
                sum(wanted[:i]) for i in range(number + 1)
            ]


def test_a_run_of_equal_blocks_takes_no_memory_per_block():
    assert isinstance(run_of(even(12, 4), 3, 2), EvenCounts)
