"""sort_lines and sort_table, beside Python's own sort."""

import csv
import gzip
import io
import json
import os
import threading

import pytest
import xsort


def test_lines_are_sorted_by_gnu_sorts_options(tmp_path):
    a, b, out = tmp_path / "a", tmp_path / "b", tmp_path / "out"
    a.write_text("x 10\ny 9\nx 10\n")
    b.write_text("z -1\n")
    report = xsort.sort_lines([a, b], out, key="-k2,2n -u")
    assert out.read_text() == "z -1\ny 9\nx 10\n"
    assert report.lines == 4 and report.written_bytes == 14
    xsort.sort_lines(a, out, key=["-t", " ", "-k1,1r", "-s"])
    assert out.read_text() == "y 9\nx 10\nx 10\n"
    with pytest.raises(xsort.Unsuitable, match="invalid"):
        xsort.sort_lines(a, out, key="-k0")
    with pytest.raises(xsort.Unsuitable, match="set by methods of Lines"):
        xsort.sort_lines(a, out, key="-o other")


def test_lines_that_are_nearly_in_order(tmp_path):
    log, late = tmp_path / "log", tmp_path / "late"
    log.write_text("10 a\n30 b\n28 c\n11 d\n")
    sorted_lines = io.BytesIO()
    report = xsort.sort_lines(log, sorted_lines, key="-k1,1n", within="5s", late=late)
    assert sorted_lines.getvalue() == b"10 a\n28 c\n30 b\n"
    assert late.read_text() == "11 d\n" and report.late_lines == 1
    assert xsort.sort_lines(log, io.BytesIO(), key="-k1,1n", within=3).late_lines is None
    with pytest.raises(xsort.Error, match="line 4 comes too late"):
        xsort.sort_lines(log, io.BytesIO(), key="-k1,1n", within=1)
    with pytest.raises(xsort.Error, match="line 3 belongs before the line before it"):
        xsort.sort_lines(log, io.BytesIO(), key="-k1,1n", sorted_by="1,1n")
    with pytest.raises(xsort.Unsuitable, match="100k"):
        xsort.sort_lines(log, io.BytesIO(), within="soon")


def test_rows_that_are_nearly_in_order(tmp_path):
    table, out, late = tmp_path / "a.csv", tmp_path / "out.csv", tmp_path / "late.csv"
    table.write_text("day,n\n2026-01-02,b\n2026-01-02,a\n2026-01-05,c\n2026-01-01,d\n")
    report = xsort.sort_table(table, out, by="day:date,n", within="2d", late=late)
    assert out.read_text() == "day,n\n2026-01-02,a\n2026-01-02,b\n2026-01-05,c\n"
    assert late.read_text() == "day,n\n2026-01-01,d\n" and report.late_rows == 1
    xsort.sort_table(out, table, by="day:date,n", sorted_by="day:date")
    assert table.read_text() == out.read_text()
    with pytest.raises(xsort.Unsuitable, match="first keys"):
        xsort.sort_table(out, table, by="day:date,n", sorted_by="n")


def test_many_lines_beyond_memory(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    lines = [f"{index * 7919 % 100_003:06} some text\n" for index in range(200_000)]
    data.write_text("".join(lines))
    report = xsort.sort_lines(data, out, memory="2M")
    assert report.scratch_bytes > 0
    assert out.read_text() == "".join(sorted(lines))


def test_pipes_and_file_objects(tmp_path):
    # The thread that writes needs the interpreter while the sort reads: it is released.
    reading, writing = os.pipe()

    def write():
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(b"".join(b"%d\n" % (index * 37 % 1000) for index in range(1000)))

    thread = threading.Thread(target=write)
    thread.start()
    memory = io.BytesIO()
    with os.fdopen(reading, "rb") as pipe:
        xsort.sort_lines(pipe, memory, key="-n")
    thread.join()
    assert memory.getvalue() == b"".join(b"%d\n" % index for index in range(1000))
    data, out = tmp_path / "data", tmp_path / "out"
    data.write_text("b\na\n")
    with open(out, "wb") as file:
        file.write(b"first\n")
        xsort.sort_lines(data, file)
        file.write(b"last\n")
    assert out.read_bytes() == b"first\na\nb\nlast\n"


def test_an_output_that_raises_ends_the_sort(tmp_path):
    class Full(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            raise RuntimeError("no more of this")

    data = tmp_path / "data"
    data.write_text("b\na\n")
    with pytest.raises(xsort.Error, match="no more of this"):
        xsort.sort_lines(data, Full())


def orders(path, count=2000):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "date", "name", "amount"])
        for index in range(count):
            day = index * 7919 % 28 + 1
            rows.writerow([index, f"2026-02-{day:02}", f'n\n"{index % 13}', index * 31 % 97 / 4])


