"""A network in a notebook: a widget where there is anywidget, and a picture where there is none."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from tanager.errors import OptionError
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.networks.network import Network
from tanager.shortcuts import part
from tanager.structure.measures import class_information
from tanager.studio.svg import network_svg

INSTALL = 'pip install "tanager[widget]"'


def network_widget(
    what: Network | Classifier, target: str | None = None, *, editable: bool = True, height: int = 420
) -> Any:
    """A network to look at and to edit in a notebook; also as ``network.widget()`` and ``model.widget()``.

    Boxes can be moved, arcs drawn, removed and reversed, as in the studio; ``widget.network`` is always what is drawn.
    It needs anywidget, of the extra ``widget``; without it there is a picture that cannot be edited.

    Parameters
    ----------
    what : Network or fitted classifier
        Of a classifier the network that it answers with; boxes are shaded by what they tell about the class.
    target : str, default=None
        The variable that is the class; a classifier knows its own.
    editable : bool, default=True
        Whether arcs can be changed.
    height : int, default=420
        In px.

    Returns
    -------
    NetworkWidget
        With ``network``, ``selected``, ``observe`` and ``tidy()``; or a ``NetworkPicture``.

    Examples
    --------
    >>> from tanager import Network, network_widget
    >>> network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
    >>> network_widget(network).network.arcs
    [('rain', 'grass')]
    """
    shades = None
    if isinstance(what, Network):
        network = what
        if target is not None:
            network.index(target)
    else:
        network, target, shades = _of_model(what, target)
    if find_spec("anywidget") is None:
        return NetworkPicture(network, target)
    return part("anywidget").NetworkWidget(network, target, editable=editable, height=height, shades=shades)


def _of_model(model: Any, target: str | None) -> tuple[Network, str, dict[str, float]]:
    """The network of a classifier, its class, and what each column tells about it."""
    network = getattr(model, "network_", None)
    if not isinstance(model, CountsClassifier) or not isinstance(network, Network):
        raise OptionError(
            f"{type(model).__name__} does not answer with a single network. Give a Network, or a model such as TAN."
        )
    told = class_information(model.counts_)
    return network, target or model.class_name, dict(zip(model.counts_.schema.names, told.tolist(), strict=True))


class NetworkPicture:
    """A network that a notebook shows as a picture, where widgets are not to be had."""

    def __init__(self, network: Network, target: str | None = None) -> None:
        self.network, self.target = network, target

    def _repr_svg_(self) -> str:
        return network_svg(self.network, self.target)

    def __repr__(self) -> str:
        return f"{self.network!r}, as a picture; to edit it here: {INSTALL}"
