"""du, beside GNU du where it is there."""

import os
import shutil
import subprocess

import pytest
import xsort


def test_usage_is_that_of_the_files(tmp_path):
    for name, size in [("a/x", 100_000), ("a/b/y", 300_000), ("c/z", 50_000)]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(size))
    usage = xsort.du(tmp_path, top=3)
    assert [str(row.path.relative_to(tmp_path)) for row in usage.largest] == [".", "a", "a/b"]
    assert usage.total.inodes == 7 and usage.errors == []
    assert usage.largest[0].allocated_bytes == usage.total.allocated_bytes
    assert xsort.du([tmp_path / "a", tmp_path / "c"]).largest == []


@pytest.mark.skipif(shutil.which("du") is None, reason="GNU du is missing")
def test_usage_is_gnu_dus():
    tree = os.path.dirname(os.__file__)
    output = subprocess.run(["du", "-s", "-B1", tree], capture_output=True, check=True).stdout
    assert xsort.du(tree).total.allocated_bytes == int(output.split()[0])


def test_what_cannot_be_counted_is_listed(tmp_path):
    usage = xsort.du(tmp_path / "none")
    assert len(usage.errors) == 1 and "none" in usage.errors[0]
