"""sort_array beside NumPy, over arrays of any type."""

import array
import gc
import mmap
import os
import signal
import sys
import threading

import pytest
import xsort
from conftest import many

np = pytest.importorskip("numpy")

SIMPLE = ["i1", "u1", "?", "S1", "S10", "U3"] + [
    order + kind
    for order in "<>"
    for kind in ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]", "m8[ms]", "U2"]
]


def values(random, kind, shape):
    """Values of a simple dtype, few different ones, with those that are special."""
    kind = np.dtype(kind)
    if kind.kind in "SU":
        letters = ["", "a", "b", "ab", "abc", "b\0c" if kind.kind == "S" else "ü", "z"]
        return random.choice(np.array(letters).astype(kind), shape)
    if kind.kind in "Mm":
        made = random.integers(-5, 5, shape).astype("i8").astype(kind)
        made[random.random(shape) < 0.2] = "NaT"
        return made
    if kind.kind == "f":
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.5, -1.5, 6e-5, 2.0]
        return random.choice(np.array(special).astype(kind), shape)
    if kind.kind == "c":
        parts = random.integers(-3, 3, (2, *np.atleast_1d(shape)))
        return (parts[0] + 1j * parts[1]).astype(kind)
    bits = random.integers(0, 256, np.prod(shape) * kind.itemsize, dtype="u1")
    bits[random.random(bits.shape) < 0.5] = 0
    return bits.view(kind).reshape(shape) if kind != "?" else (bits > 99).reshape(shape)


def columns(a):
    """The columns that an array compares by, the first one first."""
    if a.ndim > 1:
        rows = a.reshape(len(a), -1)
        return [column for number in range(rows.shape[1]) for column in columns(rows[:, number])]
    if a.dtype.names:
        return [column for name in a.dtype.names for column in columns(a[name])]
    return [a]


def oracle(keys):
    """The stable order by pairs of a column and whether it falls, by NumPy."""
    ranks = []
    for column, falls in keys:
        rank = np.unique(column, return_inverse=True)[1].astype("i8")
        rank = -rank if falls else rank
        if column.dtype.kind in "fMm":
            rank[np.isnat(column) if column.dtype.kind in "Mm" else np.isnan(column)] = 1 << 60
        ranks.append(rank)
    return np.lexsort(ranks[::-1])


def raw(a):
    """The elements as bytes: NumPy doesn't copy what is between fields."""
    return a.view(f"V{a.dtype.itemsize}")


def check(a, key, keys, threads=None):
    order = oracle(keys)
    before = raw(a).copy()
    assert (xsort.sort_array(a, key, argsort=True, threads=threads) == order).all()
    got = xsort.sort_array(a, key, threads=threads)
    assert got.dtype == a.dtype and raw(got).tobytes() == before[order].tobytes()
    assert raw(a).tobytes() == before.tobytes()
    assert xsort.sort_array(a, key, out=a, threads=threads) is a
    assert raw(a).tobytes() == before[order].tobytes()


@pytest.mark.parametrize("kind", SIMPLE)
def test_simple_arrays(kind):
    random = np.random.default_rng(len(kind))
    for count in [0, 1, 2, 1000]:
        a = values(random, kind, count)
        check(a.copy(), None, [(a, False)])
        check(a.copy(), ":desc", [(a, True)])
    large = values(random, kind, 40_000)
    check(large.copy(), None, [(large, False)], threads=3)


def test_values_come_as_numpy_sorts_them():
    random = np.random.default_rng(8)
    for made in [
        random.integers(-(1 << 62), 1 << 62, 50_000),
        random.random(50_000) - 0.5,
        random.random(50_000).astype("f4"),
        random.integers(0, 1000, 50_000).astype("M8[D]"),
    ]:
        assert (xsort.sort_array(made) == np.sort(made)).all()
    texts = random.integers(0, 99999, 5000).astype("U5")
    assert (xsort.sort_array(texts) == np.sort(texts)).all()


