"""One server with a queue, in simulated time: the judge of policies that hand out budgets."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Machine:
    """What requests cost, in seconds: a part per request and one per row; naive Bayes and all members, per row."""

    request: float = 4e-4
    row: float = 2e-5
    naive: float = 1e-5
    full: float = 5e-3  # beyond naive Bayes
    spread: float = 0.2  # of the logarithm of chance that multiplies the fixed part
    overrun: float = 0.0  # by which calls that take a budget exceed it in the mean; other programs want the processor
    blocking: bool = False  # requests that come during a call are read when it is over, as on an event loop

    @property
    def cheapest(self):
        """A request of one row with naive Bayes alone."""
        return (self.request + self.row) * np.exp(self.spread**2 / 2) + self.naive


@dataclass
class Seen:
    """What became of the requests, in their order."""

    sent: np.ndarray
    latency: list = field(default_factory=list)
    share: list = field(default_factory=list)  # of all members
    budget: list = field(default_factory=list)
    busy: float = 0.0  # seconds

    def between(self, start, end):
        chosen = (self.sent >= start) & (self.sent < end)
        return np.array(self.latency)[chosen], np.array(self.share)[chosen]


class Full:
    """Everything, whatever it takes."""

    def arrived(self, n_rows, now): ...

    def budget(self, n_rows, waited, queued, queued_rows, now):
        return 1e9

    def finished(self, n_rows, members, model_seconds, total_seconds, now): ...


class Naive(Full):
    """Naive Bayes for all."""

    def budget(self, n_rows, waited, queued, queued_rows, now):
        return 0.0


def simulate(policy, sent, rows=1, machine=None, seed=0):
    """Serve requests that are sent at these times, one after the other; latency counts from being sent."""
    machine = machine or Machine()
    n = len(sent)
    rows = np.broadcast_to(rows, n).tolist()
    rng = np.random.default_rng(seed)
    chance = np.exp(machine.spread * rng.standard_normal(n)).tolist()
    overruns = rng.exponential(machine.overrun, n).tolist()
    seen = Seen(np.asarray(sent))
    sent = seen.sent.tolist()
    read = [0.0] * n
    free, n_read = 0.0, 0
    for i in range(n):
        start = max(free, sent[i])
        while n_read < n and sent[n_read] <= start:
            read[n_read] = free if machine.blocking and sent[n_read] < free else sent[n_read]
            policy.arrived(rows[n_read], read[n_read])
            n_read += 1
        budget = policy.budget(rows[i], start - read[i], n_read - i - 1, sum(rows[i + 1 : n_read]), start)
        naive, full = machine.naive * rows[i], machine.full * rows[i]
        extra = min(max(budget - naive, 0.0), full)
        model = naive + extra + (overruns[i] if extra else 0.0)
        total = (machine.request + machine.row * rows[i]) * chance[i] + model
        free = start + total
        policy.finished(rows[i], 60 * extra / full, model, total, free)
        seen.busy += total
        seen.latency.append(free - sent[i])
        seen.share.append(extra / full)
        seen.budget.append(budget)
    return seen


def poisson(rate, seconds, start=0.0, seed=0):
    """Times at which requests are sent when they know nothing of each other."""
    rng = np.random.default_rng(seed)
    return start + np.sort(rng.uniform(0, seconds, rng.poisson(rate * seconds)))
