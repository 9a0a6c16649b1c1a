"""A part of the page Decide: which column to ask for next, where asking has its price."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from tanager.decisions.acquisition import Acquisition
from tanager.encoding.schema import Column
from tanager.studio.actions import Actions
from tanager.studio.jobs import Job
from tanager.studio.models import classifier_of
from tanager.studio.session import Session

actions = Actions("questions")

DEFAULT_PRICE = 0.02  # of every column that has none, where an error costs 1
MAX_VALUES = 100  # of a column, to choose from
ROWS_AT_ONCE = 200  # between two reports of an evaluation
MOST_ROWS = 2000  # that an evaluation asks

Known = dict[str, str | int | float | bool]


@actions.add
def show(session: Session) -> dict[str, Any]:
    """All columns with their prices and values, and what to ask first."""
    columns = [_column(column) | {"price": _price(session, column.name)} for column in session.prepared.schema.columns]
    return {"columns": columns, "advice": advise(session, {})}


def _column(column: Column) -> dict[str, Any]:
    numeric = column.kind == "numeric"
    values = [] if numeric else [str(value) for value in column.values[:MAX_VALUES]]
    return {"name": column.name, "numeric": numeric, "values": values}


def _price(session: Session, name: str) -> float:
    return session.document.prices.get(name, DEFAULT_PRICE)


def _asking(session: Session, look_ahead: int = 1) -> Acquisition:
    document = session.document
    prices = {name: _price(session, name) for name in session.prepared.schema.names}
    key = ("asking", id(classifier_of(session)), tuple(prices.items()), document.costs, look_ahead)
    return session.derive(
        key, lambda: Acquisition(classifier_of(session), prices, document.costs, look_ahead=look_ahead)
    )


@actions.add
def advise(session: Session, known: Known, look_ahead: int = 1) -> dict[str, Any]:
    """What to ask next, given what is known, or what to answer if no question is worth its price."""
    advice = _asking(session, look_ahead).next(known)
    best = advice.best
    return {
        "questions": [
            {"name": own.name, "price": own.price, "gain": own.gain, "net": own.net} for own in advice.questions
        ],
        "next": None if best is None else best.name,
        "answer": str(advice.answer),
        "expected_cost": advice.expected_cost,
        "probabilities": {str(label): own for label, own in advice.probabilities.items()},
    }


@actions.add
def set_prices(session: Session, prices: dict[str, float]) -> dict[str, Any]:
    """Other prices, in the unit of the costs of errors."""
    names = session.prepared.schema.names
    own = {name: price for name, price in prices.items() if name in names}
    Acquisition(classifier_of(session), own or DEFAULT_PRICE, session.document.costs)  # refuses what is no price
    document = msgspec.structs.replace(session.document, prices=session.document.prices | own)
    session.change("prices of questions", document, (f"prices = {document.prices!r}",))
    return show(session)


@actions.add
def evaluate(session: Session) -> dict[str, Any]:
    """What asking one question after the other costs over rows of the table, beside asking for all and for nothing."""
    asking, prepared = _asking(session), session.prepared
    chosen = np.arange(len(prepared.labels))
    if len(chosen) > MOST_ROWS:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, MOST_ROWS, replace=False))

    def work(job: Job) -> dict[str, Any]:
        totals: dict[str, np.ndarray] = {}
        for start in range(0, len(chosen), ROWS_AT_ONCE):
            job.report(start, len(chosen), f"{start:,} of {len(chosen):,} rows")
            part = chosen[start : start + ROWS_AT_ONCE]
            report = asking.evaluate(prepared.X.take(part), prepared.y[part])
            for name, way in report._asdict().items():
                totals[name] = totals.get(name, np.zeros(4)) + len(part) * np.array(way)
        fields = ("price", "errors", "total", "questions")
        return {name: dict(zip(fields, sums / len(chosen), strict=True)) for name, sums in totals.items()}

    return session.jobs.start("questions", work)
