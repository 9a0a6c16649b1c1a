"""Evolving naive Bayes once more, slowly and as it is written down: lists, loops, one object per pseudo-class."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from scipy.stats import chi2

TIE = 1e-12


@dataclass
class Moments:
    """A fresh one (weight 0) reads the base; the first value brings the pseudo-observations."""

    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0
    variance: float = 1.0


@dataclass
class Table:
    counts: dict = field(default_factory=dict)
    total: float = 0.0


@dataclass
class Pseudo:
    numbers: list
    tables: list
    prior: float = 0.0
    seen: float = 0.0
    born: int = -1
    start: float = 0.0


@dataclass
class ClassOf:
    active: list
    hidden: Pseudo
    loss: float = 0.0
    weight: float = 0.0
    promoted: int = 0


@dataclass
class Twin:
    n_numbers: int
    n_columns: int
    n_classes: int
    alpha: float = 0.0
    window: int = 0
    eta: float = 0.02
    max_loss: float = 0.1
    wait: int = 100
    min_hidden: float = 20
    max_pseudo: int = 8
    prior_weight: float = 1.0
    ddof: int = 0
    means: list | None = None
    variances: list | None = None
    var_floor: float = 1e-6
    unlabelled: float = 0.0
    confidence: float = 0.95
    p_min: float = 0.005
    test: bool = False
    simplify: bool = True
    constant_step: bool = False
    density: list | None = None
    minimum: bool = False
    costs: list | None = None
    announced: bool = True

    def __post_init__(self):
        self.n_values = [0] * self.n_columns
        self.base = [Moments(variance=0.0) for _ in range(self.n_numbers)]
        self.rows = self.born = 0
        self.cool = self.wait
        self.clock = 0.0
        self.kept = []
        self.changes = []
        self.classes = [ClassOf([], self.fresh()) for _ in range(self.n_classes)]
        for c in self.classes if self.announced else []:
            self.announce(c)

    def announce(self, c):
        """As if the class had been seen once."""
        self.clock += 1
        g = self.step(1.0)
        for p in [p for other in self.classes for p in [*other.active, other.hidden]]:
            p.prior *= 1 - g
        c.active = [self.fresh()]
        c.active[0].prior = g
        c.active[0].start = 1.0
        self.bear(c.active[0])
        if self.window:
            self.count_priors()
            return
        if self.rows == 0:
            known = [other for other in self.classes if other.active]
            for other in known:
                other.active[0].prior = 1 / len(known)

    def bear(self, pseudo):
        pseudo.born = self.born
        self.born += 1

    def fresh(self):
        return Pseudo([Moments() for _ in range(self.n_numbers)], [Table() for _ in range(self.n_columns)])

    # E.4, the base and the floor

    def spread(self, i):
        b = self.base[i]
        variance = b.squares / b.weight if b.weight > 0 else 0.0
        return variance if variance > 1e-24 * b.mean**2 else 0.0

    def base_of(self, i):
        if self.means is not None:
            return self.means[i], self.variances[i]
        return self.base[i].mean, self.spread(i)

    def floor(self, i):
        return self.var_floor * self.spread(i) or 1.0

    def kind(self, i):
        """0 normal, 1 Poisson, 2 exponential."""
        return self.density[i] if self.density else 0

    def spread_of(self, i, mean, variance):
        """The variance in force; for other than normal numbers that of the mean."""
        if self.kind(i) == 0:
            return max(variance, self.floor(i))
        b = self.base[i]
        mean = max(mean, self.var_floor * b.mean if b.weight > 0 and b.mean > 0 else 1.0)
        return mean if self.kind(i) == 1 else mean**2

    def gaussian(self, m, i):
        """Mean and variance in force."""
        if m.weight > 0:
            return m.mean, m.variance
        mean, variance = self.base_of(i)
        return mean, self.spread_of(i, mean, variance)

    def set_variance(self, m, i):
        rows = m.weight - self.ddof if m.weight >= 2 else m.weight
        m.variance = self.spread_of(i, m.mean, m.squares / rows)

    def log_density(self, m, i, x):
        mean, variance = self.gaussian(m, i)
        if self.kind(i) == 0:
            return -0.5 * ((x - mean) ** 2 / variance + math.log(2 * math.pi * variance))
        if self.kind(i) == 1:
            return x * math.log(variance) - variance - math.lgamma(x + 1)
        return -math.log(variance) / 2 - x / math.sqrt(variance)

    def peak(self, m, i):
        """Where the density is largest."""
        mean, variance = self.gaussian(m, i)
        return (mean, math.floor(variance), 0.0)[self.kind(i)]

    def add(self, m, x, w):
        keep = 1 - self.alpha
        m.weight = keep * m.weight + w
        d = x - m.mean
        m.mean += w / m.weight * d
        m.squares = keep * m.squares + w * d * (x - m.mean)

    def take(self, m, x, w):
        left = m.weight - w
        if left <= 1e-9:
            m.weight = m.mean = m.squares = 0.0
            return
        d = x - m.mean
        m.mean -= w * d / left
        squares = m.squares - w * d * (x - m.mean)
        m.squares = squares if squares > 1e-10 * m.squares else 0.0
        m.weight = left

    def update(self, pseudo, row, w):
        numbers, values = row
        for i, (m, x) in enumerate(zip(pseudo.numbers, numbers, strict=True)):
            if x is None:
                continue
            if m.weight == 0:
                mean, variance = self.base_of(i)
                m.weight, m.mean, m.squares = self.prior_weight, mean, self.prior_weight * variance
            self.add(m, x, w)
            self.set_variance(m, i)
        for t, v in zip(pseudo.tables, values, strict=True):
            if v is not None:
                t.counts = {u: n * (1 - self.alpha) for u, n in t.counts.items()}
                t.counts[v] = t.counts.get(v, 0.0) + w
                t.total = t.total * (1 - self.alpha) + w
        pseudo.seen += w

    def remove(self, pseudo, row, w):
        numbers, values = row
        for i, (m, x) in enumerate(zip(pseudo.numbers, numbers, strict=True)):
            if x is not None:
                self.take(m, x, w)
                if not any(r[0][i] is not None and (a is pseudo or b is pseudo) for r, _, _, a, b in self.kept):
                    m.weight = 0.0  # fresh again: what it began with was the base of another time
                if m.weight > 0:
                    self.set_variance(m, i)
        for t, v in zip(pseudo.tables, values, strict=True):
            if v is not None:
                t.counts[v] = t.counts[v] - w if t.counts[v] - w > 1e-9 else 0.0
                t.total = t.total - w if t.total - w > 1e-9 else 0.0
        pseudo.seen = pseudo.seen - w if pseudo.seen - w > 1e-9 else 0.0

    # E.1

    def probability(self, t, i, v):
        if not self.constant_step:
            return (t.counts.get(v, 0.0) + 1) / (t.total + self.n_values[i])
        start = max(1 / self.alpha - t.total, 1e-12 / self.alpha)
        return (t.counts.get(v, 0.0) + start / self.n_values[i]) / (t.total + start)

    def log_joint(self, pseudo, row):
        numbers, values = row
        if pseudo.prior == 0:
            return -math.inf
        densities, degrees = [0.0], [0.0]
        for i, (m, x) in enumerate(zip(pseudo.numbers, numbers, strict=True)):
            if x is not None:
                densities.append(self.log_density(m, i, x))
                degrees.append(densities[-1] - self.log_density(m, i, self.peak(m, i)))
        for i, (t, v) in enumerate(zip(pseudo.tables, values, strict=True)):
            if v is not None and v < self.n_values[i]:  # a value never learned is missing
                densities.append(math.log(self.probability(t, i, v)))
                most = max(self.probability(t, i, u) for u in range(self.n_values[i]))
                degrees.append(densities[-1] - math.log(most))
        return math.log(pseudo.prior) + (min(degrees) if self.minimum else sum(densities))

    def posterior(self, row):
        joints = [[self.log_joint(p, row) for p in c.active] for c in self.classes]
        if not any(joints):
            return [1 / self.n_classes] * self.n_classes
        top = max(max(own) for own in joints if own)
        sums = [sum(math.exp(s - top) for s in own) for own in joints]
        return [s / sum(sums) for s in sums]

    def decide(self, posterior):
        k = range(self.n_classes)
        gain, scale = posterior, 1.0
        if self.costs is not None:
            gain = [-sum(posterior[t] * self.costs[t][c] for t in k) for c in k]
            scale = max(1.0, max(abs(cost) for costs in self.costs for cost in costs))
        known = [c for c in k if self.classes[c].active]
        near = [c for c in known if gain[c] >= max(gain[c] for c in known) - TIE * scale]
        return max(near, key=lambda c: (self.classes[c].weight, -c))

    def best(self, c, row):
        joints = [self.log_joint(p, row) for p in self.classes[c].active]
        return next(p for p, s in zip(self.classes[c].active, joints, strict=True) if s >= max(joints) - TIE)

    # E.3

    def learn(self, row, label, w=1.0):
        """The answer before the row is learned."""
        posterior = self.posterior(row)
        if w <= 0:
            return posterior
        if label is None:
            self.learn_unlabelled(row, posterior, w)
            return posterior
        own = self.classes[label]
        if not own.active:
            self.announce(own)
        answer = self.decide(self.posterior(row))  # 0
        correct = answer == label
        loss = self.costs[label][answer] if self.costs is not None else float(not correct)
        target = self.best(label, row) if correct else max(own.active, key=lambda p: p.born)  # 1
        hidden = None if correct else own.hidden
        self.rows += 1
        self.take_in(row, w, target, hidden)  # 2, 3
        self.move_priors(w, target, hidden)  # 4
        own.weight += w  # 5
        eta = min(1.0, w * max(self.eta, 1 / own.weight))
        own.loss += eta * (loss - own.loss)
        self.cool -= 1  # 6
        if self.cool <= 0:
            self.maybe_promote()
        if self.simplify and self.rows % self.wait == 0:  # 7
            for c in range(self.n_classes):
                self.simplify_class(c)
        return posterior

    def take_in(self, row, w, target, hidden):
        for i, v in enumerate(row[1]):
            if v is not None:
                self.n_values[i] = max(self.n_values[i], v + 1)
        for b, x in zip(self.base, row[0], strict=True):
            if x is not None:
                self.add(b, x, w)
        self.update(target, row, w)
        if hidden is not None:
            self.update(hidden, row, w)
        if self.window:
            own = next(c for c in self.classes if any(p is target for p in c.active))
            self.kept.append([row, w, own, target, hidden])
            if len(self.kept) > self.window:
                old, weight, _, *pseudos = self.kept.pop(0)
                for b, x in zip(self.base, old[0], strict=True):
                    if x is not None:
                        self.take(b, x, weight)
                for pseudo in pseudos:
                    if pseudo is not None:
                        self.remove(pseudo, old, weight)

    def step(self, w):
        return min(1.0, w * (self.alpha if self.constant_step else max(1 / self.clock, self.alpha)))

    def count_priors(self):
        """Priors by the rows of the window alone; every known class starts with one row."""
        known = [c for c in self.classes if c.active]
        total = len(known) + sum(w for _, w, *_ in self.kept)

        def learned(pseudo):
            return sum(w * ((target is pseudo) + (hidden is pseudo)) for _, w, _, target, hidden in self.kept)

        for c in self.classes:
            c.hidden.prior = learned(c.hidden) / total if total else 0.0
        for c in known:
            of_class = 1 + sum(w for _, w, own, *_ in self.kept if own is c)
            parts = [p.start + learned(p) for p in c.active]
            for p, part in zip(c.active, parts, strict=True):
                p.prior = of_class / total * part / sum(parts)

    def move_priors(self, w, target, hidden):
        if self.window:
            self.count_priors()
            return
        self.clock += w
        g = self.step(w)
        for c in self.classes:
            for p in c.active:
                p.prior = (1 - g) * p.prior + g * (p is target)
            c.hidden.prior = (1 - g) * c.hidden.prior + g * (c.hidden is hidden)

    def maybe_promote(self):
        for c in sorted(range(self.n_classes), key=lambda c: (-self.classes[c].loss, c)):
            own = self.classes[c]
            blocked = own.hidden.seen < self.min_hidden or len(own.active) >= self.max_pseudo or own.hidden.prior == 0
            if own.loss > self.max_loss and not blocked:
                self.promote(c)
                self.cool = self.wait
                return

    def promote(self, c):
        own = self.classes[c]
        sum_active = sum(p.prior for p in own.active)
        beta = sum_active / (sum_active + own.hidden.prior)
        own.active.append(own.hidden)
        for p in own.active:
            p.prior *= beta
        self.bear(own.hidden)
        own.hidden = self.fresh()
        if self.window:
            self.count_priors()
        own.promoted = self.rows
        self.changes.append((self.rows, "promoted", c))

    # E.5

    def learn_unlabelled(self, row, posterior, w):
        c = posterior.index(max(posterior))
        if self.unlabelled == 0 or posterior[c] < self.confidence or not self.classes[c].active:
            return
        target = self.best(c, row)
        own = self.log_joint(target, row)
        total = sum(math.exp(self.log_joint(p, row) - own) for k in self.classes for p in k.active)
        w *= self.unlabelled / total
        self.take_in(row, w, target, None)
        self.move_priors(w, target, None)

    # E.6

    def simplify_class(self, c):
        own = self.classes[c]
        if own.loss > self.max_loss or self.rows - own.promoted < 5 * self.wait:
            return
        while len(own.active) > 1 and min(p.prior for p in own.active) < self.p_min:
            weakest = min(own.active, key=lambda p: p.prior)
            own.active.remove(weakest)
            left = sum(p.prior for p in own.active)
            for p in own.active:
                p.prior *= (left + weakest.prior) / left if left else 1.0
            self.share_start(weakest, own.active)
            self.follow(weakest, None)
            self.changes.append((self.rows, "removed", c))
        while len(own.active) > 1 and self.merge_closest(c):
            pass
        if self.window:
            self.count_priors()

    def share_start(self, gone, others):
        parts = [p.prior for p in others]
        for p, part in zip(others, parts, strict=True):
            p.start += gone.start * (part / sum(parts) if sum(parts) else 1 / len(parts))

    def merge_closest(self, c):
        own = self.classes[c].active
        pairs = [(a, b) for i, a in enumerate(own) for b in own[i + 1 :]]
        if self.test:
            a, b = max(pairs, key=lambda pair: self.p_value(*pair))
            near = self.p_value(a, b) > 0.05
        else:
            a, b = min(pairs, key=lambda pair: self.distance(*pair))
            near = self.distance(a, b) < 0.05 * (self.n_numbers + self.n_columns)
        if not near:
            return False
        for i, (m, other) in enumerate(zip(b.numbers, a.numbers, strict=True)):
            if other.weight == 0:
                continue
            shift, total = (other.mean - m.mean if m.weight > 0 else 0.0), m.weight + other.weight
            m.mean = m.mean + shift * other.weight / total if m.weight > 0 else other.mean
            m.squares += other.squares + shift**2 * m.weight * other.weight / total
            m.weight = total
            self.set_variance(m, i)
        for t, other in zip(b.tables, a.tables, strict=True):
            t.counts = {v: t.counts.get(v, 0.0) + other.counts.get(v, 0.0) for v in {*t.counts, *other.counts}}
            t.total += other.total
        b.prior += a.prior
        b.start += a.start
        b.seen += a.seen
        own.remove(a)
        self.follow(a, b)
        self.changes.append((self.rows, "merged", c))
        return True

    def follow(self, gone, into):
        for entry in self.kept:
            entry[3:] = [into if p is gone else p for p in entry[3:]]

    def distance(self, a, b):
        total = 0.0
        for i, (m, n) in enumerate(zip(a.numbers, b.numbers, strict=True)):
            (mean1, v1), (mean2, v2) = self.gaussian(m, i), self.gaussian(n, i)
            s1, s2 = math.sqrt(v1), math.sqrt(v2)
            if self.kind(i) == 0:
                total += 0.25 * (mean1 - mean2) ** 2 / (v1 + v2) + 0.5 * math.log((v1 + v2) / (2 * s1 * s2))
            elif self.kind(i) == 1:
                total += (s1 - s2) ** 2 / 2
            else:
                total += math.log((s1 + s2) / (2 * math.sqrt(s1 * s2)))
        for i, (s, t) in enumerate(zip(a.tables, b.tables, strict=True)):
            if self.n_values[i]:
                values = range(self.n_values[i])
                total -= math.log(sum(math.sqrt(self.probability(s, i, v) * self.probability(t, i, v)) for v in values))
        return total

    def p_value(self, a, b):
        total, df = 0.0, 0
        for i, (m, n) in enumerate(zip(a.numbers, b.numbers, strict=True)):
            if m.weight > 0 and n.weight > 0:
                means = (m.mean - n.mean) ** 2 / (m.variance / m.weight + n.variance / n.weight)
                spreads = math.log(m.variance / n.variance) ** 2 / (2 / m.weight + 2 / n.weight)
                of_means = math.log(math.sqrt(m.variance / n.variance)) ** 2 / (1 / m.weight + 1 / n.weight)
                total += (means + spreads, means, of_means)[self.kind(i)]
                df += 2 if self.kind(i) == 0 else 1
        for s, t in zip(a.tables, b.tables, strict=True):
            both = [v for v in {*s.counts, *t.counts} if s.counts.get(v, 0.0) + t.counts.get(v, 0.0) > 0]
            if s.total <= 0 or t.total <= 0:
                continue
            for v in both:
                sum_v = s.counts.get(v, 0.0) + t.counts.get(v, 0.0)
                for table in (s, t):
                    expected = sum_v * table.total / (s.total + t.total)
                    total += (table.counts.get(v, 0.0) - expected) ** 2 / expected
            df += max(0, len(both) - 1)
        return float(chi2.sf(total, df)) if df else 1.0
