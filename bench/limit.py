"""The drive's limit: the best that fio reaches, and the least time that a sort needs at those
rates.

No single way of asking is the best for every drive and every minute, so several are tried, for a
bounded time each, and for each of reading, writing and both at once the best of them counts: here
now, and its mean over a record. The file is laid out before, so that nothing reads what was never
written. The files are as large as the input and output of the sort.

Writing over what a file has can be two or three times as fast as writing a file that is new, whose
space was never written: below it the host of a virtual machine has to find it. A sort never does
the former: its output is new, and so is its scratch. So new files are written as well, alone and
beside reading, and there is a floor of either kind. Their space is reserved before the clock
starts; a sort does that meanwhile.

Giving space back takes the drive's time too, where the file system tells it at once what became
free (mount option `discard`, no journal). So the removal of that file is timed.
"""

from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
import json
import os
from pathlib import Path
import shutil
from statistics import fmean
import subprocess
import time

# On the file that is there: reading, writing, both. On one that is new: writing, and writing beside
# reading the one that is there.
OLD = ("read", "write", "mixed")
NEW = ("created", "created_mixed")
PATTERNS = OLD + NEW
# Large enough that a cache below the file system can't hold much of it, on the machines that we
# have.
PROBE_BYTES_MIN = 4 * 2**30
# Half of it is to be as large as the input.
PROBE_FACTOR = 2
# Huge pages for fio's buffers: more than any configuration has in flight. With small ones a drive
# read 2.5 GB/s that reads 4 (docs/experiments/2026-11-21-drive-limit.md).
HUGE_PAGES = 64
RESERVED = Path("/proc/sys/vm/nr_hugepages")
MEMORY = Path("/proc/meminfo")
# Nothing is freed faster: JSON has no infinity.
FREED_MAX = 1e12
# A rate holds for the cases that begin within so many seconds of its measurement.
AGE_SECONDS_MAX = 60


@dataclass(frozen=True)
class Configuration:
    """One way of asking: `jobs` on parts of the file of their own, each with `depth` transfers of
    `block_bytes` in flight.

    With io_uring, buffers and files are registered with the kernel in advance, as xsort's are.
    """

    block_bytes: int
    depth: int
    jobs: int
    engine: str = "io_uring"

    def name(self):
        return f"{self.engine} {self.block_bytes >> 20}M x {self.depth} x {self.jobs}"


# The winners among 512 KiB to 4 MiB, depth 2 to 32, one job and two, on a virtual drive
# (2026-11-21, medians in GB/s of reading, writing, both). Beside other work, 14 rounds: 1.75, 2.94,
# 2.01; 1.83, 2.83, 2.01; 1.90, 2.93, 2.16; 2.00, 2.71, 2.13, in this order. Beside little, 6
# rounds, the first two: 2.35, 2.92, 2.32; 2.23, 3.17, 2.21. Registration is worth a fifth when
# reading: without it, by io_uring or libaio, none of them read more than 1.64 beside other work.
CONFIGURATIONS = (
    Configuration(2 * 2**20, 4, 1),
    Configuration(2**20, 4, 2),
    Configuration(2**20, 16, 1),
    Configuration(2**20, 16, 2),
)


@dataclass(frozen=True)
class Rates:
    """Bytes per second: reading only, writing only, both at once (the sum), giving space back,
    which no reading or writing hides, writing a file that is new, and that beside reading another
    one (the sum). Older records lack the last, and wrote a new file in one way only.

    `configurations`: what each of them gave. `buffers`: where fio had its buffers, "mmaphuge" in
    huge pages, "mmap" in small ones or where some had to be asked again with these.
    """

    read: float
    write: float
    mixed: float
    configurations: tuple = ()
    freed: float = FREED_MAX
    created: float | None = None
    created_mixed: float | None = None
    buffers: str = "mmap"

    def of_new_files(self):
        """The rates where all that is written is new; None if they aren't known."""
        return (
            self.created
            and self.created_mixed
            and replace(self, write=self.created, mixed=self.created_mixed)
        )

    def row(self):
        return asdict(self)


def floor_seconds(rates, task, bytes, spilled, last=None):
    """The least time for sorting `bytes` with `spilled` bytes of scratch written and read again, or
    for making or proving them. The output is written at the rates `last`, if these are given.

    The output can't begin before the input has been read whole. So a sort reads the input while it
    spills, and writes the output while it reads what it spilled; what is spilled beyond the input's
    size was merged in between.
    """
    if task == "gen":
        return bytes / (rates.created or rates.write)
    if task == "verify":
        return phase_seconds(rates, bytes, 0)
    first = min(bytes, spilled)
    between = spilled - first
    return (
        phase_seconds(rates, bytes, first)
        + phase_seconds(rates, between, between)
        + phase_seconds(last or rates, first, bytes)
    )


