"""Test, then train, with fading counts, rows that leave and rows that come late: as plain loops have it."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from profiles import examples
from registry import terms_of
from tanager import BackOff, BDeu, Column, JointCounts, Lidstone, MEstimate, PriorCounts, Schema
from tanager.scoring.forms import ProductOfSums, SumOfProducts
from tanager.scoring.view import View
from view_calls import leave_one_out, score
from view_calls import stream as streamed

N_VALUES = (2, 3, 2, 1)
N = len(N_VALUES)
SMOOTHINGS = [Lidstone(1.0), Lidstone(0.0), MEstimate(2.0), BDeu(3.0), PriorCounts(2.0), BackOff(1.5, first=0.7)]
NAIVE = ProductOfSums.one_each([()] * N)
FORMS = {
    "naive": NAIVE,
    "tree": ProductOfSums.one_each([(1,), (), (1,), (2,)]),
    "all before": ProductOfSums((0, 1, 1, 2, 2, 2), ((), (), (0,), (), (0,), (1,)), (1.0, 1.0, 2.0, 1.0, 1.0, 1.0)),
    "wide": ProductOfSums((0, 1, 3), ((1, 2), (3,), (0, 1, 2)), (1.0, 0.5, 1.0), class_parents=(2, 0)),
    "sum": SumOfProducts(tuple((i,) for i in range(N)), (1.0, 2.0, 1.0, 1.0), 1.0, NAIVE),
    "sum of frequent": SumOfProducts(((0,), (1,), (2,)), (1.0, 1.0, 1.0), 2.5, NAIVE),
    "one member": SumOfProducts(((1,),), (1.0,), 1.0, NAIVE),
    "sum of two": SumOfProducts(tuple(itertools.combinations(range(N), 2)), (1.0,) * 6, 1.0, NAIVE),
}


def empty(form, k, **options):
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=a) for i, a in enumerate(N_VALUES)))
    order = 3 if isinstance(form, SumOfProducts) and len(form.members[0]) == 2 else 2
    return JointCounts(schema, range(k), order=order, families=form.families(), **options)


def answer(data, x, form, smoothing):
    """The formula over the rows at hand."""
    rule = oracle.rule_of(smoothing)
    if isinstance(form, SumOfProducts):
        members = list(zip(form.members, form.weight, strict=True))
        scores = oracle.sum_of_products(data, x, members, rule, form.min_count * (1 - 1e-9))
        if scores is None or not sum(scores) > 0:
            return answer(data, x, form.otherwise, smoothing)
    else:
        scores = oracle.product_of_terms(data, x, terms_of(form), form.class_parents, rule)
    return oracle.posterior(data, scores)


def in_words(row):
    return tuple(None if v == 255 else int(v) for v in row)


def slow(form, smoothing, k, *, codes, labels, weights, answered, fade, gone):
    """Rows in a list, each with its weight: all weights fade, a row is added, the first ones leave."""
    kept, out = [], []
    for r, row in enumerate(codes):
        data = oracle.make([q[0] for q in kept], [q[1] for q in kept], [q[2] for q in kept], N_VALUES, k)
        out.append(answer(data, in_words(answered[r]), form, smoothing))
        kept = [(x, y, w * fade[r]) for x, y, w in kept]
        kept.append((in_words(row), int(labels[r]), weights[r]))
        kept = kept[gone[r] :]
    return np.array(out), kept


def random_rows(rng, m, holes):
    codes = np.stack([rng.integers(0, a, m) for a in N_VALUES], axis=1).astype(np.uint8)
    if holes:
        codes[rng.random(codes.shape) < 0.15] = 255
    return codes


@st.composite
def streams(draw):
    """Rows with and without gaps; some rows may fade, leave, weigh more or be answered later than learned."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, k = draw(st.integers(1, 40)), draw(st.sampled_from([2, 3, 5]))
    holes = draw(st.booleans())
    codes = random_rows(rng, m, holes)
    fade = rng.choice(draw(st.sampled_from([[1.0], [0.9], [1.0, 0.5, 0.99]])), m)
    size, gone, held = draw(st.sampled_from([1, 5, 1000])), [], 0
    for _ in range(m):
        held += 1
        gone.append(max(0, held - int(rng.integers(1, size + 1))) if rng.random() < 0.8 else 0)
        held -= gone[-1]
    return {
        "codes": codes,
        "labels": rng.integers(0, k, m).astype(np.uint8),
        "weights": rng.integers(1, 9, m) / 4 if draw(st.booleans()) else np.ones(m),
        "answered": random_rows(rng, m, holes) if draw(st.booleans()) else codes,
        "fade": fade,
        "gone": np.array(gone, dtype=np.int64),
    }, k


