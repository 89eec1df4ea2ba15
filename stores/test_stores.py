"""xsort on stores that others wrote. Each test runs on each of them.

What comes out is compared with what Python's own sort makes of what a client that isn't ours reads.
That parts are cut, lost or late is not tried here but in `crates/objects/tests`.
"""

from concurrent.futures import ThreadPoolExecutor
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from servers import BUCKET, FILES, KEY_ID, SECRET, Moto, S3sFs, stop_on_signals

MIB = 1 << 20
RECORD = 100
JOB_SECONDS_MAX = 300
# Letters that URLs, signatures, XML or patterns have for something else.
ODD_KEYS = [
    "odd/a b",
    "odd/a+b",
    "odd/100%",
    "odd/a%20b",
    "odd/%2F",
    "odd/ü/é ß",
    "odd/日本語",
    "odd/😀",
    "odd/a&b=c?d#e",
    "odd/<'\"> ;:@$,!~()|^`{}",
    "odd/x]y",
    "odd/.hidden",
    "odd/back\\slash",
]
# What a store may have as keys, and a tree of files can't.
SLASHED_KEYS = ["odd/a//b", "odd//c"]


def setUpModule():
    stop_on_signals()
    shutil.rmtree(FILES, ignore_errors=True)


def tearDownModule():
    shutil.rmtree(FILES, ignore_errors=True)


def url(key=""):
    return f"s3://{BUCKET}/{key}"


def sorted_records(content, size=RECORD, key=slice(0, 10)):
    records = [content[at : at + size] for at in range(0, len(content), size)]
    return b"".join(sorted(records, key=lambda record: record[key]))


