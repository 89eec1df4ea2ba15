#!/usr/bin/env python3
"""xsort.ray on one node and on two, beside `xsort sort` on the same machine, and beside Ray Data's sort.

usage: bench/ray/run.py XSORT [--size 2GB] [--rounds 3] [--memory 4G] [--dir .] [--record FOLDER] [--losses] [--ray-data]

Run it with a Python that has the package, Ray, pyarrow and numpy. The nodes are raylets on this machine: one with all processors, or two with half of them each, so that
two can't be faster than one, and the difference is what distribution costs. In turns, in even rounds in reverse order, the page cache warm; clusters start before the clock does, as a
cluster that is there would. `xsort verify` proves each output, but Ray Data's, whose blocks are counted and compared in order. With --losses a node of two is killed in the
middle of maps and of merges, and 60% of the keys are made equal.
"""

import argparse
import json
import os
from pathlib import Path
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import machine  # noqa: E402

os.environ.update(RAY_health_check_period_ms="1000", RAY_health_check_failure_threshold="3", RAY_USAGE_STATS_ENABLED="0")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xsort", type=Path)
    parser.add_argument("--size", default="2GB", help="of the records, in 16 files")
    parser.add_argument("--memory", default="4G", help="of all nodes together, and of one machine's sort")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", type=Path, default=Path("."), help="a folder on the drive")
    parser.add_argument("--losses", action="store_true", help="also with a node killed, and with skewed keys")
    parser.add_argument("--ray-data", action="store_true", help="also Ray Data's sort")
    parser.add_argument("--record", type=Path, help="where table.md, rows.jsonl and environment.json go")
    return parser.parse_args()