def test_tables_are_sorted_by_typed_columns(tmp_path):
    data, out = tmp_path / "orders.csv", tmp_path / "out.csv"
    orders(data)
    report = xsort.sort_table(data, out, by=["date:date:desc", "name"], memory="8M")
    assert report.rows == 2000
    with open(data, newline="") as file:
        header, *rows = csv.reader(file)
    rows.sort(key=lambda row: row[2])
    rows.sort(key=lambda row: row[1], reverse=True)
    with open(out, newline="") as file:
        assert list(csv.reader(file)) == [header, *rows]
    stream = io.BytesIO()
    xsort.sort_table(data, stream, by="amount:num", top=3)
    assert len(list(csv.reader(io.StringIO(stream.getvalue().decode())))) == 4
    xsort.sort_table(data, out, by="date:date", unique="last")
    with open(out, newline="") as file:
        assert len(list(csv.reader(file))) == 29


def test_formats_follow_from_names(tmp_path):
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(json.dumps({"n": index * 7 % 10}) + "\n" for index in range(10)))
    out = tmp_path / "out"
    xsort.sort_table(lines, out, by=".n:int")
    assert [json.loads(line)["n"] for line in out.open()] == list(range(10))
    packed = tmp_path / "a.tsv.gz"
    packed.write_bytes(gzip.compress(b"k\tv\n2\tb\n1\ta\n"))
    xsort.sort_table(packed, tmp_path / "out.tsv.gz", by="k:int")
    assert gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()) == b"k\tv\n1\ta\n2\tb\n"
    plain = tmp_path / "plain"
    plain.write_text("2;x\n1;y\n")
    xsort.sort_table(plain, out, by="#1:int", delimiter=";", header=False)
    assert out.read_text() == "1;y\n2;x\n"


def test_tables_in_order_are_merged(tmp_path):
    one, two, out = tmp_path / "1.csv", tmp_path / "2.csv", tmp_path / "out"
    one.write_text("n,t\n1,a\n3,a\n")
    two.write_text("n,t\n1,b\n2,b\n")
    report = xsort.sort_table([one, two], out, by="n:int", merge=True)
    assert report.rows == 4
    assert out.read_text() == "n,t\n1,a\n1,b\n2,b\n3,a\n"
    two.write_text("n,t\n2,b\n1,b\n")
    with pytest.raises(xsort.Error, match="2.csv: row 3 belongs before"):
        xsort.sort_table([one, two], out, by="n:int", merge=True)
    xsort.sort_table([one, two], out, by="n:int", merge="any")
    assert out.read_text() == "n,t\n1,a\n1,b\n2,b\n3,a\n"


def test_bad_values_and_keys_are_errors(tmp_path):
    data, out = tmp_path / "a.csv", tmp_path / "out"
    data.write_text("n\n2\nx\n1\n")
    with pytest.raises(xsort.Unsuitable, match="no column"):
        xsort.sort_table(data, out, by="m")
    for header in [True, False]:
        with pytest.raises(xsort.Unsuitable, match="no column #9"):
            xsort.sort_table(data, out, by="#9", header=header)
    with pytest.raises(xsort.Unsuitable):
        xsort.sort_table(data, out, by="n:colour")
    with pytest.raises(xsort.Error, match="x"):
        xsort.sort_table(data, out, by="n:int")
    assert not out.exists()
    report = xsort.sort_table(data, out, by="n:int", on_bad="first")
    assert report.bad_rows == 1
    assert out.read_text() == "n\nx\n1\n2\n"
    for arguments in [{"unique": "some"}, {"on_bad": "no"}, {"format": "xml"}, {"delimiter": ",,"}]:
        with pytest.raises(xsort.Unsuitable):
            xsort.sort_table(data, out, by="n", **arguments)
