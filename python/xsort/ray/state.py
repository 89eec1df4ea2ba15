"""What is known of a job on the driver's side: its files, written whole, read again by a resumed
one.

    STATE/job.json             the job, as `xsort part plan` wrote it
    STATE/splitters.json       where its parts begin
    STATE/slices/slice-I.json  manifests of slices that are sorted
    STATE/parts/summary-J.json summaries of parts that are written
    OUTPUT/_xsort.json         all of it, with all parts in their order: written last

Beside a local output the state is a hidden directory in it. For an output in a store it is in the
user's state directory, or where `state` says.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from typing import Any

from .._errors import Unsuitable

MANIFEST = "_xsort.json"
_STATE = re.compile(r"\.xsort-([0-9a-f]{16})")
_SUMMARY = re.compile(r"summary-(\d+)\.json")


def is_url(path: str) -> bool:
    """Whether it is in a store, or on a web server."""
    return re.match(r"[a-z][a-z0-9+.-]*://", path) is not None


def job_key(job_id: str, output: str) -> str:
    """What a job is called on nodes and in Ray: the same job to another output is another one."""
    digest = hashlib.blake2b(f"{job_id}\n{output}".encode(), digest_size=8)
    return digest.hexdigest()


class State:
    """The state of one job."""

    def __init__(self, output: str, key: str, state: str | None) -> None:
        self.output, self.key = output, key
        self.path = os.path.join(state_root(output, state), f".xsort-{key}")

    def open(self, job: bytes, resume: bool) -> None:
        """Makes the directories. Without `resume` nothing of an earlier attempt counts."""
        if not resume:
            self.remove()
        for name in ("slices", "parts"):
            os.makedirs(os.path.join(self.path, name), exist_ok=True)
        self.write("job.json", job)

    def others(self) -> list[str]:
        """Other jobs that were begun for the same output, and not finished."""
        root = os.path.dirname(self.path)
        with contextlib.suppress(FileNotFoundError):
            names = [name for name, key in states(root) if key != self.key]
            return [] if is_url(self.output) else sorted(names)
        return []

    def file(self, *names: str) -> str:
        """The path of a file of the state."""
        return os.path.join(self.path, *names)

    def read(self, *names: str) -> dict[str, Any]:
        """A file of the state."""
        with open(self.file(*names), "rb") as file:
            return dict(json.load(file))

    def write(self, name: str, content: bytes) -> None:
        """Writes a file whole or not at all."""
        write_whole(self.file(name), content)

    def splitters(self) -> bytes | None:
        """The splitters, if they are known."""
        with (
            contextlib.suppress(FileNotFoundError),
            open(self.file("splitters.json"), "rb") as file,
        ):
            return file.read()
        return None

    def parts_written(self) -> list[int]:
        """Parts whose summaries are there and whose outputs, where that can be seen from here, have
        the length that they say. What else may be wrong with them the validation finds."""
        parts = []
        for name in os.listdir(self.file("parts")):
            match = _SUMMARY.fullmatch(name)
            if match and self._is_there(self.file("parts", name)):
                parts.append(int(match[1]))
        return sorted(parts)

    def _is_there(self, path: str) -> bool:
        try:
            with open(path, "rb") as file:
                summary = json.load(file)
            output = summary["output"]
            return is_url(output) or os.stat(output).st_size == summary["bytes"]
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def remove(self) -> None:
        """Removes it."""
        shutil.rmtree(self.path, ignore_errors=True)


def path_texts(paths: Any) -> list[str]:
    """One path, or several, as text."""
    each = [paths] if isinstance(paths, str | os.PathLike) else paths
    return [os.fspath(path) for path in each]


def state_root(output: str, state: str | None) -> str:
    """The directory in which the states of jobs with this output are."""
    if state is not None:
        return os.path.abspath(state)
    if not is_url(output):
        return output
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(home, "xsort", "ray")


def states(root: str) -> list[tuple[str, str]]:
    """Names and keys of the states in a directory. Raises FileNotFoundError without it."""
    found = ((name, _STATE.fullmatch(name)) for name in os.listdir(root))
    return [(name, match[1]) for name, match in found if match]


def write_whole(path: str, content: bytes, sync: bool = False) -> None:
    """Writes a file that appears whole or not at all, and replaces another one."""
    with open(path + ".new", "wb") as file:
        file.write(content)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    os.replace(path + ".new", path)


def put_if_absent(path: str, content: bytes) -> None:
    """Writes a file that isn't there. The same content may be there already.

    Raises Unsuitable if another content is.
    """
    new = f"{path}.{os.getpid()}.new"
    write_whole(new, content, sync=True)
    try:
        os.link(new, path)
    except FileExistsError:
        with open(path, "rb") as file:
            if file.read() != content:
                raise Unsuitable(
                    f"{path} was written by another job meanwhile: parts of both may be there; "
                    "sort to an empty place",
                    path,
                ) from None
    finally:
        os.remove(new)


def read_manifest(output: str) -> dict[str, Any] | None:
    """The manifest of a finished job in a local directory, or None."""
    path = os.path.join(output, MANIFEST)
    try:
        with open(path, "rb") as file:
            return parse_manifest(path, file.read())
    except FileNotFoundError:
        return None


def parse_manifest(path: str, text: bytes) -> dict[str, Any]:
    """A manifest from its text. Raises Unsuitable if it is none."""
    try:
        manifest = json.loads(text)
        if manifest["version"] == 1 and {"job", "slices", "parts"} <= manifest.keys():
            return dict(manifest)
    except (ValueError, TypeError, KeyError):
        pass
    raise Unsuitable(f"{path} is no manifest that xsort has written: remove it", path)
