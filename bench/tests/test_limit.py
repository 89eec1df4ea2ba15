"""The floor's arithmetic, and what is made of fio's answers."""

from dataclasses import replace
import json
from pathlib import Path
import tempfile
import unittest
from unittest import mock

import limit

# In turn: 2 read and 4 written take 2 s each.
SLOW_MIXED = limit.Rates(read=1.0, write=2.0, mixed=1.0)
FAST_MIXED = limit.Rates(read=1.0, write=1.0, mixed=4.0)


class Floor(unittest.TestCase):
    def test_in_memory_nothing_overlaps(self):
        self.assertEqual(limit.floor_seconds(SLOW_MIXED, "sort", 8, 0), 8 / 1 + 8 / 2)
        self.assertEqual(limit.floor_seconds(FAST_MIXED, "sort", 8, 0), 16)

    def test_all_spilled_in_turn(self):
        self.assertEqual(limit.floor_seconds(SLOW_MIXED, "sort", 8, 8), 16 / 1 + 16 / 2)

    def test_all_spilled_at_once(self):
        self.assertEqual(limit.floor_seconds(FAST_MIXED, "sort", 8, 8), 4 * 8 / 4)

    def test_what_exceeds_the_other_goes_alone(self):
        # Each phase: 2 and 2 at once, 1 s; the 6 others alone, 6 s.
        self.assertEqual(limit.floor_seconds(FAST_MIXED, "sort", 8, 2), 2 * (1 + 6))

    def test_several_passes(self):
        # 8 + 12 read, 12 + 8 written, all of it at once.
        self.assertEqual(limit.floor_seconds(FAST_MIXED, "sort", 8, 12), (20 + 20) / 4)

    def test_never_less_than_the_faster_direction_alone(self):
        for spilled in range(0, 33):
            floor = limit.floor_seconds(FAST_MIXED, "sort", 8, spilled)
            self.assertGreaterEqual(
                floor, limit.floor_seconds(FAST_MIXED, "sort", 8, 8) if spilled >= 8 else 8
            )

    def test_making_writes_and_proving_reads(self):
        self.assertEqual(limit.floor_seconds(SLOW_MIXED, "gen", 8, 0), 4)
        self.assertEqual(limit.floor_seconds(replace(SLOW_MIXED, created=1.0), "gen", 8, 0), 8)
        self.assertEqual(limit.floor_seconds(SLOW_MIXED, "verify", 8, 0), 8)


def fio_job(configuration, pattern, direction, read=0, write=0, error=0):
    name = f"{configuration.name()} {pattern} {direction}"
    return {
        "jobname": name,
        "error": error,
        "read": {"bw_bytes": read},
        "write": {"bw_bytes": write},
    }


