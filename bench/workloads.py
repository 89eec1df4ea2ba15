"""What is sorted, and in how much memory: the topics of the benchmark.

A topic is a list of cases. A case is one input, which is made anew in every round; its entries are
the programs that sort it, one after the other. One entry of a topic is the baseline with which all
others are compared, per byte, so that cases of different sizes can stand in one table. The topics
of lines and of tables have many inputs and orders: there every case has its own baseline.
"""

from dataclasses import dataclass, replace
import re

from rivals import LABELS, OWN
import table_rivals
import tables

UNITS = {
    "": 1,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
    "T": 2**40,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
}
# In the order in which "all" takes them: what matters most first, what needs most space last.
TOPICS = (
    "rivals",
    "memory",
    "lines",
    "keys",
    "merges",
    "lines-cold",
    "keys-cold",
    "order",
    "patterns",
    "methods",
    "budgets",
    "compression",
    "growth",
    "tables",
)
# Of an input, if nothing else is asked for, and what part of it those of the topics have that have
# many.
BYTES, PARTS = (
    8 * 10**9,
    {
        "lines": 80,
        "keys": 80,
        "merges": 80,
        "keys-cold": 1,
        "order": 4,
        "tables": 8,
        "compression": 8,
    },
)
BUDGETS = ("64M", "256M", "1G", "4G", "all")
PATTERNS = ("equal", "sorted", "reversed", "heavy")
METHODS = ("merge", "scatter")
# Ways of the topic compression, in a part of the memory so that all is spilled: as fast as the
# drive is, and at a rate.
COMPRESSIONS = (
    ("off", ()),
    ("auto", ("--compress=auto",)),
    ("lz4", ("--compress=lz4",)),
    ("zstd", ("--compress=zstd",)),
)
COMPRESSED_TEXTS = (("access", ("-k4,4",)), ("csv", ("-t,", "-k2,2")))
COMPRESSION_MEMORY_PART = 8
RATES = ((), ("--bandwidth-limit=500MB",))
GROWTH_EIGHTHS = (1, 2, 4, 8, 16, 32)
# The topics memory (a quarter of the size) and lines: in so much memory, or in what there is.
MEMORY_BYTES_MAX = 12 * 2**30
# Those that sort lines of text by GNU sort's options, and the one whose output the others' must
# equal: its turn comes first.
SORTERS = ("gnu", "xsort", "uutils")
JUDGE = "gnu"
# The orders of the topic lines: the text and sort's options.
ORDERS = (
    ("numbers", ()),
    ("numbers", ("-n",)),
    ("numbers", ("-r",)),
    ("numbers", ("-u",)),
    ("sorted", ()),
    ("reversed", ()),
    ("words", ()),
    ("few", ()),
    ("few", ("-u",)),
    ("pairs", ("-k2,2n",)),
    ("csv", ("-t,", "-k3,3", "-k1,1n")),
    ("logs", ()),
    ("urls", ()),
    ("prefixed", ()),
    ("long", ()),
)
# Those of the topic keys: in bytes, and in a language.
KEYS = (
    ("access", ("-k4.2,4.20", "-s")),
    ("access", ("-k4,4",)),
    ("addresses", ("-t.", "-k1,1n", "-k2,2n", "-k3,3n", "-k4,4n")),
    ("addresses", ("-V",)),
    ("amounts", ("-h",)),
    ("csv", ("-t,", "-k2,2")),
    ("csv", ("-t,", "-k4,4n")),
    ("few", ("-u",)),
    ("floats", ("-g",)),
    ("numbers", ("-n",)),
    ("pairs", ("-s", "-k1,1")),
    ("paths", ()),
    ("sentences", ("-d",)),
    ("sentences", ("-R", "--random-source=/dev/zero")),
    ("syslog", ("-M",)),
    ("versions", ("-V",)),
    ("words", ("-f",)),
    ("words", ("-i",)),
)
KEYS_IN_LOCALE = (
    ("amounts", ("-hr",)),
    ("csv", ("-t,", "-k2,2")),
    ("few", ()),
    ("paths", ()),
    ("sentences", ()),
    ("sentences", ("-df",)),
    ("syslog", ("-k1,1M", "-k2,2n")),
    ("words", ()),
    ("words", ("-f",)),
)
# A real locale, for text of many scripts.
LOCALE = "en_US.UTF-8"
# Others: one whose rules are almost the same, one with letters behind z, one of another script.
OTHER_LOCALES = ("de_DE.UTF-8", "sv_SE.UTF-8", "ja_JP.UTF-8")
KEYS_IN_OTHER_LOCALES = (("csv", ("-t,", "-k2,2")), ("sentences", ()))
# From start to exit: numbers in so many bytes, a thousand of them, so often in a round.
START_BYTES, START_REPEATS = 10_000, 200
# The topic merges: sorted parts, a sorted whole to check, streams, little memory, and texts that
# are hardly any work.
MERGED_PARTS = (2, 16, 200)
CHECKS = (("sentences", (), "C"), ("sentences", (), LOCALE), ("numbers", ("-n",), "C"))
READERS = (("cat", ()), ("gzip", ("-dc",)))
LITTLE_MEMORY = ("2M", "4M", "16M")
EASY = (("long", "C"), ("long", LOCALE), ("sorted", "C"), ("equal", "C"))
# The topic order: how far lines are in order already, and who sorts them; cp only copies.
IN_ORDER = {
    "in-order": "in order",
    "descending": "in reverse order",
    "swapped": "99% in order",
    "stretches": "eight sorted stretches",
    "tail": "in order, and 1% after it",
}
ORDERERS = ("gnu", "xsort", "xsort-records", "xsort-table", "duckdb", "cp")
# What starts cost: numbers in so many bytes, from a file or a pipe.
STARTS = (
    (100, False, "C"),
    (100, True, "C"),
    (START_BYTES, True, "C"),
    (START_BYTES, False, LOCALE),
)


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
    # Further arguments for xsort.
    settings: tuple = ()


