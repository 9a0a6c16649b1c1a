"""What classifiers with one network share."""

from __future__ import annotations

from typing import Any


class SingleNetworkMixin:
    """Shows the one network behind a classifier."""

    @property
    def parents_(self: Any) -> dict[str, tuple[str, ...]]:
        """The parents of every column beside the class."""
        self._ready()
        form = self._structure(fresh=True).form
        names = self.counts_.schema.names
        return {names[i]: tuple(names[j] for j in p) for i, p in zip(form.child, form.parents, strict=True)}
