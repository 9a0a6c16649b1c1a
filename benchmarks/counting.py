"""How long counting takes, next to copying the codes once.

``python -m benchmarks.counting [part of a name]`` prints details: threads, instruction sets, weights, small batches.
"""

import os
import sys
import time
from functools import partial

import numpy as np

from benchmarks.harness import Line, best_times, seconds
from tanager import _kernels


class Store:
    def __init__(self, n_values, n_classes, with_triples=False):
        n = len(n_values)
        self.n_values = np.array(n_values, dtype=np.int64)
        n_slots = self.n_values + 1
        self.offsets = np.concatenate([[0], np.cumsum(n_slots)]).astype(np.int64)
        a = int(self.offsets[-1])
        self.classes, self.singles = np.zeros(n_classes), np.zeros((a, n_classes))
        self.pairs = np.zeros((a, a, n_classes))
        self.triples = []
        for s in range(n - 2 if with_triples else 0):
            width = a - int(self.offsets[s + 1])
            self.triples.append((s, s + 1, np.zeros((width, width, int(n_slots[s]) * n_classes))))

    def count(self, codes, labels, weights=None, **options):
        tables = self.classes, self.singles, self.pairs, self.triples, []
        assert _kernels.count(codes, labels, weights, self.offsets, self.n_values, *tables, **options) is None


def random_rows(n_rows, n_columns, n_values, n_classes, missing=0.0):
    rng = np.random.default_rng(1)
    codes = np.empty((n_rows, n_columns), dtype=np.uint8, order="F")
    for i in range(n_columns):
        codes[:, i] = rng.integers(0, n_values, n_rows, dtype=np.uint8)
        if missing:
            codes[rng.random(n_rows, dtype=np.float32) < missing, i] = 255
    return codes, rng.integers(0, n_classes, n_rows, dtype=np.uint8)


