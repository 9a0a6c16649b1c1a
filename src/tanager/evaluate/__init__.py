"""Evaluation: measures of predictions, cross-validation, prequential evaluation, and tests of differences."""

from tanager.evaluate.crossval import cross_validate, cross_validate_all, holdout, leave_one_out
from tanager.evaluate.folds import stratified_folds, stratified_holdout
from tanager.evaluate.left_out_networks import Interval, LeftOutDifference, LeftOutFigures, LeftOutNetworks
from tanager.evaluate.measures import (
    accuracy,
    auc,
    brier,
    calibration_error,
    calibration_of,
    confusion,
    expected_cost,
    fading_mean,
    log_loss,
    measure,
    per_class,
    reliability,
    rmse,
    rmse_full,
    zero_one_loss,
)
from tanager.evaluate.peers import AsNumbers, peer_encodings, peers, stream_peers
from tanager.evaluate.prequential import prequential, prequential_steps
from tanager.evaluate.prequential_results import PrequentialResults
from tanager.evaluate.recommend import Recommendation
from tanager.evaluate.results import Results
from tanager.evaluate.significance import (
    Equivalence,
    Friedman,
    average_ranks,
    corrected_margin,
    corrected_t,
    equivalence,
    friedman,
    geometric_mean_ratio,
    nemenyi,
    ranks,
    sign_test,
    win_draw_loss,
)
from tanager.evaluate.table import Table
from tanager.evaluate.time_limit import TimeLimit

__all__ = [
    "AsNumbers",
    "Equivalence",
    "Friedman",
    "Interval",
    "LeftOutDifference",
    "LeftOutFigures",
    "LeftOutNetworks",
    "PrequentialResults",
    "Recommendation",
    "Results",
    "Table",
    "TimeLimit",
    "accuracy",
    "auc",
    "average_ranks",
    "brier",
    "calibration_error",
    "calibration_of",
    "confusion",
    "corrected_margin",
    "corrected_t",
    "cross_validate",
    "cross_validate_all",
    "equivalence",
    "expected_cost",
    "fading_mean",
    "friedman",
    "geometric_mean_ratio",
    "holdout",
    "leave_one_out",
    "log_loss",
    "measure",
    "nemenyi",
    "peer_encodings",
    "peers",
    "per_class",
    "prequential",
    "prequential_steps",
    "ranks",
    "reliability",
    "rmse",
    "rmse_full",
    "sign_test",
    "stratified_folds",
    "stratified_holdout",
    "stream_peers",
    "win_draw_loss",
    "zero_one_loss",
]
