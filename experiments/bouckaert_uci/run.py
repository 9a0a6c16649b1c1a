"""What is run: 28 data sets, the classifiers of the source, and variants of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tanager import AODE, FANC, SPC, TAN, TC, NaiveBayes

SETS = {  # as the source calls them: as we do
    "anneal": "anneal",
    "balance scale": "balance-scale",
    "breast cancer": "breast-cancer",
    "wisconsin breast cancer": "breast-w",
    "horse colic": "horse-colic",
    "creditrating": "credit-a",
    "german credit": "credit-g",
    "pima diabetes": "diabetes",
    "glass": "glass",
    "cleveland heart-disease": "heart-c",
    "hungarian heart-disease": "heart-h",
    "heart-statlog": "heart-statlog",
    "hepatitis": "hepatitis",
    "hypothyroid": "hypothyroid",
    "ionosphere": "ionosphere",
    "iris": "iris",
    "kr-vs-kp": "kr-vs-kp",
    "labor": "labor",
    "lymphography": "lymph",
    "primary-tumor": "primary-tumor",
    "segment": "segment",
    "sonar": "sonar",
    "soybean": "soybean",
    "vehicle": "vehicle",
    "vote": "vote",
    "vowel": "vowel",
    "waveform": "waveform-5000",
    "zoo": "zoo",
}
BINS: dict[str, Any] = {"bins": "width", "n_bins": 3}
ORDERS = ("ig_sum", "ig_class", "mi", "random")
LIMITS = (1, 2, 4, 6, 8)


def seven(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The classifiers of the source."""
    return {
        "NB": NaiveBayes(**columns),
        "TAN": TAN(**columns),
        "AODE": AODE(**columns),
        "FANC": FANC(**columns),
        "SPC": SPC(**columns),
        "SPCr": SPC(super_parent="refined", **columns),
        "TC": TC(**columns),
    }


def variants(columns: Mapping[str, Any]) -> dict[str, Any]:
    """SPCr as published, other orders of the columns, and fewer columns that may be parents."""
    return {
        "SPCr resub": SPC(super_parent="refined", select="resub", **columns),
        **{f"FANC {order}": FANC(column_order=order, random_state=0, **columns) for order in ORDERS},
        **{f"SPC {order}": SPC(column_order=order, **columns) for order in ("ig_sum", "mi")},
        **{f"TC {order}": TC(column_order=order, **columns) for order in ("ig_sum", "mi")},
        **{f"FANC first {k}": FANC(max_parents_from=k, **columns) for k in LIMITS},
    }


def models(data: Any) -> dict[str, Any]:
    """All of them, for one data set: three bins of equal width, missing cells stay missing."""
    columns = {**data.options, **BINS}
    return {**seven(columns), **variants(columns)}
