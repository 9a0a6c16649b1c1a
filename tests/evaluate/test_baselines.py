"""What looks at labels alone, beside plain loops; and how much of a file is done."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tanager
from tanager import AODE, DataWarning, HalfLives, NaiveBayes
from tanager.evaluate import prequential, prequential_steps
from tanager.files import open_table

LABELS = st.lists(st.sampled_from(["p", "q", "r", None]), min_size=3, max_size=40)


def by_hand(y: list[str | None], delay: int, batch: int) -> dict[str, list[bool]]:
    """Whether each row that has a label is answered rightly by the last label that has arrived, and by most of them."""
    right: dict[str, list[bool]] = {"no change": [], "majority": []}
    for r, label in enumerate(y):
        arrived = [own for own in y[: max(0, r // batch * batch - delay)] if own is not None]
        if label is None:
            continue
        arrived = arrived or [min(own for own in y if own is not None)]  # the first of the classes, which are known
        right["no change"].append(arrived[-1] == label)
        most = sorted(Counter(arrived).items(), key=lambda item: (-item[1], item[0]))
        right["majority"].append(most[0][0] == label)
    return right


@given(LABELS, st.integers(0, 5), st.integers(1, 4))
def test_baselines_are_those_of_plain_loops(y: list[str | None], delay: int, batch: int) -> None:
    if all(label is None for label in y):
        y = ["p", *y]
    X = [["a"]] * len(y)
    result = prequential(NaiveBayes(), X, np.array(y, dtype=object), delay=delay, batch=batch)
    expected = by_hand(y, delay, batch)
    for name in result.baselines:
        assert result.curve(name)[-1] == pytest.approx(np.mean(expected[name]))
        assert np.isnan(result.curve(name, "log_loss")[-1])
    last = result.curve("no change")[-1]
    kappa = result.curve("NaiveBayes", "kappa_temporal")[-1]
    if last < 1:
        assert kappa == pytest.approx((result.curve("NaiveBayes")[-1] - last) / (1 - last))
    else:
        assert np.isnan(kappa)


@given(st.lists(st.sampled_from("pqr"), min_size=20, max_size=60), st.integers(1, 25), st.integers(0, 7))
def test_steps_of_any_size_give_the_same_baselines(y: list[str], rows: int, delay: int) -> None:
    X = [[label] for label in y]
    whole = prequential(NaiveBayes(), X, y, every=7, delay=delay)
    *_, last = prequential_steps(NaiveBayes(), X, y, every=7, delay=delay, rows=rows)
    for name in whole.baselines:
        for measure in ("accuracy", "kappa", "kappa_temporal"):
            for over in ("whole", "fading", "window"):
                np.testing.assert_allclose(whole.curve(name, measure, over), last.curve(name, measure, over))


def test_a_model_of_the_same_name_stands_for_itself() -> None:
    X, y = [["a"], ["b"]] * 20, ["p", "q"] * 20
    result = prequential({"majority": AODE()}, X, y)
    assert result.baselines == ["no change"]
    assert result.curve("majority")[-1] > 0.9
    assert result.curve("no change")[-1] == 1 / 40  # the first class is the first that is known


def test_before_the_first_label_of_unknown_classes_there_is_no_answer() -> None:
    rows = [({"a": "x"}, "p")] * 10
    result = prequential(NaiveBayes(), iter(rows))
    assert result.curve("no change")[-1] == result.curve("majority")[-1] == 0.9


def test_the_picture_of_accuracy_has_the_baselines_too() -> None:
    pytest.importorskip("matplotlib")
    result = prequential(AODE(), [["a"], ["b"]] * 50, ["p", "q"] * 50, every=10)
    assert len(result.plot().axes[0].texts) == 3
    assert len(result.plot(measure="log_loss").axes[0].texts) <= 1


def test_a_cost_matrix_is_for_baselines_too() -> None:
    X, y = [["a"], ["b"]] * 20, ["p", "q"] * 20
    result = prequential(AODE(), X, y, cost_matrix=[[0, 2], [6, 0]])
    assert result.curve("no change", "cost")[-1] == pytest.approx((0 + 6 * 20 + 2 * 19) / 40)


def test_last_labels_that_are_late_ask_for_their_delay() -> None:
    X, y = [["a"], ["b"]] * 20, ["p", "q"] * 20
    with pytest.warns(DataWarning, match=r"HalfLives\(lag=1, delay=5\)"):
        prequential(HalfLives(lag=1), X, y, delay=5)
    prequential(HalfLives(lag=1, delay=5), X, y, delay=5)  # which is as it should be


def test_the_whole_file_is_not_done_while_rows_are_left(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path, n = tmp_path / "rows.csv", 50_000
    path.write_text("a,class\n" + "".join(f"v{r % 3},c{r % 2}\n" for r in range(n)))
    told: list[tuple[int, float]] = []
    prequential(
        NaiveBayes(), open_table(path), target="class", progress=lambda rows, done: told.append((rows, done or 0.0))
    )
    assert [rows for rows, _ in told][-1] == n
    for rows, done in told:
        assert done == pytest.approx(rows / n, abs=0.05)


def test_everything_of_tanager_has_the_generators_too() -> None:
    assert "generate" in tanager.__all__
    code = "from tanager import *; print(generate.sea(random_state=0).take(3)[0].shape)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "(3, 3)"
