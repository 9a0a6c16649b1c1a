"""Whatever Python hands over, kernels stay within their arrays: refused in a sentence, or read as missing."""

import numpy as np
import pytest

from tanager import Column, JointCounts, Lidstone, Schema, _kernels
from tanager.counts.block import Query
from tanager.scoring.forms import ProductOfSums, SumOfProducts
from tanager.scoring.view import View

N, K, A = 4, 2, 3


def counts_over(order=2, **shape):
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=A) for i in range(N)))
    return JointCounts(schema, range(K), order=order, **shape)


def rows_of(seed, m=60, dtype=np.uint8):
    rng = np.random.default_rng(seed)
    return rng.integers(0, A, (m, N)).astype(dtype), rng.integers(0, K, m).astype(np.uint8)


def learned(order=2, **shape):
    counts = counts_over(order, **shape)
    counts.update(*rows_of(0))
    return counts


def plan_over(counts):
    return _kernels.ScoringPlan(counts.store, "lidstone", 1.0)


NAIVE = ProductOfSums.one_each([()] * N)
CHAIN = ProductOfSums.one_each([(), (0,), (1,), (2,)])
AODE = SumOfProducts(tuple((i,) for i in range(N)), (1.0,) * N, 1.0, NAIVE)


def arrays_of(counts, **changes):
    width = int(counts.offsets[-1])
    named = {
        "offsets": counts.offsets,
        "n_values": counts.schema.n_values,
        "classes": np.zeros(K),
        "singles": np.zeros((width, K)),
        "pairs": np.zeros((width, width, K)),
        "triples": [],
        "families": [],
    }
    return named | changes


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"singles": np.zeros((16, K), dtype=np.float32)}, "singles must be float64"),
        ({"singles": np.zeros((15, K))}, r"singles must have the shape \(16, 2\)"),
        ({"pairs": np.zeros((16, 16, K), order="F")}, "pairs must be C-contiguous"),
        ({"pairs": np.zeros((32, 16, K))[::2]}, "pairs must be C-contiguous"),
        ({"classes": np.zeros(0)}, "classes must have 1"),
        ({"offsets": np.array([0, 4, 8, 12, 2**41])}, "below 2"),
        ({"n_values": np.array([3, 3, 3, 4])}, r"4 slots.*attribute 3"),
        ({"families": [([0, N], np.zeros((4, 4, K)))]}, "an attribute of families"),
        ({"triples": [(0, 1, np.zeros((16, 16, 8)))]}, "the table of triples"),
    ],
)
def test_a_store_takes_the_callers_own_arrays_or_none(changes, sentence):
    """A silent copy would lose what is counted, and a shape that does not fit would be read beyond its end."""
    _kernels.Store(**arrays_of(counts_over()))
    with pytest.raises(ValueError, match=sentence):
        _kernels.Store(**arrays_of(counts_over(), **changes))


def test_a_plan_answers_once_it_has_a_form():
    plan = plan_over(learned())
    rows, labels = rows_of(1)
    out = np.empty((60, K))
    for call in (
        lambda: plan.score(rows, out),
        lambda: _kernels.score_marginal(plan, rows, out),
        lambda: plan.one(rows[0]),
        lambda: _kernels.stream(plan, rows, labels, None, out),
        lambda: plan.term(0, rows, out),
        lambda: plan.parts(rows[:1], out),
        plan.compile,
        lambda: plan_over(learned()).otherwise(plan),
    ):
        with pytest.raises(ValueError, match=r"neither a product nor a sum yet|same counts"):
            call()


def test_a_form_is_set_once_and_whole():
    plan = plan_over(learned())
    CHAIN.build(plan)
    with pytest.raises(ValueError, match="already"):
        NAIVE.build(plan)
    broken = plan_over(learned(order=1))
    with pytest.raises(ValueError, match="no joint counts"):
        CHAIN.build(broken)
    with pytest.raises(ValueError, match="neither"):
        broken.one(rows_of(1)[0][0])


def test_plans_do_not_fall_back_on_each_other_in_a_circle():
    counts = learned()
    first, second = plan_over(counts), plan_over(counts)
    AODE.build(first)
    AODE.build(second)
    first.otherwise(second)
    for plan, other in ((second, first), (first, first)):
        with pytest.raises(ValueError, match="fall back on itself"):
            plan.otherwise(other)


@pytest.mark.parametrize("out", [np.empty((60, K), dtype=np.float32), np.empty((60, K), order="F")])
def test_answers_are_written_in_place_or_refused(out):
    view = View(learned(), NAIVE, Lidstone(1.0))
    rows, _ = rows_of(1)
    for call in (lambda: view.plan.score(rows, out), lambda: view.plan.compile().score(rows, out)):
        with pytest.raises(TypeError, match="incompatible"):
            call()


