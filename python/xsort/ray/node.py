"""What runs on a node: scratch directories, the servers of its slices, tasks as child processes.

A plain class, which `driver.py` makes an actor of, one a node. A directory of a job on a node is

    SCRATCH/xsort-ray-KEY/NODE/     lock      held while somebody uses the directory
                                    slices/   sorted slices and their manifests, served to all nodes
                                    scratch/  spilled runs of tasks that are running
                                    work/     the job, the splitters, samples and summaries

What an earlier process of the same job has left beside it is adopted, unless it is locked: the
slices move into this node's own directory. Whether they are complete the program finds out. A
directory that is another user's, or that others may write to, isn't used: anyone can guess its
name, and put slices there.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import itertools
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
import time
import urllib.request
from typing import Any

from .program import Children, find_program, reason_of, spawn
from .scheduler import Trouble

Outcome = dict[str, Any]
# How long a process that was killed may hold its directories.
LOCK_SECONDS = 20.0
_MANIFEST = re.compile(r"slice-(\d+)\.json")
# The secret in the URL of a server, which the program doesn't show.
_SECRET = re.compile(r"(?<=^http://)([^/]+/)[^/]+")
# The files of a slice, its manifest first, without which the others are nothing.
_SLICE_FILES = ("json", "index", "data")


class Drive:
    """A scratch directory and the server of its slices."""

    def __init__(self, root: str, key: str, node: str, program: str, address: str) -> None:
        self.job = os.path.join(root, f"xsort-ray-{key}")
        self.path = os.path.join(self.job, node)
        self.slices = os.path.join(self.path, "slices")
        self.scratch = os.path.join(self.path, "scratch")
        self.work = os.path.join(self.path, "work")
        self.program, self.address = program, address
        self.server: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.lock: int | None = self._lock()
        shutil.rmtree(self.scratch, ignore_errors=True)
        for path in (self.slices, self.scratch, self.work):
            os.makedirs(path, mode=0o700, exist_ok=True)

    def _lock(self) -> int:
        """Makes the directory and locks it. A process that was killed may take a while to end."""
        end = time.monotonic() + LOCK_SECONDS
        while True:
            os.makedirs(os.path.dirname(self.job), exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.job, mode=0o700)
            refusal = refusal_of(self.job)
            if refusal is not None:
                raise RuntimeError(refusal)
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.path, mode=0o700)
            lock = lock_directory(self.path)
            if lock is not None:
                return lock
            if time.monotonic() > end:
                raise RuntimeError(f"{self.path} is used by another process of this job")
            time.sleep(0.1)

    def adopt(self, others: list[str]) -> None:
        """Takes over what dead processes of this job have left beside this directory, but for those
        of other nodes that are there, which see to it themselves."""
        for name in os.listdir(self.job):
            path = os.path.join(self.job, name)
            lock = lock_directory(path) if name not in others and path != self.path else None
            if lock is None:
                continue
            with contextlib.suppress(FileNotFoundError):
                self._take(os.path.join(path, "slices"))
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)

    def _take(self, slices: str) -> None:
        """Moves slices, each manifest after the rest."""
        for name in os.listdir(slices):
            match = _MANIFEST.fullmatch(name)
            if match is None:
                continue
            with contextlib.suppress(FileNotFoundError):
                for kind in reversed(_SLICE_FILES):
                    file = f"slice-{match[1]}.{kind}"
                    os.replace(os.path.join(slices, file), os.path.join(self.slices, file))

    def found(self) -> list[int]:
        """The slices whose manifests are here."""
        matches = map(_MANIFEST.fullmatch, os.listdir(self.slices))
        return sorted(int(match[1]) for match in matches if match)

    def serve(self) -> None:
        """Starts the server, which ends with this process."""
        self.server = spawn(
            [self.program, "part", "serve", self.slices, "--listen", f"{self.address}:0",
             "--until-stdin-closes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self.server.stdout is not None
        line = self.server.stdout.readline()
        if not line:
            raise RuntimeError(f"xsort part serve ended with {self.server.wait()}")
        self.url = json.loads(line)["url"]

    def answers(self) -> bool:
        """Whether the server does what it is there for."""
        if self.server is None or self.server.poll() is not None:
            return False
        try:
            with urllib.request.urlopen(f"{self.url}/parts/0", timeout=10):
                return True
        except OSError:
            return False

    def remove_slice(self, index: int) -> None:
        """Removes a slice."""
        for kind in _SLICE_FILES:
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(self.slices, f"slice-{index}.{kind}"))

    def close(self, remove: bool) -> None:
        """Ends the server. With `remove` everything of this job is removed that nobody uses."""
        if self.server is not None:
            self.server.kill()
            self.server.wait()
        if remove:
            shutil.rmtree(self.path, ignore_errors=True)
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None
        if remove:
            remove_job(self.job)


def refusal_of(job: str) -> str | None:
    """Why a job's scratch directory isn't one that only this user may write to; None if it is."""
    remedy = "remove it, or name other scratch"
    try:
        found = os.lstat(job)
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return f"{job} is no directory, and no scratch of this job's: {remedy}"
    if found.st_uid != os.geteuid():
        return f"{job} belongs to user {found.st_uid}, who may have put slices there: {remedy}"
    if found.st_mode & 0o022:
        mode = stat.S_IMODE(found.st_mode)
        return f"{job} may be written to by others (mode {mode:o}), who may have put slices there: {remedy}"
    return None


def lock_directory(path: str) -> int | None:
    """The descriptor of the directory's lock, or None if another process has it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        lock = os.open(os.path.join(path, "lock"), flags, 0o600)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Who had the lock may have removed the directory.
        if os.path.samestat(os.fstat(lock), os.stat(os.path.join(path, "lock"))):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def remove_job(job: str) -> list[str]:
    """Removes what a job of this user's has left in a scratch directory and nobody uses; what was
    removed."""
    removed: list[str] = []
    if refusal_of(job) is not None:
        return removed
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(job):
            path = os.path.join(job, name)
            lock = lock_directory(path)
            if lock is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)
                removed.append(path)
        with contextlib.suppress(OSError):
            os.rmdir(job)
    return removed