def phase_seconds(rates, read_bytes, written_bytes):
    """Reading and writing in turn, or both at once as long as there is both, whichever is less."""
    both = min(read_bytes, written_bytes)
    in_turn = read_bytes / rates.read + written_bytes / rates.write
    at_once = (
        2 * both / rates.mixed
        + (read_bytes - both) / rates.read
        + (written_bytes - both) / rates.write
    )
    return min(in_turn, at_once)


def sustained(measured):
    """The rates over all of these measurements: the best configuration's mean in each pattern.

    One measurement lasts seconds, in which a drive can be half as fast again as over a minute; the
    best of many is what it never keeps up.
    """
    given = {}
    for rates in measured:
        for row in rates.configurations:
            for pattern in PATTERNS:
                if row.get(pattern):
                    given.setdefault((pattern, row["configuration"]), []).append(row[pattern])
    top = lambda pattern: max(
        (fmean(values) for (of, _), values in given.items() if of == pattern), default=0
    )
    if not given:
        return measured[0]
    created = [rates.created for rates in measured if rates.created]
    known = {pattern: top(pattern) or None for pattern in PATTERNS}
    known["created"] = known["created"] or (fmean(created) if created else None)
    return Rates(**known, freed=fmean(rates.freed for rates in measured))


class Limit:
    """The rates of the drive, measured anew when they are too old or of a file of another size;
    None once fio is missing or has refused.

    `probe_bytes`: of fio's file; None for one that suits the input.
    """

    def __init__(self, probe_bytes, seconds):
        self.given_bytes, self.seconds = probe_bytes, seconds
        self.refusal = (
            None
            if shutil.which("fio")
            else "fio is missing; install it with the system's package manager"
        )
        self.known, self.known_bytes, self.measured_at = None, 0, 0.0

    def probe_bytes(self, input_bytes):
        """Bytes of fio's file."""
        return self.given_bytes or max(PROBE_FACTOR * input_bytes, PROBE_BYTES_MIN)

    def space(self, input_bytes):
        """The most that fio's files take at once: one that is there, and a new one."""
        probe_bytes = self.probe_bytes(input_bytes)
        return probe_bytes + half(probe_bytes)

    def rates(self, directory, input_bytes):
        """The rates now, by a file in `directory` that is gone afterwards."""
        probe_bytes = self.probe_bytes(input_bytes)
        is_known = (
            self.known
            and self.known_bytes == probe_bytes
            and time.monotonic() - self.measured_at <= AGE_SECONDS_MAX
        )
        if self.refusal is None and not is_known:
            probe = directory / "fio-probe"
            try:
                self.known, self.known_bytes = (
                    measure(probe, probe_bytes, self.seconds),
                    probe_bytes,
                )
            except Refused as refusal:
                self.known, self.refusal = None, str(refusal)
            finally:
                probe.unlink(missing_ok=True)
                remove(new(probe))
            self.measured_at = time.monotonic()
        return self.known


def measure(probe, probe_bytes, seconds):
    """What fio reaches on the file `probe`, and what removing it takes; raises Refused if no
    configuration works.
    """
    lay_out(probe, probe_bytes)
    with huge_pages() as buffers:
        rows = ask(CONFIGURATIONS, probe, probe_bytes, seconds, buffers)
    # io_uring may be forbidden, and registered buffers count as locked memory, of which an ordinary
    # user may have too little.
    refused = [
        configuration
        for configuration, row in zip(CONFIGURATIONS, rows)
        if not all(row[pattern] for pattern in OLD)
    ]
    if refused:
        rows += ask(
            [replace(configuration, engine="libaio") for configuration in refused],
            probe,
            probe_bytes,
            seconds,
        )
    return replace(best(rows), freed=free(probe), buffers="mmap" if refused else buffers)


def free(probe):
    """Removes the file. Bytes a second, up to the rate at which it doesn't matter."""
    bytes, start = probe.stat().st_size, time.monotonic()
    remove(probe)
    return min(bytes / (time.monotonic() - start), FREED_MAX)


@contextmanager
def huge_pages():
    """Where fio is to have its buffers: in huge pages, if they are free, or root reserves them
    meanwhile.
    """
    try:
        before = int(RESERVED.read_text())
        RESERVED.write_text(str(before + HUGE_PAGES))
    except OSError:
        before = None
    try:
        yield "mmaphuge" if free_huge_pages() >= HUGE_PAGES else "mmap"
    finally:
        if before is not None:
            RESERVED.write_text(str(before))


def free_huge_pages():
    """How many there are, if they have 2 MiB."""
    values = dict(line.split(":") for line in MEMORY.read_text().splitlines())
    is_usual = values.get("Hugepagesize", "").split() == ["2048", "kB"]
    return int(values["HugePages_Free"]) if is_usual else 0


