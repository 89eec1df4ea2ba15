"""sort, verify and generate, beside Python's own sort."""

import os
import pickle

import pytest
import xsort


def rows(path, size=100):
    data = path.read_bytes()
    return [data[at : at + size] for at in range(0, len(data), size)]


def test_records_come_out_as_from_pythons_sort(records, tmp_path):
    out = tmp_path / "out"
    report = xsort.sort(records, out, format="gensort", memory="4M", threads=2, scratch=[tmp_path])
    assert rows(out) == sorted(rows(records), key=lambda row: row[:10])
    assert report.records == 100_000 and report.bytes == 10_000_000
    assert report.scratch_bytes > 0 and report.memory_bytes <= 4 << 20
    assert report.checksum == xsort.verify(out).checksum
    assert report == report and "records=100000" in repr(report)
    assert report.as_dict()["seconds"] == report.seconds
    assert '"stage_seconds"' in report.json


@pytest.mark.parametrize("method", ["merge", "scatter"])
def test_both_methods_keep_the_order_of_equal_keys(tmp_path, method):
    data, out = tmp_path / "data", tmp_path / "out"
    xsort.generate(50_000, data, pattern="few", seed=3)
    xsort.sort(str(data), os.fsencode(out), method=method, memory=3 << 20)
    assert rows(out) == sorted(rows(data), key=lambda row: row[:10])


def test_files_in_order_are_merged_and_others_are_named(tmp_path):
    names, out = [tmp_path / name for name in "abc"], tmp_path / "out"
    for seed, name in enumerate(names):
        xsort.generate(10_000, name, pattern="few", seed=seed)
        xsort.sort(name, name)
    report = xsort.sort(names, out, merge=True, memory="2M")
    everything = [row for name in names for row in rows(name)]
    assert rows(out) == sorted(everything, key=lambda row: row[:10])
    assert report.records == 30_000 and report.scratch_bytes == 0
    xsort.generate(10_000, names[1])
    with pytest.raises(xsort.Unsuitable, match=r"b: record \d+, at byte \d+, belongs before"):
        xsort.sort(names, out, merge=True)
    xsort.sort(names, out, merge="any")
    everything = [row for name in names for row in rows(name)]
    assert rows(out) == sorted(everything, key=lambda row: row[:10])
    with pytest.raises(xsort.Unsuitable, match="leave one of both out"):
        xsort.sort(names, out, merge=True, method="merge")
    with pytest.raises(xsort.Unsuitable, match='not "x"'):
        xsort.sort(names, out, merge="x")


