"""One real table through tanager and what people use today: seconds, accuracy and log loss.

``python -m benchmarks.peers [part of a name] [--weka weka.jar]`` learns the 32,561 training rows of Adult (8 columns of
text, 6 of numbers, gaps) and answers its 16,281 test rows; ``TANAGER_DATA`` names its folder. Seconds are of the
processor, best of two, and include whatever has to be done to the table first. What is not installed is left out.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import resource
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from tanager import AODE, NaiveBayes, NetworkForest, datasets

KEPT = Path(__file__).parent / "peers.csv"
HEADER = ("", "first", "learn, s", "answer 1,000 rows, ms", "accuracy", "log loss")

#: From the training rows to a function that gives probabilities of the classes in sorted order.
Learn = Callable[[pd.DataFrame, pd.Series], Callable[[pd.DataFrame], np.ndarray]]


@dataclass(frozen=True)
class Peer:
    """A classifier as its own documentation says that it is used."""

    name: str
    needs: str  # what has to be done to the table first
    learn: Learn
    package: str = "tanager"
    most_rows: int | None = None  # answered, where all would take hours


@dataclass(frozen=True)
class Result:
    peer: Peer
    learning: float
    answering: float  # seconds for 1,000 rows
    accuracy: float
    log_loss: float


def adult() -> tuple[pd.DataFrame, pd.Series, pd.DataFrame, pd.Series]:
    """Training rows and classes, test rows and classes; gaps are None or NaN."""
    data = datasets.load("adult")
    return *frame(data), *frame(data.test)


def frame(data: datasets.Dataset) -> tuple[pd.DataFrame, pd.Series]:
    X = data.X.to_pandas()
    return X.astype(dict.fromkeys(split(X)[0], object)), pd.Series(data.y, dtype=str)


def estimator(make: Callable[[pd.DataFrame], object]) -> Learn:
    """Anything with ``fit`` and ``predict_proba``."""

    def learn(X: pd.DataFrame, y: pd.Series) -> Callable[[pd.DataFrame], np.ndarray]:
        return make(X).fit(X, y).predict_proba

    return learn


def split(X: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Names of the columns of text, and of numbers."""
    numbers = list(X.select_dtypes("number").columns)
    return [name for name in X.columns if name not in numbers], numbers


def binned_naive_bayes(X: pd.DataFrame) -> object:
    from sklearn.compose import make_column_transformer
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OrdinalEncoder

    text, numbers = split(X)
    n_values = [X[name].nunique(dropna=False) + 1 for name in text] + [10] * len(numbers)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    codes = make_pipeline(codes, FunctionTransformer(lambda values: values + 1))
    bins = KBinsDiscretizer(10, encode="ordinal", quantile_method="averaged_inverted_cdf")
    return make_pipeline(
        make_column_transformer((codes, text), (bins, numbers)), CategoricalNB(min_categories=np.array(n_values))
    )


def random_forest(X: pd.DataFrame) -> object:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((codes, split(X)[0]), remainder="passthrough")
    return make_pipeline(columns, RandomForestClassifier(random_state=0))


def boosting(X: pd.DataFrame) -> object:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    text = split(X)[0]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    columns = make_column_transformer((codes, text), remainder="passthrough")
    return make_pipeline(columns, HistGradientBoostingClassifier(categorical_features=range(len(text)), random_state=0))


def records(X: pd.DataFrame) -> list[dict[str, object]]:
    return X.fillna("gap").to_dict("records")


def river_tree(X: pd.DataFrame, y: pd.Series) -> Callable[[pd.DataFrame], np.ndarray]:
    from river.tree import HoeffdingTreeClassifier

    classes = sorted(y.unique())
    model = HoeffdingTreeClassifier(nominal_attributes=split(X)[0])
    for row, label in zip(records(X), y, strict=True):
        model.learn_one(row, label)

    def answer(X: pd.DataFrame) -> np.ndarray:
        votes = [model.predict_proba_one(row) for row in records(X)]
        return np.array([[vote.get(name, 0.0) for name in classes] for vote in votes])

    return answer


