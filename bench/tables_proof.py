"""Proves a sorted table without any of the programs that sort it: which rows there are, and that
none is smaller than the one before it.

Rows are read by Python's csv and json. A row is the tuple of its fields, or the value of its line,
however it is written. What is compared is the sum of the hashes of all rows, as two programs that
read the same rows get it in whatever order they come. A large file is read in pieces, by all
processors; a piece ends where a row does.

Run as `tables_proof.py TABLE FILE [KEY...]`, with keys as `xsort table --by` takes them; it prints
a line of JSON. `PYTHONHASHSEED=0` makes the sums of two processes comparable.
"""

import csv
import io
from itertools import islice, pairwise
import json
from multiprocessing import Pool
from operator import itemgetter
import os
import sys

import tables

BLOCK_ROWS = 20_000
PIECE_BYTES = 64_000_000
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
    pieces = [(table, path, keys, *piece) for piece in pairwise(piece_ends(table, path))]
    if len(pieces) == 1:
        return joined(map(piece_proof, pieces))
    with Pool() as pool:
        return joined(pool.imap(piece_proof, pieces))


def joined(proofs):
    """One proof of those of all pieces, in their order."""
    rows, total, disorder, last = 0, 0, None, None
    for piece in proofs:
        total += piece["sum"]
        if disorder is None:
            is_between = None not in (last, piece["first"]) and last > piece["first"]
            bad = 1 if is_between else piece["disorder"]
            disorder = bad and rows + bad
        rows += piece["rows"]
        last = piece["last"] or last
    return {"rows": rows, "sum": f"{total % 2**64:016x}", "disorder": disorder}


def piece_proof(piece):
    """As `proof`, of a piece; with the keys of its first row and its last."""
    table, path, keys, begin, end = piece
    is_json = tables.FORMATS[table] == "ndjson"
    columns = [(json_key if is_json else csv_key)(key) for key in keys]
    rows, total, disorder, first, last = 0, 0, None, None, []
    with io.BufferedReader(Piece(path, begin, end), 2**20) as file:
        for block, values in (
            events(file) if is_json else orders(file, table == "orders" and begin == 0)
        ):
            total += sum(map(hash, block))
            if keys and disorder is None:
                found = last + list(zip(*(column(values) for column in columns)))
                bad = (place for place, (one, other) in enumerate(pairwise(found)) if one > other)
                place = next(bad, None)
                disorder = None if place is None else rows - len(last) + place + 2
                first, last = first or found[0], found[-1:]
            rows += len(block)
    return {
        "rows": rows,
        "sum": total,
        "disorder": disorder,
        "first": first,
        "last": last[0] if last else None,
    }


class Piece(io.RawIOBase):
    """Some of a file's bytes."""

    def __init__(self, path, begin, end):
        self.file, self.left = open(path, "rb", buffering=0), end - begin
        self.file.seek(begin)

    def readable(self):
        return True

    def readinto(self, buffer):
        count = self.file.readinto(memoryview(buffer)[: self.left])
        self.left -= count
        return count

    def close(self):
        self.file.close()
        super().close()


def piece_ends(table, path):
    """Where pieces begin and end: after a line end that isn't within quotes, for so many quotes
    are before it that all are closed.
    """
    ends, bytes, quotes = [0], os.path.getsize(path), 0
    with open(path, "rb") as file:
        while bytes - ends[-1] > 2 * PIECE_BYTES:
            for _ in range(PIECE_BYTES // 2**20):
                quotes += file.read(2**20).count(b'"')
            line = file.readline()
            quotes += line.count(b'"')
            while line and quotes % 2 and table == "orders":
                line = file.readline()
                quotes += line.count(b'"')
            ends.append(file.tell())
    return [*ends, bytes]


def orders(file, has_header):
    """Blocks of rows of CSV as tuples, twice, without the header."""
    rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""), strict=True)
    if has_header and next(rows, None) != list(tables.COLUMNS):
        raise ValueError("the header is not that of the input")
    while block := list(map(tuple, islice(rows, BLOCK_ROWS))):
        yield block, block


def events(file):
    """Blocks of lines as the harness would have written their values, whatever program wrote
    them, and the values.
    """
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    lines = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
    while block := list(islice(lines, BLOCK_ROWS)):
        values = list(map(json.loads, block))
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
    """What is compared: numbers, texts in the order of their bytes, dates as numbers. Times are
    all written with as many digits.
    """
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
