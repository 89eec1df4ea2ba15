"""The picture: valid, complete, and on a scale that can be read."""

import unittest
from xml.etree import ElementTree

import plot
import report
from tests.rows import failed_row, sort_row

SVG = "{http://www.w3.org/2000/svg}"


def drawn(rows):
    return ElementTree.fromstring(plot.svg("a <title> & more", report.summary(rows)))


def texts(picture):
    return [element.text for element in picture.iter(f"{SVG}text")]


class Picture(unittest.TestCase):
    rivals = [
        sort_row("xsort", 2.5, is_baseline=True),
        sort_row("GNU sort", 8.0, contender="gnu"),
        sort_row("DuckDB", 5.0, contender="duckdb"),
    ]

    def test_bars_are_in_proportion_and_the_quickest_first(self):
        widths = [float(bar.get("width")) for bar in drawn(self.rivals).iter(f"{SVG}rect")]
        for width, seconds in zip(widths, (2.5, 5.0, 8.0), strict=True):
            self.assertAlmostEqual(width / widths[0], seconds / 2.5, delta=0.01)
        self.assertLessEqual(widths[-1], plot.WIDTH - plot.LABEL - plot.VALUE)

    def test_names_and_figures_are_written(self):
        said = texts(drawn(self.rivals))
        for words in (
            "a <title> & more",
            "xsort",
            "2.50 s, 80% of the limit",
            "8.00 s, 3.2 times xsort's",
            "the drive's limit",
            "seconds",
        ):
            self.assertIn(words, said)

    def test_large_ratios_are_drawn_logarithmically(self):
        said = texts(drawn([*self.rivals, sort_row("Polars", 250.0, contender="polars")]))
        self.assertIn("seconds, logarithmic", said)

    def test_inputs_of_several_sizes_are_drawn_per_gigabyte(self):
        rows = [sort_row("-j 2", 2.0), sort_row("-j 2", 5.0, case="gensort 2 GB", bytes=2 * 10**9)]
        said = texts(drawn(rows))
        self.assertIn("seconds per GB", said)
        self.assertTrue(any(text.startswith("2.50 s/GB") for text in said), said)

    def test_inputs_stay_together_and_starts_are_left_out(self):
        rows = [
            sort_row("xsort", 9.0, case="urls"),
            sort_row("GNU sort", 2.0, case="words", contender="gnu"),
            sort_row("xsort", 1.0, case="words"),
        ]
        rows += [
            sort_row("GNU sort", 8.0, case="urls", contender="gnu"),
            sort_row("xsort", 0.001, case="start", repeats=200),
        ]
        said = [
            text for text in texts(drawn(rows)) if text.split(",")[0] in ("urls", "words", "start")
        ]
        self.assertEqual(said, ["urls, GNU sort", "urls", "words", "words, GNU sort"])

    def test_failures_are_named_without_a_bar(self):
        rows = [
            *self.rivals,
            failed_row("Polars", "it broke", contender="polars"),
            failed_row("ClickHouse", "not installed", contender="clickhouse"),
        ]
        picture = drawn(rows)
        self.assertEqual(len(list(picture.iter(f"{SVG}rect"))), 3)
        self.assertIn("failed with 512 MiB", texts(picture))
        self.assertIn("not installed", texts(picture))

    def test_who_succeeded_with_more_memory_has_one_line(self):
        rows = [
            failed_row("DuckDB", "it broke", contender="duckdb"),
            sort_row("DuckDB (2 x memory)", 5.0, contender="duckdb"),
        ]
        self.assertNotIn("DuckDB", texts(drawn(rows)))

    def test_nothing_that_succeeded_is_a_picture_too(self):
        self.assertIn("failed with 512 MiB", texts(drawn([failed_row("xsort", "it broke")])))
        drawn([])


class Ticks(unittest.TestCase):
    def test_linear(self):
        self.assertEqual(plot.linear_ticks(57.6), [0, 20, 40])
        self.assertEqual(plot.linear_ticks(10), [0, 2, 4, 6, 8, 10])
        for most in (0.0003, 0.7, 1, 9.99, 123456):
            with self.subTest(most):
                self.assertIn(len(plot.linear_ticks(most)), range(3, 7))

    def test_logarithmic(self):
        self.assertEqual(plot.logarithmic_ticks(6.5, 300), [5, 10, 20, 50, 100, 200])
        self.assertEqual(plot.logarithmic_ticks(1, 20), [1, 2, 5, 10, 20])