def answer(read, write, mixed_read, mixed_write, error=0):
    """fio's answer if every job of every configuration reaches the same."""
    jobs = []
    for configuration in limit.CONFIGURATIONS:
        for _ in range(configuration.jobs):
            jobs.append(fio_job(configuration, "read", "read", read=read, error=error))
            jobs.append(fio_job(configuration, "write", "write", write=write, error=error))
            jobs.append(fio_job(configuration, "mixed", "read", read=mixed_read, error=error))
            jobs.append(fio_job(configuration, "mixed", "write", write=mixed_write, error=error))
            jobs.append(fio_job(configuration, "created", "write", write=write // 2, error=error))
            jobs.append(
                fio_job(configuration, "created_mixed", "read", read=mixed_read, error=error)
            )
            jobs.append(
                fio_job(
                    configuration, "created_mixed", "write", write=mixed_write // 2, error=error
                )
            )
    return jobs


def rows(jobs):
    return [limit.row(configuration, jobs) for configuration in limit.CONFIGURATIONS]


class Best(unittest.TestCase):
    def test_jobs_are_summed_and_the_best_counts(self):
        rates = limit.best(rows(answer(10, 20, 3, 4)))
        self.assertEqual((rates.read, rates.write, rates.mixed), (20, 40, 14))
        self.assertEqual((rates.created, rates.created_mixed), (20, 10))
        self.assertEqual(len(rates.configurations), len(limit.CONFIGURATIONS))

    def test_each_pattern_has_its_own_best(self):
        first, second = [
            configuration for configuration in limit.CONFIGURATIONS if configuration.jobs == 1
        ]
        better = [
            fio_job(first, "read", "read", read=100),
            fio_job(second, "write", "write", write=100),
        ]
        rates = limit.best(rows(answer(10, 20, 3, 4) + better))
        self.assertEqual((rates.read, rates.write), (110, 120))

    def test_a_configuration_that_fails_does_not_count(self):
        first = limit.CONFIGURATIONS[0]
        failed = [
            fio_job(first, pattern, pattern, read=10**9, write=10**9, error=12)
            for pattern in limit.PATTERNS
        ]
        rates = limit.best(rows(failed + answer(10, 20, 3, 4)))
        self.assertEqual(rates.read, 20)
        self.assertEqual(
            rates.configurations[0], {"configuration": first.name()} | dict.fromkeys(limit.PATTERNS)
        )

    def test_without_a_whole_answer_there_are_no_rates(self):
        for jobs in ([], answer(10, 20, 3, 4, error=1), answer(10, 0, 0, 0)):
            with self.subTest(len(jobs)), self.assertRaises(limit.Refused):
                limit.best(rows(jobs))

    def test_without_space_for_a_new_file_the_others_count(self):
        jobs = [
            job | {"error": 28 if "created" in job["jobname"] else 0}
            for job in answer(10, 20, 3, 4)
        ]
        rates = limit.best(rows(jobs))
        self.assertEqual((rates.read, rates.created, rates.of_new_files()), (20, None, None))

    def test_who_may_not_use_io_uring_is_asked_again_without(self):
        with (
            mock.patch.object(limit, "lay_out"),
            mock.patch.object(limit, "free", return_value=30),
            mock.patch.object(limit, "ask", side_effect=self.without_io_uring) as ask,
        ):
            rates = limit.measure(Path("probe"), 2**30, 1)
        self.assertEqual((ask.call_count, rates.read, rates.freed, rates.created), (2, 20, 30, 20))
        self.assertEqual(
            {row["configuration"].split()[0] for row in rates.configurations if row["read"]},
            {"libaio"},
        )

    def without_io_uring(self, configurations, *_):
        error = lambda configuration: 1 if configuration.engine == "io_uring" else 0
        jobs = [
            fio_job(each, pattern, "read", read=20, error=error(each))
            for each in configurations
            for pattern in limit.PATTERNS
        ]
        return [limit.row(configuration, jobs) for configuration in configurations]

    def test_names_tell_configurations_apart(self):
        names = [configuration.name() + " " for configuration in limit.CONFIGURATIONS]
        self.assertFalse([(a, b) for a in names for b in names if a is not b and a.startswith(b)])

    def test_a_row_can_be_read_again(self):
        rates = limit.best(rows(answer(10, 20, 3, 4)))
        again = limit.Rates(**json.loads(json.dumps(rates.row())))
        self.assertEqual(
            (again.read, again.write, again.mixed), (rates.read, rates.write, rates.mixed)
        )


class NewFiles(unittest.TestCase):
    def test_all_that_is_written_is_new(self):
        rates = replace(FAST_MIXED, created=0.5, created_mixed=2.0).of_new_files()
        self.assertEqual(limit.floor_seconds(rates, "sort", 8, 0), 8 / 1 + 8 / 0.5)
        self.assertEqual(limit.floor_seconds(rates, "sort", 8, 8), 4 * 8 / 2)
        self.assertEqual(limit.floor_seconds(rates, "gen", 8, 0), 16)

    def test_a_file_is_new_for_each_job_and_gone_afterwards(self):
        seen = []

        def fio(jobs):
            fresh = limit.new(probe)
            if fresh.name in jobs:
                seen.append(fresh.exists())
                fresh.write_bytes(b"x")
            return []

        with (
            tempfile.TemporaryDirectory() as directory,
            mock.patch.object(limit, "fio", side_effect=fio),
        ):
            probe = Path(directory) / "probe"
            limit.new(probe).write_bytes(b"of a run that was killed")
            limit.ask(limit.CONFIGURATIONS, probe, 2**30, 1)
            self.assertEqual((seen, limit.new(probe).exists()), ([False] * 8, False))


class Sustained(unittest.TestCase):
    def test_the_best_mean_counts_and_not_the_best_burst(self):
        measured = [
            configured(steady=(10, 20, 30), swinging=(13, 1, 1)),
            configured(steady=(10, 22, 30), swinging=(3, 1, 1)),
        ]
        rates = limit.sustained(measured)
        self.assertEqual((rates.read, rates.write, rates.mixed), (10, 21, 30))

    def test_each_pattern_has_its_own_best(self):
        rates = limit.sustained([configured(one=(10, 20, 30), two=(5, 40, 31))])
        self.assertEqual((rates.read, rates.write, rates.mixed), (10, 40, 31))

    def test_older_rows_have_one_rate_of_new_files(self):
        older = [
            limit.Rates(
                10,
                20,
                30,
                ({"configuration": "one", "read": 10, "write": 20, "mixed": 30},),
                created=created,
            )
            for created in (8, 12)
        ]
        rates = limit.sustained(older)
        self.assertEqual(
            (rates.created, rates.created_mixed, rates.of_new_files()), (10, None, None)
        )

    def test_what_failed_does_not_count(self):
        rates = limit.sustained(
            [
                configured(one=(10, 20, 30), two=(None, None, None)),
                configured(one=(12, 20, 30), two=(8, 8, 8)),
            ]
        )
        self.assertEqual(rates.read, 11)


class HugePages(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.reserved, self.memory = (
            Path(directory.name) / "nr_hugepages",
            Path(directory.name) / "meminfo",
        )
        mock.patch.multiple(limit, RESERVED=self.reserved, MEMORY=self.memory).start()
        self.addCleanup(mock.patch.stopall)

    def buffers(self, free, size="2048 kB"):
        self.memory.write_text(
            f"MemTotal:       24 kB\nHugePages_Free:     {free}\nHugepagesize:       {size}\n"
        )
        with limit.huge_pages() as buffers:
            meanwhile = self.reserved.exists() and self.reserved.read_text()
        return buffers, meanwhile

    def test_they_are_reserved_meanwhile(self):
        self.reserved.write_text("3\n")
        self.assertEqual(self.buffers(free=64), ("mmaphuge", "67"))
        self.assertEqual(self.reserved.read_text(), "3")

    def test_without_them_buffers_are_in_small_pages(self):
        self.assertEqual(self.buffers(free=64), ("mmaphuge", False), "others have reserved them")
        self.assertEqual(self.buffers(free=10)[0], "mmap")
        self.assertEqual(self.buffers(free=64, size="1048576 kB")[0], "mmap")


class Freed(unittest.TestCase):
    def test_a_file_is_gone_and_its_rate_known(self):
        with tempfile.TemporaryDirectory() as directory:
            probe = Path(directory) / "probe"
            probe.write_bytes(bytes(2**20))
            rate = limit.free(probe)
            self.assertFalse(probe.exists())
            self.assertTrue(0 < rate <= limit.FREED_MAX)


def configured(**given):
    """Rates of a measurement by the rates of its configurations."""
    rows = tuple(
        {"configuration": name} | dict(zip(limit.PATTERNS, rates)) for name, rates in given.items()
    )
    return limit.Rates(
        *(max(row[pattern] or 0 for row in rows) for pattern in limit.PATTERNS[:3]),
        configurations=rows,
    )


class Jobs(unittest.TestCase):
    def test_every_job_stays_within_its_part_of_the_file(self):
        for configuration in limit.CONFIGURATIONS:
            for pattern in limit.PATTERNS:
                with self.subTest(configuration.name() + pattern):
                    self.assertEqual(
                        overlaps(
                            limit.job(configuration, pattern, Path("probe"), 64 * 2**20), 64 * 2**20
                        ),
                        [],
                    )

    def test_new_files_are_written_once_and_others_for_the_whole_time(self):
        for pattern in limit.PATTERNS:
            _, *sections = limit.job(
                limit.CONFIGURATIONS[0], pattern, Path("probe"), 64 * 2**20
            ).split("[")
            for section in sections:
                is_new = pattern in limit.NEW and "rw=write" in section
                self.assertEqual(
                    "filename=probe-new\nfallocate=native\nend_fsync=1" in section, is_new, section
                )
                self.assertEqual("filename=probe\ntime_based" in section, not is_new, section)
                self.assertEqual("exitall" in section, is_new and "mixed" in pattern, section)


def overlaps(text, bytes):
    """Pairs of neighbours, by offset in the same file, that overlap or leave it."""
    files = {}
    for section in text.split("[")[1:]:
        values = dict(line.split("=") for line in section.splitlines()[1:] if "=" in line)
        offset, part = int(values["offset"]), int(values["size"])
        spans = [
            (offset + number * int(values["offset_increment"]), part)
            for number in range(int(values["numjobs"]))
        ]
        files.setdefault(values["filename"], []).extend(spans)
    pairs = []
    for spans in map(sorted, files.values()):
        ends = [start + length for start, length in spans]
        pairs += zip(ends, [start for start, _ in spans[1:]] + [bytes])
    return [pair for pair in pairs if pair[0] > pair[1]]


class Size(unittest.TestCase):
    def test_readers_and_writers_have_as_much_as_the_input(self):
        for input_bytes in (8 * 10**9, 2**20):
            with self.subTest(input_bytes):
                probe_bytes = limit.Limit(None, 1).probe_bytes(input_bytes)
                for pattern in ("mixed", "created", "created_mixed"):
                    text = limit.job(limit.CONFIGURATIONS[0], pattern, Path("probe"), probe_bytes)
                    sizes = [
                        int(line.removeprefix("size="))
                        for line in text.splitlines()
                        if line.startswith("size=")
                    ]
                    self.assertTrue(
                        sizes and min(sizes) > input_bytes - limit.CONFIGURATIONS[0].block_bytes,
                        sizes,
                    )

    def test_who_asks_for_a_size_gets_it(self):
        self.assertEqual(limit.Limit(2**30, 1).probe_bytes(2**40), 2**30)

    def test_there_is_space_for_both_files(self):
        for pattern in limit.NEW:
            text = limit.job(limit.CONFIGURATIONS[-1], pattern, Path("probe"), 2**30)
            sections = [section for section in text.split("[") if "probe-new" in section]
            values = [
                dict(line.split("=") for line in section.splitlines() if "=" in line)
                for section in sections
            ]
            written = sum(int(each["size"]) * int(each["numjobs"]) for each in values)
            self.assertEqual(limit.Limit(2**30, 1).space(0), 2**30 + written)


class Age(unittest.TestCase):
    def setUp(self):
        self.clock = mock.patch.object(limit.time, "monotonic", return_value=1000.0).start()
        self.measure = mock.patch.object(limit, "measure", return_value=FAST_MIXED).start()
        mock.patch.object(limit.shutil, "which", return_value="/usr/bin/fio").start()
        self.addCleanup(mock.patch.stopall)
        self.limit = limit.Limit(2**30, 1)

    def rates(self):
        return self.limit.rates(Path("."), 2**20)

    def test_rates_are_measured_anew_when_they_are_old(self):
        self.assertEqual([self.rates(), self.rates()], [FAST_MIXED] * 2)
        self.assertEqual(self.measure.call_count, 1)
        self.clock.return_value += limit.AGE_SECONDS_MAX + 1
        self.rates()
        self.assertEqual(self.measure.call_count, 2)

    def test_rates_of_a_smaller_file_are_not_those_of_a_larger(self):
        by_input = limit.Limit(None, 1)
        for input_bytes in (
            limit.PROBE_BYTES_MIN,
            2 * limit.PROBE_BYTES_MIN,
            2 * limit.PROBE_BYTES_MIN,
        ):
            by_input.rates(Path("."), input_bytes)
        self.assertEqual(
            [call.args[1] // limit.PROBE_BYTES_MIN for call in self.measure.call_args_list], [2, 4]
        )

    def test_a_refusal_is_kept_and_fio_not_asked_again(self):
        self.measure.side_effect = limit.Refused("no direct I/O here")
        self.assertEqual([self.rates(), self.rates()], [None, None])
        self.assertEqual((self.measure.call_count, self.limit.refusal), (1, "no direct I/O here"))
