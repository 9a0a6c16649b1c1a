"""Streams of made-up rows from known models, with drift, noise and gaps: to learn from, and to measure by."""

from tanager.generate.random_networks import ban, from_network, naive_bayes, redrawn, tan
from tanager.generate.stream import Stream

__all__ = ["Stream", "ban", "from_network", "naive_bayes", "redrawn", "tan"]
