"""Sorts on clusters of Ray's, which run on this machine: several raylets, really killed.

The few here take about a minute; with XSORT_RAY_LONG=1 (`make test-ray`) every kind of kill meets
every phase. Without Ray all of them are left out.
"""

import glob
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
import xsort

pytest.importorskip("ray")
os.environ.update(
    # Deaths of nodes are noticed in a second or two.
    RAY_health_check_initial_delay_ms="0",
    RAY_health_check_period_ms="500",
    RAY_health_check_timeout_ms="4000",
    RAY_health_check_failure_threshold="3",
    RAY_USAGE_STATS_ENABLED="0",
    # What is killed is killed on purpose.
    RAY_DEDUP_LOGS="0",
)

import ray  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402
from xsort import ray as xr  # noqa: E402
from xsort.ray.driver import cluster_nodes  # noqa: E402
from xsort.ray.program import find_program  # noqa: E402

try:
    from xsort._parquet import file_system
except ImportError:
    file_system = None

try:
    find_program()
except xsort.NotFound:
    pytest.skip("the program is not there", allow_module_level=True)

LONG = os.environ.get("XSORT_RAY_LONG") == "1"
long_only = pytest.mark.skipif(not LONG, reason="make test-ray runs it")
RECORDS = 1_000_000 if LONG else 400_000
PHASES = ["sample", "map", "merge"]


class Nodes:
    """A cluster whose head has no processors, and as many nodes as a test wants."""

    def __init__(self):
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        self.nodes = []
        ray.init(address=self.cluster.address, logging_level="error", log_to_driver=False)

    def have(self, count):
        while len(self.nodes) < count:
            self.nodes.append(self.cluster.add_node(num_cpus=1, object_store_memory=80 << 20))
        while len(self.nodes) > count:
            self.kill()
        self.cluster.wait_for_nodes()
        deadline = time.monotonic() + 30
        while sum(node["Alive"] for node in ray.nodes()) != count + 1:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def kill(self):
        """A machine without power: the raylet, and the workers that would outlive it a moment."""
        node = self.nodes.pop()
        raylet = node.all_processes["raylet"][0].process.pid
        workers = [pid for pid in pids(b"ray::NodeWorker") if parent(pid) == raylet]
        self.cluster.remove_node(node, allow_graceful=False)
        for pid in workers:
            os.kill(pid, signal.SIGKILL)

    def close(self):
        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store of objects, whose address the nodes have in their environment; None without one."""
    program = os.environ.get("XSORT_S3_SERVER")
    if program is None:
        yield None
        return
    folder = tmp_path_factory.mktemp("store")
    arguments = [program, f"directory={folder}", "bucket=bucket"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().strip()
        settings = {"AWS_ENDPOINT_URL": url, "AWS_REGION": "us-east-1"}
        os.environ.update(settings, AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
        yield "s3://bucket"
        server.kill()


@pytest.fixture(scope="module")
def nodes(store):
    nodes = Nodes()
    yield nodes
    nodes.close()


def pids(words):
    """Processes whose command line has these words."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                if words in file.read().replace(b"\0", b" "):
                    found.append(int(path.split("/")[2]))
        except OSError:
            continue
    return found


def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def kill_worker():
    for pid in pids(b"ray::NodeWorker")[:1]:
        os.kill(pid, signal.SIGKILL)


def kill_program():
    """The program, while it works for a node."""
    for pid in pids(b"xsort part m")[:1] or pids(b"xsort-real part m")[:1]:
        os.kill(pid, signal.SIGKILL)


class Once:
    """Calls `act` in the first report of progress in which the phase has got somewhere."""

    def __init__(self, phase, act):
        self.phase, self.act, self.done = phase, act, False

    def __call__(self, progress):
        if not self.done and progress["phase"] == self.phase:
            phase = progress["phases"][self.phase]
            # With so much to do that the job can't end without noticing.
            begun = phase["running"] and (self.phase == "sample" or phase["done"])
            if begun and phase["done"] * 2 <= phase["of"]:
                self.done = True
                self.act()