def in_blocks(view, stream, edges):
    """The stream in blocks, each with a queue of the rows that have not left yet."""
    m, k = len(stream["codes"]), view.counts.n_classes
    out, raw, front, halvings = np.empty((m, k)), np.empty(m), 0, 0
    for start, stop in itertools.pairwise(edges):
        block = {name: values[start:stop] for name, values in stream.items()}
        raw = view.counts.raw_now(raw, halvings)
        halvings = view.counts.halvings
        held = slice(front, stop)
        done = streamed(
            view,
            block["codes"],
            block["labels"],
            block["weights"],
            out[start:stop],
            answered=block["answered"],
            fade=block["fade"],
            queue=(stream["codes"][held], stream["labels"][held], raw[held]),
            gone=block["gone"],
        )
        assert done == stop - start
        assert np.isfinite(raw[held]).all()
        halvings = view.counts.halvings
        front += int(block["gone"].sum())
    return out


@pytest.mark.parametrize("name", FORMS)
@examples(15)
@given(made=streams(), smoothing=st.sampled_from(SMOOTHINGS), fast=st.booleans(), cut=st.floats(0, 1))
def test_a_stream_that_forgets_answers_as_plain_loops_do(name, made, smoothing, fast, cut):
    (stream, k), form = made, FORMS[name]
    m = len(stream["codes"])
    if smoothing == Lidstone(0.0) and (stream["fade"] != 1.0).any():
        smoothing = Lidstone(0.01)  # what rounding leaves of a total would tell 0 / 0 from 0
    expected, kept = slow(form, smoothing, k, **stream)
    counts = empty(form, k)
    view = View(counts, form, smoothing, fast=fast)
    got = in_blocks(view, stream, sorted({0, int(cut * m), m}))
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)
    rows = np.array([[255 if v is None else v for v in x] for x, _, _ in kept], dtype=np.uint8).reshape(-1, N)
    labels, weights = np.array([y for _, y, _ in kept], dtype=np.uint8), np.array([w for _, _, w in kept])
    rest = empty(form, k).update(rows, labels, weights)
    np.testing.assert_allclose(counts.class_counts, rest.class_counts, rtol=1e-9, atol=1e-12)
    assert counts == rest
    np.testing.assert_allclose(
        score(view, stream["answered"]), score(View(rest, form, smoothing), stream["answered"]), rtol=1e-8, atol=1e-10
    )


def binary(m, n=9, k=2, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, m).astype(np.uint8)
    return ((rng.random((m, n)) < 0.5) ^ (labels[:, None] % 2)).astype(np.uint8), labels


def averaged(n):
    return SumOfProducts(tuple((i,) for i in range(n)), (1.0,) * n, 1.0, ProductOfSums.one_each([()] * n))


def binary_counts(n, k=2):
    return JointCounts(Schema(tuple(Column(f"x{i}", "codes", n_codes=2) for i in range(n))), range(k))


