"""Versions in shared memory: one process writes them, any number read the newest in place.

Neither waits for the other. A `Writer` publishes bytes, and `Reader.read` gives a memoryview on
them, which holds its version for as long as it lives.
"""

from ._xsort import Reader, Writer

__all__ = ["Reader", "Writer"]
