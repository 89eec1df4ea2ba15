"""sorted_batches, beside pyarrow, pandas, Polars and DuckDB where they are installed."""

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
import xsort
from conftest import many


class Stream:
    """A stream of another library, behind nothing but Arrow's interface."""

    def __init__(self, of):
        self.of = of

    def __arrow_c_stream__(self, requested_schema=None):
        return self.of.__arrow_c_stream__(requested_schema)


def table(rows, seed=1):
    pa = pytest.importorskip("pyarrow")
    rng = random.Random(seed)
    values = [rng.choice([None, rng.gauss(0, 1e9), 0.0, -0.0, float("inf")]) for _ in range(rows)]
    return pa.table(
        {
            "number": pa.array(range(rows)),
            "few": pa.array([rng.randrange(20) for _ in range(rows)], pa.int8()),
            "text": pa.array([rng.choice([None, "", "a" * rng.randrange(90)]) for _ in range(rows)]),
            "value": pa.array(values, pa.float64()),
            "kind": pa.array([rng.choice("xyz") for _ in range(rows)]).dictionary_encode(),
            "list": pa.array([list(range(rng.randrange(4))) for _ in range(rows)]),
        }
    )


@pytest.mark.parametrize("rows", [3, 20_000])
def test_a_null_that_the_schema_excludes_is_refused_when_it_comes_in(rows):
    pa = pytest.importorskip("pyarrow")

    def batch(nullable, values):
        schema = pa.schema([pa.field("n", pa.int64(), nullable=nullable)])
        return pa.record_batch([pa.array(values)], schema=schema)

    taken = []

    def batches():
        yield batch(False, range(rows))
        # Others may say that it is nullable, as long as it isn't null.
        yield batch(True, range(rows))
        taken.append(1)
        yield batch(True, [1, None, *range(rows)])
        taken.append(2)
        yield batch(False, range(rows))

    with pytest.raises(xsort.Unsuitable, match="column 'n' has no nulls by the schema.*row 1 of"):
        xsort.sorted_batches(batches(), by="n")
    assert taken == [1]
    whole = xsort.sorted_batches([batch(True, [1, None]), batch(False, [0])], by="n")
    assert pa.table(whole).column("n").to_pylist() == [0, 1, None]


def test_what_has_no_arrow_is_refused_by_words():
    for bad in [None, 5, "text", [1]]:
        with pytest.raises(TypeError, match="Arrow data is wanted"):
            xsort.sorted_batches(bad, by="a")
    with pytest.raises(xsort.Unsuitable, match="no schema"):
        xsort.sorted_batches([], by="a")


def test_results_are_those_of_pyarrow(tmp_path):
    pa = pytest.importorskip("pyarrow")
    data = table(50_000)
    expected = data.sort_by([("few", "descending"), ("text", "ascending"), ("number", "ascending")])
    for memory in ["1G", "4M"]:
        out = xsort.sorted_batches(
            data, by=["few:desc", "text", "number"], memory=memory, scratch=tmp_path
        )
        assert out.report is None
        found = pa.table(out)
        assert found.schema == data.schema
        for name in data.column_names:
            assert found[name].to_pylist() == expected[name].to_pylist(), (memory, name)
        assert out.report.rows == 50_000
        assert (out.report.spilled_bytes > 0) == (memory == "4M"), out.report
        assert list(out) == []
    assert os.listdir(tmp_path) == []


def test_input_is_any_stream_batch_or_iterable():
    pa = pytest.importorskip("pyarrow")
    data = table(3000)
    batches = data.unify_dictionaries().to_batches(max_chunksize=700)
    reader = pa.RecordBatchReader.from_batches(data.schema, iter(batches))
    expected = list(range(2999, -1, -1))
    for given in [data, reader, batches, iter(batches), Stream(data), [Stream(data)], batches[0:1] + [data.slice(700)]]:
        found = pa.table(xsort.sorted_batches(given, by="number:desc"))
        assert found["number"].to_pylist() == expected
    one = pa.table(xsort.sorted_batches(batches[1], by=["value", "number"]))
    assert sorted(one["number"].to_pylist()) == list(range(700, 1400))


