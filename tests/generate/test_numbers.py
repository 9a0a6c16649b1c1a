"""Streams of numbers, and those with rules: row by row what their papers say."""

import numpy as np
import pytest
from test_streams import agree

from tanager import DataError, OptionError, generate
from tanager.generate.sources import bounce

MEANS = [[[0.0, 0.0], [4.0, 1.0]], [[1.0, 2.0]]]
SPREADS = [[1.0, [0.5, 2.0]], [1.5]]


def density(x, mean, spread):
    return np.exp(-0.5 * ((x - mean) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))


def plain_clusters(row, clusters, noise, columns):
    """P(class | row) for two classes; `clusters` are (class, weight, means, spreads)."""
    total = np.zeros(2)
    for label, weight, means, spreads in clusters:
        for x, mean, spread, column in zip(row, means, spreads, columns, strict=True):
            if not np.isnan(x):
                flat = (column.low <= x <= column.high) / (column.high - column.low)
                weight *= (1 - noise) * density(x, mean, spread) + noise * flat
        total[label] += weight
    return total / total.sum()


# --- clusters ---------------------------------------------------------------------------------------------------


def test_clusters_have_the_means_spreads_and_shares_they_were_given():
    X, y = generate.gaussians(means=MEANS, spread=0.1, prior=[0.3, 0.7]).take(100_000)
    assert agree((y == 0).mean(), 0.3, len(y))
    nearest = np.abs(X[:, None, :] - np.concatenate(MEANS)).sum(axis=2).argmin(axis=1)
    assert agree(np.bincount(nearest) / len(y), [0.15, 0.15, 0.7], len(y))
    for c, mean in enumerate(np.concatenate(MEANS)):
        own = X[nearest == c]
        assert (np.abs(own.mean(axis=0) - mean) < 5 * 0.1 / np.sqrt(len(own))).all()
        np.testing.assert_allclose(own.std(axis=0), 0.1, rtol=0.05)
    np.testing.assert_array_equal(y == 1, nearest == 2)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_posterior_of_clusters_is_that_of_their_densities(noise):
    stream = generate.gaussians(means=MEANS, spread=SPREADS).missing(0.2).noise(noise)
    clusters = [(0, 0.25, (0, 0), (1, 1)), (0, 0.25, (4, 1), (0.5, 2)), (1, 0.5, (1, 2), (1.5, 1.5))]
    X, _ = stream.take(50)
    expected = [plain_clusters(row, clusters, noise, stream.columns) for row in X]
    np.testing.assert_allclose(stream.posterior(X), expected, rtol=1e-9)


def test_centres_move_with_constant_speed_and_turn_back_at_the_walls():
    source = generate.moving_gaussians(speed=0.01, n_columns=3, random_state=2).source.source
    rows = np.arange(20_000)
    for c in range(2):
        centres = np.stack([source.centres(c, i, rows) for i in range(3)], axis=1)
        assert centres.min() >= 0
        assert centres.max() <= 10
        steps = np.linalg.norm(np.diff(centres, axis=0), axis=1)
        np.testing.assert_allclose(np.median(steps), 0.01)
        assert (steps <= 0.01 + 1e-9).all()


def test_rows_of_moving_clusters_are_around_their_centres():
    stream = generate.moving_gaussians(speed=1e-4, random_state=1)
    X, y = stream.take(1000, 500_000)
    rows = np.arange(500_000, 501_000)
    source = stream.source.source
    away = np.stack([X[:, i] - source.centres(y, i, rows) for i in range(4)], axis=1)
    assert np.abs(away.mean(axis=0)).max() < 0.2
    np.testing.assert_allclose(away.std(axis=0), 1, rtol=0.1)
    shares = stream.posterior(X, 500_000)
    assert (shares.argmax(axis=1) == y).mean() > 0.9


@pytest.mark.parametrize(("position", "expected"), [(3, 3), (12, 8), (-2, 2), (23, 3), (10, 10), (-10, 10)])
def test_things_turn_back_at_walls(position, expected):
    assert bounce(np.array(position), 0, 10) == expected


def test_no_column_of_xor_tells_the_class_alone():
    stream = generate.xor(spread=0.3)
    X, y = stream.take(20_000)
    for i in range(2):
        assert abs(X[y == 0, i].mean() - X[y == 1, i].mean()) < 0.06
    assert ((X[:, 0] * X[:, 1] < 0) == y).mean() > 0.99
    assert stream.accuracy() > 0.99


@pytest.mark.parametrize(("error", "n_columns"), [(0.2, 2), (0.05, 1), (0.4, 5)])
def test_classes_overlap_as_much_as_they_should(error, n_columns):
    stream = generate.overlap(error, n_columns)
    assert abs(stream.accuracy() - (1 - error)) < 0.005
    X, y = stream.take(50_000)
    assert agree((stream.posterior(X).argmax(axis=1) == y).mean(), 1 - error, len(y))


def test_noise_irrelevant_columns_and_gaps_of_numbers():
    stream = generate.gaussians(n_columns=2, random_state=1)
    X, _ = stream.take(50_000)
    noisy, _ = stream.noise(0.1, flip=True).take(50_000)
    assert agree((noisy != X).mean(axis=0), [0.1, 0.1], len(X))
    column = stream.columns[0]
    new = noisy[noisy[:, 0] != X[:, 0], 0]
    assert column.low <= new.min()
    assert new.max() <= column.high
    assert abs(new.mean() - (column.low + column.high) / 2) < 5 * (column.high - column.low) / np.sqrt(12 * len(new))
    wide, _ = stream.irrelevant(1).missing(0.1).take(50_000)
    assert agree(np.isnan(wide).mean(axis=0), [0.1] * 3, len(X))
    assert stream.irrelevant(2).names == ("x1", "x2", "irrelevant1", "irrelevant2")


