"""What several tests need."""

import os
import signal

import pytest
import xsort

# A shell starts what runs in the background with SIGINT ignored, and then Python leaves it so, here
# and in the processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def records(tmp_path):
    """A file of a hundred thousand records."""
    path = tmp_path / "data"
    xsort.generate(100_000, path)
    return path


def many(default: int, variable: str) -> int:
    """How often a random test runs."""
    return int(os.environ.get(variable, default))
