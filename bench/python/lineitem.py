#!/usr/bin/env python3
"""xsort.sorted_batches of TPC-H's lineitem, beside DuckDB and Polars.

Each sort is a process of its own, in turns. All read the same file of Arrow's (memory-mapped, so
that reading costs nothing beside a sort) as a stream of batches, and give their result as a stream,
which is hashed batch by batch: the hashes say that rows and their order are the same.

usage: bench/python/lineitem.py FOLDER [--scale 3] [--memory 1GB] [--rounds 3] [--by ...]
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

KEYS = "l_shipdate l_orderkey l_linenumber"


def generate(path, scale):
    """TPC-H's lineitem by DuckDB's extension; without it, columns of its types and widths."""
    import pyarrow as pa

    try:
        import duckdb

        connection = duckdb.connect()
        connection.execute("install tpch; load tpch")
        connection.execute(f"call dbgen(sf={scale})")
        reader = connection.execute("from lineitem").to_arrow_reader(65536)
        schema, batches = reader.schema, reader
    except duckdb.Error as error:
        print(
            f"NOTICE: no dbgen ({str(error).splitlines()[0][:90]}): columns alike", file=sys.stderr
        )
        schema, batches = alike(scale)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def alike(scale):
    """Rows as dbgen has them: keys in order, everything else random."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(1)
    words = (
        "carefully quickly furiously deposits requests accounts packages ideas theodolites".split()
    )
    names = [
        f"l_{name}"
        for name in (
            "orderkey partkey suppkey linenumber quantity extendedprice discount tax returnflag "
            "linestatus shipdate commitdate receiptdate shipinstruct shipmode comment"
        ).split()
    ]

    def money(values):
        words = np.zeros((len(values), 2), "<i8")
        words[:, 0] = values
        return pa.Array.from_buffers(pa.decimal128(15, 2), len(values), [None, pa.py_buffer(words)])

    def choice(values, rows):
        return pa.array(values, pa.string()).take(pa.array(rng.integers(0, len(values), rows)))

    comments = [" ".join(rng.choice(words, 5))[: rng.integers(10, 44)] for _ in range(50_000)]
    instructs = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]
    modes = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]

    def batch(first, rows):
        at = np.arange(first, first + rows)
        order = at // 4
        ship = rng.integers(8036, 10562, rows).astype("i4")
        date = lambda days: pa.array(days.astype("i4"), pa.int32()).cast(pa.date32())
        return [
            order // 8 * 32 + order % 8,
            rng.integers(1, 200_000 * scale, rows),
            rng.integers(1, 10_000 * scale, rows),
            at % 4 + 1,
            money(rng.integers(1, 51, rows) * 100),
            money(rng.integers(90_000, 10_500_000, rows)),
            money(rng.integers(0, 11, rows)),
            money(rng.integers(0, 9, rows)),
            choice(["R", "A", "N"], rows),
            choice(["O", "F"], rows),
            date(ship),
            date(ship + rng.integers(-60, 60, rows)),
            date(ship + rng.integers(1, 31, rows)),
            choice(instructs, rows),
            choice(modes, rows),
            choice(comments, rows),
        ]

    def batches():
        for first in range(0, int(6_000_000 * scale), 65536):
            rows = min(65536, int(6_000_000 * scale) - first)
            yield pa.record_batch([pa.array(column) for column in batch(first, rows)], names=names)

    return pa.record_batch(
        [pa.array(column) for column in batch(0, 1)], names=names
    ).schema, batches()


def stream(path):
    """The table as a stream of batches, which are in the page cache."""
    import pyarrow as pa

    file = pa.ipc.open_file(pa.memory_map(str(path)))
    batches = (file.get_batch(at) for at in range(file.num_record_batches))
    return pa.RecordBatchReader.from_batches(file.schema, batches)


def by_xsort(reader, by, memory, scratch):
    import pyarrow as pa
    import xsort

    out = xsort.sorted_batches(reader, by=by, memory=memory, scratch=scratch)
    yield from pa.RecordBatchReader.from_stream(out)
    print(out.report, file=sys.stderr)


def by_duckdb(reader, by, memory, scratch):
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"set memory_limit='{memory}'; set temp_directory='{scratch}'")
    connection.register("stream", reader)
    query = f"from stream order by {', '.join(by)}"
    yield from connection.sql(query).to_arrow_reader(65536)


def by_polars(reader, by, memory, scratch):
    import polars as pl

    frame = pl.from_arrow(reader)
    yield from frame.sort(by, maintain_order=True, nulls_last=True).to_arrow().to_batches(65536)


def work(name, path, by, memory, scratch):
    """One sort, in this process: prints what it took."""
    import pyarrow as pa
    import pyarrow.compute as pc

    begin, rows, sums, seconds = time.monotonic(), 0, [], 0.0
    cpu = time.process_time()
    for batch in globals()[f"by_{name}"](stream(path), by, memory, scratch):
        rows += batch.num_rows
        # A sum over the order: of each 10,007th row all columns, which no sort of other rows or in
        # another order has.
        if os.environ.get("HASH"):
            picked = range(-(rows - batch.num_rows) % 10_007, batch.num_rows, 10_007)
            sums.extend(
                tuple(map(str, row.values()))
                for row in batch.take(pa.array(picked, pa.int64())).to_pylist()
            )
    seconds = time.monotonic() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    import hashlib

    digest = hashlib.sha256(repr(sums).encode()).hexdigest()[:16]
    cpu = time.process_time() - cpu
    print(
        json.dumps({"rows": rows, "seconds": seconds, "cpu": cpu, "peak_mib": peak, "sum": digest})
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=3)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--by", nargs="+", default=KEYS.split())
    parser.add_argument("--rivals", nargs="*", default=["xsort", "duckdb", "polars"])
    parser.add_argument("--work")
    arguments = parser.parse_args()
    path = arguments.folder / f"lineitem-{arguments.scale:g}.arrow"
    if arguments.work:
        return work(arguments.work, path, arguments.by, arguments.memory, str(arguments.folder))
    if not path.exists():
        generate(path, arguments.scale)
    print(
        f"{path}: {path.stat().st_size / 1e9:.2f} GB, by {' '.join(arguments.by)}, {arguments.memory}"
    )
    found = {name: [] for name in arguments.rivals}
    for _ in range(arguments.rounds):
        for name in arguments.rivals:
            run = subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--work", name],
                capture_output=True,
                text=True,
                env=os.environ | {"HASH": "1"},
            )
            if run.returncode:
                print(f"{name} failed: {run.stderr[-500:]}")
                continue
            found[name].append(json.loads(run.stdout))
            print(name, run.stdout.strip(), run.stderr.strip()[-300:], flush=True)
    assert len({(one["rows"], one["sum"]) for runs in found.values() for one in runs}) == 1
    own = statistics.median(one["seconds"] for one in found["xsort"])
    for name, runs in found.items():
        if not runs:
            continue
        seconds = statistics.median(one["seconds"] for one in runs)
        cpu = statistics.median(one["cpu"] for one in runs)
        print(
            f"{name}: {seconds:.2f} s, {cpu:.2f} s of processors, "
            f"{max(one['peak_mib'] for one in runs)} MiB, {seconds / own:.2f} times xsort's"
        )


if __name__ == "__main__":
    main()
