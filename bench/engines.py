"""The rivals that are libraries: each sorts the lines of one file into another, asked in its own
language.

Run by the Python of target/bench-venv as `engines.py NAME INPUT OUTPUT SCRATCH MEMORY_BYTES
THREADS`; `engines.py NAME --version` says which version it is. Every engine compares whole lines
bytewise, which is its shortest query and was as fast as comparing the ten key bytes or faster (200
MB, seconds by line and by key: DuckDB 1.13 and 1.34, Polars 2.55 and 2.85, DataFusion 0.80 and
0.84, ClickHouse 0.56 and 0.82). The Sort Benchmark's lines end with CR LF; where a reader drops the
CR, an empty second column after the delimiter CR brings it back (DuckDB: 0.82 against 1.13 with the
CR appended to each line). DuckDB takes other lines, too.
"""

import os
import sys

# A delimiter that never occurs, so that a line is one column.
NEVER = "\x01"


def duckdb(source, target, scratch, memory, threads):
    database = duckdb_database(scratch, memory, threads)
    end, columns, delimiter = (
        ("\\r\\n", "line, NULL", "\r") if ends_with_cr(source) else ("\\n", "line", NEVER)
    )
    database.execute(
        f"COPY (SELECT {columns} FROM read_csv('{source}', columns={{'line': 'VARCHAR'}}, header=false, auto_detect=false,"
        f" delim='{NEVER}', quote='', escape='', new_line='{end}') ORDER BY line)"
        f" TO '{target}' (FORMAT csv, HEADER false, DELIMITER '{delimiter}', QUOTE '', ESCAPE '')"
    )


def ends_with_cr(path):
    with open(path, "rb") as file:
        return file.readline().endswith(b"\r\n")


def polars(source, target, scratch, memory, threads):
    polars = limited_polars(scratch, memory, threads)
    lines = polars.scan_csv(
        source, has_header=False, separator=NEVER, quote_char=None, schema={"line": polars.String}
    )
    lines.sort("line").sink_csv(
        target,
        include_header=False,
        separator=NEVER,
        quote_style="never",
        line_terminator="\r\n",
        engine="streaming",
    )


def datafusion(source, target, scratch, memory, threads):
    session = datafusion_session(scratch, memory, threads)
    session.sql(
        f"CREATE EXTERNAL TABLE lines (line VARCHAR NOT NULL) STORED AS CSV LOCATION '{source}'"
        f" OPTIONS ('format.has_header' 'false', 'format.delimiter' '{NEVER}', 'format.quote' '\x02')"
    )
    session.sql(
        f"COPY (SELECT line, CAST(NULL AS VARCHAR) FROM lines ORDER BY line) TO '{target}' STORED AS CSV"
        " OPTIONS ('format.has_header' 'false', 'format.delimiter' '\r', 'format.quote' '\x02',"
        " 'format.quote_style' 'Never', 'format.terminator' '\n')"
    ).collect()


def clickhouse(source, target, scratch, memory, threads):
    from chdb import session

    local = session.Session(scratch)
    settings = clickhouse_settings(source, memory, threads)
    local.query(
        f"INSERT INTO FUNCTION file('{target}', 'LineAsString', 'line String')"
        f" SELECT line FROM file('{source}', 'LineAsString', 'line String') ORDER BY line"
        f" SETTINGS {', '.join(f'{name}={value}' for name, value in settings.items())}"
    )


def duckdb_database(scratch, memory, threads):
    import duckdb

    return duckdb.connect(
        config={
            "memory_limit": f"{memory}B",
            "threads": threads,
            "temp_directory": scratch,
            # What its own message for too little memory recommends; ORDER BY holds all the same.
            "preserve_insertion_order": False,
        }
    )


def limited_polars(scratch, memory, threads):
    """The module: it takes its limits from the environment, when it is loaded."""
    os.environ.update(
        POLARS_MAX_THREADS=str(threads),
        POLARS_OOC_MEMORY_BUDGET_MB=str(memory >> 20),
        POLARS_OOC_SPILL_DIR=scratch,
    )
    import polars

    return polars


def datafusion_session(scratch, memory, threads):
    import datafusion

    runtime = (
        datafusion.RuntimeEnvBuilder()
        .with_disk_manager_specified(scratch)
        .with_fair_spill_pool(memory)
    )
    # Half of its usual rows a batch: with 8,192 the merge of 1 GB runs out of 256 MiB, and takes as
    # long where it doesn't.
    settings = datafusion.SessionConfig().with_target_partitions(threads).with_batch_size(4096)
    return datafusion.SessionContext(settings, runtime)


def clickhouse_settings(source, memory, threads):
    settings = {
        "max_threads": threads,
        "max_memory_usage": memory,
        # Half of the memory for the sort before it spills, as ClickHouse's documentation
        # recommends.
        "max_bytes_before_external_sort": memory // 2,
        "max_bytes_ratio_before_external_sort": 0,
        "engine_file_truncate_on_insert": 1,
        # Mapped pages of the input would count as its memory (1.9 GB instead of 0.9), and are no
        # faster.
        "storage_file_read_method": "'pread'",
    }
    if os.path.getsize(source) > memory // 2:
        # It will spill. With its usual blocks of 65,536 rows the merge of 1 GB runs out of 256 MiB;
        # smaller ones take a tenth more CPU.
        settings |= {
            "max_block_size": 8192,
            "max_insert_block_size": 8192,
            "min_insert_block_size_rows": 8192,
        }
        settings |= {"min_insert_block_size_bytes": 2**20}
    return settings


def version(name):
    """The library's version, from the library itself: asking for it also brings its code into
    the page cache.
    """
    module = __import__("chdb" if name == "clickhouse" else name)
    engine = (
        f", ClickHouse {module.query('SELECT version()', 'TSV')}".strip()
        if name == "clickhouse"
        else ""
    )
    return f"{module.__name__} {module.__version__}{engine}"


if __name__ == "__main__":
    engine = {
        "duckdb": duckdb,
        "polars": polars,
        "datafusion": datafusion,
        "clickhouse": clickhouse,
    }[sys.argv[1]]
    if sys.argv[2] == "--version":
        print(version(sys.argv[1]))
    else:
        source, target, scratch, memory, threads = sys.argv[2:]
        engine(source, target, scratch, int(memory), int(threads))
