#!/usr/bin/env python3
"""xsort.ray on one node and on two, beside `xsort sort` on the same machine, and beside Ray Data,
Dask and Spark.

usage: bench/ray/run.py XSORT [--size 2GB] [--rounds 3] [--memory 4G] [--dir .] [--record FOLDER]
[--losses] [--rivals ray_data,dask,spark] [--limit 300]

Run it with a Python that has the package, Ray, pyarrow and numpy. The nodes are raylets on this
machine: one with all processors, or two with half of them each, so that two can't be faster than
one, and the difference is what distribution costs. In turns, in even rounds in reverse order, the
page cache warm; clusters start before the clock does, as a cluster that is there would. `xsort
verify` proves each output. The rivals sort rows of a key and the rest to Parquet, once, in a
process with a limit of time; their files are read again, in order, and their rows counted. With
--losses a node of two is killed in the middle of maps and of merges, and 60% of the keys are made
equal.
"""

import argparse
import json
import os
from pathlib import Path
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import machine  # noqa: E402

os.environ.update(
    RAY_health_check_period_ms="1000",
    RAY_health_check_failure_threshold="3",
    RAY_USAGE_STATS_ENABLED="0",
)


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("xsort", type=Path)
    parser.add_argument("--size", default="2GB", help="of the records, in 16 files")
    parser.add_argument(
        "--memory", default="4G", help="of all nodes together, and of one machine's sort"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", type=Path, default=Path("."), help="a folder on the drive")
    parser.add_argument(
        "--losses", action="store_true", help="also with a node killed, and with skewed keys"
    )
    parser.add_argument("--rivals", default="", help="also these, of ray_data, dask and spark")
    parser.add_argument("--limit", type=float, default=300, help="seconds that a rival may take")
    parser.add_argument("--rival", help=argparse.SUPPRESS)
    parser.add_argument(
        "--record", type=Path, help="where table.md, rows.jsonl and environment.json go"
    )
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
            subprocess.run(
                [
                    self.xsort,
                    "gen",
                    "--pattern",
                    pattern,
                    "--seed",
                    str(number),
                    f"{count}r",
                    folder / f"{number:02}",
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        return folder

    def fresh(self):
        """An empty folder for an output; what was written before is on the drive."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        (self.folder / "scratch").mkdir(exist_ok=True)
        os.sync()
        return self.folder / "out"

    def verify(self, files, against):
        subprocess.run(
            [self.xsort, "verify", "-q", *files, "--against", against],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def alone(self):
        output = self.fresh()
        began = time.monotonic()
        subprocess.run(
            [
                self.xsort,
                "sort",
                "-q",
                self.inputs,
                "-o",
                output,
                "-m",
                self.given.memory,
                "-T",
                self.folder / "scratch",
                "--no-sync",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
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
        workers = [
            cluster.add_node(num_cpus=cores // nodes, object_store_memory=80 << 20)
            for _ in range(nodes)
        ]
        ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
        cluster.wait_for_nodes()
        killed = []

        def progress(said):
            at = said["phases"].get(kill, {"done": 0, "of": 1})
            if kill and not killed and said["phase"] == kill and at["done"] >= at["of"] // 2 > 0:
                killed.append(workers.pop())
                cluster.remove_node(killed[0], allow_graceful=False)

        began = time.monotonic()
        job = xr.sort(
            inputs,
            output,
            memory=parse_size(self.given.memory) // nodes,
            scratch=self.folder / "scratch",
            sync=False,
            progress=progress,
        )
        seconds = time.monotonic() - began
        ray.shutdown()
        cluster.shutdown()
        self.verify(job.parts, inputs)
        report = {
            "phases": job.report.phases,
            "slices": job.report.slices,
            "parts": job.report.parts,
            "maps": job.report.maps,
            "lost": job.report.nodes_lost,
        }
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
        return self.cluster(
            2,
            skewed
            if skewed.exists()
            else self.generate("skewed", "equal", "equal", "equal", "uniform", "uniform"),
        )

    def rival(self, name):
        """Another engine, in a process that may be killed: its seconds, or why there are none."""
        output = self.fresh()
        command = [
            sys.executable,
            __file__,
            self.xsort,
            "--rival",
            name,
            "--dir",
            self.given.dir,
            "--memory",
            self.given.memory,
        ]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                said, errors = process.communicate(timeout=self.given.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return {"failed": f"not done in {self.given.limit:.0f} s"}
        if process.returncode != 0:
            return {
                "failed": ([line for line in errors.splitlines() if line[:1].isalpha()] or ["?"])[
                    -1
                ][-300:]
            }
        try:
            self.check_rows(output)
        except AssertionError as error:
            return {"failed": f"not all rows, or not in order: {error}"}
        return {"seconds": float(said.strip().splitlines()[-1])}

    def check_rows(self, output):
        """All rows are there, in order."""
        import pyarrow.parquet

        count, before = 0, None
        for path in sorted(
            output.rglob("*.parquet"),
            key=lambda path: [
                int(word) if word.isdigit() else word for word in re.split(r"(\d+)", path.name)
            ],
        ):
            for batch in pyarrow.parquet.ParquetFile(path).iter_batches(columns=["key"]):
                keys = batch["key"].to_pylist()
                assert keys == sorted(keys) and (before is None or before <= keys[0]), path.name
                count, before = count + len(keys), keys[-1]
        assert count == self.bytes // 100, count


def table_of(path, offset=0, count=-1):
    """Records of a file as rows of key and rest."""
    import numpy
    import pyarrow

    data = numpy.fromfile(path, dtype=[("key", "S10"), ("rest", "S90")], offset=offset, count=count)
    columns = [
        pyarrow.FixedSizeBinaryArray.from_buffers(
            pyarrow.binary(width),
            len(data),
            [None, pyarrow.py_buffer(numpy.ascontiguousarray(data[name]))],
        )
        for name, width in (("key", 10), ("rest", 90))
    ]
    return pyarrow.table(columns, names=["key", "rest"])


def ray_data(paths, output, memory):
    """Ray Data: sorted by key."""
    import pyarrow
    import ray

    ray.init(
        address="local",
        num_cpus=os.cpu_count(),
        object_store_memory=memory // 2,
        logging_level="error",
        log_to_driver=False,
    )

    def rows(batch):
        return pyarrow.concat_tables(table_of(path) for path in batch["item"])

    began = time.monotonic()
    ray.data.from_items(paths, override_num_blocks=len(paths)).map_batches(rows, batch_size=1).sort(
        "key"
    ).write_parquet(output)
    return time.monotonic() - began


def dask(paths, output, memory):
    """Dask: a frame, sorted by key as text, as it has no bytes; two workers of a thread."""
    import dask.dataframe
    import pandas
    from distributed import Client, LocalCluster

    def frame(path):
        table = table_of(path)
        key = [key.decode("latin-1") for key in table["key"].to_pylist()]
        return pandas.DataFrame(
            {
                "key": pandas.array(key, dtype="string[pyarrow]"),
                "rest": table["rest"].to_pandas(types_mapper=pandas.ArrowDtype),
            }
        )

    workers = os.cpu_count()
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=memory // workers,
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        meta = frame(paths[0]).iloc[:0]
        dask.config.set({"dataframe.convert-string": False, "dataframe.shuffle.method": "tasks"})
        began = time.monotonic()
        rows = dask.dataframe.from_map(frame, paths, meta=meta).sort_values("key")
        rows.to_parquet(output, write_index=False, schema=None)
        return time.monotonic() - began


def spark(paths, output, memory):
    """Spark, local, with a core for each processor: files of records of one size, ordered by
    their first bytes.
    """
    from pyspark.sql import SparkSession, functions

    session = (
        SparkSession.builder.master(f"local[{os.cpu_count()}]")
        .config("spark.driver.memory", f"{memory >> 20}m")
        .config("spark.ui.enabled", "false")
        .config("spark.local.dir", str(Path(output).parent / "scratch"))
        .getOrCreate()
    )
    began = time.monotonic()
    # Records become rows by Spark's own reader of whole files of bytes.
    files = session.read.format("binaryFile").load(paths)
    cut = functions.expr(
        "transform(sequence(0, cast(length / 100 as int) - 1), i -> substring(content, i * 100 + 1, 100))"
    )
    rows = files.select(functions.explode(cut).alias("record"))
    rows = rows.select(
        functions.expr("substring(record, 1, 10)").alias("key"),
        functions.expr("substring(record, 11, 90)").alias("rest"),
    )
    rows.orderBy("key").write.parquet(output)
    seconds = time.monotonic() - began
    session.stop()
    return seconds


def run_rival(given):
    """In a process of its own: prints the seconds."""
    from xsort.ray.sizes import parse_size

    folder = given.dir.resolve() / "bench-ray"
    paths = [str(path) for path in sorted((folder / "in").iterdir())]
    print(
        {"ray_data": ray_data, "dask": dask, "spark": spark}[given.rival](
            paths, str(folder / "out"), parse_size(given.memory)
        )
    )


def main():
    given = options()
    if given.rival:
        run_rival(given)
        return
    bench = Bench(given)
    contenders = ["alone", "one_node", "two_nodes"]
    if given.losses:
        contenders += [
            "two_nodes_one_lost_in_map",
            "two_nodes_one_lost_in_merge",
            "two_nodes_skewed",
        ]
    rows = []
    for number in range(given.rounds):
        for name in contenders if number % 2 == 0 else reversed(contenders):
            seconds, report = getattr(bench, name)()
            rows.append(
                {
                    "round": number,
                    "what": name,
                    "seconds": seconds,
                    "load": os.getloadavg()[0],
                    **report,
                }
            )
            print(
                f"{name:32} {seconds:7.2f} s  load {os.getloadavg()[0]:.1f}  {report or ''}",
                flush=True,
            )
    rivals = [name for name in given.rivals.split(",") if name]
    for name in rivals:
        rows.append({"round": 0, "what": name, **bench.rival(name)})
        print(rows[-1], flush=True)
    lines = ["| | seconds, median | beside one machine |", "|---|--:|--:|"]
    base = statistics.median(row["seconds"] for row in rows if row["what"] == "alone")
    for name in [*contenders, *rivals]:
        times = [row["seconds"] for row in rows if row["what"] == name and "seconds" in row]
        if times:
            lines.append(
                f"| {name.replace('_', ' ')} | {statistics.median(times):.2f} | {statistics.median(times) / base:.2f} |"
            )
        for row in rows:
            if row["what"] == name and "failed" in row:
                lines.append(f"| {name.replace('_', ' ')} | {row['failed'].replace('|', ' ')} | |")
    table = "\n".join(lines)
    print(table)
    if given.record:
        given.record.mkdir(parents=True, exist_ok=True)
        (given.record / "table.md").write_text(table + "\n")
        (given.record / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        environment = machine.describe(bench.folder) | {"command": sys.argv}
        (given.record / "environment.json").write_text(
            json.dumps(environment, indent=1, default=str) + "\n"
        )
    shutil.rmtree(bench.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
