"""What the library says of a table, in the words of who writes commands, and on a line that keeps names as they are."""

from pathlib import Path

from csv_files import write_rows


def test_a_file_in_another_encoding_is_read_with_the_option_that_the_error_names(run, refused):
    Path("old.csv").write_bytes("größe,class\nx,a\ny,b\n".encode("latin-1"))
    assert refused("fit", "old.csv").endswith("or give its encoding, for example --encoding latin-1.")
    assert run("fit", "old.csv", "--encoding", "latin-1").code == 0


def test_a_note_on_columns_names_the_option_and_it_can_be_given_as_it_is_named(run):
    rows = [[f"{n},5", f"{n % 28 + 1}.{n % 12 + 1}.2024", "ab"[n % 2]] for n in range(40)]
    write_rows("clinic.csv", ["weight, kg", "day", "class"], rows)
    note = run("fit", "clinic.csv", "--no-loo").err
    assert "or say that text is meant, with --categorical '\"weight, kg\",day'." in note
    assert run("fit", "clinic.csv", "--no-loo", "--categorical", '"weight, kg",day').err == ""


def test_dates_in_several_ways_of_writing_are_told_of(run):
    days = [f"2024-03-{n + 1:02}" if n % 2 else f"{n + 1:02}.03.2024" for n in range(30)]
    write_rows("days.csv", ["day", "class"], [[day, "ab"[n % 3 == 0]] for n, day in enumerate(days * 3)])
    note = run("fit", "days.csv", "--no-loo").err
    assert "'day' (looks like dates such as '01.03.2024' and '2024-03-02'). Write dates as 2024-05-31" in note


def test_several_blanks_in_a_name_stay_several(refused):
    write_rows("blanks.csv", ["body  mass", "class"], [["x", "a"], ["y", "b"]])
    assert refused("fit", "blanks.csv", "--target", "body mass").endswith("Did you mean 'body  mass'?")


def test_values_with_line_breaks_take_one_line(run):
    write_rows("notes.csv", ["note", "class"], [[f"cough\n\nday {n % 4}", "ab"[n % 2]] for n in range(20)])
    lines = run("schema", "notes.csv", "--target", "class").out.splitlines()
    assert any(line.startswith("note    categorical  4: cough day 0, cough day 1") for line in lines), lines
    assert not any(line.startswith("day") for line in lines)


def test_an_option_without_its_values_is_told_for_its_command(refused):
    assert refused("explain", "x.tanager", "--contrast", "a").endswith("See: tanager explain --help")
