"""Walks: everyone is asked for the same number, GNU du is right, and a table says who was how
quick.
"""

from argparse import Namespace
from pathlib import Path
import tempfile
import unittest

from drive import Drive
from tests.rows import environment
import trees
import walkers
import walks
import walks_report


class Commands(unittest.TestCase):
    def test_everyone_is_told_the_tree_and_those_who_can_be_the_threads(self):
        programs = walkers.Walkers("/bin/true")
        for name in walkers.NAMES:
            with self.subTest(name):
                programs._program = lambda name: name
                command = programs.command(name, Path("/above/tree"), 7)
                self.assertEqual(sum(part.startswith("/above") for part in command), 1)
                self.assertEqual(
                    any("7" in part for part in command), name not in ("gnu", "uutils", "ncdu")
                )

    def test_everyone_can_be_left_its_own_choice_of_threads(self):
        programs = walkers.Walkers("/bin/true")
        programs._program = lambda name: name
        for name in set(walkers.NAMES) - {walkers.FLOOR}:
            with self.subTest(name):
                told, free = (
                    programs.command(name, Path("/above/tree"), threads) for threads in (7, None)
                )
                self.assertEqual(sum(part.startswith("/above") for part in free), 1)
                self.assertNotIn("None", " ".join(free))
                taken = [part for part in told if part not in free]
                self.assertEqual(bool(taken), any("7" in part for part in told))
                self.assertTrue(all("7" in part or part.startswith("-") for part in taken))

    def test_who_has_no_such_command_is_not_installed(self):
        self.assertIsNone(walkers.Walkers("/bin/false").version("xsort"))
        self.assertIsNone(walkers.Walkers("/no/where").version("xsort"))
        self.assertIn("GNU", walkers.Walkers("/bin/false").version("gnu"))

    def test_totals(self):
        said = {
            "xsort": "45056\tDIR\n",
            "gnu": "45056\tDIR\n",
            "dua": "     45056 b tiny\n",
            "diskus": "45056\n",
            "dust": "45056B ┌── tiny\n",
            "pdu": "45056 ┌──DIR│████│100%\n",
            "gdu": " 45056 tiny\n",
            "floor": "0.000210 0.000199 45056\n",
        }
        self.assertEqual({walkers.total(name, answer) for name, answer in said.items()}, {45056})
        self.assertIsNone(walkers.total("ncdu", ""))
        self.assertIsNone(walkers.total("gnu", ""))

    def test_the_floor_measures_itself(self):
        self.assertEqual(
            walks.told_by_floor("0.250000 0.400000 45056\n"), {"seconds": 0.25, "cpu_seconds": 0.4}
        )


class Calls(unittest.TestCase):
    table = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 90.00    0.090000           1     20000           statx
 10.00    0.010000          10       200         3 openat
