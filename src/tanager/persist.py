"""Save and load: a model is one file, written whole or not at all, and loading never runs code.

The file is an archive (see ``tanager.archive``) of kind "classifier". Its header holds the name of the class, the
version of tanager, all options and what was learned in plain data; its arrays are the counts, the moments of Gaussian
columns, the rows that some classifiers keep, and the first rows of a stream whose cut points are not fixed yet.
Structure is chosen again at loading, from the same counts, except where that takes long (networks learned from rows),
a stream answers with one that lags behind, or it was chosen once for good.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import tanager
from tanager import archive, saved
from tanager.counts.align import labels_from_plain, labels_to_plain
from tanager.encoding import Encoder, Schema
from tanager.errors import ModelFileError
from tanager.learning.batch import Batch
from tanager.learning.classifier import Classifier
from tanager.learning.turns import alone
from tanager.learning.warm_up import WarmUp
from tanager.plain import (
    RENAMED,
    classifier_named,
    form_from_plain,
    form_to_plain,
    from_plain,
    option_names,
    table_from_plain,
    table_to_plain,
    to_plain,
)
from tanager.writing import whole_file


def save(model: Classifier, path: str | os.PathLike[str]) -> None:
    """Write a classifier, fitted or not, to one file; a file that is there already is replaced at once or not at all.

    Parameters
    ----------
    model : Classifier
        What to write.
    path : str or PathLike
        Where to.

    Examples
    --------
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
    """The classifier in a file; it answers and learns as the saved one. Unsound files get one clear sentence.

    Parameters
    ----------
    path : str or PathLike
        The file.

    Returns
    -------
    Classifier
        The model.

    Raises
    ------
    ModelFileError
        Where the file is damaged, no model file, or from a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import NaiveBayes, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(NaiveBayes().fit([["sun"], ["rain"]], ["play", "stay"]), f"{folder}/weather.tan")
    ...     load(f"{folder}/weather.tan").predict([["sun"]])
    array(['play'], dtype='<U4')
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no model file {str(path)!r}. Check the name and the folder.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{str(path)!r} is a folder, not a model file. Name the file in it.") from None
    return from_bytes(data, repr(str(path)))


def to_bytes(model: Classifier) -> bytes:
    """A classifier as the bytes of a model file."""
    with alone(model):  # arrays are written as they are in the model, and must not change meanwhile
        return _to_bytes(model)


def _to_bytes(model: Classifier) -> bytes:
    header = {"kind": "classifier", "tanager": tanager.__version__, **to_plain(model, "model")}
    arrays: dict[str, np.ndarray] = {}
    if "classes_" in vars(model):
        header["learned"], arrays = _state_to_plain(model.to_state())
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
            model.from_state(_state_from_plain(header["learned"], arrays))
        return model


def _refuse_strangers(header: dict[str, Any], source: str) -> None:
    """A class or option that this version does not have is no damage, and deserves a sentence of its own."""
    cls = classifier_named(header.get("classifier"))
    written = f"{source} was written by tanager {header.get('tanager')}"
    if cls is None:
        raise ModelFileError(f"{written} for {header.get('classifier')!r}, which is none of the classifiers here.")
    params = header.get("params")
    unknown = (
        sorted({RENAMED.get(str(name), str(name)) for name in params} - set(option_names(cls)))
        if isinstance(params, dict)
        else []
    )
    if unknown:
        raise ModelFileError(
            f"{written} and has the option {unknown[0]!r}, which {cls.__name__} of tanager {tanager.__version__} does "
            "not know. Upgrade tanager to read it."
        )


# --- what was learned: the state of a model with plain data in place of objects ----------------------------------

_OBJECTS = ("classes", "encoder", "view", "warm_up", "models", "arrays")  # all else is plain data already


def _state_to_plain(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    data = {name: value for name, value in state.items() if name not in _OBJECTS}
    arrays: dict[str, np.ndarray] = dict(state["arrays"])
    data["classes"] = labels_to_plain(state["classes"])
    if "encoder" in state:
        encoder: Encoder = state["encoder"]
        data["encoder"] = {"options": to_plain(encoder.options, "encoder"), "given": encoder.given}
        if "counts" not in data:
            data["schema"] = encoder.schema.to_dict()
    if "view" in state:
        data["view"], own = _view_to_plain(state["view"])
        arrays |= own
    if "warm_up" in state:
        data["warm"], table = _warm_up_to_plain(state["warm_up"])
        arrays |= table
    for at, model in enumerate(state.get("models", ())):
        arrays[f"model-{at}"] = np.frombuffer(to_bytes(model), dtype=np.uint8)
    return data, arrays


def _state_from_plain(data: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    state = {name: value for name, value in data.items() if name not in _OBJECTS}
    state |= {"classes": labels_from_plain(data["classes"]), "arrays": arrays}
    target = data.get("target")  # files of the first format do not have it
    state["target"] = None if target is None else str(target)
    if "counts" in data or "state" in data:
        schema = Schema.from_dict(data["counts"]["schema"] if "counts" in data else data["schema"])
        options = from_plain(data["encoder"]["options"])
        state["encoder"] = Encoder.from_schema(schema, given=bool(data["encoder"]["given"]), **options)
    view = data.get("view")
    if view is not None:
        state["view"] = _view_from_plain(view, arrays)
    if "warm" in data:
        state["warm_up"] = _warm_up_from_plain(data["warm"], arrays, len(state["classes"]))
    files = [arrays[f"model-{at}"] for at in range(sum(name.startswith("model-") for name in arrays))]
    state["models"] = [from_bytes(file.tobytes()) for file in files]
    return state


def _view_to_plain(view: Any, prefix: str = "") -> tuple[Any, dict[str, np.ndarray]]:
    """A structure that was chosen, and those of the members of a pool with their arrays."""
    if view is None or "form" not in view:
        return view, {}
    data: dict[str, Any] = view | {"form": form_to_plain(view["form"])}
    arrays: dict[str, np.ndarray] = {}
    if "members" in view:
        data["members"] = []
        for at, (member, own) in enumerate(view["members"]):
            place = f"{prefix}member-{at}-"
            plain, further = _view_to_plain(member, place)
            data["members"].append(plain)
            arrays |= {place + name: cells for name, cells in own.items()} | further
    return data, arrays


def _view_from_plain(view: Any, arrays: dict[str, np.ndarray], prefix: str = "") -> Any:
    if view is None or "form" not in view:
        return view
    state = view | {"form": form_from_plain(view["form"])}
    if "members" in view:
        places = [f"{prefix}member-{at}-" for at in range(len(view["members"]))]
        owns = [{n.removeprefix(place): a for n, a in arrays.items() if n.startswith(place)} for place in places]
        members = [_view_from_plain(own, arrays, place) for own, place in zip(view["members"], places, strict=True)]
        state["members"] = list(zip(members, owns, strict=True))
    return state


def _warm_up_to_plain(warm: WarmUp) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    table, arrays = table_to_plain(warm.X, "warm-table")
    arrays |= {"warm-labels": warm.labels, "warm-weights": warm.all_weights}
    arrays |= {} if warm.times is None else {"warm-times": warm.times}
    return {"table": table, "counted": warm.counted, "stage": warm.stage}, arrays


def _warm_up_from_plain(data: dict[str, Any], arrays: dict[str, np.ndarray], n_classes: int) -> WarmUp:
    what, n_rows = "first rows of its stream", len(arrays["warm-labels"])
    cells = {"warm-labels": saved.array("u2", n_rows), "warm-weights": saved.array("f8", n_rows, least=0.0)}
    if "warm-times" in arrays:
        cells["warm-times"] = saved.numbers(n_rows)
    labels, weights, *times = saved.read(what, arrays, cells).values()
    warm = WarmUp()
    warm.append(Batch(table_from_plain(data["table"], arrays, "warm-table"), labels, weights, *times))
    sizes = {"counted": saved.whole(0, n_rows), "stage": saved.whole(0, n_rows)}
    warm.counted, warm.stage = saved.read(what, data, sizes).values()
    if warm.n_rows != n_rows or ((labels >= n_classes) & (labels != 65535)).any():
        raise ModelFileError("the first rows of its stream do not fit its classes")
    return warm
