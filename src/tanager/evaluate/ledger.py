"""The ledger of a run: finished folds are added to a file, and found there when the run goes on.

One JSON document per line. A line that was cut off by a crash is passed over; its fold is run again.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from tanager.encoding.values import Numbers
from tanager.errors import DataError
from tanager.evaluate.plan import Plan


class Ledger:
    """Records by what they depend on: data, classifier, way of splitting, part. Without a path nothing is kept."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self.known: dict[str, dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            self.known = dict(_lines(self.path))

    def key(self, plan: Plan, name: str, part: int) -> str:
        """What the record of a classifier and a part depends on, in short."""
        if self.path is None:
            return ""
        text = f"{_fingerprint(plan)} {name} {described(plan.models[name])} {plan.splits!r} {part} {plan.costs!r}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def find(self, plan: Plan, name: str, part: int) -> dict[str, Any] | None:
        """The record of an earlier run."""
        return self.known.get(self.key(plan, name, part)) if self.known else None

    def add(self, plan: Plan, part: int, records: list[dict[str, Any]]) -> None:
        """Write finished records down, whole lines at a time."""
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


def _ends_with_newline(file: Any) -> bool:
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")


def _lines(path: Path) -> Any:
    whole = 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
                yield entry["key"], entry["record"]
                whole += 1
            except (ValueError, KeyError, TypeError):
                continue
    if not whole and path.stat().st_size:
        raise DataError(f"{str(path)!r} holds no finished folds: it is no file of an earlier run. Name another one.")


def described(model: Any) -> str:
    """A classifier with all its options, the same text in every process; its repr can depend on addresses.

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


def _fingerprint(plan: Plan) -> str:
    """A short text that changes with any cell or label of the data."""
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