@pytest.mark.parametrize("k", [2, 3, 4, 6])
@pytest.mark.parametrize("factor", [0.9, 0.5, 1e-30])
def test_a_long_stream_fades_through_any_unit(k, factor):
    """The unit passes the largest there is several times; each answer is that of counts that fade cell by cell."""
    codes, labels = binary(400, k=k)
    form = averaged(9)
    view = View(binary_counts(9, k), form, Lidstone(1.0))
    got = np.empty((400, k))
    assert streamed(view, codes, labels, None, got, fade=np.full(400, factor)) == 400
    eager = binary_counts(9, k)
    other = View(eager, form, Lidstone(1.0), fast=False)
    for r in range(400):
        if r % 7 == 0:
            np.testing.assert_allclose(got[r], score(other, codes[r : r + 1])[0], rtol=1e-9, atol=1e-12)
        eager.decay_classes([factor] * k).update(codes[r : r + 1], labels[r : r + 1])
    assert view.counts.halvings > 0 or factor == 0.9
    assert view.counts == eager
    np.testing.assert_allclose(score(view, codes), score(other, codes), rtol=1e-9)


def test_a_fade_that_leaves_nothing_is_no_overflow():
    codes, labels = binary(60)
    fade = np.ones(60)
    fade[[20, 21, 40]] = [1e-300, 5e-324, 1e-200]
    view = View(binary_counts(9), averaged(9), Lidstone(1.0))
    out = np.empty((60, 2))
    streamed(view, codes, labels, None, out, fade=fade)
    fresh = np.empty((20, 2))
    streamed(View(binary_counts(9), averaged(9), Lidstone(1.0)), codes[40:], labels[40:], None, fresh)
    np.testing.assert_allclose(out[41:], fresh[1:], rtol=1e-12)
    np.testing.assert_allclose(view.counts.n_rows, 20)


def window_of(size, m):
    return np.where(np.arange(m) >= size, 1, 0).astype(np.int64)


@pytest.mark.parametrize("factor", [0.5, 1e-3])
def test_rows_leave_with_their_weight_however_often_cells_were_halved(factor):
    codes, labels = binary(900)
    view = View(binary_counts(9), averaged(9), Lidstone(1.0))
    raw = np.empty(900)
    queue, fade = (codes, labels, raw), np.full(900, factor)
    streamed(view, codes, labels, None, np.empty((900, 2)), fade=fade, queue=queue, gone=window_of(3, 900))
    assert view.counts.halvings > 332
    rest = binary_counts(9).update(codes[-3:], labels[-3:], np.array([factor**2, factor, 1.0]))
    np.testing.assert_allclose(view.counts.n_rows, 1 + factor + factor**2)
    assert view.counts == rest
    np.testing.assert_allclose(raw[-3:] / view.counts.scale, [factor**2, factor, 1.0])


@pytest.mark.parametrize(
    "form", [averaged(9), ProductOfSums.one_each([()] + [(i,) for i in range(8)])], ids=["sum", "tree"]
)
def test_rows_of_weight_one_leave_without_a_trace(form):
    codes, labels = binary(500)
    view = View(binary_counts(9), form, Lidstone(1.0))
    out, raw = np.empty((500, 2)), np.empty(500)
    streamed(view, codes, labels, None, out, queue=(codes, labels, raw), gone=window_of(50, 500))
    rest = binary_counts(9).update(codes[-50:], labels[-50:])
    assert view.counts == rest
    for name, table in view.counts.to_header()[1].items():
        assert np.array_equal(table, rest.to_header()[1][name]), name


def test_weights_that_do_not_cancel_leave_no_negative_cells():
    """Nor probabilities, however small the pseudo-counts are."""
    rng = np.random.default_rng(1)
    codes, labels = binary(3000)
    view = View(binary_counts(9), averaged(9), Lidstone(1e-30))
    out, weights = np.empty((3000, 2)), rng.choice([0.1, 0.7, 1e6 / 3], 3000)
    fade = np.full(3000, 0.97)
    streamed(
        view, codes, labels, weights, out, fade=fade, queue=(codes, labels, np.empty(3000)), gone=window_of(5, 3000)
    )
    assert ((out >= 0) & (out <= 1)).all()
    assert all((table >= 0).all() for table in view.counts.to_header()[1].values())


