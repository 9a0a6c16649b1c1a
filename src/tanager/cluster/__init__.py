"""Learning from a table in parts: one protocol below all engines; see ``tanager.cluster.protocol``."""

from tanager.cluster.plan import MOST_DISTINCT, Engine, Rows
from tanager.cluster.protocol import fit, run_here, update

__all__ = ["MOST_DISTINCT", "Engine", "Rows", "fit", "run_here", "update"]