@dataclass(frozen=True)
class Case:
    """One input and those who sort it."""

    format: str
    bytes: int
    label: str
    gen: tuple
    entries: tuple
    # Whether xsort sorts lines, as the others always do, and by which options of GNU sort all do
    # it.
    is_lines: bool = False
    options: tuple = ()
    locale: str = "C"
    # Whether the input is in the page cache, and the output needn't be on the drive.
    is_warm: bool = False
    # Runs in a turn.
    repeats: int = 1
    # What a table is sorted by.
    keys: tuple = ()
    # What lines are there for: "sort", "merge" (in so many sorted parts), or "check" (sorted).
    task: str = "sort"
    parts: int = 1
    # The command that writes the input to a pipe, if it comes through one; with `is_fed` the
    # harness does, before the start.
    reader: tuple = ()
    is_fed: bool = False

    @property
    def is_text(self):
        """Whether the harness makes the input, and not xsort."""
        return self.format == "text" or self.is_table

    def judge(self):
        """Whose first output all must have: GNU sort's, or that of the only program."""
        names = {entry.contender for entry in self.entries}
        return JUDGE if JUDGE in names else self.entries[0].contender

    @property
    def is_table(self):
        return bool(self.keys)


def input_bytes(topic, size, is_among_all):
    """The size of a topic's inputs, where `size` was asked for, or None."""
    return (size or BYTES) // (PARTS.get(topic, 1) if size is None or is_among_all else 1)


