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
        print(f"memoryview(bytes)      {nanoseconds('memoryview(data)', data=data):6.0f}")
        print(f"reader.version         {nanoseconds('reader.version', reader=reader):6.0f}")
        print(f"reader.read()          {nanoseconds('reader.read()', reader=reader):6.0f}")
        print(f"writer.write(4 KiB)    {nanoseconds('writer.write(data)', writer=writer, data=data):6.0f}")
        both = "writer.write(data); reader.read()"
        print(f"write, then read       {nanoseconds(both, writer=writer, reader=reader, data=data):6.0f}")
