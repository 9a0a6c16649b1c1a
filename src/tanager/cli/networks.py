"""Networks that commands read, draw and write: network files, and the networks of models."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from tanager.cli.model_state import has_fuzzy_rules
from tanager.cli.reading import load_model
from tanager.cli.screen import Screen, listed
from tanager.errors import OptionError, nearest

NETWORKS = (".bif", ".xml", ".xmlbif", ".bifxml", ".json", ".dot", ".gv")
PICTURES = (".png", ".svg", ".pdf")
MOST_LINES = 100  # of a drawing in the terminal


def extension(path: str) -> str:
    """The file extension, in lower case."""
    return Path(path).suffix.lower()


def check_picture(path: str) -> None:
    """Raise OptionError for an extension that is not a picture format."""
    if extension(path) not in PICTURES:
        raise OptionError(f"cannot draw {path!r}: unknown extension. Use one of {', '.join(PICTURES)}.")


def load_network_or_model(path: str) -> Any:
    """The network or the model in a file, by its extension."""
    from tanager.networks.files import read_network

    return read_network(path) if extension(path) in NETWORKS else load_model(path)


def single_network(what: Any, path: str, label: str | None = None) -> Any:
    """One network with its tables: that of a model, or of one class of a multi-net."""
    from tanager.networks.network import Network

    if isinstance(what, Network):
        return what
    best = getattr(what, "best_", what)
    if hasattr(type(best), "networks_"):
        networks = {str(value): network for value, network in best.networks_.items()}
        if label is None or label not in networks:
            hint = nearest(label or "", networks) or f" Choose one with --class: {listed(networks)}."
            raise OptionError(f"{path} has a network for every class.{hint}")
        return networks[label]
    if has_fuzzy_rules(what):
        raise OptionError(f"{_type_name(what)} in {path} has rules, not a network. See: tanager rules {quote(path)}")
    if hasattr(type(what), "tree_"):
        raise OptionError(
            f"{_type_name(what)} in {path} is a tree of classifiers. Draw it with: tanager show {quote(path)} -o"
        )
    if label is not None:
        raise OptionError(f"--class is for models with a network for every class; {path} contains {_type_name(what)}.")
    if not hasattr(type(best), "network_"):
        raise OptionError(
            f"{_type_name(what)} in {path} averages over many networks. Learn a single one, for example with: "
            "tanager fit --model tan"
        )
    return best.network_


def _type_name(model: Any) -> str:
    return type(model).__name__


def draw(screen: Screen, what: Any, output: str, **options: Any) -> None:
    """Draw a network, or that of a model: TAN over the counts of one that averages networks, fuzzy sets, or a tree."""
    from tanager.classifiers.naive_bayes import NaiveBayes
    from tanager.classifiers.tan import TAN
    from tanager.networks.network import Network
    from tanager.plot import plot_network
    from tanager.plot.drawable import one_network

    if has_fuzzy_rules(what) or hasattr(type(what), "tree_"):
        return draw_picture(screen, lambda: what.plot(output))
    if not isinstance(what, Network) and not one_network(what):
        options["target"] = options.get("target") or what.target_name_
        name, counts = _type_name(what), getattr(what, "best_", what).counts_
        if counts.holds(2):
            what, shown = TAN.from_counts(counts), "the tree (TAN) over its counts"
        else:  # a forest counts for itself
            what, shown = NaiveBayes.from_counts(counts), "what each column tells about the class"
        screen.note(f"{name} averages over many networks; the picture shows {shown}")
        options.setdefault("title", f"{name} averages over many networks: shown is {shown}")
    given = {key: value for key, value in options.items() if value}
    return draw_picture(screen, lambda: plot_network(what, output, **given))


def draw_picture(screen: Screen, picture: Callable[[], Any]) -> None:
    """Draw a picture. Raises OptionError where matplotlib is not installed."""
    try:
        with screen.waiting("drawing"):
            picture()
    except ModuleNotFoundError as error:
        raise OptionError(f"drawing needs {error.name}. Install it with: pip install 'tanager[plot]'") from None


def print_text(screen: Screen, what: Any, target: str | None = None) -> None:
    """Print the network as text; of a long drawing the beginning."""
    from tanager.plot import network_text

    text = network_text(what, target=target, width=screen.out.width, ascii=not screen.unicode)
    lines = text.splitlines()
    screen.say("\n".join(lines[:MOST_LINES]))
    if len(lines) > MOST_LINES:
        screen.say(
            f"... and {len(lines) - MOST_LINES:,} more lines; draw it with -o, or write all of it with: tanager convert"
        )


def described(path: str) -> str:
    """A path with the size of the file."""
    from tanager.cli.screen import file_size

    return f"{path} ({file_size(os.path.getsize(path))})"


def network_as_text(what: Any, target: str | None) -> str:
    """The whole network as a text drawing."""
    from tanager.plot import network_text

    return network_text(what, target=target) + "\n"


def listed_arcs(arcs: Sequence[tuple[str, str]]) -> str:
    """``a -> b, c -> d and 3 more``."""
    return listed([f"{parent} -> {child}" for parent, child in arcs])
