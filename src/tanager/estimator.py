"""Estimator and Transformer: options, copies and print-outs as scikit-learn has them, without waiting for scikit-learn.

``import sklearn.base`` takes more than a second of the processor, and most commands and services never need it. So our
classifiers and the encoder stand on small bases of our own. As soon as anybody imports scikit-learn, its classes come
under these bases, and every classifier is one of its estimators, with all that this brings: tags, routing of metadata,
a picture in notebooks.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from copy import deepcopy
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Self

from tanager.docstrings import complete_when_read
from tanager.listed import Listed, names_in

MOST_CHARACTERS = 700  # of a print-out; what is longer loses its middle

_OPTIONS: dict[type, dict[str, Any]] = {}  # the options of each class, with their defaults


class _Alone:
    """What stands under the bases here while scikit-learn is not there."""


class HasOptions(Listed):
    """Something with options: the arguments of its ``__init__``, which are kept untouched under their names."""

    unlisted = names_in("option_defaults")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_when_read(cls)

    @classmethod
    def option_defaults(cls) -> dict[str, Any]:
        """The names of all options in alphabetical order, with their defaults."""
        if cls not in _OPTIONS:
            given = list(inspect.signature(cls.__init__).parameters.values())[1:]
            _OPTIONS[cls] = {option.name: option.default for option in sorted(given, key=lambda option: option.name)}
        return _OPTIONS[cls]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return list(cls.option_defaults())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All options by name; ``deep``: also those of classifiers among them, as ``model__smoothing``.

        Parameters
        ----------
        deep : bool, default=True
            Whether options of classifiers among the options are there, too.

        Returns
        -------
        dict
            Names and values.
        """
        params = {name: self._option(name) for name in self.option_defaults()}
        if deep:
            for name, value in list(params.items()):
                if _has_options(value):
                    params |= {f"{name}__{own}": at for own, at in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change options; ``model__smoothing=2`` changes one of the classifier that is the option ``model``.

        Parameters
        ----------
        **params : object
            Names and new values.

        Returns
        -------
        self
            The model itself.
        """
        inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            own, nested, rest = name.partition("__")
            if own not in self.option_defaults():
                known = self._get_param_names()
                raise ValueError(f"Invalid parameter {own!r} for estimator {self}. Valid parameters are: {known!r}.")
            if nested:
                inner.setdefault(own, {})[rest] = value
            else:
                setattr(self, own, value)
        for own, some in inner.items():
            getattr(self, own).set_params(**some)
        return self

    def __repr__(self) -> str:
        changed = [f"{name}={value!r}" for name, value in self.changed_options().items()]
        text = f"{type(self).__name__}({', '.join(changed)})"
        half = MOST_CHARACTERS // 2
        return text if len(text) <= MOST_CHARACTERS else f"{text[:half]}...{text[-half:]}"

    def changed_options(self) -> dict[str, Any]:
        """The options whose values are not the defaults.

        Returns
        -------
        dict
            Names and values.
        """
        own = {name: self._option(name) for name in self.option_defaults()}
        return {
            name: value
            for name, value in own.items()
            if value is not (default := self.option_defaults()[name]) and not _same_text(value, default)
        }

    def _repr_html_(self) -> str | None:
        """What a notebook shows; None where there is nothing but text."""
        return None

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What a notebook shows, in place of scikit-learn's own display."""
        shown = self._repr_html_()
        return {"text/plain": repr(self)} | ({} if shown is None else {"text/html": shown})

    def _option(self, name: str) -> Any:
        """An option as it was given."""
        return getattr(self, name)


class Estimator(HasOptions, _Alone):
    """A classifier; a ``ClassifierMixin`` and ``BaseEstimator`` of scikit-learn as soon as that is imported."""


class Transformer(HasOptions, _Alone):
    """Makes one table of another; a ``TransformerMixin`` and ``BaseEstimator`` of scikit-learn as soon as that is
    imported."""

    def set_output(self, *, transform: str | None = None) -> Self:
        """Say what ``transform`` and ``fit_transform`` give; see scikit-learn's guide to ``set_output``.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            An array, or a frame of that library. None changes nothing.

        Returns
        -------
        Transformer
            The transformer itself.
        """
        import sklearn.base  # noqa: F401  # from now on there is more under this class

        return super().set_output(transform=transform)  # type: ignore[misc]


def shows_text() -> bool:
    """Whether scikit-learn was told to show estimators as text."""
    sklearn = sys.modules.get("sklearn")
    return sklearn is not None and sklearn.get_config().get("display") == "text"


def clone(estimator: Any) -> Any:
    """A classifier with the same options that has learned nothing; also for estimators of scikit-learn."""
    if not isinstance(estimator, HasOptions):
        from sklearn.base import clone as clone_other

        return clone_other(estimator)
    copy = type(estimator)(**{name: _copied(value) for name, value in estimator.get_params(deep=False).items()})
    for name in ("_metadata_request", "_sklearn_output_config"):  # what scikit-learn was asked to pass on, and to give
        if name in vars(estimator):
            vars(copy)[name] = deepcopy(vars(estimator)[name])
    return copy


def _copied(value: Any) -> Any:
    """The value of an option for another estimator."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, dict):
        return {key: _copied(own) for key, own in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)([_copied(own) for own in value])
    return clone(value) if _has_options(value) else deepcopy(value)


def _same_text(value: Any, default: Any) -> bool:
    """Whether a value is that of a default. Options may be arrays, or numbers that are not equal to themselves."""
    return default is not inspect.Parameter.empty and repr(value) == repr(default)


def _has_options(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


# --- scikit-learn's classes, as soon as they are there -------------------------------------------------------------


def _join(base: ModuleType) -> None:
    """Put the classes of ``sklearn.base`` under ours, and so under all classes that have these as ancestors."""
    for ours, mixin in ((Estimator, base.ClassifierMixin), (Transformer, base.TransformerMixin)):
        ours.__bases__ = (HasOptions, mixin, base.BaseEstimator)
        for cls in _descendants(ours):
            # Adds methods such as set_fit_request, and lets ``transform`` give what set_output says.
            super(ours, cls).__init_subclass__()  # type: ignore[arg-type]


def _descendants(cls: type) -> Iterator[type]:
    own: list[type] = cls.__subclasses__()
    for below in own:
        yield below
        yield from _descendants(below)


class _Watch(MetaPathFinder):
    """Waits for the import of ``sklearn.base``, and then lets it have its way with one more step at its end."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """Nothing, but for that one module."""
        if name != "sklearn.base":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        run = spec.loader.exec_module

        def run_and_join(module: ModuleType) -> None:
            run(module)
            _join(module)

        spec.loader.exec_module = run_and_join  # type: ignore[method-assign]
        return spec


if "sklearn.base" in sys.modules:
    _join(sys.modules["sklearn.base"])
else:
    sys.meta_path.insert(0, _Watch())