def test_batches_are_taken_one_by_one():
    pa = pytest.importorskip("pyarrow")
    with xsort.sorted_batches(table(1000), by=["few", "number"], batch_rows=300) as out:
        assert pa.schema(out).names[0] == "number"
        first = next(out)
        assert (len(first), first.num_rows, first.num_columns) == (300, 300, 6)
        assert pa.record_batch(first).num_rows == 300
        assert pa.schema(first) == pa.schema(out)
        # A stream has what is left.
        assert [batch.num_rows for batch in pa.RecordBatchReader.from_stream(out)] == [300, 300, 100]
        assert out.report.batches == 4


def test_an_empty_table_has_its_schema():
    pa = pytest.importorskip("pyarrow")
    data = table(10)
    for given in [data.slice(0, 0), data.schema.empty_table().to_batches() + [data.slice(0, 0)]]:
        found = pa.table(xsort.sorted_batches(given, by="value"))
        assert found.num_rows == 0 and found.schema == data.schema


def test_what_cannot_be_sorted_by_is_refused():
    pa = pytest.importorskip("pyarrow")
    data = table(10)
    with pytest.raises(xsort.Unsuitable, match="there is no column 'no'"):
        xsort.sorted_batches(data, by="no")
    with pytest.raises(xsort.Unsuitable, match="at least one column"):
        xsort.sorted_batches(data, by=[])
    with pytest.raises(xsort.Unsuitable, match="other columns"):
        xsort.sorted_batches([data, data.drop_columns("list")], by="number")
    with pytest.raises(xsort.Unsuitable, match="batch with columns"):
        xsort.sorted_batches(pa.array([1]), by="number")


def test_what_an_input_raises_is_raised():
    pa = pytest.importorskip("pyarrow")
    data = table(10)

    def failing():
        yield from data.to_batches()
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        xsort.sorted_batches(failing(), by="number")
    reader = pa.RecordBatchReader.from_batches(data.schema, failing())
    with pytest.raises(xsort.Unsuitable, match="no more"):
        xsort.sorted_batches(reader, by="number")


def test_pandas_has_the_same_order():
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    frame = table(20_000).drop_columns("list").to_pandas()
    expected = frame.sort_values(["few", "value"], ascending=[True, False], kind="stable")
    out = xsort.sorted_batches(pa.Table.from_pandas(frame), by=["few", "value:desc"])
    found = pa.table(out).to_pandas()
    # pandas takes its NaNs for nulls, which are the last here, too.
    pd.testing.assert_frame_equal(found, expected.reset_index(drop=True))


def test_polars_has_the_same_order():
    pl = pytest.importorskip("polars")
    frame = pl.from_arrow(table(20_000))
    by = ["kind", "value", "text"]
    expected = frame.cast({"kind": pl.String}).sort(
        by, descending=[False, True, False], nulls_last=True, maintain_order=True
    )
    for memory in ["1G", "4M"]:
        out = xsort.sorted_batches(frame, by=["kind", "value:desc", "text"], memory=memory)
        found = pl.DataFrame(out).cast({"kind": pl.String})
        assert found.equals(expected)
    batch = next(xsort.sorted_batches(frame, by="number"))
    assert pl.DataFrame(batch)["number"].to_list() == list(range(20_000))


def test_duckdb_has_the_same_order():
    duckdb = pytest.importorskip("duckdb")
    data = table(20_000)
    connection = duckdb.connect()
    relation = connection.sql("select * from data order by few desc, value, number")
    expected = relation.fetchall()
    out = xsort.sorted_batches(
        connection.sql("from data"), by=["few:desc", "value", "number"], memory="1G"
    )
    assert connection.sql("select number, few from out").fetchall() == [
        row[:2] for row in expected
    ]