def topic_cases(topic, size, memory, threads, memory_all, contenders):
    """The cases of a topic, for inputs of `size` bytes and a budget of `memory` bytes;
    `memory_all` stands for the budget "all".
    """
    if topic == "rivals":
        return [rivals_case(size, memory, threads, contenders)]
    if topic == "memory":
        return [rivals_case(size // 4, min(MEMORY_BYTES_MAX, memory_all), threads, contenders)]
    if topic == "lines":
        return lines_cases(size, min(MEMORY_BYTES_MAX, memory_all), threads, contenders)
    if topic == "keys":
        return keys_cases(size, min(MEMORY_BYTES_MAX, memory_all), threads, contenders)
    if topic == "merges":
        return merges_cases(size, min(MEMORY_BYTES_MAX, memory_all), threads, contenders)
    if topic == "lines-cold":
        entries = lines_entries((*SORTERS, "duckdb"), memory, threads, contenders)
        return [Case("gensort-ascii", size, "gensort-ascii lines", (), entries, is_lines=True)]
    if topic == "keys-cold":
        entries = lines_entries(("gnu", "xsort"), memory, threads, contenders)
        cold = lambda label, **others: Case(
            "gensort-ascii",
            size,
            f"gensort-ascii lines {label}",
            (),
            entries,
            is_lines=True,
            **others,
        )
        # The second field counts the lines: by it they are in order.
        by_key = [cold(key, options=(key,)) for key in ("-k2,2", "-k1.5,1.10")]
        return [*by_key, cold(LOCALE, locale=LOCALE)]
    if topic == "order":
        return [
            order_case(text, label, size, memory, threads, contenders)
            for text, label in IN_ORDER.items()
        ]
    if topic == "budgets":
        sizes = {name: memory_all if name == "all" else parse_size(name) for name in BUDGETS}
        entries = tuple(
            Entry("xsort", bytes, threads, f"-m {name}", name == "1G")
            for name, bytes in sizes.items()
        )
        return [Case("gensort", size, "gensort", (), entries)]
    if topic == "patterns":
        return pattern_cases(size, (Entry("xsort", memory, threads, "xsort"),))
    if topic == "methods":
        return pattern_cases(
            size,
            tuple(
                Entry("xsort", memory, threads, name, settings=("--method", name))
                for name in METHODS
            ),
        )
    if topic == "compression":
        return [
            case
            for rate in RATES
            for case in compression_cases(size, memory // COMPRESSION_MEMORY_PART, threads, rate)
        ]
    if topic == "growth":
        return [
            growth_case(eighths * size // 8, memory, threads, eighths == 1)
            for eighths in GROWTH_EIGHTHS
        ]
    if topic == "tables":
        return [table_case(size, memory, threads, contenders, *order) for order in tables.ORDERS]
    raise ValueError(f"no topic {topic!r}; there are {', '.join(TOPICS)}")


def rivals_case(bytes, memory, threads, contenders):
    """Everyone on the lines of the Sort Benchmark."""
    names = [name for name in contenders if name not in (*OWN, "cp")]
    entries = tuple(Entry(name, memory, threads, LABELS[name], name == "xsort") for name in names)
    return Case("gensort-ascii", bytes, "gensort-ascii", (), entries)


def lines_cases(bytes, memory, threads, contenders):
    """All orders; DuckDB where it is that of the whole line's bytes, and only who knows the C
    library's locales where it isn't.
    """

    def case(text, options, bytes, takers, label, **others):
        return warm_case(
            text,
            options,
            bytes,
            lines_entries(takers, memory, threads, contenders),
            label,
            **others,
        )

    orders = [
        case(
            text,
            options,
            bytes,
            SORTERS if options else (*SORTERS, "duckdb"),
            " ".join((text, *options)),
        )
        for text, options in ORDERS
    ]
    world = case("world", (), bytes, ("gnu", "xsort"), f"world, {LOCALE}", locale=LOCALE)
    start = case(
        "numbers", (), START_BYTES, SORTERS, "1,000 numbers, start to exit", repeats=START_REPEATS
    )
    return [*orders, world, start]


def keys_cases(bytes, memory, threads, contenders):
    """Lines by keys and in a language, by GNU sort and xsort, beside cp, which only copies them."""
    entries = lines_entries(("gnu", "xsort", "cp"), memory, threads, contenders)
    orders = [
        warm_case(text, options, bytes, entries, " ".join((text, *options)))
        for text, options in KEYS
    ]
    in_locales = [(order, LOCALE) for order in KEYS_IN_LOCALE]
    in_locales += [(order, locale) for locale in OTHER_LOCALES for order in KEYS_IN_OTHER_LOCALES]
    for (text, options), locale in in_locales:
        orders.append(
            warm_case(
                text,
                options,
                bytes,
                entries,
                f"{' '.join((text, *options))}, {locale}",
                locale=locale,
            )
        )
    return orders


def merges_cases(bytes, memory, threads, contenders):
    """What sort does beside sorting a file in memory, by GNU sort and xsort."""
    entries = lines_entries(("gnu", "xsort"), memory, threads, contenders)

    def case(text, options, label, locale="C", bytes=bytes, entries=entries, **others):
        label = label if locale == "C" else f"{label}, {locale}"
        return warm_case(text, options, bytes, entries, label, locale=locale, **others)

    def merge(parts, locale, options=("-m",), label="", **others):
        return case(
            "sentences",
            options,
            f"{' '.join(options)} of {parts}{label}",
            locale,
            task="merge",
            parts=parts,
            **others,
        )

    of_little = lambda memory: lines_entries(
        ("gnu", "xsort"), parse_size(memory), threads, contenders
    )
    name = lambda bytes, is_fed: (
        f"{bytes // 10:,} numbers{' through a pipe' if is_fed else ''}, start to exit"
    )
    often = {"repeats": START_REPEATS}
    return [
        *(merge(parts, locale) for locale in ("C", LOCALE) for parts in MERGED_PARTS),
        merge(16, "C", ("-m", "-u")),
        *(
            case(text, ("-c", *options), " ".join((text, "-c", *options)), locale, task="check")
            for text, options, locale in CHECKS
        ),
        *(
            case(
                "sentences",
                (),
                f"sentences from {' '.join((reader, *options))}",
                reader=(reader, *options),
            )
            for reader, options in READERS
        ),
        *(
            case("sentences", (), f"sentences -S {memory}", entries=of_little(memory))
            for memory in LITTLE_MEMORY
        ),
        *(case(text, (), text, locale) for text, locale in EASY),
        merge(10, "C", label=" tiny files, start to exit", bytes=START_BYTES, **often),
        *(
            case("numbers", (), name(bytes, is_fed), locale, bytes=bytes, is_fed=is_fed, **often)
            for bytes, is_fed, locale in STARTS
        ),
    ]


def order_case(text, label, bytes, memory, threads, contenders):
    """Lines that are more or less in order; all are compared with cp, which only copies them."""
    names = [name for name in ORDERERS if name in contenders or name in (JUDGE, "cp")]
    labels = {**LABELS, "xsort": "xsort lines"}
    entries = tuple(Entry(name, memory, threads, labels[name], name == "cp") for name in names)
    return Case("text", bytes, label, (text,), entries, is_lines=True)


def warm_case(text, options, bytes, entries, label, **others):
    """A text of the harness, from the page cache."""
    return Case(
        "text",
        bytes,
        label,
        (text,),
        entries,
        is_lines=True,
        options=options,
        is_warm=True,
        **others,
    )


def table_case(bytes, memory, threads, contenders, table, keys):
    """A table and its order, by those who can read it."""
    labels = table_rivals.LABELS
    takers = [name for name in table_rivals.TAKERS[table] if name in contenders]
    entries = tuple(Entry(name, memory, threads, labels[name], name == "xsort") for name in takers)
    by = ",".join(key.text() for key in keys)
    return Case(tables.FORMATS[table], bytes, f"{table} by {by}", (table,), entries, keys=keys)


def lines_entries(takers, memory, threads, contenders):
    """The judge and those of the takers who are wanted."""
    names = [name for name in takers if name in contenders or name == JUDGE]
    return tuple(Entry(name, memory, threads, LABELS[name], name == "xsort") for name in names)


def pattern_cases(bytes, entries):
    """All patterns and formats; the first entry on uniform records is the baseline."""
    first, *others = entries
    uniform = Case(
        "gensort", bytes, "gensort uniform", (), (replace(first, is_baseline=True), *others)
    )
    skewed = Case("gensort", bytes, "gensort skewed", ("--skewed",), entries)
    patterns = [
        Case("gensort", bytes, f"gensort {pattern}", ("--pattern", pattern), entries)
        for pattern in PATTERNS
    ]
    return [
        uniform,
        skewed,
        *patterns,
        *(Case(format, bytes, format, (), entries) for format in ("kv128", "block4k")),
    ]


def compression_cases(bytes, memory, threads, rate):
    """Records that don't shrink, and lines that do, by xsort at a rate, with and without
    compressed scratch.
    """
    entries = tuple(
        Entry("xsort", memory, threads, way, way == "off", (*settings, *rate))
        for way, settings in COMPRESSIONS
    )
    suffix = "".join(f", {setting.removeprefix('--bandwidth-limit=')} a second" for setting in rate)
    return [
        Case("gensort", bytes, f"gensort{suffix}", (), entries),
        Case("gensort-ascii", bytes, f"gensort-ascii lines{suffix}", (), entries, is_lines=True),
        *(
            Case(
                "text",
                bytes,
                f"{' '.join((text, *options))}{suffix}",
                (text,),
                entries,
                is_lines=True,
                options=options,
            )
            for text, options in COMPRESSED_TEXTS
        ),
    ]


def growth_case(bytes, memory, threads, is_first):
    """One size of the topic growth, with one thread and with all."""
    counts = sorted({1, threads})
    entries = tuple(
        Entry("xsort", memory, count, f"-j {count}", is_first and count == threads)
        for count in counts
    )
    return Case("gensort", bytes, f"gensort {bytes / 1e9:g} GB", (), entries)
