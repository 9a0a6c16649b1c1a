"""Why a model answers rows as it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.block import Query
from tanager.encoding.chunks import n_rows, rows_of_dicts, take_rows
from tanager.encoding.tables import row_of_frame
from tanager.errors import DataError, OptionError, first_few, nearest, warn_user
from tanager.learning.explanations import Explanations
from tanager.scoring.explain import Explanation, Part
from tanager.scoring.explain_rows import Explained, explain_rows
from tanager.scoring.scorer import Scorer

if TYPE_CHECKING:
    from tanager.learning.classifier import Classifier
    from tanager.learning.counts_classifier import CountsClassifier

Rivals = np.ndarray  # (rows, classes): the class that each class is set against

STALE = "the model has learned since these rows were explained, so the parts of a row are gone. Explain them again."


def explain(
    model: CountsClassifier, X: Any, answer: Any, against: Any, *, one_alone: bool
) -> Explanation | Explanations:
    """The log-odds of answers, shared out over columns and their parents; see ``Classifier.explain``."""
    query = _query(model, X)
    proba = model._scores_of(query, log_joint=False)  # encoded once: cells never seen are counted once
    if one_alone and len(query) == 1:
        return _explain_one(model, query, proba, *classes_of(model, proba, answer, against))
    return _explain_many(model, query, proba, answer, against)


def asked(X: Any, answer: Any, against: Any, contrast: Any) -> tuple[Any, Any, Any]:
    """A table for what may be a single row, and the two classes."""
    if contrast is not None:
        if answer is not None or against is not None:
            raise OptionError("contrast names both classes; leave answer and against out.")
        if isinstance(contrast, str) or not hasattr(contrast, "__len__") or len(contrast) != 2:
            raise OptionError(f"contrast={contrast!r}: give two classes, as in contrast=('a', 'b').")
        answer, against = contrast
    return as_table(X), answer, against


def as_table(X: Any) -> Any:
    """A row as a table of one row: a dict, a Series, a list of cells or an array with one axis; tables as they are.

    >>> as_table({"sky": "sun"}), as_table(["sun", 3]), as_table([["sun", 3]])
    ([{'sky': 'sun'}], [['sun', 3]], [['sun', 3]])
    """
    if isinstance(X, Mapping):
        return X if X and all(_is_list(cells) for cells in X.values()) else [X]
    X = row_of_frame(X)  # a Series
    if isinstance(X, Mapping):
        return [X]
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.names is None:
        return X[None, :]
    if isinstance(X, list | tuple) and X and not any(isinstance(cell, Mapping) or _is_list(cell) for cell in X):
        return [list(X)]
    return X


def _is_list(cells: Any) -> bool:
    return not isinstance(cells, str | bytes) and hasattr(cells, "__len__") and hasattr(cells, "__getitem__")


def _query(model: CountsClassifier, X: Any) -> Query:
    model.check_fitted()
    check_classes(model)
    if rows_of_dicts(X):
        tell_misspelt(model, X[0])
    return model.encode(X)


def tell_misspelt(model: Classifier, row: Mapping[str, Any]) -> None:
    """A word about a key of a row that is no column, where it is nearly the name of one that the row does not have."""
    known = model.encoder_.schema.learned_names
    free = [name for name in known if name not in row]
    for name in row:
        if free and name not in known and name != model.target_name_ and (hint := nearest(name, free)):
            warn_user(f"{name!r} is not a column of the model, and is ignored.{hint}")


def check_classes(model: Classifier) -> None:
    """Refuse a model with a single class."""
    if len(model.classes_) < 2:
        raise DataError(f"there is nothing to explain: the only class is {model.classes_.tolist()[0]!r}.")


# --- one row --------------------------------------------------------------------------------------------------------


def _explain_one(model: CountsClassifier, query: Query, proba: np.ndarray, chosen: int, rival: int) -> Explanation:
    prior, parts = model.scorer_.explain(query, chosen, rival)
    log_odds = prior + sum(value for _, _, value in parts)
    if np.isnan(log_odds):
        both = " and ".join(repr(model.classes_.tolist()[c]) for c in (chosen, rival))
        raise DataError(
            f"{both} are both impossible for this row, so there are no odds between them. Explain another class, or "
            "give the model some smoothing."
        )
    names = model.counts_.schema.names
    found = Explanation(
        answer=model.classes_.tolist()[chosen],
        against=model.classes_.tolist()[rival],
        probability=float(proba[0, chosen]),
        log_odds=log_odds,
        prior=prior,
        parts=tuple(Part(names[i], tuple(names[j] for j in parents), value) for i, parents, value in parts),
        values=shown_cells(model, query),
    )
    return replace(found, **model.reasons_of(query))


def shown_cells(model: CountsClassifier, query: Query) -> dict[str, Any]:
    """The cells of one row in words: of a number, its bin; "?" where missing."""
    schema = model.counts_.schema
    cells = {
        name: column.describe(int(code)) if code < column.n_values else "?"
        for name, column, code in zip(schema.names, schema.columns, query.codes[0].tolist(), strict=True)
    }
    if query.numbers is not None:
        for name, number in zip(model.memory.number_names, query.numbers[0].tolist(), strict=True):
            if cells[name] == "?" and not np.isnan(number):  # without bins
                cells[name] = number
    return cells


def classes_of(model: Classifier, proba: np.ndarray, answer: Any, against: Any) -> tuple[int, int]:
    """Codes of the class that is explained and of the one it is set against, for one row."""
    check_pair(model, answer, against)
    rivals = rivals_of(model, proba, against)
    chosen = int(chosen_classes(model, proba, answer, against)[0])
    return chosen, int(rivals[0, chosen])


def check_pair(model: Classifier, answer: Any, against: Any) -> None:
    """Refuse classes that the model does not know, and a class that is set against itself."""
    known = model.class_codes
    for name, label in (("answer", answer), ("against", against)):
        if label is not None and label not in known:
            classes = first_few([repr(own) for own in known])
            raise OptionError(f"{name}={label!r} is none of the classes ({classes}).{nearest(label, known)}")
    if answer is not None and answer == against:
        raise OptionError(f"answer and against are both {answer!r}. Leave one out, or name two classes.")


def rivals_of(model: Classifier, proba: np.ndarray, against: Any) -> Rivals:
    """The class that each class is set against in every row: ``against``, or else the most probable other."""
    rival, other = _rival_and_other(model, proba, against)
    return np.where(np.arange(proba.shape[1]) == rival[:, None], other[:, None], rival[:, None])


def _rival_and_other(model: Classifier, proba: np.ndarray, against: Any) -> tuple[np.ndarray, np.ndarray]:
    """In every row the class that all others are set against, and the class that this one is set against."""
    likely = np.argsort(-proba, axis=1, kind="stable")
    rival = likely[:, 0] if against is None else np.full(len(proba), model.class_codes[against])
    return rival, np.where(likely[:, 0] == rival, likely[:, 1], likely[:, 0])


def chosen_classes(model: Classifier, proba: np.ndarray, answer: Any, against: Any) -> np.ndarray:
    """The class that is explained in every row: ``answer``, or what is predicted; if that is ``against``, the next."""
    known = model.class_codes
    if answer is not None:
        return np.full(len(proba), known[answer])
    chosen = np.array([known[label] for label in model.decide(proba).tolist()], dtype=np.intp)
    if against is None:
        return chosen
    return np.where(chosen == known[against], rivals_of(model, proba, against)[:, known[against]], chosen)


# --- many rows ------------------------------------------------------------------------------------------------------


def _explain_many(model: CountsClassifier, query: Query, proba: np.ndarray, answer: Any, against: Any) -> Explanations:
    check_pair(model, answer, against)
    labels = model.classes_.tolist()
    rivals, chosen = rivals_of(model, proba, against), chosen_classes(model, proba, answer, against)
    if answer is None:
        codes = np.arange(len(labels))
        prior, columns = _every_class(model.scorer_, query, *_rival_and_other(model, proba, against), len(labels))
    else:
        codes = np.array([model.class_codes[answer]])
        prior, columns = explain_rows(model.scorer_, query, chosen[:, None], rivals[:, codes])
    theirs = rivals[:, codes]
    with np.errstate(invalid="ignore"):
        log_odds = prior + columns.sum(axis=1)
    names = np.empty(len(labels), dtype=object)
    names[:] = labels
    rows = np.arange(len(query))
    said = log_odds[rows, chosen if answer is None else 0]
    source = _Source(model, query, proba, chosen, rivals[rows, chosen], said)
    return Explanations(
        columns=tuple(model.counts_.schema.names),
        classes=tuple(labels[c] for c in codes.tolist()),
        contributions=columns,
        prior=prior,
        log_odds=log_odds,
        probability=proba[:, codes],
        against=names[theirs],
        answer=names[chosen],
        source=source,
        numbers=rows,
    )


def _every_class(scorer: Scorer, query: Query, rival: np.ndarray, other: np.ndarray, k: int) -> Explained:
    """All classes against the rival of their row; the rival mirrors the class that it is set against itself."""
    rows = np.arange(len(query))
    rest = np.tile(np.arange(k), (len(query), 1))[np.arange(k) != rival[:, None]].reshape(len(query), k - 1)
    prior, columns = np.empty((len(query), k)), np.empty((*query.codes.shape, k))
    found = explain_rows(scorer, query, rest, np.repeat(rival[:, None], k - 1, axis=1))
    np.put_along_axis(prior, rest, found[0], axis=1)
    np.put_along_axis(columns, rest[:, None, :], found[1], axis=2)
    prior[rows, rival] = -prior[rows, other]
    columns[rows, :, rival] = -columns[rows, :, other]
    return prior, columns


@dataclass(frozen=True)
class _Source:
    """Explains a row of the table again, with all its parts."""

    model: CountsClassifier
    query: Query
    proba: np.ndarray
    chosen: np.ndarray
    rival: np.ndarray
    log_odds: np.ndarray

    def row(self, r: int) -> Explanation:
        """One row, with all its parts."""
        one, then = slice(r, r + 1), float(self.log_odds[r])
        pair = int(self.chosen[r]), int(self.rival[r])
        found = _explain_one(self.model, self.query.part(one), self.proba[one], *pair)
        if found.log_odds != then and not abs(found.log_odds - then) <= 1e-7 * (1 + abs(then)):
            raise DataError(STALE)
        return found

    def cells(self, r: int) -> dict[str, Any]:
        """The cells of a row in words."""
        return shown_cells(self.model, self.query.part(slice(r, r + 1)))

    def ranks(self, rows: np.ndarray) -> np.ndarray:
        """How high cells are; numbers without bins by their order among these rows."""
        query, schema = self.query.part(rows), self.model.counts_.schema
        out = np.full(query.codes.shape, np.nan)
        for i, column in enumerate(schema.columns):
            codes = query.codes[:, i].astype(float)
            if column.kind in ("numeric", "ordinal") and column.n_values > 1:
                out[:, i] = np.where(codes < column.n_values, codes / (column.n_values - 1), np.nan)
        for at, name in enumerate(self.model.memory.number_names if query.numbers is not None else ()):
            assert query.numbers is not None
            values, places = np.unique(query.numbers[:, at], return_inverse=True)
            rank = places.ravel() / max(1, int(np.count_nonzero(~np.isnan(values))) - 1)
            out[:, schema.names.index(name)] = np.where(np.isnan(query.numbers[:, at]), np.nan, rank)
        return out


@dataclass(frozen=True)
class _Told:
    """Explanations that were made one by one."""

    rows: list[Explanation]
    columns: tuple[str, ...]

    def row(self, r: int) -> Explanation:
        """One row, with all its parts."""
        return self.rows[r]

    def cells(self, r: int) -> dict[str, Any]:
        """The cells of a row in words."""
        return self.rows[r].values

    def ranks(self, rows: np.ndarray) -> np.ndarray:
        """No order is known."""
        return np.full((len(rows), len(self.columns)), np.nan)


def explain_each(
    model: Any, X: Any, answer: Any, against: Any, one: Callable[..., Explanation], *, one_alone: bool
) -> Explanation | Explanations:
    """For models that explain rows one by one: row by row, and class by class."""
    model.check_fitted()
    check_classes(model)
    if one_alone and n_rows(X) == 1:
        return one(X, answer, against)
    check_pair(model, answer, against)
    labels = model.classes_.tolist() if answer is None else [answer]
    rows = [take_rows(X, r, r + 1) for r in range(n_rows(X))]
    answers = [one(row, answer, against) for row in rows]
    others = [label for label in labels if label != against or answer is not None]
    found = [
        [own if own.answer == label else one(row, label, against if label in others else None) for label in labels]
        for row, own in zip(rows, answers, strict=True)
    ]
    names = tuple(dict.fromkeys(name for own in answers for name in own.values))
    shape = len(rows), len(labels)
    columns = np.array([[[own.columns.get(name, 0.0) for own in line] for name in names] for line in found])
    said = np.empty(len(rows), dtype=object)
    said[:] = [own.answer for own in answers]
    rivals = np.empty(shape, dtype=object)
    rivals[:] = [[own.against for own in line] for line in found] if found else []
    numbers = {
        name: np.array([[getattr(own, name) for own in line] for line in found]).reshape(shape)
        for name in ("prior", "log_odds", "probability")
    }
    return Explanations(
        columns=names,
        classes=tuple(labels),
        contributions=columns.reshape(len(rows), len(names), len(labels)),
        **numbers,
        against=rivals,
        answer=said,
        source=_Told(answers, names),
        numbers=np.arange(len(rows)),
    )
