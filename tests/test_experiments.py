"""The pages of the experiments show what their results say, and the scripts run."""

import importlib
import os
import re
from types import SimpleNamespace

import numpy as np
import pytest
from experiments.common import HOME, Given, fill, judged, read_csv, steps

from tanager.datasets import available
from tanager.evaluate import Results, Table

# Of the work in a quick run.
PARTS = {"bouckaert_uci": 20, "cheng_greiner": 40, "friedman": 10, "webb_anytime": 40, "webb_uci": 20}
NAMES = list(PARTS)
ONE = [pytest.param(name, marks=[] if name == "bouckaert_uci" else pytest.mark.long) for name in NAMES]
PAGES = [*NAMES, "back_off", "bins", "bouckaert_streams", "growth", "klawonn_angelov", "real_streams", "stream_bins"]
PAGES += ["structures"]
MARKER = r"<!-- table: ([\w-]+) -->"


def part(name, module):
    return importlib.import_module(f"experiments.{name}.{module}")


def page_of(name):
    return (HOME / name / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_of_a_page_agree_with_its_results(name):
    text = page_of(name)
    tables = part(name, "page").tables(HOME / name)
    assert set(re.findall(MARKER, text)) == set(tables)
    assert fill(text, tables) == text


@pytest.mark.parametrize("name", PAGES)
def test_the_pictures_of_a_page_are_there_and_small(name):
    shown = re.findall(r"\]\(([\w-]+\.png)\)", page_of(name))
    assert {path.name for path in (HOME / name).glob("*.png")} == set(shown)
    assert all((HOME / name / picture).stat().st_size < 150_000 for picture in shown)


@pytest.mark.parametrize("name", ONE)
def test_an_experiment_runs_and_finds_finished_folds_again(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="the experiments draw, which needs the extra 'plot'")
    monkeypatch.delenv("TANAGER_DATA", raising=False)
    options = ["--quick", "--sets", "iris", "wine", "--jobs", "1", "--out", str(tmp_path)]
    options += ["--ledger", str(tmp_path / "ledger.jsonl")]
    main = part(name, "__main__").main
    assert main(options) == 0
    results = (tmp_path / "results.csv").read_text()
    start, end = f"0 of {PARTS[name]},", f"{PARTS[name]} of {PARTS[name]},"
    assert start in capsys.readouterr().err.replace(end, "")
    assert main(options) == 0
    assert (tmp_path / "results.csv").read_text() == results
    assert start not in capsys.readouterr().err.replace(end, "")
    assert "| iris |" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_data_sets_of_an_experiment_can_be_had(name):
    if not os.environ.get("TANAGER_DATA"):
        pytest.skip("TANAGER_DATA names no folder with data sets")
    sets = part(name, "run").SETS
    known = {entry.name for entry in available()}
    assert set(sets.values() if isinstance(sets, dict) else sets) <= known


def test_an_empty_cell_that_carries_meaning_becomes_a_value():
    if not os.environ.get("TANAGER_DATA"):
        pytest.skip("TANAGER_DATA names no folder with data sets")
    data = part("webb_uci", "run").dataset("vote")
    assert all(column.null_count == 0 for column in data.X.columns)
    assert set(data.X[0].to_pylist()) == {"y", "n", "empty"}


@pytest.mark.long
def test_the_study_of_structures_runs_and_its_figures_are_those_of_the_guide(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the experiments draw, which needs the extra 'plot'")
    assert part("structures", "__main__").main(["--quick", "--out", str(tmp_path)]) == 0
    assert "HillClimb, tabu" in capsys.readouterr().out
    assert (tmp_path / "found.png").exists()
    guide = part("structures", "__main__").GUIDE.read_text(encoding="utf-8")
    assert fill(guide, {"found": part("structures", "page").summary(HOME / "structures")}) == guide


@pytest.mark.long
def test_the_study_of_structures_finds_the_same_again():
    run = part("structures", "run")
    found, _ = run.results(1, [1000], lambda done, total, what: None)
    said = read_csv(HOME / "structures" / "results.csv")[: len(found.rows)]
    assert [line["learner"] for line in said] == [row[4] for row in found.rows]
    assert [line["f1"] for line in said if line["n_rows"] == 1000] == pytest.approx([row[8] for row in found.rows])


@pytest.mark.long
def test_trees_are_set_beside_votes():
    lines = part("bouckaert_streams", "trees").lines("TAN", 4000)
    assert [line[1] for line in lines] == ["best", *part("bouckaert_streams", "trees").classifiers()]
    assert all(0.5 < line[2] <= lines[0][2] + 0.01 for line in lines)


@pytest.mark.long
def test_the_study_of_streams_runs(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the experiments draw, which needs the extra 'plot'")
    assert part("bouckaert_streams", "__main__").main(["--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "30 of 30" in told.err
    assert "4 of 4" in told.err
    assert " 138,000  966,000 " in told.out
    lines = read_csv(tmp_path / "results.csv")
    assert sum(line["asked"] for line in lines) == 138_000
    assert all(0 <= line[name] <= line["asked"] for line in lines for name in ("NB", "TC", "best"))
    assert (tmp_path / "curves.png").exists()


@pytest.mark.parametrize("stream", ["plain", "irrelevant", "noise", "missing"])
@pytest.mark.parametrize("source", ["TAN", "BAN"])
def test_the_best_answers_to_a_stream_are_those_of_its_model(source, stream):
    rows = part("bouckaert_streams", "sources").Rows(source, 3, stream)
    codes, _ = rows.stream.take(300)
    joint = rows.best.weigh(codes[:, :19])
    np.testing.assert_allclose(joint / joint.sum(axis=1, keepdims=True), rows.stream.posterior(codes), rtol=1e-9)


def test_columns_in_front_are_the_irrelevant_ones():
    Rows = part("bouckaert_streams", "sources").Rows
    behind, in_front = Rows("TAN", 3, "irrelevant"), Rows("TAN", 3, "irrelevant, in front")
    (codes, labels), (moved, same) = next(behind.chunks(50, 50)), next(in_front.chunks(50, 50))
    places = [behind.names.index(name) for name in in_front.names]
    assert in_front.names[:10] == behind.names[19:]
    np.testing.assert_array_equal(moved, codes[:, places])
    np.testing.assert_array_equal(same, labels)
    np.testing.assert_array_equal(behind.best_answers(codes), in_front.best_answers(moved))


def test_pieces_of_a_stream_end_at_the_checkpoints_and_hold_all_rows():
    run = part("bouckaert_streams", "run")
    rows = part("bouckaert_streams", "sources").Rows("NB", 1, "plain")
    parts = list(run.pieces(rows, 70_000))
    ends = [done for _, _, done in parts]
    assert set(run.checkpoints(70_000, 10)) <= set(ends)
    assert ends == np.cumsum([len(codes) for codes, _, _ in parts]).tolist()
    X, y = rows.stream.take(70_000)
    np.testing.assert_array_equal(np.concatenate([codes for codes, _, _ in parts]), X)
    np.testing.assert_array_equal(np.concatenate([labels for _, labels, _ in parts]), y)


def test_the_voters_answer_from_the_rows_before():
    """Row by row as a model fitted to the rows before, and in blocks as one fitted to those before the block."""
    run = part("bouckaert_streams", "run")
    X, y = part("bouckaert_streams", "sources").Rows("BAN", 1, "missing").stream.take(400)
    voters = run.Voters(19, 300)
    for start, done in ((0, 200), (200, 300), (300, 400)):
        answers = voters.answers(X[start:done], y[start:done], done)
        kept = voters.super_parent
        voters.hear(X[start:done], y[start:done])
        voters.learn(X[start:done], y[start:done])
        for name, kind in run.CLASSIFIERS.items():
            options = {"super_parent": kept} if name == "SPCr" else {}
            for r in (start + 7, done - 1) if start else ():
                proba = kind(**options).fit(X[: min(r, 300)], y[: min(r, 300)]).predict_proba(X[r : r + 1])[0]
                assert answers[name][r - start] == (proba[1] > proba[0])
    assert voters.super_parent != 0
    assert voters.counts.n_rows == 400


def test_the_data_sets_have_the_sizes_that_the_sources_print():
    if not os.environ.get("TANAGER_DATA"):
        pytest.skip("TANAGER_DATA names no folder with data sets")
    run = part("friedman", "run")
    sizes = {
        name: len(run.dataset(name).y) for name in ("breast", "cleve", "crx", "hepatitis", "soybean-large", "vote")
    }
    assert list(sizes.values()) == [683, 296, 653, 80, 562, 435]
    asked = {plan.name: split_of(plan) for plan in run.plans(["chess", "shuttle-small", "waveform-21", "letter"], 1)}
    assert list(asked.values()) == [(2130, 1066), (3866, 1934), (300, 4700), (15000, 5000)]
    found = part("cheng_greiner", "run").plans(["adult", "nursery", "mushroom", "chess", "dna"], 1)
    assert [len(plan.data.cells) for plan in found] == [13, 8, 22, 36, 60]
    assert [split_of(plan) for plan in found] == [
        *((32561, 16281), (8640, 4320), (5416, 2708), (2130, 1066), (2000, 1186)),
    ]


def split_of(plan):
    test = plan.splits.test(plan.data.labels, 0)
    return int((~test).sum()), int(test.sum())


def test_the_margin_is_that_of_the_source():
    margin = part("cheng_greiner", "page").margin
    printed = {(86.33, 16281): 0.53, (91.92, 4320): 0.81, (98.67, 2708): 0.43, (93.53, 1066): 1.48, (95.70, 1186): 1.15}
    assert {key: round(margin(*key), 2) for key in printed} == printed


def test_the_order_of_the_slide_holds_every_data_set_once():
    assert sorted(part("friedman", "page").SLIDE) == sorted(part("friedman", "run").SETS)


def test_the_tree_of_the_pima_data_hangs_as_on_the_slide():
    if not os.environ.get("TANAGER_DATA"):
        pytest.skip("TANAGER_DATA names no folder with data sets")
    parents = part("friedman", "run").pima_tree().parents_
    found = {child: own for child, own in parents.items() if own}
    assert found == {"Age": ("Pregnant",), "Insulin": ("Age",)} | dict.fromkeys(
        ("DPF", "Glucose", "Mass"), ("Insulin",)
    )


def test_every_split_has_its_answers_of_the_decision_tree():
    if not os.environ.get("TANAGER_DATA"):
        pytest.skip("TANAGER_DATA names no folder with data sets")
    plans = part("friedman", "run").plans(["iris", "vote"], 3)
    records = part("friedman", "weka").records(plans)
    assert [record["dataset"] for record in records] == ["iris"] * 15 + ["vote"] * 15
    assert all(record["n_test"] == 30 for record in records[:15])
    shares = [record["accuracy"] * record["n_test"] for record in records]
    assert shares == pytest.approx(np.round(shares))  # right answers, of so many rows


def test_a_row_that_is_asked_twice_counts_once():
    run = part("cheng_greiner", "run")
    digits = {
        (0, "a"): [1, 0, 1, 1],  # of rows 0 to 3
        (0, "b"): [1, 1, 0, 1],
        (1, "a"): [1, 1, 0, 0],  # of rows 2 to 5
        (1, "b"): [1, 1, 1, 0],
    }
    right = {("d", name, at): np.packbits(np.array(own, bool)).tobytes().hex() for (at, name), own in digits.items()}
    asked = [[0, 1, 2, 3], [2, 3, 4, 5]]
    splits = SimpleNamespace(test=lambda labels, at: np.isin(np.arange(7), asked[at]))
    plan = SimpleNamespace(name="d", n_parts=2, splits=splits, data=SimpleNamespace(labels=np.zeros(7)))
    assert run.row_gains(plan, right, [("a", "b")]).tolist() == [0, 1, -0.5, 0, 1, 0]
    assert len(run.row_gains(plan, {}, [("a", "b")])) == 0


def test_about_the_same_is_confirmed_by_equivalence_and_not_by_a_missing_difference():
    noise = np.tile([0.03, -0.03], 6)
    for gains, verdict in ((0.1 * noise, "confirmed"), (3 * noise, "not shown"), (0.05 + noise, "refuted")):
        lines = [
            {"dataset": str(at), "classifier": name, "repeat": 0, "fold": 0, "n_train": 9, "n_test": 9, "accuracy": own}
            for at, gain in enumerate(gains)
            for name, own in (("first", 0.5), ("second", 0.5 + gain))
        ]
        assert judged(Results(lines), "first ~ second").to_dicts()[0]["verdict"] == verdict


def test_a_given_split_asks_the_last_rows():
    assert Given(3).test(np.zeros(5), 0).tolist() == [False, False, False, True, True]


def test_an_ordering_falls_into_steps():
    assert steps("NB < TAN ~ AODE") == [("NB", "<", "TAN"), ("TAN", "~", "AODE")]
    assert steps("NB < SPC, NB < TC") == [("NB", "<", "SPC"), ("NB", "<", "TC")]


def test_only_what_is_between_markers_is_replaced():
    text = "# a\n\n<!-- table: one -->\nold\n<!-- end -->\n\nprose\n"
    table = "| x |\n| ---: |\n| 1 |\n"
    filled = fill(text, {"one": Table(["x"], [[1]])})
    assert filled == f"# a\n\n<!-- table: one -->\n\n{table}\n<!-- end -->\n\nprose\n"
    assert fill(filled, {"one": Table(["x"], [[1]])}) == filled


@pytest.mark.long
def test_the_study_of_evolving_naive_bayes_runs(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the experiments draw, which needs the extra 'plot'")
    assert part("klawonn_angelov", "__main__").main(["--quick", "--out", str(tmp_path)]) == 0
    assert "setosa + versicolor" in capsys.readouterr().out


def test_the_study_of_real_streams_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="the experiments draw, which needs the extra 'plot'")
    pytest.importorskip("river", reason="models of river stand beside ours there")
    monkeypatch.delenv("TANAGER_DATA", raising=False)
    assert part("real_streams", "__main__").main(["--quick", "--sets", "iris", "--out", str(tmp_path)]) == 0
    assert "evolving NB, exponential" in capsys.readouterr().out


def test_the_study_of_growth_runs(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the experiments draw, which needs the extra 'plot'")
    options = ["--quick", "--only", "NaiveBayes", "LBR", "--out", str(tmp_path)]
    assert part("growth", "__main__").main(options) == 0
    assert "| LBR | m n |" in (tmp_path / "README.md").read_text()
    assert (tmp_path / "naive.png").exists()
    lines = read_csv(tmp_path / "points.csv")
    assert len(lines) == 2 * 4 * 3
    assert len({line["memory"] for line in lines if (line["classifier"], line["along"]) == ("NaiveBayes", "rows")}) == 1


def test_growth_is_measured_for_every_classifier():
    from registry import PUBLIC

    assert {type(subject.model) for subject in part("growth", "theory").SUBJECTS} == set(PUBLIC)


@pytest.mark.parametrize(
    ("cost", "exponents"),
    [("m n", (1, 1, 0, 0)), ("m n² + n² a² k", (1, 2, 2, 1)), ("n a³ k + n² a² k + m n", (1, 2, 3, 1))],
)
def test_a_cost_says_the_largest_exponent_of_every_size(cost, exponents):
    theory = part("growth", "theory")
    assert tuple(theory.exponent(cost, size) for size in theory.SIZES) == exponents


def test_the_exponent_of_a_power_is_found():
    points = [{"classifier": "x", "along": "rows", "rows": m, "learning": 3.0 * m**1.5} for m in (1, 2, 4, 8, 16)]
    assert part("growth", "page").slope(points, "x", "rows", "learning") == pytest.approx(1.5)


def test_the_page_of_published_settings_lists_what_runs():
    from experiments.published import SOURCES, table

    from registry import small_table

    page = (HOME.parent / "docs" / "as-published.md").read_text()
    assert page.rstrip().endswith(table().rstrip())
    X, y = small_table(60)
    for methods in SOURCES.values():
        for model in methods.values():
            np.testing.assert_allclose(model.fit(X, y).predict_proba(X).sum(axis=1), 1.0)
