"""xsort.sort_array beside NumPy, in turns, each in a process of its own: seconds and peak memory.

usage: python bench/python/arrays.py [RECORDS] [ROUNDS]
The package is what `import xsort` finds. One line a contest: the medians and their ratio.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time

CONTESTS = ["records", "records-in-place", "records-order", "int64", "float64", "int64-order"]


def make(contest, count):
    import numpy as np

    random = np.random.default_rng(1)
    if contest.startswith("records"):
        a = np.empty(count, [("key", "S10"), ("rest", "V90")])
        a.view("u1")[:] = 0
        a["key"] = np.frombuffer(random.bytes(10 * count), "S10")
        return a
    if contest.startswith("int64"):
        return random.integers(-(1 << 62), 1 << 62, count)
    return random.standard_normal(count)


def by_numpy(contest, a):
    import numpy as np

    if contest == "records":
        return a[np.argsort(a["key"], kind="stable")]
    if contest == "records-in-place":
        a[:] = a[np.argsort(a["key"], kind="stable")]
        return a
    if contest == "records-order":
        return np.argsort(a["key"], kind="stable")
    return np.argsort(a, kind="stable") if contest.endswith("order") else np.sort(a)


def by_xsort(contest, a):
    import xsort

    key = "key" if contest.startswith("records") else None
    if contest == "records-in-place":
        return xsort.sort_array(a, key, out=a)
    return xsort.sort_array(a, key, argsort=contest.endswith("order"))


def run(who, contest, count):
    """One run: seconds, bytes of memory beyond those of the array, and a sum of the result."""
    import numpy  # noqa: F401

    if who == "xsort":
        import xsort  # noqa: F401
    a = make(contest, count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    got = (by_numpy if who == "numpy" else by_xsort)(contest, a)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps([seconds, 1024 * peak, hash(got[:: max(1, count // 1000)].tobytes())]))


def main(count=2_000_000, rounds=3):
    print("contest            numpy s  xsort s  ratio  numpy MB  xsort MB")
    for contest in CONTESTS:
        runs = {"numpy": [], "xsort": []}
        for _ in range(rounds):
            for who, made in runs.items():
                command = [sys.executable, __file__, who, contest, str(count)]
                env = os.environ | {"PYTHONHASHSEED": "0"}
                made.append(json.loads(subprocess.check_output(command, env=env)))
        sums = {run[2] for made in runs.values() for run in made}
        assert len(sums) == 1, f"{contest}: the results differ"
        seconds = [statistics.median(run[0] for run in made) for made in runs.values()]
        memory = [max(run[1] for run in made) / 1e6 for made in runs.values()]
        ratio = seconds[0] / seconds[1]
        line = f"{contest:18} {seconds[0]:7.2f}  {seconds[1]:7.2f}  {ratio:5.1f}"
        print(f"{line}  {memory[0]:8.0f}  {memory[1]:8.0f}", flush=True)


if sys.argv[1:2] in (["numpy"], ["xsort"]):
    run(sys.argv[1], sys.argv[2], int(sys.argv[3]))
else:
    main(*map(int, sys.argv[1:]))