@pytest.mark.parametrize("form", [NAIVE, CHAIN, AODE])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_codes_beyond_the_layout_are_read_as_missing(form, dtype):
    rng = np.random.default_rng(3)
    rows = rng.integers(0, np.iinfo(dtype).max + 1, (200, N)).astype(dtype)
    rows[rng.random(rows.shape) < 0.7] = 1
    plain = np.where(rows < A, rows, np.iinfo(dtype).max).astype(dtype)
    view = View(learned(), form, Lidstone(1.0))
    for ours, theirs in ((rows, plain), (rows[::-2, ::-1][:, ::-1], plain[::-2])):
        np.testing.assert_array_equal(view.score(Query(ours)), view.score(Query(theirs)))
        np.testing.assert_array_equal(view.score(Query(ours[:3])), view.score(Query(theirs[:3])))
        resolved = np.empty(ours.shape, dtype=dtype)
        _kernels.resolve_subsumption(view.counts.store, ours, resolved, 0.0)


def test_weights_with_gaps_and_rows_in_reverse_are_read_as_they_are():
    rows, labels = rows_of(4, dtype=np.uint16)
    weights = np.random.default_rng(4).random(120)
    strided, plain = counts_over(), counts_over()
    strided.learn_rows(rows[::-1], labels[::-1], weights[::2][::-1])
    plain.learn_rows(rows[::-1].copy(), labels[::-1].copy(), weights[::2][::-1].copy())
    np.testing.assert_array_equal(strided.pairs, plain.pairs)


@pytest.mark.parametrize("fast", [True, False])
def test_a_pair_that_was_counted_as_a_family_needs_no_table_of_pairs(fast):
    families = [(i, i + 1) for i in range(N - 1)]
    lean, full = learned(order=1, families=families), learned(order=2)
    rows, _ = rows_of(5)
    expected = View(full, CHAIN, Lidstone(1.0), fast=fast).score(Query(rows[:3]))
    np.testing.assert_allclose(View(lean, CHAIN, Lidstone(1.0), fast=fast).score(Query(rows[:3])), expected, rtol=1e-12)


def test_a_row_is_learned_whole_or_not_at_all():
    counts = learned()
    before = counts.pairs.copy()
    row = np.zeros(N, dtype=np.uint8)
    for codes, label in ((row, K), (row, -1), (row + A, 0)):
        assert not counts.store.learn_one(codes, label)
        assert not counts.store.forget_one(codes, label, 1.0)
    for codes in (np.zeros(N - 1, np.uint8), np.zeros((1, N), np.uint8), np.zeros(N, np.int64)):
        with pytest.raises(ValueError, match=r"one code per column|uint8 or uint16"):
            counts.store.learn_one(codes, 0)
    np.testing.assert_array_equal(counts.pairs, before)


def test_a_row_is_judged_before_it_is_learned_or_nothing_changes():
    counts, tally = learned(order=1), np.zeros(4)
    view, codes, before = View(counts, NAIVE, Lidstone(1)), np.array([0, 1, 2, 0], dtype=np.uint8), counts.class_counts
    proba = view.plan.one(codes)
    for label in range(K):
        own = np.zeros(4)
        assert View(learned(order=1), NAIVE, Lidstone(1)).plan.learn_judged(codes, label, 2.0, own) == 2.0
        right = proba[label] >= max(proba), before[label] >= before.max()
        np.testing.assert_array_equal(own, [2.0, 2.0, *np.where(right, 2.0, 0.0)])
    assert view.plan.learn_judged(codes, 1, 2.0, tally, False) == 2.0
    np.testing.assert_array_equal(tally, [2.0, 2.0, 0.0, 0.0])
    np.testing.assert_array_equal(counts.class_counts - before, [0.0, 2.0])
    for odd, label in ((codes, K), (codes, -1), (codes + 9, 0)):
        assert view.plan.learn_judged(odd.astype(np.uint8), label, 1.0, tally) < 0
    with pytest.raises(ValueError, match="four weights"):
        view.plan.learn_judged(codes, 0, 1.0, np.zeros(3))
    for odd in (np.zeros(4, dtype=int), np.zeros(8)[::2], [0.0] * 4):
        with pytest.raises(ValueError, match="float64 array"):
            view.plan.learn_judged(codes, 0, 1.0, odd)
    other = np.zeros(4)
    assert view.plan.learn_judged(codes, 1, 0.0, other) == 0.0  # in place of the one before
    assert tally[0] == 2.0
    assert tally[0] == 2.0
    assert counts.class_counts.sum() == before.sum() + 2.0


