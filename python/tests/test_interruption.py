"""Ctrl-C, progress, threads and the end of the interpreter."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import xsort
from conftest import many


def test_progress_tells_phases_and_rates(tmp_path):
    data = tmp_path / "data"
    seen = []
    xsort.generate(400_000, data, progress=seen.append)
    xsort.sort(data, tmp_path / "out", memory="8M", progress=seen.append)
    assert {"generate", "publish"} <= {progress.phase for progress in seen}
    for progress in seen:
        assert progress.bytes is None or progress.done_bytes <= progress.bytes
        assert progress.seconds >= 0 and progress.bytes_per_second >= 0
    assert seen[0].__class__ is xsort.Progress and "phase=" in repr(seen[0])


def test_a_bar_needs_tqdm_and_nothing_else(tmp_path, capsys):
    data = tmp_path / "data"
    try:
        import tqdm  # noqa: F401
    except ImportError:
        with pytest.raises(ModuleNotFoundError, match="tqdm"):
            xsort.generate(1000, data, progress=True)
        return
    xsort.generate(400_000, data, progress=True)
    assert "generate" in capsys.readouterr().err


def test_nothing_is_printed(tmp_path, capfd):
    xsort.generate(1000, tmp_path / "data", progress=False)
    xsort.sort(tmp_path / "data", tmp_path / "out")
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_what_a_progress_callable_raises_ends_the_job(tmp_path):
    class Enough(Exception):
        pass

    def stop(progress):
        raise Enough

    out = tmp_path / "out"
    out.write_text("old")
    with pytest.raises(Enough):
        # A rate of a megabyte a second: it can't be done before it is asked for progress.
        xsort.generate(100_000, out, bandwidth_limit="1M", progress=stop)
    xsort.du(tmp_path)
    assert out.read_text() == "old" and os.listdir(tmp_path) == ["out"]


def wait_for_the_job():
    """Waits until the thread that runs a job has ended, for a minute at most."""
    for _ in range(6000):
        names = []
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as name:
                names.append(name.read())
        if "xsort\n" not in names:
            return
        time.sleep(0.01)


def test_what_is_raised_says_what_became_of_the_output(tmp_path):
    class Enough(Exception):
        pass

    out = tmp_path / "out"
    out.write_text("old")

    def stop_at_once(progress):
        raise Enough

    with pytest.raises(Enough) as raised:
        xsort.generate(100_000, out, bandwidth_limit="1M", progress=stop_at_once)
    (note,) = raised.value.__notes__
    xsort.du(tmp_path)
    assert out.read_text() == "old" and "stopped" in note and "was done" not in note

    def stop_when_done(progress):
        if out.stat().st_size != 3:
            wait_for_the_job()
            raise Enough

    with pytest.raises(Enough) as raised:
        xsort.generate(1000, out, progress=stop_when_done)
    (note,) = raised.value.__notes__
    assert "was done at this moment: its output is new and whole" in note
    assert out.stat().st_size == 100_000


INTERRUPTED = """
    import os, random, signal, sys, threading, time
    import xsort
    folder, seed, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    random.seed(seed)
    data, out = f"{folder}/data", f"{folder}/out"
    handler = signal.getsignal(signal.SIGINT)
    slowest = interrupted = finished = 0
    longest = 0.5
    for round in range(rounds):
        with open(out, "w") as file:
            file.write("old")
        sent = []

        def interrupt():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(random.random() * longest, interrupt)
        begin = time.monotonic()
        timer.start()
        try:
            xsort.sort(data, out, memory="16M", method=random.choice(["merge", "scatter"]))
            longest = min(longest, time.monotonic() - begin + 0.01)
            finished += 1
            timer.cancel()
            timer.join()
            time.sleep(0.001)
        except KeyboardInterrupt as interruption:
            if sent:
                slowest = max(slowest, time.monotonic() - sent[0])
            interrupted += 1
            xsort._xsort._wait_for_interrupted_jobs()
            size = os.path.getsize(out)
            assert size in (3, os.path.getsize(data)), size
            # None where it came between two calls.
            note = "".join(getattr(interruption, "__notes__", []))
            assert size == 3 or "was stopped" not in note, note
            assert size != 3 or "was done" not in note, note
        names = sorted(os.listdir(folder))
        assert names == ["data", "out"], names
    assert signal.getsignal(signal.SIGINT) is handler
    print(interrupted, finished, slowest)
"""


def python(code, *arguments, **options):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **options)


def test_ctrl_c_leaves_the_old_output_and_no_scratch(tmp_path):
    xsort.generate(600_000, tmp_path / "data")
    rounds = many(12, "XSORT_INTERRUPTS")
    run = python(INTERRUPTED, tmp_path, many(1, "XSORT_SEED"), rounds)
    assert run.returncode == 0, run.stderr
    interrupted, finished, slowest = run.stdout.split()
    assert int(interrupted) + int(finished) == rounds and int(interrupted) > 0
    # The promise is a tenth of a second; a machine that is busy with other tests takes longer.
    print(f"{interrupted} interrupted, the slowest after {slowest} s")
    assert float(slowest) < 2


def test_an_interrupt_at_the_end_of_the_process_leaves_nothing(tmp_path):
    xsort.generate(600_000, tmp_path / "data")
    code = """
        import os, signal, sys, threading
        import xsort
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        xsort.sort(sys.argv[1] + "/data", sys.argv[1] + "/out", bandwidth_limit="20M")
    """
    run = python(code, tmp_path)
    assert run.returncode == -signal.SIGINT and "KeyboardInterrupt" in run.stderr
    assert os.listdir(tmp_path) == ["data"]


def test_threads_work_side_by_side(tmp_path):
    def work(number):
        data, out = tmp_path / f"data{number}", tmp_path / f"out{number}"
        xsort.generate(50_000, data, seed=number)
        xsort.sort(data, out, memory="4M")
        verdicts.append(xsort.verify(out, against=data))

    verdicts = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(verdicts) == 6 and all(verdicts)


def test_a_forked_process_sorts(records, tmp_path):
    xsort.sort(records, tmp_path / "out")
    child = os.fork()
    if child == 0:
        ok = False
        try:
            xsort.sort(records, tmp_path / "child", memory="4M")
            ok = bool(xsort.verify(tmp_path / "child", against=records))
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_stays_flat(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    xsort.generate(2000, data)
    sizes = []
    for _ in range(many(120, "XSORT_SORTS") // 4):
        for _ in range(4):
            xsort.sort(data, out, memory="4M", sync=False)
            with pytest.raises(xsort.NotFound):
                xsort.sort(tmp_path / "none", out)
        sizes.append(resident_bytes())
    quarter = len(sizes) // 4
    assert max(sizes[-quarter:]) - max(sizes[:quarter]) < 16 << 20, sizes
