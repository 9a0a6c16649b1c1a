"""NetworkClassifier: the structure is drawn by a person, the parameters come from the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from tanager.counts.estimates import BackOff, Estimate
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import OptionError, nearest
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.network_view import blanket_of, network_of, parents_of
from tanager.learning.rows import KeptRows
from tanager.networks.estimation import normalised
from tanager.networks.network import Network
from tanager.networks.tables import LockedRows
from tanager.scoring.forms import Form, ProductOfSums
from tanager.scoring.locked import Locked, LockedTables
from tanager.scoring.marginal import check_missing, with_missing
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View


@dataclass(eq=False, repr=False)
class NetworkClassifier(CountsClassifier):
    """Answers with a network that is given: an expert's drawing, a file, or a learned network that a person has edited.

    Only the arcs are taken from the network; its tables are learned from the data, in batch or as a stream, without
    keeping rows. Columns outside the Markov blanket of the class are not read.

    Parameters
    ----------
    network : Network or None, default=None
        Over the columns and the class. None is naive Bayes.
    target : str or None, default=None
        The variable that is the class. By default the name of y where it has one, else the only variable of the network
        that is no column.
    missing : {"drop", "marginal"}, default="drop"
        At prediction, a missing parent leaves the parents before it; "marginal" sums it out exactly.
    locked : mapping or None, default=None
        Rows of tables that a person has set, and that stay when the tables are learned: for a variable, a mapping from
        the values of its parents in the network, as a tuple, to the probabilities of its values, in the order of the
        network; see ``Network.with_rows``. A value that the network does not have gets a probability of 0 there.
    smoothing
        None is ``BackOff(5, first=1)``: thin configurations of parents fall back to fewer parents, the last one first.

    Attributes
    ----------
    network_ : Network
        The class and its Markov blanket, with tables learned.
    blanket_ : tuple of str
        The columns in the Markov blanket: all that answers depend on.

    Examples
    --------
    >>> from tanager import Network, NetworkClassifier
    >>> network = Network({"sky": ["sun", "rain"], "ground": ["dry", "wet"], "plan": ["play", "stay"]},
    ...                   [("sky", "plan"), ("ground", "plan")])
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "ground": ["dry", "wet", "dry", "wet"] * 5}
    >>> model = NetworkClassifier(network).fit(X, ["play", "stay", "stay", "stay"] * 5)
    >>> model.predict({"sky": ["sun"], "ground": ["dry"]})
    array(['play'], dtype='<U4')
    """

    network: Network | None = None
    target: str | None = None
    _: KW_ONLY
    missing: str = "drop"
    locked: LockedRows | None = None
    smoothing: float | Estimate | None = None

    default_estimate = BackOff(5.0, first=1.0)

    parents_ = property(parents_of)
    blanket_ = property(blanket_of)

    @property
    def network_(self) -> Network:
        """The network with its tables, locked rows as they were given."""
        return self._with_locked(network_of(self))

    def check_options(self) -> None:
        super().check_options()
        check_missing(self.missing)
        if self.network is not None and not isinstance(self.network, Network):
            kind = type(self.network).__name__
            raise OptionError(f"network={self.network!r} is a {kind}; give a Network, such as read_network gives.")
        if self.network is not None and self.target is not None and self.target not in self.network.names:
            raise OptionError(
                f"target={self.target!r} is no variable of the network.{nearest(self.target, self.network.names)}"
            )

        if self.locked:
            self._check_locked(self.locked)

    def _check_locked(self, locked: LockedRows) -> None:
        if self.network is None:
            raise OptionError("locked= are rows of the tables of a network: give the network, too.")
        if self.missing != "drop":
            raise OptionError(f'locked= goes with missing="drop" alone, not with missing={self.missing!r}.')
        if self.estimate.strength <= 0:
            raise OptionError(
                "locked= needs some smoothing, so that no class is impossible: smoothing=0.1, for example."
            )
        if not isinstance(locked, Mapping) or not all(isinstance(rows, Mapping) for rows in locked.values()):
            raise OptionError(
                "locked= is a mapping from names to rows, each a mapping from values of the parents to probabilities: "
                '{"grass": {("rain",): [0.1, 0.9]}}, for example.'
            )
        self.network.checked_rows(locked)

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """Pairs, and the families of the network."""
        return {"order": self.order, "families": self._blanket(schema).families()}

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        return self._blanket(counts.schema)

    def _scorer(self, view: View) -> Scorer:
        if not self.locked or self.network is None:
            return with_missing(self.missing, view)
        schema, classes = view.counts.schema, view.counts.classes.tolist()
        target = self._target(schema)
        tables = LockedTables.read(self.network, target, self.locked, schema, classes)
        if tables.of_class and self.priors is not None:
            raise OptionError(f"priors= and locked rows of {target!r} both say how probable the classes are. Give one.")
        return Locked(view, tables)

    def _with_locked(self, learned: Network) -> Network:
        """The learned network with the locked rows, over its own values and in its own order of parents."""
        network, found = self.network, {}
        for name, rows in (self.locked or {}).items():
            if network is None or name not in learned or set(learned.parents(name)) != set(network.parents(name)):
                continue
            found[name] = {
                tuple(given[network.parents(name).index(parent)] for parent in learned.parents(name)): _in_values_of(
                    learned, network, name, numbers
                )
                for given, numbers in rows.items()
                if all(learned.places(p, [v]) != [-1] for p, v in zip(network.parents(name), given, strict=True))
            }
        return learned.with_rows(found)

    def _blanket(self, schema: Schema) -> ProductOfSums:
        network = self.network
        if network is None:
            return ProductOfSums.one_each([()] * len(schema))
        target = self._target(schema)
        blanket = set(network.markov_blanket(target))
        for name in blanket:
            if name not in schema:
                raise OptionError(
                    f"the class {target!r} depends on {name!r}, which is no column.{nearest(name, schema.names)}"
                )
        children = network.children(target)

        def parents(name: str) -> tuple[int, ...]:
            return tuple(schema.index(p) for p in network.parents(name) if p in blanket)

        return ProductOfSums(
            tuple(schema.index(name) for name in children),
            tuple(parents(name) for name in children),
            (1.0,) * len(children),
            class_parents=parents(target),
            free=tuple((schema.index(name), parents(name)) for name in schema.names if name in blanket - {*children}),
        )

    def _target(self, schema: Schema) -> str:
        """The variable of the network that is the class."""
        assert self.network is not None
        names = self.network.names
        if self.target is not None:
            return self.target
        if self.target_name_ in names:
            return self.target_name_
        others = [name for name in names if name not in schema]
        if len(others) != 1:
            found = f"{', '.join(map(repr, others))} are" if others else "none is"
            raise OptionError(
                f"the class should be the one variable of the network that is no column, and {found}. "
                "Name it: target=..."
            )
        return others[0]

    @property
    def class_name(self) -> str:
        """The variable of the network that is the class."""
        return self._target(self.counts_.schema) if self.network is not None else super().class_name


def _in_values_of(learned: Network, network: Network, name: str, numbers: Any) -> np.ndarray:
    """Probabilities of the values that were learned; those of values that never occurred are shared out."""
    own = np.append(np.asarray(numbers, dtype=float), 0.0)[network.places(name, learned.values(name))]
    return normalised(own)
