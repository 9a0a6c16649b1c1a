"""The history of benchmarks: what is kept, and when a line counts as slower than before."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import history
from benchmarks.harness import Line

ROOT = Path(__file__).parent.parent
RUN = history.Run("2026-01-01 12:00", "abc1234", "a processor, 2 cores, AVX2")
TIME = RUN.record("fit", Line("AODE.fit / a peer", "1 s / 2 s", 0.5, 1.0))
RATE = RUN.record("predict", Line("AODE.predict / a peer", "2 M/s / 1 M/s", 2.0, 1.0, at_most=False))


def runs(record, *ratios):
    return [replace(record, ratio=ratio) for ratio in ratios]


def test_a_time_that_is_larger_than_usual_is_slower():
    words = history.slowdown(replace(TIME, ratio=0.65), runs(TIME, 0.5, 0.51, 0.49))
    assert words == ("1.30 times worse than the median of 3 earlier runs, 0.500; up to 1.20 times may be chance")
    assert not history.slowdown(replace(TIME, ratio=0.59), runs(TIME, 0.5, 0.51, 0.49))  # within a fifth
    assert not history.slowdown(replace(TIME, ratio=0.1), runs(TIME, 0.5, 0.51, 0.49))  # better


def test_a_rate_that_is_smaller_than_usual_is_slower():
    assert history.slowdown(replace(RATE, ratio=1.5), runs(RATE, 2.0, 2.1, 1.9)).startswith("1.33 times worse")
    assert not history.slowdown(replace(RATE, ratio=9.0), runs(RATE, 2.0, 2.1, 1.9))


def test_a_line_that_varies_by_itself_has_a_wider_margin():
    earlier = runs(TIME, 0.3, 0.4, 0.5, 0.6, 0.7)
    assert not history.slowdown(replace(TIME, ratio=1.0), earlier)
    assert history.slowdown(replace(TIME, ratio=1.2), earlier)


def test_one_odd_run_widens_no_margin():
    assert history.slowdown(replace(TIME, ratio=0.7), runs(TIME, 0.5, 0.5, 0.5, 5.0, 0.5))


def test_other_lines_other_machines_and_fewer_than_three_runs_say_nothing():
    worse = replace(TIME, ratio=5.0)
    assert not history.slowdown(worse, runs(TIME, 0.5, 0.5))
    assert not history.slowdown(worse, runs(replace(TIME, machine="another, 8 cores, AVX-512"), 0.5, 0.5, 0.5))
    assert not history.slowdown(worse, runs(replace(TIME, what="TAN.fit / a peer"), 0.5, 0.5, 0.5))
    assert history.slowdown(worse, runs(TIME, 0.5, 0.5, 0.5))


def test_records_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "history.jsonl"
    assert history.read(path) == []
    for record in (TIME, RATE):
        history.add(record, path)
    assert history.read(path) == [TIME, RATE]
    path.write_text(path.read_text() + '{"ratio": 1}\n')
    with pytest.raises(ValueError, match=r"history.jsonl, line 3: not a record .* delete the line"):
        history.read(path)


def test_the_table_marks_what_has_become_slower_and_adds_to_the_history(tmp_path, monkeypatch, capsys):
    table = pytest.importorskip("benchmarks.__main__", reason="the groups of benchmarks need their peers")
    monkeypatch.setattr(history, "REFERENCE", tmp_path / "reference.jsonl")
    monkeypatch.setattr(history, "OWN", tmp_path / "history.jsonl")
    monkeypatch.setattr(table, "GROUPS", {"made up": MadeUp()})
    assert [table.main(), table.main("made"), table.main(keep=True)] == [0, 0, 0]
    assert "All bars are met" in capsys.readouterr().out
    MadeUp.ratio = 0.9
    assert table.main("something else") == 0
    assert table.main() == 1
    printed = capsys.readouterr().out
    assert "0.900  <= 1.000  SLOWER" in printed
    assert "a line / a peer: 1.80 times worse than the median of 3 earlier runs, 0.500" in printed
    assert len(history.read(history.OWN)) == 3
    assert len(history.read(history.REFERENCE)) == 1


class MadeUp:
    ratio = 0.5

    def lines(self):
        return [Line("a line / a peer", "1 s / 2 s", self.ratio, 1.0)]


def test_the_kind_of_machine_is_what_the_processor_calls_itself(tmp_path):
    told = tmp_path / "cpuinfo"
    told.write_text("processor : 0\nmodel name\t: A Processor\nmodel name\t: A Processor\n")
    assert history.processor(told) == "A Processor"
    assert history.processor(tmp_path / "none")
    assert re.fullmatch(r".+, \d+ cores, .*AVX.*", history.machine())


def test_kept_figures_are_in_order():
    kept = history.read(history.REFERENCE)
    assert kept
    assert all(record.ratio > 0 for record in kept)


def test_the_readme_shows_the_figures_of_peers_that_are_kept():
    with (ROOT / "benchmarks" / "peers.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    shown = re.findall(r"^\| (?=tanager|scikit|river|py|pg|Weka)(.*) \|$", (ROOT / "README.md").read_text(), re.M)
    assert [line.split(" | ") for line in shown if len(line.split(" | ")) == 6] == rows
