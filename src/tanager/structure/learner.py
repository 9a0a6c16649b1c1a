"""What every structure learner takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tanager.counts.sample import Sample
from tanager.networks.network import Arc, Network

Progress = Callable[[str, int, int | None], None]  # what is being done, how much is done, and of how much if known


@dataclass(frozen=True)
class Step:
    """One thing that a learner did, as a person can read it."""

    phase: str  # "draft", "thicken", "thin", "orient", "search"
    action: str  # "add", "remove", "keep", "skip", "orient", "reverse", "refuse"
    arc: Arc
    value: float  # the test value or score gain behind it
    given: tuple[str, ...] = ()  # the cut set
    note: str = ""


@dataclass(frozen=True)
class Learned:
    """A structure without tables, how it came about, and which arcs the data leave without a direction."""

    network: Network
    steps: tuple[Step, ...] = ()
    undirected: tuple[Arc, ...] = ()
    n_tests: int = 0  # answers that were asked for, remembered ones included


@dataclass(frozen=True, kw_only=True)
class Learner:
    """Base of the structure learners: small values that say how, and ``learn``.

    Parameters
    ----------
    required, forbidden : sequences of (parent, child)
        Arcs that must, or must not, be there.
    tiers : sequence of sequences of names
        No arc from a later tier to an earlier one. Variables that are not named are free.
    """

    required: tuple[Arc, ...] = ()
    forbidden: tuple[Arc, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()

    def learn(
        self,
        sample: Sample,
        *,
        nodes: Sequence[int] | None = None,
        given: Sequence[int] = (),
        root: int | None = None,
        progress: Progress | None = None,
    ) -> Learned:
        """A network over the nodes (all variables but ``given`` by default).

        ``given`` are conditioned on in every test, and are parents in every family, without being nodes: the class of
        an augmented network. ``root`` comes before all others and never is a child: the class of a general network.
        """
        raise NotImplementedError
