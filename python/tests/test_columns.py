"""`xsort table` of Parquet files that other programs wrote, read by them again."""

import datetime
import decimal
import io
import os
import random
import subprocess
import uuid

import pytest
import xsort

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")
pq = pytest.importorskip("pyarrow.parquet")
PROGRAM = os.environ.get("XSORT_PROGRAM")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="XSORT_PROGRAM is not set")


def test_the_library_sorts_files(tmp_path):
    whole = pa.table({"id": [3, 1, 2, 1], "text": ["c", "a", "b", "z"]})
    pq.write_table(whole, tmp_path / "in.parquet", compression="zstd")
    out = tmp_path / "out.parquet"
    phases = set()
    report = xsort.sort_table(
        tmp_path / "in.parquet",
        out,
        by="id:desc",
        memory="64M",
        progress=lambda progress: phases.add(progress.phase),
    )
    assert (report.rows, report.written_bytes) == (4, out.stat().st_size)
    assert pq.read_table(out).to_pydict() == {"id": [3, 2, 1, 1], "text": ["c", "b", "a", "z"]}
    assert phases <= {"form runs", "merge", "publish"}
    with pytest.raises(xsort.Error, match="row 2 belongs before"):
        xsort.sort_table(out, tmp_path / "no.parquet", by="id", merge=True)
    # To Arrow's formats, and to an object.
    xsort.sort_table(out, tmp_path / "out.arrow", by="text", unique="last", top=3)
    with pa.ipc.open_file(tmp_path / "out.arrow") as file:
        assert file.read_all().to_pydict() == {"id": [1, 2, 3], "text": ["a", "b", "c"]}
    stream = io.BytesIO()
    xsort.sort_table(tmp_path / "out.arrow", stream, by="id,text:desc", format="arrow")
    assert pa.ipc.open_stream(stream.getvalue()).read_all().to_pydict()["id"] == [1, 2, 3]
    for arguments, words in [
        ({"header": False}, "header: for rows of text"),
        ({"by": "none"}, "no column 'none'"),
        ({"by": ":"}, "column"),
    ]:
        with pytest.raises(xsort.Unsuitable, match=words):
            xsort.sort_table(out, tmp_path / "no.parquet", **{"by": "id", **arguments})
    assert not (tmp_path / "no.parquet").exists()


def table(rows, seed):
    """Rows with duplicates and nulls, of all types that Parquet has."""
    chosen = random.Random(seed)

    def array(make, kind):
        values = [None if chosen.random() < 0.1 else make() for _ in range(rows)]
        return pa.array(values, kind)

    number = lambda: chosen.randrange(-50, 50)  # noqa: E731
    day = datetime.datetime(2026, 1, 1)
    moment = lambda: day + datetime.timedelta(microseconds=chosen.randrange(10**15))  # noqa: E731
    amount = lambda: decimal.Decimal(chosen.randrange(-(10**6), 10**6)).scaleb(-2)  # noqa: E731
    columns = {
        "key": array(number, pa.int32()),
        "u64": array(lambda: chosen.choice([0, 1, 2**63, 2**64 - 1]), pa.uint64()),
        "i8": array(number, pa.int8()),
        "bool": array(lambda: chosen.random() < 0.5, pa.bool_()),
        "float": array(lambda: chosen.uniform(-9, 9), pa.float64()),
        "half": pa.array([None] * rows, pa.float16()),
        "text": array(lambda: "é" * chosen.randrange(5), pa.string()),
        "large": array(lambda: "x" * chosen.randrange(300), pa.large_string()),
        "view": array(lambda: "y" * chosen.randrange(30), pa.string_view()),
        "bytes": array(lambda: bytes(chosen.randrange(256) for _ in range(4)), pa.binary()),
        "uuid": array(lambda: uuid.UUID(int=chosen.getrandbits(128)).bytes, pa.binary(16)),
        "small": array(amount, pa.decimal128(9, 2)),
        "wide": array(amount, pa.decimal128(30, 2)),
        "widest": array(amount, pa.decimal256(60, 2)),
        "date": array(lambda: moment().date(), pa.date32()),
        "time": array(lambda: moment().time(), pa.time64("us")),
        "us": array(moment, pa.timestamp("us", "Europe/Oslo")),
        "ns": array(moment, pa.timestamp("ns")),
        "span": array(number, pa.duration("ms")),
        "nothing": pa.nulls(rows),
        "list": array(lambda: [number() for _ in range(chosen.randrange(4))], pa.list_(pa.int16())),
        "lists": array(
            lambda: [[str(number())] * chosen.randrange(3)], pa.list_(pa.list_(pa.string()))
        ),
        "map": array(
            lambda: [(str(at), number()) for at in range(chosen.randrange(3))],
            pa.map_(pa.string(), pa.int64()),
        ),
        "pair": array(
            lambda: {"x": number(), "y": {"z": str(number())}},
            pa.struct({"x": pa.int64(), "y": pa.struct({"z": pa.string()})}),
        ),
        "kind": array(lambda: chosen.choice("abc"), pa.string()).dictionary_encode(),
        "row": pa.array(range(seed << 32, (seed << 32) + rows), pa.int64()),
    }
    return pa.table(columns)


