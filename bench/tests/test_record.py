"""Names, titles, and what a record must not tell."""

import json
from pathlib import Path
import tempfile
import unittest

import record
import workloads
from tests.rows import environment, sort_row


class Names(unittest.TestCase):
    def test_folders(self):
        self.assertEqual(
            record.folder_name("2026-11-21", "rivals", None, True), "2026-11-21-rivals"
        )
        self.assertEqual(
            record.folder_name("2026-11-21", "rivals", "32gb", True), "2026-11-21-rivals-32gb"
        )
        self.assertEqual(
            record.folder_name("2026-11-21", "rivals", None, False), "2026-11-21-rivals-unfinished"
        )

    def test_titles_say_what_was_sorted(self):
        title = lambda topic: record.title(
            topic, workloads.topic_cases(topic, 8 * 10**9, 2**30, 2, 19 * 2**30, ("xsort",))
        )
        self.assertEqual(title("rivals"), "xsort: rivals, 8 GB, 1,024 MiB")
        self.assertEqual(title("memory"), "xsort: memory, 2 GB, 12,288 MiB")
        self.assertEqual(title("growth"), "xsort: growth, 1-32 GB, 1,024 MiB")
        self.assertEqual(title("lines"), "xsort: lines, 8 GB, 12,288 MiB")
        self.assertEqual(title("budgets"), "xsort: budgets, 8 GB, 64-19,456 MiB")

    def test_places_are_taken_out(self):
        places = {"/mnt/drive/work-1": "DIR", "/mnt/drive": "DIR", "/home/me/xsort": "."}
        said = record.placeless(
            "/home/me/xsort/bench/run --dir /mnt/drive /mnt/drive/work-1/input mnt/drive/x", places
        )
        self.assertEqual(said, "./bench/run --dir DIR DIR/input DIR/x")


class Folder(unittest.TestCase):
    def test_everything_is_written_and_rows_can_be_read_again(self):
        rows = [
            sort_row("xsort", 2.0, is_baseline=True),
            sort_row("GNU sort", 8.0, contender="gnu"),
        ]
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory) / "deep" / "record"
            table = record.write(folder, "a title", environment(), rows)
            self.assertEqual((folder / "table.md").read_text(), table)
            again = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
            self.assertEqual(record.write(folder, "a title", environment(), again), table)
            self.assertEqual(
                {path.name for path in folder.iterdir()},
                {"table.md", "plot.svg", "rows.jsonl", "environment.json"},
            )

    def test_no_rows_are_a_record_too(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertIn(
                "Stopped",
                record.write(Path(directory), "a title", environment(is_complete=False), []),
            )
