"""Turns: any number of threads may ask a model at once, and one at a time may change it.

A model derives late: learning only counts, and the first answer afterwards learns the structure, strengths and tables
that it needs. So an answer may change a model too, but only the first of its kind after a change; it has the model for
itself, and all that follow find everything made and go side by side.

The public methods of every classifier take their turn here, by the tables below, also those of classes that others
write. Methods that such a method calls in turn belong to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Condition, Lock, get_ident
from typing import Any, Self

Method = Callable[..., Any]

# fmt: off
CHANGES = frozenset({
    "fit", "fit_codes", "fit_table", "fit_schema", "partial_fit", "learn_one", "test_then_train", "unlearn", "merge",
    "advance", "shrink", "fade", "improve", "start", "attach", "add_classes", "from_state", "take_over", "__setstate__",
    "read_again_by", "note_read_up_to", "take_structure", "fit_columns", "learn_block", "take_memory", "add_memory",
    "take_vocabulary", "options_hold",
})
ANSWERS = frozenset({
    "predict", "predict_proba", "predict_log_proba", "predict_log_joint", "leave_one_out", "probabilities",
})
LOOKS = frozenset({
    "predict_one", "predict_proba_one", "stream_proba", "decide", "answer", "staged", "staged_answers", "explain",
    "_repr_html_", "display_parts", "knows_structure",
    "explain_rows", "rule", "rules", "table", "plot", "widget", "known_rows", "leave_out", "uncalibrated",
    "current_structure", "stream_scorer", "count_warm_up", "choose", "to_state", "structure_state", "save",
    "__getstate__", "read_up_to", "reasons_of",
})
PLAIN = frozenset({"counts_", "class_count_"})  # learned attributes that are there already; all others are derived
# fmt: on


class Turns:
    """Whose turn it is: threads that ask side by side, or one thread alone."""

    __slots__ = ("_asking", "_free", "_lock", "_owner", "_settled", "_waiting")

    def __init__(self) -> None:
        self._lock = Lock()
        self._free = Condition(self._lock)
        self._owner: int | None = None  # the thread that has the model alone
        self._asking: set[int] = set()  # threads that ask side by side
        self._waiting = 0  # threads that wait until those are done
        self._settled: set[str] = set()  # what was asked since the last change, so that nothing is left to derive

    def held_by(self, thread: int) -> bool:
        """Whether a thread is inside already: a method of the model calls another."""
        return self._owner == thread or thread in self._asking

    def begin_alone(self, thread: int, *, changes: bool) -> None:
        """Wait until nobody else uses the model."""
        self._lock.acquire()
        self._be_alone(thread, changes=changes)

    def _be_alone(self, thread: int, *, changes: bool) -> None:
        try:
            while self._asking:
                self._waiting += 1
                try:
                    self._free.wait()
                finally:
                    self._waiting -= 1
        except BaseException:
            self._lock.release()
            raise
        self._owner = thread
        if changes:
            self._settled.clear()

    def end_alone(self) -> None:
        """Let others in."""
        self._owner = None
        self._lock.release()

    def begin_asking(self, thread: int, what: str) -> bool:
        """Wait until nobody changes the model. Returns whether this thread has it alone; then it must settle things.

        Who asks while another waits to have the model alone waits for the same: else it might never get it.
        """
        self._lock.acquire()
        if what not in self._settled or self._waiting:
            self._be_alone(thread, changes=False)
            return True
        self._asking.add(thread)
        self._lock.release()
        return False

    def settle(self, what: str) -> None:
        """All that this question needs is derived; only for who has the model alone."""
        self._settled.add(what)

    def end_asking(self, thread: int) -> None:
        """This thread has its answer."""
        with self._lock:
            self._asking.discard(thread)
            if not self._asking:
                self._free.notify_all()


@contextmanager
def alone(*models: Any) -> Iterator[None]:
    """Have models alone, whatever others want to do with them meanwhile; in one order, so that two never wait for
    each other."""
    me = get_ident()
    mine: list[Turns] = []
    for model in sorted({id(model): model for model in models}.values(), key=id):
        turns: Turns = model._turns
        if not turns.held_by(me):
            turns.begin_alone(me, changes=True)
            mine.append(turns)
    try:
        yield
    finally:
        for turns in reversed(mine):
            turns.end_alone()


class TakesTurns:
    """What classifiers inherit: turns, for each instance its own, and methods that take them."""

    __slots__ = ("_turns",)  # not among the attributes, which scikit-learn compares and copies take over
    _turns: Turns

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """An instance with its own turns, also where it is made from a copy or a file."""
        self = super().__new__(cls)
        self._turns = Turns()
        return self

    def __init_subclass__(cls, **options: Any) -> None:
        """Let the methods of the subclass take their turns."""
        super().__init_subclass__(**options)
        take_turns(cls)

    def __getstate__(self) -> dict[str, Any]:
        """All but whose turn it is."""
        return dict(vars(self))


def take_turns(cls: type) -> None:
    """Let the public methods that a class defines itself take their turns."""
    for name, found in list(vars(cls).items()):
        if isinstance(found, property):
            if found.fget is not None and (name in LOOKS or (name.endswith("_") and name not in PLAIN)):
                setattr(cls, name, property(_alone(found.fget, name), found.fset, found.fdel, found.__doc__))
        elif name in CHANGES | ANSWERS | LOOKS:
            take = _asking if name in ANSWERS else _merging if name == "merge" else _alone
            setattr(cls, name, take(found, name))


def _alone(method: Method, name: str) -> Method:
    changes = name in CHANGES
    arguments = method.__code__.co_varnames[: method.__code__.co_argcount] if hasattr(method, "__code__") else ()
    if (name, arguments) == ("predict_proba_one", ("self", "row")):
        return _answering_row(method)
    if (name, arguments) == ("learn_one", ("self", "row", "y", "sample_weight", "time")):
        return _learning_row(method)

    @wraps(method)
    def in_turn(self: Any, *args: Any, **kwargs: Any) -> Any:
        turns: Turns = self._turns
        me = get_ident()
        if turns._owner == me or me in turns._asking:
            return method(self, *args, **kwargs)
        turns._lock.acquire()  # as ``begin_alone`` and ``end_alone``, without the calls: single rows come through here
        if turns._asking:
            turns._be_alone(me, changes=changes)
        else:
            turns._owner = me
            if changes:
                turns._settled.clear()
        try:
            return method(self, *args, **kwargs)
        finally:
            turns._owner = None
            turns._lock.release()

    return in_turn


def _answering_row(method: Method) -> Method:
    """``_alone`` for the answer to a single row: arguments by name are handed on in a third of the time."""

    @wraps(method)
    def in_turn(self: Any, row: Any) -> Any:
        turns: Turns = self._turns
        me = get_ident()
        if turns._owner == me or me in turns._asking:
            return method(self, row)
        turns._lock.acquire()
        if turns._asking:
            turns._be_alone(me, changes=False)
        else:
            turns._owner = me
        try:
            return method(self, row)
        finally:
            turns._owner = None
            turns._lock.release()

    return in_turn


def _learning_row(method: Method) -> Method:
    """``_alone`` for a single row to learn."""

    @wraps(method)
    def in_turn(self: Any, row: Any, y: Any, sample_weight: Any = 1.0, time: Any = None) -> Any:
        turns: Turns = self._turns
        me = get_ident()
        if turns._owner == me or me in turns._asking:
            return method(self, row, y, sample_weight, time)
        turns._lock.acquire()
        if turns._asking:
            turns._be_alone(me, changes=True)
        else:
            turns._owner = me
            turns._settled.clear()
        try:
            return method(self, row, y, sample_weight, time)
        finally:
            turns._owner = None
            turns._lock.release()

    return in_turn


def _asking(method: Method, name: str) -> Method:
    @wraps(method)
    def in_turn(self: Any, *args: Any, **kwargs: Any) -> Any:
        turns: Turns = self._turns
        me = get_ident()
        if turns.held_by(me):
            return method(self, *args, **kwargs)
        if turns.begin_asking(me, name):
            try:
                answer = method(self, *args, **kwargs)
                if self._answers_side_by_side:
                    turns.settle(name)
                return answer
            finally:
                turns.end_alone()
        try:
            return method(self, *args, **kwargs)
        finally:
            turns.end_asking(me)

    return in_turn


def _merging(method: Method, name: str) -> Method:
    @wraps(method)
    def in_turn(self: Any, other: Any) -> Any:
        with alone(*(model for model in (self, other) if hasattr(model, "_turns"))):
            return method(self, other)

    return in_turn