def ask(configurations, probe, probe_bytes, seconds, buffers="mmap"):
    """What each configuration gives in each pattern, one after the other. A new file is written
    to its end at most.
    """
    shared = f"[global]\ndirect=1\nthread\nmem={buffers}\nruntime={int(seconds * 1000)}ms\n"
    jobs = fio(
        shared
        + "".join(
            job(configuration, pattern, probe, probe_bytes)
            for configuration in configurations
            for pattern in OLD
        )
    )
    remove(new(probe))
    for configuration in configurations:
        for pattern in NEW:
            jobs += fio(shared + job(configuration, pattern, probe, probe_bytes))
            remove(new(probe))
    return [row(configuration, jobs) for configuration in configurations]


def new(probe):
    """The file that is new each time."""
    return probe.with_name(f"{probe.name}-new")


def half(probe_bytes):
    """What readers and writers of both at once have each, and the size of a new file."""
    return probe_bytes // 2


def remove(file):
    """Removes a file, if it is there, and waits until its space is given back."""
    if file.exists():
        # Removing its name would wait for nothing as long as the kernel tears a ring down that
        # holds the file.
        os.truncate(file, 0)
        file.unlink()


def lay_out(probe, probe_bytes):
    """Writes the whole file once."""
    settings = "rw=write\nbs=1M\niodepth=16\ndirect=1\nthread\nend_fsync=1\n"
    for engine in ("io_uring", "libaio", "psync"):
        (job,) = fio(
            f"[lay-out]\nfilename={probe}\nsize={probe_bytes}\nioengine={engine}\n{settings}"
        )
        if not job["error"]:
            return
    raise Refused("fio could not write past the page cache")


def job(configuration, pattern, probe, probe_bytes):
    """The lines of a job file. Mixed is readers on the first half of the file and writers on the
    second, or on the first half of a new one, with half the depth each.
    """
    over, fresh = (
        f"filename={probe}\ntime_based\n",
        f"filename={new(probe)}\nfallocate=native\nend_fsync=1\n",
    )
    if pattern == "created":
        return (
            section(configuration, pattern, "write", configuration.depth, 0, half(probe_bytes))
            + fresh
        )
    if "mixed" not in pattern:
        return (
            section(configuration, pattern, pattern, configuration.depth, 0, probe_bytes)
            + over
            + "stonewall\n"
        )
    depth, part = configuration.depth // 2, half(probe_bytes)
    readers = section(configuration, pattern, "read", depth, 0, part) + over + "stonewall\n"
    writers = section(configuration, pattern, "write", depth, part, part) + over
    if pattern == "created_mixed":
        # Who reads ends with who writes, or the rest of the time would be reading alone.
        writers = section(configuration, pattern, "write", depth, 0, part) + fresh + "exitall\n"
    return readers + writers


def section(configuration, pattern, direction, depth, offset, bytes):
    part = bytes // configuration.jobs // configuration.block_bytes * configuration.block_bytes
    registered = "fixedbufs=1\nregisterfiles=1\n" if configuration.engine == "io_uring" else ""
    return (
        f"[{configuration.name()} {pattern} {direction}]\nrw={direction}\nioengine={configuration.engine}\nbs={configuration.block_bytes}\n"
        f"iodepth={depth}\nnumjobs={configuration.jobs}\noffset={offset}\noffset_increment={part}\nsize={part}\n{registered}"
    )


class Refused(Exception):
    """fio could not do it; the message says why."""


def fio(jobs):
    """The jobs of fio's answer. They may have failed, and say so in `error`."""
    answer = subprocess.run(
        ["fio", "--output-format=json", "-"], input=jobs, capture_output=True, text=True
    )
    # Warnings may stand before the answer.
    start = answer.stdout.find("{")
    if start < 0:
        raise Refused((answer.stderr.strip().splitlines() or ["fio said nothing"])[0])
    return json.loads(answer.stdout[start:])["jobs"]


def row(configuration, jobs):
    """Bytes per second of a configuration in each pattern, summed over its jobs; None where one
    of them failed.
    """
    result = {"configuration": configuration.name()}
    for pattern in PATTERNS:
        own = [
            job for job in jobs if job["jobname"].startswith(f"{configuration.name()} {pattern} ")
        ]
        failed = any(job["error"] for job in own)
        result[pattern] = (
            None
            if failed
            else sum(job["read"]["bw_bytes"] + job["write"]["bw_bytes"] for job in own)
        )
    return result


def best(rows):
    """The best of each pattern, whichever configuration gave it. Those of new files may be
    missing: there may be no space for one.
    """
    top = {pattern: max(row[pattern] or 0 for row in rows) or None for pattern in PATTERNS}
    if not all(top[pattern] for pattern in OLD):
        raise Refused("fio could not read and write past the page cache")
    return Rates(**top, configurations=tuple(rows))
