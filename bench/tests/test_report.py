"""Medians, ratios, shares, and the table that shows them."""

import unittest

import report
from tests.rows import RATES, environment, failed_row, sort_row


def summary_of(label, rows):
    return next(
        result
        for result in report.summary(rows)
        if result["label"] == label and not result["failure"]
    )


class Summary(unittest.TestCase):
    def test_medians_over_the_rounds(self):
        rows = [
            sort_row("xsort", seconds, round) for round, seconds in enumerate((3.0, 9.0, 4.0), 1)
        ]
        result = summary_of("xsort", rows)
        self.assertEqual(
            (result["seconds"], result["spread"], result["rounds"]), (4.0, [3.0, 9.0], 3)
        )

    def test_ratios_are_taken_within_a_round(self):
        # The drive was twice as slow in the second round, for both.
        rows = [sort_row("xsort", s, r, is_baseline=True) for r, s in ((1, 2.0), (2, 4.0))]
        rows += [sort_row("GNU sort", s, r, contender="gnu") for r, s in ((1, 6.0), (2, 12.0))]
        self.assertEqual(summary_of("GNU sort", rows)["ratio"], 3.0)

    def test_ratios_are_per_byte(self):
        rows = [
            sort_row("xsort", 2.0, is_baseline=True),
            sort_row("large", 6.0, case="large", bytes=2 * 10**9),
        ]
        self.assertEqual(summary_of("large", rows)["ratio"], 1.5)

    def test_an_input_with_a_baseline_is_compared_with_no_other(self):
        rows = [
            sort_row("xsort", 2.0, is_baseline=True),
            sort_row("GNU sort", 6.0, contender="gnu", case="words"),
        ]
        rows += [
            sort_row("xsort", 3.0, is_baseline=True, case="words"),
            failed_row("xsort", "it broke", is_baseline=True, case="urls"),
        ]
        rows += [sort_row("GNU sort", 5.0, contender="gnu", case="urls")]
        ratios = {
            result["case"]: result["ratio"]
            for result in report.summary(rows)
            if result["contender"] == "gnu"
        }
        self.assertEqual(ratios, {"words": 2.0, "urls": None})

    def test_no_ratio_to_a_baseline_that_failed(self):
        rows = [failed_row("xsort", "it broke", is_baseline=True), sort_row("other", 6.0)]
        self.assertIsNone(summary_of("other", rows)["ratio"])

    def test_processor_and_bytes_for_each_record_and_byte(self):
        result = summary_of("xsort", [sort_row("xsort", 2.0)])
        self.assertEqual(
            (result["cpu_seconds"], result["cpu_ns_per_record"], result["moved_per_byte"]),
            (1.0, 100.0, 4.0),
        )

    def test_share_of_the_limit(self):
        # 1 GB read, spilled, read again and written: 2 s at once, twice 1.
        result = summary_of("xsort", [sort_row("xsort", 2.5)])
        self.assertEqual(
            (result["floor_seconds"], result["times_floor"], result["share"]), (2.0, 1.25, 0.8)
        )

    def test_giving_scratch_back_counts_where_it_is_said(self):
        rates = sort_row("xsort", 3.0)["rates"] | {"freed": 4e9}
        result = summary_of("xsort", [sort_row("xsort", 3.0, rates=rates)])
        self.assertEqual(
            (result["floor_seconds"], result["freed_seconds"], result["share_with_freed"]),
            (2.0, 0.25, 0.75),
        )

    def test_files_that_are_new_have_a_floor_of_their_own(self):
        rates = sort_row("xsort", 4.0)["rates"] | {"created": 1e9, "created_mixed": 1e9}
        result = summary_of("xsort", [sort_row("xsort", 4.0, rates=rates)])
        self.assertEqual(
            (result["floor_seconds"], result["new_floor_seconds"], result["share_of_new"]),
            (2.0, 4.0, 1.0),
        )
        self.assertIsNone(summary_of("xsort", [sort_row("xsort", 4.0)])["new_floor_seconds"])

    def test_an_output_over_scratch_is_no_new_file_and_gives_nothing_back(self):
        rates = sort_row("xsort", 4.0)["rates"] | {
            "created": 1e9,
            "created_mixed": 1e9,
            "freed": 4e9,
        }
        result = summary_of("xsort", [sort_row("xsort", 4.0, rates=rates, in_place=True)])
        # Scratch is new, 2 s; the output isn't, 1 s.
        self.assertEqual(
            (result["floor_seconds"], result["new_floor_seconds"], result["share_of_new"]),
            (2.0, 3.0, 0.75),
        )
        self.assertIsNone(result["freed_seconds"])
        self.assertEqual(result["share_with_freed"], 0.5)

    def test_rivals_are_held_to_the_floor_of_xsort_on_the_same_input(self):
        rows = [sort_row("xsort", 2.0), sort_row("GNU sort", 8.0, contender="gnu")]
        del rows[1]["spilled_bytes"]
        self.assertEqual(summary_of("GNU sort", rows)["floor_seconds"], 2.0)

    def test_methods_are_held_to_the_same_floor_but_budgets_to_their_own(self):
        rows = [
            sort_row("merge", 4.0),
            sort_row("scatter", 4.0, spilled_bytes=2 * 10**9),
            sort_row("-m 4G", 4.0, memory_bytes=2**32, spilled_bytes=0),
        ]
        floors = [
            summary_of(label, rows)["floor_seconds"] for label in ("merge", "scatter", "-m 4G")
        ]
        self.assertEqual(floors, [2.0, 2.0, 1.5])

    def test_no_floor_without_rates_or_without_xsort(self):
        rival = sort_row("GNU sort", 8.0, contender="gnu")
        self.assertIsNone(
            summary_of("xsort", [sort_row("xsort", 2.0, rates=None)])["floor_seconds"]
        )
        self.assertIsNone(summary_of("GNU sort", [rival])["share"])

    def test_no_floor_from_a_sort_that_failed(self):
        failed = {
            name: value
            for name, value in failed_row("xsort", "it broke").items()
            if name != "spilled_bytes"
        }
        self.assertIsNone(
            summary_of("GNU sort", [failed, sort_row("GNU sort", 8.0, contender="gnu")])[
                "floor_seconds"
            ]
        )

    def test_tools_have_floors_too(self):
        rows = [
            sort_row("xsort gen", 1.0, task="gen"),
            sort_row("xsort verify", 1.0, task="verify"),
        ]
        self.assertEqual([result["floor_seconds"] for result in report.summary(rows)], [0.5, 1.0])

    def test_failures_stand_beside_successes(self):
        rows = [
            failed_row("DuckDB", "out of memory", contender="duckdb"),
            sort_row("DuckDB", 4.0, contender="duckdb", round=2),
        ]
        self.assertEqual(
            [bool(result["failure"]) for result in report.summary(rows)], [True, False]
        )


