"""What a read from shared memory costs, in nanoseconds: the medians of several rounds.

usage: python bench/python/shm.py
"""

import tempfile
import timeit

import xsort

COUNT, ROUNDS = 200_000, 9


def nanoseconds(statement, **names):
    rounds = timeit.repeat(statement, globals=names, number=COUNT, repeat=ROUNDS)
    return sorted(rounds)[ROUNDS // 2] / COUNT * 1e9


with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    with xsort.shm.Writer(folder + "/x") as writer:
        writer.write(bytes(4096))
        reader = xsort.shm.Reader(folder + "/x")
        data = bytes(4096)
        names = {"reader": reader, "writer": writer, "data": data}
        for statement in [
            "memoryview(data)",
            "reader.version",
            "reader.read()",
            "writer.write(data)",
            "writer.write(data); reader.read()",
        ]:
            print(f"{statement:36} {nanoseconds(statement, **names):6.0f}")