def test_a_row_of_bytes_is_the_same_as_one_of_an_array():
    counts, twin, missing = learned(order=1), learned(order=1), 255
    plan, other = (View(own, NAIVE, Lidstone(1)).plan for own in (counts, twin))
    for codes in ([0, 1, 2, 0], [1, missing, 0, 1], [9, 0, 0, 0]):
        row, array = bytes(codes), np.array(codes, dtype=np.uint8)
        assert plan.one(row) == other.one(array)
        assert plan.one_changed(row, [plan], [plan]) == other.one_changed(array, [other], [other])
        assert counts.store.learn_one(row, 1, 2.0) == twin.store.learn_one(array, 1, 2.0) == (max(codes) != 9)
        assert plan.learn_judged(row, 0, 1.0, np.zeros(4)) == other.learn_judged(array, 0, 1.0, np.zeros(4))
        np.testing.assert_array_equal(counts.singles, twin.singles)
    assert counts.store.forget_one(bytes([0, 1, 2, 0]), 1, 2.0)
    for odd in (b"", b"\0\1\2", b"\0\1\2\0\0"):
        with pytest.raises(ValueError, match="one code per column"):
            plan.one(odd)


def test_rows_are_judged_and_learned_as_one_after_the_other():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (30, N)).astype(np.uint8)
    labels, weights = rng.integers(0, K, 30).astype(np.uint8), rng.random(30)
    for judge in (True, False):
        for own in (None, weights):
            counts, twin, tally, sums = learned(order=1), learned(order=1), np.zeros(4), np.zeros(4)
            plan, one = (View(c, NAIVE, Lidstone(1)).plan for c in (counts, twin))
            assert plan.learn_rows_judged(codes, labels, own, tally, judge) == 30
            for r in range(30):
                assert (
                    one.learn_judged(codes[r], int(labels[r]), 1.0 if own is None else own[r], sums, judge) == sums[1]
                )
            np.testing.assert_array_equal(tally, sums)
            np.testing.assert_array_equal(counts.singles, twin.singles)
    before = counts.singles.copy()
    for odd, label in ((codes[:3] + 9, labels[:3]), (codes[:3], labels[:3] * 0 + K)):
        assert plan.learn_rows_judged(odd.astype(np.uint8), label.astype(np.uint8), None, tally) == 0
    for wrong in ((codes[:, :-1], labels, None), (codes, labels[:-1], None), (codes, labels, weights[:-1])):
        with pytest.raises(ValueError, match=r"."):
            plan.learn_rows_judged(*wrong, tally)
    with pytest.raises(ValueError, match="four weights"):
        plan.learn_rows_judged(codes, labels, None, np.zeros(5))
    np.testing.assert_array_equal(counts.singles, before)
    codes[7, 0] = 99
    assert plan.learn_rows_judged(codes, labels, None, tally) == 7


def test_rows_that_lazy_rules_follow_are_of_known_classes_and_whole_weights():
    codes, labels = rows_of(0)
    rules = _kernels.LazyRules(codes, labels, None, [A] * N, K, "lidstone", 1.0, -1.0, 0.05, 5.0, None, 1e6)
    with pytest.raises(ValueError, match="none of the classes"):
        rules.append(codes[:1], np.array([K], dtype=np.uint8), None)
    assert not rules.append(codes[:1], labels[:1], np.array([0.5]))
    assert rules.append(codes[:2], np.array([255, 0], dtype=np.uint8), None)  # the first has no label
    values = codes[1].astype(int).tolist()
    assert rules.passing_since(values, 0).tolist() == [61]
    assert rules.weights.sum() == 61.0


def test_members_have_as_many_super_parents_as_kernels_can_read():
    plan = plan_over(learned(order=3))
    with pytest.raises(ValueError, match="one to seven super-parents"):
        plan.sum([[]], [1.0], 1.0)
    with pytest.raises(ValueError, match="no joint counts"):
        plan_over(learned(order=2)).sum([[0, 1, 2]], [1.0], 1.0)
    with pytest.raises(ValueError, match="twice"):
        plan.sum([[0, 1, 1]], [1.0], 1.0)


