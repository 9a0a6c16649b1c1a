"""The counting kernel against plain loops over rows, in every method, layout, thread count and instruction set."""

import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu import cpu_levels
from profiles import examples
from tanager import Column, JointCounts, Schema, _kernels

METHODS = ["auto", "bits", "increments"]


@dataclass
class Store:
    """Empty tables of the kernel's layout, with `spare` unused slots per attribute."""

    n_values: np.ndarray
    n_classes: int
    spare: int = 0
    with_pairs: bool = True
    anchors: list = field(default_factory=list)
    family_ids: list = field(default_factory=list)

    def __post_init__(self):
        self.n_values = np.asarray(self.n_values, dtype=np.int64)
        self.n_slots = self.n_values + 1 + self.spare
        self.offsets = np.concatenate([[0], np.cumsum(self.n_slots)]).astype(np.int64)
        a, k = int(self.offsets[-1]), self.n_classes
        self.classes, self.singles = np.zeros(k), np.zeros((a, k))
        self.pairs = np.zeros((a, a, k)) if self.with_pairs else None
        self.triples = []
        for s, f in self.anchors:
            width = a - int(self.offsets[f])
            self.triples.append((s, f, np.zeros((width, width, int(self.n_slots[s]) * k))))
        self.families = [(ids, np.zeros((*(int(self.n_slots[i]) for i in ids), k))) for ids in self.family_ids]

    def empty_copy(self):
        return Store(self.n_values, self.n_classes, self.spare, self.with_pairs, self.anchors, self.family_ids)

    def tables(self):
        named = {"classes": self.classes, "singles": self.singles}
        if self.pairs is not None:
            named["pairs"] = self.pairs
        named |= {f"triples {s} {f}": cells for s, f, cells in self.triples}
        named |= {f"family {ids}": cells for ids, cells in self.families}
        return named

    def count(self, codes, labels, weights=None, **options):
        tables = self.classes, self.singles, self.pairs, self.triples, self.families
        return _kernels.count(codes, labels, weights, self.offsets, self.n_values, *tables, **options)

    def assert_equal(self, other, exact=True):
        for (name, ours), theirs in zip(self.tables().items(), other.tables().values(), strict=True):
            if exact:
                np.testing.assert_array_equal(ours, theirs, err_msg=name)
            else:
                np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12, err_msg=name)


def count_by_loops(store, codes, labels, weights=None):
    """The slow and obvious twin; whole tables are summed with np.add.at, one pair or triple of columns at a time."""
    kept = labels != np.iinfo(labels.dtype).max
    codes, labels = codes[kept], labels[kept].astype(np.int64)
    weights = np.ones(len(labels)) if weights is None else weights[kept]
    slots = codes.astype(np.int64)
    slots[codes == np.iinfo(codes.dtype).max] = -1
    slots = np.where(slots < 0, store.n_slots - 1, slots)
    where, n = slots + store.offsets[:-1], codes.shape[1]
    np.add.at(store.classes, labels, weights)
    for i in range(n):
        np.add.at(store.singles, (where[:, i], labels), weights)
    if store.pairs is not None:
        for i, j in itertools.permutations(range(n), 2):
            np.add.at(store.pairs, (where[:, i], where[:, j], labels), weights)
    for s, f, cells in store.triples:
        others = [i for i in range(f, n) if i != s]
        compound = slots[:, s] * store.n_classes + labels
        for i, j in itertools.permutations(others, 2):
            start = store.offsets[f]
            np.add.at(cells, (where[:, i] - start, where[:, j] - start, compound), weights)
    for ids, cells in store.families:
        np.add.at(cells, (*(slots[:, i] for i in ids), labels), weights)


def random_codes(rng, n_rows, n_values, missing, dtype):
    codes = np.empty((n_rows, len(n_values)), dtype=dtype)
    for i, size in enumerate(n_values):
        codes[:, i] = rng.integers(0, size, n_rows) if size else np.iinfo(dtype).max
    codes[rng.random(codes.shape) < missing] = np.iinfo(dtype).max
    return codes


def random_labels(rng, n_rows, n_classes, unlabelled, dtype):
    labels = rng.integers(0, n_classes, n_rows).astype(dtype)
    labels[rng.random(n_rows) < unlabelled] = np.iinfo(dtype).max
    return labels


def laid_out(codes, layout):
    if layout == "C":
        return np.ascontiguousarray(codes)
    if layout == "F":
        return np.asfortranarray(codes)
    if layout == "reversed":
        return np.ascontiguousarray(codes[::-1, ::-1])[::-1, ::-1]
    if layout == "wide rows":  # C-order rows inside a wider table
        return np.ascontiguousarray(np.pad(codes, ((0, 0), (1, 2))))[:, 1:-2]
    return np.repeat(np.repeat(codes, 3, axis=0), 2, axis=1)[::3, ::2]


