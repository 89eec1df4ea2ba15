"""Who sorts tables, and how each is told to.

Besides the libraries (`table_engines.py`), there are programs for CSV and JSON, and those for
lines, which take part where no field is quoted. Programs that can only sort in memory have no limit
of it to be given; they take part where the limit is a multiple of the input.
"""

import os
import shutil
import subprocess
from types import MappingProxyType

import rivals
import tables

LABELS = {
    "xsort": "xsort",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "datafusion": "DataFusion",
    "clickhouse": "ClickHouse",
    "xan": "xan",
    "miller": "Miller",
    "jq": "jq",
    "xsort-lines": "xsort lines",
    "gnu": "GNU sort",
}
NAMES = tuple(LABELS)
# Of the inputs they sort by any key: those with quotes, those without, those of JSON.
TAKERS = MappingProxyType(
    {
        "orders": ("xsort", *rivals.ENGINES, "xan", "miller"),
        "plain": ("xsort", *rivals.ENGINES, "xan", "miller", "xsort-lines", "gnu"),
        "events": ("xsort", *rivals.ENGINES, "miller", "jq"),
    }
)
# These hold everything in memory, as many times as large as the input as this at least.
IN_MEMORY, IN_MEMORY_FACTOR = ("miller", "jq"), 8
TOOLS = rivals.ROOT / "target/bench-tools/bin"
# Two processes that hash alike, so that what they hash can be compared.
PROOF_ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0"}


class TableContenders:
    """The programs by name; `xsort` is the path of the binary under test."""

    names = NAMES

    def __init__(self, xsort):
        self.xsort = str(xsort)

    def command(self, name, case, entry, memory_bytes, source, target, scratch):
        """The command that sorts `source` into `target`."""
        (table,), keys = case.gen, case.keys
        source, target, scratch = str(source), str(target), str(scratch)
        if name in rivals.ENGINES:
            by = [key.text() for key in keys]
            return [
                *self._program(name),
                table,
                source,
                target,
                scratch,
                str(memory_bytes),
                str(entry.threads),
                *by,
            ]
        if name == "xsort":
            settings = ["-m", str(memory_bytes), "-j", str(entry.threads), "-T", scratch]
            return [
                self.xsort,
                "table",
                "--json",
                *settings,
                *xsort_keys(case),
                source,
                "-o",
                target,
            ]
        if name in ("xsort-lines", "gnu"):
            settings = [
                "-S",
                f"{memory_bytes}b",
                f"--parallel={entry.threads}",
                f"--batch-size={rivals.BATCH}",
                "-T",
                scratch,
            ]
            return [
                *self._program(name),
                *settings,
                "-t,",
                *map(line_key, keys),
                "-o",
                target,
                source,
            ]
        return self._in_shell(name, case, entry, memory_bytes, source, target, scratch)

    def _in_shell(self, name, case, entry, memory_bytes, source, target, scratch):
        """A program that writes to standard output, or has an argument less: no shell is left
        when it runs.
        """
        (program,) = self._program(name)
        (table,), keys = case.gen, case.keys
        if name == "jq":
            by = ", ".join(key.column for key in keys)
            return written_to(target, [program, "-c", "-s", f"sort_by({by})[]", source])
        if name == "miller":
            form, before, behind = miller_form(case)
            by = sum((miller_key(key, table) for key in keys), [])
            return written_to(target, [program, *form, *before, "sort", *by, *behind, source])
        header = ["--no-headers"] if table == "plain" else []
        columns = ",".join(place_of(key, table).removeprefix("#") for key in keys)
        columns = (
            ",".join(str(tables.COLUMNS.index(key.column)) for key in keys) if header else columns
        )
        order = [
            *(["-N"] if keys[0].kind == "num" else []),
            *(["-R"] if keys[0].is_descending else []),
        ]
        # Its limit is one of the sort outside memory only.
        is_small = memory_bytes >= IN_MEMORY_FACTOR * case.bytes
        how = ["-p"] if is_small else ["-e", "-m", str(memory_bytes >> 20), "--tmp-dir", scratch]
        return [program, "sort", "-s", columns, *order, *how, *header, source, "-o", target]

    def check(self, case, target):
        """The command that asks xsort for the order of an output."""
        return [self.xsort, "table", "--check", *xsort_keys(case), str(target)]

    def refusal(self, name, case, memory_bytes):
        """Why a program isn't tried, if it isn't."""
        if name in IN_MEMORY and memory_bytes < IN_MEMORY_FACTOR * case.bytes:
            return f"not tried: sorts in memory only, which would be more than {memory_bytes >> 20:,} MiB"
        if name == "xan" and len({(key.kind == "num", key.is_descending) for key in case.keys}) > 1:
            return "not tried: sorts all columns in one way"
        return None

    def has_limit(self, name):
        """Whether it is given a limit of memory, which could be too small for it."""
        return name not in IN_MEMORY

    def version(self, name):
        """What the program says of its version, or None if it isn't installed."""
        program = self._program(name)
        if not program[0] or not shutil.which(program[0]):
            return None
        answer = subprocess.run(
            [*program, "--version"], capture_output=True, text=True, env=rivals.ENVIRONMENT
        )
        return (
            answer.stdout.splitlines()[0].strip()
            if answer.returncode == 0 and answer.stdout
            else None
        )

    def missing(self, names):
        """Of those, who isn't installed, by labels."""
        return [LABELS[name] for name in names if name in NAMES and not self.version(name)]

    def _program(self, name):
        if name in rivals.ENGINES:
            return [
                str(rivals.VENV / "bin/python"),
                str(rivals.ROOT / "bench/table_engines.py"),
                name,
            ]
        places = {"xsort": self.xsort, "xan": str(TOOLS / "xan"), "miller": shutil.which("mlr")}
        places |= {"jq": shutil.which("jq"), "gnu": shutil.which("sort")}
        return [self.xsort, "lines"] if name == "xsort-lines" else [places[name]]


def xsort_keys(case):
    """What xsort sorts by, and what rows are."""
    (table,) = case.gen
    by = ",".join(place_of(key, table) + key.text().removeprefix(key.column) for key in case.keys)
    return ["-f", case.format, *(["--no-header"] if table == "plain" else []), "--by", by]


def place_of(key, table):
    """A column by its name, or by its number where there is no header."""
    return f"#{tables.COLUMNS.index(key.column) + 1}" if table == "plain" else key.column


def line_key(key):
    """A column for programs that sort lines."""
    place = tables.COLUMNS.index(key.column) + 1
    return (
        f"-k{place},{place}"
        + ("n" if key.kind == "num" else "")
        + ("r" if key.is_descending else "")
    )


def miller_form(case):
    """What rows are for Miller, and what it does with them before and behind the sort, which
    knows no nested values.
    """
    if case.format == "ndjson":
        return ["--jsonl"], ["flatten", "then"], ["then", "unflatten"]
    return (
        [
            "--csv",
            *(
                ["--implicit-csv-header", "--headerless-csv-output"]
                if case.gen == ("plain",)
                else []
            ),
        ],
        [],
        [],
    )


def miller_key(key, table):
    """A column for Miller: as a number, or as a text; nested values have names with points."""
    is_number = key.kind in ("num", "int")
    option = {(False, False): "-f", (False, True): "-r", (True, False): "-nf", (True, True): "-nr"}[
        is_number, key.is_descending
    ]
    return [option, place_of(key, table).lstrip("#.")]


def written_to(target, command):
    """The command with its output in a file; the shell becomes the command, so nothing of it
    counts.
    """
    return ["/bin/sh", "-c", 'target=$1; shift; exec "$@" >"$target"', "sh", target, *command]
