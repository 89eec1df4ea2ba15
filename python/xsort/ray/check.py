"""A finished job's parts, read again by code of the program that its sorts don't share."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from .._errors import Error, NotFound, Unsuitable
from .program import Children, find_program
from .state import MANIFEST, is_url, parse_manifest, path_texts, read_manifest, write_whole


def validate(output: Any, against: Any, memory: Any) -> dict[str, Any]:
    """The verdict of `xsort part validate --read`; with `against` that of `xsort verify`, too."""
    children = Children(find_program())
    folder = os.fspath(output).rstrip("/")
    manifest = _manifest(children, folder if is_url(folder) else os.path.abspath(folder))
    budget = [] if memory is None else ["-m", str(memory)]
    verdict = _read(children, manifest, budget)
    if against is None:
        return verdict
    kind, *words = manifest["job"]["command"]
    if kind != "sort":
        raise Unsuitable(
            f"xsort {kind}: only records are compared with other inputs than their own"
        )
    for each in path_texts(against):
        words += ["--against", each]
    parts = [part["output"] for part in manifest["parts"]]
    ended = children.run("verify", *parts, *words, *budget, "--json")
    if not ended.output:
        raise Error(ended.message)
    return {**verdict, **ended.result(), "ok": verdict["ok"] and ended.status == 0}


def _manifest(children: Children, folder: str) -> dict[str, Any]:
    manifest = manifest_of(children, folder)
    if manifest is None:
        path = f"{folder}/{MANIFEST}"
        raise NotFound(f"{path} is missing: no job has finished here", 2, path)
    return manifest


def manifest_of(children: Children, folder: str) -> dict[str, Any] | None:
    """The manifest of the job that has finished in a directory or under a URL, or None."""
    if not is_url(folder):
        return read_manifest(folder)
    # A file of one line is what its sort is: the program has the stores' ways of reading.
    path = f"{folder}/{MANIFEST}"
    ended = children.run("lines", path)
    if ended.status != 0:
        if "No such file" in ended.message:
            return None
        raise Error(ended.message)
    return parse_manifest(path, ended.output)


def _read(children: Children, manifest: dict[str, Any], budget: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="xsort-ray-") as folder:
        job = os.path.join(folder, "job.json")
        write_whole(job, json.dumps(manifest["job"]).encode())
        for name in ("slices", "parts"):
            os.mkdir(os.path.join(folder, name))
            for number, document in enumerate(manifest[name]):
                path = os.path.join(folder, name, f"{number}.json")
                write_whole(path, json.dumps(document).encode())
        ended = children.run(
            "part", "validate", job, "--manifests", os.path.join(folder, "slices"),
            "--summaries", os.path.join(folder, "parts"), "--outputs", "--read", *budget, "--json",
        )  # fmt: skip
    if not ended.output:
        raise Error(ended.message)
    return ended.result()