@st.composite
def cases(draw):
    dtype = draw(st.sampled_from([np.uint8, np.uint16]))
    sizes = st.integers(1, 12) if dtype == np.uint8 else st.one_of(st.integers(1, 12), st.sampled_from([0, 255, 300]))
    n_values = draw(st.lists(sizes, min_size=1, max_size=8))
    if sum(n_values) > 400:
        n_values = n_values[:3]
    n = len(n_values)
    n_classes = draw(st.integers(1, 5))
    anchors, family_ids = [], []
    if sum(n_values) < 100:
        anchors = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=2))
        family_ids = draw(st.lists(st.lists(st.integers(0, n - 1), min_size=1, max_size=3, unique=True), max_size=2))
    store = Store(n_values, n_classes, draw(st.integers(0, 2)), draw(st.booleans()), anchors, family_ids)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.one_of(st.integers(0, 300), st.sampled_from([2000, 5000])))
    codes = random_codes(rng, n_rows, n_values, draw(st.sampled_from([0.0, 0.1, 1.0])), dtype)
    label_type = draw(st.sampled_from([np.uint8, np.uint16]))
    labels = random_labels(rng, n_rows, n_classes, draw(st.sampled_from([0.0, 0.1])), label_type)
    return store, codes, labels, rng


@examples(150)
@given(
    cases(),
    st.sampled_from(["C", "F", "reversed", "wide rows", "strided"]),
    st.sampled_from(METHODS),
    st.sampled_from(cpu_levels()),
    st.integers(1, 2),
    st.sampled_from([None, "whole", "real"]),
)
def test_every_way_of_counting_equals_plain_loops(case, layout, method, level, n_jobs, weighting):
    store, codes, labels, rng = case
    weights = None
    if weighting:
        weights = rng.integers(0, 9, len(labels)).astype(float) if weighting == "whole" else rng.random(len(labels))
    expected = store.empty_copy()
    count_by_loops(expected, codes, labels, weights)
    _kernels.set_cpu_level(level)
    options = {"n_jobs": n_jobs, "method": method}
    assert store.count(laid_out(codes, layout), labels, weights, **options) is None
    store.assert_equal(expected, exact=weighting != "real")
    assert store.count(laid_out(codes, layout), labels, weights, sign=-1, **options) is None
    for name, cells in store.tables().items():
        np.testing.assert_allclose(cells, 0.0, atol=1e-9 if weighting == "real" else 0.0, err_msg=name)


