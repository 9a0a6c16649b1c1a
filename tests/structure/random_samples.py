"""Random tables and constraints for the laws of structure learning."""

import numpy as np
from hypothesis import strategies as st

from tanager.counts.sample import Sample


@st.composite
def samples(draw, max_rows=60, min_variables=1, max_variables=6, missing=True):
    """Rows in which variables copy earlier ones now and then; some may be constant, some cells missing."""
    n = draw(st.integers(min_variables, max_variables))
    m = draw(st.integers(0, max_rows))
    n_values = [draw(st.integers(1, 3)) for _ in range(n)]
    holes = draw(st.booleans()) if missing else False
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.empty((m, n), dtype=np.uint8)
    for i in range(n):
        own = rng.integers(0, n_values[i], m)
        copied = codes[:, rng.integers(0, i)] % n_values[i] if i else own
        codes[:, i] = np.where(rng.random(m) < 0.6, copied, own)
    if holes:
        codes[rng.random(codes.shape) < 0.1] = 255
    return Sample(codes, [range(k) for k in n_values], [f"x{i}" for i in range(n)])


def tangled(n, m, seed):
    """Rows in which variables depend on up to three earlier ones, so that edges abound and the data contradict."""
    rng = np.random.default_rng(seed)
    n_values = [int(rng.integers(2, 4)) for _ in range(n)]
    codes = np.empty((m, n), dtype=np.uint8)
    for i in range(n):
        parents = rng.choice(i, min(i, rng.integers(0, 4)), replace=False)
        tables = rng.dirichlet(np.full(n_values[i], 0.5), 3 ** len(parents)).cumsum(1)
        case = (codes[:, parents] @ 3 ** np.arange(len(parents))).astype(int)
        codes[:, i] = (rng.random(m)[:, None] > tables[case, :-1]).sum(1)
    order = rng.permutation(n)
    return Sample(codes[:, order], [range(n_values[i]) for i in order], [f"x{i}" for i in range(n)])


def tangled_samples(min_variables=4, max_variables=7):
    sizes = st.integers(min_variables, max_variables)
    return st.builds(tangled, sizes, st.sampled_from([40, 150, 600]), st.integers(0, 2**32 - 1))


@st.composite
def constraints(draw, n):
    """Required, forbidden and tiered arcs over x0, x1, ... that do not contradict each other."""
    order = draw(st.permutations(range(n)))
    place = {f"x{i}": at for at, i in enumerate(order)}
    arcs = [(f"x{i}", f"x{j}") for i in range(n) for j in range(n) if i != j]
    subsets = st.lists(st.sampled_from(arcs), max_size=4, unique=True) if arcs else st.just([])
    forbidden = draw(subsets)
    required = [arc for arc in draw(subsets) if place[arc[0]] < place[arc[1]] and arc not in forbidden]
    cut = draw(st.integers(0, n))
    tiers = draw(st.sampled_from([(), (order[:cut], order[cut:])]))
    return {
        "required": tuple(required),
        "forbidden": tuple(forbidden),
        "tiers": tuple(tuple(f"x{i}" for i in tier) for tier in tiers),
    }


def honoured(network, required, forbidden, tiers):
    """Whether a network keeps to the constraints."""
    tier = {name: at for at, names in enumerate(tiers) for name in names}
    arcs = set(network.arcs)
    back = [(u, v) for u, v in arcs if u in tier and v in tier and tier[u] > tier[v]]
    return set(required) <= arcs and not arcs & set(forbidden) and not back
