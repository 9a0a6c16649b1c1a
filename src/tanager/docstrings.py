"""The docstrings of classes with options: what they share is written once, here, and put in when somebody asks.

A class describes options of its own under ``Parameters``. All others come from its ancestors, or from ``OPTIONS``
below, in the order of the signature. An entry without a type (``bins`` alone on its line) is a further word on a shared
option.
Attributes are the properties that end in ``_``, described by their own docstrings, and those in ``ATTRIBUTES``.

Why not written out in every file? It would be three thousand lines that nobody reads there, and that everybody who
changes an option must write again. ``help``, notebooks and Sphinx see the whole text; editors that do not run the code
see what the class says of its own, and the types of all options.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import NamedTuple

OPTIONS = """
smoothing : float, Estimate, "learned" or None
    How counts become probabilities. A number is added to every count first (1 is Laplace's rule, 0 trusts the data
    alone). Or an estimate such as ``MEstimate``, ``PriorCounts``, ``BackOff``, ``LearnedBackOff`` or ``BDeu``;
    "learned" is ``LearnedBackOff(2, prior=0.5)``. None is the one that the classifier was published with.
unseen : {"ignore", "smooth", "error"}
    What becomes of a value, in a row to answer, that learning has never met: it is treated as missing, as a value that
    was counted zero times, or as an error.
cost_matrix : array of shape (n_classes, n_classes) or None
    ``cost_matrix[true, predicted]`` is what it costs to predict one class where another is true, in the order of
    ``classes_``; ``predict`` then answers with the class of the smallest expected cost. None: all errors cost the same.
class_weight : dict, array, "balanced" or None
    A factor for each class, by which its probability is multiplied before all are made to add up to 1: by label, or in
    the order of ``classes_``. "balanced": factors that make all classes weigh the same.
priors : dict, array or None
    Class probabilities to use instead of the ones in the data: by label, or in the order of ``classes_``.
bins : {"mdl", "refined", "stream", "width", "frequency"}, dict or None
    How columns of numbers are cut into bins. "mdl": where the classes change, as long as a further cut pays. "refined":
    so, and then into more bins as rows allow. "stream": so, and then into about ten. "width" and "frequency": into
    ``n_bins`` bins of equal width, or with equally many rows. A dict gives one of these, or cut points, for each
    column; an ordinal column is cut after the values given. None: in ``fit`` as is best for the classifier, in a stream
    "stream", as its first rows are few and their cuts must do for all that follow.
default_bins : {"mdl", "refined", "stream", "width", "frequency"}
    How numeric columns are cut that a dict of bins does not name. By the first rows of a stream they are cut as
    "stream" says in place of "mdl" and "refined".
n_bins : int
    How many bins with ``bins="width"`` and ``bins="frequency"``.
mdl_encoding : {"n-1", "candidates"}
    How much a further cut must gain with "mdl" and "refined": the more, the more rows there are ("n-1"), or the more
    places where the cut could be ("candidates"), which accepts more cuts.
categorical : list of column names or places, "all" or None
    Columns whose values are categories, even if they look like numbers; with "all", no column is cut into bins.
