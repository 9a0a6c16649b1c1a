"""Threads that calculate: results in order, and nobody waits for them after Ctrl-C."""

import threading

import pytest

from tanager.threads import others_only_calculate, side_by_side
from waiting import PATIENCE


def test_results_come_in_the_order_of_the_items():
    assert list(side_by_side(str, [[1, 2], [3], [4, 5]], n_threads=2)) == ["1", "2", "3", "4", "5"]


def test_after_ctrl_c_no_item_is_begun_and_no_thread_is_waited_for():
    begun, let_go, ended = [], threading.Event(), threading.Event()

    def work(item):
        if item == "interrupted":
            raise KeyboardInterrupt
        begun.append(item)
        let_go.wait(PATIENCE)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        list(side_by_side(work, [["interrupted"], ["long", "never"]], n_threads=2))
    assert others_only_calculate() or threading.active_count() > 2
    still_at_work = not ended.is_set()
    let_go.set()
    for thread in threading.enumerate():
        if thread.name.startswith("tanager-calculating"):
            thread.join(PATIENCE)
    assert still_at_work
    assert "never" not in begun