@pytest.mark.parametrize("n_rows", [511, 512, 513, 16383, 16384, 16385, 65536, 70001])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_methods_and_levels_agree_around_block_boundaries(n_rows, layout):
    rng = np.random.default_rng(n_rows)
    n_values = [2, 5, 1, 3, 2, 40]
    store = Store(n_values, 3, spare=1, anchors=[(0, 1), (1, 2)], family_ids=[[1, 3, 0], [4]])
    codes = random_codes(rng, n_rows, n_values, 0.03, np.uint8)
    codes[: n_rows // 2, 3] %= 3  # an attribute that is missing only in some blocks
    labels = random_labels(rng, n_rows, 3, 0.02, np.uint8)
    expected = store.empty_copy()
    count_by_loops(expected, codes, labels)
    for method, level, n_jobs in itertools.product(METHODS, cpu_levels(), [1, 2]):
        ours = store.empty_copy()
        _kernels.set_cpu_level(level)
        assert ours.count(laid_out(codes, layout), labels, method=method, n_jobs=n_jobs) is None
        ours.assert_equal(expected)


@pytest.mark.parametrize("n", [1, 3, 15, 16, 17, 19, 33])
@pytest.mark.parametrize("n_classes", [1, 2, 26, 300])
def test_many_columns_and_many_classes(n, n_classes):
    rng = np.random.default_rng(n)
    n_values = [2 + i % 3 for i in range(n)]
    label_type = np.uint16 if n_classes > 255 else np.uint8
    codes = random_codes(rng, 3000, n_values, 0.05, np.uint8)
    labels = random_labels(rng, 3000, n_classes, 0.0, label_type)
    store = Store(n_values, n_classes)
    expected = store.empty_copy()
    count_by_loops(expected, codes, labels)
    for method, level in itertools.product(METHODS, cpu_levels()):
        ours = store.empty_copy()
        _kernels.set_cpu_level(level)
        assert ours.count(codes, labels, method=method) is None
        ours.assert_equal(expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_two_hundred_and_fifty_five_values_fill_a_byte(weighted):
    rng = np.random.default_rng(0)
    codes = random_codes(rng, 40_000, [255, 2], 0.1, np.uint8)
    labels = random_labels(rng, 40_000, 2, 0.0, np.uint8)
    weights = np.full(40_000, 2.0) if weighted else None
    expected = Store([255, 2], 2)
    count_by_loops(expected, codes, labels, weights)
    for method in METHODS:
        ours = Store([255, 2], 2)
        assert ours.count(codes, labels, weights, method=method) is None
        ours.assert_equal(expected)


@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_wide_and_narrow_attributes_share_a_table(missing):
    n_values = [2, 90, 2, 3, 250, 2, 40, 5, 2, 12]  # here "auto" counts some pairs by bits and others by increments
    rng = np.random.default_rng(4)
    codes = random_codes(rng, 40_000, n_values, missing, np.uint8)
    labels = random_labels(rng, 40_000, 3, 0.0, np.uint8)
    store = Store(n_values, 3, anchors=[(0, 5)])
    expected = store.empty_copy()
    expected.count(codes, labels, method="increments")
    for method, level in [("auto", "plain"), ("auto", cpu_levels()[-1]), ("bits", cpu_levels()[-1])]:
        ours = store.empty_copy()
        _kernels.set_cpu_level(level)
        assert ours.count(codes, labels, method=method) is None
        ours.assert_equal(expected)


def test_all_triples_of_binary_attributes():
    rng = np.random.default_rng(3)
    n = 7
    store = Store([2] * n, 2, anchors=[(s, s + 1) for s in range(n - 2)])
    codes = random_codes(rng, 20_000, [2] * n, 0.0, np.uint8)
    labels = random_labels(rng, 20_000, 2, 0.0, np.uint8)
    expected = store.empty_copy()
    count_by_loops(expected, codes, labels)
    for method, level in itertools.product(METHODS, cpu_levels()):
        ours = store.empty_copy()
        _kernels.set_cpu_level(level)
        assert ours.count(np.asfortranarray(codes), labels, method=method) is None
        ours.assert_equal(expected)


@pytest.mark.parametrize("n_rows", [1, 40, 50_000])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_codes_that_do_not_fit_change_nothing_and_name_the_sizes_needed(n_rows, method, n_jobs, dtype):
    rng = np.random.default_rng(n_rows)
    store = Store([2, 3, 4], 2, spare=1, anchors=[(0, 1)], family_ids=[[0, 1]])
    codes = random_codes(rng, n_rows, [2, 3, 4], 0.1, dtype)
    labels = random_labels(rng, n_rows, 2, 0.0, np.uint8)
    codes[n_rows // 2, 1] = 200
    labels[-1] = 7
    np.testing.assert_array_equal(store.count(codes, labels, method=method, n_jobs=n_jobs), [2, 201, 4, 8])
    for cells in store.tables().values():
        assert not cells.any()


def test_an_unlabelled_row_may_hold_any_code():
    for n_rows in (3, 30_000):
        codes = np.zeros((n_rows, 2), dtype=np.uint8)
        labels = np.zeros(n_rows, dtype=np.uint8)
        codes[1], labels[1] = 99, 255
        store = Store([2, 2], 1)
        assert store.count(codes, labels) is None
        assert store.classes[0] == n_rows - 1


def test_counts_are_added_to_what_is_there():
    store = Store([2, 2], 1)
    codes, labels = np.zeros((20_000, 2), dtype=np.uint8), np.zeros(20_000, dtype=np.uint8)
    store.count(codes, labels)
    store.count(codes[:5], labels[:5])
    assert store.classes[0] == store.singles[0, 0] == store.pairs[0, 3, 0] == store.pairs[3, 0, 0] == 20_005


def arguments(**changes):
    store = Store([2, 3], 2)
    named = {
        "codes": np.zeros((4, 2), dtype=np.uint8),
        "labels": np.zeros(4, dtype=np.uint8),
        "weights": None,
        "offsets": store.offsets,
        "n_values": store.n_values,
        "classes": store.classes,
        "singles": store.singles,
        "pairs": store.pairs,
        "triples": [],
        "families": [],
    }
    return named | changes


def read_only(shape):
    cells = np.zeros(shape)
    cells.flags.writeable = False
    return cells


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"codes": np.zeros((4, 2))}, "codes must be uint8 or uint16"),
        ({"codes": [[0, 0]]}, "codes must be a NumPy array"),
        ({"codes": np.zeros(4, np.uint8)}, "codes must have 2 dimension"),
        ({"codes": np.zeros((4, 3), np.uint8)}, "codes has 3 columns, the counts have 2"),
        ({"labels": np.zeros(3, np.uint8)}, "labels has 3 entries, there must be one label per row: 4"),
        ({"labels": np.zeros(4, np.int64)}, "labels must be uint8 or uint16"),
        ({"labels": np.zeros((4, 1), np.uint8)}, "labels must have 1 dimension"),
        ({"weights": np.ones(3)}, "weights has 3 entries, there must be one weight per row: 4"),
        ({"weights": np.ones(4, np.float32)}, "weights must be float64"),
        ({"offsets": np.array([0, 3])}, "offsets has 2 entries"),
        ({"offsets": np.array([0, 3, 3])}, "offsets must increase"),
        ({"offsets": np.array([1, 3, 7])}, "offsets must start at 0"),
        ({"offsets": np.array([0.0, 3.0, 7.0])}, "offsets must be a 1-D int64 array"),
        ({"offsets": np.array([0, 2, 7])}, r"n_values is 2 but there are 2 slots.*attribute 0"),
        ({"n_values": np.array([-1, 3])}, "n_values must lie in 0"),
        ({"classes": np.zeros(0)}, "classes must have 1 .. 65535 entries"),
        ({"classes": np.zeros(2, np.float32)}, "classes must be float64"),
        ({"singles": np.zeros((7, 3))}, r"singles must have the shape \(7, 2\), it has \(7, 3\)"),
        ({"singles": read_only((7, 2))}, "singles must be a writable"),
        ({"pairs": np.zeros((7, 7, 2), order="F")}, "pairs must be C-contiguous"),
        ({"pairs": np.zeros((7, 6, 2))}, r"pairs must have the shape \(7, 7, 2\)"),
        ({"triples": [(2, 0, np.zeros((7, 7, 6)))]}, r"the anchor of triples\[0\] is 2"),
        ({"triples": [(0, -1, np.zeros((7, 7, 6)))]}, r"the first attribute of triples\[0\] is -1"),
        ({"triples": [(0, 1, np.zeros((7, 7, 6)))]}, r"the table of triples\[0\] must have the shape \(4, 4, 6\)"),
        ({"triples": [(0, 1)]}, r"triples\[0\] must be a tuple"),
        ({"triples": 3}, "triples must be a list"),
        ({"families": [([0, 5], np.zeros((3, 4, 2)))]}, r"an attribute of families\[0\] is 5"),
        ({"families": [([0, 0], np.zeros((3, 3, 2)))]}, "names attribute 0 twice"),
        ({"families": [([], np.zeros(2))]}, "names no attribute"),
        ({"families": [([0, 1], np.zeros((3, 3, 2)))]}, r"the table of families\[0\] must have the shape \(3, 4, 2\)"),
        ({"families": [([0.5], np.zeros((3, 2)))]}, "must be a whole number"),
        ({"sign": 2}, "sign must be 1 or -1"),
        ({"n_jobs": 0}, "n_jobs must lie in 1"),
        ({"method": "guess"}, "method must be 'auto', 'bits' or 'increments', not 'guess'"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        _kernels.count(**arguments(**changes))


def test_the_level_must_be_known():
    with pytest.raises(ValueError, match="the level must be"):
        _kernels.set_cpu_level("sse9")


@pytest.mark.parametrize("families", [[(0, 1, 2, 3)], [(0, 1, 2), (0, 1, 3), (0, 1, 2, 3), (3, 1)]], ids=str)
def test_families_that_share_columns_are_counted_over_many_blocks(families):
    """Digits are kept from one family to the next, but not from one block of rows to the next."""
    rng = np.random.default_rng(0)
    n_values, m = [2, 3, 2, 4], 150_000
    codes = np.column_stack([rng.integers(0, a, m) for a in n_values]).astype(np.uint8)
    labels = rng.integers(0, 2, m).astype(np.uint8)
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=a) for i, a in enumerate(n_values)))
    counts = JointCounts(schema, range(2), order=1, families=families).update(codes, labels)
    for family in families:
        sizes = [n_values[i] for i in family]
        cells = np.ravel_multi_index(codes[:, family].T.astype(int), sizes)
        expected = np.bincount(cells * 2 + labels, minlength=2 * int(np.prod(sizes))).reshape(*sizes, 2)
        np.testing.assert_array_equal(np.moveaxis(counts.joint(*family), 0, -1), expected)
