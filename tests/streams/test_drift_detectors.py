"""Detectors: ours says what the paper says, and those of others are understood."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import DDM, OptionError
from tanager.streams.detectors import ask, check_detector

ERRORS = st.lists(st.integers(0, 1), min_size=1, max_size=120)
SETTINGS = st.fixed_dictionaries(
    {
        "warning": st.floats(0, 2),
        "drift": st.floats(2, 3),
        "min_rows": st.integers(0, 40),
        "smoothing": st.sampled_from([0.0, 0.5, 1.0]),
    }
)


def said_by_the_book(errors, warning, drift, min_rows, smoothing):
    """What DDM says after each answer, worked out anew from all answers since the last drift."""
    said, start = [], 0
    for end in range(1, len(errors) + 1):
        points = []
        for n in range(1, end - start + 1):
            p = (sum(errors[start : start + n]) + smoothing) / (n + 2 * smoothing)
            points.append((p, math.sqrt(p * (1 - p) / n)))
        points = points[min_rows:]
        if not points:
            said.append(None)
            continue
        low, spread = min(reversed(points), key=sum)  # of equal points the last
        above = sum(points[-1]) - low
        said.append("drift" if above > drift * spread else "warning" if above > warning * spread else None)
        if said[-1] == "drift":
            start = end
    return said


@given(ERRORS, SETTINGS)
def test_ddm_says_what_the_book_says(errors, settings):
    detector = DDM(**settings)
    assert [detector.update(wrong).signal for wrong in errors] == said_by_the_book(errors, **settings)


@given(st.lists(st.booleans(), min_size=1, max_size=300))
def test_ddm_without_smoothing_is_the_one_of_river(errors):
    theirs, ours = pytest.importorskip("river.drift.binary").DDM(), DDM(smoothing=0)
    for wrong in errors:
        theirs.update(wrong)
        ours.update(wrong)
        assert (ours.drift_detected, ours.warning_detected) == (theirs.drift_detected, theirs.warning_detected)


def test_the_first_error_after_many_right_answers_is_no_drift():
    assert ask(DDM(), [0] * 40 + [1]) == "warning"
    assert ask(DDM(smoothing=0), [0] * 40 + [1]) == "drift"  # as published


@given(ERRORS, ERRORS)
def test_ddm_goes_on_from_its_state(before, after):
    detector, again = DDM(min_rows=5), DDM(min_rows=5)
    ask(detector, before)
    again.take_state(detector.state())
    assert [again.update(x).signal for x in after] == [detector.update(x).signal for x in after]
    assert again.state() == detector.state()


@pytest.mark.parametrize("name", ["drift.ADWIN", "drift.PageHinkley", "drift.KSWIN", "drift.binary.DDM", "ours"])
def test_a_sudden_change_is_heard_by_every_detector(name):
    if name == "ours":
        detector = DDM()
    else:
        pytest.importorskip("river")
        module, _, kind = f"river.{name}".rpartition(".")
        options = {"seed": 1, "alpha": 0.0001, "window_size": 60} if kind == "KSWIN" else {}
        detector = getattr(pytest.importorskip(module), kind)(**options)
    check_detector(detector)
    rng = np.random.default_rng(3)
    assert ask(detector, ([0] * 9 + [1]) * 100) != "drift"
    assert ask(detector, (rng.random(500) < 0.6).astype(int).tolist()) == "drift"


def test_a_function_is_a_detector():
    assert ask(lambda wrong: "warning" if wrong else None, [0, 1, 0]) == "warning"
    assert ask(lambda wrong: "drift" if wrong else "warning", [0, 1, 0]) == "drift"
    assert ask(lambda wrong: None, [0, 1, 0]) is None


def test_what_is_no_detector_is_refused_with_the_way_out():
    with pytest.raises(OptionError, match=r"detector=DDM is a class; give one of its kind: DDM\(\)"):
        check_detector(DDM)
    with pytest.raises(OptionError, match="detector='adwin' has no update and drift_detected"):
        check_detector("adwin")
    with pytest.raises(OptionError, match=r"'drfit' is not an option; .*Did you mean 'drift'"):
        ask(lambda wrong: "drfit", [1])
    with pytest.raises(OptionError, match=r"warning=3\.0 is above drift=2\.0"):
        DDM(warning=3.0, drift=2.0)
    with pytest.raises(OptionError, match="min_rows=-1"):
        DDM(min_rows=-1)


@given(errors=ERRORS, options=SETTINGS, size=st.integers(1, 50))
def test_many_answers_at_once_are_heard_as_one_by_one(errors, options, size):
    single, many = DDM(**options), DDM(**options)
    for start in range(0, len(errors), size):
        some = [float(wrong) for wrong in errors[start : start + size]]
        said = {single.update(wrong).signal for wrong in some}
        assert many.hear(some) == ("drift" if "drift" in said else "warning" if "warning" in said else None)
        assert many.state() == single.state()
