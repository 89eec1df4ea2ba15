"""Lines of text to sort: logs, tables, words and the like, the same bytes from the same name, size
and seed.

Random numbers are Python's, by a seed that nothing else shares; `shuf` shuffles the numbers by
random bytes that are given to it, so what it makes may change with its version. A record has every
input's checksum. The bytes are whole lines, each with its line feed.

Run as `texts.py NAME BYTES SEED FILE`, so that the harness stays small: the kernel counts what it
has as peak memory of those it starts.
"""

from array import array
from base64 import b64encode
from itertools import accumulate
import os
from pathlib import Path
from random import Random
import subprocess
import sys

ENVIRONMENT = {**os.environ, "LC_ALL": "C"}
# Lines that are made at a time.
BLOCK_LINES = 1000
# A line of the long ones, with its line feed: 10 KiB.
LONG_BYTES = 10 * 2**10
# What the lines with a common prefix share.
PREFIX = "".join(f"/level-{level:02}-of-the-tree" for level in range(9))
FEW_LINES = 200
VOCABULARY_WORDS = 50_000
LATIN = "ba be bi bo bu ca ce da de do el er es fa fi ga go ha he in ka la le li ma me mi na ne no on or pa pe ra re ri ro sa se si ta te ti to un va ve".split()
# Letters of two and three bytes, with and without marks, of several scripts; ß and æ sort as two
# letters.
WORLD = "Ä ä é É ñ ø ß æ ç Ž ž ı œ ő αβ γδ Ωω λό бв Гд жё и ю שׁ 中 文 日本 한글".split()
CATEGORIES = ("books", "garden", "kitchen", "music", "toys", "travel")
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
# Of the texts that are more or less in order: bytes of a line and of its number, and lines that are
# drawn ahead for all of them.
ORDERED_BYTES, NUMBER_BYTES, ENDS = 100, 12, 997
STRETCHES, OUT_OF_ORDER_SHARE = 8, 100
LEVELS = ("INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR")


