#!/usr/bin/env python3
"""`xsort table` of a Parquet file like TPC-H's lineitem, beside DuckDB, Polars, DataFusion, and a
copy of the file by pyarrow's reader and writer.

Each sort is a process of its own, in turns, from a file to a file that is safe on the drive. The
first output of each program is read by pyarrow, which isn't measured: its rows, their order and a
sum over each column are those of the input. A program that fails is a row that says so.

usage: bench/python/parquet.py FOLDER [--rows 24000000] [--memory 1G] [--rounds 3] [--record DIR]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import engines  # noqa: E402
import lineitem  # noqa: E402
import machine  # noqa: E402

ORDERS = (("l_shipdate",), ("l_orderkey", "l_linenumber"))
GROUP_ROWS = 122_880
NAMES = ("xsort", "duckdb", "polars", "datafusion", "copy")
# Without a version of their own: the commit has it, or pyarrow.
OWN = ("xsort", "copy")
LABELS = {
    "xsort": "xsort",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "datafusion": "DataFusion",
    "copy": "decoded and encoded by pyarrow",
}


def generate(path, rows):
    """The rows in no order, with Zstandard."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, batches = lineitem.alike(rows / 6_000_000)
    order = np.random.default_rng(2)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        table = pa.Table.from_batches(batches)
        table = table.take(pa.array(order.permutation(table.num_rows)))
        writer.write_table(table, row_group_size=GROUP_ROWS)


