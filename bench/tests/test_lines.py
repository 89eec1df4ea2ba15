"""Lines are judged by GNU sort's output, in a locale that is there, and everyone is told the
same.
"""

from pathlib import Path
import subprocess
import tempfile
import unittest

import measure
import prepared
import rivals
import topic
import workloads


class Judge(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.work = Path(directory.name)
        self.case, *_ = workloads.topic_cases("lines", 10**6, 2**20, 2, 2**30, ("gnu", "xsort"))
        self.topic = topic.Topic("lines", [self.case], None, None, None, None, self.work, str)

    def wrong(self, contender, text):
        target = self.work / "output"
        target.write_text(text)
        (entry,) = [entry for entry in self.case.entries if entry.contender == contender]
        return self.topic.prove(self.case, entry, [], None, target, "")[0]

    def test_outputs_are_the_judges_to_the_byte(self):
        self.assertIsNone(self.wrong("gnu", "1\n2\n"))
        self.assertIsNone(self.wrong("xsort", "1\n2\n"))
        for other in ("1\n2", "2\n1\n", "1\n2\n2\n", ""):
            self.assertEqual(self.wrong("xsort", other), "not that of GNU sort")

    def test_the_judge_may_not_change_its_mind(self):
        self.wrong("gnu", "1\n2\n")
        self.assertIsNotNone(self.wrong("gnu", "2\n1\n"))

    def test_no_output_is_right_without_a_judge(self):
        self.assertIsNotNone(self.wrong("xsort", "1\n2\n"))


class Commands(unittest.TestCase):
    def test_options_are_the_same_for_all(self):
        for case in workloads.topic_cases("lines", 10**6, 2**20, 2, 2**30, rivals.NAMES):
            commands = {
                entry.contender: rivals.Contenders("xsort").command(
                    entry.contender, case, entry, 2**20, "IN", "OUT", "SCRATCH"
                )
                for entry in case.entries
                if entry.contender in workloads.SORTERS
            }
            self.assertEqual(commands["xsort"][:2], ["xsort", "lines"])
            self.assertEqual(
                len(
                    {tuple(command[1 + (name == "xsort") :]) for name, command in commands.items()}
                ),
                1,
            )

    def test_xsort_tells_what_it_spilled_after_its_warnings(self):
        lines, *_ = workloads.topic_cases("lines", 10**6, 2**20, 2, 2**30, ("xsort",))
        self.assertEqual(
            topic.told_by_xsort("", 'a warning\n{"spilled_bytes": 7}\n', lines),
            {"spilled_bytes": 7},
        )


class Prepared(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.source = Path(directory.name) / "text"
        self.source.write_text("10\n9\n8\n7\n1\n")

    def cases(self, **wanted):
        cases = workloads.topic_cases("merges", 10**6, 2**20, 2, 2**30, ("gnu", "xsort"))
        return [
            case
            for case in cases
            if all(getattr(case, name) == value for name, value in wanted.items())
        ]

    def test_a_merge_has_all_lines_in_sorted_parts(self):
        case, *_ = self.cases(task="merge", parts=2, locale="C")
        parts = [
            file.read_text().split()
            for file in prepared.prepare(case, self.source, rivals.ENVIRONMENT)
        ]
        self.assertEqual(parts, [["1", "10", "8"], ["7", "9"]])
        command = rivals.Contenders("xsort").command(
            "xsort", case, case.entries[-1], 2**20, self.source, "OUT", "SCRATCH"
        )
        self.assertEqual(command[-4:], ["-o", "OUT", *map(str, prepared.inputs(case, self.source))])

    def test_a_check_has_lines_in_its_own_order_and_no_output(self):
        (case,) = self.cases(options=("-c", "-n"))
        (file,) = prepared.prepare(case, self.source, rivals.ENVIRONMENT)
        self.assertEqual(file.read_text().split(), ["1", "7", "8", "9", "10"])
        command = rivals.Contenders("xsort").command(
            "xsort", case, case.entries[-1], 2**20, self.source, "OUT", "SCRATCH"
        )
        self.assertEqual(command[-1], str(file))
        self.assertNotIn("OUT", command)

    def test_a_check_must_find_disorder(self):
        (case,) = self.cases(options=("-c", "-n"))
        said = topic.Topic("merges", [case], None, None, None, None, self.source.parent, str)
        self.assertIsNone(said.prove_check(case, ["sort", "-c", "-n", "SORTED"], self.source))
        self.assertIsNotNone(said.prove_check(case, ["true", "SORTED"], self.source))

    def test_a_reader_writes_what_is_sorted(self):
        (case,) = self.cases(reader=("gzip", "-dc"))
        prepared.prepare(case, self.source, rivals.ENVIRONMENT)
        command = rivals.piped(case, self.source, ["sort", "-n"])
        self.assertEqual(
            subprocess.run(command, capture_output=True, text=True).stdout, "1\n7\n8\n9\n10\n"
        )


class Repeats(unittest.TestCase):
    def test_start_to_exit_with_input(self):
        with tempfile.TemporaryDirectory() as directory:
            *_, status = measure.start_to_exit(["/bin/cat"], {}, Path(directory) / "log", b"said\n")
            self.assertEqual((status, (Path(directory) / "log.out").read_text()), (0, "said\n"))

    def test_start_to_exit_of_a_failure(self):
        with tempfile.TemporaryDirectory() as directory:
            _, usage, status = measure.start_to_exit(
                ["/bin/sh", "-c", "echo said; exit 3"], {}, Path(directory) / "log"
            )
            self.assertEqual((status, (Path(directory) / "log.out").read_text()), (3, "said\n"))
            self.assertGreater(usage.ru_maxrss, 0)


class Locales(unittest.TestCase):
    def test_a_locale_that_cannot_be_made_is_none(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertIsNone(rivals.environment("xx_YY.UTF-8", Path(directory) / "locales"))
            self.assertEqual(rivals.environment("C", Path(directory)), rivals.ENVIRONMENT)
