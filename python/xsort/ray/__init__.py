"""The same sort on many machines, on Ray.

=========================  ===========================================================
to                         use
=========================  ===========================================================
sort on a cluster          `sort`: records, lines and tables, from and to shared files
                           and object stores
watch                      `status`: progress of running jobs, by phase and node
check                      `validate`: parts against their inputs, read again
forecast                   `plan`: time and cost on machines that one doesn't have yet
clean up                   `clean`: what killed jobs have left on the nodes
=========================  ===========================================================

`pip install xsort[ray]` on all nodes. All data goes through the program `xsort`, whose processes
Ray starts; Ray itself carries a few kilobytes a task. Importing this doesn't import Ray.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._errors import Unsuitable
from .machines import INSTANCES, Instance, Store, Work
from .plan import Plan, plan
from .report import Job, Report
from .simulate import Losses
from .state import path_texts

__all__ = [
    "INSTANCES",
    "Instance",
    "Job",
    "Losses",
    "Plan",
    "Report",
    "Store",
    "Work",
    "clean",
    "plan",
    "sort",
    "status",
    "validate",
]


def sort(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    format: str | None = None,
    record: int | str | None = None,
    key: str | Iterable[str] | None = None,
    lines: str | Sequence[str] | None = None,
    by: str | Iterable[str] | None = None,
    address: str | None = None,
    memory: str | int | None = None,
    slots: int | None = None,
    scratch: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    parts: int | str | None = None,
    part_size: str | int | None = None,
    slice_size: str | int | None = None,
    state: str | os.PathLike[str] | None = None,
    sync: bool = True,
    resume: bool = False,
    allow_empty: bool = False,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> Job:
    """Sorts files, directories, URLs, prefixes or patterns into parts under `output`, on all nodes.

    Records without more; text with `lines`, the words of `xsort lines` (`[]` for none); rows with
    `by`, the keys of `xsort table`, whose `format` is csv, tsv or ndjson, or with columns as
    `xsort.sorted_batches` has them, of Parquet (which needs pyarrow on the nodes). One part after
    the other is what a single machine would write. Inputs and output must be reached from all
    nodes.

    `memory` is that of a node, divided by its `slots`; `scratch` are directories on the nodes,
    which may be patterns ("/nvme*"). `address` is Ray's. With `resume` an attempt that failed, was
    interrupted or killed is gone on with, and what it has done stays on the nodes till then. With
    `allow_empty` a directory or prefix without files is no input instead of an error.
    """
    _need_ray()
    from . import job

    inputs = path_texts(inputs)
    if format is None and by is not None and inputs and inputs[0].endswith(".parquet"):
        format = "parquet"
    words, suffix = _words(format, record, key, lines, by)
    request = job.request_of(
        inputs,
        output,
        words,
        suffix,
        memory=memory,
        slots=slots,
        scratch=scratch,
        parts=parts,
        part_size=part_size,
        slice_size=slice_size,
        state=state,
        sync=sync,
        resume=resume,
        allow_empty=allow_empty,
        progress=progress,
    )
    job.connect(address)
    return job.run(request)


def _words(
    format: str | None,
    record: int | str | None,
    key: str | Iterable[str] | None,
    lines: str | Sequence[str] | None,
    by: str | Iterable[str] | None,
) -> tuple[list[str], str]:
    """The single machine's command, and how its parts' names end."""
    if lines is not None and by is not None:
        raise Unsuitable("lines and by contradict each other: lines is text, by means a table")
    if (lines is not None or by is not None) and (record is not None or key is not None):
        raise Unsuitable("record and key are for records: lines have words (-k2,2n), tables by")
    if lines is not None:
        if format is not None:
            raise Unsuitable("format is for records and tables, not for lines")
        return ["lines", *(lines.split() if isinstance(lines, str) else lines)], ".txt"
    if by is not None:
        words = ["parquet" if format == "parquet" else "table"]
        for each in [by] if isinstance(by, str) else by:
            words += ["--by", each]
        named = ["--format", format] if format and format != "parquet" else []
        return words + named, f".{format}" if format else ""
    words = ["sort"]
    words += ["--format", format] if format is not None else []
    words += ["--record", str(record)] if record is not None else []
    for each in [key] if isinstance(key, str) else key or ():
        words += ["--key", each]
    return words, ""


def status(job: Any = None, *, address: str | None = None) -> Any:
    """How far a running job is, by phase and node: of the one with this key (or this `Job`), or a
    list of all. None if it doesn't run."""
    _need_ray()
    from . import watch

    return watch.status(getattr(job, "key", job), address)


def validate(
    output: str | os.PathLike[str],
    *,
    against: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    memory: str | int | None = None,
) -> dict[str, Any]:
    """Reads all parts of a finished job again, by code that sorts don't share: their order, and
    that they have what the inputs had. With `against` records are compared with those of files,
    too. Returns the program's verdict: `ok`, `records`, `checksum`, `fault`, ..."""
    from . import check

    return check.validate(output, against, memory)


def clean(
    output: str | os.PathLike[str] | None = None,
    *,
    scratch: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    state: str | os.PathLike[str] | None = None,
    address: str | None = None,
) -> list[str]:
    """Removes what killed and failed jobs have left: in `scratch` on all nodes, what no process
    uses; with `output` the state of jobs begun for it. Returns what was removed."""
    _need_ray()
    from . import watch

    return watch.clean(output, scratch, state, address)


def _need_ray() -> None:
    try:
        import ray  # noqa: F401
    except ImportError:
        raise ModuleNotFoundError(
            "xsort.ray needs Ray, which is missing: pip install xsort[ray], on all nodes",
            name="ray",
        ) from None