def same(found, wanted):
    """Whether tables have the same values: dictionaries may be in another order."""
    at = found.schema.get_field_index("kind")
    if at >= 0:
        found = found.set_column(at, "kind", found["kind"].cast(pa.string()))
        wanted = wanted.set_column(at, "kind", wanted["kind"].cast(pa.string()))
    return found.equals(wanted)


def run(*words):
    subprocess.run([PROGRAM, "table", *map(str, words)], check=True)


def expected(rows, key, order="ascending"):
    """Rows sorted with the rows' numbers as the last key."""
    nulls = pc.is_null(rows[key])
    keyed = rows.append_column("nulls", nulls)
    by = [("nulls", "ascending"), (key, order), ("row", "ascending")]
    # pyarrow can't take rows of views.
    flat = pa.schema([
        field.with_type(pa.string()) if field.type == pa.string_view() else field
        for field in rows.schema
    ])
    return rows.cast(flat).take(pc.sort_indices(keyed, sort_keys=by)).cast(rows.schema)


SORTED_BY = "key u64 i8 bool float text large bytes small wide widest date time us ns span"


@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_what_pyarrow_wrote(tmp_path, version):
    files = []
    for seed in range(2):
        files.append(tmp_path / f"{seed}.parquet")
        pq.write_table(
            table(3000, seed),
            files[-1],
            version=version,
            row_group_size=1000,
            compression=["zstd", "snappy"][seed],
            use_dictionary=seed == 0,
            data_page_version=["1.0", "2.0"][seed],
        )
    rows = pa.concat_tables([pq.read_table(file) for file in files])
    out = tmp_path / "sorted.parquet"
    for key in SORTED_BY.split():
        for order, word in [("ascending", ""), ("descending", ":desc")]:
            run(*files, "--by", key + word, "-m", "64M", "-q", "-o", out)
            found = pq.read_table(out)
            assert found.schema.equals(rows.schema, check_metadata=True)
            found.validate(full=True)
            assert same(found, expected(rows, key, order)), key


