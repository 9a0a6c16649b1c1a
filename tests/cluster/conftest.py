"""One session of Spark for all tests: it takes half a minute to start."""

from __future__ import annotations

import os
import sys
from itertools import pairwise

import pytest


@pytest.fixture(scope="session")
def spark():
    """One session for all tests; tasks may fail twice."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers take another Python
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2,3]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def in_partitions(spark):
    """Makes a frame of an Arrow table with partitions that end at these rows, in their order, some of them empty.

    A union of frames would not do: Spark may put those of one partition each together.
    """

    def frame(table, ends):
        edges = [0, *ends, len(table)]
        parts = [table.slice(start, stop - start).to_batches() for start, stop in pairwise(edges)]

        def own(batches):
            for batch in batches:
                for at in batch.column(0).to_pylist():
                    yield from parts[at]

        schema = spark.createDataFrame(table.slice(0, 1)).schema
        return spark.range(0, len(parts), 1, len(parts)).mapInArrow(own, schema)

    return frame
