"""Classifiers learn from and answer to Spark frames; the extra ``spark`` brings what is needed but Java 17.

``fit`` and ``transform`` take any frame. ``TanagerClassifier`` is the same as an Estimator of ``pyspark.ml``, for
Pipelines and CrossValidator; ``learn_stream`` is a query of Structured Streaming that learns, and ``transform`` takes
streams as well. Nothing here uses ``.rdd``: Spark Connect will do.
"""

try:
    import pyspark as _  # noqa: F401
except ImportError as error:
    raise ImportError(
        "tanager.spark needs PySpark. Install the extra: pip install 'tanager[spark]'. Spark itself needs Java 17."
    ) from error

from tanager.spark.estimator import TanagerClassifier, TanagerModel
from tanager.spark.frames import fit, transform, update
from tanager.spark.stream import BatchLearner, learn_stream

__all__ = ["BatchLearner", "TanagerClassifier", "TanagerModel", "fit", "learn_stream", "transform", "update"]
