"""The program as a child process: where it is, how it is run, and what its failures mean.

All data goes through it, so that a process of Ray's holds no more than a few kilobytes.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from .._errors import NotFound
from .scheduler import Trouble

_PR_SET_PDEATHSIG = 1
# Looked up before a fork, after which little may be done.
_prctl: Any = ctypes.CDLL(None, use_errno=True).prctl
# How long a child may take to end after the first signal.
PATIENCE_SECONDS = 0.5


def find_program() -> str:
    """The path of `xsort`: `XSORT_PROGRAM`, beside the interpreter, or on the PATH."""
    named = os.environ.get("XSORT_PROGRAM")
    beside = os.path.join(os.path.dirname(sys.executable), "xsort")
    for path in (named, beside, shutil.which("xsort")):
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return os.path.abspath(path)
        if path and path is named:
            break
    host = os.uname().nodename
    raise NotFound(
        f"the program xsort is not on {host}: install the package there (pip install xsort), put "
        "the program on the PATH, or set XSORT_PROGRAM to its path",
        2,
        named or "xsort",
    )


def die_with_parent() -> None:
    """In a child before it becomes the program: a worker of Ray's that is killed takes it along."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def spawn(arguments: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """Starts the program. It ends when the thread that called ends."""
    # What the program leaves to Python, this one does.
    environment = {**os.environ, "XSORT_PYTHON": sys.executable}
    return subprocess.Popen(arguments, preexec_fn=die_with_parent, env=environment, **options)


def step_of(child: subprocess.Popen[bytes]) -> str:
    """The step of `xsort part` that a child works on."""
    words = child.args
    assert isinstance(words, list)
    return str(words[2]) if words[1] == "part" else ""


@dataclass(frozen=True)
class Ended:
    """A process that has ended. `message` is its last line on standard error."""

    status: int
    output: bytes
    message: str
    seconds: float

    def result(self) -> dict[str, Any]:
        """What `--json` has printed."""
        result = json.loads(self.output)
        assert isinstance(result, dict)
        return result


@dataclass
class Children:
    """The processes of a node or of the driver, which are stopped together."""

    program: str
    running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopped: bool = False

    def run(self, *arguments: str) -> Ended:
        """Runs the program to its end, whatever that is."""
        began = time.monotonic()
        with self.lock:
            if self.stopped:
                return Ended(-signal.SIGTERM, b"", "stopped", 0.0)
            child = spawn(
                [self.program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            self.running.add(child)
        try:
            output, errors = child.communicate()
        finally:
            with self.lock:
                self.running.discard(child)
        lines = errors.decode(errors="replace").strip().splitlines()
        message = lines[-1] if lines else f"xsort {arguments[0]} ended with {child.returncode}"
        message = message.removeprefix("xsort: error: ")
        return Ended(child.returncode, output, message, time.monotonic() - began)

    def terminate(self, step: str = "") -> None:
        """Ends those that run, or those of one step of `xsort part`. The second signal doesn't let
        them wait for stores and sources that don't answer; both let them clean up."""
        for pause in (PATIENCE_SECONDS, 0.0):
            with self.lock:
                ended = [child for child in self.running if not step or step_of(child) == step]
                for child in ended:
                    child.terminate()
            if ended:
                time.sleep(pause)

    def stop(self) -> None:
        """Ends them all, and lets none start."""
        with self.lock:
            self.stopped = True
        self.terminate()


@dataclass(frozen=True)
class Reason:
    """Why the program failed, as the scheduler wants to know it."""

    trouble: Trouble
    message: str
    source: str | None = None
    slices: tuple[int, ...] = ()


def reason_of(ended: Ended) -> Reason:
    """Reads a failure: what it printed with `--json`, else its words."""
    if ended.status < 0:
        name = signal.Signals(-ended.status).name
        return Reason(Trouble.DIED, f"the program was killed by {name}: {ended.message}")
    try:
        said = ended.result()
    except (ValueError, AssertionError):
        said = {}
    words = said.get("fault") or ended.message
    # A damaged slice names its source, too.
    slices = said.get("missing_slices") or []
    if said.get("damaged_slice") is not None:
        slices = [said["damaged_slice"]]
    if slices:
        return Reason(Trouble.LOST_SLICES, words, slices=tuple(slices))
    if said.get("lost_source"):
        return Reason(Trouble.LOST_SOURCE, words, source=said["lost_source"])
    if "os error 28" in words or "too little free space" in words or "No space left" in words:
        return Reason(Trouble.NO_SPACE, words)
    if "has changed since" in words:
        return Reason(Trouble.FINAL, words)
    return Reason(Trouble.OTHER, words)
