"""Proves a sorted table without any of the programs that sort it: which rows there are, and that none is smaller than the one before it.

Rows are read by Python's csv and json. A row is the tuple of its fields, or the value of its line, however it is written. What is compared is the
sum of the hashes of all rows, as two programs that read the same rows get it in whatever order they come.

Run as `tables_proof.py TABLE FILE [KEY...]`, with keys as `xsort table --by` takes them; it prints a line of JSON. `PYTHONHASHSEED=0` makes the
sums of two processes comparable.
"""

import csv
from itertools import islice
import json
from operator import itemgetter
import sys

import tables

BLOCK_ROWS = 20_000
csv.field_size_limit(2**30)


class Disorder(Exception):
    """A row is out of order."""


def told(proof):
    """The sum and the number of rows of a proof; raises `Disorder` if they are in none."""
    if proof["disorder"] is not None:
        raise Disorder(f"row {proof['disorder']:,} is out of order")
    return proof["sum"], proof["rows"]


def proof(table, path, keys):
    """Rows, the sum of their hashes, and the first row that is out of order, if any."""
    read, column_key = (events, json_key) if tables.FORMATS[table] == "ndjson" else (orders, csv_key)
    columns = [column_key(key) for key in keys]
    rows, total, disorder, last = 0, 0, None, []
    for block, values in read(path, table):
        total += sum(map(hash, block))
        if keys and disorder is None:
            found = last + list(zip(*(column(values) for column in columns)))
            bad = (place for place, (one, other) in enumerate(zip(found, islice(found, 1, None))) if one > other)
            place = next(bad, None)
            disorder = None if place is None else rows - len(last) + place + 2
            last = found[-1:]
        rows += len(block)
    return {"rows": rows, "sum": f"{total % 2**64:016x}", "disorder": disorder}


def orders(path, table):
    """Blocks of rows of CSV as tuples, twice, without the header."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.reader(file, strict=True)
        if table == "orders" and next(rows, None) != list(tables.COLUMNS):
            raise ValueError("the header is not that of the input")
        while block := list(map(tuple, islice(rows, BLOCK_ROWS))):
            yield block, block


def events(path, _):
    """Blocks of lines as the harness would have written their values, whatever program wrote them, and the values."""
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    with open(path, encoding="utf-8", newline="\n") as file:
        while lines := list(islice(file, BLOCK_ROWS)):
            values = list(map(json.loads, lines))
            yield list(map(write, values)), values


def csv_key(key):
    place = itemgetter(tables.COLUMNS.index(key.column))
    return lambda rows: [value_of(key, place(row)) for row in rows]


def json_key(key):
    path = key.column.lstrip(".").split(".")

    def found(value):
        for name in path:
            value = value[name]
        return value_of(key, value)

    return lambda values: list(map(found, values))


def value_of(key, value):
    """What is compared: numbers, texts in the order of their bytes, dates as numbers. Times are all written with as many digits."""
    if key.kind == "date":
        value = int(value.replace("-", ""))
    elif key.kind == "num":
        value = float(value)
    return -value if key.is_descending else value


def parsed(text):
    """A key from what `Key.text` makes of it."""
    column, kind, *others = text.split(":")
    return tables.Key(column, kind, others == ["desc"])


if __name__ == "__main__":
    table, path, *keys = sys.argv[1:]
    print(json.dumps(proof(table, path, list(map(parsed, keys)))))
