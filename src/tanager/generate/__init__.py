"""Synthetic streams from known models, with drift, noise and missing cells, for training and for evaluation.

Examples
--------
>>> from tanager import generate
>>> stream = generate.stagger()
>>> X, y = stream.take(200)
>>> stream.names, X.shape, y.shape
(('size', 'colour', 'shape'), (200, 3), (200,))
"""

from tanager.generate.clusters import gaussians, moving_gaussians, overlap, xor
from tanager.generate.drifting import drift, incremental, recurring
from tanager.generate.random_networks import ban, from_network, naive_bayes, redrawn, tan
from tanager.generate.rules import hyperplane, led, sea, stagger
from tanager.generate.stream import Stream

__all__ = [
    "Stream",
    "ban",
    "drift",
    "from_network",
    "gaussians",
    "hyperplane",
    "incremental",
    "led",
    "moving_gaussians",
    "naive_bayes",
    "overlap",
    "recurring",
    "redrawn",
    "sea",
    "stagger",
    "tan",
    "xor",
]
