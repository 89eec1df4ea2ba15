"""When a topic counts as failed."""

import unittest

import topic
from tests.rows import failed_row, sort_row


class Failure(unittest.TestCase):
    success = sort_row("xsort", 2.0)
    rival_failed = failed_row("DuckDB", "out of memory", contender="duckdb")

    def test_all_is_well(self):
        self.assertFalse(topic.has_failed([self.success], True))

    def test_xsort_may_not_fail(self):
        self.assertTrue(topic.has_failed([self.success, failed_row("xsort", "it broke")], False))

    def test_no_output_may_be_wrong(self):
        wrong = failed_row("DuckDB", topic.WRONG + "out of order", contender="duckdb")
        self.assertTrue(topic.has_failed([self.success, wrong], False))

    def test_a_rival_may_fail_unless_strict(self):
        rows = [self.success, self.rival_failed]
        self.assertEqual(
            [topic.has_failed(rows, is_strict) for is_strict in (False, True)], [False, True]
        )

    def test_a_rival_may_need_more_memory(self):
        rows = [
            self.success,
            self.rival_failed,
            sort_row("DuckDB (2 x memory)", 4.0, contender="duckdb"),
        ]
        self.assertFalse(topic.has_failed(rows, True))

    def test_who_was_not_tried_did_not_fail(self):
        absent = {
            name: value
            for name, value in failed_row("DuckDB", "not installed", contender="duckdb").items()
            if name != "seconds"
        }
        self.assertFalse(topic.has_failed([self.success, absent], True))
