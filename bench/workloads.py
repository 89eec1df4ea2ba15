"""What is sorted, and in how much memory: the topics of the benchmark.

A topic is a list of cases. A case is one input, which is made anew in every round; its entries are the programs that sort it, one
after the other. One entry of a topic is the baseline with which all others are compared, per byte, so that cases of
different sizes can stand in one table.
"""

from dataclasses import dataclass, replace
import re

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
TOPICS = ("rivals", "budgets", "patterns", "growth")
BUDGETS = ("64M", "256M", "1G", "4G", "all")
PATTERNS = ("equal", "sorted", "reversed", "heavy")
GROWTH_EIGHTHS = (1, 2, 4, 8, 16, 32)


def parse_size(text):
    """Bytes of a size as xsort takes it: 8GB is decimal, 1G and 1GiB are binary."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(iB|B)?", text)
    if not match:
        raise ValueError(f"{text!r} is no size; write 8GB, 512M or 1GiB")
    number, unit, suffix = match.groups()
    return int(float(number) * UNITS[unit + ("B" if suffix == "B" and unit else "")])


@dataclass(frozen=True)
class Entry:
    """One program with its memory and threads."""

    contender: str
    memory_bytes: int
    threads: int
    label: str
    is_baseline: bool = False


@dataclass(frozen=True)
class Case:
    """One input and those who sort it."""

    format: str
    bytes: int
    label: str
    gen: tuple
    entries: tuple


def topic_cases(topic, size, memory, threads, memory_all, contenders):
    """The cases of a topic, for inputs of `size` bytes and a budget of `memory` bytes; `memory_all` stands for the budget "all"."""
    if topic == "rivals":
        entries = tuple(Entry(name, memory, threads, name, name == "xsort") for name in contenders)
        return [Case("gensort-ascii", size, "gensort-ascii", (), entries)]
    if topic == "budgets":
        sizes = {name: memory_all if name == "all" else parse_size(name) for name in BUDGETS}
        entries = tuple(Entry("xsort", bytes, threads, f"-m {name}", name == "1G") for name, bytes in sizes.items())
        return [Case("gensort", size, "gensort", (), entries)]
    if topic == "patterns":
        entry = Entry("xsort", memory, threads, "xsort")
        uniform = Case("gensort", size, "gensort uniform", (), (replace(entry, is_baseline=True),))
        skewed = Case("gensort", size, "gensort skewed", ("--skewed",), (entry,))
        others = [Case("gensort", size, f"gensort {pattern}", ("--pattern", pattern), (entry,)) for pattern in PATTERNS]
        return [uniform, skewed, *others, *(Case(format, size, format, (), (entry,)) for format in ("kv128", "block4k"))]
    if topic == "growth":
        return [growth_case(eighths * size // 8, memory, threads, eighths == 1) for eighths in GROWTH_EIGHTHS]
    raise ValueError(f"no topic {topic!r}; there are {', '.join(TOPICS)}")


def growth_case(bytes, memory, threads, is_first):
    """One size of the topic growth, with one thread and with all."""
    counts = sorted({1, threads})
    entries = tuple(Entry("xsort", memory, count, f"-j {count}", is_first and count == threads) for count in counts)
    return Case("gensort", bytes, f"gensort {bytes / 1e9:g} GB", (), entries)
