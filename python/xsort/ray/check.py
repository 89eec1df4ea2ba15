"""A finished job's parts, read again by the program's verifier, which shares no code with sorts."""

from __future__ import annotations

import os
from typing import Any

from .._errors import NotFound, Unsuitable
from .program import Children, find_program
from .state import MANIFEST, is_url, read_manifest


def validate(output: Any, against: Any, memory: Any) -> dict[str, Any]:
    """The verdict of `xsort verify` on the parts in their order."""
    folder = os.fspath(output).rstrip("/")
    if is_url(folder):
        raise Unsuitable("parts in a store are listed there: xsort verify URL/part-* checks them")
    manifest = read_manifest(folder)
    if manifest is None:
        path = os.path.join(folder, MANIFEST)
        raise NotFound(f"{path} is missing: no job has finished here", 2, path)
    kind, *words = manifest["command"]
    if kind != "sort":
        raise Unsuitable(
            f"xsort {kind}: only records can be read again; the job has validated its parts"
        )
    arguments = [os.path.join(folder, name) for name in manifest["parts"]]
    if memory is not None:
        words = [*words, "-m", str(memory)]
    inputs = [against] if isinstance(against, str | os.PathLike) else against or ()
    for each in inputs:
        words += ["--against", os.fspath(each)]
    ended = Children(find_program()).run("verify", *arguments, *words, "--json")
    if not ended.output:
        raise Unsuitable(ended.message)
    return ended.result()