def test_progress_is_told():
    pytest.importorskip("pyarrow")
    phases = set()

    def slow():
        for batch in table(40_000).to_batches():
            for _ in range(3):
                yield batch
                time.sleep(0.15)

    out = xsort.sorted_batches(
        slow(), by="value", memory="4M", progress=lambda p: phases.add(p.phase)
    )
    assert sum(map(len, out)) == 120_000
    assert phases

    def angry(_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        list(xsort.sorted_batches(slow(), by="value", memory="4M", progress=angry))


def test_ctrl_c_ends_it(tmp_path):
    pa = pytest.importorskip("pyarrow")
    rng = random.Random(many(1, "XSORT_SEED"))
    batch = table(30_000).drop_columns("list").to_batches()[0]
    slowest = 0.0
    for at in range(many(8, "XSORT_INTERRUPTS")):
        timer = threading.Timer(0.02 + rng.random() * 0.4, os.kill, (os.getpid(), signal.SIGINT))
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            batches = [batch] * 30
            given = batches if at % 2 else pa.RecordBatchReader.from_batches(batch.schema, batches)
            with xsort.sorted_batches(given, by="value", memory="8M", scratch=tmp_path) as out:
                if at % 3:
                    pa.table(out)
                for _ in out:
                    pass
            timer.join()
            time.sleep(1)
        slowest = max(slowest, time.monotonic() - begin - timer.interval)
        xsort._xsort._wait_for_interrupted_jobs()
        assert os.listdir(tmp_path) == []
    print(f"the slowest after {slowest:.3f} s")
    assert slowest < 3


def test_what_is_dropped_leaves_nothing(tmp_path):
    pytest.importorskip("pyarrow")
    data = table(60_000)
    out = xsort.sorted_batches(data, by="value", memory="4M", scratch=tmp_path)
    next(out)
    del out
    gc.collect()
    xsort._xsort._wait_for_interrupted_jobs()
    assert os.listdir(tmp_path) == []
    with xsort.sorted_batches(data, by="value", memory="4M", scratch=tmp_path) as out:
        stream = Stream(out)
        next(out)
    xsort._xsort._wait_for_interrupted_jobs()
    assert os.listdir(tmp_path) == [] and stream.of is out
    with pytest.raises(xsort.Unsuitable, match="has ended"):
        next(out)


def test_a_forked_process_is_refused_by_words():
    pytest.importorskip("pyarrow")
    out = xsort.sorted_batches(table(1000), by="value")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            try:
                next(out)
            except xsort.Error as error:
                status = 0 if "belongs to the process" in str(error) else 2
            del out
            gc.collect()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert sum(map(len, out)) == 1000


WITHIN_MEMORY = """
import sys
import pyarrow as pa, pyarrow.compute as pc
import xsort

def batches(rows, count):
    for first in range(0, rows * count, rows):
        key = pc.multiply(pa.array(range(first, first + rows)), 0x1E3779B97F4A7C15)
        yield pa.record_batch({"key": key, "text": pc.cast(key, pa.string())})

def peak(what):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(what)) << 10

def sort(count):
    source = batches(20_000, count)
    first = next(source)
    reader = pa.RecordBatchReader.from_batches(first.schema, source)
    return xsort.sorted_batches(reader, by="key", memory=MEMORY, scratch=sys.argv[1])

MEMORY = 48 << 20
# All code that is called is in memory then, and its allocators have what they keep.
for batch in sort(2):
    pass
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before, rows, last = peak("VmRSS"), 0, None
out = sort(200)
for batch in out:
    key = pa.record_batch(batch)["key"]
    assert last is None or last <= key[0].as_py()
    rows, last = rows + len(key), key[-1].as_py()
assert rows == 199 * 20_000 and out.report.spilled_bytes > 2 * MEMORY, out.report
print(peak("VmHWM") - before, MEMORY)
"""


def test_what_is_in_memory_stays_within_what_was_given(tmp_path):
    pytest.importorskip("pyarrow")
    command = [sys.executable, "-c", WITHIN_MEMORY, tmp_path]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    taken, memory = map(int, ran.stdout.split())
    assert taken <= memory + (64 << 20), f"{taken >> 20} MiB"


@pytest.mark.parametrize("memory, phases", [("1G", {"read", "sort", "gather"}), ("4M", {"merge"})])
def test_progress_is_told_in_memory_and_out_of_it(memory, phases, tmp_path):
    pa = pytest.importorskip("pyarrow")
    for rows in [10, 300_000]:
        told = []
        data = pa.table({"number": range(rows, 0, -1), "text": ["some text"] * rows})
        result = xsort.sorted_batches(
            data, by="number", memory=memory, scratch=tmp_path, batch_rows=1000, progress=told.append
        )
        assert sum(batch.num_rows for batch in result) == rows
        last = told[-1]
        assert last.done_bytes > 0 and last.done_bytes == last.bytes
        if rows > 10:
            assert last.phase in phases
        else:
            assert last.phase == "gather"


def test_progress_that_raises_ends_a_sort_in_memory():
    pa = pytest.importorskip("pyarrow")

    def stop(progress):
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        list(xsort.sorted_batches(pa.table({"a": [2, 1]}), by="a", progress=stop))
