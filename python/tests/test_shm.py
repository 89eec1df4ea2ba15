"""Versions in shared memory, between Python's processes and Rust's."""

import gc
import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
import xsort
from xsort import shm

PROGRAM = os.environ.get("XSORT_PROGRAM") or shutil.which("xsort")


@pytest.fixture
def prefix():
    folder = Path(f"/dev/shm/xsort-test-{os.getpid()}")
    folder.mkdir()
    yield folder / "x"
    shutil.rmtree(folder)


def test_a_version_stays_as_it_is_while_a_view_of_it_lives(prefix):
    with shm.Writer(prefix) as writer:
        reader = shm.Reader(prefix)
        assert writer.version is None and reader.version is None and reader.has_writer
        with pytest.raises(xsort.NotReady, match="no version yet"):
            reader.read()
        assert writer.write(b"sunny") == 1
        view = reader.read()
        assert view == b"sunny" and view.readonly and view.format == "B"
        part = view[1:]
        view.release()
        for number in range(50):
            writer.write(b"rain %d" % number)
        assert part == b"unny" and reader.read() == b"rain 49"
        assert reader.version == writer.version == 51
        with pytest.raises(TypeError):
            reader.read()[0] = 1
    assert not reader.has_writer and reader.read() == b"rain 49"
    with pytest.raises(xsort.Error, match="has ended"):
        writer.write(b"")
    buffers = [name for name in os.listdir(prefix.parent) if "buffer" in name]
    # The current one, the one that is held, and what it takes to write.
    assert len(buffers) <= 4
    with shm.Writer(prefix) as writer:
        assert writer.write(b"") > 51 and reader.read() == b""
        with pytest.raises(xsort.Error, match="another writer"):
            shm.Writer(prefix)
        writer.remove()
    assert os.listdir(prefix.parent) == []


def test_views_are_on_the_memory_itself(prefix):
    np = pytest.importorskip("numpy")
    with shm.Writer(prefix) as writer:
        writer.write(np.arange(1000.0))
        reader = shm.Reader(prefix)
        numbers = np.frombuffer(reader.read(), float)
        same = np.frombuffer(reader.read(), float)
        assert (numbers == np.arange(1000)).all() and not numbers.flags.writeable
        assert numbers.ctypes.data == same.ctypes.data and numbers.ctypes.data % 64 == 0
        writer.write(np.zeros((30, 30), order="C"))
        assert numbers[999] == 999 and len(reader.read()) == 7200
        with pytest.raises(xsort.Unsuitable, match="gaps"):
            writer.write(np.zeros((30, 30))[:, ::2])


def test_what_is_read_is_let_go_of(prefix):
    with shm.Writer(prefix) as writer:
        writer.write(bytes(100))
        reader = shm.Reader(prefix)
        references = sys.getrefcount(reader), sys.getrefcount(writer)
        for number in range(2000):
            view = reader.read()
            if number % 10 == 0:
                writer.write(bytes(100))
        del view
        gc.collect()
        assert (sys.getrefcount(reader), sys.getrefcount(writer)) == references
        held = [reader.read() for _ in range(10)]
        writer.write(b"next")
        del reader
        assert all(view == bytes(100) for view in held)
    assert len([name for name in os.listdir(prefix.parent) if "buffer" in name]) <= 4


def test_readers_wait_for_the_next_version(prefix):
    with pytest.raises(xsort.NotReady):
        shm.Reader(prefix, timeout=0.01)
    with shm.Writer(prefix) as writer:
        reader = shm.Reader(prefix)
        assert reader.wait_newer(0.01) is None
        later = threading.Timer(0.05, writer.write, [b"news"])
        later.start()
        assert reader.wait_newer(60) == b"news"
        assert reader.wait_newer(0) is None
        later.join()
        for bad in [-1, float("nan")]:
            with pytest.raises(xsort.Unsuitable):
                reader.wait_newer(bad)


def test_threads_read_and_write_side_by_side(prefix):
    with shm.Writer(prefix) as writer:
        writer.write(bytes(1000))
        reader = shm.Reader(prefix)
        torn = []

        def read():
            for _ in range(300):
                view = reader.read()
                if len(set(view)) != 1:
                    torn.append(bytes(view))

        def write(byte):
            for _ in range(100):
                writer.write(bytes([byte]) * (100_000 if byte == 1 else 1000))

        threads = [threading.Thread(target=read) for _ in range(3)]
        threads += [threading.Thread(target=write, args=[byte]) for byte in (1, 2)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not torn and writer.version == 201


def test_another_process_reads_and_a_forked_one_may_not_write(prefix):
    with shm.Writer(prefix) as writer:
        writer.write(b"for all")
        code = "import sys, xsort; print(bytes(xsort.shm.Reader(sys.argv[1]).read()))"
        run = subprocess.run([sys.executable, "-c", code, prefix], capture_output=True, text=True)
        assert run.stdout == "b'for all'\n", run.stderr
        reader = shm.Reader(prefix)
        reader.read()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                try:
                    writer.write(b"mine")
                except xsort.Error as error:
                    assert "written by the parent" in str(error)
                    status = 0 if reader.read() == b"for all" else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert writer.write(b"more") and reader.read() == b"more"


def test_files_of_others_are_refused(prefix):
    Path(f"{prefix}.state").write_bytes(b"x" * 4096)
    with pytest.raises(xsort.Unsuitable, match="x.state") as caught:
        shm.Writer(prefix)
    assert caught.value.path == f"{prefix}.state"
    with pytest.raises(xsort.NotFound):
        shm.Writer(prefix / "nowhere" / "x")
    with pytest.raises(xsort.Unsuitable, match="4093"):
        shm.Writer(prefix, readers_max=0)


@pytest.mark.skipif(PROGRAM is None, reason="the program is elsewhere")
def test_python_and_rust_read_each_other(prefix, monkeypatch, tmp_path):
    """The program's status: a Rust writer. What Python publishes is read by a Rust reader."""
    folder = prefix.parent
    folder.chmod(0o700)
    monkeypatch.setenv("XSORT_STATUS_DIR", str(folder))
    assert xsort.jobs() == []
    command = [PROGRAM, "gen", "--quiet", "--bandwidth-limit", "1M", "1GB", tmp_path / "data"]
    job = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        view = shm.Reader(folder / str(job.pid), timeout=60).wait_newer(60)
        assert json.loads(bytes(view))["job"]["pid"] == job.pid
        (known,) = xsort.jobs()
        assert known["name"] == str(job.pid) and known["state"] == "running"
        assert known["snapshot"]["job"]["command"] == "gen" and known["leftovers"] is None
        ours = f"{job.pid}-1"
        with shm.Writer(folder / ours, mode=0o600) as writer:
            writer.write(view)
            run = subprocess.run([PROGRAM, "status", "--json"], capture_output=True, check=True)
            theirs = json.loads(run.stdout)["jobs"]
            states = {known["name"]: known["state"] for known in theirs}
            assert set(states) == {str(job.pid), ours} and "dead" not in states.values()
            assert [sorted(known) for known in xsort.jobs()] == [sorted(known) for known in theirs]
            writer.remove()
    finally:
        job.kill()
        job.wait()
    (dead,) = xsort.jobs()
    assert dead["state"] == "dead" and len(dead["leftovers"]["status"]) >= 3


def test_a_subinterpreter_is_refused_by_words():
    """Not by a crash: PyO3's modules are for one interpreter."""
    code = """
        import xsort
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        try:
            failed = interpreters.run_string(interpreters.create(), "import xsort")
            print(failed)
        except Exception as error:
            print(error)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert "subinterpreter" in run.stdout, run.stdout + run.stderr
