"""Independence tests: small frozen objects that decide by the mutual information of two variables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from tanager.counts.sample import Information
from tanager.errors import OptionError, check_option, is_number


def brief(value: Any) -> str:
    """The repr of a dataclass, with the options that differ from their defaults."""
    own = [(item.name, getattr(value, item.name), item.default) for item in fields(value)]
    return f"{type(value).__name__}({', '.join(f'{name}={now!r}' for name, now, default in own if now != default)})"


@dataclass(frozen=True, repr=False)
class Threshold:
    """Independent where the information is at most ``tau`` nats, however many rows there are.

    Choose it to look for strong dependences rather than for significant ones: with a million rows every weak dependence
    is significant. 0.01 is the common choice, and 0 is right for exact distributions. Under independence about
    ``df / (2 rows)`` nats are expected by chance; a threshold below that keeps noise.

    Parameters
    ----------
    tau : float, default=0.01
        In nats; multiply a threshold in bits by log 2.

    Examples
    --------
    >>> from tanager import Sample, Threshold
    >>> same = Sample.of([["sun"], ["sun"], ["rain"], ["rain"]], ["play", "play", "stay", "stay"]).information(0, 1)
    >>> Threshold(0.01).independent(same), Threshold(0.01).text(same)
    (False, 'I = 0.6931 > 0.01')
    """

    tau: float = 0.01

    __repr__ = brief

    def __post_init__(self) -> None:
        if not is_number(self.tau, 0):
            raise OptionError(f"Threshold({self.tau!r}): the threshold must be a finite number of at least 0, in nats.")

    @property
    def figures(self) -> tuple[str, float, bool, bool]:
        """The test as kernels know it."""
        return "threshold", self.tau, False, False

    def independent(self, information: Information) -> bool:
        """Whether the two are taken to be independent.

        Parameters
        ----------
        information : Information
            What was counted about two variables, given others.

        Returns
        -------
        bool
            True or False.
        """
        return information.value <= self.tau

    def strength(self, information: Information) -> float:
        """The number that is compared with ``tau``.

        Parameters
        ----------
        information : Information
            What was counted about two variables, given others.

        Returns
        -------
        float
            The information in nats.
        """
        return information.value

    def text(self, information: Information) -> str:
        """The comparison as text.

        Parameters
        ----------
        information : Information
            What was counted about two variables, given others.

        Returns
        -------
        str
            For people to read.
        """
        return f"I = {_short(information.value)} {'<=' if self.independent(information) else '>'} {self.tau:g}"


@dataclass(frozen=True, repr=False)
class _ChiSquared:
    """A statistic that follows a chi-squared distribution if the two are independent.

    Parameters
    ----------
    level : float, default=0.05
        The significance level: independent if the p-value is at least this.
    guard : bool, default=True
        Also independent if there are fewer than five rows per degree of freedom: without enough data, no edge.
    naive : bool, default=False
        Count all degrees of freedom, including those of combinations that do not occur.
    """

    level: float = 0.05
    guard: bool = True
    naive: bool = False

    __repr__ = brief

    def __post_init__(self) -> None:
        if not is_number(self.level, 0) or not 0 < self.level < 1:
            raise OptionError(f"{type(self).__name__}({self.level!r}): the level must lie between 0 and 1.")
        check_option("guard", self.guard, (True, False))
        check_option("naive", self.naive, (True, False))

    def statistic(self, information: Information) -> float:
        """The statistic."""
        raise NotImplementedError

    def df(self, information: Information) -> float:
        """The degrees of freedom.

        Parameters
        ----------
        information : Information
            What was counted about two variables, given others.

        Returns
        -------
        float
            A number of at least 0.
        """
        return information.naive_df if self.naive else information.df

    def p_value(self, information: Information) -> float:
        """The probability of such a statistic, or a larger one, under independence; 1 without degrees of freedom.

        Parameters
        ----------
        information : Information
            What was counted about two variables, given others.

        Returns
        -------
        float
            From 0 to 1.
        """
        from scipy.special import chdtrc  # the tail of chi-squared

        df = self.df(information)
        return float(chdtrc(df, self.statistic(information))) if df > 0 else 1.0

    def _too_few(self, information: Information) -> bool:
        return self.guard and information.rows < 5 * self.df(information)

    def independent(self, information: Information) -> bool:
        """Whether the two are taken to be independent.

        Parameters
        ----------
        information : Information
            What was counted about two variables, given others.

        Returns
        -------
        bool
            True or False.
        """
        return self._too_few(information) or self.p_value(information) >= self.level

    def strength(self, information: Information) -> float:
        """The statistic as a multiple of its critical value: above 1 the two are dependent.

        Parameters
        ----------
        information : Information
            What was counted about two variables, given others.

        Returns
        -------
        float
            Above 1 where the statistic is beyond chance.
        """
        from scipy.special import chdtri  # the quantiles of chi-squared

        df = self.df(information)
        if df <= 0 or self._too_few(information):
            return 0.0
        return self.statistic(information) / float(chdtri(df, self.level))

    def text(self, information: Information) -> str:
        """The comparison as text.

        Parameters
        ----------
        information : Information
            What was counted about two variables, given others.

        Returns
        -------
        str
            For people to read.
        """
        df = self.df(information)
        if self._too_few(information):
            return f"{information.rows:g} rows are too few for {df:g} degrees of freedom"
        sign = ">=" if self.independent(information) else "<"
        p = _short(self.p_value(information))
        return f"{self._symbol} = {self.statistic(information):.2f}, df {df:g}, p = {p} {sign} {self.level:g}"

    @property
    def _symbol(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class GSquared(_ChiSquared):
    """The G² test (likelihood ratio): G² = 2 M I against chi-squared.

    Choose it when rows are few and an edge should be present only if chance does not explain it. In effect it is a
    threshold that adapts to the number of rows and to how many values the variables have.

    Parameters
    ----------
    level : float, default=0.05
        The significance level: independent if the p-value is at least this.
    guard : bool, default=True
        Also independent if there are fewer than five rows per degree of freedom: without enough data, no edge.
    naive : bool, default=False
        Count all degrees of freedom, including those of combinations that do not occur.

    Examples
    --------
    >>> from tanager import GSquared, Sample
    >>> X, y = [["sun"]] * 30 + [["rain"]] * 30, ["play"] * 20 + ["stay"] * 40
    >>> information = Sample.of(X, y).information("x0", "class")
    >>> GSquared().text(information)
    'G² = 38.19, df 1, p = 6.4e-10 < 0.05'
    >>> GSquared(0.001).independent(information)
    False
    """

    def statistic(self, information: Information) -> float:
        """G².

        Parameters
        ----------
        information : Information
            What was counted about two variables, given others.

        Returns
        -------
        float
            The statistic.
        """
        return 2 * information.rows * information.value

    @property
    def figures(self) -> tuple[str, float, bool, bool]:
        """The test as kernels know it."""
        return "g_squared", self.level, self.guard, self.naive

    @property
    def _symbol(self) -> str:
        return "G²"


@dataclass(frozen=True, repr=False)
class Pearson(_ChiSquared):
    """Pearson's X² test: the sum of (observed - expected)² / expected against chi-squared.

    Much the same as ``GSquared``; closer to chi-squared if expected counts are small.

    Parameters
    ----------
    level : float, default=0.05
        The significance level: independent if the p-value is at least this.
    guard : bool, default=True
        Also independent if there are fewer than five rows per degree of freedom: without enough data, no edge.
    naive : bool, default=False
        Count all degrees of freedom, including those of combinations that do not occur.

    Examples
    --------
    >>> from tanager import Pearson, Sample
    >>> X, y = [["sun"]] * 30 + [["rain"]] * 30, ["play"] * 20 + ["stay"] * 40
    >>> Pearson().statistic(Sample.of(X, y).information("x0", "class"))
    30.0
    """

    def statistic(self, information: Information) -> float:
        """X².

        Parameters
        ----------
        information : Information
            What was counted about two variables, given others.

        Returns
        -------
        float
            The statistic.
        """
        return information.pearson

    @property
    def figures(self) -> tuple[str, float, bool, bool]:
        """The test as kernels know it."""
        return "pearson", self.level, self.guard, self.naive

    @property
    def _symbol(self) -> str:
        return "X²"


Test = Threshold | GSquared | Pearson


def _short(number: float) -> str:
    return f"{number:.4f}" if number == 0 or number >= 0.001 else f"{number:.2g}"