# --- rules ------------------------------------------------------------------------------------------------------


def test_sea_follows_its_thresholds_row_by_row():
    X, y = generate.sea(every=1000, class_noise=0).take(9000)
    for r in range(9000):
        assert y[r] == (X[r, 0] + X[r, 1] <= (8, 9, 7, 9.5)[r // 1000 % 4])
    assert 0 <= X.min() < 0.01
    assert 9.99 < X.max() <= 10


def test_a_tenth_of_the_labels_of_sea_are_wrong():
    X, y = generate.sea(8).take(50_000)
    assert agree((y != (X[:, 0] + X[:, 1] <= 8)).mean(), 0.1, len(y))
    assert generate.sea(8).accuracy(1000) == pytest.approx(0.9)


@pytest.mark.parametrize("threshold", [4, 10, 15])
def test_shares_of_the_classes_of_sea_are_known(threshold):
    stream = generate.sea(threshold, class_noise=0)
    _, y = stream.take(50_000)
    assert agree(y.mean(), stream.source.prior(np.arange(1))[0, 1], len(y))
    assert agree(stream.imbalanced([0.8, 0.2]).take(50_000)[1].mean(), 0.2, 50_000)


def test_a_hyperplane_turns_row_by_row():
    stream = generate.hyperplane(4, change=0.001, n_changing=2, random_state=3)
    source = stream.source.source
    X, y = stream.take(3000)
    for r in range(0, 3000, 7):
        where = source.weights + source.velocities * r
        weights = np.array([1 - abs(1 - w % 2) for w in where])  # between 0 and 1, and back
        assert y[r] == (weights @ X[r] > weights.sum() / 2)
    assert (np.abs(source.velocities) == [0.001, 0.001, 0, 0]).all()
    assert abs(y.mean() - 0.5) < 0.05
    assert stream.accuracy(3000) == 1


def test_a_hyperplane_may_stand_still():
    source = generate.hyperplane(change=0).source.source
    assert source.text == "hyperplane"
    assert not source.velocities.any()


def test_stagger_follows_its_concepts_row_by_row():
    rows = generate.stagger(every=300)
    concepts = [
        lambda size, colour, shape: size == "small" and colour == "red",
        lambda size, colour, shape: colour == "green" or shape == "circle",
        lambda size, colour, shape: size in ("medium", "large"),
    ]
    seen = set()
    for r, (row, label) in zip(range(2000), rows, strict=False):
        assert label == concepts[r // 300 % 3](**row)
        seen.add(tuple(row.values()))
    assert len(seen) == 27


def test_missing_cells_of_stagger_leave_the_rest_to_chance():
    stream = generate.stagger(3).missing(0.5)
    X, _ = stream.take(200)
    shares = stream.posterior(X)
    known = X[:, 0] != 255
    np.testing.assert_allclose(shares[known, 1], X[known, 0] > 0)
    np.testing.assert_allclose(shares[~known, 1], 2 / 3)


def test_seven_segments_have_the_accuracy_that_the_book_says():
    """Breiman et al.: the best possible error is 26 % with 10 % noise; 17 irrelevant columns do not change that."""
    assert abs(generate.led().accuracy() - 0.74) < 0.005
    assert abs(generate.led().irrelevant(17).accuracy() - 0.74) < 0.005
    assert generate.led(0).accuracy() == 1


@pytest.mark.parametrize(
    "make",
    [
        generate.gaussians,
        generate.moving_gaussians,
        generate.xor,
        generate.overlap,
        generate.sea,
        generate.hyperplane,
        generate.stagger,
        generate.led,
    ],
)
def test_the_same_seed_gives_the_same_rows(make):
    first, second = (make(random_state=4).noise(0.1).missing(0.1).take(2000) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert not np.array_equal(first[0], make(random_state=5).noise(0.1).missing(0.1).take(2000)[0])


# --- mistakes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: generate.gaussians(means=[[0, 0], [1]]), "for each class, a centre or a list of centres"),
        (lambda: generate.gaussians(means=[["a", "b"]]), "for each class, a centre"),
        (lambda: generate.gaussians(spread=0), "spread=0 is not an option; give a number above 0"),
        (lambda: generate.gaussians(means=MEANS, spread=[[1], [1]]), "for each class a list with one per cluster"),
        (lambda: generate.gaussians(n_classes=20, n_clusters=20), "there are 400 clusters; at most 254"),
        (lambda: generate.moving_gaussians(speed=-1), "speed=-1 is not an option"),
        (lambda: generate.overlap(0.5), "give a number above 0 and below 0.5"),
        (lambda: generate.overlap(20), r"For 20 % write 0.2\."),
        (lambda: generate.sea(thresholds=(8, 25)), "give one or more numbers above 0 and below 20"),
        (lambda: generate.sea(every=0), "every=0 is not an option"),
        (lambda: generate.stagger(4), "give one or more of 1, 2 and 3"),
        (lambda: generate.hyperplane(3, n_changing=4), "at least 0 and at most 3"),
        (lambda: generate.led(noise=10), "noise=10 is not an option"),
    ],
)
def test_a_mistake_gets_one_sentence(call, sentence):
    with pytest.raises(OptionError, match=sentence):
        call()


def test_a_class_that_hardly_comes_cannot_be_made_common():
    with pytest.raises(DataError, match=r"class 1 has a share of 5e-05 in the model, too small to be raised to 50 %"):
        generate.sea(0.1, class_noise=0).imbalanced([0.5, 0.5]).take(10)
