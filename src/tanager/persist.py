"""Save and load: a model is one file, written whole or not at all, and loading never runs code.

The file is an archive (see ``tanager.archive``) of kind "classifier". Its header holds the name of the class, the
version of tanager, all options and what was learned in plain data; its arrays are the counts, the moments of Gaussian
columns, the rows that some classifiers keep, and the first rows of a stream whose cut points are not fixed yet.
Structure is chosen again at loading, from the same counts, except where that takes long (networks learned from rows)
or a stream answers with one that lags behind.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import tanager
from tanager import archive
from tanager.counts.align import labels_from_plain, labels_to_plain
from tanager.counts.joint import JointCounts
from tanager.encoding import Encoder, Schema
from tanager.errors import ModelFileError
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import Rows, WarmUp
from tanager.plain import (
    classifiers,
    form_from_plain,
    form_to_plain,
    from_plain,
    table_from_plain,
    table_to_plain,
    to_plain,
)
from tanager.writing import whole_file


def save(model: Classifier, path: str | os.PathLike[str]) -> None:
    """Write a classifier, fitted or not, to one file; a file that is there already is replaced at once or not at all.

    >>> import tempfile
    >>> from tanager import AODE, load, save
    >>> model = AODE().fit([["sun"], ["rain"]], ["play", "stay"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/weather.tanager")
    ...     load(f"{folder}/weather.tanager").predict([["sun"]])
    array(['play'], dtype='<U4')
    """
    data = to_bytes(model)
    with whole_file(path) as file:
        file.write(data)


def load(path: str | os.PathLike[str]) -> Classifier:
    """The classifier in a file; it answers and learns as the saved one. Unsound files get one clear sentence."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no model file {str(path)!r}. Check the name and the folder.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{str(path)!r} is a folder, not a model file. Name the file in it.") from None
    return from_bytes(data, repr(str(path)))


def to_bytes(model: Classifier) -> bytes:
    """A classifier as the bytes of a model file."""
    header = {"kind": "classifier", "tanager": tanager.__version__, **to_plain(model, "model")}
    arrays: dict[str, np.ndarray] = {}
    if hasattr(model, "classes_"):
        header["learned"], arrays = _learned(model)
    try:
        return archive.pack(header, arrays)
    except TypeError as error:
        raise ModelFileError(
            f"cannot save this {type(model).__name__}: {error}. Use text or numbers instead."
        ) from None


def from_bytes(data: bytes, source: str = "the data") -> Classifier:
    """The classifier in the bytes of a model file; errors name `source`."""
    header, arrays = archive.unpack(data, source)
    if header.get("kind") != "classifier":
        raise ModelFileError(f"{source} holds {header.get('kind')}, not a classifier.")
    _refuse_strangers(header, source)
    with archive.reading(source):
        model = from_plain({name: header[name] for name in ("classifier", "params")})
        if "learned" in header:
            _take(model, header["learned"], arrays)
        return model


def _refuse_strangers(header: dict[str, Any], source: str) -> None:
    """A class or option that this version does not have is no damage, and deserves a sentence of its own."""
    cls = classifiers().get(str(header.get("classifier")))
    written = f"{source} was written by tanager {header.get('tanager')}"
    if cls is None:
        raise ModelFileError(f"{written} for {header.get('classifier')!r}, which is none of the classifiers here.")
    params = header.get("params")
    unknown = sorted(set(params) - set(cls._get_param_names())) if isinstance(params, dict) else []
    if unknown:
        raise ModelFileError(
            f"{written} and has the option {unknown[0]!r}, which {cls.__name__} of tanager {tanager.__version__} does "
            "not know. Upgrade tanager to read it."
        )


# --- what was learned --------------------------------------------------------------------------------------------


def _learned(model: Classifier) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    names = getattr(model, "feature_names_in_", None)
    data: dict[str, Any] = {
        "classes": labels_to_plain(model.classes_),
        "target": model.target_name_,
        "n_features_in": getattr(model, "n_features_in_", None),
        "feature_names_in": None if names is None else names.tolist(),
    }
    arrays: dict[str, np.ndarray] = {}
    if hasattr(model, "encoder_"):
        options = {name: value for name, value in vars(model.encoder_).items() if not name.startswith("_")}
        data["encoder"] = {"options": to_plain(options, "encoder"), "given": model.encoder_._given}
        if isinstance(model, CountsClassifier):
            more, arrays = _counts_to_plain(model)
            data |= more
        else:
            data["schema"] = model.encoder_.schema.to_dict()
            data["state"], arrays = model._state()
    if model._warm is not None:
        data["warm"], more = _warm_to_plain(model._warm)
        arrays |= more
    return data, arrays


def _counts_to_plain(model: CountsClassifier) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    model._sync()
    counts, arrays = model.counts_.to_header()
    arrays |= model._extra_arrays()
    if model._rows is not None and len(model._rows):
        codes, labels, weights = model._rows.all()
        kept = {"weights": weights, "times": model._rows.times, "numbers": model._rows.numbers}
        arrays |= {"rows-codes": codes, "rows-labels": labels}
        arrays |= {f"rows-{name}": cells for name, cells in kept.items() if cells is not None}
    clock = None if model._clock is None else model._clock.to_plain()
    return {"counts": counts, "clock": clock, "view": _view_to_plain(model)}, arrays


def _take(model: Classifier, data: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    model._start()
    model.classes_ = labels_from_plain(data["classes"])
    target = data.get("target")  # files of the first format do not have it
    model.target_name_ = None if target is None else str(target)
    if data["n_features_in"] is not None:
        model.n_features_in_ = int(data["n_features_in"])
    names = data["feature_names_in"]
    if names is not None:
        if not isinstance(names, list) or len(names) != data["n_features_in"]:
            raise ModelFileError("its columns have more or fewer names")
        model.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
    if "counts" in data or "state" in data:
        schema = Schema.from_dict(data["counts"]["schema"] if "counts" in data else data["schema"])
        model.encoder_ = Encoder.from_schema(schema, **from_plain(data["encoder"]["options"]))
        model.encoder_._given = bool(data["encoder"]["given"])
        if isinstance(model, CountsClassifier):
            _take_counts(model, data, arrays)
        else:
            model._take_state(data["state"], arrays)
    if "warm" in data:
        model._warm = _warm_from_plain(data["warm"], arrays, len(model.classes_))
    if isinstance(model, CountsClassifier) and data.get("view") is not None:
        _take_view(model, data["view"])


def _take_counts(model: CountsClassifier, data: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    counts = JointCounts.from_header(data["counts"], arrays)
    counts.schema = model.encoder_.schema  # the same, and one of them
    if counts.classes.tolist() != model.classes_.tolist():
        raise ModelFileError("its counts are of other classes")
    counts.require(type(model).__name__, **model._shape(counts.schema))
    model.classes_, model.counts_ = counts.classes, counts
    model._take_extra_arrays(arrays)
    if model._rows is not None and "rows-codes" in arrays:
        model._rows = _rows(arrays, counts)
    if model._clock is not None:
        model._clock.take_plain(data["clock"])


def _rows(arrays: dict[str, np.ndarray], counts: JointCounts) -> Rows:
    """The kept rows, with codes that the counts know."""
    codes, labels = arrays["rows-codes"], arrays["rows-labels"]
    weights = arrays.get("rows-weights", np.ones(len(labels)))
    sound = codes.shape == (len(labels), counts.n_features) and weights.shape == labels.shape == (len(codes),)
    if not sound or weights.dtype != np.float64 or {codes.dtype, labels.dtype} - {np.dtype("u1"), np.dtype("u2")}:
        raise ModelFileError("its rows do not fit its counts")
    known = (codes < counts.schema.n_values) | (codes == np.iinfo(codes.dtype).max)
    if not known.all() or (labels >= counts.n_classes).any() or not np.isfinite(weights).all():
        raise ModelFileError("its rows have values that its counts do not know")
    times, numbers = arrays.get("rows-times"), arrays.get("rows-numbers")
    n_numbers = sum(column.kind == "continuous" for column in counts.schema.columns)
    shapes = ((times, (len(labels),)), (numbers, (len(labels), n_numbers)))
    if any(cells is not None and (cells.shape != shape or cells.dtype != np.float64) for cells, shape in shapes):
        raise ModelFileError("its rows do not fit its counts")
    if times is not None and not (np.isfinite(times).all() and (np.diff(times) >= 0).all()):
        raise ModelFileError("its rows are not in the order of time")
    rows = Rows()
    rows.follow(counts)
    rows.append(codes, labels, weights, times, numbers)
    return rows


def _view_to_plain(model: CountsClassifier) -> dict[str, Any] | None:
    """Nothing where no structure was chosen yet; the structure itself where it lags behind or took long to learn."""
    view = model._view
    if view is None or not view.valid or view.counts is not model.counts_:
        return None
    current = not model._adaptive() or view.form_version == model.counts_.version
    if current and not model.keeps_form:
        return {}
    kept = {"form": form_to_plain(view.form), "factor": view.factor, "rows": model._view_rows, "current": current}
    kept["weight"] = model._view_weight
    return kept | model._choice()


def _take_view(model: CountsClassifier, data: dict[str, Any]) -> None:
    if "form" not in data:
        model._structure(fresh=True)
        return
    model._take_choice(data)
    view = model._view_of(form_from_plain(data["form"]))
    view.factor = [float(factor) for factor in data["factor"]]
    view._bind()
    view.form_version = model.counts_.version if data.get("current") else -1
    model._view, model._view_rows = view, float(data["rows"])
    model._view_weight = float(data.get("weight", model._view_rows))


def _warm_to_plain(warm: WarmUp) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    table, arrays = table_to_plain(warm.X, "warm-table")
    arrays |= {"warm-labels": warm.labels, "warm-weights": warm._weights}
    arrays |= {} if warm.times is None else {"warm-times": warm.times}
    return {"table": table, "counted": warm.counted, "stage": warm.stage}, arrays


def _warm_from_plain(data: dict[str, Any], arrays: dict[str, np.ndarray], n_classes: int) -> WarmUp:
    labels, weights = arrays["warm-labels"], arrays["warm-weights"]
    counted, stage = int(data["counted"]), int(data["stage"])
    warm = WarmUp()
    times = arrays.get("warm-times")
    warm.append(table_from_plain(data["table"], arrays, "warm-table"), labels, weights, times)
    unknown = (labels >= n_classes) & (labels != 65535)
    sound = labels.shape == weights.shape == (warm.n_rows,) and labels.dtype == np.uint16 and not unknown.any()
    sound = sound and (times is None or (times.shape == labels.shape and times.dtype == np.float64))
    if not sound or weights.dtype != np.float64 or not (0 <= counted <= warm.n_rows and 0 <= stage <= warm.n_rows):
        raise ModelFileError("its first rows do not fit together")
    warm.counted, warm.stage = counted, stage
    return warm
