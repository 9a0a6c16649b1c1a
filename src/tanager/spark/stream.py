"""Structured Streaming: a query that learns every row exactly once.

Spark gives each batch of a query a number, and gives a batch again, with its number, where it does not know whether it
was done. What was learned is written to a file that bears the number of the last batch in it, in one step; so a batch
that comes again is known, and one that was only half learned leaves no trace.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tanager.errors import OptionError
from tanager.estimator import clone
from tanager.persist import load, save
from tanager.spark import frames

KEPT = 2  # files of the last batches


class BatchLearner:
    """Learns the batches of a stream; to be given to ``foreachBatch``.

    Parameters
    ----------
    model : classifier
        What to learn with, where the folder holds nothing yet. Kinds and cut points come from the first batch, unless
        it was fitted before or has a ``schema``.
    folder : path
        Where what was learned is written after every batch, as a model file.
    target, features, sample_weight, drop
        See ``fit``.

    Attributes
    ----------
    model : classifier
        What was learned so far.
    last_batch : int
        The number of the last batch in it; -1 before the first.
    """

    def __init__(
        self,
        model: Any,
        folder: str | os.PathLike[str],
        *,
        target: str,
        features: Sequence[str] | None = None,
        sample_weight: str | None = None,
        drop: Sequence[str] = (),
    ) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.target, self.features, self.sample_weight, self.drop = target, features, sample_weight, list(drop)
        self.model, self.last_batch = model, -1
        if files := self._files():
            self.last_batch = max(files)
            self.model = load(files[self.last_batch])

    def _files(self) -> dict[int, Path]:
        return {int(path.stem.removeprefix("batch-")): path for path in self.folder.glob("batch-*.tanager")}

    def __call__(self, frame: Any, batch: int) -> None:
        """Learn a batch, unless it was learned before."""
        if batch <= self.last_batch or frame.isEmpty():
            return
        frame = frame.persist()  # it is read twice
        try:
            learned = self._learned(frame)
        finally:
            frame.unpersist()
        save(learned, self.folder / f"batch-{batch:012d}.tanager")
        self.model, self.last_batch = learned, batch
        for number, path in self._files().items():
            if number not in sorted(self._files())[-KEPT:]:
                path.unlink(missing_ok=True)

    def _learned(self, frame: Any) -> Any:
        """A model of its own that has learned the batch as well; ours stays as it is should that fail."""
        beside: dict[str, Any] = {"target": self.target, "sample_weight": self.sample_weight}
        if not self.model.started:
            return frames.fit(clone(self.model), frame, features=self.features, drop=self.drop, **beside)
        return frames.update(copy.deepcopy(self.model), frame, **beside)


def learn_stream(model: Any, stream: Any, folder: str | os.PathLike[str], *, target: str, **options: Any) -> Any:
    """A writer of a stream that learns it; ``.start()`` gives the query. The folder holds all that a restart needs.

    ``options`` are those of ``BatchLearner``. After a restart with the same folder, the query goes on where it was.
    """
    folder = Path(folder)
    learner = BatchLearner(model, folder / "models", target=target, **options)
    checkpoint = folder / "checkpoint"
    if learner.last_batch >= 0 and not checkpoint.exists():
        raise OptionError(
            f"{str(folder)!r} holds what batches up to {learner.last_batch} have taught, but not where the stream was: "
            "its checkpoint is gone, and batches would be numbered from 0 again. Restore it, or use another folder."
        )
    return stream.writeStream.foreachBatch(learner).option("checkpointLocation", str(checkpoint))
