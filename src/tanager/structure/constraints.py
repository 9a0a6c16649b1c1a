"""Prior knowledge for structure learners: required arcs, forbidden arcs, and tiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from tanager.counts.sample import Sample
from tanager.errors import OptionError, SchemaMismatch
from tanager.networks import graph

Edge = tuple[int, int]


class Constraints:
    """Constraints on the arcs between nodes 0, 1, ...; contradictory ones raise an error here.

    ``required`` are arcs (parent, child), in the order in which they were given.
    """

    def __init__(
        self,
        sample: Sample,
        nodes: Sequence[int],
        *,
        given: Sequence[int] = (),
        root: int | None = None,
        required: Iterable[Sequence[str]] = (),
        forbidden: Iterable[Sequence[str]] = (),
        tiers: Iterable[Sequence[str]] = (),
    ) -> None:
        self.names = [sample.names[i] for i in nodes]
        self.given = [sample.names[i] for i in given]
        self.root = None if root is None else sample.names[root]
        self.tier = _tiers(sample, tiers)
        self._forbidden = set(_arcs(sample, "forbidden", forbidden))
        arcs = dict.fromkeys(_arcs(sample, "required", required))
        for arc in arcs:
            self._check_required(*arc)
        for parent in self.given:
            self._check_common_parent(parent)
        place = {name: i for i, name in enumerate(self.names)}
        # Arcs from given variables are present in any case.
        self.required: list[Edge] = [(place[u], place[v]) for u, v in arcs if u in place]
        self._check_cycle()
        self._allowed = (
            [[self._fits(u, v) for v in self.names] for u in self.names]
            if self._forbidden or self.tier
            else self._unconstrained()
        )

    def allowed(self, u: int, v: int) -> bool:
        """Whether the arc u -> v is allowed."""
        return self._allowed[u][v]

    @property
    def allowed_arcs(self) -> list[list[bool]]:
        """Which arcs are allowed, by parent and child."""
        return self._allowed

    def possible(self, u: int, v: int) -> bool:
        """Whether u and v may be joined in either direction."""
        return self._allowed[u][v] or self._allowed[v][u]

    def required_parents(self) -> list[set[int]]:
        """The parents that every node must have."""
        parents: list[set[int]] = [set() for _ in self.names]
        for u, v in self.required:
            parents[v].add(u)
        return parents

    def check_limit(self, max_parents: int | None) -> None:
        """Raise if a node has more required parents than the limit allows."""
        for child, own in zip(self.names, self.required_parents(), strict=True):
            if max_parents is not None and len(own) > max_parents:
                raise OptionError(
                    f"{child!r} has {len(own)} required parents, and max_parents={max_parents}. Raise the limit."
                )

    def _unconstrained(self) -> list[list[bool]]:
        """All arcs but those into the root: searches ask for many networks."""
        line = [name != self.root for name in self.names]
        return [[*line[:u], False, *line[u + 1 :]] for u in range(len(line))]

    def _fits(self, u: str, v: str) -> bool:
        return u != v and v != self.root and (u, v) not in self._forbidden and not self._back(u, v)

    def _back(self, u: str, v: str) -> bool:
        return u in self.tier and v in self.tier and self.tier[u] > self.tier[v]

    def _check_required(self, u: str, v: str) -> None:
        claim = f"the arc {u!r} -> {v!r} is required"
        if (u, v) in self._forbidden:
            raise OptionError(f"{claim} and forbidden. Leave it out of one of the two.")
        if self._back(u, v):
            raise OptionError(
                f"{claim}, but {u!r} is in tier {self.tier[u] + 1} and {v!r} in tier {self.tier[v] + 1}; "
                "no arc leads back to an earlier tier."
            )
        if v == self.root or v in self.given:
            raise OptionError(f"{claim}, but {v!r} is the root here and cannot have parents.")
        for name in (u, v):
            if name not in self.names and name not in self.given:
                raise OptionError(f"{claim}, but {name!r} is not among the variables of this network.")

    def _check_common_parent(self, parent: str) -> None:
        """A given variable is a parent of all nodes, so none of these arcs can be forbidden."""
        for child in self.names:
            if (parent, child) in self._forbidden or self._back(parent, child):
                raise OptionError(
                    f"the arc {parent!r} -> {child!r} is forbidden, but {parent!r} is a parent of every variable here."
                )

    def _check_cycle(self) -> None:
        found = graph.cycle(self.required_parents()) if self.required else None
        if found is not None:
            shown = " -> ".join(self.names[i] for i in found)
            raise OptionError(f"the required arcs form a cycle: {shown}. Leave one of them out.")


def node_order(order: object, sample: Sample, nodes: Sequence[int], root: int | None, rules: Constraints) -> list[int]:
    """Positions of the nodes in an order: "given" (that of the table, the root first), or a list of names.

    A list may leave out the root, and may name variables that are not nodes. An order that contradicts the constraints
    raises an error.
    """
    if isinstance(order, str):
        if order != "given":
            raise OptionError(f"order={order!r} is not an option; give 'given' or a list of all variables.")
        listed = list(nodes)
    elif isinstance(order, Iterable):
        listed = [_index(sample, "order", name) for name in order]
    else:
        raise OptionError(f"order={order!r} is not an option; give 'given' or a list of all variables.")
    if root is not None and (isinstance(order, str) or root not in listed):
        listed = [root, *(i for i in listed if i != root)]
    places = [nodes.index(i) for i in listed if i in nodes]
    _check_order(places, rules)
    return places


def _check_order(places: list[int], rules: Constraints) -> None:
    names = rules.names
    for i, name in enumerate(names):
        if places.count(i) != 1:
            times = "not" if i not in places else "more than once"
            raise OptionError(f"order must name each variable once; {name!r} is {times} in it.")
    if rules.root is not None and names[places[0]] != rules.root:
        raise OptionError(
            f"the order starts with {names[places[0]]!r}, but {rules.root!r} is the root and must come first."
        )
    at = {i: place for place, i in enumerate(places)}
    for u, v in rules.required:
        if at[u] > at[v]:
            raise OptionError(
                f"the arc {names[u]!r} -> {names[v]!r} is required, but in the order {names[v]!r} comes first."
            )
    tiered = [names[i] for i in places if names[i] in rules.tier]
    for early, late in pairwise(tiered):
        if rules.tier[early] > rules.tier[late]:
            raise OptionError(f"the order has {early!r} before {late!r}, but the tiers have {late!r} first.")


def _index(sample: Sample, option: str, name: str) -> int:
    try:
        return sample.index(name)
    except SchemaMismatch as error:
        raise SchemaMismatch(f"{option}: {error}") from None


def _arcs(sample: Sample, option: str, arcs: Iterable[Sequence[str]]) -> list[tuple[str, str]]:
    out = []
    if isinstance(arcs, str) or not isinstance(arcs, Iterable):
        raise OptionError(f"{option}={arcs!r}: give pairs (parent, child).")
    for arc in arcs:
        if isinstance(arc, str) or not isinstance(arc, Sequence) or len(arc) != 2:
            raise OptionError(f"{option} must be pairs (parent, child), got {arc!r} among them.")
        u, v = (sample.names[_index(sample, option, name)] for name in arc)
        if u == v:
            raise OptionError(f"{option}: an arc cannot lead from {u!r} to itself.")
        out.append((u, v))
    return out


def _tiers(sample: Sample, tiers: Iterable[Sequence[str]]) -> dict[str, int]:
    tier: dict[str, int] = {}
    if isinstance(tiers, str) or not isinstance(tiers, Iterable):
        raise OptionError(f"tiers={tiers!r}: give lists of names, the earliest first.")
    for at, names in enumerate(tiers):
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise OptionError(f"tiers must be lists of names, got {names!r} among them.")
        for name in names:
            found = sample.names[_index(sample, "tiers", name)]
            if found in tier:
                raise OptionError(f"{found!r} is in tier {tier[found] + 1} and in tier {at + 1}; name it once.")
            tier[found] = at
    return tier
