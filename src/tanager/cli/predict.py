"""``tanager predict``: a prediction for every row of a file, in chunks and in the order of the file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import click

from tanager.cli.model_state import decide
from tanager.cli.options import columns_option, examples, json_option, reading_options
from tanager.cli.output import check_output, open_output
from tanager.cli.reading import all_cores, check_columns, check_inputs, load_model, open_for
from tanager.cli.screen import Screen, counted
from tanager.errors import OptionError
from tanager.progress import RowsDone
from tanager.writing import TableWriter, table_format

N_REASONS = 3
DIGITS = 6  # of probabilities in text files


@click.command(
    epilog=examples(
        "tanager predict iris.tanager iris.csv --proba -o predictions.csv",
        'tanager predict iris.tanager iris.csv --explain --keep "petal width (cm)"',
    )
)
@click.argument("model")
@click.argument("data")
@click.option("--output", "-o", default="-", metavar="FILE", help="A .csv, .tsv, .parquet or .jsonl file; - is stdout.")
@click.option("--proba", is_flag=True, help="Add the probability of every class, one column each.")
@click.option("--explain", is_flag=True, help="Add the main reasons, in log-odds against the next class.")
@columns_option("--keep", "Columns of DATA to copy to the output; 'all' for every one.")
@reading_options
@json_option
def command(
    model: str, data: str, output: str, proba: bool, explain: bool, keep: list[str], as_json: bool, **reading: Any
) -> None:
    """Predict the class of every row of DATA with MODEL.

    Writes the class and its probability, rows in the order of DATA. If DATA has the target column, accuracy and log
    loss are reported. Columns are found by name: those that the model was not trained on are ignored, and those that
    DATA does not have are missing values. Values never seen in training are counted and named at the end.
    """
    screen = Screen(as_json=as_json, data_on_stdout=output == "-" and not as_json)
    check_inputs(model, data)
    check_output(output, model, data)
    form = table_format(output)
    with screen.waiting("starting"):
        classifier = load_model(model)
        source = open_for(classifier, data, **reading)
        predictions = _Predictions(classifier, source, proba=proba, explain=explain, keep=keep)
    if predictions.ignored:
        from tanager.encoding.matching import are_ignored

        screen.note(are_ignored(predictions.ignored, "the model"))
    rows: list[dict[str, Any]] = []
    with screen.progress(f"predicting {source.name}") as tick, all_cores(classifier):
        tables = _with_progress(predictions, tick)
        if as_json and output == "-":
            rows += (row for table in tables for row in table.to_pylist())
        else:
            _write(tables, output, form)
    for sentence in predictions.unseen():
        screen.note(sentence)
    report = {"model": model, "data": source.name, "rows": predictions.n_rows, **predictions.measures()}
    _print(screen, report, output)
    screen.document(report | ({"predictions": rows} if output == "-" else {"output": output}))


def _with_progress(predictions: _Predictions, tick: RowsDone) -> Iterator[Any]:
    """The tables of predictions; for a file without rows, one empty table."""
    for table in predictions:
        yield table
        tick(predictions.n_rows, predictions.source.done)
    if not predictions.n_rows:
        yield predictions.empty_table()


def _write(tables: Iterable[Any], output: str, form: str) -> None:
    with open_output(output) as file:
        writer = TableWriter(file, form)
        for table in tables:
            writer.write(_rounded(table) if writer.format in ("csv", "tsv") else table)
        writer.close()


class _Predictions:
    """The predictions of a model for the chunks of a file, as tables; measures them where the classes are known."""

    def __init__(self, model: Any, source: Any, *, proba: bool, explain: bool, keep: list[str]) -> None:
        self.model, self.source, self.proba, self.explain = model, source, proba, explain
        self.features = source.columns_of(model)
        self.keep = self._kept(keep)
        source.force(categorical=[name for name in self.keep if name not in source.kinds])  # as they are written
        self.target = model.target_name_ if model.target_name_ in source.columns else None
        known = {*model.encoder_.schema.table_names, *self.keep, self.target}
        self.ignored = [name for name in source.columns if name not in known]
        self.score = _Measures()
        self.n_rows = 0
        model.encoder_.unseen_values.quiet = True  # all is told at the end, with its number

    def __iter__(self) -> Any:
        wanted = [*self.features, *self.keep, *([self.target] if self.target else [])]
        for chunk in self.source.chunks(columns=list(dict.fromkeys(wanted))):
            self.n_rows += chunk.num_rows
            yield self._predict(chunk)

    def _predict(self, chunk: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        from tanager.encoding.arrow_columns import arrow_column

        model = self.model
        X = chunk.select(self.features)
        proba = model.predict_proba(X)
        codes = decide(model, proba)
        if self.target:
            self.score.add(chunk.column(self.target), codes, proba, model.classes_)
        columns = [_plain_column(chunk.column(name)) for name in self.keep]
        places = np.arange(len(codes))
        columns += [_labels(model).take(arrow_column(codes.astype(np.int64))), arrow_column(proba[places, codes])]
        if self.proba:
            columns += [arrow_column(proba[:, c]) for c in range(proba.shape[1])]
        if self.explain:
            columns.append(arrow_column(model.explain_rows(X).reasons(N_REASONS)))
        return pa.table(columns, [*self.keep, *self.names])

    def unseen(self) -> list[str]:
        """What is to be told about values that training never had, of all rows so far."""
        told: list[str] = self.model.encoder_.unseen_values.sentences(getattr(self.model, "unseen", "ignore"))
        return told

    def empty_table(self) -> Any:
        """A table of predictions without rows."""
        import pyarrow as pa

        kinds = {"prediction": _labels(self.model).type, "reasons": pa.string()}
        kept = [pa.field(name, pa.string()) for name in self.keep]
        return pa.schema([*kept, *(pa.field(name, kinds.get(name, pa.float64())) for name in self.names)]).empty_table()

    @property
    def names(self) -> list[str]:
        """The columns of the output, except those that are kept."""
        each = [f"probability_{label}" for label in self.model.classes_.tolist()] if self.proba else []
        return ["prediction", "probability", *each, *(["reasons"] if self.explain else [])]

    def _kept(self, keep: list[str]) -> list[str]:
        if keep == ["all"] and "all" not in self.source.columns:
            keep = list(self.source.columns)
        check_columns(self.source, keep, " (--keep)")
        for name in keep:
            if name in self.names:
                raise OptionError(f"cannot keep {name!r}: the output has a column of that name. Rename it first.")
        return list(dict.fromkeys(keep))

    def measures(self) -> dict[str, Any]:
        """Accuracy and log loss over the rows with a class; empty where there are none."""
        return self.score.report() if self.score.n_rows else {}


@dataclass
class _Measures:
    """Running sums over the rows whose class is given."""

    n_rows: int = 0
    n_right: int = 0
    loss: float = 0.0
    n_unknown: int = 0

    def add(self, column: Any, codes: Any, proba: Any, classes: Any) -> None:
        """Add rows; for a class that the model has never seen, every prediction is wrong."""
        import numpy as np

        from tanager.encoding import encode_more_labels

        labels, everything, places = encode_more_labels(column, classes)
        known = np.full(np.iinfo(labels.dtype).max + 1, -1)
        known[places] = np.arange(len(classes))
        true = known[labels]
        own = np.where(true >= 0, proba[np.arange(len(true)), true], 0.0)
        labelled = labels < len(everything)
        self.n_rows += int(labelled.sum())
        self.n_right += int((true == codes).sum())
        self.n_unknown += int((labelled & (true < 0)).sum())
        self.loss -= float(np.log(np.maximum(own[labelled], 1e-15)).sum())

    def report(self) -> dict[str, Any]:
        """The measures for ``--json``."""
        return {
            "rows_with_class": self.n_rows,
            "rows_of_unknown_class": self.n_unknown,
            "accuracy": self.n_right / self.n_rows,
            "log_loss": self.loss / self.n_rows,
        }


def _labels(model: Any) -> Any:
    """The classes as an Arrow array; as text where they are of several types."""
    from tanager.encoding.arrow_columns import arrow_column

    labels = model.classes_.tolist()
    return arrow_column(labels if len({type(label) for label in labels}) == 1 else [str(label) for label in labels])


def _plain_column(column: Any) -> Any:
    """Dictionaries as plain text, as they differ from chunk to chunk."""
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _rounded(table: Any) -> Any:
    """Probabilities rounded for text files."""
    import pyarrow.compute as pc

    for place, name in enumerate(table.column_names):
        if name.startswith("probability"):
            table = table.set_column(place, name, pc.round(table.column(name), DIGITS))
    return table


def _print(screen: Screen, report: dict[str, Any], output: str) -> None:
    if output != "-":
        screen.say(f"{counted(report['rows'], 'prediction')} written to {output}")
    if "accuracy" not in report:
        return
    n = report["rows_with_class"]
    over = "" if n == report["rows"] else f" over {counted(n, 'row')} with a class"
    screen.say(f"accuracy {report['accuracy']:.4f}, log loss {report['log_loss']:.4f}{over}")
    if report["rows_of_unknown_class"]:
        unknown = counted(report["rows_of_unknown_class"], "row")
        loss = f"{-math.log(1e-15):.1f}"
        screen.note(
            f"{unknown} of a class that the model has never seen: counted as errors, each with a loss of {loss}"
        )
