"""Objects of a store as inputs and outputs, in the example server of crates/objects."""

import os
import random
import subprocess

import pytest
import xsort


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with the bucket `b`, of which this process is a user."""
    if "XSORT_S3_SERVER" not in os.environ:
        pytest.skip("the example s3_server isn't built")
    command = [os.environ["XSORT_S3_SERVER"], f"directory={tmp_path}", "bucket=b"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.stdout.readline().strip())
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anybody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
    yield
    server.kill()
    server.wait()
    server.stdout.close()


def test_records_go_from_objects_to_an_object(store, records, tmp_path):
    made = xsort.generate(200_000, "s3://b/in put+1", seed=1, memory="300M", threads=2)
    report = xsort.sort(
        ["s3://b/in put+1", records], "s3://b/out", memory="60M", threads=2, scratch=tmp_path
    )
    assert report.records == 300_000 and report.memory_bytes < 60 << 20
    verdict = xsort.verify("s3://b/out", against=["s3://b/in put+1", records])
    assert verdict and verdict.checksum == report.checksum
    assert xsort.verify("s3://b/in put+1").checksum == made.checksum
    # A file is as good, and the other way round.
    xsort.sort("s3://b/out", tmp_path / "sorted")
    assert xsort.verify(tmp_path / "sorted").checksum == report.checksum


def test_lines_and_tables_go_from_objects_to_objects(store, tmp_path):
    numbers = [str(number) for number in range(50_000)]
    random.Random(1).shuffle(numbers)
    (tmp_path / "text").write_text("\n".join(numbers) + "\n")
    xsort.sort_lines(tmp_path / "text", "s3://b/lines", key="-n")
    xsort.sort_lines("s3://b/lines", tmp_path / "back", key="-rn")
    assert (tmp_path / "back").read_text().split() == sorted(numbers, key=int, reverse=True)
    (tmp_path / "t.csv").write_text("id,name\n10,a\n9,b\n")
    xsort.sort_table(tmp_path / "t.csv", "s3://b/t.csv.gz", by="id:int")
    xsort.sort_table("s3://b/t.csv.gz", tmp_path / "sorted.csv", by="name:str:desc", format="csv")
    assert (tmp_path / "sorted.csv").read_text() == "id,name\n9,b\n10,a\n"


def test_columns_go_from_objects_to_objects(store, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    numbers = list(range(200_000))
    random.Random(2).shuffle(numbers)
    texts = [f"the text of {number}" for number in numbers]
    whole = pa.table({"id": numbers, "text": texts})
    pq.write_table(whole, tmp_path / "in.parquet", row_group_size=30_000)
    by = {"memory": "64M", "scratch": tmp_path}
    xsort.sort_table(tmp_path / "in.parquet", "s3://b/sorted.parquet", by="id", **by)
    xsort.sort_table("s3://b/sorted.parquet", tmp_path / "back.parquet", by="id:desc", **by)
    assert pq.read_table(tmp_path / "back.parquet").equals(
        whole.sort_by([("id", "descending")])
    )
    for name in ("a.arrow", "a.arrows", "a.csv.zst"):
        xsort.sort_table("s3://b/sorted.parquet", f"s3://b/{name}", by="text", **by)
        schema = "id:int64,text:string" if "csv" in name else None
        xsort.sort_table(f"s3://b/{name}", tmp_path / "by-id.parquet", by="id", schema=schema, **by)
        assert pq.read_table(tmp_path / "by-id.parquet").equals(whole.sort_by("id"))
    with pytest.raises(xsort.Error, match="no such object"):
        xsort.sort_table("s3://b/none.parquet", tmp_path / "no.parquet", by="id")


def test_outputs_are_read_back_where_they_are_objects(store, records, tmp_path):
    (tmp_path / "text").write_text("b\na\n")
    (tmp_path / "t.csv").write_text("id\n10\n9\n")
    (tmp_path / "prefixed").write_bytes(b"\x01b\x01a")
    calls = [
        lambda out: xsort.sort(records, out, memory="60M", verify_output=True),
        lambda out: xsort.sort(
            tmp_path / "prefixed", out, record="prefixed:u8", memory="60M", verify_output=True
        ),
        lambda out: xsort.sort_lines(tmp_path / "text", out, memory="60M", verify_output=True),
        lambda out: xsort.sort_table(
            tmp_path / "t.csv", out, by="id:int", memory="60M", verify_output=True
        ),
        lambda out: xsort.generate(1000, out, memory="60M", verify_output=True),
    ]
    for number, call in enumerate(calls):
        call(f"s3://b/{number}")
        with pytest.raises(xsort.Unsuitable, match="verify_output reads an object back"):
            call(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert xsort.verify("s3://b/0")


def test_errors_are_those_of_files(store, records):
    with pytest.raises(xsort.NotFound, match="there is no such object"):
        xsort.verify("s3://b/none")
    with pytest.raises(xsort.NotFound, match="there is no such bucket"):
        xsort.sort(records, "s3://nowhere/out")
    with pytest.raises(xsort.BudgetTooSmall):
        xsort.sort(records, "s3://b/out", memory="20M", threads=2)
    with pytest.raises(xsort.NotFound):
        xsort.verify("s3://b/out")
