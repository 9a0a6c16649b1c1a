"""Views asked with plain arrays, as tests of kernels have them."""

from tanager.counts.block import Block, Query
from tanager.counts.forgetting import Steps


def score(view, codes, **options):
    return view.score(Query(codes), **options)


def leave_one_out(view, codes, labels, weights=None, **options):
    return view.leave_one_out(Block(codes, labels, weights), **options)


def stream(view, codes, labels, weights, out, *, fade=None, gone=None, **options):
    return view.stream(Block(codes, labels, weights), out, Steps(fade, None, gone), **options)


def validate(view, codes, labels, weights, scores, **options):
    return view.validate(Block(codes, labels, weights), scores, **options)
