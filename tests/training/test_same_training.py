"""Trained on many ranks, simulated, the model is what one process would make of it."""

import numpy as np
import pytest

from collectives import UnsupportedError
from collectives.blocks import even
from collectives.sim import simulate
from collectives.training import (
    MLP,
    SCHEMES,
    Adam,
    DataParallel,
    ZeRO3,
    batch_of,
    dataset,
    digits,
    one_process,
    tolerance,
)
from collectives.training.model import cross_entropy, forward_backward

MODEL, STEPS, ROWS, RATE = MLP((64, 24, 15, 10)), 8, 53, 3e-3
RANKS = (1, 2, 3, 4, 8)
EVERY_LAYER = {"bucket_nbytes": 0}


def train(scheme, p, dtype=np.float64, *, micro=1, rows=ROWS, **options):
    """Return the parameters on each rank, and the loss of each step."""
    data, start = digits(dtype), MODEL.initial(dtype)

    def program(comm):
        trainer = scheme(comm, MODEL, start, rate=RATE, **options)
        losses = [
            trainer.step(batch_of(data, step, rows, rank=comm.rank, p=p, micro=micro), rows)
            for step in range(STEPS)
        ]
        return trainer.everything(), losses

    parameters, losses = zip(*simulate(program, p).results, strict=True)
    return parameters, np.sum(losses, axis=0)


def alone(dtype=np.float64, rows=ROWS):
    start = MODEL.initial(dtype)
    return one_process(MODEL, start, digits(dtype), steps=STEPS, rows=rows, rate=RATE)


