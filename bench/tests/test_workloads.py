"""Sizes as people write them, and what each topic is made of."""

import unittest

import rivals
import texts
import workloads


class ParseSize(unittest.TestCase):
    def test_binary_and_decimal(self):
        sizes = {
            "0": 0,
            "512": 512,
            "1K": 2**10,
            "1G": 2**30,
            "1GiB": 2**30,
            "1.5M": 3 * 2**19,
            "8GB": 8 * 10**9,
            "2TB": 2 * 10**12,
        }
        self.assertEqual({text: workloads.parse_size(text) for text in sizes}, sizes)

    def test_nonsense_is_refused(self):
        for text in ("", "G", "8gb", "-1", "1 GB", "1XB", "1e9"):
            with self.subTest(text), self.assertRaises(ValueError):
                workloads.parse_size(text)


class Cases(unittest.TestCase):
    def cases(self, topic, threads=2):
        return workloads.topic_cases(topic, 8 * 10**9, 2**30, threads, 19 * 2**30, ("xsort", "gnu"))

    def test_every_topic_has_one_baseline_and_lines_and_tables_one_for_each_input(self):
        for topic in workloads.TOPICS:
            with self.subTest(topic):
                baselines = [
                    sum(entry.is_baseline for entry in case.entries) for case in self.cases(topic)
                ]
                self.assertEqual(
                    baselines, [1] * len(baselines)
                ) if topic in workloads.PARTS else self.assertEqual(sum(baselines), 1)

    def test_labels_tell_the_runs_of_a_topic_apart(self):
        for topic in workloads.TOPICS:
            with self.subTest(topic):
                labels = [
                    (case.label, entry.label)
                    for case in self.cases(topic)
                    for entry in case.entries
                ]
                self.assertEqual(len(set(labels)), len(labels))

    def test_lines_and_tables_are_small_unless_they_are_asked_for_by_size(self):
        asked = {
            ("lines", None, False): 10**8,
            ("lines", None, True): 10**8,
            ("lines", 8000, True): 100,
            ("lines", 8000, False): 8000,
        }
        asked |= {("tables", None, False): 10**9, ("tables", 8000, False): 8000}
        asked |= {
            ("rivals", None, True): 8 * 10**9,
            ("lines-cold", 8000, True): 8000,
            ("keys", None, False): 10**8,
        }
        self.assertEqual({case: workloads.input_bytes(*case) for case in asked}, asked)

    def test_memory_holds_its_input(self):
        (case,) = self.cases("memory")
        self.assertEqual(case.bytes, 2 * 10**9)
        self.assertEqual({entry.memory_bytes for entry in case.entries}, {12 * 2**30})

    def test_memory_takes_no_more_than_there_is(self):
        (case,) = workloads.topic_cases("memory", 8 * 10**9, 2**30, 2, 5 * 2**30, ("xsort",))
        self.assertEqual(case.entries[0].memory_bytes, 5 * 2**30)

    def test_methods_are_tried_on_every_pattern(self):
        patterns = {case.label for case in self.cases("patterns")}
        asked = [
            (case.label, entry.settings) for case in self.cases("methods") for entry in case.entries
        ]
        self.assertCountEqual(
            asked,
            [
                (label, ("--method", method))
                for label in patterns
                for method in ("merge", "scatter")
            ],
        )

    def test_lines_are_judged_first_whoever_is_wanted(self):
        for topic in ("lines", "keys", "merges", "lines-cold", "keys-cold"):
            for case in workloads.topic_cases(topic, 10**8, 2**30, 2, 2**34, ("xsort", "polars")):
                self.assertEqual([entry.contender for entry in case.entries], ["gnu", "xsort"])

    def test_where_only_one_program_sorts_lines_its_first_output_is_the_judge(self):
        judges = {case.judge() for case in self.cases("compression") if case.is_lines}
        self.assertEqual(judges, {"xsort"})
        self.assertEqual({case.judge() for case in self.cases("keys")}, {"gnu"})

    def test_compression_is_tried_with_and_without_a_rate(self):
        settings = [entry.settings for case in self.cases("compression") for entry in case.entries]
        self.assertEqual(settings.count(("--compress=auto",)), 4)
        self.assertEqual(settings.count(("--compress=auto", "--bandwidth-limit=500MB")), 4)

    def test_lines_are_asked_of_those_who_know_the_order(self):
        for case in workloads.topic_cases("lines", 10**8, 2**30, 2, 2**34, rivals.NAMES):
            with self.subTest(case.label):
                names = {entry.contender for entry in case.entries}
                self.assertEqual(
                    "duckdb" in names, not case.options and case.locale == "C" and case.repeats == 1
                )
                self.assertEqual("uutils" in names, case.locale == "C")
                self.assertIn(case.gen[0], texts.NAMES)

    def test_growth_on_a_single_processor_has_one_entry_a_size(self):
        self.assertEqual([len(case.entries) for case in self.cases("growth", threads=1)], [1] * 6)
        self.assertEqual(
            [case.bytes for case in self.cases("growth")], [n * 10**9 for n in (1, 2, 4, 8, 16, 32)]
        )

    def test_unknown_topics_are_refused(self):
        with self.assertRaises(ValueError):
            self.cases("everything")