@pytest.mark.parametrize("kind", ["<c8", ">c8", "<c16", ">c16"])
def test_complex_numbers_with_nan_come_as_numpy_sorts_them_or_are_refused(kind):
    random = np.random.default_rng(16)
    parts = [0.0, -1.5, 2.0, np.inf, -np.inf, np.nan]
    pairs = [complex(a, b) for a in parts for b in parts]
    for count in [1, 3, 500, 20_000]:
        a = random.choice(np.array(pairs), count)
        a = np.where(np.isnan(a.real) | ~np.isnan(a.imag), a, 3.0).astype(kind)
        got, wanted = xsort.sort_array(a), np.sort(a)
        assert np.array_equal(got.real, wanted.real, equal_nan=True)
        assert np.array_equal(got.imag, wanted.imag, equal_nan=True)
        # By two keys this one would come before numbers with a larger real part.
        place = int(random.integers(0, count))
        a[place] = complex(1.0, np.nan)
        before = a.tobytes()
        for options in [{}, {"argsort": True}, {"out": np.empty_like(a)}, {"out": a}]:
            with pytest.raises(xsort.Unsuitable, match=f"element {place} has a complex number"):
                xsort.sort_array(a, **options)
        assert a.tobytes() == before
        # The way out.
        a[place] = complex(np.nan, np.nan)
        xsort.sort_array(a)
    # In a field of a structure, and only where it is a key.
    rows = np.array([(1, complex(1, np.nan)), (0, 1j)], [("n", "i4"), ("c", kind)])
    with pytest.raises(xsort.Unsuitable, match="element 0 has"):
        xsort.sort_array(rows)
    assert xsort.sort_array(rows, "n")["n"].tolist() == [0, 1]


def random_dtype(random, depth=0):
    """Fields in any order and at any place, arrays and structures among them."""
    names, formats, offsets, at = [], [], [], 0
    for number in range(random.integers(1, 5)):
        if depth < 2 and random.random() < 0.2:
            kind = random_dtype(random, depth + 1)
        else:
            kind = np.dtype(str(random.choice(SIMPLE)))
        if random.random() < 0.2:
            kind = np.dtype((kind, (int(random.integers(1, 4)),)))
        at += int(random.integers(0, 4))
        names.append(f"{'xyz'[depth]}{number}")
        formats.append(kind)
        offsets.append(at)
        at += kind.itemsize
    return np.dtype(
        {"names": names, "formats": formats, "offsets": offsets, "itemsize": at + 3}
    )


def fill(random, a):
    for name in a.dtype.names:
        if a[name].dtype.names:
            fill(random, a[name])
        else:
            a[name] = values(random, a[name].dtype, a[name].shape)


def test_random_structured_arrays():
    for seed in range(many(40, "XSORT_SEEDS")):
        random = np.random.default_rng(seed)
        a = np.zeros(int(random.integers(2, 3000)), random_dtype(random))
        fill(random, a)
        names = random.permutation(a.dtype.names)[: random.integers(1, 4)]
        keys, by = [], []
        for name in map(str, names):
            falls = bool(random.integers(2))
            inner = a.dtype[name].names
            if inner and random.random() < 0.5:
                by.append(f"{name}.{inner[0]}" + ":desc" * falls)
                keys += [(column, falls) for column in columns(a[name][inner[0]])]
            else:
                by.append(name + ":desc" * falls)
                keys += [(column, falls) for column in columns(a[name])]
        check(a.copy(), by, keys, threads=2)
        check(a.copy(), None, [(column, False) for column in columns(a)])


def test_records_of_a_benchmark():
    random = np.random.default_rng(1)
    a = np.zeros(20_000, [("key", "S10"), ("rest", "V90")])
    a["key"] = random.integers(0, 5000, len(a)).astype("S10")
    a["rest"] = np.frombuffer(random.bytes(90 * len(a)), "V90")
    expected = a[np.argsort(a["key"], kind="stable")]
    assert xsort.sort_array(a, "key").tobytes() == expected.tobytes()
    raw = bytearray(a.tobytes())
    assert xsort.sort_array(raw, "0:10", record=100, out=raw) is raw
    assert raw == expected.tobytes()
    plain = xsort.sort_array(a.view("u1"), "0:10", record=100)
    assert plain.tobytes() == expected.tobytes()