def test_keys_are_numbers_of_any_direction(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    values = [(index * 7919 % 1009) - 500 for index in range(5000)]
    data.write_bytes(
        b"".join(v.to_bytes(4, "little", signed=True) + bytes(4) for v in values)
    )
    xsort.sort(data, out, record=8, key="0:4:i32le:desc")
    found = [int.from_bytes(row[:4], "little", signed=True) for row in rows(out, 8)]
    assert found == sorted(values, reverse=True)


@pytest.mark.parametrize("prefix", ["u16be", "varint"])
def test_records_that_begin_with_their_length(tmp_path, prefix):
    def written(records):
        def length(record):
            if prefix == "u16be":
                return len(record).to_bytes(2, "big")
            low, high = len(record) & 0x7F, len(record) >> 7
            return bytes([low | 0x80, high]) if high else bytes([low])

        return b"".join(length(record) + record for record in records)

    data, out = tmp_path / "data", tmp_path / "out"
    records = [bytes([index * 31 % 256]) * (index % 300) for index in range(20_000)]
    data.write_bytes(written(records))
    kind = f"prefixed:{prefix}"
    report = xsort.sort(data, out, record=kind, key="0:1:desc", memory="4M")
    by_key = {}
    for record in records:
        by_key.setdefault(record[:1], []).append(record)
    expected = [record for key in sorted(by_key, reverse=True) for record in by_key[key]]
    assert out.read_bytes() == written(expected)
    assert report.records == len(records) and report.bytes == data.stat().st_size
    verdict = xsort.verify(out, against=data, record=kind, key="0:1:desc")
    assert verdict and verdict.checksum == report.checksum and verdict.records == len(records)
    assert not xsort.verify(data, record=kind)
    xsort.sort(data, out, record=kind)
    assert out.read_bytes() == written(sorted(records))
    with pytest.raises(xsort.Unsuitable):
        xsort.sort(data, out, record=kind, method="scatter")
    with pytest.raises(xsort.Unsuitable):
        xsort.sort(data, out, record="prefixed:u24")
    data.write_bytes(written(records)[:-1])
    with pytest.raises(xsort.Error):
        xsort.sort(data, out, record=kind)
    assert out.read_bytes() == written(sorted(records))


def test_several_inputs_and_the_output_among_them(records, tmp_path):
    before = rows(records)
    other = tmp_path / "other"
    xsort.generate(1000, other, seed=9)
    expected = sorted(before + rows(other), key=lambda row: row[:10])
    with open(other, "rb") as file:
        xsort.sort([records, file], records)
    assert rows(records) == expected


def test_a_verdict_is_true_or_false(records, tmp_path):
    verdict = xsort.verify(records)
    assert not verdict and not verdict.in_order and verdict.same is None
    assert verdict.unordered_records > 0 and verdict.first_unordered_record is not None
    out, other = tmp_path / "out", tmp_path / "other"
    xsort.sort(records, out)
    assert xsort.verify(out, against=records)
    xsort.generate(100_000, other, seed=4)
    verdict = xsort.verify(out, against=[other])
    assert not verdict and verdict.in_order and verdict.same is False


def test_inputs_are_removed_when_that_is_asked_for(records, tmp_path):
    xsort.sort(records, tmp_path / "out", remove_input=True, sync=False, checkpoint=True)
    assert not records.exists() and xsort.verify(tmp_path / "out")
    assert os.listdir(tmp_path) == ["out"]


def test_errors_have_pythons_classes_and_the_programs_words(records, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(FileNotFoundError, match="opening .*: No such file") as raised:
        xsort.sort(tmp_path / "none", out)
    assert isinstance(raised.value, xsort.Error) and raised.value.errno == 2
    assert raised.value.filename == str(tmp_path / "none")
    with pytest.raises(xsort.BudgetTooSmall, match="too small for this job") as raised:
        xsort.sort(records, out, memory=1000)
    assert 1000 < raised.value.needed < 4 << 20
    xsort.sort(records, out, memory=2 * raised.value.needed)
    text = tmp_path / "text"
    text.write_text("words\n" * 1000)
    with pytest.raises(xsort.Unsuitable, match="it looks like text") as raised:
        xsort.sort(text, out)
    assert raised.value.path == str(text) and isinstance(raised.value, ValueError)
    for arguments in [
        {"memory": "1 apple"},
        {"key": "0:10"},
        {"record": 8, "key": "4:8"},
        {"format": "gensort", "record": 100},
        {"format": "nothing"},
        {"method": "bubble"},
    ]:
        with pytest.raises(xsort.Unsuitable):
            xsort.sort(records, out, **arguments)
    with pytest.raises(TypeError):
        xsort.sort(records, 5)
    assert xsort.verify(out)


def test_exceptions_can_go_to_other_processes():
    for error in [
        xsort.Error("a"),
        xsort.Unsuitable("b", "file"),
        xsort.BudgetTooSmall("c", 7),
        xsort.Corrupt("d", "file", 9),
        xsort.FileError("e", 5, "file"),
        xsort.NotFound("f", 2, "file"),
        xsort.NoSpace("g", 28, "dir"),
    ]:
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error)
        assert vars(copy) == vars(error)
        if isinstance(error, OSError):
            assert (copy.errno, copy.filename) == (error.errno, error.filename)


def test_a_full_drive_is_no_space(records):
    with pytest.raises(xsort.NoSpace) as raised:
        xsort.generate(10**12, records.with_name("large"))
    assert isinstance(raised.value, OSError) and raised.value.errno == 28
    assert not records.with_name("large").exists()


def test_less_memory_than_asked_for_is_noticed(records, tmp_path):
    report = xsort.sort(records, tmp_path / "out", memory="50%")
    assert report.notices == []
