"""tanager in half a minute: a table, a stream of a million rows, a world that changes, answers in time.

    make demo                                   or: python examples/demo.py
    python examples/demo.py --all               every classifier in the tables, not six of them
    python examples/demo.py --quick             a hundredth of the stream, for the tests
    python examples/demo.py --only first        the first chapter, which `make demo` shows while it compiles what
                     ... or --only rest         the others need

Pictures go to demo-output/. What later chapters need is imported there: the first answer does not wait for it.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import tanager

OUTPUT = Path("demo-output")
FEWER_ROWS = {  # of the stream, for classifiers that are slow to learn, and why
    "SPODE": (100_000, "it tries every column as the super-parent, row by row"),
    "TC": (100_000, "it counts and reads triples"),
    "Wrapped": (100_000, "it learns a network for every threshold"),
    "BestOf": (20_000, "it tries nine classifiers on rows that it leaves out"),
    "NetworkForest": (20_000, "it learns hundreds of networks, and a weight for each of their factors"),
    "SuperParentTAN": (10_000, "it tries arc by arc, leaving out every row"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every classifier in the tables")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the stream")
    parser.add_argument("--only", choices=["first", "rest"], help="the first chapter, or the others")
    options = parser.parse_args()
    n_rows = 10_000 if options.quick else 1_000_000
    kinds = every_classifier if options.all else six_to_know
    OUTPUT.mkdir(exist_ok=True)
    sys.stdout.reconfigure(line_buffering=True)  # also where somebody reads it through a pipe
    started = time.perf_counter()
    if options.only != "rest":
        a_table()
    if options.only == "first":
        return
    a_comparison(kinds())
    a_stream(n_rows, kinds())
    a_change(n_rows // 5)
    a_deadline()
    pictures = ", ".join(str(path) for path in sorted(OUTPUT.glob("*.png")))
    print(f"\nDone in {time.perf_counter() - started:.0f} s. Pictures: {pictures}")


# --- 1. a table --------------------------------------------------------------------------------------------------


def a_table() -> None:
    heading("1. A table of numbers: breast cancer, 569 rows, 30 columns")
    X, y = breast_cancer()
    model = tanager.AODE().fit(X, y)
    left_out = model.leave_one_out(X, y)
    right = model.classes_[left_out.argmax(axis=1)] == y
    print(f"AODE().fit(X, y). Each of the {len(y)} rows left out in turn: {right.mean():.4f} accurate.")
    print("Nothing was learned again for that: the counts of one row are taken away while it is answered.")

    unsure = int(left_out.max(axis=1).argmin())
    print(f"\nIts hardest case is row {unsure}, which is {y[unsure]}. With all rows learned it says, and why:\n")
    print("\n".join(str(model.explain(X[unsure : unsure + 1])).splitlines()[:8]), "\n  ...")

    row = {"mean area": 800.0, "worst texture": 30.0}
    print(f"\nTwo of 30 columns are enough for an answer: {row} gives {readable(model.predict_proba_one(row))}")

    whole = model.predict_proba_one(row)
    without = model.unlearn(X[:100], y[:100]).predict_proba_one(row)
    never_seen = tanager.AODE(schema=model.encoder_.schema).fit(X[100:], y[100:]).predict_proba_one(row)
    again = model.partial_fit(X[:100], y[:100]).predict_proba_one(row)
    print(
        "\nIt can unlearn. Without the first 100 rows it answers as if it had never seen them:", without == never_seen
    )
    print("Learned once more, it answers as before:", again == whole)

    print("\nNothing was encoded by hand. What was decided about the first columns:\n")
    print("\n".join(str(model.encoder_.schema).splitlines()[:5]), "\n...")


def breast_cancer() -> tuple[Any, Any]:
    """The table that comes with scikit-learn, and words for the classes.

    It is read as any other file, by pyarrow: to import scikit-learn or pandas for that takes longer than all of the
    first chapter.
    """
    from pyarrow import csv

    sizes = ["radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points"]
    sizes += ["symmetry", "fractal dimension"]
    names = (
        [f"mean {size}" for size in sizes] + [f"{size} error" for size in sizes] + [f"worst {size}" for size in sizes]
    )
    file = Path(find_spec("sklearn").origin).parent / "datasets" / "data" / "breast_cancer.csv"
    table = csv.read_csv(file, csv.ReadOptions(skip_rows=1, column_names=[*names, "class"]))
    return table.select(names), np.array(["malignant", "benign"])[table["class"].to_pylist()]


# --- 2. a comparison ---------------------------------------------------------------------------------------------


def a_comparison(candidates: list[Any]) -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split
    from sklearn.naive_bayes import GaussianNB

    from tanager.plot import plot_comparison, plot_network

    heading("2. Beside scikit-learn: the same table, 171 rows kept apart")
    X, y = breast_cancer()
    X = X.to_pandas()  # scikit-learn takes frames
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=1, stratify=y)
    rivals = [GaussianNB(), RandomForestClassifier(random_state=1)]
    lines = [measured(rival, X_train, y_train, X_test, y_test, yardstick=True) for rival in rivals]
    lines += [measured(candidate, X_train, y_train, X_test, y_test) for candidate in candidates]
    show(lines, X_train, X_test)
    print("With so few rows the rates are mostly the cost of a call; the stream below shows the real ones.")

    tree = tanager.TAN().fit(X_train, y_train)
    print("\nThe strongest arcs of the tree that TAN learned (parent -> child):")
    for parent, child, information in strongest_arcs(tree)[:5]:
        print(f"  {parent} -> {child}  ({information:.3f} nats)")
    plot_network(tree, OUTPUT / "tan-breast-cancer.png", target="diagnosis")
    plot_comparison(by_log_loss(lines), OUTPUT / "breast-cancer.png", title="Breast cancer")


def strongest_arcs(model: tanager.TAN) -> list[tuple[str, str, float]]:
    from tanager.structure.measures import conditional_information

    names, information = model.counts_.schema.names, conditional_information(model.counts_)
    arcs = [(own[0], child) for child, own in model.parents_.items() if own]
    return sorted(
        ((a, b, float(information[names.index(a), names.index(b)])) for a, b in arcs), key=lambda arc: -arc[2]
    )


# --- 3. a stream -------------------------------------------------------------------------------------------------


def a_stream(n_rows: int, candidates: list[Any]) -> None:
    from sklearn.naive_bayes import CategoricalNB

    from tanager import A2DE, AODE, FANC, KDB, SPC, TAN, JointCounts, NaiveBayes, generate
    from tanager.plot import plot_comparison, plot_network

    heading(f"3. A stream: {n_rows:,} rows of 19 binary columns, drawn from a random TAN")
    X, y = generate.tan(dirichlet=5.0, random_state=7).take(n_rows)
    half = n_rows // 2

    print("Learning and answering, each classifier from the first half, judged on up to 100,000 later rows.\n")
    X_test, y_test = X[half : half + 100_000], y[half : half + 100_000]
    yardstick = CategoricalNB(min_categories=2)
    lines = [measured(yardstick, X[:half], y[:half], X_test, y_test, yardstick=True)]
    for candidate in candidates:
        rows, reason = FEWER_ROWS.get(type(candidate).__name__, (half, ""))
        rows = min(rows, half)
        if rows < half:
            progress(f"learning {name_of(candidate)} from {rows:,} rows only: {reason}")
        elif isinstance(candidate, A2DE | KDB | SPC):
            progress(f"learning {name_of(candidate)}")
        note = f"{rows:,} rows" if rows < half else ""
        lines.append(measured(candidate, X[:rows], y[:rows], X_test, y_test, note=note))
    print()
    show(lines, X[:half], X_test)
    plot_comparison(by_log_loss(lines), OUTPUT / "stream.png", title="The stream")

    print("\nTest, then train: every row is answered from the rows before it, then learned.")
    for model in (NaiveBayes(), TAN(), FANC(), AODE()):
        progress(f"streaming {name_of(model)}")
        proba, seconds = timed(lambda model=model: model.test_then_train(X, y))
        right = proba.argmax(axis=1) == np.searchsorted(model.classes_, y)
        first, last = right[:1000].mean(), right[half:].mean()
        print(f"  {name_of(model):<12} {n_rows / seconds:>12,.0f} rows/s   ", end="")
        print(f"accuracy {first:.4f} over the first 1,000 rows, {last:.4f} over the last half")

    print("\nCounts can be added: two machines, each with half of the rows, know together what one would know.")
    schema = TAN().fit(X[:half], y[:half]).encoder_.schema
    labels = y.astype(np.uint8)
    parts = [JointCounts(schema, [0, 1]).update(X[part], labels[part]) for part in (slice(half), slice(half, None))]
    whole = JointCounts(schema, [0, 1]).update(X, labels)
    print(f"  {parts[0]} + the other half == all rows: {parts[0] + parts[1] == whole}")
    (tan, aode), seconds = timed(lambda: (TAN.from_counts(whole), AODE.from_counts(whole)))
    print(f"  {name_of(tan)} and {name_of(aode)} made from these counts in {seconds * 1000:.1f} ms; no row was read.")
    plot_network(tan, OUTPUT / "tan-stream.png")


# --- 4. a world that changes -------------------------------------------------------------------------------------


def a_change(n_rows: int) -> None:
    from tanager import AODE, DriftAware, EvolvingNaiveBayes, NaiveBayes, generate
    from tanager.evaluate import prequential

    heading(f"4. A world that changes: {n_rows:,} rows, another model from the middle on")
    stream = generate.drift(generate.tan(random_state=1), generate.tan(random_state=2), at=n_rows // 2)
    models = {
        "NaiveBayes": NaiveBayes(),
        "AODE": AODE(),
        "AODE, fading": AODE(decay=2000),
        "AODE, window": AODE(window=5000),
        "AODE, watchful": DriftAware(AODE()),
    }
    result = prequential(models, stream, n_rows=n_rows)
    print(result.summary())
    result.plot(OUTPUT / "change.png")
    noticed = [event for event in models["AODE, watchful"].events_ if event.row > n_rows // 2][:3]
    print(f"\nThe rows change at {n_rows // 2:,}. What the watchful one noted then:")
    print("\n".join(f"  row {event.row:,}: {event.what} ({event.why})" for event in noticed))

    print("\nClasses in several clusters: pseudo-classes that appear by themselves, read as rules.\n")
    X, y = generate.xor(random_state=1).take(20_000)
    evolving, plain = EvolvingNaiveBayes(), NaiveBayes(gaussian=True)
    for model in (plain, evolving):
        proba, seconds = timed(lambda model=model: model.test_then_train(X, y))
        right = proba.argmax(axis=1) == np.searchsorted(model.classes_, y)
        print(f"  {name_of(model):<28} accuracy {right[-5000:].mean():.4f} over the last 5,000 rows", end="")
        print(f"  {len(X) / seconds:>12,.0f} rows/s")
    print(f"\n{evolving.rules()}")
    evolving.plot(OUTPUT / "fuzzy-sets.png")


# --- classifiers, measured ---------------------------------------------------------------------------


def six_to_know() -> list[Any]:
    from tanager import AODE, FANC, TAN, BestOf, NaiveBayes, NetworkForest

    return [NaiveBayes(), TAN(), AODE(), FANC(), BestOf(), NetworkForest()]


def every_classifier() -> list[Any]:
    """One of each, in the order of the alphabet, with Collection told what to vote on."""
    from tanager import SPC, Collection

    public = (getattr(tanager, name) for name in tanager.__all__)
    kinds = [kind for kind in public if hasattr(kind, "predict_proba") and kind is not Collection]
    return [*(kind() for kind in kinds), SPC(super_parent="mi"), Collection({i: [[], [0]] for i in range(1, 19)})]


def measured(
    model: Any, X: Any, y: Any, X_test: Any, y_test: Any, *, yardstick: bool = False, note: str = ""
) -> dict[str, Any]:
    """Learn, answer, and say how well and how fast. The structure is learned by the first answer, so that counts."""
    from sklearn.metrics import accuracy_score, log_loss

    _, learning = timed(lambda: model.fit(X, y).predict_proba(X_test[:1]))
    proba, answering = timed(lambda: model.predict_proba(X_test))
    name = f"{type(model).__name__} (scikit-learn)" if yardstick else name_of(model)
    return {
        "name": f"{name}, {note}" if note else name,
        "accuracy": accuracy_score(y_test, model.classes_[proba.argmax(axis=1)]),
        "log_loss": log_loss(y_test, proba, labels=model.classes_),
        "learned": len(X) / learning,
        "answered": len(X_test) / answering,
        "baseline": yardstick,
    }


def by_log_loss(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(lines, key=lambda line: line["log_loss"])


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


# --- 5. a deadline -----------------------------------------------------------------------------------------------


def a_deadline() -> None:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from tanager import AnytimeAODE
    from tanager.plot import plot_anytime

    heading("5. Answers in time: handwritten digits, 64 columns, 10 classes")
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=1, stratify=y)
    warnings.simplefilter("ignore", tanager.DataWarning)  # pixels that are left out, and shades that are new: see below
    model = AnytimeAODE().fit(X_train, y_train)
    print(f"{len(model.schema_.left_out)} pixels are the same in all rows, and left out. New shades are missing cells.")
    print("AnytimeAODE answers as naive Bayes does, then asks one super-parent after the other while there is time.\n")
    print(f"   budget for {len(X_test)} rows     took   super-parents   accuracy")
    model.predict_proba(X_test)
    for budget in (0.0, 0.005, 0.01, 0.02, 0.1):
        answer = model.answer(X_test, budget=budget)
        right = np.mean(model.classes_[answer.proba.argmax(axis=1)] == y_test)
        text = f"{budget * 1000:.0f} ms" if budget else "none: naive Bayes"
        print(f"{text:>23}  {answer.seconds * 1000:5.1f} ms  {answer.members.mean():14.1f}  {right:9.4f}")
    print(f"\nThe best {model.n_members_} of {len(model.schema_)} are enough, as left-out rows told it.")
    orders = {order: AnytimeAODE(member_order=order, stop="all") for order in ("cv", "mi", "random")}
    for model in orders.values():
        model.fit(X_train, y_train)
    plot_anytime(orders, X_test, y_test, OUTPUT / "anytime-digits.png", title="Digits: what super-parents are worth")


# --- words -------------------------------------------------------------------------------------------------------


def name_of(model: Any) -> str:
    """SPC(super_parent='mi') as its repr says; a Collection by how many parent sets it has."""
    return "Collection({...})" if type(model).__name__ == "Collection" else repr(model).removesuffix("()")


def show(lines: list[dict[str, Any]], X: Any, X_test: Any) -> None:
    width = max(len(line["name"]) for line in lines)
    best = {"accuracy": max(line["accuracy"] for line in lines), "log_loss": min(line["log_loss"] for line in lines)}
    print(f"{'classifier':<{width}}  accuracy   log loss   learned rows/s  answered rows/s")
    for line in by_log_loss(lines):
        marks = ["*" if line[key] == best[key] else " " for key in best]
        print(
            f"{line['name']:<{width}}  {line['accuracy']:8.4f}{marks[0]}  {line['log_loss']:8.4f}{marks[1]}"
            f"  {line['learned']:>14,.0f}  {line['answered']:>15,.0f}"
        )
    print(f"{'':<{width}}  * best. Learned from {len(X):,} rows where nothing is said, judged on {len(X_test):,}.")


def readable(answer: dict[Any, float]) -> str:
    return ", ".join(f"P({label}) = {p:.3f}" for label, p in answer.items())


def heading(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}\n")


def progress(text: str) -> None:
    print(f"  ... {text}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