@pytest.mark.parametrize("p", RANKS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("micro", [1, 3])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_same_as_one_process(scheme, micro, dtype, p):
    wanted, wanted_losses = alone(dtype)
    parameters, losses = train(scheme, p, dtype, micro=micro)
    allowed = tolerance(dtype, steps=STEPS, rate=RATE)
    assert all(np.array_equal(theirs, parameters[0]) for theirs in parameters)
    assert parameters[0].dtype == dtype
    assert np.abs(parameters[0] - wanted).max() <= allowed
    assert np.abs(losses - wanted_losses).max() <= allowed
    assert losses[-1] < losses[0] - 0.1  # it does learn


@pytest.mark.parametrize("p", RANKS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_schemes_give_the_same_bits(dtype, p):
    """The sums are the same ones, and Adam works element by element: there is no tolerance."""
    results = [train(scheme, p, dtype, **EVERY_LAYER)[0][0] for scheme in SCHEMES]
    for scheme, parameters in zip(SCHEMES, results, strict=True):
        assert np.array_equal(parameters, results[0]), scheme.name


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ranks_without_rows(scheme):
    """Three rows for five ranks: two of them have nothing to learn from, and take part."""
    wanted, wanted_losses = alone(rows=3)
    parameters, losses = train(scheme, 5, rows=3)
    allowed = tolerance(np.float64, steps=STEPS, rate=RATE)
    assert np.abs(parameters[4] - wanted).max() <= allowed
    assert np.abs(losses - wanted_losses).max() <= allowed


@pytest.mark.parametrize("scheme", SCHEMES)
def test_more_ranks_than_parameters_of_a_layer(scheme):
    model, p = MLP((2, 1, 2)), 5  # layers of 3 and 4 parameters
    start = model.initial(np.float64)
    data = np.arange(12.0).reshape(6, 2) / 7, np.eye(2)[[0, 1, 1, 0, 1, 0]]

    def program(comm):
        trainer = scheme(comm, model, start, bucket_nbytes=0)
        for step in range(4):
            trainer.step(batch_of(data, step, 6, rank=comm.rank, p=p), 6)
        return trainer.everything()

    wanted, _ = one_process(model, start, data, steps=4, rows=6)
    for parameters in simulate(program, p).results:
        assert np.abs(parameters - wanted).max() <= tolerance(np.float64, steps=4, rate=1e-3)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "names",
    [
        {"allreduce": "recursive_doubling", "reduce_scatter": "pairwise", "allgather": "bruck"},
        {"allreduce": "rabenseifner", "reduce_scatter": "butterfly", "allgather": "direct"},
    ],
)
def test_any_algorithm(scheme, names):
    parameters, _ = train(scheme, 4, **names)
    error = np.abs(parameters[0] - alone()[0]).max()
    assert error <= tolerance(np.float64, steps=STEPS, rate=RATE)


def test_what_cannot_be_is_refused():
    with pytest.raises(UnsupportedError, match="no algorithm 'rung'"):
        train(DataParallel, 2, allreduce="rung")
    with pytest.raises(ValueError, match="wants overlap=False"):
        train(DataParallel, 2, overlap=True)
    with pytest.raises(ValueError, match=r"the model wants \(2095,\)"):
        simulate(lambda comm: DataParallel(comm, MODEL, np.zeros(7)), 1)
    with pytest.raises(ValueError, match="a batch of 2000 rows, of data with 1797"):
        batch_of(digits(), 0, 2000)


def test_what_training_starts_from_is_left_alone():
    start = MODEL.initial()
    before = start.copy()
    for scheme in SCHEMES:
        simulate(lambda comm, s=scheme: s(comm, MODEL, start).step(batch_of(digits(), 0, 9), 9), 1)
    assert np.array_equal(start, before)


# ------------------------------------------------------------------ sum or mean


@pytest.mark.parametrize("p", [2, 4])
@pytest.mark.parametrize("rows", [48, 53])
def test_the_gradient_is_that_of_the_mean_over_the_whole_batch(p, rows):
    """Summing what each rank finds for the mean over its own rows would be p times too much."""
    data, start = digits(np.float64), MODEL.initial(np.float64)
    ends = np.cumsum([0, *MODEL.sizes])

    def gradient_of(x, targets, divisor):
        found = np.empty_like(start)

        def keep(layer, gradient):
            found[ends[layer] : ends[layer + 1]] = gradient

        weights = [start[ends[i] : ends[i + 1]] for i in range(3)]
        forward_backward(MODEL, x, targets, divisor, weights.__getitem__, keep)
        return found

    class BeforeTheStep(DataParallel):
        def update(self):
            self.kept = self.gradients.copy()

    def program(comm):
        trainer = BeforeTheStep(comm, MODEL, start)
        [mine] = batch_of(data, 0, rows, rank=comm.rank, p=p)
        trainer.step([mine], rows)
        return trainer.kept, gradient_of(*mine, len(mine[0]))

    results = simulate(program, p).results
    wanted = gradient_of(data[0][:rows], data[1][:rows], rows)
    assert all(np.allclose(kept, wanted, rtol=0, atol=1e-14) for kept, _ in results)
    summed = sum(own for _, own in results)
    assert np.linalg.norm(summed - p * wanted) < 0.1 * np.linalg.norm(summed)
    mean_of_means_is_right = np.allclose(summed / p, wanted, rtol=0, atol=1e-14)
    assert mean_of_means_is_right == (rows % p == 0)


# ------------------------------------------------------------------ the parts


def test_digits_are_those_of_scikit_learn():
    datasets = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn")
    theirs = datasets.load_digits()
    pixels, targets = digits(np.float64)
    rows = np.hstack([pixels * 16, targets.argmax(axis=1)[:, np.newaxis]])
    wanted = np.hstack([theirs.data, theirs.target[:, np.newaxis]])
    assert targets.sum() == len(wanted) == 1797
    assert np.array_equal(*(np.unique(table, axis=0) for table in (rows, wanted)))
    assert set(targets[:100].argmax(axis=1)) == set(range(10))  # shuffled, or nearly so by itself


def test_without_scikit_learn_one_sentence_says_what_to_install(monkeypatch):
    dataset._table.cache_clear()
    monkeypatch.setattr(dataset, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "collectives\[training\]"'):
        digits()


@pytest.mark.parametrize(("micro", "p"), [(1, 1), (3, 4), (2, 7)])
def test_every_row_of_a_batch_is_seen_once(micro, p):
    rows = np.arange(100)
    for step in (0, 3, 7, 11):  # 100 // 13 = 7 batches: from step 7 on they come again
        seen = [
            x.tolist()
            for rank in range(p)
            for x, _ in batch_of((rows, rows), step, 13, rank=rank, p=p, micro=micro)
        ]
        assert sorted(row for rows in seen for row in rows) == list(
            range(step % 7 * 13, step % 7 * 13 + 13)
        )
        assert sorted(map(len, seen)) == sorted(
            size for part in even(13, micro) for size in even(part, p)
        )


def test_gradients_are_those_of_finite_differences():
    model = MLP((5, 4, 3))
    random = np.random.default_rng(5)
    start, x = model.initial(np.float64), random.normal(size=(7, 5))
    targets = np.eye(3)[random.integers(0, 3, 7)]
    ends = np.cumsum([0, *model.sizes])
    found = np.empty_like(start)

    def loss_at(parameters, keep=lambda layer, gradient: None):
        def weights(layer):
            return parameters[ends[layer] : ends[layer + 1]]

        return forward_backward(model, x, targets, 7, weights, keep)

    def keep(layer, gradient):
        found[ends[layer] : ends[layer + 1]] = gradient

    loss_at(start, keep)
    h = 1e-6
    for i, step in enumerate(h * np.eye(start.size)):
        slope = (loss_at(start + step) - loss_at(start - step)) / (2 * h)
        assert found[i] == pytest.approx(slope, abs=1e-8), f"parameter {i}"


def test_cross_entropy_of_large_scores():
    loss, error = cross_entropy(np.array([[1e4, 0.0]]), np.array([[0.0, 1.0]]), 1)
    assert loss == 1e4
    assert error.tolist() == [[1.0, -1.0]]


def test_adam_is_the_published_one():
    """Against the formulas of the paper, one number at a time."""
    gradients = np.random.default_rng(3).normal(size=(6, 3))
    ours, theirs = np.ones(3), np.ones(3)
    adam, m, v = Adam(ours, 3, rate=0.01), np.zeros(3), np.zeros(3)
    for t, g in enumerate(gradients, start=1):
        adam.update([(ours[:1], g[:1]), (ours[1:], g[1:])])
        for i in range(3):
            m[i] = 0.9 * m[i] + 0.1 * g[i]
            v[i] = 0.999 * v[i] + 0.001 * g[i] ** 2
            theirs[i] -= 0.01 * (m[i] / (1 - 0.9**t)) / ((v[i] / (1 - 0.999**t)) ** 0.5 + 1e-8)
    assert np.allclose(ours, theirs, rtol=0, atol=1e-15)


def test_zero3_goes_layer_by_layer_whatever_the_buckets():
    trainer = simulate(lambda comm: ZeRO3(comm, MODEL, MODEL.initial()), 1).results[0]
    assert [list(bucket.layers) for bucket in trainer.buckets] == [[2], [1], [0]]
