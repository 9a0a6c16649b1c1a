"""Networks in notebooks, to be looked at and edited: the network view of the studio as a widget (extra ``widget``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from tanager.errors import TanagerError
from tanager.networks.network import Arc, Network
from tanager.studio.bundle import bundled_script, bundled_style
from tanager.studio.picture import picture_of, tidy
from tanager.studio.svg import svg_of

EDITS = ("add", "remove", "reverse")


class NetworkWidget(anywidget.AnyWidget):
    """A network that is drawn, and that the user may edit; made by ``network.widget()``.

    Dragging from box to box adds an arc; a selected arc is removed with Delete and reversed with R. ``network`` is
    always the present one, ``selected`` what is selected; both can be set, and observed as traits can
    (``widget.observe(f, "network")``). The tables of nodes whose parents have changed are gone: estimate them again.

    Parameters
    ----------
    network : Network
    target : str, default=None
        The variable that is the class.
    editable : bool, default=True
        Whether arcs can be changed.
    height : int, default=420
        In px.
    shades : mapping from name to number, default=None
        Boxes are the darker the larger their number is.
    """

    _esm = bundled_script("widget")
    _css = bundled_style(".tanager-widget", "Networks (graph.js)", "widget.css")
    network = traitlets.Instance(Network)
    picture = traitlets.Dict().tag(sync=True)
    selected = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
    editable = traitlets.Bool(True).tag(sync=True)
    height = traitlets.Int(420).tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)  # the last refusal

    def __init__(
        self,
        network: Network,
        target: str | None = None,
        *,
        editable: bool = True,
        height: int = 420,
        shades: Mapping[str, float] | None = None,
        **options: Any,
    ) -> None:
        if target is not None:
            network.index(target)
        self.target = target
        self._shades = shades
        self._places: dict[str, tuple[float, float]] = {}
        self._routes: dict[Arc, list[tuple[float, float]]] = {}  # of arcs whose boxes are where the layout put them
        super().__init__(network=network, editable=editable, height=height, **options)
        self.on_msg(self._hear)

    def tidy(self) -> None:
        """Lay all boxes out again."""
        self._places, self._routes = {}, {}
        self._draw(None)

    @traitlets.observe("network")
    def _draw(self, change: Any) -> None:
        network, target = self.network, self.target if self.target in self.network else None
        self._places = {name: place for name, place in self._places.items() if name in network}
        if not self._places:
            self._places, self._routes = tidy(network, target)
        self.picture = picture_of(network, target, self._places, routes=self._routes, shades=self._shades)
        self._places = {node["name"]: (node["x"], node["y"]) for node in self.picture["nodes"]}
        self.said = ""

    def _hear(self, widget: Any, content: Any, buffers: Any) -> None:
        """What the user did: only edits that the view offers, of boxes that are there."""
        if not isinstance(content, dict):
            return
        what = content.get("what")
        try:
            if what in EDITS and self.editable:
                self.network = getattr(self.network, what)(str(content.get("parent")), str(content.get("child")))
            elif what == "move" and content.get("name") in self.network:
                x, y = float(content.get("x", 0.0)), float(content.get("y", 0.0))
                self._places[content["name"]] = (x, y)
                self._routes = {arc: points for arc, points in self._routes.items() if content["name"] not in arc}
        except TanagerError as error:
            self.said = str(error)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and for places that have none the picture."""
        found = super()._repr_mimebundle_(**options)
        if found is None:
            return {"image/svg+xml": svg_of(self.picture)}
        data, metadata = found if isinstance(found, tuple) else (found, {})
        return {**data, "image/svg+xml": svg_of(self.picture)}, metadata
