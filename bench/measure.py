"""One run of one program: how long, how much processor, how much memory, how many bytes to and from
the drive.

The clock runs from the start of the program until its output is on the drive: an fsync after the
program's end counts, since most programs leave their output in the page cache. Before it,
everything dirty is written and the caches are dropped, if that is wanted and allowed; then the
program is asked for its version, so that reading its code (hundreds of megabytes for some) is no
part of the sort. Where the input is in the page cache and the output stays there, as `run_often`
has it, neither is done: the clock stops when the program ends. Peak memory is the kernel's own
(rusage of wait4), which includes pages of mapped files; every contender is one process.
"""

from dataclasses import asdict, dataclass, replace
import os
from pathlib import Path
import resource
import signal
from statistics import fmean, median
import subprocess
import threading
import time

# Why a program failed that was stopped.
LATE = "took too long, stopped"
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


@dataclass(frozen=True)
class Run:
    """What one run took. `failure` is None, or the last line that the program said."""

    seconds: float
    user_seconds: float
    system_seconds: float
    peak_bytes: int
    # The harness's own peak: the kernel counts it as the program's until that takes more.
    harness_bytes: int
    read_bytes: int
    written_bytes: int
    failure: str | None
    answer: str

    def row(self):
        return {name: value for name, value in asdict(self).items() if name != "answer"}


def may_drop_caches():
    """Whether we are allowed to empty the page cache."""
    return os.access(DROP_CACHES, os.W_OK)


def drop_caches():
    """Writes what is dirty and empties the page cache, if allowed."""
    os.sync()
    if may_drop_caches():
        DROP_CACHES.write_text("3")


def run(command, environment, drive, target, log, seconds_max, fed=None):
    """Runs `command`, whose output file is `target` (None if it has none), and waits until that
    is on the drive; `fed` is in its standard input.
    """
    read_before, written_before = drive.moved()
    with (
        open(log.with_suffix(".out"), "wb") as stdout,
        open(log.with_suffix(".err"), "wb") as stderr,
    ):
        stdin = filled_pipe(fed)
        start = time.monotonic()
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=drive.directory,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=die_first,
        )
        os.close(stdin)
        timer = threading.Timer(seconds_max, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            # Its files are only gone for good when it is.
            os.waitpid(process.pid, 0)
            raise
        finally:
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if target and target.is_file():
            sync(target)
        seconds = time.monotonic() - start
    read_after, written_after = drive.moved()
    return Run(
        seconds=seconds,
        user_seconds=usage.ru_utime,
        system_seconds=usage.ru_stime,
        peak_bytes=usage.ru_maxrss * 1024,
        harness_bytes=own_peak_bytes(),
        read_bytes=read_after - read_before,
        written_bytes=written_after - written_before,
        failure=failure(process.returncode, log.with_suffix(".err"), seconds >= seconds_max),
        answer=log.with_suffix(".out").read_text(errors="replace"),
    )


def run_often(repeats, command, environment, drive, log, seconds_max, fed=None):
    """Runs `command` from start to exit, whatever of its output is on the drive by then; if several
    times, then once more before, not counted.

    Those several cost as little as starting a program can. Median seconds, mean processor time,
    greatest memory.
    """
    first = run(command, environment, drive, None, log, seconds_max, fed)
    if first.failure or repeats == 1:
        return first
    seconds, usages, statuses = zip(
        *(start_to_exit(command, environment, log, fed) for _ in range(repeats))
    )
    return replace(
        first,
        seconds=median(seconds),
        user_seconds=fmean(usage.ru_utime for usage in usages),
        system_seconds=fmean(usage.ru_stime for usage in usages),
        peak_bytes=max(usage.ru_maxrss for usage in usages) * 1024,
        harness_bytes=own_peak_bytes(),
        failure=failure(
            next((status for status in statuses if status), 0), log.with_suffix(".err"), False
        ),
    )


def start_to_exit(command, environment, log, fed=None):
    """Seconds, usage and exit status of one run that is over soon."""
    stdin = filled_pipe(fed)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, number, log.with_suffix(end), flags, 0o600)
        for number, end in ((1, ".out"), (2, ".err"))
    ]
    actions.append((os.POSIX_SPAWN_DUP2, stdin, 0))
    start = time.monotonic()
    process = os.posix_spawn(command[0], command, environment, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    seconds = time.monotonic() - start
    os.close(stdin)
    return seconds, usage, os.waitstatus_to_exitcode(status)


def filled_pipe(bytes):
    """The reading end of a pipe that has these bytes, which fit, and nothing behind them;
    without bytes, of /dev/null.
    """
    if bytes is None:
        return os.open(os.devnull, os.O_RDONLY)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        if os.write(writer, bytes) < len(bytes):
            raise ValueError(f"{len(bytes)} bytes don't fit into a pipe")
    finally:
        os.close(writer)
    return reader


def own_peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def warm(path):
    """Brings a file into the page cache, and waits until nothing is left to be written."""
    with open(path, "rb", buffering=0) as file:
        while file.read(2**20):
            pass
    os.sync()


def die_first():
    """In the child: if memory runs out, the kernel takes this process and not the harness."""
    Path("/proc/self/oom_score_adj").write_text("1000")


def sync(path):
    """Waits until a file and its name are on the drive."""
    for place in (path, path.parent):
        descriptor = os.open(place, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def failure(status, stderr, was_late):
    """Why a program failed, in a line."""
    if status == 0:
        return None
    if was_late:
        return LATE
    if status < 0:
        return f"killed by {signal.Signals(-status).name}" + (
            " (out of memory?)" if status == -signal.SIGKILL else ""
        )
    said = [
        line
        for line in stderr.read_text(errors="replace").splitlines()
        if "rror" in line or "xception" in line
    ]
    return f"exit status {status}: {said[-1].strip()}" if said else f"exit status {status}"
