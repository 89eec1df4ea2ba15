"""A job from its arguments to its report."""

from __future__ import annotations

import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ray

from .._errors import Error, Unsuitable
from .check import manifest_of
from .driver import Announcer, Executor, Means, about_driver, cluster_nodes, member_of
from .node import Outcome
from .program import Children, find_program, reason_of
from .report import Job, Report
from .scheduler import Kind, Scheduler
from .sizes import parse_size
from .state import (
    MANIFEST,
    State,
    is_url,
    job_key,
    path_texts,
    put_if_absent,
    write_whole,
)

# Tasks of one kind that each slot of the cluster should have, so that none waits long for the last.
TASKS_PER_SLOT = 3
# The share of a task's memory that its data may take, so that it is sorted without spilling.
DATA_SHARE = 0.6
# The same of Parquet, whose rows take several times as much in memory.
PARQUET_SHARE = 0.15
SLICE_BYTES_MAX = 10**9
PART_BYTES_MAX = 2 * 10**9
BYTES_MIN = 16 * 10**6
# Keys that are sampled for each part, over all slices.
KEYS_PER_PART = 256


@dataclass(frozen=True)
class Request:
    """The arguments of a sort, in the program's words."""

    inputs: list[str]
    output: str
    words: list[str]
    suffix: str
    memory: int | None
    slots: int | None
    scratch: list[str]
    parts: int | None
    part_bytes: int | None
    slice_bytes: int | None
    state: str | None
    sync: bool
    resume: bool
    allow_empty: bool
    progress: Callable[[dict[str, Any]], None] | None


def suffix_of(words: Sequence[str]) -> str:
    """How the names of parts end that a command makes, where that doesn't say it by a format."""
    return {"lines": ".txt", "parquet": ".parquet"}.get(words[0], "")


def run(request: Request) -> Job:
    """Sorts, or raises Error. Ray is initialized."""
    began = time.monotonic()
    _check_output(request)
    children = Children(find_program())
    job_text, job = _plan(children, request)
    key = job_key(job["id"], request.output)
    state = State(request.output, key, request.state)
    about = {"key": key, "output": request.output, "bytes": job["bytes"], **about_driver()}
    announcer = Announcer(key, about, request.progress)
    try:
        return _run(request, children, (job_text, job), state, announcer, began)
    finally:
        children.stop()
        announcer.close()