def test_staged_members_have_two_super_parents_at_most():
    counts = learned(order=3, families=[(0, 1, 2, 3)])
    wide, naive, few = plan_over(counts), plan_over(counts), plan_over(counts)
    wide.sum([[0, 1, 2]], [1.0], 1.0)
    NAIVE.build(naive)
    few.sum([[0, 1]], [1.0], 1.0)
    with pytest.raises(ValueError, match="one or two super-parents"):
        wide.staged(naive, "joint", -1, 1.0)
    few.staged(naive, "joint", -1, 1.0)
    with pytest.raises(ValueError, match="one or two super-parents"):
        few.otherwise(wide)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"log_weights": np.zeros((N, N - 1))}, "log_weights must have the shape"),
        ({"log_weights": np.full((N, N), np.nan)}, "log_weights must be finite"),
        ({"log_weights": np.zeros((N, N), dtype=np.float32)}, "log_weights must be float64"),
        ({"codes": np.zeros((2, N - 1), np.uint8)}, "columns"),
        ({"out": np.zeros((3, K))}, "the output must have"),
        ({"ess": 0.0}, "sample size must be positive"),
        ({"unit": -1.0}, "unit must be positive"),
        ({"most_range": 0.0}, "range must be positive"),
        ({"smooth_unseen": True}, "spare slot"),
        ({"labels": np.zeros(1, np.uint8)}, "label"),
        ({"store": counts_over(order=1).store}, "needs pair counts"),
    ],
)
def test_sums_over_trees_take_what_fits(changes, sentence):
    counts = learned()
    rows = np.array([[0, 1, 2, 0], [255, 254, 1, 2]], np.uint8)  # a code beyond the values is missing
    named = {"store": counts.store, "log_weights": np.zeros((N, N)), "codes": rows, "out": np.empty((2, K)), "ess": 1.0}
    _kernels.tree_sums(**named)
    assert np.isfinite(named["out"]).all()
    _kernels.tree_sums(**named, labels=np.array([7, 255], np.uint8))  # no class: nothing is left out
    with pytest.raises(ValueError, match=sentence):
        _kernels.tree_sums(**(named | changes))


def test_steps_of_a_sum_over_trees_are_of_one_row_and_class():
    counts = learned()
    named = {"log_weights": np.zeros((N, N)), "codes": np.zeros((1, N), np.uint8), "c": 0, "ess": 1.0}
    named |= {"log_sum": np.empty((1, N)), "shares": np.empty((N, N))}
    _kernels.tree_steps(counts.store, **named)
    for changes in ({"codes": np.zeros((2, N), np.uint8)}, {"c": K}, {"c": -1}, {"shares": np.empty((N, K))}):
        with pytest.raises(ValueError, match=r"one row|no such class|output must have"):
            _kernels.tree_steps(counts.store, **(named | changes))
    with pytest.raises(ValueError, match="the output must have"):
        _kernels.tree_weights(counts.store, np.empty((N, K)), 1.0)


def watched(counts, codes, **changes):
    """Arguments of run_blocks for one model that answers and learns rows of these codes."""
    view = View(counts, NAIVE, Lidstone(1.0))
    share = (0.99, 0.0, 0.0)
    model = (view.plan, codes, counts.scale, False, True, share, share)
    given = {
        "labels": np.zeros(len(codes), dtype=np.uint8),
        "out": np.empty((len(codes), K)),
        "every": 8,
        "tie": 1e-9,
        "models": [model],
        "duel": (share, share),
        "clear": 2.0,
        "options": (2.0, 3.0, 30.0, 1.0),
        "before": (0, 0.0, np.nan, np.nan, 0),
        "quiet_signal": 0,
        "n_rows_left": -1,
    }
    return given | changes


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"every": 0}, "a block has one row at least"),
        ({"models": []}, "one model answers"),
        ({"labels": np.zeros(23, dtype=np.uint8)}, "codes of every model for each row|one label"),
        ({"out": np.empty((23, K))}, "the output must have one row per row"),
        ({"out": np.empty((24, K + 1))}, "the output must have one row per row"),
    ],
)
def test_watched_blocks_take_what_fits(changes, sentence):
    counts = learned()
    codes, _ = rows_of(3, m=24)
    before = counts.singles.copy()
    with pytest.raises(ValueError, match=sentence):
        _kernels.run_blocks(**watched(counts, codes, **changes))
    np.testing.assert_array_equal(counts.singles, before)


def test_watched_blocks_need_a_plan_with_a_form():
    counts = learned()
    codes, _ = rows_of(3, m=24)
    share = (0.99, 0.0, 0.0)
    for plan, error in ((plan_over(counts), ValueError), (object(), RuntimeError)):
        with pytest.raises((error, TypeError)):
            _kernels.run_blocks(**watched(counts, codes, models=[(plan, codes, 1.0, False, True, share, share)]))


def test_watched_blocks_end_before_one_with_something_unknown():
    codes, _ = rows_of(3, m=40)
    for row, column, code in ((20, 2, A), (20, 2, 254)):
        counts, strange = learned(), codes.copy()
        strange[row, column] = code
        went, *_ = _kernels.run_blocks(**watched(counts, strange))
        assert went == 16
        assert counts.n_rows == 60 + 16
    counts, labels = learned(), np.zeros(40, dtype=np.uint8)
    labels[33] = K
    went, *_ = _kernels.run_blocks(**watched(counts, codes, labels=labels))
    assert went == 32
    went, *_ = _kernels.run_blocks(**watched(learned(), codes, every=2**62))
    assert went == 0