def wall_times(ways, repeats=7):
    """Seconds of each named way by the wall, for ways with several threads; one round warms up."""
    best = dict.fromkeys(ways, float("inf"))
    for turn in range(repeats + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if turn:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def report(title, times, unit):
    print(f"\n{title}")
    for name, spent in times.items():
        print(f"  {name:<34}{1000 * spent:>9.2f} ms {spent / times[unit]:>8.2f} x {unit}")


def order_two():
    codes, labels = random_rows(10_000_000, 19, 2, 2)
    by_rows = np.ascontiguousarray(codes)
    store = Store([2] * 19, 2)
    ways = {
        "copy": codes.copy,
        "column-major": lambda: store.count(codes, labels),
        "row-major": lambda: store.count(by_rows, labels),
        "column-major, two threads": lambda: store.count(codes, labels, n_jobs=2),
        "row-major, two threads": lambda: store.count(by_rows, labels, n_jobs=2),
    }
    report("10M x 19 binary, 2 classes", wall_times(ways), "copy")


def order_two_missing():
    whole, labels = random_rows(10_000_000, 19, 2, 2)
    holes, _ = random_rows(10_000_000, 19, 2, 2, missing=0.05)
    store = Store([2] * 19, 2)
    ways = {"whole": lambda: store.count(whole, labels), "5 % missing": lambda: store.count(holes, labels)}
    report("10M x 19 binary, 2 classes, missing values", wall_times(ways), "whole")


def methods(n_columns, n_values, n_classes):
    def run():
        codes, labels = random_rows(1_000_000, n_columns, n_values, n_classes)
        by_rows = np.ascontiguousarray(codes)
        holes, _ = random_rows(1_000_000, n_columns, n_values, n_classes, missing=0.05)
        store = Store([n_values] * n_columns, n_classes)
        ways = {
            "auto": lambda: store.count(codes, labels),
            "bits": lambda: store.count(codes, labels, method="bits"),
            "increments": lambda: store.count(codes, labels, method="increments"),
            "auto, two threads": lambda: store.count(codes, labels, n_jobs=2),
            "auto, row-major": lambda: store.count(by_rows, labels),
            "auto, 5 % missing": lambda: store.count(holes, labels),
            "copy": codes.copy,
        }
        report(f"1M x {n_columns}, {n_values} values, {n_classes} classes", wall_times(ways, 4), "auto")

    return run


def all_triples():
    codes, labels = random_rows(1_000_000, 19, 2, 2)
    store = Store([2] * 19, 2, with_triples=True)
    ways = {"copy": codes.copy, "pairs and all triples": lambda: store.count(codes, labels)}
    report("1M x 19 binary, 2 classes, all triples", wall_times(ways), "copy")


def levels():
    codes, labels = random_rows(1_000_000, 19, 2, 2)
    store = Store([2] * 19, 2)

    def at(level, method):
        def run():
            _kernels.set_cpu_level(level)
            store.count(codes, labels, method=method)
            _kernels.set_cpu_level("auto")

        return run

    names = ["plain", "avx2", "avx512"] if "avx512vpopcntdq" in _kernels.cpu_features() else ["plain"]
    ways = {f"{level}, {method}": at(level, method) for level in names for method in ("auto", "bits", "increments")}
    report("1M x 19 binary, 2 classes, by instruction set", wall_times(ways, 3), f"{names[-1]}, auto")


def small_batches():
    codes, labels = random_rows(4096, 19, 2, 2)
    codes = np.ascontiguousarray(codes)
    store = Store([2] * 19, 2)
    ways = {f"{n} rows": lambda n=n: store.count(codes[:n], labels[:n]) for n in (1, 16, 64, 256, 1024, 4096)}
    report("batches of 19 binary attributes, 2 classes", wall_times(ways, 200), "1 rows")


def weighted():
    codes, labels = random_rows(1_000_000, 19, 2, 2)
    weights = np.random.default_rng(0).random(len(labels))
    store = Store([2] * 19, 2)
    ways = {
        "increments": lambda: store.count(codes, labels, method="increments"),
        "weighted": lambda: store.count(codes, labels, weights),
    }
    report("1M x 19 binary, 2 classes, weights", wall_times(ways, 3), "increments")


def lines():
    """The lines of the table: the kernel alone, on one thread."""
    codes, labels = random_rows(10_000_000, 19, 2, 2)
    by_rows = np.ascontiguousarray(codes)
    store = Store([2] * 19, 2)
    times = best_times(
        {
            "copy": codes.copy,
            "column-major": lambda: store.count(codes, labels),
            "row-major": lambda: store.count(by_rows, labels),
        },
        repeats=7,
    )
    for name, bar in (("column-major", 1.5), ("row-major", 3.0)):
        figures = f"{seconds(times[name])} / {seconds(times['copy'])}"
        yield Line(f"count pairs, 10M x 19, {name} / codes.copy()", figures, times[name] / times["copy"], bar)
    # Cells of a pair to be counted, the others follow from totals: 4 x 4 with gaps and 3 x 3 without are 1.78 times as
    # many, 10 x 10 and 9 x 9 are 1.23 times. What both share makes it less; how much depends on the instruction set.
    for n_columns, n_values, n_classes, missing_bar in ((60, 4, 3, 1.8), (16, 10, 26, 1.5)):
        codes, labels = random_rows(1_000_000, n_columns, n_values, n_classes)
        holes, _ = random_rows(1_000_000, n_columns, n_values, n_classes, missing=0.05)
        store = Store([n_values] * n_columns, n_classes)
        times = best_times(
            {
                "auto": partial(store.count, codes, labels),
                "bits": partial(store.count, codes, labels, method="bits"),
                "increments": partial(store.count, codes, labels, method="increments"),
                "missing": partial(store.count, holes, labels),
            },
            repeats=7,
            most_seconds=5,
        )
        what = f"1M x {n_columns}, {n_values} values, {n_classes} classes"
        other = min(times["bits"], times["increments"])
        figures = f"{seconds(times['auto'])} / {seconds(other)}"
        yield Line(f"{what} / better of bits and increments", figures, times["auto"] / other, 1.3)
        figures = f"{seconds(times['missing'])} / {seconds(times['auto'])}"
        yield Line(f"{what}, 5 % missing / none missing", figures, times["missing"] / times["auto"], missing_bar)


CASES = {
    "order two": order_two,
    "order two, missing": order_two_missing,
    "60 columns of 4 values": methods(60, 4, 3),
    "16 columns of 10 values": methods(16, 10, 26),
    "20 columns of 40 values": methods(20, 40, 5),
    "triples": all_triples,
    "instruction sets": levels,
    "small batches": small_batches,
    "weights": weighted,
}

if __name__ == "__main__":
    print(f"load {os.getloadavg()[0]:.1f}; {', '.join(_kernels.cpu_features())}")
    wanted = " ".join(sys.argv[1:])
    for name, case in CASES.items():
        if wanted in name:
            case()
