"""Spark gives the model of one machine for random tables in any partitions, and for every classifier that counts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

import pyspark.sql.functions as f
from hypothesis import HealthCheck, given, settings
from part_tables import alone, assert_same, made, once, parted, table_for

from registry import NAMES, make
from tanager import AODE, KDB, GeneralNetwork, MemoryBudgetError, NetworkForest, SelectiveKDB
from tanager.spark import fit, transform

pytestmark = [
    pytest.mark.long,  # a session takes half a minute to start, and every pass a second
    pytest.mark.filterwarnings("ignore"),  # Spark warns of many things, and leaves sockets open
]
EXAMPLES = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


def by_spark(in_partitions, model, table):
    weight = None if table.weights is None else "weight"
    return fit(model, in_partitions(table.frame(), table.ends), target="class", sample_weight=weight)


def test_partitions_are_as_the_table_is_cut(in_partitions):
    table = table_for("any")
    frame = in_partitions(table.frame(), table.ends)
    assert frame.rdd.getNumPartitions() == len(table.ends) + 1
    sizes = frame.select(f.spark_partition_id().alias("p")).groupBy("p").count().collect()
    cut = [0, *table.ends, len(table.y)]
    assert {row["p"]: row["count"] for row in sizes} == {at: b - a for at, (a, b) in enumerate(pairwise(cut)) if b > a}
    assert frame.toArrow().to_pylist() == table.frame().to_pylist()


@given(table=parted())
@EXAMPLES
def test_any_partitions_give_the_model_of_one_machine(in_partitions, table):
    ours = by_spark(in_partitions, AODE(), table)
    assert_same(ours, alone(AODE(), table), table.X)
    answers = transform(ours, in_partitions(table.frame(), table.ends)).select("probability").toArrow()
    cut = [0, *table.ends, len(table.y)]
    each = [ours.predict_proba(table.X.slice(a, b - a)) for a, b in pairwise(cut) if b > a]
    np.testing.assert_array_equal(np.array(answers["probability"].to_pylist()), np.concatenate(each))


@pytest.mark.parametrize("model", [KDB, SelectiveKDB, GeneralNetwork, NetworkForest])
@given(table=parted(min_rows=5, weighted=True))
@settings(EXAMPLES, max_examples=3)
def test_further_passes_give_the_model_of_one_machine(in_partitions, model, table):
    options = {"n_members": 4} if model is NetworkForest else {}
    assert_same(by_spark(in_partitions, model(**options), table), alone(once(model(**options)), table), table.X)


@pytest.mark.parametrize("name", NAMES)
def test_every_classifier_that_counts_is_that_of_one_machine(in_partitions, name):
    table = table_for(name)
    assert_same(by_spark(in_partitions, make(name, 5), table), alone(once(make(name, 5)), table), table.X)


def test_too_much_memory_in_a_task_is_refused_in_our_words(in_partitions):
    table = made(0, 3000, ["boolean"] * 12, [1400], no_label=False)
    with pytest.raises(MemoryBudgetError, match="rows that differ together, which GeneralNetwork looks at again"):
        by_spark(in_partitions, GeneralNetwork(max_memory=36_000), table)


def test_a_forest_of_rows_that_stay_apart_is_that_of_one_machine(in_partitions):
    table = made(1, 3000, ["number", "few", "whole", "date"], [900, 2000], no_label=False)
    ours = by_spark(in_partitions, NetworkForest(n_members=4, max_memory=40_000), table)
    assert ours.memory.rows is None
    assert_same(ours, alone(NetworkForest(n_members=4), table), table.X)
