"""What several tests need."""

import os

import pytest
import xsort


@pytest.fixture
def records(tmp_path):
    """A file of a hundred thousand records."""
    path = tmp_path / "data"
    xsort.generate(100_000, path)
    return path


def many(default: int, variable: str) -> int:
    """How often a random test runs."""
    return int(os.environ.get(variable, default))
