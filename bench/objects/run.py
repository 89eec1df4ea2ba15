#!/usr/bin/env python3
"""xsort from object to object, beside what object_store's own GET and PUT of the same bytes take,
and beside copying, sorting and copying back.

usage: bench/objects/run.py XSORT SERVER FLOOR [--size 2GB] [--rounds 3] [--store /dev/shm]
[--scratch .] [--aws aws] [--record FOLDER]

SERVER is the example s3_server of crates/objects, FLOOR the program of this folder; both in release
builds. The store is on this machine, with its objects in the folder `--store`, and it takes
processors from whom it serves: from each contender alike. In turns, in even rounds in reverse
order; `xsort verify` proves each sorted object. Then a sort runs in a memory cgroup of its budget
and 96 MiB, where there are such.
"""

import argparse
import json
import os
from pathlib import Path
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import machine  # noqa: E402

# How the floor asks: connections and bytes of a part. The best counts.
FLOORS = ((2, 16 << 20), (4, 16 << 20), (8, 8 << 20))
SPILL_MEMORY = "256M"
CGROUPS = Path("/sys/fs/cgroup/memory")
OVERHEAD_BYTES = 96 << 20


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("xsort", "server", "floor"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--size", default="2GB", help="of the object")
    parser.add_argument("--memory", default="8G", help="of the sorts without scratch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--store", type=Path, default=Path("/dev/shm"), help="where the objects are"
    )
    parser.add_argument("--scratch", type=Path, default=Path("."), help="a folder on the drive")
    parser.add_argument("--aws", default="aws", help="the AWS tool; without it that row is missing")
    parser.add_argument(
        "--record", type=Path, help="where table.md, rows.jsonl and environment.json go"
    )
    return parser.parse_args()


class Bench:
    """The contenders, each a method that returns its seconds."""

    def __init__(self, given, endpoint, scratch):
        self.given, self.scratch = given, scratch
        self.xsort = str(given.xsort.resolve())
        tool = shutil.which(given.aws)
        self.aws = tool and os.path.abspath(tool)
        keys = {
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_REGION": "us-east-1",
        }
        self.environment = (
            os.environ
            | keys
            | {"AWS_ENDPOINT_URL": endpoint, "AWS_ENDPOINT": endpoint, "XSORT_STATUS": "off"}
        )
        self.input = scratch / "input"

    def call(self, *command):
        return subprocess.run(
            command,
            check=True,
            env=self.environment,
            cwd=self.scratch,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def seconds(self, *commands):
        begun = time.monotonic()
        for command in commands:
            self.call(*command)
        return time.monotonic() - begun

    def prepare(self):
        """The same records as an object and as a file."""
        self.call(self.xsort, "gen", "-q", self.given.size, "s3://bench/input")
        self.call(self.xsort, "gen", "-q", self.given.size, str(self.input))

    def get_and_put(self, connections, part_bytes):
        floor = str(self.given.floor.resolve())
        said = self.call(floor, "bench", "input", "copy", str(connections), str(part_bytes))
        return float(said.rsplit("together", 1)[1].split()[0])

    def floor(self):
        return min(self.get_and_put(*floor) for floor in FLOORS)

    def sort(self, memory, source, target):
        return (
            self.xsort,
            "sort",
            "-q",
            "-m",
            memory,
            "-T",
            str(self.scratch),
            source,
            "-o",
            target,
        )

    def memory(self):
        return self.proven(
            self.seconds(self.sort(self.given.memory, "s3://bench/input", "s3://bench/sorted"))
        )

    def spill(self):
        return self.proven(
            self.seconds(self.sort(SPILL_MEMORY, "s3://bench/input", "s3://bench/sorted"))
        )

    def local(self):
        output = str(self.scratch / "output")
        seconds = self.seconds(self.sort(SPILL_MEMORY, str(self.input), output), ("sync", output))
        os.remove(output)
        return seconds

    def copies(self):
        source, target = str(self.scratch / "copied"), str(self.scratch / "output")
        copy = (self.aws, "s3", "cp", "--quiet")
        seconds = self.seconds(
            (*copy, "s3://bench/input", source),
            self.sort(self.given.memory, source, target),
            (*copy, target, "s3://bench/sorted"),
        )
        for path in (source, target):
            os.remove(path)
        return self.proven(seconds)

    def proven(self, seconds):
        self.call(self.xsort, "verify", "-q", "s3://bench/sorted", "--against", "s3://bench/input")
        return seconds

    def within_limit(self):
        """Peak bytes of a sort in a cgroup of its budget and a little, and how often that was
        full; None where there are no such cgroups.
        """
        if not os.access(CGROUPS, os.W_OK):
            return None
        group = CGROUPS / "xsort-bench-objects"
        group.mkdir(exist_ok=True)
        try:
            (group / "memory.limit_in_bytes").write_text(str((256 << 20) + OVERHEAD_BYTES))
            (group / "memory.max_usage_in_bytes").write_text("0")
            join = f'echo $$ >{group}/cgroup.procs && exec "$@"'
            self.call(
                "sh",
                "-c",
                join,
                "sh",
                *self.sort(SPILL_MEMORY, "s3://bench/input", "s3://bench/sorted"),
            )
            self.proven(0)
            # Page cache counts, too, and is given back when the limit is near.
            return {
                name: int((group / f"memory.{name}").read_text())
                for name in ("max_usage_in_bytes", "failcnt")
            }
        finally:
            group.rmdir()


def table(medians, ratios, limit, size):
    """The medians, and each beside what it is to be compared with."""
    floor, local = medians["floor"], medians["local"]
    beside = {
        "floor": "GET and PUT by object_store, the best of three configurations",
        "memory": f"{ratios['memory']:.2f} of GET and PUT",
        "spill": f"{ratios['spill']:.2f} of the larger of GET and PUT ({floor:.2f}) and the local sort ({local:.2f})",
        "local": "from file to file, with the same memory",
        "copies": f"{ratios.get('copies', 0):.2f} of the sort in memory: aws s3 cp, sort, aws s3 cp",
    }
    lines = [f"# xsort: objects, {size}", "", "| what | seconds | beside |", "|---|--:|---|"]
    lines += [f"| {name} | {seconds:.2f} | {beside[name]} |" for name, seconds in medians.items()]
    if limit:
        peak = limit["max_usage_in_bytes"] / 2**20
        lines += [
            "",
            f"In a cgroup of {SPILL_MEMORY} and {OVERHEAD_BYTES >> 20} MiB it ends, with a peak of {peak:.0f} MiB, page cache included.",
        ]
    return "\n".join(lines) + "\n"


def measure(bench, given):
    names = ["floor", "memory", "spill", "local"]
    if bench.aws:
        names.append("copies")
    rows = []
    for turn in range(given.rounds):
        for name in names if turn % 2 == 0 else reversed(names):
            # A host takes back memory that is free, and whoever needs most pays for it.
            machine.touch_memory()
            rows.append({"round": turn, "what": name, "seconds": round(getattr(bench, name)(), 3)})
            print(json.dumps(rows[-1]), file=sys.stderr)
    return names, rows


def ratios_of(names, rows, rounds):
    """Medians of the ratios within each round."""
    of = {(row["round"], row["what"]): row["seconds"] for row in rows}
    pairs = {
        "memory": lambda turn: of[turn, "memory"] / of[turn, "floor"],
        "spill": lambda turn: of[turn, "spill"] / max(of[turn, "floor"], of[turn, "local"]),
    }
    if "copies" in names:
        pairs["copies"] = lambda turn: of[turn, "copies"] / of[turn, "memory"]
    return {name: statistics.median(map(ratio, range(rounds))) for name, ratio in pairs.items()}


def main():
    given = options()
    with (
        tempfile.TemporaryDirectory(dir=given.scratch) as scratch,
        tempfile.TemporaryDirectory(dir=given.store) as store,
    ):
        server = subprocess.Popen(
            [given.server, f"directory={store}", "bucket=bench"], stdout=subprocess.PIPE, text=True
        )
        try:
            bench = Bench(given, server.stdout.readline().strip(), Path(scratch).resolve())
            bench.prepare()
            names, rows = measure(bench, given)
            limit = bench.within_limit()
        finally:
            server.kill()
            server.wait()
    medians = {
        name: statistics.median(row["seconds"] for row in rows if row["what"] == name)
        for name in names
    }
    page = table(medians, ratios_of(names, rows, given.rounds), limit, given.size)
    print(page)
    if given.record:
        root = Path(__file__).resolve().parent.parent.parent
        environment = machine.describe(root) | {
            "size": given.size,
            "rounds": given.rounds,
            "limit": limit,
        }
        given.record.mkdir(parents=True, exist_ok=True)
        (given.record / "table.md").write_text(page)
        (given.record / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (given.record / "environment.json").write_text(json.dumps(environment, indent=2) + "\n")


if __name__ == "__main__":
    main()
