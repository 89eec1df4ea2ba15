"""Who walks trees, and how each is told to print a tree's total of allocated bytes, each inode
once, and as little else as it can.

Threads are the same number for everyone who can be told, or everyone's own choice; GNU and uutils
du, and ncdu, have one. Nobody reads a configuration file.
"""

from dataclasses import dataclass
import re
import shutil
import subprocess

from rivals import ENVIRONMENT, ROOT

TOOLS = ROOT / "target/bench-tools/bin"


@dataclass(frozen=True)
class Walker:
    """A program: its name for people, where it is, and its arguments, where `{threads}` is a
    number, `{tree}` the directory, alone in `{above}`.
    """

    label: str
    program: str
    arguments: tuple
    # Where its total of bytes stands in what it prints; None if it prints none.
    total: str | None = r"^\s*(\d+)"


WALKERS = {
    "xsort": Walker(
        "xsort du", "xsort", ("du", "-s", "--block-size=1", "--threads={threads}", "{tree}")
    ),
    "gnu": Walker("GNU du", "du", ("-s", "--block-size=1", "{tree}")),
    "uutils": Walker("uutils du", str(TOOLS / "du"), ("-s", "--block-size=1", "{tree}")),
    # A directory that is its only argument is replaced by what is in it, each with a line: that
    # must be the tree.
    "dua": Walker(
        "dua",
        str(TOOLS / "dua"),
        ("--threads", "{threads}", "--format", "bytes", "aggregate", "{above}"),
    ),
    # Disk usage, directories too, is its default; bytes are what it prints where there is no
    # terminal.
    "diskus": Walker("diskus", str(TOOLS / "diskus"), ("-j", "{threads}", "{tree}")),
    # One line, without bars.
    "dust": Walker(
        "dust",
        str(TOOLS / "dust"),
        (
            "-T",
            "{threads}",
            "-d",
            "0",
            "-n",
            "1",
            "-P",
            "-c",
            "-b",
            "-o",
            "b",
            "--config",
            "/dev/null",
            "{tree}",
        ),
    ),
    # One line; without -H it counts every link. It refuses a least ratio of 1.
    "pdu": Walker(
        "pdu",
        str(TOOLS / "pdu"),
        (
            "--threads",
            "{threads}",
            "-H",
            "-q",
            "block-size",
            "-b",
            "plain",
            "-d",
            "1",
            "-m",
            "0.99",
            "-w",
            "80",
            "{tree}",
        ),
    ),
    "gdu": Walker(
        "gdu",
        "gdu",
        (
            "-n",
            "-p",
            "-c",
            "-s",
            "--no-prefix",
            "-m",
            "{threads}",
            "--config-file",
            "/dev/null",
            "{tree}",
        ),
    ),
    # Without its screen it only exports all that it finds, and prints no total.
    "ncdu": Walker("ncdu", "ncdu", ("-0", "-o", "/dev/null", "{tree}"), total=None),
    "floor": Walker(
        "floor", str(TOOLS / "xsort-walk-floor"), ("{tree}", "{threads}"), total=r"^\S+ \S+ (\d+)"
    ),
}
NAMES = tuple(WALKERS)
# Whom the others are compared with, whose totals are right, and the least that there is.
BASELINE, JUDGE, FLOOR = "xsort", "gnu", "floor"


class Walkers:
    """The programs by name; `xsort` is the path of the binary under test."""

    names = NAMES

    def __init__(self, xsort):
        self.xsort = str(xsort)

    def command(self, name, tree, threads):
        """The command that prints the total of the directory `tree`; the program must be
        installed. Without `threads` it takes as many as it likes.
        """
        parts = list(WALKERS[name].arguments)
        if threads is None:
            parts = without_threads(parts)
        return [
            self._program(name),
            *(part.format(threads=threads, tree=tree, above=tree.parent) for part in parts),
        ]

    def version(self, name):
        """What the program says of its version, or None if it isn't installed, or has no such
        command.
        """
        program = self._program(name)
        if not program:
            return None
        command = [program, *(["du"] if name == "xsort" else []), "--version"]
        answer = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
        return (
            answer.stdout.splitlines()[0].strip()
            if answer.returncode == 0 and answer.stdout
            else None
        )

    def missing(self, names):
        """Of those, who isn't installed, by labels."""
        return [WALKERS[name].label for name in names if name in NAMES and not self.version(name)]

    def _program(self, name):
        return shutil.which(self.xsort if name == "xsort" else WALKERS[name].program)


def without_threads(parts):
    """Arguments without the option that says how many threads."""
    kept = []
    for part in parts:
        if part == "{threads}":
            kept.pop()
        elif "{threads}" not in part:
            kept.append(part)
    return kept


def total(name, answer):
    """The bytes that a program told; None if it tells none."""
    pattern = WALKERS[name].total
    found = pattern and re.search(pattern, answer, re.MULTILINE)
    return int(found[1]) if found else None