def test_other_buffers(tmp_path):
    numbers = array.array("d", [2.5, -1.0, float("nan"), 0.0])
    got = xsort.sort_array(numbers)
    assert isinstance(got, array.array) and list(got)[:3] == [-1.0, 0.0, 2.5]
    assert list(xsort.sort_array(numbers, ":desc", argsort=True)) == [0, 3, 1, 2]
    assert xsort.sort_array(b"hello") == bytearray(b"ehllo")
    assert xsort.sort_array(memoryview(b"hello"), ":desc") == bytearray(b"ollhe")
    path = tmp_path / "file"
    path.write_bytes(b"b2a1c0")
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        xsort.sort_array(mapped, "0:1", record=2, out=mapped)
    assert path.read_bytes() == b"a1b2c0"
    path.write_bytes(np.arange(50, 0, -1).tobytes())
    mapped = np.memmap(path, "i8", "r+")
    xsort.sort_array(mapped, out=mapped)
    mapped.flush()
    assert (np.fromfile(path, "i8") == np.arange(1, 51)).all()


def test_outputs():
    a = np.array([3, 1, 2])
    out = np.empty(3, int)
    assert xsort.sort_array(a, out=out) is out and list(out) == [1, 2, 3] and list(a) == [3, 1, 2]
    order = np.empty(3, np.uint64)
    assert xsort.sort_array(a, argsort=True, out=order) is order and list(order) == [1, 2, 0]
    a.flags.writeable = False
    assert list(xsort.sort_array(a)) == [1, 2, 3]


def test_what_can_not_be_sorted_is_told():
    a = np.zeros(10, [("score", "f8"), ("name", "S5")])
    fixed = np.zeros(10)
    fixed.flags.writeable = False
    whole = np.zeros(10, int)
    for message, array_, arguments in [
        ("no field 'scare'", a, {"key": "scare:desc"}),
        ("no field 'down'", whole, {"key": "down"}),
        ("no field '0:1'", bytearray(4), {"key": "0:1"}),
        ("has gaps", np.zeros(20)[::2], {}),
        ("has gaps", a["score"], {}),
        ("one dimension", np.zeros((3, 3)), {}),
        ("no dimension", np.array(5), {}),
        ("type object", np.array([None, "a"]), {}),
        ("a mask", np.ma.array([1, 2], mask=[1, 0]), {}),
        ("longdouble|float128", np.zeros(3, np.longdouble), {}),
        ("read-only", whole, {"out": fixed.view(int)}),
        ("type float64", whole, {"out": np.zeros(10)}),
        ("room for 72 bytes", whole, {"out": np.zeros(9, int)}),
        ("has gaps", whole, {"out": np.zeros(20, int)[::2]}),
        ("a part of the array", whole[:8], {"out": whole[1:9]}),
        ("a part of the array", whole, {"out": whole, "argsort": True}),
        ("8 bytes", whole, {"out": np.zeros(7, "i4"), "argsort": True}),
        ("whole number of records", bytearray(10), {"record": 3}),
        ("past the record", bytearray(10), {"record": 2, "key": "0:3"}),
    ]:
        with pytest.raises(xsort.Unsuitable, match=message):
            xsort.sort_array(array_, **arguments)
    for nothing in [[3, 1], "text", None]:
        with pytest.raises(TypeError):
            xsort.sort_array(nothing)


def test_nothing_is_kept():
    a = np.arange(20_000)[::-1].copy()
    small = bytearray(b"cab")
    references = [sys.getrefcount(a), sys.getrefcount(small)]
    for _ in range(20):
        xsort.sort_array(a, argsort=True)
        xsort.sort_array(small, out=small)
        with pytest.raises(xsort.Unsuitable):
            xsort.sort_array(a, "nothing")
    gc.collect()
    assert [sys.getrefcount(a), sys.getrefcount(small)] == references
    # Not lent any more.
    small.append(1)
    a.resize(1, refcheck=False)


