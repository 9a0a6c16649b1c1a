"""Classifiers of scikit-learn and river to compare with: any table as numbers, and a few baselines ready to use."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np

from tanager.encoding import Encoder
from tanager.errors import OptionError
from tanager.estimator import Transformer


class AsNumbers(Transformer):
    """Any table as numbers, for classifiers that take nothing else.

    Numeric columns stay as they are, with NaN for missing cells; a category becomes one column of zeros and ones per
    value, or its code.

    Parameters
    ----------
    one_hot : bool, default=True
        One column per value. False: one column of codes, NaN where missing or unseen.
    fill : bool, default=False
        Impute missing numbers by the median of the column, for classifiers that refuse NaN.
    max_values : int, default=100
        The most columns that a category becomes; of more values, the rarest share one.
    categorical, numeric
        Columns whose kind is given, as in ``Encoder``.

    Examples
    --------
    >>> AsNumbers().fit_transform({"sky": ["sun", "rain", None], "degrees": [21.5, None, 9.0]})
    array([[ 1. ,  0. , 21.5],
           [ 0. ,  1. ,  nan],
           [ 0. ,  0. ,  9. ]])
    """

    def __init__(
        self,
        one_hot: bool = True,
        fill: bool = False,
        categorical: Any = None,
        numeric: Any = None,
        max_values: int = 100,
    ) -> None:
        self.one_hot = one_hot
        self.fill = fill
        self.max_values = max_values
        self.categorical = categorical
        self.numeric = numeric

    def fit(self, X: Any, y: Any = None) -> AsNumbers:
        """Learn the kinds and values of the columns.

        Parameters
        ----------
        X : table
            Any table that ``Encoder`` takes.
        y : any, default=None
            Not used.

        Returns
        -------
        AsNumbers
            Itself.
        """
        options: dict[str, Any] = {"categorical": self.categorical, "numeric": self.numeric, "continuous": True}
        if self.one_hot:
            options["max_values"] = self.max_values
        self.encoder_ = Encoder(**options).learn(X)
        numbers = self.encoder_.continuous_values(X)
        self.empty_ = np.isnan(numbers).all(axis=0)
        self.medians_ = np.nanmedian(np.where(self.empty_, 0.0, numbers), axis=0) if numbers.size else np.zeros(0)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn the kinds and values of the columns, and give the numbers of the same rows.

        Parameters
        ----------
        X : table
            Any table that ``Encoder`` takes.
        y : any, default=None
            Not used.

        Returns
        -------
        array of float of shape (n_rows, n_numbers)
            One row for each row of the table.
        """
        return self.fit(X, y).transform(X)

    def transform(self, X: Any) -> np.ndarray:
        """The numbers, one row each.

        Parameters
        ----------
        X : table
            With the columns that were learned.

        Returns
        -------
        array of float of shape (n_rows, n_numbers)
            One row for each row of the table.
        """
        codes = self.encoder_.encode(X)
        numbers = self.encoder_.continuous_values(X)
        if self.fill:
            numbers = np.where(np.isnan(numbers), self.medians_, numbers)
        numbers[:, self.empty_] = 0.0  # gradient boosting fails where a column has never had a value
        missing = np.iinfo(codes.dtype).max
        parts, taken = [], 0
        for i, column in enumerate(self.encoder_.schema.columns):
            if column.kind == "continuous":
                parts.append(numbers[:, [taken]])
                taken += 1
            elif self.one_hot:
                parts.append((codes[:, [i]] == np.arange(column.n_values)).astype(float))
            elif column.n_values == 0:
                parts.append(np.zeros((len(codes), 1)))
            else:
                parts.append(np.where(codes[:, [i]] == missing, np.nan, codes[:, [i]].astype(float)))
        return np.hstack(parts)


def peers(categorical: Any = None, numeric: Any = None) -> dict[str, Any]:
    """Well-known classifiers of scikit-learn by name, each ready for any table.

    Parameters
    ----------
    categorical : list of column names or places, "all" or None, default=None
        Columns that hold categories, as in ``Encoder``.
    numeric : list of column names or places, or None, default=None
        Columns that hold numbers, as in ``Encoder``.

    Returns
    -------
    dict of name to pipeline
        Classifiers of scikit-learn behind ``AsNumbers``, not fitted.

    Examples
    --------
    >>> sorted(peers())
    ['boosted', 'forest', 'gradient', 'logistic', 'tree']
    """
    from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    kinds = {"categorical": categorical, "numeric": numeric}
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    boosted = AdaBoostClassifier(tree, n_estimators=10, random_state=0)
    return {
        "tree": make_pipeline(AsNumbers(**kinds), tree),
        "boosted": make_pipeline(AsNumbers(fill=True, **kinds), boosted),
        "forest": make_pipeline(AsNumbers(**kinds), RandomForestClassifier(random_state=0)),
        "gradient": make_pipeline(AsNumbers(one_hot=False, **kinds), HistGradientBoostingClassifier(random_state=0)),
        "logistic": make_pipeline(AsNumbers(fill=True, **kinds), StandardScaler(), LogisticRegression(max_iter=1000)),
    }


_GAPS_STAY = "numbers as they are, gaps too; for a category one column per value"
_GAPS_FILLED = "gaps in numbers filled with the median; for a category one column per value"
_ENCODINGS = {
    "tree": _GAPS_STAY,
    "boosted": _GAPS_FILLED,
    "forest": _GAPS_STAY,
    "gradient": "numbers as they are, gaps too; categories as codes",
    "logistic": f"{_GAPS_FILLED}; all scaled",
}


def peer_encodings(names: Iterable[str]) -> list[str]:
    """How these peers see a table, in a line for each way.

    Parameters
    ----------
    names : iterable of str
        Names of ``peers``.

    Returns
    -------
    list of str
        Names and what they see.

    Examples
    --------
    >>> peer_encodings(["forest", "tree", "gradient"])
    ['forest, tree: numbers as they are, gaps too; for a category one column per value', \
'gradient: numbers as they are, gaps too; categories as codes']
    """
    by_text: dict[str, list[str]] = {}
    for name in names:
        by_text.setdefault(_ENCODINGS[name], []).append(name)
    return [f"{', '.join(own)}: {text}" for text, own in by_text.items()]


def stream_peers() -> dict[str, Any]:
    """Well-known classifiers of river by name, each ready for any stream; ``river-last`` predicts the last label.

    Needs river, the extra ``river``.

    Returns
    -------
    dict of name to classifier
        Classifiers of river that have learned nothing.

    Examples
    --------
    >>> sorted(stream_peers())
    ['river-arf', 'river-hat', 'river-ht', 'river-last', 'river-nb']
    """
    try:
        from river import compose, dummy, forest, naive_bayes, preprocessing, tree
    except ImportError:
        raise OptionError("river is not installed. Install it with: pip install 'tanager[river]'") from None
    bayes: Any = naive_bayes  # without types
    texts: Any = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return {
        "river-nb": (compose.SelectType(Number) + texts) | bayes.GaussianNB(),
        "river-ht": tree.HoeffdingTreeClassifier(),
        "river-hat": tree.HoeffdingAdaptiveTreeClassifier(seed=0),
        "river-arf": forest.ARFClassifier(seed=0),
        "river-last": dummy.NoChangeClassifier(),
    }