def scratch_roots(patterns: list[str]) -> list[str]:
    """Directories for scratch: patterns as they match on this node; the system's without any."""
    roots = []
    for pattern in patterns:
        found = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
        if not found:
            host = socket.gethostname()
            raise RuntimeError(
                f"no directory matches {pattern} on {host}: name scratch that is there"
            )
        roots += found
    return roots or [tempfile.gettempdir()]


def totals(manifest: bytes) -> bytes:
    """A manifest whose ranges are put together to one. What each part has of each slice stays on
    the nodes: all of it in one place would be slices times parts."""
    said = json.loads(manifest)
    said["parts"] = [[0, said["bytes"], said["records"], said["checksum"]]]
    return json.dumps(said).encode()


class NodeWorker:
    """A node of one job. Methods return outcomes, `{"ok": True, ..}` or why not; they raise nothing
    that a caller could expect."""

    def __init__(
        self,
        key: str,
        node: str,
        address: str,
        job: bytes,
        others: list[str],
        *,
        scratch: list[str],
        memory: int,
        threads: int,
        resume: bool,
        sync: bool,
    ) -> None:
        self.children = Children(find_program())
        self.memory, self.threads, self.sync = memory, threads, sync
        program = self.children.program
        roots = scratch_roots(scratch)
        self.drives = [Drive(root, key, node, program, address) for root in roots]
        self.turn = itertools.count()
        self.lock = threading.Lock()
        self.splitters: str | None = None
        self.abandoned = 0
        self.where: dict[int, Drive] = {}
        for drive in self.drives:
            if resume:
                drive.adopt(others)
            for index in drive.found():
                if resume:
                    self.where[index] = drive
                else:
                    drive.remove_slice(index)
            drive.serve()
        self.work = self.drives[0].work
        self.job = self._write("job.json", job)

    def describe(self) -> Outcome:
        """Where its slices are, and which ones an earlier process has left."""
        return {
            "urls": [drive.url for drive in self.drives],
            "found": sorted(self.where),
            "pid": os.getpid(),
        }

    def sample(self, batch: int, first: int, last: int, keys: int) -> tuple[Outcome, bytes]:
        """Keys of the slices from `first` to `last`."""
        output = os.path.join(self.work, f"sample-{batch}.json")
        slices = f"{first}-{last}" if last > first else f"{first}"
        outcome = self._run(
            "sample", self.job, "--slice", slices, "-o", output, "--keys", str(keys)
        )
        return outcome, self._take(output) if outcome["ok"] else b""

    def split(self, *samples: bytes) -> Outcome:
        """The splitters, from all samples."""
        paths = [
            self._write(f"split-{number}.json", sample) for number, sample in enumerate(samples)
        ]
        output = os.path.join(self.work, "split.json")
        outcome = self._run("split", self.job, *paths, "-o", output)
        for path in paths:
            os.remove(path)
        return {**outcome, "splitters": self._take(output)} if outcome["ok"] else outcome

    def map(self, index: int, splitters: bytes, again: bool) -> Outcome:
        """Sorts a slice, or finds that it is there. With `again` what is there is worth nothing."""
        drive = self.where.get(index) or self.drives[next(self.turn) % len(self.drives)]
        if again:
            for each in self.drives:
                each.remove_slice(index)
        path = self._splitters(splitters)
        outcome = self._run(
            "map", self.job, path, "--slice", str(index), "--to", drive.slices,
            *self._means(),
        )  # fmt: skip
        if not outcome["ok"]:
            drive.remove_slice(index)
            return outcome
        self.where[index] = drive
        with open(os.path.join(drive.slices, f"slice-{index}.json"), "rb") as file:
            return {**outcome, "manifest": totals(file.read())}

    def merge(self, part: int, output: str, sources: list[str]) -> Outcome:
        """Writes a part from the slices of all nodes, its own from its drives."""
        mine = {drive.url: drive.slices for drive in self.drives}
        summary = os.path.join(self.work, f"summary-{part}.json")
        arguments = ["merge", self.job, "--part", str(part), "-o", output, "--summary", summary]
        # URLs have secrets in them, and every user of the machine may read arguments.
        lines = "".join(f"{mine.get(source, source)}\n" for source in sources)
        listed = self._write(f"sources-{part}.txt", lines.encode())
        if not self.sync:
            arguments.append("--no-sync")
        abandoned = self.abandoned
        outcome = self._run(*arguments, "--from-file", listed, *self._means())
        os.remove(listed)
        if not outcome["ok"] and abandoned != self.abandoned:
            return {**outcome, "trouble": Trouble.LOST_SOURCE.name, "source": None, "slices": ()}
        if not outcome["ok"]:
            # The scheduler knows of nodes, not of their directories, and the program shows no
            # secrets.
            theirs = {_SECRET.sub(r"\1***", url): url for url in sources}
            theirs |= {path: url for url, path in mine.items()}
            return {**outcome, "source": theirs.get(outcome["source"], outcome["source"])}
        return {**outcome, "summary": self._take(summary)}

    def abandon(self) -> None:
        """Ends merges that read from a node that is lost. They would ask for its slices a while."""
        self.abandoned += 1
        self.children.terminate("merge")

    def drop(self, index: int) -> None:
        """Removes a slice that turned out to be damaged."""
        for drive in self.drives:
            drive.remove_slice(index)
        self.where.pop(index, None)

    def check(self) -> Outcome:
        """Whether its servers answer; one that doesn't is started again, under another URL."""
        for drive in self.drives:
            if not drive.answers():
                if drive.server is not None:
                    drive.server.kill()
                    drive.server.wait()
                drive.serve()
        return self.describe()

    def stop(self, remove: bool) -> None:
        """Ends everything here. With `remove` nothing is left on the drives."""
        self.children.stop()
        for drive in self.drives:
            drive.close(remove)

    def _means(self) -> list[str]:
        means = ["-m", str(self.memory), "--threads", str(self.threads)]
        for drive in self.drives:
            means += ["--scratch", drive.scratch]
        return means

    def _run(self, *arguments: str) -> Outcome:
        ended = self.children.run("part", *arguments, "--json")
        if ended.status == 0:
            return {"ok": True, "seconds": ended.seconds, "result": ended.result()}
        reason = reason_of(ended)
        return {
            "ok": False,
            "trouble": reason.trouble.name,
            "message": reason.message,
            "source": reason.source,
            "slices": reason.slices,
        }

    def _splitters(self, splitters: bytes) -> str:
        """The file of the splitters, which are the same all the time."""
        with self.lock:
            if self.splitters is None:
                self.splitters = self._write("splitters.json", splitters)
            return self.splitters

    def _write(self, name: str, content: bytes) -> str:
        """A file in the working directory, whole or not at all."""
        path = os.path.join(self.work, name)
        with open(path + ".new", "wb") as file:
            file.write(content)
        os.replace(path + ".new", path)
        return path

    def _take(self, path: str) -> bytes:
        with open(path, "rb") as file:
            content = file.read()
        os.remove(path)
        return content
