"""Small CSV files, written and read."""

import csv


def write_rows(path, names, rows, delimiter=","):
    with open(path, "w", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows([names, *rows])


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))
