"""Tables to sort: orders as CSV, with and without quotes, and events as NDJSON, the same bytes from
the same name, size and seed.

Numbers and texts are drawn from short lists, thousands at a time, and blocks of rows are made by
all processors, since gigabytes of them are made by Python. Orders are numbered, each number once.
What is written is what programs write that read values and write them again: compact JSON, no
needless quotes, but for the names that contain a comma. So most outputs can be compared as they
are.

Run as `tables.py NAME BYTES SEED FILE`, so that the harness stays small.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from multiprocessing import Pool
from pathlib import Path
from random import Random
import sys

import texts

BLOCK_ROWS = 10_000
BLOCKS_AT_ONCE = 64
PARALLEL_BYTES_MIN = 32_000_000
# The numbers of orders: multiples of an odd number go through all of them.
STEP, NUMBERS = 7_368_787, 2**31
FAMILIES = "Smith Jones O'Hara Müller Nguyen García Kim Brown Novák Rossi Silva Sørensen Ivanova Tanaka Okafor Dubois".split()
WORDS = "leave at the door call before ring twice back entrance please gift wrap fragile this side up second floor reception thanks".split()
ACTIONS = ("view", "click", "buy", "share", "search")


@dataclass(frozen=True)
class Key:
    """A column, by which type it is compared, and whether the greatest comes first. In events,
    `column` is a path.
    """

    column: str
    kind: str
    is_descending: bool = False

    def text(self):
        """As `xsort table --by` takes it."""
        return f"{self.column}:{self.kind}" + (":desc" if self.is_descending else "")


FORMATS = {"orders": "csv", "plain": "csv", "events": "ndjson"}
NAMES = tuple(FORMATS)
COLUMNS = ("order_id", "customer", "amount", "date", "comment")
CUSTOMER, AMOUNT = Key("customer", "str"), Key("amount", "num")
# What each table is sorted by.
ORDERS = (
    ("orders", (CUSTOMER,)),
    ("orders", (AMOUNT,)),
    ("orders", (Key("date", "date", True), AMOUNT)),
    ("plain", (CUSTOMER,)),
    ("plain", (AMOUNT,)),
    ("events", (Key(".user.id", "int"),)),
    ("events", (Key(".time", "datetime"),)),
)


def make(name, bytes, seed, target):
    """Writes about `bytes` bytes of whole rows of the table `name` to `target`; a header above
    them, but not in `plain`.
    """
    with open(target, "wb") as file:
        written = file.write(f"{','.join(COLUMNS)}\n".encode() if name == "orders" else b"")
        for number, block in enumerate(blocks(name, seed, bytes >= PARALLEL_BYTES_MIN)):
            if written + len(block) > bytes:
                rows = block_rows((name, seed, number))
                file.write(b"".join(rows[: (bytes - written) * len(rows) // len(block)]))
                return
            written += file.write(block)


def blocks(name, seed, is_parallel):
    """The blocks of a table without end; of a large one some at a time, by all processors."""
    numbers = ((name, seed, number) for number in count())
    if not is_parallel:
        yield from map(block_bytes, numbers)
    with Pool() as pool:
        while True:
            yield from pool.map(block_bytes, islice(numbers, BLOCKS_AT_ONCE))


def block_bytes(block):
    return b"".join(block_rows(block))


def block_rows(block):
    """The rows of a block: the same from the same table, seed and number."""
    name, seed, number = block
    rows = table_rows(name, seed)(Random(f"{name} {seed} {number}"), number * BLOCK_ROWS)
    return [row.encode() for row in rows]


@lru_cache
def table_rows(name, seed):
    """What makes the rows of a table; each process has lists of its own, which are the same."""
    return MAKERS[name](Random(f"{name} {seed}"))


def orders(random):
    """Of eight comments three are empty, one has a comma, one a quote, and one a line end."""
    names = [f'"{family}, {first}"' for family in FAMILIES for first in word_list(random, 400)]
    comments = [comment(random, place % 8) for place in range(8000)]
    return order_rows(random, names, comments)


def plain(random):
    """No quotes at all: what programs for lines can sort, too."""
    names = [f"{family} {first}" for family in FAMILIES for first in word_list(random, 400)]
    comments = [comment(random, place % 6) for place in range(6000)]
    return order_rows(random, names, comments)


def order_rows(random, names, comments):
    """Blocks of orders, each from the number of the first."""
    lists = (names, wholes(), two_digits(100), dates(), comments)

    def rows(random, first):
        numbers = [str(number * STEP % NUMBERS) for number in range(first, first + BLOCK_ROWS)]
        return list(
            map(
                "%s,%s,%s.%s,%s,%s\n".__mod__,
                zip(numbers, *(random.choices(values, k=BLOCK_ROWS) for values in lists)),
            )
        )

    return rows


def events(random):
    """What users did, put together in no order of time."""
    sentences = [words(random, 4, 12).replace("this", '\\"this\\"') for _ in range(8000)]
    minutes = [f"{hour}:{minute}" for hour in two_digits(24) for minute in two_digits(60)]
    seconds = [f"{second}.{milli:03}" for second in two_digits(60) for milli in range(1000)]
    lists = (
        dates(),
        minutes,
        seconds,
        range(2_000_000),
        word_list(random, 5000),
        ACTIONS,
        sentences,
    )

    def rows(random, first):
        numbers = range(first, first + BLOCK_ROWS)
        return list(
            map(
                EVENT.__mod__,
                zip(numbers, *(random.choices(values, k=BLOCK_ROWS) for values in lists)),
            )
        )

    return rows


EVENT = '{"id":%d,"time":"%sT%s:%sZ","user":{"id":%d,"name":"%s"},"action":"%s","text":"%s"}\n'
MAKERS = {"orders": orders, "plain": plain, "events": events}


def wholes():
    return [str(number) for number in range(100_000)]


def two_digits(count):
    return [f"{number:02}" for number in range(count)]


def dates():
    """28 days of each month of 27 years."""
    return [
        f"20{year}-{month}-{day}"
        for year in two_digits(27)
        for month in two_digits(13)[1:]
        for day in two_digits(29)[1:]
    ]


def word_list(random, count):
    """Made-up names."""
    return [
        "".join(random.choices(texts.LATIN, k=random.randint(2, 4))).capitalize()
        for _ in range(count)
    ]


def words(random, least, most):
    return " ".join(random.choices(WORDS, k=random.randint(least, most)))


def comment(random, kind):
    """A comment as CSV has it, quoted where it must be."""
    text = words(random, 3, 10)
    if kind < 6:
        return text if kind > 2 else ""
    return (
        f'"{text}, {words(random, 1, 3)} ""now"""'
        if kind == 6
        else f'"{text}\n{words(random, 2, 6)}"'
    )


if __name__ == "__main__":
    name, bytes, seed, target = sys.argv[1:]
    make(name, int(bytes), int(seed), Path(target))
