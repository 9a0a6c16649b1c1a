"""The checkpoint of a run: finished folds are appended to a file, and found there when the run is started again.

One JSON document per line. A line that was cut off by a crash is skipped, and its fold is run again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from tanager.encoding.values import Numbers
from tanager.errors import DataError
from tanager.evaluate.plan import EvaluationPlan


class Checkpoint:
    """Records by what they depend on: data, classifier, splits and part. Without a path nothing is kept."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self.known: dict[str, dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            self.known = dict(_read_records(self.path))

    def key(self, plan: EvaluationPlan, name: str, part: int) -> str:
        """A hash of all that the record of a classifier and part depends on."""
        if self.path is None:
            return ""
        text = f"{_fingerprint(plan)} {name} {described(plan.models[name])} {plan.splits!r} {part} {plan.costs!r}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def find(self, plan: EvaluationPlan, name: str, part: int) -> dict[str, Any] | None:
        """The record of an earlier run."""
        return self.known.get(self.key(plan, name, part)) if self.known else None

    def add(self, plan: EvaluationPlan, part: int, records: list[dict[str, Any]]) -> None:
        """Append finished records, whole lines at a time."""
        if self.path is None:
            return
        lines = [
            json.dumps({"key": self.key(plan, record["classifier"], part), "record": record}) + "\n"
            for record in records
        ]
        with open(self.path, "a+b") as file:
            if file.seek(0, os.SEEK_END) and not _ends_with_newline(file):
                file.write(b"\n")  # after a line that was cut off
            file.write("".join(lines).encode())
            file.flush()
            os.fsync(file.fileno())


def _ends_with_newline(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keys and records of all complete lines."""
    n_complete = 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                document = json.loads(line)
                yield document["key"], document["record"]
                n_complete += 1
            except (ValueError, KeyError, TypeError):
                continue
    if not n_complete and path.stat().st_size:
        raise DataError(
            f"{str(path)!r} holds no finished folds, so it is not a file of an earlier run. Choose another file."
        )


def described(model: Any) -> str:
    """A classifier with all its options, as the same text in every process; its repr can contain addresses.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> described([GaussianNB(), 1])
    '[GaussianNB(priors=None, var_smoothing=1e-09), 1]'
    """
    if isinstance(model, list | tuple):
        return f"[{', '.join(described(part) for part in model)}]"
    if not hasattr(model, "get_params"):
        return repr(model)
    options = sorted(model.get_params(deep=False).items())
    return f"{type(model).__name__}({', '.join(f'{name}={described(value)}' for name, value in options)})"


def _fingerprint(plan: EvaluationPlan) -> str:
    """A hash that changes with any cell or label of the data."""
    if plan.fingerprint is None:
        data, digest = plan.data, hashlib.sha256()
        digest.update(repr((data.names, data.classes.tolist(), data.labels.tolist())).encode())
        if data.codes is not None:
            digest.update(data.codes.tobytes())
        for cells in data.cells:
            if isinstance(cells, Numbers):
                digest.update(cells.values.tobytes())
            else:
                digest.update(repr(cells.values).encode() + cells.index.tobytes())
        plan.fingerprint = digest.hexdigest()
    return plan.fingerprint
