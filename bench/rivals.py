"""Who takes part, and how each is told to sort a file in so much memory with so many threads.

All compare bytes (LC_ALL=C) and write one file. Where xsort sorts records, it compares the 10-byte
key. The others compare whole lines: this is their simplest and fastest form, and gives the same
order, since in these records the record's number follows the key. Where xsort sorts lines, it, GNU
and uutils sort get the same arguments, and may get options and a locale.
"""

import os
from pathlib import Path
import shlex
import shutil
import subprocess

import machine
import prepared

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / "target/bench-venv"
UUTILS = ROOT / "target/bench-tools/bin/sort"
# The short names, and those for people.
LABELS = {
    "xsort": "xsort",
    "gnu": "GNU sort",
    "uutils": "uutils sort",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "datafusion": "DataFusion",
    "clickhouse": "ClickHouse",
    "xsort-records": "xsort sort",
    "xsort-table": "xsort table",
    "cp": "cp",
}
NAMES = tuple(LABELS)
# xsort's other commands, for lines of 100 bytes that are records and rows of CSV as well.
OWN = {
    "xsort-records": ("sort", "--record", "100", "--key", "0:12"),
    "xsort-table": ("table", "-f", "csv", "--no-header", "--by", "#1"),
}
ENGINES = ("duckdb", "polars", "datafusion", "clickhouse")
# Runs that GNU and uutils sort merge at once: all, so that none is written twice. With GNU's own
# 16, 1 GB in 64 MiB writes 2.65 GB instead of 2.00.
BATCH = 128
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}


class Contenders:
    """The programs by name; `xsort` is the path of the binary under test."""

    names = NAMES

    def __init__(self, xsort):
        self.xsort = str(xsort)

    def command(self, name, case, entry, memory_bytes, source, target, scratch):
        """The command that sorts `source` into `target`."""
        source, target, scratch = str(source), str(target), str(scratch)
        if name == "xsort" and not case.is_lines:
            settings = [
                "-f",
                case.format,
                "-m",
                str(memory_bytes),
                "-j",
                str(entry.threads),
                "-T",
                scratch,
                *entry.settings,
            ]
            return [self.xsort, "sort", "--json", *settings, source, "-o", target]
        if name == "cp":
            return [self._program(name), source, target]
        if name in OWN:
            settings = ["-m", str(memory_bytes), "-j", str(entry.threads), "-T", scratch]
            return [self.xsort, *OWN[name], "--json", *settings, source, "-o", target]
        if name in ENGINES:
            return [
                *self._engine(name),
                source,
                target,
                scratch,
                str(memory_bytes),
                str(entry.threads),
            ]
        settings = [
            "-S",
            f"{memory_bytes}b",
            f"--parallel={entry.threads}",
            f"--batch-size={BATCH}",
            "-T",
            scratch,
            *case.options,
        ]
        # Its figures, of which a sort in memory has none that matter here.
        own = (
            ["lines", *([] if case.is_warm else ["--json"]), *entry.settings]
            if name == "xsort"
            else []
        )
        output = [] if case.task == "check" else ["-o", target]
        files = (
            []
            if case.reader or case.is_fed
            else [str(file) for file in prepared.inputs(case, Path(source))]
        )
        command = [self._program(name), *own, *settings, *output, *files]
        return piped(case, Path(source), command) if case.reader else command

    def gen(self, case, seed, target):
        """The command that makes the input of a case."""
        return [
            self.xsort,
            "gen",
            "--json",
            "-f",
            case.format,
            "--seed",
            str(seed),
            *case.gen,
            str(case.bytes),
            str(target),
        ]

    def verify(self, case, target, checksum):
        """The command that proves an output."""
        return [
            self.xsort,
            "verify",
            "--json",
            "-f",
            case.format,
            str(target),
            "--expect",
            checksum,
        ]

    def refusal(self, name, case, memory_bytes):
        """Why a program isn't tried: all are."""
        return None

    def has_limit(self, name):
        """Whether a program is given a limit of memory: all are."""
        return True

    def version(self, name):
        """What the program says of its version, or None if it isn't installed."""
        command = [*self._engine(name)] if name in ENGINES else [self._program(name)]
        if not command[0] or not shutil.which(command[0]):
            return None
        answer = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, env=ENVIRONMENT
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
        own = dict.fromkeys(("xsort", *OWN), self.xsort)
        return {
            **own,
            "gnu": shutil.which("sort"),
            "uutils": str(UUTILS),
            "cp": shutil.which("cp"),
        }[name]

    def _engine(self, name):
        return [str(VENV / "bin/python"), str(ROOT / "bench/engines.py"), name]


def piped(case, source, command):
    """A command that gets its input from the case's reader."""
    (file,) = prepared.inputs(case, source)
    return ["/bin/sh", "-c", f"{shlex.join((*case.reader, str(file)))} | {shlex.join(command)}"]


def environment(locale, directory):
    """The environment of a program in a locale, which is made in `directory` if it isn't C; None
    if that fails.
    """
    if locale == "C":
        return ENVIRONMENT
    given = {**ENVIRONMENT, "LC_ALL": locale, "LOCPATH": str(directory)}
    language, charset = locale.split(".")
    if not (directory / locale).exists():
        directory.mkdir(exist_ok=True)
        machine.said(
            "localedef", "--no-archive", "-i", language, "-f", charset, str(directory / locale)
        )
    return given if machine.said("locale", "charmap", environment=given) == charset else None