class Table(unittest.TestCase):
    def table(self, rows, **others):
        return report.table("a title", environment(**others), report.summary(rows))

    def test_every_line_has_all_columns(self):
        rows = [
            sort_row("xsort", 2.0, is_baseline=True),
            failed_row("DuckDB", "a | b", contender="duckdb"),
            sort_row("none", 1.0, rates=None),
        ]
        lines = [line for line in self.table(rows).splitlines() if line.startswith("|")]
        self.assertEqual({line.count("|") for line in lines}, {len(report.COLUMNS) + 1})
        self.assertEqual(len(lines), 2 + 3)

    def test_a_line(self):
        (line,) = [
            line
            for line in self.table([sort_row("xsort", 2.5, is_baseline=True)]).splitlines()
            if "**xsort**" in line
        ]
        cells = "gensort|**xsort**|512|2.50|1.00|0.40|1.0|100|512|2.00|2.00|4.00|2.00|1.25|80%|0.00|80%||"
        self.assertEqual(line.split("|")[1:-1], [f" {cell} " for cell in cells.split("|")])

    def test_only_what_was_tried_failed(self):
        page = self.table(
            [
                failed_row("DuckDB", "out of memory", contender="duckdb"),
                failed_row("Polars", "not installed", contender="polars"),
            ]
        )
        self.assertIn("| failed: out of memory |", page)
        self.assertIn("| not installed |", page)

    def test_what_is_missing_is_said(self):
        page = self.table(
            [sort_row("xsort", 2.0)],
            fio_refusal="fio is missing",
            caches_dropped=False,
            is_complete=False,
        )
        warm = self.table([sort_row("xsort", 2.0)], is_warm=True, caches_dropped=False)
        self.assertIn("inputs in the page cache", warm)
        self.assertNotIn("caches not dropped", warm)
        for words in ("No floor: fio is missing", "caches not dropped", "Stopped before the end"):
            self.assertIn(words, page)
