"""Learning in parts: ``python -m benchmarks.cluster merge`` and ``python -m benchmarks.cluster rows --rows 5e6``.

``merge`` puts the counts of 10,000 parts together and says what that takes of time and memory. ``rows`` writes a folder
of Parquet files and learns it in one process, by Dask and by Spark, beside Spark's own naive Bayes; what is not
installed is left out. Each line says rows per second; engines take two passes, so a row is read twice.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tanager import AODE, NaiveBayes
from tanager.cluster import fit, run_here
from tanager.cluster.counting import merge_counts
from tanager.cluster.wire import merge_in_order, pack, unpack

PART = 500_000  # rows of a file


def some_rows(n: int, seed: int) -> pa.Table:
    """Text, whole numbers and numbers with fractions; two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    words = np.array([f"value-{v}" for v in range(12)])
    columns: dict[str, Any] = {f"t{i}": words[(rng.integers(0, 10, n) + y * (i % 2)) % 12] for i in range(4)}
    columns |= {f"n{i}": rng.integers(0, 200, n) + y * i for i in range(4)}
    columns |= {f"x{i}": rng.normal(size=n) + y * i / 4 for i in range(4)}
    return pa.table(columns | {"class": np.array(["no", "yes"])[y]})


def merge(n_parts: int) -> None:
    """Counts of many parts, as a tree; what a part returned is unpacked when it is merged."""
    table = some_rows(20_000, 0)
    X, y = table.drop_columns(["class"]), table["class"]
    model = fit(AODE(), run_here([[(X, y, None)]]))
    one = pack(model.memory)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, used = time.perf_counter(), time.process_time()
    merged = merge_in_order((one for _ in range(n_parts)), merge_counts)
    seconds, own = time.perf_counter() - start, time.process_time() - used
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert merged is not None
    assert unpack(merged).counts.n_rows == n_parts * 20_000
    size = model.counts_.nbytes
    print(
        f"{n_parts:,} parts of {size / 1e3:,.0f} kB of counts, {len(one) / 1e3:,.0f} kB on the wire each: "
        f"{seconds:.1f} s, {own / n_parts * 1e3:.2f} ms of CPU a part, {grown / 1e3:.1f} MB more memory"
    )


def rows(n: int, folder: str, wanted: str) -> None:
    """The same table by all engines."""
    files = [Path(folder, f"part-{at:05d}.parquet") for at in range((n + PART - 1) // PART)]
    for at, path in enumerate(files):
        if not path.exists():
            pq.write_table(some_rows(min(PART, n - at * PART), at), path)
    if find_spec("pyspark") is not None and "spark" in wanted:
        session().range(1).count()  # a session takes long to start
    engines: dict[str, Callable[[], Any]] = {
        "one process, one pass (schema known)": lambda: one_pass(files),
        "one process, two passes": lambda: fit(AODE(), run_here([Part(path) for path in files]), target="class"),
    }
    if find_spec("dask") is not None:
        engines["dask, threads"] = lambda: by_dask(folder)
    if find_spec("pyspark") is not None:
        engines["spark local[2]"] = lambda: by_spark(folder)
        engines["spark local[2], NaiveBayes of tanager"] = lambda: by_spark(folder, NaiveBayes())
        engines["spark local[2], NaiveBayes of pyspark.ml"] = lambda: spark_naive_bayes(folder)
    for name, run in engines.items():
        if wanted in name:
            start, used = time.perf_counter(), cpu_seconds()
            run()
            seconds, own = time.perf_counter() - start, cpu_seconds() - used
            figures = f"{seconds:9.1f} s {n / seconds:12,.0f} rows/s   {own:8.1f} s of CPU {n / own:12,.0f} rows/s"
            print(f"{name:<45}{figures}", flush=True)


def cpu_seconds() -> float:
    """What this process, its descendants and those that have ended have used of the processor."""
    total, ticks = 0.0, os.sysconf("SC_CLK_TCK")
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        pid = int(path.parent.name)
        parents[pid], used[pid] = int(fields[1]), sum(int(field) for field in fields[11:15]) / ticks
    for pid, seconds in used.items():
        above = pid
        while above not in (0, 1, os.getpid()):
            above = parents.get(above, 0)
        total += seconds if above == os.getpid() else 0.0
    return total


class Part:
    """A file, read again in every pass."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        table = pq.read_table(self.path)
        yield table.drop_columns(["class"]), table["class"], None


def one_pass(files: list[Path]) -> Any:
    first = pq.read_table(files[0])
    model = AODE().fit_schema(first.drop_columns(["class"]), first["class"])
    for path in files:
        table = pq.read_table(path)
        model.partial_fit(table.drop_columns(["class"]), table["class"])
    return model


def by_dask(folder: str) -> Any:
    import dask.dataframe as dd

    import tanager.dask

    return tanager.dask.fit(AODE(), dd.read_parquet(folder), target="class", scheduler="threads")


def session() -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "2g"}
    builder = SparkSession.builder.master("local[2]")
    for name, value in quiet.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def by_spark(folder: str, model: Any = None) -> Any:
    import tanager.spark

    return tanager.spark.fit(model or AODE(), session().read.parquet(folder), target="class")


def spark_naive_bayes(folder: str) -> Any:
    """The nearest that Spark has: text indexed, numbers cut by quantiles, all of it one-hot, naive Bayes."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes as Peer
    from pyspark.ml.feature import OneHotEncoder, QuantileDiscretizer, StringIndexer, VectorAssembler

    text = [f"t{i}" for i in range(4)]
    numbers = [f"{kind}{i}" for kind in "nx" for i in range(4)]
    stages = [
        StringIndexer(inputCols=text, outputCols=[f"{name}-code" for name in text]),
        StringIndexer(inputCol="class", outputCol="label"),
        QuantileDiscretizer(inputCols=numbers, outputCols=[f"{name}-code" for name in numbers], numBuckets=10),
    ]
    coded = [f"{name}-code" for name in (*text, *numbers)]
    stages += [
        OneHotEncoder(inputCols=coded, outputCols=[f"{name}-hot" for name in coded]),
        VectorAssembler(inputCols=[f"{name}-hot" for name in coded], outputCol="features"),
        Peer(),
    ]
    return Pipeline(stages=stages).fit(session().read.parquet(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["merge", "rows"])
    parser.add_argument("--parts", type=float, default=10_000)
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument("--folder", help="where the files are, or shall be; by default they are temporary")
    parser.add_argument("--only", default="", help="part of the name of an engine")
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if given.what == "merge":
        merge(int(given.parts))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or temporary
        Path(folder).mkdir(parents=True, exist_ok=True)
        rows(int(given.rows), folder, given.only)


if __name__ == "__main__":
    main()