def test_threads_side_by_side():
    random = np.random.default_rng(3)
    arrays = [random.integers(0, 99, 60_000) for _ in range(4)]
    got = [None] * len(arrays)

    def work(number):
        got[number] = xsort.sort_array(arrays[number], threads=2)

    threads = [threading.Thread(target=work, args=[number]) for number in range(len(arrays))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all((mine == np.sort(a)).all() for mine, a in zip(got, arrays))


def test_a_forked_process_sorts():
    a = np.arange(50_000)[::-1].copy()
    xsort.sort_array(a)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if (xsort.sort_array(a) == np.arange(50_000)).all() else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_ctrl_c_leaves_the_array_as_it_was_or_sorted(tmp_path):
    a = np.random.default_rng(5).integers(0, 1 << 40, 6_000_000)
    before = a.copy()
    old = signal.signal(signal.SIGALRM, signal.default_int_handler)
    # NumPy may ignore what a handler raises in it ("Exception ignored in: dtype"): so once more.
    signal.setitimer(signal.ITIMER_REAL, 0.03, 2)
    try:
        with pytest.raises(KeyboardInterrupt):
            while True:
                xsort.sort_array(a, out=a)
                a[:] = before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    # Waits for what was interrupted.
    xsort.du(tmp_path)
    assert (a == before).all() or (a == np.sort(before)).all()


def test_an_output_of_other_elements_is_refused():
    a = np.array([3, 1, 2])
    for bad in [
        *(np.full(3, 7, "u8").view(kind) for kind in [">i8", ">u8", "f8", "M8[s]", "m8[s]", "S8", "V8", "c8"]),
        np.full(3, 7, [("number", "i8")]),
        np.full((3, 1), 7),
        np.full(6, 7, "i4"),
        np.full(24, 7, "u1"),
        array.array("d", [7, 7, 7]),
        bytearray(24),
        memoryview(bytearray(24)),
    ]:
        before = bytes(memoryview(bad.view("u1") if isinstance(bad, np.ndarray) else bad))
        for of in [a, array.array("q", a)]:
            with pytest.raises(xsort.Unsuitable, match="whole numbers of 8 bytes in this machine's"):
                xsort.sort_array(of, argsort=True, out=bad)
        assert bytes(memoryview(bad.view("u1") if isinstance(bad, np.ndarray) else bad)) == before
    for good in [
        np.empty(3, "i8"),
        np.empty(3, "u8"),
        array.array("q", bytes(24)),
        array.array("Q", bytes(24)),
        memoryview(bytearray(24)).cast("q"),
        np.empty(25, "u1")[1:].view("i8"),
    ]:
        assert xsort.sort_array(a, argsort=True, out=good) is good and list(good) == [1, 2, 0]
    for of, bad in [
        (a, array.array("d", bytes(24))),
        (array.array("d", [3, 1, 2]), array.array("q", bytes(24))),
        (array.array("d", [3, 1, 2]), np.empty(3, "i8")),
        (np.zeros(3, [("number", "i8")]), array.array("q", bytes(24))),
    ]:
        with pytest.raises(xsort.Unsuitable, match="has elements of type"):
            xsort.sort_array(of, out=bad)
    # Bytes are of any type, and what has the same elements is as good as an array.
    for good in [bytearray(24), array.array("q", bytes(24)), np.empty(24, "u1")]:
        xsort.sort_array(a, out=good)
        assert bytes(memoryview(good)) == np.array([1, 2, 3]).tobytes()


@pytest.mark.parametrize("count", [3000, 400_000])
def test_what_another_thread_writes_meanwhile_comes_out_in_order(count):
    a = np.random.default_rng(4).integers(0, 1 << 60, count)
    known = np.sort(np.concatenate([a, ~a]))
    is_over = threading.Event()

    def write():
        # NumPy writes without the interpreter's lock.
        while not is_over.is_set():
            np.invert(a, out=a)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(12):
            out = [None, np.empty_like(a), None][number % 3]
            if number % 3 == 2:
                order = xsort.sort_array(a, argsort=True, threads=2)
                assert (np.sort(order) == np.arange(count)).all()
                continue
            got = xsort.sort_array(a, out=out, threads=2)
            assert (np.diff(got) >= 0).all()
            assert (known[np.searchsorted(known, got)] == got).all()
    finally:
        is_over.set()
        thread.join()


def test_copies_are_whole_wherever_they_begin():
    random = np.random.default_rng(6)
    raw_bytes = random.integers(0, 256, (1 << 20) * 2 + 77, dtype="u1")
    for skip in range(9):
        for length in [0, 1, 7, 8, 9, 31, 1000, (1 << 20) - 1, (1 << 21) + 5]:
            a = raw_bytes[skip : skip + length]
            before = a.tobytes()
            expected = np.sort(a)
            assert (xsort.sort_array(a) == expected).all() and a.tobytes() == before
            place = np.full(length + 20, 99, "u1")
            out = place[skip : skip + length]
            xsort.sort_array(a, out=out, threads=3)
            assert (out == expected).all()
            assert (place[:skip] == 99).all() and (place[skip + length :] == 99).all()
