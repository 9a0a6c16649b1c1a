"""The shape that ``pyspark.ml`` expects: an Estimator that makes a Model, for Pipelines, CrossValidator and folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyspark.sql.functions as f
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasPredictionCol, HasProbabilityCol, HasWeightCol
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter

from tanager.classifiers.aode import AODE
from tanager.cluster import MOST_DISTINCT
from tanager.errors import OptionError
from tanager.estimator import clone
from tanager.persist import from_bytes, to_bytes
from tanager.spark import frames


class _Shared(
    HasFeaturesCol, HasLabelCol, HasWeightCol, HasPredictionCol, HasProbabilityCol, MLWritable, MLReadable[Any]
):
    """Params of the estimator and of its model."""

    featuresCols: Any = Param(
        Params._dummy(), "featuresCols", "columns to learn from, of any type; in place of featuresCol"
    )

    def features(self, columns: Sequence[str]) -> list[str] | str:
        """The columns to learn from: those named, a column of vectors, or all but labels and weights."""
        if self.isSet(self.featuresCols):
            return list(self.getOrDefault(self.featuresCols))
        if self.isSet(self.featuresCol) or self.getFeaturesCol() in columns:
            return self.getFeaturesCol()
        beside = {self.getLabelCol(), *([self.getWeightCol()] if self.isSet(self.weightCol) else [])}
        return [name for name in columns if name not in beside]

    def write(self) -> MLWriter:
        """A writer: a folder with the params, and the classifier as the bytes of a model file."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """A reader of such a folder."""
        return _Reader(cls)


class TanagerClassifier(Estimator[Any], _Shared):
    """Any classifier that counts, as an Estimator.

    Parameters
    ----------
    classifier : classifier, default=AODE()
        What to fit; a Param, so that a grid may hold several: ``addGrid(estimator.classifier, [AODE(), TAN()])``.
    features_col : list of names or str, default="features"
        A list of columns of any type: text, numbers, booleans, dates, with nulls. One name is that of a column of
        vectors. Where there is no such column, all but the labels and weights are learned from.
    label_col, weight_col, prediction_col, probability_col : str
        Names of columns, as everywhere in ``pyspark.ml``. Labels may be text; the answers then are, too. Answers
        to labels that are numbers are doubles.
    max_distinct : int, default=20,000
        See ``tanager.cluster.fit``.
    """

    classifier: Any = Param(Params._dummy(), "classifier", "the classifier to fit")
    maxDistinct: Any = Param(Params._dummy(), "maxDistinct", "distinct cells up to which the schema is exact")

    def __init__(
        self,
        classifier: Any = None,
        *,
        features_col: Sequence[str] | str | None = None,
        label_col: str = "label",
        weight_col: str | None = None,
        prediction_col: str = "prediction",
        probability_col: str = "probability",
        max_distinct: int = MOST_DISTINCT,
    ) -> None:
        super().__init__()
        self._setDefault(maxDistinct=MOST_DISTINCT)
        if features_col is not None:
            self._set(**{"featuresCol" if isinstance(features_col, str) else "featuresCols": features_col})
        if weight_col is not None:
            self._set(weightCol=weight_col)
        self._set(classifier=AODE() if classifier is None else classifier, maxDistinct=max_distinct)
        self._set(labelCol=label_col, predictionCol=prediction_col, probabilityCol=probability_col)

    def _fit(self, dataset: Any) -> TanagerModel:
        fitted = frames.fit(
            clone(self.getOrDefault(self.classifier)),
            dataset,
            target=self.getLabelCol(),
            features=self.features(dataset.columns),
            sample_weight=self.getWeightCol() if self.isSet(self.weightCol) else None,
            max_distinct=self.getOrDefault(self.maxDistinct),
        )
        return self._copyValues(TanagerModel(fitted))


class TanagerModel(Model, _Shared):
    """A fitted classifier: ``transform`` adds its answers, and ``classifier`` is the classifier itself."""

    def __init__(self, classifier: Any = None) -> None:
        super().__init__()
        self.classifier = classifier

    @property
    def numClasses(self) -> int:
        """Number of classes."""
        return len(self.classifier.classes_)

    def _transform(self, dataset: Any) -> Any:
        schema = self.classifier.encoder_.schema
        named = hasattr(self.classifier, "feature_names_in_")
        features = None if named else self.getFeaturesCol()
        prediction, probability = self.getPredictionCol(), self.getProbabilityCol()
        source, beside = dataset, None
        if features is not None:
            beside = f"{features}-as-array"
            source = frames.with_arrays(dataset.withColumn(beside, f.col(features)), beside)
        names = [beside] if beside is not None else list(schema.learned_names)
        answered = frames.transform(
            self.classifier, source, prediction=prediction, probability=probability, features=beside
        )
        answered = answered.withColumn(probability, array_to_vector(f.col(probability)))
        if self.classifier.classes_.dtype.kind in "iuf":
            answered = answered.withColumn(prediction, f.col(prediction).cast("double"))
        return answered.drop(*names) if beside is not None else answered


# --- folders --------------------------------------------------------------------------------------------------------

_HELD = "classifier"  # what is no plain data among the params


class _Writer(MLWriter):
    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Params beside the bytes of a model file, in any file system that Spark can write to."""
        own = self.instance
        params = {
            param.name: own.getOrDefault(param) for param in own.params if own.isSet(param) and param.name != _HELD
        }
        DefaultParamsWriter.saveMetadata(own, path, self.sparkSession, paramMap=params)
        held = own.classifier if isinstance(own, TanagerModel) else own.getOrDefault(own.classifier)
        rows = self.sparkSession.createDataFrame([(bytearray(to_bytes(held)),)], "model binary")
        rows.coalesce(1).write.parquet(f"{path}/data")


class _Reader(MLReader[Any]):
    def __init__(self, cls: type) -> None:
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        """What was saved in a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        if not metadata["class"].endswith(self.cls.__name__):
            raise OptionError(f"{path!r} holds a {metadata['class']}, not a {self.cls.__name__}.")
        rows = self.sparkSession.read.parquet(f"{path}/data").collect()
        own = self.cls(from_bytes(bytes(rows[0]["model"]), repr(path)))
        own._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(own, metadata)
        return own
