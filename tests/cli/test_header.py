"""A first look at a file finds wrong names before anything large is imported, and never says anything else than the
reader of the whole file would."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.cli.header import read_header
from tanager.errors import DataError
from tanager.files import open_table


def test_a_wrong_target_is_told_without_importing_numpy_or_pyarrow(tmp_path):
    (tmp_path / "a.csv").write_text("x,class\n1,a\n2,b\n")
    code = (
        "import sys\nfrom tanager.cli.main import main\n"
        f"sys.argv = ['tanager', 'fit', {str(tmp_path / 'a.csv')!r}, '--target', 'clas']\n"
        "try:\n    main()\nfinally:\n    print(*{'numpy', 'pyarrow', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == ""
    assert done.stderr.strip().endswith("a.csv has no column 'clas'. Did you mean 'class'?")


@pytest.mark.parametrize("text", ["", "\n", '"a\n', "a,b", "a\0,b\n", "\xff".encode("latin-1")])
def test_where_a_first_look_is_not_enough_it_says_nothing(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert read_header(str(path)) is None


names = st.text(alphabet='ab ";|,\té\ufeff', max_size=4)


@given(columns=st.lists(names, min_size=1, max_size=4), delimiter=st.sampled_from(",;\t|"), bom=st.booleans())
def test_a_first_look_sees_the_columns_that_the_reader_sees(tmp_path_factory, columns, delimiter, bom):
    path = tmp_path_factory.mktemp("header") / "a.csv"
    line = delimiter.join(columns) + "\n"
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + line.encode() + line.encode())
    header = read_header(str(path))
    if header is not None:
        try:
            seen = list(open_table(str(path)).columns)
        except DataError:  # which the reader of the whole file will say
            return
        assert header.columns == seen
