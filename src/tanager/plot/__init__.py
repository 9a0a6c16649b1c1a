"""Pictures: the network behind a classifier, the fuzzy sets of an evolving one, and classifiers side by side or along a
stream.

Needs matplotlib, the extra ``plot``; drawings of networks as text do not.

Figures are made without pyplot, so nothing opens a window and nothing has to be closed. Every function returns the
figure, and writes it where a path is given.
"""

from tanager.plot.anytime import plot_anytime
from tanager.plot.comparison import plot_comparison
from tanager.plot.curves import plot_curves
from tanager.plot.decisions import plot_decisions
from tanager.plot.explanation import plot_explanation
from tanager.plot.fuzzy import plot_fuzzy_sets
from tanager.plot.half_lives import plot_half_lives
from tanager.plot.importance import plot_importance
from tanager.plot.network import plot_network
from tanager.plot.nomogram import plot_nomogram
from tanager.plot.ranks import plot_ranks
from tanager.plot.reliability import plot_reliability
from tanager.plot.scatter import plot_scatter
from tanager.plot.text import network_text
from tanager.plot.tree import plot_tree

__all__ = [
    "network_text",
    "plot_anytime",
    "plot_comparison",
    "plot_curves",
    "plot_decisions",
    "plot_explanation",
    "plot_fuzzy_sets",
    "plot_half_lives",
    "plot_importance",
    "plot_network",
    "plot_nomogram",
    "plot_ranks",
    "plot_reliability",
    "plot_scatter",
    "plot_tree",
]