------ ----------- ----------- --------- --------- ----------------
100.00    0.100000           4     20200         3 total
"""

    def test_counts_by_name(self):
        self.assertEqual(walks.calls_of(self.table), {"statx": 20000, "openat": 200})
        self.assertEqual(walks.calls_of("strace: ptrace: Operation not permitted\n"), {})


class Rows(unittest.TestCase):
    """Real walks of a small tree, with a script for xsort."""

    def rows(self, script, trees="wide"):
        with tempfile.TemporaryDirectory() as work:
            work = Path(work)
            xsort = work / "xsort"
            xsort.write_text(
                f"#!/bin/sh\nshift\n[ $1 = --version ] && exec du --version\n{script}\n"
            )
            xsort.chmod(0o755)
            options = Namespace(
                size=10**6,
                trees=trees,
                contenders="xsort,gnu",
                rounds=2,
                threads=2,
                keep_caches=True,
                seconds_max=60,
                strict=True,
            )
            topic = walks.Walks(
                options,
                walkers.Walkers(xsort),
                Drive(work),
                work,
                lambda text: text.replace(str(work), "DIR"),
            )
            topic.run()
            self.assertEqual(list((work / "trees").iterdir()), [])
            return topic, [row for row in topic.rows if row["task"] == "walk"]

    def test_the_right_total(self):
        topic, rows = self.rows('exec du -s --block-size=1 "$4"')
        self.assertEqual(
            [(row["round"], row["contender"]) for row in rows],
            [(1, "xsort"), (1, "gnu"), (2, "gnu"), (2, "xsort")],
        )
        self.assertEqual({row["total_bytes"] for row in rows}, {rows[0]["expected_bytes"]})
        self.assertFalse(topic.has_failed())
        self.assertIn("du -s --block-size=1 --threads=2 DIR/trees/wide", rows[0]["command"])

    def test_xsort_may_not_be_wrong(self):
        topic, rows = self.rows("echo 1")
        self.assertIn("the total is wrong: 1 bytes", rows[0]["failure"])
        self.assertTrue(topic.has_failed())

    def test_nor_fail(self):
        topic, rows = self.rows("exit 1")
        self.assertEqual(rows[0]["failure"], "exit status 1")
        self.assertTrue(topic.has_failed())

    def test_only_trees_that_are_asked_for(self):
        _, rows = self.rows('exec du -s --block-size=1 "$4"', "tiny")
        self.assertEqual({(row["case"], row["repeats"]) for row in rows}, {("tiny", 200)})


class Sizes(unittest.TestCase):
    def test_parts(self):
        self.assertEqual(
            [walks.scale(size) for size in (None, 8 * 10**9, 16 * 10**9, 8 * 10**7)],
            [1, 1, 1, 0.01],
        )


def walk(contender, seconds, round=1, **others):
    row = {
        "task": "walk",
        "case": "deep",
        "temperature": "warm",
        "contender": contender,
        "label": walkers.WALKERS[contender].label,
        "is_baseline": contender == "xsort",
        "round": round,
        "names": 900,
        "directories": 100,
        "seconds": seconds,
        "user_seconds": seconds / 4,
        "system_seconds": seconds / 2,
        "peak_bytes": 2**23,
        "harness_bytes": 2**22,
        "read_bytes": 0,
        "expected_bytes": 1000,
        "total_bytes": 1000,
        "failure": None,
    }
    return row | others


class Report(unittest.TestCase):
    rows = [
        walk("xsort", 0.2),
        walk("gnu", 0.4),
        walk("floor", 0.1, cpu_seconds=0.15),
        walk("xsort", 0.4, 2),
        walk("gnu", 0.6, 2),
        walk("floor", 0.3, 2, cpu_seconds=0.15),
    ]

    def cells(self, rows, label):
        page = walks_report.table("a title", environment(), walks_report.summary(rows))
        (line,) = [
            line for line in page.splitlines() if line.startswith(f"| deep | warm | {label} ")
        ]
        return dict(
            zip(walks_report.COLUMNS, (cell.strip() for cell in line.strip("|").split("|")))
        )

    def test_ratios_are_those_of_a_round(self):
        cells = self.cells(self.rows, "GNU du")
        self.assertEqual(
            (cells["ms"], cells["times xsort's"]), ("500 (400-600)", "1.75 (1.50-2.00)")
        )
        self.assertEqual((cells["share of the floor"], cells["ns a name"]), ("38%", "500,000"))

    def test_the_floor_tells_its_processor_time_alone(self):
        cells = self.cells(self.rows, "floor")
        self.assertEqual(
            (cells["CPU ms"], cells["user"], cells["share of the floor"], cells["peak MiB"]),
            ("150", "", "", ""),
        )

    def test_totals_beside_gnu_du(self):
        rows = [*self.rows, walk("gdu", 0.8, total_bytes=990), walk("ncdu", 0.8, total_bytes=None)]
        self.assertEqual(self.cells(rows, "gdu")["total"], "**wrong: -1.000%**")
        self.assertEqual(self.cells(rows, "ncdu")["total"], "prints none")
        self.assertEqual(self.cells(rows, "GNU du")["total"], "right")
        short = walks_report.quote(walks_report.summary(rows), "warm")
        self.assertEqual(short[2], r"| deep | 900 | 300 | 1.75 | 4.00\* | 4.00 | 0.62 |")

    def test_the_floor_adds_up_to_everything(self):
        self.assertEqual(self.cells(self.rows, "floor")["total"], "right")

    def test_calls_are_told_for_each_name(self):
        traced = {
            "task": "calls",
            "case": "deep",
            "contender": "gnu",
            "names": 90,
            "directories": 10,
            "calls": {"statx": 100, "openat": 11},
        }
        self.assertEqual(self.cells([*self.rows, traced], "GNU du")["calls a name"], "1.11")

    def test_every_line_has_all_columns_and_failures_say_why(self):
        rows = [
            *self.rows,
            walk("dua", 1.0, failure="a | b"),
            walk("pdu", 1.0, failure="not installed"),
        ]
        page = walks_report.table("a title", environment(), walks_report.summary(rows))
        lines = [line for line in page.splitlines() if line.startswith("| deep | warm")]
        self.assertEqual({line.count("|") for line in lines}, {len(walks_report.COLUMNS) + 1})
        self.assertIn("| failed: a / b |", page)
        self.assertIn("| not installed |", page)

    def test_nothing_to_compare_with(self):
        for rows in ([], [walk("xsort", 0.2)], [walk("gnu", 0.2)]):
            self.assertEqual(walks_report.quote(walks_report.summary(rows), "warm"), [])


class Tree(unittest.TestCase):
    def test_names_are_unique(self):
        self.assertEqual(len({tree.name for tree in trees.TREES}), len(trees.TREES))
