"""What runs on a node, without Ray: its directories, and what others see of its processes."""

import json
import os
import stat
import sys

import pytest
from xsort.ray.node import Drive, NodeWorker, remove_job

PROGRAM = """#!{python}
import json, sys
if sys.argv[2] == "serve":
    print(json.dumps({{"url": "http://127.0.0.1:9/own-s3cr3t"}}), flush=True)
    sys.stdin.read()
elif sys.argv[2] == "merge":
    said = dict(zip(sys.argv, sys.argv[1:]))
    listed = said["--from-file"]
    with open({log!r}, "w") as log:
        json.dump([sys.argv, open(listed).read().split(), listed], log)
    print(json.dumps({{"lost_source": "http://[::1]:7/***", "fault": "it is gone"}}))
    sys.exit(5)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program"
    path.write_text(PROGRAM.format(python=sys.executable, log=str(tmp_path / "log")))
    path.chmod(0o700)
    return str(path)


def drive(root, program="/bin/true"):
    return Drive(str(root), "key", "node", program, "127.0.0.1")


def foreign_owner(job):
    os.chown(job, 12345, 12345)


PLANTED = {
    "another user's": foreign_owner,
    "group": lambda job: job.chmod(0o770),
    "everybody": lambda job: job.chmod(0o777),
    "sticky": lambda job: job.chmod(0o1777),
    "link": lambda job: (job.rename(job.with_name("there")), job.symlink_to("there")),
    "file": lambda job: (job.joinpath("node").rmdir(), job.rmdir(), job.write_text("")),
}


@pytest.mark.parametrize("how", PLANTED)
def test_scratch_that_somebody_else_could_fill_is_refused(how, tmp_path):
    if how == "another user's" and os.geteuid() != 0:
        pytest.skip("only root gives directories away")
    job = tmp_path / "xsort-ray-key"
    job.mkdir(mode=0o700)
    (job / "node").mkdir()
    PLANTED[how](job)
    before = os.lstat(job)
    with pytest.raises(RuntimeError, match="xsort-ray-key .*remove it, or name other scratch"):
        drive(tmp_path)
    assert remove_job(str(job)) == []
    after = os.lstat(job)
    assert (before.st_ino, before.st_mode, before.st_uid) == (after.st_ino, after.st_mode, after.st_uid)
    if job.is_dir():
        assert os.listdir(job / "node") == []


def test_scratch_is_for_its_user_alone_whatever_the_umask(tmp_path):
    old = os.umask(0o002)
    try:
        root = tmp_path / "made"
        first = drive(root)
    finally:
        os.umask(old)
    for path in [first.job, first.path, first.slices, first.work, first.scratch]:
        assert stat.S_IMODE(os.stat(path).st_mode) & 0o022 == 0, path
    assert stat.S_IMODE(os.stat(first.job).st_mode) == 0o700
    first.close(remove=False)
    # What is its own is adopted, and removed.
    second = drive(root)
    second.close(remove=True)
    assert os.listdir(root) == []


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    first = drive(tmp_path)
    first.close(remove=False)
    lock = os.path.join(first.path, "lock")
    os.remove(lock)
    os.symlink(tmp_path / "made", lock)
    with pytest.raises(OSError):
        drive(tmp_path)
    assert not (tmp_path / "made").exists()


def test_secrets_of_servers_are_no_arguments(tmp_path, program, monkeypatch):
    monkeypatch.setenv("XSORT_PROGRAM", program)
    worker = NodeWorker(
        "key", "node", "127.0.0.1", b"{}", [],
        scratch=[str(tmp_path / "scratch")], memory=1 << 20, threads=1, resume=False, sync=False,
    )  # fmt: skip
    try:
        [own] = worker.describe()["urls"]
        sources = [own, "http://other:5/some-s3cr3t", "http://[::1]:7/their-s3cr3t"]
        outcome = worker.merge(3, "out", sources)
        words, given, listed = json.loads((tmp_path / "log").read_text())
        assert not any("s3cr3t" in word for word in words)
        assert given == [worker.drives[0].slices, *sources[1:]]
        assert not os.path.exists(listed)
        assert (outcome["trouble"], outcome["source"]) == ("LOST_SOURCE", sources[2])
    finally:
        worker.stop(remove=True)
