"""Rows as a topic makes them, for the tests."""

RATES = {"read": 1e9, "write": 2e9, "mixed": 2e9, "configurations": ()}


def sort_row(label, seconds, round=1, **others):
    """A sort of 1 GB by xsort, unless told otherwise."""
    row = {
        "task": "sort",
        "label": label,
        "contender": "xsort",
        "is_baseline": False,
        "memory_bytes": 2**29,
        "round": round,
        "case": "gensort",
        "bytes": 10**9,
        "records": 10**7,
        "rates": RATES,
        "seconds": seconds,
        "user_seconds": 0.75,
        "system_seconds": 0.25,
        "peak_bytes": 2**29,
        "read_bytes": 2 * 10**9,
        "written_bytes": 2 * 10**9,
        "spilled_bytes": 10**9,
        "failure": None,
    }
    return row | others


def failed_row(label, failure, **others):
    """A sort that was tried and failed."""
    return sort_row(label, 1.0, failure=failure, **others)


def environment(**others):
    return {
        "date": "2026-11-21",
        "cpu": "Processor",
        "cores": 2,
        "memory_bytes": 24 * 2**30,
        "kernel": "Linux 6.18",
        "rounds": 1,
        "caches_dropped": True,
        "fio_refusal": None,
        "is_complete": True,
    } | others