def agrum_tree(X: pd.DataFrame, y: pd.Series) -> Callable[[pd.DataFrame], np.ndarray]:
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    as_values = DiscreteTypeProcessor(defaultDiscretizationMethod="MDLP", discretizationThreshold=25)
    model = BNClassifier(type_processor=as_values, learningMethod="TAN", prior="Smoothing", priorWeight=1)
    filled = X.fillna("gap")
    model.fit(filled, y)
    return lambda rows: np.asarray(model.predict_proba(known_values(rows.fillna("gap"), filled)))


def known_values(rows: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """Text never seen becomes the commonest value, and numbers stay within those seen; else the row is refused."""
    rows = rows.copy()
    text, numbers = split(train)
    for name in text:
        rows[name] = rows[name].where(rows[name].isin(train[name].unique()), train[name].mode()[0])
    for name in numbers:
        rows[name] = rows[name].clip(train[name].min(), train[name].max())
    return rows


def pgmpy_naive_bayes(X: pd.DataFrame, y: pd.Series) -> Callable[[pd.DataFrame], np.ndarray]:
    from pgmpy.models import DiscreteBayesianNetwork
    from sklearn.preprocessing import KBinsDiscretizer

    text, numbers = split(X)
    bins = KBinsDiscretizer(10, encode="ordinal", quantile_method="averaged_inverted_cdf").fit(X[numbers])

    def as_values(rows: pd.DataFrame) -> pd.DataFrame:
        values = rows[text].fillna("gap").astype(str)
        return values.join(pd.DataFrame(bins.transform(rows[numbers]).astype(int).astype(str), rows.index, numbers))

    train = as_values(X)
    model = DiscreteBayesianNetwork([("class", name) for name in train.columns])
    model.fit(train.assign(**{"class": y}))
    return lambda rows: model.predict_probability(known_values(as_values(rows), train)).to_numpy()


PEERS = [
    Peer("tanager `NaiveBayes`", "nothing", estimator(lambda X: NaiveBayes())),
    Peer("tanager `AODE`", "nothing", estimator(lambda X: AODE())),
    Peer("tanager `NetworkForest`", "nothing", estimator(lambda X: NetworkForest(random_state=0))),
    Peer("scikit-learn `CategoricalNB`", "encode, bin", estimator(binned_naive_bayes)),
    Peer("scikit-learn `RandomForestClassifier`", "encode", estimator(random_forest)),
    Peer("scikit-learn `HistGradientBoostingClassifier`", "encode", estimator(boosting)),
    Peer("river `HoeffdingTreeClassifier`", "rows as dicts, fill gaps", river_tree, "river"),
    Peer("pyAgrum `BNClassifier`, TAN", "fill gaps and new values", agrum_tree, "pyagrum"),
    Peer(
        "pgmpy `DiscreteBayesianNetwork`, naive Bayes", "bin, fill gaps and new values", pgmpy_naive_bayes, "pgmpy", 200
    ),
]


def measured(peer: Peer, rounds: int = 2) -> Result:
    X, y, X_test, y_test = adult()
    X_test, y_test = X_test[: peer.most_rows], y_test[: peer.most_rows]
    learning = answering = np.inf
    for _ in range(rounds):
        start = time.process_time()
        answer = peer.learn(X, y)
        between = time.process_time()
        P = answer(X_test)
        learning, answering = min(learning, between - start), min(answering, time.process_time() - between)
    return result(peer, learning, answering, P, y_test)


def result(peer: Peer, learning: float, answering: float, P: np.ndarray, y: pd.Series) -> Result:
    label = np.unique(y, return_inverse=True)[1]
    right = P[np.arange(len(y)), label]
    # No answer may be ruined by a single row: what was called impossible counts as one in a million.
    return Result(
        peer,
        learning,
        1000 * answering / len(y),
        float(np.mean(P.argmax(axis=1) == label)),
        float(-np.log(np.maximum(right, 1e-6)).mean()),
    )


def weka(jar: str) -> Iterator[Result]:
    """AODE of Weka on bins by class entropy, from its own command, the start of Java left out."""
    X, y, X_test, y_test = adult()
    peer = Peer("Weka `AODE`", "ARFF file, filter that bins", lambda X, y: None, "weka")  # type: ignore[arg-type, return-value]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("train.arff", "test.arff")]
        write_arff(paths, [(X, y), (X_test, y_test)])
        start = java_seconds(jar, "weka.classifiers.rules.ZeroR", "-t", str(paths[1]), "-no-cv")[0]
        bayes = ["weka.classifiers.meta.FilteredClassifier", "-F", "weka.filters.supervised.attribute.Discretize"]
        bayes += ["-W", "weka.classifiers.bayes.AODE", "-t", str(paths[0]), "-no-cv"]
        learning = java_seconds(jar, *bayes, "-T", str(write_head(paths[1])))[0]
        both, text = java_seconds(jar, *bayes, "-T", str(paths[1]), "-p", "0", "-distribution")
    P = np.array([distribution(line) for line in text.splitlines() if "," in line and ":" in line])
    yield result(peer, learning - start, max(both - learning, 0.0), P, y_test)


def distribution(line: str) -> list[float]:
    return [float(share.lstrip("*")) for share in line.split()[-1].split(",")]


def write_head(path: Path) -> Path:
    """The same file with its first row alone."""
    lines = path.read_text().splitlines()
    head = path.with_name("one.arff")
    head.write_text("\n".join(lines[: lines.index("@data") + 2]) + "\n")
    return head


def write_arff(paths: list[Path], tables: list[tuple[pd.DataFrame, pd.Series]]) -> None:
    whole = pd.concat([X for X, _ in tables])
    text, _ = split(whole)
    known = {name: {value: f"v{v}" for v, value in enumerate(sorted(whole[name].dropna().unique()))} for name in text}
    classes = {value: f"y{c}" for c, value in enumerate(sorted(tables[0][1].unique()))}
    head = ["@relation adult"]
    for at, name in enumerate(whole.columns):
        kind = f"{{{','.join(known[name].values())}}}" if name in known else "numeric"
        head.append(f"@attribute c{at} {kind}")
    head += [f"@attribute class {{{','.join(classes.values())}}}", "@data"]
    for path, (X, y) in zip(paths, tables, strict=True):
        columns = [X[name].map(known[name]) if name in known else X[name].map("{:g}".format) for name in X.columns]
        rows = pd.concat([*columns, y.map(classes)], axis=1).fillna("?")
        path.write_text("\n".join([*head, *(",".join(row) for row in rows.itertuples(index=False))]) + "\n")


def java_seconds(jar: str, *arguments: str) -> tuple[float, str]:
    """Processor seconds of a run of Weka, best of two, and what it printed."""
    best = np.inf
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            ["java", "-XX:+UseSerialGC", "-Xmx3g", "-cp", jar, *arguments], capture_output=True, text=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="part of a name")
    parser.add_argument("--weka", metavar="weka.jar", help="Weka 3.6 or later; needs Java")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name}, of which README.md shows the table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    threadpool_limits(1)  # threads that wait for each other would count as time of the processor
    rows = [HEADER]
    print(markdown(HEADER), "| --- | --- | ---: | ---: | ---: | ---: |", sep="\n")
    peers = [peer for peer in PEERS if options.only in peer.name and importlib.util.find_spec(peer.package)]
    for r in chain(map(measured, peers), weka(options.weka) if options.weka else ()):
        figures = f"{r.learning:.2f}", f"{1000 * r.answering:.1f}", f"{r.accuracy:.3f}", f"{r.log_loss:.3f}"
        rows.append((r.peer.name, r.peer.needs, *figures))
        print(markdown(rows[-1]), flush=True)
    if options.keep:
        with KEPT.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def markdown(row: tuple[str, ...]) -> str:
    return f"| {' | '.join(row)} |"


if __name__ == "__main__":
    main()
