"""`python -m xsort.ray`: sorts on a cluster from a shell."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from .._errors import Error
from . import clean, plan, status, validate

EXAMPLES = """\
examples:
  python -m xsort.ray sort s3://in/logs/ -o s3://out/sorted -- lines -k2,2n
  python -m xsort.ray sort /shared/in -o /shared/out -m 8G --scratch '/nvme*' --resume -- sort
  python -m xsort.ray sort /shared/t -o /shared/out -- parquet --by day:desc --by id
  python -m xsort.ray status
  python -m xsort.ray plan 100TB --nodes 40 --instance i4i.4xlarge
"""


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    top = argparse.ArgumentParser(
        prog="python -m xsort.ray",
        description="Sort on all nodes of a Ray cluster.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True)
    sort = commands.add_parser("sort", help="sort into parts")
    sort.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="files, directories, URLs, patterns"
    )
    sort.add_argument("-o", "--output", required=True, help="directory or prefix of the parts")
    sort.add_argument("-m", "--memory", help="memory of a node, divided by its slots")
    sort.add_argument("--slots", type=int, help="tasks that a node runs side by side")
    sort.add_argument("-T", "--scratch", action="append", default=[], help="scratch on the nodes")
    sort.add_argument("--parts", type=int, help="how many parts")
    sort.add_argument("--part-size", help="bytes of a part, about")
    sort.add_argument("--slice-size", help="bytes that a task sorts, about")
    sort.add_argument("--state", help="directory for the job's state, for outputs in stores")
    sort.add_argument(
        "--allow-empty", action="store_true", help="a directory without files is no input"
    )
    sort.add_argument("--resume", action="store_true", help="go on with what an attempt has left")
    sort.add_argument("--no-sync", action="store_true", help="don't wait for the drives")
    shown = commands.add_parser("status", help="progress of running jobs")
    shown.add_argument("job", nargs="?", help="one job's key")
    checked = commands.add_parser("validate", help="read the parts of a job again")
    checked.add_argument("output")
    checked.add_argument(
        "--against", action="append", help="inputs that must have the same records"
    )
    cleaned = commands.add_parser("clean", help="remove what dead jobs have left")
    cleaned.add_argument("output", nargs="?", help="also the states of jobs begun for this output")
    cleaned.add_argument(
        "-T", "--scratch", action="append", default=[], help="scratch on the nodes"
    )
    cleaned.add_argument("--state")
    planned = commands.add_parser("plan", help="time and cost on machines")
    planned.add_argument("size", help="bytes of the input: 100TB")
    planned.add_argument("--nodes", type=int, required=True)
    planned.add_argument("--instance", required=True, help="i4i.4xlarge and the like")
    planned.add_argument(
        "--local", action="store_true", help="inputs and outputs on the nodes' drives"
    )
    planned.add_argument("--spot", type=float, help="price as a share of the usual one")
    for command in (sort, shown, cleaned):
        command.add_argument("--address", help="of the cluster: auto, or Ray's address")
    for command in (sort, shown, checked, cleaned):
        command.add_argument("--json", action="store_true", help="print one object")
    return top


def main(arguments: Sequence[str]) -> int:
    """Runs a command; its exit status."""
    words = list(arguments)
    command: list[str] = []
    if "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1 :]
    given = parser().parse_args(words)
    try:
        return _run(given, command)
    except (Error, ValueError, ModuleNotFoundError) as error:
        print(f"xsort: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("xsort: interrupted", file=sys.stderr)
        return 130


def _run(given: Any, command: list[str]) -> int:
    if given.command == "sort":
        return _sort(given, command)
    if given.command == "plan":
        print(plan(given.size, nodes=given.nodes, instance=given.instance, local=given.local,
                   spot=given.spot))  # fmt: skip
        return 0
    if given.command == "validate":
        verdict = validate(given.output, against=given.against)
        print(json.dumps(verdict))
        return 0 if verdict["ok"] else 1
    if given.command == "status":
        print(
            json.dumps(status(given.job, address=given.address), indent=None if given.json else 2)
        )
        return 0
    removed = clean(given.output, scratch=given.scratch, state=given.state, address=given.address)
    print(
        json.dumps({"removed": removed}) if given.json else "\n".join(removed) or "nothing was left"
    )
    return 0


def _sort(given: Any, command: list[str]) -> int:
    from . import _need_ray

    _need_ray()
    from . import job

    words = command or ["sort"]
    request = job.request_of(
        given.inputs, given.output, words, job.suffix_of(words),
        memory=given.memory, slots=given.slots, scratch=given.scratch, parts=given.parts,
        part_size=given.part_size, slice_size=given.slice_size, state=given.state,
        sync=not given.no_sync, resume=given.resume, allow_empty=given.allow_empty,
        progress=_show if sys.stderr.isatty() else None,
    )  # fmt: skip
    job.connect(given.address)
    report = job.run(request).report
    if given.json:
        print(json.dumps({**vars(report), "json": report.json}))
    else:
        print(
            f"{report.records} records, {report.bytes} bytes in {report.seconds:.2f} s: "
            f"{report.parts} parts, checksum {report.checksum}"
        )
    return 0


def _show(progress: dict[str, Any]) -> None:
    """A line of progress on a terminal."""
    phases = ", ".join(
        f"{name} {phase['done']}/{phase['of']}" for name, phase in progress["phases"].items()
    )
    line = f"{progress['seconds']:.0f} s, {len(progress['nodes'])} nodes: {phases}"
    print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