def _run(
    request: Request,
    children: Children,
    job: tuple[bytes, dict[str, Any]],
    state: State,
    announcer: Announcer,
    began: float,
) -> Job:
    text, plan = job
    is_again = _refuse_others(children, request, state, plan)
    state.open(text, request.resume)
    slices, parts = len(plan["slices"]), plan["parts"]
    written = state.parts_written() if request.resume else []
    names = [f"{request.output}/part-{part:05}{request.suffix}" for part in range(parts)]
    executor = Executor(
        Scheduler(
            slices,
            parts,
            batch=max(1, slices // (TASKS_PER_SLOT * _slots(request))),
            split_done=state.splitters() is not None,
            parts_done=written,
        ),
        state,
        text,
        Means(
            request.memory,
            request.slots,
            request.scratch,
            request.sync,
            request.resume,
        ),
        output_of=names.__getitem__,
        keys=min(4096, max(32, -(-KEYS_PER_PART * parts // slices))),
        validate=lambda: _validate(children, state, len(written)),
        observe=announcer,
    )
    try:
        executor.run()
    except BaseException:
        if not request.resume:
            state.remove()
        raise
    report = _report(executor, state, plan, len(written), time.monotonic() - began)
    _publish(children, request, state, plan, names, replaces=is_again)
    state.remove()
    return Job(state.key, request.output, names, report)


def _check_output(request: Request) -> None:
    if not is_url(request.output):
        os.makedirs(request.output, exist_ok=True)


def _plan(children: Children, request: Request) -> tuple[bytes, dict[str, Any]]:
    """The job, as the program plans it."""
    nodes = [member_of(*node, _bare(request)) for node in cluster_nodes().items()]
    if not nodes:
        raise Error("the cluster has no node with a processor: start one (ray start)")
    slots = sum(node.slots for node in nodes)
    share = PARQUET_SHARE if request.words[0] == "parquet" else DATA_SHARE
    room = int(share * min(node.memory // node.slots for node in nodes))
    total = _local_bytes(request.inputs)
    even = SLICE_BYTES_MAX if total is None else -(-total // (slots * TASKS_PER_SLOT))
    slice_bytes = request.slice_bytes or max(BYTES_MIN, min(SLICE_BYTES_MAX, room, even))
    part_bytes = request.part_bytes or max(BYTES_MIN, min(PART_BYTES_MAX, room, even))
    number = ["--part-size", str(part_bytes)]
    if request.parts is not None:
        number = ["--parts", str(request.parts)]
    if request.allow_empty:
        number.append("--allow-empty")
    with tempfile.TemporaryDirectory(prefix="xsort-ray-") as folder:
        path = os.path.join(folder, "job.json")
        ended = children.run(
            "part", "plan", *request.inputs, "--slice-size", str(slice_bytes), *number, "-o", path,
            "--json", "--", *request.words,
        )  # fmt: skip
        if ended.status != 0:
            raise Unsuitable(ended.message)
        with open(path, "rb") as file:
            text = file.read()
    return text, json.loads(text)


def _bare(request: Request) -> Means:
    return Means(request.memory, request.slots, [], False, False)


def _slots(request: Request) -> int:
    members = (member_of(*node, _bare(request)) for node in cluster_nodes().items())
    return max(1, sum(member.slots for member in members))


def _local_bytes(inputs: Iterable[str]) -> int | None:
    """Bytes of local files and trees; None where some aren't, or are patterns."""
    total = 0
    for path in inputs:
        if os.path.isdir(path):
            for folder, _, names in os.walk(path):
                total += sum(os.path.getsize(os.path.join(folder, name)) for name in names)
        elif os.path.isfile(path):
            total += os.path.getsize(path)
        else:
            return None
    return total


def _refuse_others(
    children: Children, request: Request, state: State, plan: dict[str, Any]
) -> bool:
    """What another job has left or made is not overwritten, nor mixed with what this one makes.
    Whether this one has made it before."""
    others = state.others()
    if others:
        raise Unsuitable(
            f"{state.file('..', others[0])}: another job for this output was begun and not "
            "finished, of another input or with other arguments (or the input has changed since): "
            "go on with that one, or remove what is left of it (xsort.ray.clean)"
        )
    manifest = manifest_of(children, request.output)
    if manifest is not None and manifest["job"]["id"] != plan["id"]:
        raise Unsuitable(
            f"{request.output} has the parts of another job: sort to an empty directory, or "
            "remove them",
            request.output,
        )
    if is_url(request.output):
        return manifest is not None
    if manifest is not None:
        os.remove(os.path.join(request.output, MANIFEST))
    elif not os.path.exists(state.path) and any(
        name.startswith("part-") for name in os.listdir(request.output)
    ):
        raise Unsuitable(
            f"{request.output} has files part-* that no job of this input has written: sort to an "
            "empty directory, or remove them",
            request.output,
        )
    return manifest is not None


def _validate(children: Children, state: State, found: int) -> Outcome:
    """Slices and parts, each once, in order, the same records in as out. Outputs are looked at: in
    a store, where that takes a request each, if some were written by an earlier attempt."""
    outputs = [] if is_url(state.output) and not found else ["--outputs"]
    ended = children.run(
        "part", "validate", state.file("job.json"), "--manifests", state.file("slices"),
        "--summaries", state.file("parts"), "--json", *outputs,
    )  # fmt: skip
    if ended.status == 0:
        return {"ok": True, "result": ended.result()}
    return {"ok": False, "message": f"the result is not valid: {reason_of(ended).message}"}


def _publish(
    children: Children,
    request: Request,
    state: State,
    plan: dict[str, Any],
    names: list[str],
    *,
    replaces: bool,
) -> None:
    """Writes the list of the parts, which says that they are complete, where none is; or, where this
    job has been done before, replaces it."""
    manifest = {
        "version": 1,
        "job": plan,
        "slices": [
            state.read("slices", f"slice-{index}.json") for index in range(len(plan["slices"]))
        ],
        "parts": [state.read("parts", f"summary-{index}.json") for index in range(len(names))],
    }
    text = json.dumps(manifest).encode() + b"\n"
    if not is_url(request.output):
        put_if_absent(os.path.join(request.output, MANIFEST), text)
        return
    # A file of one line is what its sort is: the program has the stores' ways of writing.
    path = state.file(MANIFEST)
    write_whole(path, text)
    keeps = [] if replaces else ["--no-clobber"]
    ended = children.run("lines", path, "-o", f"{request.output}/{MANIFEST}", *keeps)
    if ended.status != 0:
        if "--no-clobber keeps it" in ended.message:
            raise Unsuitable(
                f"{request.output}/{MANIFEST} was written by another job meanwhile: parts of both "
                "may be there; sort to an empty place",
                request.output,
            )
        raise Error(ended.message)


def _report(
    executor: Executor, state: State, plan: dict[str, Any], found: int, seconds: float
) -> Report:
    scheduler, valid = executor.scheduler, executor.validated
    return Report(
        state.key,
        valid["records"],
        valid["bytes"],
        valid["checksum"],
        seconds,
        executor.phases,
        scheduler.slices,
        scheduler.parts,
        scheduler.started[Kind.MAP] - executor.slices_found,
        scheduler.started[Kind.MERGE],
        len(executor.members) + executor.nodes_lost,
        executor.nodes_lost,
        executor.restarts,
        found,
        {"job": plan["id"], "progress": executor.progress(), "validate": valid},
    )


def request_of(
    inputs: Any,
    output: Any,
    words: Sequence[str],
    suffix: str,
    *,
    memory: str | int | None = None,
    slots: int | None = None,
    scratch: Any = (),
    parts: int | str | None = None,
    part_size: str | int | None = None,
    slice_size: str | int | None = None,
    state: Any = None,
    sync: bool = True,
    resume: bool = False,
    allow_empty: bool = False,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> Request:
    """Arguments as people write them."""

    def size(value: str | int | None) -> int | None:
        return None if value is None or value == "auto" else parse_size(value)

    if parts == "auto":
        parts = None
    if parts is not None and (not isinstance(parts, int) or parts < 1):
        raise Unsuitable(f"{parts!r} parts: pass a number from 1 on, or 'auto'")
    if parts is not None and part_size is not None:
        raise Unsuitable("parts and part_size contradict each other: pass one of them")
    return Request(
        [_absolute(path) for path in path_texts(inputs)],
        _absolute(output).rstrip("/"),
        list(words),
        suffix,
        size(memory),
        slots,
        path_texts(scratch),
        parts,
        size(part_size),
        size(slice_size),
        None if state is None else os.fspath(state),
        sync,
        resume,
        allow_empty,
        progress,
    )


def _absolute(path: Any) -> str:
    text: str = os.fspath(path)
    return text if is_url(text) else os.path.abspath(text)


def connect(address: str | None) -> None:
    """Joins a cluster unless this process has joined one."""
    if not ray.is_initialized():
        ray.init(address=address, logging_level=logging.WARNING, log_to_driver=False)
