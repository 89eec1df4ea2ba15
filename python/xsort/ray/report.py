"""What a finished job returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Report:
    """What a job did. `phases` are the seconds until the last task of each kind had ended; `maps`
    and `merges` count all attempts, but for slices that only had to be found; `parts_found` the
    parts that an earlier attempt had written."""

    key: str
    records: int
    bytes: int
    checksum: str
    seconds: float
    phases: dict[str, float]
    slices: int
    parts: int
    maps: int
    merges: int
    nodes: int
    nodes_lost: int
    restarts: int
    parts_found: int
    json: dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A finished job: where its parts are, in their order, and its report."""

    key: str
    output: str
    parts: list[str]
    report: Report
