"""Networks that commands read, draw and write: in files of their own, or behind models."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tanager.cli.reading import load_model
from tanager.cli.screen import Screen, listed
from tanager.errors import OptionError, nearest

NETWORKS = (".bif", ".xml", ".xmlbif", ".bifxml", ".json", ".dot", ".gv")
PICTURES = (".png", ".svg", ".pdf")
MOST_LINES = 100  # of a drawing on the screen


def ending(path: str) -> str:
    """The ending of a name, which says what is in the file."""
    return Path(path).suffix.lower()


def check_picture(path: str) -> None:
    """Refuse a name that is no picture's."""
    if ending(path) not in PICTURES:
        raise OptionError(f"cannot draw {path!r}: the ending says no picture. Use one of {', '.join(PICTURES)}.")


def load(path: str) -> Any:
    """The network or the model in a file, by its ending."""
    import tanager

    return tanager.read_network(path) if ending(path) in NETWORKS else load_model(path)


def one_of(what: Any, path: str, label: str | None = None) -> Any:
    """The network itself, with tables: of a model that has one, or of one class of a multi-net."""
    import tanager

    if isinstance(what, tanager.Network):
        return what
    best = getattr(what, "best_", what)
    if hasattr(type(best), "networks_"):
        networks = {str(value): network for value, network in best.networks_.items()}
        if label is None or label not in networks:
            hint = nearest(label or "", networks) or f" Name one with --class: {listed(networks)}."
            raise OptionError(f"{path} holds a network for every class.{hint}")
        return networks[label]
    if hasattr(what, "rules"):
        raise OptionError(f"{_named(what)} in {path} has rules and no network. Look at them: tanager rules {path}")
    if label is not None:
        raise OptionError(f"--class is for models with a network for every class; {path} holds {_named(what)}.")
    if not hasattr(type(best), "network_"):
        raise OptionError(
            f"{_named(what)} in {path} is a vote of many networks. Learn one: tanager fit --model tan, for example."
        )
    return best.network_


def _named(model: Any) -> str:
    return type(model).__name__


def draw(screen: Screen, what: Any, output: str, **options: Any) -> None:
    """Draw a network, or that of a model; for a vote of many networks the tree over its counts; fuzzy sets of rules."""
    import tanager
    from tanager.plot.drawable import one_network

    if hasattr(what, "rules"):
        return drawn(screen, lambda: what.plot(output))
    if not isinstance(what, tanager.Network) and not one_network(what):
        screen.note(f"{_named(what)} votes over many networks; the picture shows the tree (TAN) over its counts")
        options.setdefault("target", what.target_name_)
        what = tanager.TAN.from_counts(getattr(what, "best_", what).counts_)
    given = {key: value for key, value in options.items() if value}
    return drawn(screen, lambda: tanager.plot_network(what, output, **given))


def drawn(screen: Screen, picture: Callable[[], Any]) -> None:
    """Draw, or say what is needed for it."""
    try:
        with screen.waiting("drawing"):
            picture()
    except ModuleNotFoundError as error:
        raise OptionError(f"drawing needs {error.name}. Install it with: pip install 'tanager[plot]'") from None


def print_text(screen: Screen, what: Any, target: str | None = None) -> None:
    """The network in characters; of a long drawing the beginning."""
    import tanager

    text = tanager.network_text(what, target=target, width=screen.answers.width, ascii=not screen.wide)
    lines = text.splitlines()
    screen.say("\n".join(lines[:MOST_LINES]))
    if len(lines) > MOST_LINES:
        screen.say(
            f"... and {len(lines) - MOST_LINES:,} more lines; draw it with -o, or write it all with: tanager convert"
        )


def described(path: str) -> str:
    """A file with its size."""
    from tanager.cli.screen import file_size

    return f"{path} ({file_size(os.path.getsize(path))})"


def text_of(what: Any, target: str | None) -> str:
    """The network in characters, whole, as a file has it."""
    import tanager

    return tanager.network_text(what, target=target) + "\n"


def listed_arcs(arcs: Sequence[tuple[str, str]]) -> str:
    """``a -> b, c -> d and 3 more``."""
    return listed([f"{parent} -> {child}" for parent, child in arcs])
