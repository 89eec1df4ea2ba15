"""`xsort part` with Parquet: what its steps make together, and what they refuse."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
PROGRAM = os.environ.get("XSORT_PROGRAM")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="XSORT_PROGRAM is not set")


def rows(count, seed, name="a"):
    """Rows with duplicates, nulls, text, lists and a dictionary."""
    chosen = random.Random(seed)

    def maybe(value):
        return None if chosen.random() < 0.1 else value

    def array(make, kind):
        return pa.array([maybe(make()) for _ in range(count)], kind)

    columns = {
        name: array(lambda: chosen.randrange(count // 3 + 1), pa.int64()),
        "text": array(lambda: "x" * chosen.randrange(40), pa.string()),
        "float": array(lambda: chosen.choice([0.0, -0.0, float("nan"), 1.5]), pa.float64()),
        "list": array(lambda: [1] * chosen.randrange(3), pa.list_(pa.int64())),
        "pair": array(lambda: {"x": chosen.randrange(9)}, pa.struct({"x": pa.int8()})),
        "kind": array(lambda: chosen.choice("abc"), pa.string()).dictionary_encode(),
        "row": pa.array(range(seed << 32, (seed << 32) + count), pa.int64()),
    }
    return pa.table(columns)


class Job:
    """A job in a folder, run by commands as a shell does."""

    def __init__(self, folder, by, slice_size="40000", parts=4):
        self.folder, self.parts = folder, parts
        words = [word for column in by for word in ("--by", column)]
        inputs = sorted(str(path) for path in (folder / "in").iterdir())
        self.part(
            "plan", *inputs, "--slice-size", slice_size, "--parts", str(parts), "-o", "job.json",
            "--", "parquet", *words,
        )  # fmt: skip
        self.slices = len(json.loads((folder / "job.json").read_text())["slices"])

    def run(self, *words):
        environment = {**os.environ, "XSORT_PYTHON": sys.executable}
        return subprocess.run(
            [PROGRAM, "part", *words], cwd=self.folder, env=environment, capture_output=True
        )

    def part(self, *words):
        ended = self.run(*words)
        assert ended.returncode == 0, ended.stderr.decode()

    def map(self, memory="256M"):
        self.part("sample", "job.json", "--slice", f"0-{self.slices - 1}", "-o", "0.sample")
        self.part("split", "job.json", "0.sample", "-o", "splitters.json")
        for number in range(self.slices):
            self.part(
                "map", "job.json", "splitters.json", "--slice", str(number), "--to", ".",
                "-m", memory,
            )  # fmt: skip

    def merge_words(self, number, memory="256M"):
        return [
            "merge", "job.json", "--part", str(number), "--from", ".", "-o", f"{number}.parquet",
            "--summary", f"{number}.sum", "-m", memory,
        ]  # fmt: skip

    def merge(self, memory="256M"):
        for number in range(self.parts):
            self.part(*self.merge_words(number, memory))

    def validate(self):
        manifests = [f"slice-{number}.json" for number in range(self.slices)]
        sums = [f"{number}.sum" for number in range(self.parts)]
        return self.run(
            "validate", "job.json", "--manifests", *manifests, "--summaries", *sums, "--outputs",
            "--read",
        )  # fmt: skip

    def table(self):
        return pa.concat_tables(
            [pq.read_table(self.folder / f"{number}.parquet") for number in range(self.parts)]
        )


def write(folder, *tables, **options):
    (folder / "in").mkdir()
    for number, table in enumerate(tables):
        pq.write_table(table, folder / "in" / f"{number}.parquet", **options)


def expected(tables, by):
    import xsort

    whole = pa.concat_tables(tables).combine_chunks()
    at = whole.schema.get_field_index("kind")
    whole = whole.set_column(at, "kind", whole["kind"].cast(pa.string()))
    return pa.table(xsort.sorted_batches(whole, by=by))


@pytest.mark.parametrize("by", [["a"], ["text:desc:nulls-first", "#1:desc"], ["float", "kind"]])
def test_parts_are_what_one_machine_makes(tmp_path, by):
    tables = [rows(3000, 1), rows(0, 2), rows(2000, 3)]
    write(tmp_path, *tables, row_group_size=400)
    job = Job(tmp_path, by)
    assert job.slices > 2
    job.map()
    job.merge()
    assert job.validate().returncode == 0, job.validate()
    assert job.table().to_pylist().__repr__() == expected(tables, by).to_pylist().__repr__()


def test_equal_keys_are_divided(tmp_path):
    table = pa.table({"a": pa.array([7] * 200_000), "row": range(200_000)})
    write(tmp_path, table, row_group_size=20_000, use_dictionary=False, compression="none")
    job = Job(tmp_path, ["a"], slice_size="1MB")
    job.map()
    job.merge()
    assert job.table()["row"].to_pylist() == list(range(200_000))
    sizes = [pq.read_metadata(tmp_path / f"{number}.parquet").num_rows for number in range(4)]
    assert max(sizes) < 1.5 * 50_000, sizes


def test_more_rows_than_memory(tmp_path):
    count = 400_000
    chosen = random.Random(5)
    keys = [chosen.getrandbits(62) for _ in range(count)]
    table = pa.table({"a": keys, "text": ["some text of forty bytes or a little more" * 8] * count})
    write(tmp_path, table, row_group_size=50_000)
    job = Job(tmp_path, ["a"], slice_size="1G", parts=1)
    job.map("224M")
    job.merge("224M")
    assert job.validate().returncode == 0
    assert job.table()["a"].to_pylist() == sorted(keys)


def test_damage_is_named(tmp_path):
    write(tmp_path, rows(2000, 1), row_group_size=200)
    job = Job(tmp_path, ["a"], parts=1)
    job.map()
    data = (tmp_path / "slice-0.data").read_bytes()
    found = 0
    for begin in range(64, len(data) - 512, len(data) // 12):
        damaged = bytearray(data)
        damaged[begin : begin + 512] = bytes(byte ^ 0x55 for byte in data[begin : begin + 512])
        (tmp_path / "slice-0.data").write_bytes(damaged)
        ended = job.run(*job.merge_words(0), "--json")
        assert json.loads(ended.stdout or b"{}").get("damaged_slice") == 0, (begin, ended.stderr)
        assert not (tmp_path / "0.parquet").exists()
        found += 1
    assert found > 8
    (tmp_path / "slice-0.data").write_bytes(data[:-8])
    ended = job.run(*job.merge_words(0), "--json")
    assert json.loads(ended.stdout)["lost_source"] == "."


def test_what_cannot_be_is_said(tmp_path):
    write(tmp_path, rows(200, 1), rows(200, 2, name="b"))
    with pytest.raises(AssertionError, match="no column 'c'"):
        Job(tmp_path, ["c"])
    job = Job(tmp_path, ["a"], slice_size="1G")
    with pytest.raises(AssertionError, match="other columns than .*0.parquet"):
        job.map()
    Path(tmp_path / "in" / "1.parquet").write_bytes(b"this is no Parquet, but text")
    ended = job.run("map", "job.json", "splitters.json", "--slice", "0", "--to", ".")
    assert ended.returncode != 0