class Stores:
    """The tests; `server_class` says of what."""

    server_class = None

    @classmethod
    def setUpClass(cls):
        cls.server = cls.server_class()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.server.remove()
        self.server.abort_uploads()
        self.folder = self.server.files / "jobs"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.jobs = []
        self.addCleanup(self.end_jobs)

    def end_jobs(self):
        for job in self.jobs:
            if job.poll() is None:
                job.kill()
            job.communicate()

    def start(self, line, **variables):
        """Starts xsort with arguments, a text of words without spaces or a list."""
        arguments = line.split() if isinstance(line, str) else line
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment |= {
            "AWS_ENDPOINT_URL": self.server.endpoint,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
            "XSORT_STATUS_DIR": str(self.folder / "status"),
        }
        job = subprocess.Popen(
            [os.environ["XSORT_PROGRAM"], *arguments],
            cwd=self.folder,
            env=environment | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.jobs.append(job)
        return job

    def run_job(self, line, **variables):
        """Its exit status, and what it prints."""
        job = self.start(line, **variables)
        output, errors = job.communicate(timeout=JOB_SECONDS_MAX)
        return job.returncode, output, errors

    def ok(self, line):
        code, output, errors = self.run_job(line)
        self.assertEqual(code, 0, f"{line}: {errors}")
        return output

    def fails(self, line, reason, **variables):
        code, _, errors = self.run_job(line, **variables)
        self.assertNotIn(code, (0, 1) if "verify" not in line else (0,), line)
        self.assertGreater(code, 0, f"{line}: ended by a signal")
        self.assertRegex(errors, reason, line)

    def assert_content(self, key, expected):
        """Not `assertEqual`, which would print megabytes."""
        content = self.server.get(key)
        self.assertEqual(len(content), len(expected), key)
        self.assertTrue(content == expected, f"{key} has other bytes")

    def assert_no_uploads(self):
        self.assertEqual(self.server.parts_under_way(), {})
        if not self.server.lists_no_uploads:
            self.assertIn("no upload is under way", self.ok(["status", url()]))

    def uploading(self, line):
        """A job that has sent two parts of its output, and more are to come."""
        job = self.start(line)
        while max(self.server.parts_under_way().values(), default=0) < 2:
            self.assertIsNone(job.poll(), f"it has ended already: {line}")
            time.sleep(0.01)
        return job

    # Data.

    def test_records_that_exceed_the_memory(self):
        self.ok(f"gen -q -m 200M 200MB {url('in')}")
        content = self.server.get("in")
        self.assertEqual(len(content), 200_000_000)
        options = "-q -m 64M -j 2 -T . --s3-part-size 5M"
        self.ok(f"sort {options} {url('in')} -o {url('out')}")
        self.assert_content("out", sorted_records(content))
        # As many parts as the tag says.
        self.assertEqual(self.server.tag("out").split("-")[1], str(-(-200_000_000 // (5 * MIB))))
        self.ok(f"verify -q {url('out')} --against {url('in')}")
        code, output, _ = self.run_job(f"verify {url('in')}")
        self.assertEqual(code, 1, output)
        self.assert_no_uploads()

    def test_an_output_that_is_the_input_by_the_other_method(self):
        # Scatter takes a thousand samples, and moto reads the whole object for each.
        self.ok(f"gen -q 60MB {url('in')}")
        content = self.server.get("in")
        options = "-q -m 64M -j 1 -T . --s3-part-size 5M --method scatter"
        self.ok(f"sort {options} {url('in')} -o {url('in')}")
        self.assert_content("in", sorted_records(content))
        self.assert_no_uploads()

    def test_sizes_around_those_of_parts(self):
        part = 5 * MIB
        for size in (0, 16, part - 16, part, part + 16, 2 * part, 3 * part + 4096, 3 * part - 16):
            content = random.Random(size).randbytes(size)
            self.server.put("in", content)
            line = f"sort -q --record 16 --key 0:8:u64be -m 100M -j 2 --s3-part-size {part}"
            self.ok(f"{line} {url('in')} -o {url('out')}")
            expected = sorted_records(content, 16, slice(0, 8))
            with self.subTest(size=size):
                self.assert_content("out", expected)
                self.ok(f"{line} {url('in')} -o file")
                self.assertTrue((self.folder / "file").read_bytes() == expected)
        self.assert_no_uploads()

    def test_what_gen_makes_is_as_long_as_asked(self):
        for size in (0, 5 * MIB, 17 * MIB + 4096):
            self.ok(f"gen -q -f block4k {size} {url('blocks')} --s3-part-size 5M")
            self.assertEqual(self.server.keys(), {"blocks": size})
            self.ok(f"gen -q -f block4k {size} blocks")
            self.assert_content("blocks", (self.folder / "blocks").read_bytes())

    def test_lines(self):
        numbers = [str(number * 7919 % 2_000_003) for number in range(1_500_000)]
        self.server.put("text", "\n".join(numbers).encode())
        text = "".join(number + "\n" for number in sorted(numbers, key=int))
        self.ok(f"lines -n -S 80M --parallel=2 -T . {url('text')} -o {url('lines')}")
        self.assert_content("lines", text.encode())
        self.assertTrue(self.ok(f"lines -m -n {url('lines')}") == text)
        self.ok(f"lines -c -n {url('lines')}")
        self.assertEqual(self.run_job(f"lines -C -n {url('text')}")[0], 1)
        self.server.put("packed.gz", gzip.compress("\n".join(numbers).encode()))
        self.ok(f"lines -n --decompress {url('packed.gz')} -o {url('lines')}")
        self.assert_content("lines", text.encode())
        self.assert_no_uploads()

    def test_tables(self):
        rows = [(number * 7919 % 200_003, f"name {number % 977}") for number in range(200_000)]
        table = [f'{number},"{name}, x"\n' for number, name in rows]
        half = len(table) // 2
        self.server.put("t/a.csv", ("id,name\n" + "".join(table[:half])).encode())
        self.server.put("t/b.csv.gz", gzip.compress(("id,name\n" + "".join(table[half:])).encode()))
        inputs = f"{url('t/a.csv')} {url('t/b.csv.gz')}"
        self.ok(f"table -q {inputs} --by id:int -o {url('out.csv')}")
        by_id = sorted(table, key=lambda row: int(row.split(",")[0]))
        self.assert_content("out.csv", ("id,name\n" + "".join(by_id)).encode())
        self.ok(f"table -q {inputs} --by name,id:int:desc -o {url('out.csv.gz')}")
        order = sorted(rows, key=lambda row: (row[1] + ", x", -row[0]))
        expected = "id,name\n" + "".join(f'{number},"{name}, x"\n' for number, name in order)
        self.assertTrue(gzip.decompress(self.server.get("out.csv.gz")).decode() == expected)
        self.assert_no_uploads()

    # Names.

    def test_keys_with_odd_letters(self):
        keys = ODD_KEYS + ([] if self.server.takes_few_keys else SLASHED_KEYS)
        for number, key in enumerate(keys):
            with self.subTest(key=key):
                self.server.put(key, f"{number}\n{number * 7}\n1\n".encode())
                # A `?` and a `*` would be a pattern.
                if "?" in key:
                    continue
                self.ok(["lines", url(key), "-o", url("new/" + key)])
                expected = sorted([str(number), str(number * 7), "1"])
                self.assert_content("new/" + key, "".join(f"{it}\n" for it in expected).encode())
                self.ok(["lines", "-c", url("new/" + key)])
                size = self.server.keys(key)[key]
                self.assertEqual(self.ok(["du", "-b", url(key)]), f"{size}\t{url(key)}\n")
        # All of them by their prefix.
        self.ok(["lines", "-n", "--recursive", url("odd/"), "-o", url("all")])
        numbers = [n for number in range(len(keys)) for n in (number, number * 7, 1)]
        self.assert_content("all", "".join(f"{n}\n" for n in sorted(numbers)).encode())

    def test_prefixes_and_patterns(self):
        names = ["logs/1-a.txt", "logs/1-b.txt", "logs/2-a.txt", "logs/sub/1-c.txt", "logs-1.txt"]
        for name in names:
            self.server.put(name, name.encode() + b"\n")
        self.server.put("logs/", b"")
        for given, expected in [
            ("logs/", names[:4]),
            ("logs", names[:4]),
            ("logs/1-*.txt", names[:2]),
            ("logs/?-a.txt", [names[0], names[2]]),
            # No star goes beyond a slash.
            ("l*1*.txt", [names[4]]),
        ]:
            if given == "logs" and self.server.fails_at_directories:
                continue
            with self.subTest(given=given):
                output = self.ok(["lines", "--recursive", url(given)]).split()
                self.assertEqual(output, sorted(expected))
        self.fails(["lines", url("none-*"), "-o", "out"], "none-")

    def test_more_objects_than_a_page_of_a_list_has(self):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: self.server.put(f"many/{n:04}", b"%d\n" % n), range(1203)))
        text = self.ok(["lines", "-n", "--recursive", url("many/")])
        self.assertEqual(text, "".join(f"{number}\n" for number in range(1203)))
        self.assertTrue(self.ok(["du", "--inodes", "-s", url("many")]).startswith("1203\t"))

    def test_du_counts_what_is_there(self):
        for key, size in [("a/1", 1000), ("a/b/2", 3000), ("a-b", 7), ("ab/x", 5)]:
            self.server.put(key, bytes(size))
        printed = self.ok(["du", "-ab", url()]).replace(url(), "")
        expected = "1000\ta/1\n3000\ta/b/2\n3000\ta/b\n4000\ta\n7\ta-b\n5\tab/x\n5\tab\n4012\t\n"
        self.assertEqual(sorted(printed.split("\n")), sorted(expected.split("\n")))
        self.assertEqual(self.ok(["du", "-sb", url("a")]), f"4000\t{url('a')}\n")
        year = time.strftime("%Y", time.gmtime())
        self.assertTrue(self.ok(["du", "-s", "--time", url("a")]).split("\t")[1].startswith(year))
        code, _, errors = self.run_job(["du", url("none")])
        self.assertEqual((code, "there is no such object" in errors), (1, True), errors)

    # What goes wrong.

    def test_what_is_not_there_is_said(self):
        self.ok(f"gen -q 100000 {url('in')}")
        self.fails(f"sort {url('none')} -o out", "there is no such object")
        self.fails(f"verify {url('none')}", "there is no such object")
        missing = "there is no such (bucket|object)"
        self.fails("sort s3://no-such-bucket/in -o out", missing)
        self.fails("sort s3://no-such-bucket/ -o out", missing)
        if not self.server.makes_missing_buckets:
            self.fails(f"sort {url('in')} -o s3://no-such-bucket/out", missing)
            self.fails("gen 60MB s3://no-such-bucket/out", missing)
            self.fails("status s3://no-such-bucket/", missing)

    def test_wrong_credentials_are_said(self):
        if self.server.checks_no_credentials:
            self.skipTest(self.server.checks_no_credentials)
        self.ok(f"gen -q 100000 {url('in')}")
        self.ok("gen -q 20000000 in")
        for variables in ({"AWS_SECRET_ACCESS_KEY": "wrong"}, {"AWS_ACCESS_KEY_ID": "stranger"}):
            for line in (
                f"sort {url('in')} -o out",
                f"sort in -o {url('out')}",
                f"verify {url('in')}",
                f"sort {url()} -o out",
            ):
                self.fails(line, "denies access.*credentials from the environment", **variables)
        self.assertEqual(list(self.server.keys()), ["in"])

    def test_a_sort_that_fails_leaves_the_old_object(self):
        self.server.put("old", b"old")
        self.server.put("short", bytes(12_000_050))
        self.fails(f"sort {url('short')} -o {url('old')}", "no multiple of the record's")
        self.assert_content("old", b"old")
        self.assert_no_uploads()

    def test_inputs_are_removed_once_the_output_is_there(self):
        content = {}
        for name in ("in/a", "in/b"):
            self.ok(f"gen -q 6000000 --seed {len(name) + len(content)} {url(name)}")
            content[name] = self.server.get(name)
        self.ok(f"sort -q --remove-input {url('in/')} -o {url('out')}")
        self.assertEqual(list(self.server.keys()), ["out"])
        self.assert_content("out", sorted_records(content["in/a"] + content["in/b"]))

    # What is ended.

    def test_a_signal_leaves_no_upload(self):
        self.ok("gen -q 60MB in")
        limits = "--bandwidth-limit 8M --s3-part-size 5M"
        for number in (signal.SIGINT, signal.SIGTERM):
            for line in (f"sort -q -j 2 -m 200M in -o {url('out')} {limits}",
                         f"lines --parallel=2 -S 200M in -o {url('out')} {limits}"):
                with self.subTest(signal=number, line=line):
                    job = self.uploading(line)
                    job.send_signal(number)
                    _, errors = job.communicate(timeout=JOB_SECONDS_MAX)
                    self.assertEqual(abs(job.returncode) % 128, number, errors)
                    self.assert_no_uploads()
                    self.assertEqual(self.server.keys(), {})

    def test_an_upload_of_a_killed_job_is_shown_and_cleared(self):
        self.ok("gen -q 60MB in")
        line = f"sort -q -j 2 -m 200M in -o {url('dir/out')} --bandwidth-limit 30M"
        for clears in (["status", "--clear"], ["status", "--clear", url("dir/")]):
            job = self.uploading(line + " --s3-part-size 5M")
            running = json.loads(self.ok(["status", "--json"]))["jobs"]
            self.assertEqual([one["state"] for one in running], ["running"])
            if not self.server.lists_no_uploads:
                self.assertIn("which runs", self.ok(["status", url()]))
            # It isn't cleared while its job lives.
            self.ok(["status", "--clear"])
            self.assertEqual(len(self.server.parts_under_way()), 1)
            job.kill()
            job.wait()
            self.assertEqual(len(self.server.parts_under_way()), 1)
            if self.server.lists_no_uploads:
                self.fails(["status", url()], "the store refuses: 501")
                clears = clears[:2]
            else:
                text = f"by job {job.pid}, which was killed"
                self.assertIn(text, self.ok(["status", url("dir/")]))
                self.assertIn("no upload", self.ok(["status", url("other/")]))
            self.ok(clears)
            self.assert_no_uploads()
            self.assertEqual(self.server.keys(), {})
            self.ok(["status", "--clear"])

    def test_a_killed_sort_goes_on(self):
        self.ok(f"gen -q 60MB {url('in')}")
        expected = sorted_records(self.server.get("in"))
        line = f"sort -q -j 2 -m 64M -T . {url('in')} -o {url('out')} --s3-part-size 5M"
        for number in (signal.SIGKILL, signal.SIGINT):
            self.server.remove("out")
            job = self.uploading(f"{line} --checkpoint --bandwidth-limit 25M")
            # So that the journal knows of parts.
            time.sleep(1.2)
            job.send_signal(number)
            job.communicate()
            self.assertNotEqual(job.returncode, 0)
            (upload, parts), = self.server.parts_under_way().items()
            # After SIGINT its job is over, and says nothing of it; its journal does.
            if not self.server.lists_no_uploads:
                self.assertIn("--resume goes on with it", self.ok(["status", url(), "-T", "."]))
            # It may be gone on with, so it stays.
            self.ok(["status", "--clear"])
            self.assertEqual(self.server.parts_under_way(), {upload: parts})
            self.ok(f"{line} --resume")
            self.assert_content("out", expected)
            self.assert_no_uploads()

    def test_a_sort_goes_on_whose_upload_is_gone(self):
        if self.server.lists_no_uploads:
            self.skipTest(self.server.lists_no_uploads)
        self.ok(f"gen -q 60MB {url('in')}")
        line = f"sort -q -j 2 -m 64M -T . {url('in')} -o {url('out')} --s3-part-size 5M"
        job = self.uploading(f"{line} --checkpoint --bandwidth-limit 25M")
        job.kill()
        job.wait()
        (upload,) = self.server.parts_under_way()
        self.server.client.abort_multipart_upload(Bucket=BUCKET, Key="out", UploadId=upload)
        self.ok(f"{line} --resume")
        self.assert_content("out", sorted_records(self.server.get("in")))
        self.assert_no_uploads()


class OnMoto(Stores, unittest.TestCase):
    server_class = Moto


class OnS3sFs(Stores, unittest.TestCase):
    server_class = S3sFs


if __name__ == "__main__":
    unittest.main()