class Bench:
    """The contenders, each a method that returns its seconds."""

    def __init__(self, given):
        self.given = given
        self.xsort = str(given.xsort.resolve())
        os.environ["XSORT_PROGRAM"] = self.xsort
        self.folder = given.dir.resolve() / "bench-ray"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.inputs = self.generate("in", "uniform")
        self.bytes = sum(path.stat().st_size for path in self.inputs.iterdir())

    def generate(self, name, *patterns):
        folder = self.folder / name
        folder.mkdir(parents=True)
        from xsort.ray.sizes import parse_size

        count = parse_size(self.given.size) // 1600
        for number in range(16):
            pattern = patterns[number * len(patterns) // 16]
            subprocess.run([self.xsort, "gen", "--pattern", pattern, "--seed", str(number), f"{count}r", folder / f"{number:02}"], check=True, stdout=subprocess.DEVNULL)
        return folder

    def fresh(self):
        """An empty folder for an output; what was written before is on the drive."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        (self.folder / "scratch").mkdir(exist_ok=True)
        os.sync()
        return self.folder / "out"

    def verify(self, files, against):
        subprocess.run([self.xsort, "verify", "-q", *files, "--against", against], check=True, stdout=subprocess.DEVNULL)

    def alone(self):
        output = self.fresh()
        began = time.monotonic()
        subprocess.run([self.xsort, "sort", "-q", self.inputs, "-o", output, "-m", self.given.memory, "-T", self.folder / "scratch", "--no-sync"], check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - began
        self.verify([output], self.inputs)
        output.unlink()
        return seconds, {}

    def cluster(self, nodes, inputs=None, kill=None):
        """A sort on so many nodes; `kill` is the phase in which one is lost."""
        import ray
        from ray.cluster_utils import Cluster
        from xsort import ray as xr
        from xsort.ray.sizes import parse_size

        output, inputs = self.fresh(), inputs or self.inputs
        cores = os.cpu_count()
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        workers = [cluster.add_node(num_cpus=cores // nodes, object_store_memory=80 << 20) for _ in range(nodes)]
        ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
        cluster.wait_for_nodes()
        killed = []

        def progress(said):
            at = said["phases"].get(kill, {"done": 0, "of": 1})
            if kill and not killed and said["phase"] == kill and at["done"] >= at["of"] // 2 > 0:
                killed.append(workers.pop())
                cluster.remove_node(killed[0], allow_graceful=False)

        began = time.monotonic()
        job = xr.sort(inputs, output, memory=parse_size(self.given.memory) // nodes, scratch=self.folder / "scratch", sync=False, progress=progress)
        seconds = time.monotonic() - began
        ray.shutdown()
        cluster.shutdown()
        self.verify(job.parts, inputs)
        report = {"phases": job.report.phases, "slices": job.report.slices, "parts": job.report.parts, "maps": job.report.maps, "lost": job.report.nodes_lost}
        assert (job.report.nodes_lost == 1) == (kill is not None)
        sizes = [os.path.getsize(part) for part in job.parts]
        report["largest_part"] = max(sizes) * len(sizes) / sum(sizes)
        return seconds, report

    def one_node(self):
        return self.cluster(1)

    def two_nodes(self):
        return self.cluster(2)

    def two_nodes_one_lost_in_map(self):
        return self.cluster(2, kill="map")

    def two_nodes_one_lost_in_merge(self):
        return self.cluster(2, kill="merge")

    def two_nodes_skewed(self):
        skewed = self.folder / "skewed"
        return self.cluster(2, skewed if skewed.exists() else self.generate("skewed", "equal", "equal", "equal", "uniform", "uniform"))

    def ray_data(self):
        """Ray Data: files to rows of key and rest, sorted by key, written as Parquet."""
        import pyarrow
        import pyarrow.parquet
        import ray

        output = self.fresh()
        ray.init(num_cpus=os.cpu_count(), logging_level="error", log_to_driver=False)
        paths = [str(path) for path in sorted(self.inputs.iterdir())]

        def rows(batch):
            import numpy

            tables = []
            for path in batch["item"]:
                data = numpy.fromfile(path, dtype=[("key", "S10"), ("rest", "S90")])
                columns = [pyarrow.FixedSizeBinaryArray.from_buffers(pyarrow.binary(width), len(data), [None, pyarrow.py_buffer(numpy.ascontiguousarray(data[name]))]) for name, width in (("key", 10), ("rest", 90))]
                tables.append(pyarrow.table(columns, names=["key", "rest"]))
            return pyarrow.concat_tables(tables)

        began = time.monotonic()
        try:
            ray.data.from_items(paths, override_num_blocks=len(paths)).map_batches(rows, batch_size=1).sort("key").write_parquet(str(output))
        finally:
            seconds = time.monotonic() - began
            ray.shutdown()
        count, before = 0, b""
        for path in sorted(output.glob("*.parquet")):
            keys = pyarrow.parquet.read_table(path, columns=["key"])["key"].to_pylist()
            assert keys == sorted(keys)
            count += len(keys)
        assert count == self.bytes // 100, count
        return seconds, {}


def main():
    given = options()
    bench = Bench(given)
    contenders = ["alone", "one_node", "two_nodes"]
    if given.losses:
        contenders += ["two_nodes_one_lost_in_map", "two_nodes_one_lost_in_merge", "two_nodes_skewed"]
    rows = []
    for number in range(given.rounds):
        for name in contenders if number % 2 == 0 else reversed(contenders):
            seconds, report = getattr(bench, name)()
            rows.append({"round": number, "what": name, "seconds": seconds, "load": os.getloadavg()[0], **report})
            print(f"{name:32} {seconds:7.2f} s  load {os.getloadavg()[0]:.1f}  {report or ''}", flush=True)
    if given.ray_data:
        try:
            seconds, report = bench.ray_data()
            rows.append({"round": 0, "what": "ray_data", "seconds": seconds})
        except Exception as error:
            rows.append({"round": 0, "what": "ray_data", "failed": str(error)[-300:]})
        print(rows[-1])
    lines = ["| | seconds, median | beside one machine |", "|---|--:|--:|"]
    base = statistics.median(row["seconds"] for row in rows if row["what"] == "alone")
    for name in [*contenders, "ray_data"]:
        times = [row["seconds"] for row in rows if row["what"] == name and "seconds" in row]
        if times:
            lines.append(f"| {name.replace('_', ' ')} | {statistics.median(times):.2f} | {statistics.median(times) / base:.2f} |")
    table = "\n".join(lines)
    print(table)
    if given.record:
        given.record.mkdir(parents=True, exist_ok=True)
        (given.record / "table.md").write_text(table + "\n")
        (given.record / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        environment = machine.describe(bench.folder) | {"command": sys.argv}
        (given.record / "environment.json").write_text(json.dumps(environment, indent=1, default=str) + "\n")
    shutil.rmtree(bench.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
