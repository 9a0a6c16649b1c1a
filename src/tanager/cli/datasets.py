"""``tanager datasets``: example data sets."""

from __future__ import annotations

from shlex import quote

import click

from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output, open_output
from tanager.cli.screen import Screen, counted, table
from tanager.errors import OptionError
from tanager.writing import TableWriter, table_format


@click.command(epilog=examples("tanager datasets", "tanager datasets iris -o iris.csv"))
@click.argument("name", required=False)
@click.option("--output", "-o", metavar="FILE", help="A .csv, .tsv, .parquet or .jsonl file; - is stdout.")
@click.option("--test", is_flag=True, help="Write its test rows, where the data set has a test part.")
@click.option("--folder", metavar="FOLDER", help="Folder with data sets.  [default: $TANAGER_DATA]", show_default=False)
@json_option
def command(name: str | None, output: str | None, test: bool, folder: str | None, as_json: bool) -> None:
    """List example data sets, or write the one named NAME to a file whose last column is the class.

    iris, wine, breast_cancer and digits are built in; openml:NAME is downloaded from openml.org.
    """
    if name is None:
        _list(Screen(as_json=as_json), folder)
    else:
        part = "-test" if test else ""
        _write(name, output or f"{name.removeprefix('openml:')}{part}.csv", test, folder, as_json)


def _list(screen: Screen, folder: str | None) -> None:
    with screen.waiting("starting"):
        from tanager.datasets import available

        entries = available(folder)
    lines = [(e.name, f"{e.n_rows:,}", f"{e.n_columns:,}", f"{e.n_classes:,}", str(e.where)) for e in entries]
    screen.show(table(("name", "rows", "columns", "classes", "source"), lines, right=("rows", "columns", "classes")))
    screen.document({"datasets": [vars(e) for e in entries]})


def _write(name: str, output: str, test: bool, folder: str | None, as_json: bool) -> None:
    screen = Screen(as_json=as_json, data_on_stdout=output == "-")
    form = table_format(output)
    check_output(output)
    with screen.waiting("starting"):
        from tanager.datasets import load

        data = load(name, folder)
        chosen = data.test if test else data
        if chosen is None:
            raise OptionError(f"the data set {name!r} has no test part. Leave out --test.")
        rows = chosen.X.append_column("class", [chosen.y.tolist()])
    with open_output(output) as file:
        writer = TableWriter(file, form)
        writer.write(rows)
        writer.close()
    what = f"{counted(rows.num_rows, 'row')}, {counted(rows.num_columns - 1, 'column')} and the class"
    screen.say(f"{name}: {what} written to {output}")
    if not test:
        screen.say(f"Next: tanager fit {quote(output)}")
    screen.document({"name": name, "output": output, "rows": rows.num_rows, "columns": rows.column_names})
