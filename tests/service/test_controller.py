"""Budgets from the load, judged by a simulation of one server: full when idle, naive at the peak, always on time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation import Full, Machine, Naive, poisson, simulate

from tanager.service.controller import Controller

TARGET = 0.05
MACHINE = Machine(full=10e-3)  # naive Bayes alone keeps up with 2,280 requests a second, all members with 96
CAPACITY = 1 / MACHINE.cheapest


def p99(latency):
    return np.quantile(latency, 0.99)


@pytest.mark.parametrize("blocking", [False, True], ids=["seen at once", "seen after the call"])
@pytest.mark.parametrize("load", [0.005, 0.05, 0.2, 0.5, 0.8, 0.93])
def test_99_of_100_answers_keep_the_target_wherever_naive_bayes_keeps_up(load, blocking):
    machine = Machine(full=MACHINE.full, blocking=blocking)
    sent = poisson(load * CAPACITY, 8)
    assert p99(simulate(Naive(), sent, machine=machine).latency) < TARGET / 2
    assert p99(simulate(Controller(TARGET), sent, machine=machine).latency) < TARGET


def test_between_the_two_it_uses_the_time_that_naive_bayes_wastes_and_all_members_do_not_have():
    sent = poisson(0.1 * CAPACITY, 10)
    ours, full, naive = (simulate(policy, sent, machine=MACHINE) for policy in (Controller(TARGET), Full(), Naive()))
    assert p99(naive.latency) < p99(ours.latency) < TARGET < p99(full.latency) / 100
    spare = 0.8 / (0.1 * CAPACITY) - MACHINE.cheapest  # seconds per request at four fifths of the time
    assert np.mean(ours.share) == pytest.approx(spare / MACHINE.full, rel=0.1)


def test_all_members_answer_when_idle():
    seen = simulate(Controller(TARGET), poisson(10, 30), machine=MACHINE)
    assert np.mean(seen.share) > 0.99
    assert p99(seen.latency) < TARGET


def test_naive_bayes_answers_at_the_peak():
    seen = simulate(Controller(TARGET), poisson(0.9 * CAPACITY, 5), machine=MACHINE)
    assert np.mean(seen.between(1, 5)[1]) < 0.001


def test_more_load_means_fewer_members():
    rates = CAPACITY * np.array([0.01, 0.05, 0.1, 0.2, 0.4, 0.7])
    shares = [np.mean(simulate(Controller(TARGET), poisson(rate, 5), machine=MACHINE).share) for rate in rates]
    assert shares == sorted(shares, reverse=True)


def test_a_burst_is_met_at_once_and_members_come_back_after_it():
    quiet, peak, again = poisson(20, 5), poisson(0.9 * CAPACITY, 3, start=5, seed=1), poisson(20, 6, start=8, seed=2)
    seen = simulate(Controller(TARGET), np.concatenate([quiet, peak, again]), machine=MACHINE)
    assert p99(seen.between(5, 5.5)[0]) < TARGET
    assert np.mean(seen.between(0, 5)[1]) > 0.99
    assert np.mean(seen.between(11, 14)[1]) > 0.99
    coming_back = [np.mean(seen.between(start, start + 0.5)[1]) for start in (8, 8.5, 9, 9.5, 10)]
    assert coming_back == sorted(coming_back)


@pytest.mark.parametrize("every", [0.2, 0.5, 1.0])
def test_bursts_of_forty_requests_at_once_keep_the_target(every):
    sent = np.sort(np.concatenate([np.repeat(np.arange(0, 10, every), 40), poisson(50, 10)]))
    seen = simulate(Controller(TARGET), sent, machine=MACHINE)
    assert p99(seen.latency) < TARGET
    assert np.mean(seen.share) > 0.02


def test_peaks_that_come_and_go_keep_the_target():
    phases = [(0.9 * CAPACITY, 0.2), (20, 0.8)] * 8
    starts = np.cumsum([0, *(seconds for _, seconds in phases)])
    parts = [
        poisson(*phase, start=start, seed=seed) for seed, (phase, start) in enumerate(zip(phases, starts, strict=False))
    ]
    assert p99(simulate(Controller(TARGET), np.concatenate(parts), machine=MACHINE).latency) < TARGET


def test_large_and_small_requests_share_the_time_by_their_rows():
    sent = poisson(300, 10)
    rows = np.random.default_rng(0).choice([1, 1, 1, 1, 1, 10, 100], len(sent))
    seen = simulate(Controller(TARGET), sent, rows, Machine(full=2e-3))
    assert p99(seen.latency) < TARGET
    small, large = (np.array(seen.share)[rows == n].mean() for n in (10, 100))
    assert small == pytest.approx(large, rel=0.5)


def test_budgets_are_steady_under_a_steady_load():
    seen = simulate(Controller(TARGET), np.arange(0, 10, 1 / (0.1 * CAPACITY)), machine=MACHINE)
    settled = np.array(seen.budget)[len(seen.budget) // 2 :]
    assert settled.std() < 0.02 * settled.mean()


def test_time_between_two_answers_is_part_of_their_cost():
    """An event loop reads requests between two answers; nobody reports that, but it is gone."""
    controller, now = Controller(TARGET), 0.0
    for _ in range(200):
        controller.arrived(1, now)
        controller.budget(1, waited=0.004, queued=3, queued_rows=3, now=now + 0.002)  # it waited all the time
        now += 0.003
        controller.finished(1, members=0, model_seconds=1e-4, total_seconds=1e-3, now=now)
    status = controller.status(now)
    assert status["naive_seconds_per_request"] + status["naive_seconds_per_row"] == pytest.approx(0.003, rel=1e-3)
    assert status["utilisation"] == pytest.approx(1.0, rel=0.4)


def test_calls_that_exceed_their_budgets_get_smaller_ones():
    """As on a machine that has other things to do; the server must not be busier for it."""
    sent = poisson(0.05 * CAPACITY, 20)
    exact, late = (simulate(Controller(TARGET), sent, machine=Machine(full=10e-3, overrun=s)) for s in (0.0, 3e-3))
    assert late.busy / 20 < 0.85
    assert np.mean(late.budget) < np.mean(exact.budget) - 2e-3
    assert p99(late.latency) < TARGET


def test_costs_of_requests_and_of_rows_are_told_apart():
    controller = Controller(TARGET)
    rng = np.random.default_rng(0)
    for n in rng.choice([1, 20], 2000).tolist():
        controller.finished(n, members=0, model_seconds=1e-4 * n, total_seconds=2e-3 + 3e-4 * n, now=0.0)
    status = controller.status(0.0)
    assert status["naive_seconds_per_request"] == pytest.approx(2e-3, rel=0.05)
    assert status["naive_seconds_per_row"] == pytest.approx(3e-4, rel=0.05)


def test_the_largest_budget_is_never_exceeded():
    controller = Controller(target=10.0, most=0.2)
    assert controller.budget(1, waited=0.0, queued=0, queued_rows=0, now=0.0) == 0.2


def test_a_budget_includes_what_naive_bayes_takes():
    controller = Controller(TARGET)
    controller.finished(1, members=0, model_seconds=0.004, total_seconds=0.005, now=0.0)
    assert controller.budget(1, waited=0.0, queued=0, queued_rows=0, now=9.0) == pytest.approx(
        (0.045 - 0.005) / 2 + 0.004
    )


def test_the_status_tells_the_load():
    controller = Controller(TARGET)
    for now in np.arange(0, 5, 0.01).tolist():
        controller.arrived(3, now)
    status = controller.status(5.0)
    assert status["requests_per_second"] == pytest.approx(100, rel=0.05)
    assert status["rows_per_second"] == pytest.approx(300, rel=0.05)
    assert controller.status(500.0)["rows_per_second"] < 1e-9


@given(
    requests=st.lists(
        st.tuples(st.integers(1, 500), st.floats(0, 0.1), st.floats(0, 0.1), st.integers(0, 60)), max_size=20
    ),
    n_rows=st.integers(1, 500),
    waited=st.floats(0, 0.1),
    queued=st.integers(0, 50),
    more=st.integers(1, 50),
)
def test_whoever_waits_longer_or_has_more_behind_gets_no_more_time(requests, n_rows, waited, queued, more):
    controller, now = Controller(TARGET, most=0.04), 0.0
    for n, gap, model_seconds, members in requests:
        now += gap
        controller.arrived(n, now)
        controller.finished(n, members, model_seconds, model_seconds + 1e-3, now)
    budgets = [
        controller.budget(n_rows, wait, behind, behind, now)
        for wait, behind in ((waited, queued), (waited, queued + more), (waited + 0.001 * more, queued))
    ]
    assert all(0 <= budget <= 0.04 for budget in budgets)
    assert max(budgets) == budgets[0]