def work(name, source, target, by, memory, threads, scratch):
    """One sort by a library, in this process."""
    if name == "duckdb":
        database = engines.duckdb_database(scratch, memory, threads)
        order = ", ".join(by)
        database.execute(
            f"COPY (FROM '{source}' ORDER BY {order}) TO '{target}'"
            f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {GROUP_ROWS})"
        )
    elif name == "polars":
        polars = engines.limited_polars(scratch, memory, threads)
        rows = polars.scan_parquet(source).sort(by, maintain_order=True, nulls_last=True)
        rows.sink_parquet(target, compression="zstd", row_group_size=GROUP_ROWS, engine="streaming")
    elif name == "datafusion":
        session = engines.datafusion_session(scratch, memory, threads)
        session.register_parquet("input", source)
        order = ", ".join(f'"{column}"' for column in by)
        session.sql(
            f"COPY (SELECT * FROM input ORDER BY {order}) TO '{target}' STORED AS PARQUET"
            f" OPTIONS ('format.compression' 'zstd(1)', 'format.max_row_group_size' '{GROUP_ROWS}')"
        ).collect()
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pa.set_cpu_count(threads)
        file = pq.ParquetFile(source)
        with pq.ParquetWriter(target, file.schema_arrow, compression="zstd") as writer:
            for group in range(file.num_row_groups):
                writer.write_table(file.read_row_group(group), row_group_size=GROUP_ROWS)
    file = os.open(target, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def command(name, arguments, source, target, by):
    memory = str(arguments.memory << 20)
    if name == "xsort":
        settings = ["-q", "-m", memory, "-j", str(arguments.threads)]
        return [str(arguments.xsort), "table", *settings, "--by", ",".join(by), source, "-o", target]
    scratch, threads = str(arguments.folder), str(arguments.threads)
    own = [name, source, target, ",".join(by), memory, threads, scratch]
    return [sys.executable, __file__, "--work", *own]


def measured(command):
    """Seconds, seconds of processors and the peak of memory in MiB; or what the program said."""
    begin = time.monotonic()
    with open(os.devnull, "wb") as nothing:
        child = subprocess.Popen(command, stdout=nothing, stderr=subprocess.PIPE)
    said = child.stderr.read().decode(errors="replace").strip()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    seconds = time.monotonic() - begin
    if status:
        return {"failure": said.splitlines()[-1][:160] if said else f"status {status}"}
    cpu = usage.ru_utime + usage.ru_stime
    return {"seconds": seconds, "cpu": cpu, "peak_mib": usage.ru_maxrss // 1024}


def proof(path, by=()):
    """Rows, and a sum over each column that doesn't depend on the order; fails if the order is
    wrong.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file, last, rows, sums = pq.ParquetFile(path), None, 0, {}
    for batch in file.iter_batches(1 << 16):
        rows += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns):
            if str(column.type) in ("string", "large_string", "string_view"):
                column = pc.utf8_length(column.cast("large_string"))
            column = column.cast("int32") if str(column.type).startswith("date") else column
            sums[name] = sums.get(name, 0) + int(100 * (pc.sum(column).as_py() or 0))
        if by:
            keys = list(zip(*(batch.column(name).to_pylist() for name in by)))
            keys = keys if last is None else [last, *keys]
            assert all(a <= b for a, b in zip(keys, keys[1:])), f"{path} is out of order"
            last = keys[-1]
    return {"rows": rows, "sums": sums}


def apart(what, *words):
    """Makes or proves a file in another process: this one stays small, because the peak of a child
    begins with the memory of its parent.
    """
    run = subprocess.run([sys.executable, __file__, what, *words], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return json.loads(run.stdout or "null")


def report(arguments, found):
    """A table of medians, as Markdown."""
    lines = [
        f"# Parquet: {arguments.rows:,} rows like lineitem, {arguments.memory} MiB of memory",
        "",
        f"{arguments.rounds} rounds in turns, {arguments.threads} threads, medians of seconds.",
        "",
        "| by | program | seconds | of processors | peak MiB | times xsort's |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for (by, name), runs in found.items():
        good = [run for run in runs if "seconds" in run]
        if not good:
            lines.append(f"| {by} | {LABELS[name]} | {runs[0]['failure']} | | | |")
            continue
        seconds, cpu = (statistics.median(run[key] for run in good) for key in ("seconds", "cpu"))
        own = [run["seconds"] for run in found.get((by, "xsort"), ()) if "seconds" in run]
        times = f"{seconds / statistics.median(own):.2f}" if own else ""
        peak = max(run["peak_mib"] for run in good)
        lines.append(f"| {by} | {LABELS[name]} | {seconds:.2f} | {cpu:.1f} | {peak:,} | {times} |")
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:2] == ["--generate"]:
        return generate(sys.argv[2], int(sys.argv[3]))
    if sys.argv[1:2] == ["--proof"]:
        return print(json.dumps(proof(sys.argv[2], sys.argv[3:])))
    if sys.argv[1:2] == ["--work"]:
        name, source, target, by, memory, threads, scratch = sys.argv[2:]
        return work(name, source, target, by.split(","), int(memory), int(threads), scratch)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--xsort", type=Path, default=ROOT / "target/dist/xsort")
    parser.add_argument("--rows", type=int, default=24_000_000)
    parser.add_argument("--memory", type=int, default=1024, help="MiB of each program (1024)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contenders", nargs="*", default=NAMES, choices=NAMES)
    parser.add_argument("--record", type=Path, help="a folder for the table and all runs")
    arguments = parser.parse_args()
    source = arguments.folder / f"lineitem-{arguments.rows}.parquet"
    if not source.exists():
        apart("--generate", str(source), str(arguments.rows))
    expected = apart("--proof", str(source))
    found = {(",".join(by), name): [] for by in ORDERS for name in arguments.contenders}
    target = arguments.folder / "sorted.parquet"
    for round in range(arguments.rounds):
        for by in ORDERS:
            for name in arguments.contenders:
                target.unlink(missing_ok=True)
                run = measured(command(name, arguments, str(source), str(target), by))
                if round == 0 and "seconds" in run:
                    order = () if name == "copy" else by
                    assert apart("--proof", str(target), *order) == expected, f"{name}: other rows"
                found[",".join(by), name].append(run)
                print(",".join(by), name, json.dumps(run), flush=True)
    text = report(arguments, found)
    print(text)
    if arguments.record:
        arguments.record.mkdir(parents=True, exist_ok=True)
        (arguments.record / "table.md").write_text(text)
        rows = [
            {"by": by, "program": name, **run} for (by, name), runs in found.items() for run in runs
        ]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (arguments.record / "rows.jsonl").write_text(lines)
        versions = {
            name: engines.version(name) for name in arguments.contenders if name not in OWN
        }
        environment = {**machine.describe(ROOT), "versions": versions}
        (arguments.record / "environment.json").write_text(json.dumps(environment, indent=1) + "\n")


if __name__ == "__main__":
    main()