class Data:
    """Inputs, and what one machine makes of them."""

    def __init__(self, folder, records=RECORDS, patterns=("uniform",) * 3):
        self.folder = folder
        self.inputs = folder / "in"
        self.inputs.mkdir()
        for number, pattern in enumerate(patterns):
            path = self.inputs / f"{number}"
            xsort.generate(records // len(patterns), path, pattern=pattern, seed=number + 1)
        whole = folder / "whole"
        xsort.sort(sorted(self.inputs.iterdir()), whole, memory="1G")
        self.digest = digest([whole])
        whole.unlink()
        self.scratch = folder / "scratch"
        self.scratch.mkdir()

    def sort(self, **options):
        size = {} if "parts" in options else {"part_size": "9MB"}
        arguments = {"memory": "300M", "slice_size": "8MB", **size, **options}
        return xr.sort(
            self.inputs, self.folder / "out", scratch=self.scratch, sync=False, **arguments
        )

    def check(self, job):
        """The same bytes as from one machine, and nothing left anywhere."""
        assert digest(job.parts) == self.digest
        names = sorted(os.listdir(self.folder / "out"))
        assert names == ["_xsort.json", *[os.path.basename(part) for part in job.parts]]
        assert list(self.scratch.iterdir()) == []
        verdict = xr.validate(self.folder / "out", against=self.inputs)
        assert verdict["ok"] and verdict["in_order"] and verdict["against"]["ok"]


def digest(paths):
    digest = hashlib.blake2b()
    for path in paths:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


@pytest.mark.parametrize("count", [1, 2, 4] if LONG else [2])
def test_parts_are_what_one_machine_writes(nodes, tmp_path, count):
    nodes.have(count)
    data = Data(tmp_path)
    job = data.sort()
    data.check(job)
    report = job.report
    assert (report.records, report.nodes) == (RECORDS // 3 * 3, count)
    assert (report.maps, report.merges) == (report.slices, report.parts)
    assert xr.status(job) is None and xr.status() == []


SKEWS = {
    "sixty percent": ["equal"] * 3 + ["uniform"] * 2,
    "all equal": ["equal"] * 3,
    "zipf": ["zipf"] * 3,
}


@pytest.mark.parametrize("skew", SKEWS)
def test_skewed_keys_make_even_parts(nodes, tmp_path, skew):
    nodes.have(2)
    data = Data(tmp_path, patterns=SKEWS[skew])
    job = data.sort(parts=6)
    data.check(job)
    sizes = [os.path.getsize(part) for part in job.parts]
    assert max(sizes) < 1.6 * sum(sizes) / len(sizes), sizes


def test_a_directory_without_files_is_an_error_or_no_input(nodes, tmp_path):
    nodes.have(1)
    data = Data(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    options = {"memory": "300M", "scratch": data.scratch, "part_size": "9MB", "sync": False}
    with pytest.raises(xsort.Unsuitable, match="no file below it"):
        xr.sort([data.inputs, empty], tmp_path / "out", **options)
    data.check(xr.sort([data.inputs, empty], tmp_path / "out", allow_empty=True, **options))


@pytest.mark.parametrize("kill", [False, True])
def test_from_a_store_to_a_store(nodes, store, tmp_path, kill):
    if store is None:
        pytest.skip("XSORT_S3_SERVER is not set")
    nodes.have(2)
    inputs, output = f"{store}/in-{kill}/", f"{store}/out-{kill}"
    for number in range(3):
        xsort.generate(RECORDS // 6, f"{inputs}{number}", seed=number)
    options = {"memory": "400M", "scratch": tmp_path, "slice_size": "4MB", "part_size": "2MB"}
    lost = Once("merge", nodes.kill) if kill else None
    job = xr.sort(inputs, output, state=tmp_path / "state", progress=lost, **options)
    assert job.report.nodes_lost == kill and job.report.records == RECORDS // 6 * 3
    verdict = xr.validate(output, against=inputs)
    assert verdict["ok"] and verdict["in_order"] and verdict["against"]["ok"]
    assert os.listdir(tmp_path) == ["state"] and os.listdir(tmp_path / "state") == []
    if not kill:
        # The same job may be done again; another one doesn't replace what it made.
        xr.sort(inputs, output, state=tmp_path / "state", **options)
        xsort.generate(500, f"{inputs}9", seed=9)
        with pytest.raises(xsort.Unsuitable, match="parts of another job"):
            xr.sort(inputs, output, state=tmp_path / "state", **options)


TEXTS = {
    "lines": ("lines", {"lines": "-t, -k2,2n"}),
    "table": ("table", {"by": ["#2:int:desc", "#1"], "format": "csv"}),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_text_is_what_one_machine_writes(nodes, tmp_path, kind):
    nodes.have(2)
    inputs = tmp_path / "in"
    inputs.mkdir()
    command, words = TEXTS[kind]
    for number in range(3):
        rows = (f"{row * 7919 % 10007},{row * row % 97}\n" for row in range(100_000))
        (inputs / f"{number}.csv").write_text("name,count\n" * (kind == "table") + "".join(rows))
    job = xr.sort(inputs, tmp_path / "out", parts=5, slice_size="500KB", memory="300M", **words)
    files = sorted(map(str, inputs.iterdir()))
    whole = str(tmp_path / "whole")
    if kind == "lines":
        xsort.sort_lines(files, whole, key=words["lines"])
    else:
        xsort.sort_table(files, whole, by=words["by"], format="csv")
    parts = [open(part, "rb").read() for part in job.parts]
    if kind == "table":
        header = b"name,count\n"
        assert all(part.startswith(header) for part in parts)
        parts = [header, *(part.removeprefix(header) for part in parts)]
    assert b"".join(parts) == open(whole, "rb").read()
    assert xr.validate(tmp_path / "out")["ok"]


def test_prefixed_records_are_what_one_machine_writes(nodes, tmp_path):
    nodes.have(2)
    inputs = tmp_path / "in"
    inputs.mkdir()
    chosen = random.Random(7)
    for number in range(4):
        bodies = [chosen.randbytes(chosen.randrange(3, 60)) for _ in range(20_000)]
        records = (len(body).to_bytes(4, "little") + body for body in bodies)
        (inputs / f"{number}").write_bytes(b"".join(records))
    form = {"record": "prefixed:u32le", "key": ["0:2:desc"]}
    job = xr.sort(inputs, tmp_path / "out", parts=5, slice_size="500KB", memory="300M", **form)
    xsort.sort(sorted(inputs.iterdir()), tmp_path / "whole", **form)
    assert job.report.records == 80_000 and job.report.slices == 4
    assert digest(job.parts) == digest([tmp_path / "whole"])
    assert xr.validate(tmp_path / "out")["ok"]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("place", ["directory", "store"])
def test_parquet_is_what_one_machine_makes(nodes, store, tmp_path, place, count):
    """With two nodes one is lost in the middle of the merge."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    if place == "store" and store is None:
        pytest.skip("XSORT_S3_SERVER is not set")
    if not LONG and (place, count) != ("directory", 2):
        pytest.skip("make test-ray runs it")
    nodes.have(count)
    where = str(tmp_path) if place == "directory" else f"{store}/parquet-{count}"
    system, folder = file_system(where)
    (tmp_path / "in").mkdir()
    tables = []
    for number in range(3):
        rows = range(number * 100_000, number * 100_000 + 100_000)
        columns = {"count": [row * row % 97 for row in rows], "row": list(rows)}
        tables.append(pa.table({**columns, "name": [f"{row * 7919 % 10007}" for row in rows]}))
        path = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(tables[-1], path, row_group_size=20_000)
        if place == "store":
            # The server doesn't know how Arrow sends parts.
            url = f"{os.environ['AWS_ENDPOINT_URL']}/{folder}/in/{number}.parquet"
            put = urllib.request.Request(url, path.read_bytes(), method="PUT")
            urllib.request.urlopen(put).close()
    by, lost = ["count:desc", "name"], Once("merge", nodes.kill) if count == 2 else None
    job = xr.sort(
        f"{where}/in/", f"{where}/out", by=by, format="parquet", parts=5, slice_size="300KB",
        memory="400M", scratch=tmp_path, state=tmp_path / "state", progress=lost,
    )  # fmt: skip
    assert job.report.records == 300_000 and job.report.nodes_lost == (count == 2)
    assert all(part.endswith(".parquet") for part in job.parts)
    parts = [pq.read_table(file_system(part)[1], filesystem=system) for part in job.parts]
    assert min(len(part) for part in parts) > 20_000
    whole = pa.table(xsort.sorted_batches(pa.concat_tables(tables), by=by))
    assert pa.concat_tables(parts).equals(whole)
    assert xr.validate(f"{where}/out")["ok"]


def test_few_records_one_part_and_no_records(nodes, tmp_path):
    nodes.have(2)
    for name, records, parts in [("few", 30, 8), ("one", RECORDS // 4, 1), ("none", 0, 3)]:
        folder = tmp_path / name
        folder.mkdir()
        data = Data(folder, records)
        job = data.sort(parts=parts)
        assert len(job.parts) == parts
        data.check(job)


KILLS = {"node": None, "worker": kill_worker, "program": kill_program}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("what", KILLS)
def test_kills_cost_only_what_they_hit(nodes, tmp_path, what, phase):
    quick = {("node", "merge"), ("worker", "map")}
    if not LONG and (what, phase) not in quick:
        pytest.skip("make test-ray runs it")
    if (what, phase) == ("program", "sample"):
        pytest.skip("samples are too short to meet")
    nodes.have(2)
    data = Data(tmp_path)
    kill = Once(phase, nodes.kill if what == "node" else KILLS[what])
    size = "6MB" if LONG else "2MB"
    job = data.sort(progress=kill, slice_size=size, part_size=size)
    assert kill.done
    data.check(job)
    report = job.report
    assert report.nodes_lost == (what == "node") and report.restarts <= (what == "worker")
    # A lost node takes its slices along, and parts that are written stay.
    assert report.maps <= report.slices * (2 if what == "node" else 1) + 2
    assert report.merges <= report.parts + 4
    if phase == "sample":
        assert report.maps == report.slices


@long_only
def test_a_node_is_lost_before_ray_says_so(nodes, tmp_path, monkeypatch):
    nodes.have(2)
    known = {}

    def never_dead():
        known.update(cluster_nodes())
        return dict(known)

    monkeypatch.setattr("xsort.ray.driver.cluster_nodes", never_dead)
    data = Data(tmp_path)
    kill = Once("map", nodes.kill)
    job = data.sort(progress=kill)
    assert kill.done and job.report.nodes_lost == 1
    data.check(job)


class AtRandom(Once):
    """Calls `act` when a share of the phase is done that chance has chosen."""

    def __init__(self, phase, act, chosen):
        super().__init__(phase, act)
        self.share = chosen.random() * 0.9

    def __call__(self, progress):
        if not self.done and progress["phase"] == self.phase:
            phase = progress["phases"][self.phase]
            if phase["running"] and phase["done"] >= self.share * phase["of"]:
                self.done = True
                self.act()


KILLS_EACH = int(os.environ.get("XSORT_RAY_KILLS", "0"))


@pytest.mark.skipif(not KILLS_EACH, reason="XSORT_RAY_KILLS=20 runs it")
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("what", KILLS)
def test_many_kills_at_random_moments(nodes, tmp_path, what, phase):
    """So many kills of each kind in each phase, a job for each."""
    if (what, phase) == ("program", "sample"):
        pytest.skip("samples are too short to meet")
    seed = int(os.environ.get("XSORT_SEED", "0")) or random.getrandbits(32)
    print(f"XSORT_SEED={seed}")
    chosen, data, jobs, kills = random.Random(seed), Data(tmp_path), 0, 0
    while kills < KILLS_EACH:
        nodes.have(2)
        kill = AtRandom(phase, nodes.kill if what == "node" else KILLS[what], chosen)
        job = data.sort(progress=kill, slice_size="3MB", part_size="3MB")
        data.check(job)
        shutil.rmtree(data.folder / "out")
        jobs, kills = jobs + 1, kills + kill.done
        # A phase may be over before its moment was seen.
        assert jobs < 3 * KILLS_EACH + 5
    print(f"{kills} kills in {jobs} jobs")


def test_a_node_that_joins_takes_part(nodes, tmp_path):
    nodes.have(1)
    data = Data(tmp_path)
    job = data.sort(progress=Once("map", lambda: nodes.have(2)))
    data.check(job)
    assert job.report.nodes == 2


def driver(data, **options):
    """A driver in a process of its own."""
    code = (
        "import sys, ray\n"
        "from xsort import ray as xr\n"
        f"xr.sort({str(data.inputs)!r}, {str(data.folder / 'out')!r}, address='auto', "
        f"scratch={str(data.scratch)!r}, memory='300M', slice_size='4MB', part_size='5MB', "
        f"sync=False, **{options!r})"
    )
    environment = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    return subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE)


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this takes too long"
        time.sleep(0.05)


def has_begun(phase):
    def begun():
        jobs = xr.status()
        return bool(jobs) and jobs[0].get("phase") == phase and jobs[0]["phases"][phase]["done"] > 1

    return begun


@pytest.mark.parametrize("phase", ["map", "merge"] if LONG else ["merge"])
def test_a_killed_driver_is_resumed(nodes, tmp_path, phase):
    nodes.have(2)
    data = Data(tmp_path)
    process = driver(data, resume=True)
    wait_for(has_begun(phase))
    process.kill()
    process.communicate()
    # The actors end with their job, and their children with them.
    wait_for(lambda: not pids(b"ray::NodeWorker") and not pids(str(data.scratch).encode()))
    assert list(data.scratch.iterdir()), "what was done is still there"
    job = data.sort(slice_size="4MB", part_size="5MB", resume=True)
    data.check(job)
    if phase == "merge":
        assert job.report.parts_found > 0 and job.report.merges < job.report.parts


def test_an_interrupted_driver_leaves_nothing(nodes, tmp_path):
    nodes.have(2)
    data = Data(tmp_path)
    process = driver(data)
    wait_for(has_begun("map"))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in errors
    assert list(data.scratch.iterdir()) == [] and os.listdir(data.folder / "out") == []
    wait_for(lambda: not pids(b"ray::NodeWorker"))


def test_what_killed_jobs_left_is_cleaned(nodes, tmp_path):
    nodes.have(2)
    data = Data(tmp_path)
    process = driver(data)
    wait_for(has_begun("map"))
    process.kill()
    process.communicate()
    wait_for(lambda: not pids(b"ray::NodeWorker") and xr.status() == [])
    removed = xr.clean(data.folder / "out", scratch=data.scratch)
    assert removed and list(data.scratch.iterdir()) == [] and os.listdir(data.folder / "out") == []


def test_what_cannot_be_is_said(nodes, tmp_path):
    nodes.have(1)
    data = Data(tmp_path, records=3000)
    with pytest.raises(xsort.Unsuitable, match="no multiple"):
        data.sort(record=7)
    with pytest.raises(xsort.Unsuitable, match="contradict"):
        xr.sort(data.inputs, tmp_path / "out", lines=[], by="a")
    with pytest.raises(xsort.Unsuitable, match="contradict"):
        data.sort(parts=3, part_size="9MB")
    job = data.sort()
    xsort.generate(500, data.inputs / "9", seed=9)
    with pytest.raises(xsort.Unsuitable, match="parts of another job"):
        data.sort()
    assert digest(job.parts) == data.digest


def test_an_input_that_changes_ends_the_job(nodes, tmp_path):
    nodes.have(2)
    data = Data(tmp_path)

    def change():
        with open(sorted(data.inputs.iterdir())[-1], "ab") as file:
            file.write(bytes(100))

    with pytest.raises(xsort.Error, match="has changed since"):
        data.sort(progress=Once("sample", change))
    assert list(data.scratch.iterdir()) == []
