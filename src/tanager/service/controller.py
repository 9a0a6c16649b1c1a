"""How much time each answer may take: what the load leaves of the target."""

from __future__ import annotations

import math

AIM = 0.9  # of the target; the rest is for the network
BUSY = 0.8  # utilisation to aim at; the rest absorbs bursts
SHARE = 0.5  # of what is left of the target; requests that come during the call are not known yet and need the rest
SMOOTHING = 0.1  # weight of the newest cost in the mean
TARGETS, SECONDS = 5, 0.5  # rates are means over so many targets, but over at least so many seconds


class Controller:
    """Gives every request a budget: time for the whole ensemble when idle, for naive Bayes alone at the peak.

    A request gets the smallest of three: `most`; its share of what is left of the target when it and all requests
    behind it are answered by naive Bayes; and what keeps the server busy for 80 % of the time at the present rate of
    rows. The second acts at once when a queue builds up, the third is smooth and lets budgets grow back after a peak.

    It reads no clock and starts no thread, so that it can be simulated; times are in seconds, of any monotonic clock.

    Parameters
    ----------
    target : float
        The latency that 99 of 100 requests should keep, from being read to being answered.
    most : float, default=1.0
        The largest budget.

    Examples
    --------
    >>> from tanager.service.controller import Controller
    >>> controller = Controller(target=1.0)
    >>> controller.arrived(n_rows=1, now=0.0)
    >>> controller.budget(n_rows=1, waited=0.0, queued=0, queued_rows=0, now=0.0)  # nothing to do: half of 900 ms
    0.45
    >>> round(controller.budget(n_rows=1, waited=0.7, queued=9, queued_rows=9, now=0.0), 6)  # 200 ms are left for ten
    0.01
    >>> controller.budget(n_rows=1, waited=0.95, queued=9, queued_rows=9, now=0.0)  # late: naive Bayes
    0.0
    """

    def __init__(self, target: float, most: float = 1.0) -> None:
        self.target, self.most = target, most
        span = max(TARGETS * target, SECONDS)
        self._requests, self._rows, self._busy = _Rate(span), _Rate(span), _Rate(span)
        self._overhead, self._naive = _Cost(), _Cost()
        self._began, self._free = math.inf, -math.inf  # when work on this request began; when the one before ended
        self._budget = 0.0

    def arrived(self, n_rows: int, now: float) -> None:
        """A request was read completely and is in the queue."""
        self._requests.add(1, now)
        self._rows.add(n_rows, now)

    def budget(self, n_rows: int, waited: float, queued: int, queued_rows: int, now: float) -> float:
        """Seconds for the model call of the request that is first in the queue; 0 is naive Bayes alone."""
        self._began = max(self._free, now - waited)
        spare = min(self._left(n_rows, waited, queued, queued_rows), self._affordable(n_rows, now))
        naive = self._naive.of(1, n_rows)
        self._budget = min(self.most, spare + naive) if spare > 0 else 0.0
        return self._budget

    def finished(self, n_rows: int, members: float, model_seconds: float, total_seconds: float, now: float) -> None:
        """The response is written: seconds of the model call, and of everything for this request.

        The cost of a request that had to wait begins where the one before it ended: between the two the server was
        reading other requests, and that time is counted nowhere else.
        """
        taken = max(total_seconds, now - self._began)
        granted = model_seconds  # time beyond the budget counts as overhead: a smaller budget would not save it
        if members < 1 or not self._naive.known:  # a member costs about as much as naive Bayes
            self._naive.update(n_rows, model_seconds / (1 + members))
        else:
            granted = min(model_seconds, max(self._budget, self._naive.of(1, n_rows)))
        self._overhead.update(n_rows, max(0.0, taken - granted))
        self._busy.add(taken, now)
        self._began, self._free = math.inf, now

    def status(self, now: float) -> dict[str, float]:
        """The load at present."""
        return {
            "requests_per_second": self._requests.at(now),
            "rows_per_second": self._rows.at(now),
            "utilisation": self._busy.at(now),
            "budget_seconds": self._budget,
            "naive_seconds_per_request": self._cheapest(1, 0),
            "naive_seconds_per_row": self._cheapest(0, 1),
        }

    def _left(self, n_rows: int, waited: float, queued: int, queued_rows: int) -> float:
        """The share of these rows in what is left of the target when all that wait are answered by naive Bayes."""
        left = AIM * self.target - waited - self._cheapest(1 + queued, n_rows + queued_rows)
        return SHARE * left * n_rows / max(n_rows + queued_rows, 1)

    def _affordable(self, n_rows: int, now: float) -> float:
        """What these rows may take beyond naive Bayes when all rows that come take as much."""
        requests, rows = self._requests.at(now), self._rows.at(now)
        spare = BUSY - self._cheapest(requests, rows)
        return n_rows * spare / rows if rows > 0 else math.inf

    def _cheapest(self, requests: float, rows: float) -> float:
        """Seconds that so many requests with so many rows take with naive Bayes alone."""
        return self._overhead.of(requests, rows) + self._naive.of(requests, rows)


class _Rate:
    """Amount per second: an exponentially weighted mean over time."""

    def __init__(self, span: float) -> None:
        self.span, self.sum, self.last = span, 0.0, 0.0

    def add(self, amount: float, now: float) -> None:
        self.sum, self.last = self.span * self.at(now) + amount, now

    def at(self, now: float) -> float:
        return self.sum / self.span * math.exp(min(0.0, self.last - now) / self.span)


class _Cost:
    """Seconds per request and per row, as running estimates.

    Every observed cost moves the two estimates by a step of gradient descent (normalised LMS): single rows mainly move
    the cost of a request, large batches the cost of a row.
    """

    def __init__(self) -> None:
        self.request = self.row = 0.0
        self.known = False

    def of(self, requests: float, rows: float) -> float:
        return requests * self.request + rows * self.row

    def update(self, n_rows: int, seconds: float) -> None:
        step = (seconds - self.of(1, n_rows)) * (SMOOTHING if self.known else 1.0) / (1 + n_rows**2)
        self.request = max(0.0, self.request + step)
        self.row = max(0.0, self.row + step * n_rows)
        self.known = True