def test_pyarrow_uses_the_statistics_of_floats(tmp_path):
    x = pa.array([3.0, 1.0, 2.0] * 100)
    nan = pa.array([3.0, float("nan"), 2.0] * 100)
    pq.write_table(pa.table({"x": x, "nan": nan}), tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", "--by", "x", "-o", tmp_path / "out.parquet")
    found = pq.read_metadata(tmp_path / "out.parquet").row_group(0)
    statistics = found.column(0).statistics
    assert statistics.has_min_max and (statistics.min, statistics.max) == (1.0, 3.0)
    # Where NaNs are isn't said by the order that pyarrow knows.
    assert found.column(1).is_stats_set


def test_old_times(tmp_path):
    rows = table(2000, 3).select(["key", "us", "row"])
    rows = rows.set_column(1, "us", rows["us"].cast(pa.timestamp("ns")))
    file, out = tmp_path / "a.parquet", tmp_path / "sorted.parquet"
    pq.write_table(rows, file, use_deprecated_int96_timestamps=True, store_schema=False)
    run(file, "--by", "us:desc", "-q", "-o", out)
    assert pq.read_table(out).equals(expected(pq.read_table(file), "us", "descending"))


def test_fields_of_structs(tmp_path):
    rows = table(2000, 4)
    file, out = tmp_path / "a.parquet", tmp_path / "sorted.parquet"
    pq.write_table(rows, file)
    run(file, "--by", "pair.y.z", "-q", "-o", out)
    flat = rows.append_column("z", pc.struct_field(rows["pair"], ["y", "z"]))
    assert same(pq.read_table(out), expected(flat, "z").drop_columns("z"))


def test_what_duckdb_wrote(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    file, out = tmp_path / "a.parquet", tmp_path / "sorted.parquet"
    duckdb.sql(
        f"""copy (select (hash(i) % 1000)::int as key, i as row, hash(i)::hugeint as huge,
        'text ' || i as text, [i, i + 1] as list, {{'a': i, 'b': 'x'}} as pair, i::decimal(12, 3)
        as amount, interval (i) day as span, uuid() as uuid, i::varchar::blob as bytes,
        timestamptz '2026-01-01' + interval (i) hour as \"at\", map {{i: 'v'}} as \"map\"
        from range(20000) t(i)) to '{file}' (row_group_size 5000)"""
    )
    run(file, "--by", "key:desc", "-m", "64M", "-q", "-o", out)
    names = "key, row, huge, text, list, pair, amount, span, uuid, bytes, \"at\", \"map\""
    rows = lambda name, order: duckdb.sql(  # noqa: E731
        f"select {names} from read_parquet('{name}') {order}"
    ).fetchall()
    assert rows(out, "") == rows(file, "order by key desc, row")


def test_text_becomes_what_pyarrow_reads(tmp_path):
    """CSV that pyarrow wrote, of types that it reads again."""
    rows = 2000
    whole = pa.table(
        {
            "id": pa.array(random.Random(3).sample(range(rows), rows), pa.int64()),
            "day": pa.array([None if n % 9 == 0 else n for n in range(rows)], pa.date32()),
            "ts": pa.array([n * 1_000_003 for n in range(rows)], pa.timestamp("us")),
            "price": pa.array([decimal.Decimal(n) / 100 for n in range(rows)], pa.decimal128(9, 2)),
            "text": pa.array([None if n % 5 == 0 else f'a "{n}"\n,' for n in range(rows)]),
        }
    )
    csv = pytest.importorskip("pyarrow.csv")
    csv.write_csv(whole, tmp_path / "in.csv")
    schema = "id:int64,day:date,ts:timestamp[us],price:decimal(9,2),text:string"
    out = tmp_path / "out.parquet"
    report = xsort.sort_table(tmp_path / "in.csv", out, by="id", schema=schema)
    assert report.rows == rows
    assert pq.read_table(out).equals(whole.sort_by("id"))
    xsort.sort_table(out, tmp_path / "out.csv", by="id:desc")
    types = csv.ConvertOptions(
        column_types=whole.schema, strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    values = csv.ParseOptions(newlines_in_values=True)
    back = csv.read_csv(tmp_path / "out.csv", parse_options=values, convert_options=types)
    assert back.equals(whole.sort_by([("id", "descending")]))
    # The newest row of each key, of columns and of text.
    for name in ("out.parquet", "out.csv"):
        xsort.sort_table(tmp_path / name, tmp_path / f"newest-{name}", by="day", keep="max:id")
    newest = pq.read_table(tmp_path / "newest-out.parquet").to_pydict()
    best = whole.group_by("day").aggregate([("id", "max")]).sort_by("day").to_pydict()
    assert newest["id"] == best["id_max"]
    with pytest.raises(xsort.Unsuitable, match="schema="):
        xsort.sort_table(tmp_path / "in.csv", tmp_path / "no.parquet", by="id")
    (tmp_path / "bad.csv").write_text("id,day,ts,price,text\n1.5,,,,\n")
    with pytest.raises(xsort.Error, match="row 2, byte 21, column 'id': '1.5' is no Int64"):
        xsort.sort_table(tmp_path / "bad.csv", tmp_path / "no.parquet", by="id", schema=schema)
    assert not (tmp_path / "no.parquet").exists()
