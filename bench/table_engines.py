"""The rivals that are libraries, asked to sort a table: each in its own language, by its own types.

Run by the Python of target/bench-venv as `table_engines.py NAME TABLE INPUT OUTPUT SCRATCH
MEMORY_BYTES THREADS KEY...`, with keys as `xsort table --by` takes them. Columns have the types
that write the same texts again; times are texts, whose order is the same.
"""

import sys

import engines
import tables
from tables_proof import parsed

# Of the orders, in the words of DuckDB and DataFusion.
TYPES = {
    "order_id": "BIGINT",
    "customer": "VARCHAR",
    "amount": "DECIMAL(12,2)",
    "date": "DATE",
    "comment": "VARCHAR",
}
EVENT_TYPES = {
    "id": "BIGINT",
    "time": "VARCHAR",
    "user": "STRUCT(id BIGINT, name VARCHAR)",
    "action": "VARCHAR",
    "text": "VARCHAR",
}


def duckdb(table, source, target, scratch, memory, threads, keys):
    database = engines.duckdb_database(scratch, memory, threads)
    if tables.FORMATS[table] == "ndjson":
        types = ", ".join(f"{name}: '{type}'" for name, type in EVENT_TYPES.items())
        source, form = (
            f"read_json('{source}', format='newline_delimited', columns={{{types}}})",
            "FORMAT json",
        )
    else:
        types = ", ".join(f"'{name}': '{type}'" for name, type in TYPES.items())
        header = str(table == "orders").lower()
        source = f"read_csv('{source}', columns={{{types}}}, header={header}, auto_detect=false, delim=',', quote='\"', escape='\"')"
        form = f"FORMAT csv, HEADER {header}"
    order = ", ".join(term('"', key) for key in keys)
    database.execute(f"COPY (SELECT * FROM {source} ORDER BY {order}) TO '{target}' ({form})")


def term(quote, key):
    """A key in SQL."""
    names = key.column.lstrip(".").split(".")
    return ".".join(f"{quote}{name}{quote}" for name in names) + (
        " DESC" if key.is_descending else ""
    )


def polars(table, source, target, scratch, memory, threads, keys):
    polars = engines.limited_polars(scratch, memory, threads)
    order = {"descending": [key.is_descending for key in keys]}
    if tables.FORMATS[table] == "ndjson":
        user = polars.Struct({"id": polars.Int64, "name": polars.String})
        schema = {
            "id": polars.Int64,
            "time": polars.String,
            "user": user,
            "action": polars.String,
            "text": polars.String,
        }
        by = {".user.id": polars.col("user").struct.field("id"), ".time": polars.col("time")}
        rows = polars.scan_ndjson(source, schema=schema)
        rows.sort([by[key.column] for key in keys], **order).sink_ndjson(target, engine="streaming")
        return
    types = {"order_id": polars.Int64, "amount": polars.Decimal(12, 2), "date": polars.Date}
    schema = {name: types.get(name, polars.String) for name in tables.COLUMNS}
    has_header = table == "orders"
    rows = polars.scan_csv(source, has_header=has_header, schema=schema)
    rows.sort([key.column for key in keys], **order).sink_csv(
        target, include_header=has_header, engine="streaming"
    )


def datafusion(table, source, target, scratch, memory, threads, keys):
    session = engines.datafusion_session(scratch, memory, threads)
    if tables.FORMATS[table] == "ndjson":
        columns = '"id" BIGINT, "time" VARCHAR, "user" STRUCT<"id" BIGINT, "name" VARCHAR>, "action" VARCHAR, "text" VARCHAR'
        form = options = "STORED AS JSON"
        order = ", ".join(
            "\"user\"['id']" if key.column == ".user.id" else '"time"' for key in keys
        )
    else:
        columns = ", ".join(f'"{name}" {type}' for name, type in TYPES.items())
        header = str(table == "orders").lower()
        form = f"STORED AS CSV OPTIONS ('format.has_header' '{header}'"
        options, form = f"{form})", f"{form}, 'format.newlines_in_values' '{header}')"
        order = ", ".join(term('"', key) for key in keys)
    location = f"LOCATION '{source}'"
    stored, *rest = form.partition(" OPTIONS")
    session.sql(f"CREATE EXTERNAL TABLE input ({columns}) {stored} {location} {''.join(rest)}")
    session.sql(f"COPY (SELECT * FROM input ORDER BY {order}) TO '{target}' {options}").collect()


def clickhouse(table, source, target, scratch, memory, threads, keys):
    from chdb import session

    local = session.Session(scratch)
    settings = engines.clickhouse_settings(source, memory, threads) | {
        # Orders that another program made: with the zeros of amounts, and no quotes around texts
        # that need none.
        "output_format_decimal_trailing_zeros": 1,
        "output_format_json_quote_64bit_integers": 0,
        "output_format_json_named_tuples_as_objects": 1,
        "input_format_json_named_tuples_as_objects": 1,
        "output_format_json_escape_forward_slashes": 0,
    }
    if tables.FORMATS[table] == "ndjson":
        columns = (
            "id Int64, time String, user Tuple(id Int64, name String), action String, text String"
        )
        form, order = (
            "JSONEachRow",
            ", ".join("user.id" if key.column == ".user.id" else "time" for key in keys),
        )
    else:
        columns = (
            "order_id Int64, customer String, amount Decimal(12, 2), date Date, comment String"
        )
        form, order = (
            "CSVWithNames" if table == "orders" else "CSV",
            ", ".join(term("`", key) for key in keys),
        )
    local.query(
        f"INSERT INTO FUNCTION file('{target}', '{form}', '{columns}')"
        f" SELECT * FROM file('{source}', '{form}', '{columns}') ORDER BY {order}"
        f" SETTINGS {', '.join(f'{name}={value}' for name, value in settings.items())}"
    )


if __name__ == "__main__":
    if sys.argv[2] == "--version":
        print(engines.version(sys.argv[1]))
    else:
        engine = {
            "duckdb": duckdb,
            "polars": polars,
            "datafusion": datafusion,
            "clickhouse": clickhouse,
        }[sys.argv[1]]
        table, source, target, scratch, memory, threads, *keys = sys.argv[2:]
        engine(table, source, target, scratch, int(memory), int(threads), list(map(parsed, keys)))
