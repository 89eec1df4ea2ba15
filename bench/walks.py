"""The topic `trees`: everyone walks the same trees, with the kernel's caches full and empty, and a
row for everything that was run.

A tree is made, walked by everyone in every round, and removed before the next is made: trees take
space, and nothing about them changes between rounds. Even rounds take the programs in reverse
order. Warm, all that a walk needs is in the kernel's caches: each program walks once before it is
measured. Cold, these are dropped before each walk, names and inodes too, which takes root; the
program's code is then read again.

GNU du says what the total of a tree is. A program that says something else has its time all the
same, and its row says so; only xsort may not. The calls of each are counted by strace, apart from
all timing, on a smaller tree of the same shape.
"""

import os
import shutil
import subprocess
import sys

import machine
import measure
from report import seconds
from rivals import ENVIRONMENT
from topic import FAILURE_CHARACTERS, has_failed
import trees
import walkers
import workloads

NAME = "trees"
# Walks in a warm turn, of which the median is taken.
WARM_REPEATS = 3
# Names in a tree whose walks are traced.
TRACED_NAMES = 20_000
# Of a file or directory with its inode; and what must stay free.
INODE_BYTES, FREE_BYTES = 4096 + 512, 2**30


class Walks:
    """`walkers` are the programs, `work` is a directory of our own on the drive, `placeless`
    takes this machine's places out of a text.
    """

    def __init__(self, options, walkers, drive, work, placeless):
        self.options, self.walkers, self.drive, self.work, self.placeless = (
            options,
            walkers,
            drive,
            work,
            placeless,
        )
        self.log = work / "log"
        self.scale = scale(options.size)
        self.temperatures = (
            ("warm", "cold") if measure.may_drop_caches() and not options.keep_caches else ("warm",)
        )
        self.rows = []

    def title(self):
        return f"xsort: {NAME}" + (f", {self.scale:.3g} of their size" if self.scale < 1 else "")

    def run(self):
        for tree in trees.TREES:
            if tree.name in self.options.trees.split(","):
                self.run_tree(tree.scaled(self.scale))
                if tree.repeats == 1 and shutil.which("strace"):
                    self.trace(
                        tree, self.scale * min(1, TRACED_NAMES / tree.scaled(self.scale).names)
                    )

    def run_tree(self, tree):
        """Makes the tree, walks it, and removes it."""
        shared = {
            "case": tree.name,
            "names": tree.names,
            "inodes": tree.inodes,
            "directories": tree.directories,
        }
        file_system = os.statvfs(self.work)
        entries = tree.inodes + tree.directories
        if (
            file_system.f_bavail * file_system.f_frsize < entries * INODE_BYTES + FREE_BYTES
            or file_system.f_favail < entries
        ):
            self.skip(shared, self.takers(tree, 1), "not tried: too little space on the drive")
            return
        directory = self.make(tree.name, self.scale)
        shared["expected_bytes"] = self.judged(directory)
        for temperature in self.temperatures:
            if temperature == "cold":
                # The first after a tree was made takes up to three times as long as all that
                # follow.
                measure.drop_caches()
                self.judged(directory)
            for round in range(1, self.options.rounds + 1):
                for name in self.takers(tree, round):
                    self.walk(
                        shared | {"round": round, "temperature": temperature}, tree, name, directory
                    )
        remove(directory)

    def make(self, name, scale):
        """Makes a tree, all of it on the drive, alone in a directory; returns its root."""
        directory = self.work / "trees" / name
        directory.parent.mkdir(exist_ok=True)
        subprocess.run([sys.executable, trees.__file__, name, str(scale), directory], check=True)
        os.sync()
        return directory

    def judged(self, directory):
        """What GNU du says that the tree takes."""
        command = self.walkers.command(walkers.JUDGE, directory, self.options.threads)
        return walkers.total(
            walkers.JUDGE,
            subprocess.run(
                command, capture_output=True, text=True, env=ENVIRONMENT, check=True
            ).stdout,
        )

    def takers(self, tree, round):
        """Those who take part, in the order of their turns; the floor has no start-up to be
        compared.
        """
        wanted = [name for name in walkers.NAMES if name in self.options.contenders.split(",")]
        names = [name for name in wanted if name != walkers.FLOOR or tree.repeats == 1]
        return names if round % 2 else names[::-1]

    def walk(self, shared, tree, name, directory):
        """One program's turn."""
        if not self.walkers.version(name):
            self.skip(shared, [name], "not installed")
            return
        # Where the drive has to be waited for, threads are not processors: everyone does as it
        # likes. The floor can't.
        is_told = shared["temperature"] == "warm" or name == walkers.FLOOR
        threads = self.options.threads if is_told else None
        command = self.walkers.command(name, directory, threads)
        repeats = max(WARM_REPEATS, tree.repeats) if shared["temperature"] == "warm" else 1
        run = (
            self.measure_floor(shared, command, repeats)
            if name == walkers.FLOOR
            else self.measure(shared, name, command, repeats)
        )
        row = self.head(name) | shared | {"repeats": repeats, "threads": threads} | run.row()
        row |= {
            "command": self.placeless(" ".join(command)),
            "total_bytes": walkers.total(name, run.answer),
        }
        if name == walkers.FLOOR and not run.failure:
            row |= told_by_floor(run.answer)
        if (
            name == walkers.BASELINE
            and not run.failure
            and row["total_bytes"] != shared["expected_bytes"]
        ):
            row["failure"] = (
                f"the total is wrong: {row['total_bytes']} bytes, not {shared['expected_bytes']}"
            )
        row["failure"] = row["failure"] and self.placeless(row["failure"])[:FAILURE_CHARACTERS]
        self.add(row)

    def measure(self, shared, name, command, repeats):
        """A walk with the caches as they are to be, or the median of several."""
        if shared["temperature"] == "cold":
            measure.drop_caches()
            self.walkers.version(name)
        return measure.run_often(
            repeats, command, ENVIRONMENT, self.drive, self.log, self.options.seconds_max
        )

    def measure_floor(self, shared, command, repeats):
        """The same of a program that measures itself, and drops the caches itself, after it has
        learnt the tree.
        """
        command = [*command, *(["cold"] if shared["temperature"] == "cold" else [])]
        runs = [
            measure.run(command, ENVIRONMENT, self.drive, None, self.log, self.options.seconds_max)
            for _ in range(repeats)
        ]
        failed = [run for run in runs if run.failure]
        return (
            failed[0]
            if failed
            else sorted(runs, key=lambda run: told_by_floor(run.answer)["seconds"])[repeats // 2]
        )

    def trace(self, tree, scale):
        """The calls of everyone but the floor, on a small tree of this shape."""
        small = tree.scaled(scale)
        directory, counts = self.make(tree.name, scale), self.work / "calls"
        for name in self.takers(small, 1):
            if name != walkers.FLOOR and self.walkers.version(name):
                command = self.walkers.command(name, directory, self.options.threads)
                machine.said(
                    "strace", "-f", "-c", "-o", str(counts), *command, environment=ENVIRONMENT
                )
                calls = calls_of(counts.read_text()) if counts.exists() else {}
                counts.unlink(missing_ok=True)
                # Nothing where tracing isn't allowed.
                if calls:
                    shared = {
                        "task": "calls",
                        "case": tree.name,
                        "names": small.names,
                        "directories": small.directories,
                    }
                    self.rows.append(self.head(name) | shared | {"calls": calls, "failure": None})
        remove(directory)

    def head(self, name):
        """What a row says of the program before it has run."""
        return {
            "task": "walk",
            "contender": name,
            "label": walkers.WALKERS[name].label,
            "is_baseline": name == walkers.BASELINE,
        }

    def skip(self, shared, names, why):
        """Rows for those who don't take part; one is enough for all rounds."""
        if shared.get("round", 1) == 1:
            for name in names:
                self.add(
                    self.head(name)
                    | {"round": 1, "temperature": self.temperatures[0]}
                    | shared
                    | {"failure": why}
                )

    def add(self, row):
        self.rows.append(row)
        said = f"failed: {row['failure']}" if row["failure"] else f"{seconds(row['seconds'])} s"
        print(
            f"{NAME} round {row['round']}: {row['case']} {row['temperature']}, {row['label']}: {said}",
            flush=True,
        )

    def has_failed(self):
        return has_failed([row for row in self.rows if row["task"] == "walk"], self.options.strict)


def scale(size):
    """The part of its full size that each tree has where inputs of `size` bytes are asked for."""
    return min(1, size / workloads.BYTES) if size else 1


def told_by_floor(answer):
    """Its own seconds, from after it has learnt the tree."""
    elapsed, processor, _ = answer.split()
    return {"seconds": float(elapsed), "cpu_seconds": float(processor)}


def calls_of(table):
    """How often each call was made, by strace's table."""
    rows = [line.split() for line in table.splitlines()]
    counted = [
        row
        for row in rows
        if len(row) >= 5 and row[0].replace(".", "").isdigit() and row[-1] != "total"
    ]
    return {row[-1]: int(row[3]) for row in counted}


def remove(directory):
    subprocess.run(["rm", "-rf", directory], check=True)