def make(name, bytes, seed, target):
    """Writes about `bytes` bytes of the text `name` to `target`."""
    random = Random(f"{name} {seed}")
    if name in ("numbers", "sorted", "reversed"):
        numbers(bytes, random, target)
        if name != "numbers":
            order = ["-r"] if name == "reversed" else []
            subprocess.run(
                ["sort", *order, "-o", str(target), str(target)], env=ENVIRONMENT, check=True
            )
        return
    if name in ORDERS:
        return ordered(ORDERS[name], bytes // ORDERED_BYTES, random, target)
    lines = TEXTS[name](random)
    left = bytes
    with open(target, "wb") as file:
        while left > 0:
            block = "".join(lines() for _ in range(BLOCK_LINES)).encode()
            if len(block) > left:
                block, left = block[: block.rfind(b"\n", 0, left) + 1], 0
            file.write(block)
            left -= len(block)


def numbers(bytes, random, target):
    """The numbers from 1 to a tenth of the bytes, shuffled: 10 million of them are 79 MB."""
    count = bytes // 10
    source = target.with_suffix(".random")
    with open(source, "wb") as file:
        # A number takes less than eight random bytes.
        for begin in range(0, 8 * count, 2**20):
            file.write(random.randbytes(min(2**20, 8 * count - begin)))
    subprocess.run(
        ["shuf", "-i", f"1-{count}", f"--random-source={source}", "-o", str(target)],
        env=ENVIRONMENT,
        check=True,
    )
    source.unlink()


def ordered(order, count, random, target):
    """Lines of 100 bytes, which are also records and rows: a number, each once, and the same
    after it.
    """
    word = vocabulary(random, LATIN)
    width = ORDERED_BYTES - NUMBER_BYTES - 2
    ends = ["," + " ".join(word() for _ in range(width))[:width] + "\n" for _ in range(ENDS)]
    numbers = order(count, random)
    with open(target, "wb") as file:
        for begin in range(0, count, 100 * BLOCK_LINES):
            block = numbers[begin : begin + 100 * BLOCK_LINES]
            file.write(
                "".join(
                    f"{number:0{NUMBER_BYTES}}{ends[number % ENDS]}" for number in block
                ).encode()
            )


def in_order(count, random):
    return array("Q", range(count))


def descending(count, random):
    return array("Q", range(count - 1, -1, -1))


def swapped(count, random):
    """In order but for one line in a hundred, which has changed places with another one."""
    numbers = in_order(count, random)
    for _ in range(count // OUT_OF_ORDER_SHARE // 2):
        a, b = random.randrange(count), random.randrange(count)
        numbers[a], numbers[b] = numbers[b], numbers[a]
    return numbers


def stretches(count, random):
    """Eight stretches one after the other, each in order and over all numbers."""
    return array(
        "Q", (number for first in range(STRETCHES) for number in range(first, count, STRETCHES))
    )


def with_tail(count, random):
    """One line in a hundred, in any order, after all others in order."""
    tail = set(random.sample(range(count), count // OUT_OF_ORDER_SHARE))
    last = sorted(tail)
    random.shuffle(last)
    return array("Q", (number for number in range(count) if number not in tail)) + array("Q", last)


def vocabulary(random, syllables, end=""):
    """Draws words as a text has them: of 50,000, the n-th most frequent an n-th as often as the
    first.
    """
    words = [
        "".join(random.choices(syllables, k=random.randint(1, 5))) + end
        for _ in range(VOCABULARY_WORDS)
    ]
    sums = list(accumulate(1 / place for place in range(1, VOCABULARY_WORDS + 1)))
    return Draw(random, words, sums)


class Draw:
    """Endless choices of some words, drawn many at a time, which is quicker."""

    def __init__(self, random, words, sums=None):
        self.random, self.words, self.sums, self.drawn = random, words, sums, []

    def __call__(self):
        if not self.drawn:
            self.drawn = self.random.choices(self.words, cum_weights=self.sums, k=BLOCK_LINES)
        return self.drawn.pop()


def words(random):
    return vocabulary(random, LATIN, "\n")


def pairs(random):
    """A word and a number."""
    word, part = vocabulary(random, LATIN), random.random
    return lambda: f"{word()} {int(part() * 1e9)}\n"


def csv(random):
    """Number, name, one of six categories, price."""
    word, category, part = vocabulary(random, LATIN), Draw(random, CATEGORIES), random.random
    return lambda: f"{int(part() * 1e8)},{word()},{category()},{part() * 1000:.2f}\n"


def long(random):
    return lambda: (
        b64encode(random.randbytes(LONG_BYTES * 3 // 4)).decode()[: LONG_BYTES - 1] + "\n"
    )


def prefixed(random):
    """Over two hundred bytes that all lines share, then a number."""
    part = random.random
    return lambda: f"{PREFIX}/{int(part() * 1e9)}\n"


def equal(random):
    """The same line again and again."""
    word = vocabulary(random, LATIN)
    return Draw(random, [f"{word()} {word()} {word()}\n"])


def few(random):
    """Two hundred different lines."""
    word = vocabulary(random, LATIN)
    return Draw(random, [f"{word()} {word()} {place}\n" for place in range(FEW_LINES)])


def logs(random):
    """A day of several machines, put together in no order of time."""
    word, level, part = vocabulary(random, LATIN), Draw(random, LEVELS), random.random

    def line():
        second = int(part() * 86400)
        return (
            f"2026-01-31T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{int(part() * 1000):03}Z node-{int(part() * 40):02} {level()}"
            f" {word()}[{int(part() * 32768)}]: request=/{word()}/{word()} status=200 bytes={int(part() * 1e5)} took={int(part() * 900)}ms\n"
        )

    return line


def urls(random):
    """Pages of fifty sites."""
    word, part = vocabulary(random, LATIN), random.random
    site = Draw(
        random, [f"https://www.{word()}-{place}.example/catalogue/{word()}" for place in range(50)]
    )
    return lambda: f"{site()}/{word()}/{word()}?id={int(part() * 1e7)}\n"


def world(random):
    """Two words of letters from several scripts, and a number."""
    word, part = vocabulary(random, LATIN + WORLD), random.random
    return lambda: f"{word().capitalize()} {word()} {int(part() * 1000)}\n"


def access(random):
    """A web server's log, in no order of time."""
    word, method, part = (
        vocabulary(random, LATIN),
        Draw(random, ("GET", "GET", "GET", "POST")),
        random.random,
    )

    def line():
        second, address = int(part() * 86400), ".".join(str(int(part() * 256)) for _ in range(4))
        time = f"{1 + int(part() * 28):02}/Oct/2026:{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} +0000"
        return f'{address} - - [{time}] "{method()} /{word()}/{word()} HTTP/1.1" 200 {int(part() * 1e5)}\n'

    return line


def syslog(random):
    """A month, a day, a time, a machine, and what happened."""
    month, word, part = Draw(random, MONTHS), vocabulary(random, LATIN), random.random

    def line():
        second = int(part() * 86400)
        time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        return f"{month()} {1 + int(part() * 28):2} {time} node-{int(part() * 40)} {word()}[{int(part() * 32768)}]: {word()} {word()}\n"

    return line


def addresses(random):
    part = random.random
    return lambda: (
        f"{int(part() * 256)}.{int(part() * 256)}.{int(part() * 256)}.{int(part() * 256)}\n"
    )


def amounts(random):
    """Sizes as `du -h` writes them, and names."""
    unit, word, part = Draw(random, ("", "K", "M", "G")), vocabulary(random, LATIN), random.random
    return lambda: f"{part() * 1000:.1f}{unit()} {word()}\n"


def floats(random):
    part = random.random
    return lambda: f"{(part() - 0.5) * 10 ** int(part() * 20):.6e}\n"


def sentences(random):
    """Three to nine words, the first with a capital letter."""
    word, part = vocabulary(random, LATIN), random.random
    return lambda: (
        " ".join([word().capitalize(), *(word() for _ in range(2 + int(part() * 7)))]) + ".\n"
    )


def paths(random):
    """Seventy bytes that all lines share, then a word and a number."""
    word, part = vocabulary(random, LATIN), random.random
    return lambda: f"{PREFIX[:70]}/{word()}-{int(part() * 1e6)}\n"


def versions(random):
    """Names of packages with versions."""
    word, part = vocabulary(random, LATIN), random.random
    return lambda: f"{word()}-{int(part() * 30)}.{int(part() * 20)}.{int(part() * 100)}.tar.gz\n"


TEXTS = {
    "access": access,
    "addresses": addresses,
    "amounts": amounts,
    "csv": csv,
    "equal": equal,
    "few": few,
    "floats": floats,
    "logs": logs,
    "long": long,
    "pairs": pairs,
    "paths": paths,
    "prefixed": prefixed,
    "sentences": sentences,
    "syslog": syslog,
    "urls": urls,
    "versions": versions,
    "words": words,
    "world": world,
}
ORDERS = {
    "in-order": in_order,
    "descending": descending,
    "swapped": swapped,
    "stretches": stretches,
    "tail": with_tail,
}
NAMES = ("numbers", "sorted", "reversed", *TEXTS, *ORDERS)

if __name__ == "__main__":
    name, bytes, seed, target = sys.argv[1:]
    make(name, int(bytes), int(seed), Path(target))