@pytest.mark.parametrize("form", [averaged(9), ProductOfSums.one_each([()] * 9)], ids=["sum", "naive"])
def test_missing_values_may_come_and_leave_in_a_long_stream(form):
    codes, labels = binary(600)
    codes[200:210, 3] = 255
    quick, slow_ = np.empty((2, 600, 2))
    for fast, out in ((True, quick), (False, slow_)):
        view = View(binary_counts(9), form, Lidstone(1.0), fast=fast)
        for start in range(0, 600, 300):
            part, held = slice(start, start + 300), slice(max(0, start - 40), start + 300)
            raw = np.ones(held.stop - held.start)
            gone = window_of(40, 300) if start == 0 else np.ones(300, dtype=np.int64)
            streamed(
                view, codes[part], labels[part], None, out[part], queue=(codes[held], labels[held], raw), gone=gone
            )
        assert view.counts == binary_counts(9).update(codes[-40:], labels[-40:])
    np.testing.assert_allclose(quick, slow_, rtol=1e-10)


def test_an_unlabelled_row_is_answered_and_fades_what_is_there():
    codes, labels = binary(6)
    labels[3] = 255
    view = View(binary_counts(9), averaged(9), Lidstone(1.0))
    out, raw = np.empty((6, 2)), np.full(6, -1.0)
    gone = np.array([0, 0, 0, 0, 0, 4], dtype=np.int64)
    assert streamed(view, codes, labels, None, out, fade=np.full(6, 0.5), queue=(codes, labels, raw), gone=gone) == 6
    assert raw[3] == 0
    np.testing.assert_allclose(view.counts.n_rows, 1.5)
    assert np.isfinite(out).all()


def test_a_stream_stops_before_a_value_or_class_it_does_not_know():
    codes, labels = binary(20)
    for strange_codes, strange_labels in ((True, False), (False, True)):
        X, y, raw = codes.copy(), labels.copy(), np.full(20, -1.0)
        X[7, 2] = 9 if strange_codes else X[7, 2]
        y[7] = 9 if strange_labels else y[7]
        view = View(binary_counts(9), averaged(9), Lidstone(1.0))
        out = np.empty((20, 2))
        fade = np.full(20, 0.5)
        assert streamed(view, X, y, None, out, fade=fade, queue=(X, y, raw), gone=window_of(3, 20)) == 7
        assert raw.tolist() == [2.0 ** (r + 1) for r in range(7)] + [-1.0] * 13
        assert view.counts.scale == 2.0**7
        np.testing.assert_allclose(view.counts.n_rows, 1.75)


@pytest.mark.parametrize("smooth", [False, True])
def test_a_row_that_is_answered_may_hold_unseen_values(smooth):
    codes, labels = binary(30)
    odd = codes.copy()
    odd[::3, 4] = 2  # one beyond its values
    schema = binary_counts(9).schema
    view, other = (
        View(JointCounts(schema, [0, 1], spare=1), averaged(9), Lidstone(1.0), smooth_unseen=smooth) for _ in range(2)
    )
    out = np.empty((30, 2))
    assert streamed(view, codes, labels, None, out, answered=odd) == 30
    for r in range(30):
        np.testing.assert_allclose(out[r], score(other, odd[r : r + 1])[0], rtol=1e-10)
        other.counts.learn_rows(codes[r : r + 1], labels[r : r + 1])


