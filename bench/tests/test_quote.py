"""The short table: who is in it, and what stands in its cells."""

import unittest

import quote
import report
from tests.rows import failed_row, sort_row


def cells(rows):
    """Of the lines below the head."""
    lines = quote.table(report.summary(rows))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:] if line]


class Programs(unittest.TestCase):
    def test_the_quickest_first(self):
        rows = [
            sort_row("GNU sort", 8.0, contender="gnu"),
            sort_row("xsort", 2.5, is_baseline=True),
        ]
        self.assertEqual(
            cells(rows),
            [
                ["**xsort**", "2.50", "1.0", "1.00", "512", "80%"],
                ["GNU sort", "8.00", "3.2", "1.00", "512", "25%"],
            ],
        )

    def test_nothing_to_compare_with(self):
        alone = sort_row("xsort", 2.5, is_baseline=True)
        for rows in (
            [],
            [alone],
            [alone, failed_row("GNU sort", "it broke", contender="gnu")],
            [sort_row("GNU sort", 8.0, contender="gnu")],
        ):
            self.assertEqual(quote.table(report.summary(rows)), [])


class Inputs(unittest.TestCase):
    def rows(self):
        for case, own, other in (
            ("words", (1.0, 1.0), (4.0, 5.0)),
            ("urls", (2.0, 4.0), (3.0, 6.0)),
        ):
            for round in (1, 2):
                yield sort_row(
                    "GNU sort", other[round - 1], round, contender="gnu", case=case, rates=None
                )
                yield sort_row(
                    "xsort", own[round - 1], round, case=case, is_baseline=True, rates=None
                )

    def test_every_input_has_its_own_baseline(self):
        words, urls = cells([*self.rows()])
        self.assertEqual(
            words,
            ["words", "10,000,000", "1.00", "4.50", "4.5 (4.0-5.0)", "1.00, 1.00", "512, 512"],
        )
        self.assertEqual(urls[2:5], ["3.00", "4.50", "1.5 (1.5-1.5)"])

    def test_who_took_no_part_leaves_cells_empty(self):
        rows = [*self.rows(), sort_row("DuckDB", 5.0, contender="duckdb", case="words")]
        words, urls = cells(rows)
        self.assertEqual([words[5:7], urls[5:7]], [["5.00", "5.0"], ["", ""]])
        self.assertEqual(
            len({line.count("|") for line in quote.table(report.summary(rows)) if line}), 1
        )

    def test_what_is_over_soon_has_more_digits(self):
        self.assertEqual(
            [quote.seconds(value) for value in (0.0014, 0.0949, 0.1, 12.3)],
            ["0.0014", "0.0949", "0.10", "12.30"],
        )

    def test_a_peak_below_the_harness_is_not_known(self):
        result = {"peak_bytes": 20 * 2**20, "harness_bytes": 24 * 2**20}
        self.assertEqual(
            [quote.peak_cell(result), quote.peak_cell(result | {"peak_bytes": 2**25})],
            ["<24", "32"],
        )
