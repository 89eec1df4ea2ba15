"""Jobs from outside: how far they are, and what dead ones have left."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .driver import NAMESPACE
from .job import connect
from .node import remove_job, scratch_roots
from .state import path_texts, state_root, states

# How long a board may take to answer.
ANSWER_SECONDS = 10.0


def status(key: str | None, address: str | None) -> Any:
    """What the boards of running jobs say."""
    connect(address)
    if key is not None:
        return _read(key)
    named = ray.util.list_named_actors(all_namespaces=True)
    keys = [each["name"] for each in named if each["namespace"] == NAMESPACE]
    return [said for said in map(_read, keys) if said is not None]


def _read(key: str) -> dict[str, Any] | None:
    try:
        board = ray.get_actor(key, namespace=NAMESPACE)
        said: Any = ray.get(board.read.remote(), timeout=ANSWER_SECONDS)
    except (ValueError, ray.exceptions.RayError):
        return None
    return dict(said)


@ray.remote(num_cpus=0, max_retries=0)
def _remove(scratch: list[str]) -> list[str]:
    removed = []
    for root in scratch_roots(scratch):
        for job in glob.glob(os.path.join(glob.escape(root), "xsort-ray-*")):
            removed += remove_job(job)
    return removed


def clean(output: Any, scratch: Any, state: Any, address: str | None) -> list[str]:
    """Removes leftovers on all nodes, and states of an output's jobs that don't run."""
    connect(address)
    patterns = path_texts(scratch)
    tasks = [
        _remove.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote(patterns)
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    ]
    removed = [path for paths in ray.get(tasks) for path in paths]
    if output is not None:
        running = {said["key"] for said in status(None, None)}
        root = state_root(os.fspath(output), None if state is None else os.fspath(state))
        with contextlib.suppress(FileNotFoundError):
            for name, key in states(root):
                if key not in running:
                    path = os.path.join(root, name)
                    shutil.rmtree(path, ignore_errors=True)
                    removed.append(path)
    return removed