ordinal : dict or list of column names or places, or None
    Columns whose values have an order, ``{"size": ["S", "M", "L"]}``: they are cut as numbers are, between values, so
    that neighbours share a bin where the rows ask for no more. A list is enough for numbers, and for columns whose
    table declares the order (pandas' ordered categories).
numeric : list of column names or places, or None
    Columns of numbers that are cut into bins even if they have so few whole values that they would be categories.
keep : list of column names or places, "all" or None
    Columns that are learned even if they look like ids, row numbers or free text, or have one value only. Without this
    such columns are left out, and a warning says so. Columns that another option names are kept as well.
dates : dict, list of str, str or None
    What is learned of dates. None: the date itself, as a number. "parts": the date, its month, its weekday and its
    hour. Or a list of "date", "since" (days since the first day, "since 2024-01-01" since that one), "year", "month",
    "day", "weekday" and "hour". A dict gives parts of columns by name, ``{"sold": ["month", "weekday"]}``; what it
    names must hold dates.
continuous : bool or list of column names or places
    Columns of numbers that are not cut but stay numbers, for normal distributions; True takes all of them.
max_whole : int
    A column of whole numbers with at most so many distinct values holds categories, and is not cut into bins.
max_values : int
    How many values a categorical column may have. Of more, ``fit`` keeps the ``max_values - 1`` most frequent and joins
    the rest into one value, "other"; in a stream every further value is "other".
schema : Schema or None
    What is known about the columns beforehand, such as ``schema_`` of another model: kinds, values and cut points are
    taken from it and not from the rows. A value that it does not have is one that learning has never met.
decay : float, str, Decay or None
    Old rows fade: a factor per row (0.999), a half-life in rows (1000) or in time ("6 h"), or a ``Decay``.
window : int, str, Window or None
    Only the last rows count: so many (5000), or those of a span of time ("30 min"), or a ``Window``.
refresh : float, "hoeffding", Hoeffding or None
    Rows after which a structure that depends on the counts is learned again in a stream. None: after 1 % more rows
    (10 % where it takes a look at the rows), or a tenth of the rows that still count where old ones are forgotten, and
    20 rows at least. ``float("inf")`` keeps the first. With ``Hoeffding()`` it is looked at as often as with None, and
    changes only where another is better beyond chance.
recut : {"grid", "sketch"}, Recut or None
    Cut points of number columns follow a stream, instead of staying as its first rows say; see ``Recut``.
warm_up : int
    In a stream (``partial_fit``, ``learn_one``): the number of first rows by which is decided what each column is and
    where columns of numbers are cut. Until then this is decided anew each time the rows have doubled.
calibrate : bool
    Correct how sure the probabilities are, by the answers that learned rows get when they are left out: probabilities
    are raised to a power, the same for all, and with 1,000 rows or more each class gets a factor. The model then keeps
    its rows, in a byte or two per cell. See ``calibration_``.
max_memory : int, str or None
    The most that counts may take, in bytes or as text such as "500 MB". Where they would need more, an error says so
    before they are made.
n_jobs : int or None
    How many threads count, and answer many rows; -1: one for each core. None: one.
gaussian : bool or list of columns
    Number columns to describe by a normal distribution given the class and their parents; True takes all of them. As
    parents they are cut into bins.
ddof : {0, 1}
    Variances of ``gaussian`` columns are sums of squares divided by n - ddof: 0 gives the most likely variance, 1 the
    unbiased one.
fit_by : {"likelihood", "conditional_likelihood", "weights", "elr", "factor_weights"}
    How the numbers in the tables are found. "likelihood": by counting. "conditional_likelihood": numbers that make the
    classes of the rows most probable, as in logistic regression. "elr": the same, but they stay probabilities.
    "weights": by counting, and each column gets an exponent that makes the classes most probable. "factor_weights": so,
    but by rows that are left out of the counts. All but the first keep the rows, in a byte or two per cell.
penalty : float
    How strongly the numbers that ``fit_by`` searches for are held to those that were counted; 0 does not hold them.
min_count : float
    A value is taken as the parent of all other columns (a super-parent) only if it was seen at least that often.
column_order : {"given", "ig_sum", "ig_class", "mi", "random"} or list of columns
    Which columns come first, and may be parents of those behind them: as in the table, or first those that tell most
    about all other columns given the class ("ig_sum"), about the class given each other column ("ig_class") or about
    the class alone ("mi"), or in an order drawn by ``random_state``.
random_state : int, RandomState or None
    The seed of what is drawn at random: the same number gives the same model.
thin_parents : {"drop", "keep"}
    "drop": a parent is left out where the parents of a column would have more combinations of values than there are
    rows. "keep": all parents stay.
direction : {"forward", "backward", "best_first"}
    The search begins with no column and adds one at a time, or begins with all and takes one away at a time; or it does
    both, and goes back to earlier sets of columns that looked good.
non_worse : bool
    Whether the search goes on while answers do not become worse (Langley and Sage), and not only while they improve.
"""

ATTRIBUTES = """
classes_ : array of shape (n_classes,)
    The labels of the classes, in sorted order.
n_features_in_ : int
    The number of columns.
feature_names_in_ : array of str
    The names of the columns; only there if the learned table had names, as a frame has.
encoder_ : Encoder
    What turns the cells of a row into small whole numbers, by which all counting is done.
target_name_ : str or None
    The name of the class column, where it has one.
"""


class Docstring:
    """The docstring of a class with options, completed when it is read.

    Python asks a class for its ``__doc__`` by this method, so that classes cost nothing while nobody reads about them.
    """

    def __init__(self, own: str) -> None:
        self.own = own

    def __get__(self, instance: object, cls: type) -> str:
        if "__dataclass_fields__" not in vars(cls) and "__init__" not in vars(cls):
            return self.own  # it is just being made into a dataclass, and has no options of its own yet
        return completed(cls, self.own)


def complete_when_read(cls: type) -> None:
    """Let the docstring of a class be completed when it is read."""
    own = vars(cls).get("__doc__")
    if isinstance(own, str):
        cls.__doc__ = Docstring(own)  # type: ignore[assignment]


class Entry(NamedTuple):
    """One parameter or attribute: its type, which may be empty, and what is said about it, line by line."""

    type: str
    lines: tuple[str, ...]


@cache
def completed(cls: type, own: str, *, shared: bool = True) -> str:
    """The docstring of a class with all its attributes and options, or with those that it does not share.

    `own` is what stands in its source.
    """
    text = inspect.cleandoc(own)
    left_out = () if shared else shared_options(cls)
    parameters = {name: entry for name, entry in _parameters(cls).items() if name not in left_out}
    attributes = _attributes(cls, _entries(text, "Attributes"))
    return _with_section(_with_section(text, "Parameters", parameters), "Attributes", attributes)


def shared_entries() -> dict[str, Entry]:
    """What is said of the options that classifiers share."""
    return _entries(OPTIONS, "")


def shared_options(cls: type) -> list[str]:
    """The options of a class of which it says nothing of its own, and neither do its ancestors."""
    own = {name for base in cls.__mro__ for name in _entries(own_words(base), "Parameters")}
    return [name for name in _parameters(cls) if name in shared_entries() and name not in own]


_SECTION = re.compile(r"^(Parameters|Attributes|Notes|Examples|See Also|References|Raises|Methods)\n-+\n", re.M)


def own_words(cls: type) -> str:
    """What stands in the source of a class as its docstring."""
    found = vars(cls).get("__doc__")
    return inspect.cleandoc(getattr(found, "own", found) or "")


def described(cls: type, *, alone: bool = False) -> dict[str, str]:
    """What is said about each option of a class, as plain text; `alone`: by the class itself."""
    entries = _entries(own_words(cls) if alone else inspect.cleandoc(cls.__doc__ or ""), "Parameters")
    return {name: " ".join(" ".join(entry.lines).replace("``", "").split()) for name, entry in entries.items()}


def _parameters(cls: type) -> dict[str, Entry]:
    """All options of a class in the order of its signature."""
    found = {}
    for option in list(inspect.signature(cls.__init__).parameters.values())[1:]:  # type: ignore[misc]
        entry = _option(cls, option.name)
        if option.default is not inspect.Parameter.empty and entry.type and "default=" not in entry.type:
            entry = Entry(f"{entry.type}, default={_shown(option.default)}", entry.lines)
        found[option.name] = entry
    return found


def _option(cls: type, name: str) -> Entry:
    """What the class, its ancestors and the shared text say about an option."""
    further: tuple[str, ...] = ()
    if name == "bins" and hasattr(cls, "default_bins"):
        further = (f'Here ``fit`` cuts by "{cls.default_bins}" with None.',)
    for base in cls.__mro__:
        entry = _entries(own_words(base), "Parameters").get(name)
        if entry is not None and entry.type:
            return Entry(entry.type, (*entry.lines, *further))
        further = further if entry is None else (*entry.lines, *further)
    shared = shared_entries().get(name, Entry("", ()))
    return Entry(shared.type, (*shared.lines, *further))


def _attributes(cls: type, own: dict[str, Entry]) -> dict[str, Entry]:
    """All that a fitted model has under a name that ends in an underscore; last, what the class itself describes."""
    found = {name: entry for name, entry in _entries(ATTRIBUTES, "").items() if name in _annotated(cls)}
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if name.endswith("_") and not name.startswith("_") and isinstance(member, property):
            found[name] = _property(member)
    return found | own


def _annotated(cls: type) -> set[str]:
    names = {name for base in cls.__mro__ for name in inspect.get_annotations(base)}
    return names | {"feature_names_in_"} if "n_features_in_" in names else names


def _property(member: property) -> Entry:
    """A property by the first paragraph of its docstring."""
    words = inspect.cleandoc(member.__doc__ or "").split("\n\n")[0]
    kind = getattr(member.fget, "__annotations__", {}).get("return", "")
    return Entry(_type_words(str(kind)), tuple(words.split("\n")))


def _type_words(annotation: str) -> str:
    return annotation.replace(" | ", " or ").replace("np.ndarray", "array") or "object"


def _shown(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


# --- the text of a section ------------------------------------------------------------------------------------------


@cache
def _entries(text: str, section: str) -> dict[str, Entry]:
    """The entries of a section of a docstring by name, or of all of a text; an entry may have several names."""
    body = text if not section else _body(text, section)
    found: dict[str, Entry] = {}
    for head, lines in re.findall(r"^(\w[^\n]*)\n((?:(?:    [^\n]*)?\n?)+)", body, re.M):
        names, _, kind = head.partition(" : ")
        own = tuple(line[4:] for line in lines.rstrip("\n").split("\n"))
        kind = "" if kind.startswith("default=") else kind
        found |= dict.fromkeys(re.split(r",\s*", names), Entry(kind, own))
    return found


def _body(text: str, section: str) -> str:
    starts = [*_SECTION.finditer(text)]
    for at, start in enumerate(starts):
        if start[1] == section:
            return text[start.end() : starts[at + 1].start() if at + 1 < len(starts) else len(text)]
    return ""


def _with_section(text: str, section: str, entries: dict[str, Entry]) -> str:
    """The text with this section in place of its own, or before all others but the parameters."""
    if not entries:
        return text
    new = f"{section}\n{'-' * len(section)}\n" + "\n".join(_written(name, entry) for name, entry in entries.items())
    starts = [*_SECTION.finditer(text)]
    place = next((start.start() for start in starts if start[1] != "Parameters"), len(text))
    end = place
    for at, start in enumerate(starts):
        if start[1] == section:
            place, end = start.start(), starts[at + 1].start() if at + 1 < len(starts) else len(text)
    return f"{text[:place].rstrip()}\n\n{new}\n\n{text[end:]}".rstrip() + "\n"


def _written(name: str, entry: Entry) -> str:
    head = f"{name} : {entry.type}" if entry.type else name
    return "\n".join([head, *(f"    {line}".rstrip() for line in entry.lines)])