def bad_arguments():
    codes, labels = binary(10)
    other = np.zeros((10, 8), dtype=np.uint8)
    raw, gone, one = np.ones(10), np.zeros(10, dtype=np.int64), np.ones(10)
    late = gone.copy()
    late[:2] = [0, 3]
    queue = (codes, labels, raw)
    yield "one factor", {"fade": one[:9]}, ValueError
    for value in (0.0, -1.0, np.nan, 1.5, np.inf):
        yield f"fade {value}", {"fade": np.where(np.arange(10) == 4, value, one)}, ValueError
    yield "float32", {"fade": one.astype(np.float32)}, TypeError
    yield "fade of two dimensions", {"fade": np.ones((10, 1))}, TypeError
    yield "other columns", {"answered": other}, ValueError
    yield "other rows", {"answered": codes[:9]}, ValueError
    yield "other type", {"answered": codes.astype(np.int64)}, ValueError
    yield "a queue alone", {"queue": queue}, ValueError
    yield "leaving alone", {"gone": gone}, ValueError
    yield "short queue", {"queue": (codes[:9], labels[:9], raw[:9]), "gone": gone}, ValueError
    yield "labels of the queue", {"queue": (codes, labels[:9], raw), "gone": gone}, ValueError
    yield "weights of the queue", {"queue": (codes, labels, raw[:9]), "gone": gone}, ValueError
    yield (
        "whole weights",
        {"queue": (codes, labels, np.ones(10, dtype=np.int64)), "gone": gone},
        (ValueError, TypeError),
    )
    yield "weights with gaps", {"queue": (codes, labels, np.ones(20)[::2]), "gone": gone}, (ValueError, TypeError)
    yield "columns of the queue", {"queue": (other, labels, raw), "gone": gone}, ValueError
    yield "too few numbers", {"queue": queue, "gone": gone[:9]}, ValueError
    yield "small integers", {"queue": queue, "gone": gone.astype(np.int32)}, TypeError
    yield "a negative number", {"queue": queue, "gone": gone - 1}, ValueError
    yield "leaving before it came", {"queue": queue, "gone": late}, ValueError


@pytest.mark.parametrize(("options", "error"), [pytest.param(o, e, id=name) for name, o, e in bad_arguments()])
def test_wrong_arguments_are_refused_before_anything_changes(options, error):
    codes, labels = binary(10)
    view = View(binary_counts(9), averaged(9), Lidstone(1.0))
    with pytest.raises(error):
        streamed(view, codes, labels, None, np.empty((10, 2)), **options)
    assert view.counts.n_rows == 0
    assert view.counts.scale == 1


def test_the_output_and_the_queue_are_written_in_place_or_refused():
    codes, labels = binary(10)
    view = View(binary_counts(9), averaged(9), Lidstone(1.0))
    with pytest.raises(TypeError):
        streamed(view, codes, labels, None, np.empty((10, 2), dtype=np.float32))
    raw = np.zeros(10)
    raw.flags.writeable = False
    with pytest.raises((TypeError, ValueError)):
        streamed(
            view, codes, labels, None, np.empty((10, 2)), queue=(codes, labels, raw), gone=np.zeros(10, dtype=np.int64)
        )


def test_a_unit_means_something():
    plan = View(binary_counts(9), averaged(9), Lidstone(1.0)).plan
    for unit in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="unit"):
            plan.rescale(unit)


def test_no_rows_are_a_stream_too():
    view = View(binary_counts(9), averaged(9), Lidstone(1.0))
    none, no_labels = np.empty((0, 9), dtype=np.uint8), np.empty(0, dtype=np.uint8)
    queue = (none, no_labels, np.empty(0))
    empty_ = np.empty(0)
    assert (
        streamed(view, none, no_labels, None, np.empty((0, 2)), fade=empty_, queue=queue, gone=empty_.astype(int)) == 0
    )


@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)
@pytest.mark.parametrize("name", FORMS)
def test_a_view_follows_counts_that_fade(name, smoothing):
    """As does the plan behind it; the answers are those of a view made afterwards."""
    form, rng = FORMS[name], np.random.default_rng(3)
    codes, labels = random_rows(rng, 60, True), rng.integers(0, 3, 60).astype(np.uint8)
    counts = empty(form, 3).update(codes, labels)
    view = View(counts, form, smoothing)
    score(view, codes)
    for _ in range(3):
        counts.decay(0.3).update(codes[:20], labels[:20])
        assert view.valid
        fresh = View(counts, form, smoothing)
        for r in range(10):
            np.testing.assert_allclose(view.plan.one(codes[r]), fresh.plan.one(codes[r]), rtol=1e-12)
        np.testing.assert_allclose(score(view, codes), score(fresh, codes), rtol=1e-12)
        left_out = leave_one_out(view, codes[:20], labels[:20])
        np.testing.assert_allclose(left_out, leave_one_out(fresh, codes[:20], labels[:20]), rtol=1e-12)
