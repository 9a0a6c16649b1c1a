"""Spark gives the schema, counts and answers of one machine, in Pipelines and streams, and after tasks that die."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

import pyspark.sql.functions as f
from click.testing import CliRunner
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

from registry import small_table
from tanager import AODE, KDB, TAN, DataError, DataWarning, NaiveBayes, OptionError, SchemaMismatch, load
from tanager.cli.main import main
from tanager.spark import BatchLearner, TanagerClassifier, fit, learn_stream, transform

pytestmark = [
    pytest.mark.long,  # a session takes half a minute to start
    pytest.mark.filterwarnings("ignore"),  # Spark warns of many things, and leaves sockets open
]


def some_rows(n=600, seed=0):
    """All kinds of columns, with nulls, and rows without a label."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, 3, n))  # so that partitions hold one class
    day = datetime.date(2026, 1, 1)
    colours = ["red", "green", "blue", None, "grey"]
    return pa.table(
        {
            "x": rng.normal(size=n) + y,
            "n": pa.array([None if v == 7 else int(v) for v in rng.integers(0, 50, n) + y], pa.int64()),
            "colour": [colours[v % 5] for v in y + rng.integers(0, 3, n) + (np.arange(n) > n // 2)],
            "wet": rng.random(n) < 0.2 + 0.2 * y,
            "day": [day + datetime.timedelta(int(v)) for v in rng.integers(0, 40, n)],
            "class": [None if r % 50 == 49 else f"k{v}" for r, v in enumerate(y)],
            "number": y.astype(float),
        }
    )


SKEWED = [1, 1, 5, 200, 200]  # partitions of very different sizes, some of them empty


def test_frames_give_the_model_of_one_machine(in_partitions):
    frame = in_partitions(some_rows(), SKEWED).cache()
    whole = frame.toArrow()
    X = whole.drop_columns(["class", "number"])
    ours = fit(AODE(), frame, target="class", drop=["number"])
    one = AODE().fit(X, whole["class"])
    assert ours.encoder_.schema == one.encoder_.schema
    assert ours.counts_ == one.counts_
    assert ours.target_name_ == "class"
    answers = transform(ours, frame).toArrow()
    np.testing.assert_allclose(np.array(answers["probability"].to_pylist()), one.predict_proba(X), rtol=1e-14)
    assert answers["prediction"].to_pylist() == one.predict(X).tolist()
    assert transform(ours, frame.where(f.lit(False))).count() == 0


def test_families_of_a_structure_are_counted_in_a_third_pass(in_partitions):
    frame = in_partitions(some_rows(), SKEWED).cache()
    whole = frame.toArrow()
    ours = fit(KDB(), frame, target="class", sample_weight="number")
    X = whole.drop_columns(["class", "number"])
    one = KDB(refresh=float("inf")).fit(X, whole["class"], whole["number"].to_numpy())
    assert ours.counts_ == one.counts_


def test_what_cannot_be_used_is_refused_in_our_words(spark):
    frame = spark.createDataFrame(some_rows(40))
    with pytest.raises(SchemaMismatch, match=r"no column 'clas'\. Did you mean 'class'"):
        fit(AODE(), frame, target="clas")
    with pytest.raises(OptionError, match="holds no vectors"):
        fit(AODE(), frame, target="class", features="x")
    with pytest.raises(OptionError, match="learned side by side"):
        fit(AODE(decay=100), frame, target="class")
    with pytest.raises(DataError, match="Unknown label type: continuous"):
        fit(AODE(), frame, target="x")


def test_a_task_that_dies_is_done_again_and_no_row_counts_twice(spark, tmp_path):
    table = some_rows(300)
    folder = str(tmp_path)

    def dies_once(batches):
        from pyspark import TaskContext

        task = TaskContext.get()
        mark = Path(folder, f"{task.stageId()}-{task.partitionId()}")
        yield from batches
        if not mark.exists():  # all rows were counted by then
            mark.touch()
            raise OSError("this worker has lost its disk")

    frame = spark.createDataFrame(table).repartition(3)
    shaky = frame.mapInArrow(dies_once, frame.schema)
    ours = fit(NaiveBayes(), shaky, target="class")
    assert len(list(tmp_path.iterdir())) >= 6  # in both passes
    assert ours.counts_.n_rows == 300 - table["class"].null_count
    one = NaiveBayes().fit(table.drop_columns(["class"]), table["class"])
    np.testing.assert_array_equal(ours.counts_.class_counts, one.counts_.class_counts)


def test_pipelines_with_vectors_are_fitted_saved_and_loaded(spark, tmp_path):
    frame = spark.createDataFrame(some_rows(300).select(["x", "wet", "number"])).cache()
    whole = frame.toArrow()
    vectors = VectorAssembler(inputCols=["x", "wet"], outputCol="features")
    pipeline = Pipeline(stages=[vectors, TanagerClassifier(TAN(), label_col="number")])
    pipeline.save(str(tmp_path / "pipeline"))
    fitted = Pipeline.load(str(tmp_path / "pipeline")).fit(frame)
    fitted.write().overwrite().save(str(tmp_path / "fitted"))
    answers = PipelineModel.load(str(tmp_path / "fitted")).transform(frame).collect()
    X = np.column_stack([whole["x"].to_numpy(), whole["wet"].to_numpy(zero_copy_only=False).astype(float)])
    one = TAN().fit(X, whole["number"].to_numpy())
    proba = np.array([row["probability"].toArray() for row in answers])
    np.testing.assert_allclose(proba, one.predict_proba(X), rtol=1e-14)
    assert [row["prediction"] for row in answers] == one.predict(X).tolist()


def test_cross_validation_chooses_among_classifiers(spark):
    X, y = small_table(120)
    codes = np.unique(y, return_inverse=True)[1].astype(float)
    frame = spark.createDataFrame(pa.table({"x0": X[:, 0].astype(float), "x2": X[:, 2].astype(str), "label": codes}))
    estimator = TanagerClassifier(features_col=["x0", "x2"])
    grid = ParamGridBuilder().addGrid(estimator.classifier, [NaiveBayes(categorical=["x0"]), AODE()]).build()
    judge = MulticlassClassificationEvaluator(metricName="logLoss")
    chosen = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=judge, numFolds=2, seed=1).fit(
        frame.coalesce(1).cache()
    )
    assert isinstance(chosen.bestModel.classifier, AODE)


def test_a_stream_is_learned_exactly_once_across_restarts(spark, tmp_path):
    table = some_rows(300).drop_columns(["number"])
    source, state = tmp_path / "rows", tmp_path / "state"
    source.mkdir()
    schema = spark.createDataFrame(table.slice(0, 1)).schema

    def run(rows):
        pq.write_table(rows, source / f"{len(list(source.iterdir()))}.parquet")
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
        query = learn_stream(NaiveBayes(), stream, state, target="class").trigger(availableNow=True).start()
        query.awaitTermination()
        return BatchLearner(NaiveBayes(), state / "models", target="class")

    first = run(table.slice(0, 180))
    assert first.last_batch == 0
    second = run(table.slice(180))  # another query, as after a restart
    assert second.last_batch == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        one = NaiveBayes().fit(table.slice(0, 180).drop_columns(["class"]), table["class"].slice(0, 180))
        one.partial_fit(table.slice(180).drop_columns(["class"]), table["class"].slice(180))
    assert second.model.counts_ == one.counts_
    again = spark.createDataFrame(table.slice(180))
    second(again, 1)  # Spark was not sure whether this one was done
    assert second.model.counts_ == one.counts_
    stream = spark.readStream.schema(schema).parquet(str(source))
    answers = transform(second.model, stream).writeStream.format("memory").queryName("answers")
    answers.trigger(availableNow=True).start().awaitTermination()
    assert spark.table("answers").count() == 300
    (state / "checkpoint").rename(tmp_path / "lost")
    with pytest.raises(OptionError, match="its checkpoint is gone"):
        learn_stream(NaiveBayes(), stream, state, target="class")


def test_a_folder_is_learned_by_the_command(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows").mkdir()
    table = some_rows(200).drop_columns(["number", "day"])
    for at in (0, 120):
        pq.write_table(table.slice(at, 120), f"rows/part-{at}.parquet")
    done = CliRunner().invoke(main, ["fit", "rows", "--target", "class", "--model", "nb", "--engine", "spark"])
    assert done.exit_code == 0, done.output
    assert load("rows.tanager").counts_.n_rows == 200 - table["class"].null_count


CONNECT = """
import numpy as np, pyarrow as pa
from pyspark.sql import SparkSession
from tanager import AODE
from tanager.spark import TanagerClassifier, fit, transform
builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 300)
text = [["a", "b", None][v] for v in y + rng.integers(0, 2, 300)]
table = pa.table({"x": rng.normal(size=300) + y, "c": text, "label": y})
frame = spark.createDataFrame(table).repartition(2)
whole = frame.toArrow()
model = fit(AODE(), frame, target="label")
assert model.counts_ == AODE().fit(whole.drop_columns(["label"]), whole["label"]).counts_
assert transform(model, frame).count() == 300
assert TanagerClassifier(AODE(), features_col=["x", "c"]).fit(frame).transform(frame).count() == 300
spark.stop()
print(type(spark).__module__)
"""


def test_spark_connect_will_do(tmp_path):
    own = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", CONNECT], cwd=tmp_path, env=own, capture_output=True, text=True)
    assert done.stdout.strip().endswith("pyspark.sql.connect.session"), done.stderr[-2000:]
