"""Sorter and merge, beside Python's own sort."""

import gc
import heapq
import os
import random
import signal
import sys
import threading
import time
import weakref

import pytest
import xsort
from conftest import many


def test_records_come_out_in_the_order_of_their_keys(tmp_path):
    rng = random.Random(1)
    pairs = [
        (rng.randbytes(rng.randrange(12)), rng.randbytes(rng.randrange(60)))
        for _ in range(100_000)
    ]
    with xsort.Sorter(memory="4M", threads=2, scratch=tmp_path) as sorter:
        for key, record in pairs[:50_000]:
            sorter.push(key, record)
        sorter.push_batch(pairs[50_000:])
        out = sorter.finish()
        assert list(out) == sorted(pairs, key=lambda pair: pair[0])
        assert out.report.records == 100_000 and out.report.spilled_bytes > 0
        assert list(out) == []
    assert os.listdir(tmp_path) == []


def test_keys_of_fields_compare_as_their_values():
    rows = [("Oslo", -3.5), ("Bergen", 4.0), ("Oslo", 11.0), ("", 0.0), ("Oslo\0", -1.0)]
    with xsort.Sorter(memory="4M") as sorter:
        for town, degrees in rows:
            sorter.push((town, xsort.desc(degrees)), repr((town, degrees)).encode())
        found = [eval(record) for _, record in sorter.finish()]
    assert found == sorted(rows, key=lambda row: (row[0], -row[1]))
    rng = random.Random(2)
    for values in [
        [rng.randrange(-(2**63), 2**63) for _ in range(1000)] + [0, -1, 2**63 - 1, -(2**63)],
        [rng.gauss(0, 1) * 10 ** rng.randrange(-9, 9) for _ in range(1000)],
        [rng.randbytes(rng.randrange(4)) for _ in range(1000)],
        ["".join(map(chr, rng.choices(range(1, 0x2FFF), k=3))) for _ in range(1000)],
    ]:
        assert sorted(values, key=xsort.key) == sorted(values)
        falling = sorted(values, key=lambda value: xsort.key(xsort.desc(value)))
        assert falling == sorted(values, reverse=True)
    assert xsort.key("a", 1) == xsort.key("a", 1) != xsort.key("a", 2)
    for bad in [None, [], 1j, ()]:
        with pytest.raises(TypeError):
            xsort.key(bad)
    with pytest.raises(xsort.Unsuitable):
        xsort.key(2**63)


def test_records_are_anything_with_bytes():
    with xsort.Sorter(memory="4M") as sorter:
        sorter.push(b"b", bytearray(b"array"))
        sorter.push(b"a", memoryview(b"view"))
        sorter.push_batch(iter([(b"c", b"pair")]))
        with pytest.raises((TypeError, BufferError)):
            sorter.push(b"d", "text")
        assert [record for _, record in sorter.finish()] == [b"view", b"array", b"pair"]


def test_a_record_that_is_too_long_is_refused_and_others_follow():
    with xsort.Sorter(memory="4M") as sorter:
        sorter.push(b"b", bytes(200_000))
        with pytest.raises(xsort.BudgetTooSmall, match="too long") as raised:
            sorter.push(b"a", bytes(10_000_000))
        sorter.push(b"c", b"")
        assert [len(record) for _, record in sorter.finish()] == [200_000, 0]
    with xsort.Sorter(memory=raised.value.needed) as sorter:
        sorter.push(b"a", bytes(10_000_000))
        assert len(next(sorter.finish())[1]) == 10_000_000


def test_a_sorter_is_used_once():
    sorter = xsort.Sorter(memory="4M")
    assert list(sorter.finish()) == []
    for call in [lambda: sorter.push(b"", b""), sorter.finish]:
        with pytest.raises(xsort.Unsuitable):
            call()
    with xsort.Sorter(memory="4M") as sorter:
        sorter.push(b"a", b"")
        out = sorter.finish()
    with pytest.raises(xsort.Error):
        next(out)
    sorter.close()


def test_a_generator_may_yield_from_it():
    def in_order(values):
        with xsort.Sorter(memory="4M") as sorter:
            for value in values:
                sorter.push(value, b"")
            yield from sorter.finish()

    keys = [int.from_bytes(key, "big") - 2**63 for key, _ in in_order([3, 1, 2])]
    assert keys == [1, 2, 3]
    half = in_order(range(100_000))
    next(half)
    half.close()


def test_several_threads_push():
    with xsort.Sorter(memory="8M") as sorter:

        def work(part):
            for index in range(part, 40_000, 4):
                sorter.push(index, b"%d" % index)

        threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [int(record) for _, record in sorter.finish()] == list(range(40_000))


def test_a_full_scratch_is_an_error(tmp_path):
    with pytest.raises(xsort.Error), xsort.Sorter(memory="4M", scratch=tmp_path / "no") as sorter:
        for index in range(200_000):
            sorter.push(index, bytes(50))
        list(sorter.finish())


def test_ctrl_c_ends_it(tmp_path):
    rng = random.Random(many(1, "XSORT_SEED"))
    slowest = 0.0
    for _ in range(many(12, "XSORT_INTERRUPTS")):
        timer = threading.Timer(rng.random() * 0.3, os.kill, (os.getpid(), signal.SIGINT))
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            with xsort.Sorter(memory="4M", scratch=tmp_path) as sorter:
                index = 0
                while index < 10**9:
                    sorter.push(index * 7919 % 1_000_003, b"some record of some length")
                    index += 1
                    if index % 400_000 == 0:
                        break
                for _ in sorter.finish():
                    pass
            timer.join()
            time.sleep(1)
        slowest = max(slowest, time.monotonic() - begin - timer.interval)
        xsort._xsort._wait_for_interrupted_jobs()
        assert os.listdir(tmp_path) == []
    print(f"the slowest after {slowest:.3f} s")
    assert slowest < 3


def test_a_forked_process_is_refused_by_words():
    sorter = xsort.Sorter(memory="4M")
    sorter.push(b"a", b"")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for call in [lambda: sorter.push(b"b", b""), sorter.finish, sorter.close]:
                try:
                    call()
                    os._exit(2)
                except xsort.Error as error:
                    assert "belongs to the process that began it" in str(error)
            del sorter
            gc.collect()
            with xsort.Sorter(memory="4M") as own:
                own.push(b"x", b"y")
                status = 0 if list(own.finish()) == [(b"x", b"y")] else 3
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert list(sorter.finish()) == [(b"a", b"")]


def test_records_are_not_kept():
    class Bytes(bytes):
        pass

    record, key = Bytes(b"record" * 50), Bytes(b"key")
    with xsort.Sorter(memory="4M") as sorter:
        before = sys.getrefcount(record), sys.getrefcount(key)
        for _ in range(1000):
            sorter.push(key, record)
        assert (sys.getrefcount(record), sys.getrefcount(key)) == before
        for pair in sorter.finish():
            pass
    reference = weakref.ref(sorter) if hasattr(sorter, "__weakref__") else None
    del sorter
    assert reference is None or reference() is None


def test_merge_is_pythons_own():
    rng = random.Random(3)
    lists = [sorted(rng.randrange(500) for _ in range(rng.randrange(300))) for _ in range(9)]
    assert list(xsort.merge(lists)) == list(heapq.merge(*lists))
    words = [[(w, n) for w in sorted(["b", "a", "cc"])] for n in range(3)]
    merged = list(xsort.merge(words, key=lambda pair: pair[0]))
    assert merged == list(heapq.merge(*words, key=lambda pair: pair[0]))
    falling = [[9, 5, 1], [8, 5]]
    assert list(xsort.merge(falling, key=xsort.desc)) == [9, 8, 5, 5, 1]
    assert list(xsort.merge([])) == [] and list(xsort.merge([[], []])) == []


def test_merge_is_lazy_and_raises_what_its_inputs_raise():
    def endless():
        number = 0
        while True:
            yield number
            number += 1

    def failing():
        yield 0
        yield 3
        raise RuntimeError("no more")

    merged = xsort.merge([endless(), failing()])
    assert [next(merged) for _ in range(4)] == [0, 0, 1, 2]
    with pytest.raises(RuntimeError, match="no more"):
        for _ in range(10):
            next(merged)
    with pytest.raises(TypeError):
        xsort.merge([[None]])
    with pytest.raises(TypeError):
        xsort.merge([1])


NAN = float("nan")


@pytest.mark.parametrize(
    "first, other",
    [
        (1, 1.5),
        (1.5, 1),
        ("a", b"a"),
        (b"a", "a"),
        (b"a", (b"a",)),
        (1, "a"),
        (1, (1,)),
        ((1, "a"), (1,)),
        ((1,), (1, "a")),
        ((1, "a"), ("a", 1)),
        ((1, "a"), (1.0, "a")),
        (1, xsort.desc(1)),
        ((1, xsort.desc(2)), (1, 2)),
        ((), (1,)),
    ],
)
def test_keys_of_other_types_are_refused_when_they_are_pushed(first, other):
    with xsort.Sorter(memory="4M") as sorter:
        sorter.push(first, b"first")
        for push in [sorter.push, lambda key, record: sorter.push_batch([(key, record)])]:
            with pytest.raises(TypeError, match="this key is .*, and the first one was .*same types"):
                push(other, b"other")
        # The Sorter goes on with what it has.
        sorter.push(first, b"second")
        assert [record for _, record in sorter.finish()] == [b"first", b"second"]
    with pytest.raises(TypeError, match="same types"):
        list(xsort.merge([[first, first], [other]]))
    with pytest.raises(TypeError, match="same types"):
        list(xsort.merge([[1, 2], [3]], key=lambda item: other if item == 3 else first))


def test_bytes_of_any_kind_are_one_type():
    with xsort.Sorter(memory="4M") as sorter:
        for key in [b"b", bytearray(b"a"), b"c"]:
            sorter.push(key, b"")
        assert [key for key, _ in sorter.finish()] == [b"a", b"b", b"c"]


def test_zeros_and_nans_are_as_in_arrays_and_batches():
    floats = [0.0, NAN, -0.0, 1.0, -NAN, float("inf"), -1.0, 0.0, NAN, float("-inf"), -0.0]
    expected = [9, 6, 0, 2, 7, 10, 3, 5, 1, 4, 8]
    # NaN is larger than all others where it falls; only in arrays it stays behind them.
    falling = [1, 4, 8, 5, 3, 0, 2, 7, 10, 6, 9]
    for make, order in [(float, expected), (xsort.desc, falling)]:
        with xsort.Sorter(memory="4M") as sorter:
            for number, value in enumerate(floats):
                sorter.push(make(value), number.to_bytes(4, "little"))
            assert [int.from_bytes(record, "little") for _, record in sorter.finish()] == order
        keys = [xsort.key(make(value)) for value in floats]
        assert sorted(range(len(floats)), key=lambda number: keys[number]) == order
    array = pytest.importorskip("array")
    for key, order in [(None, expected), (":desc", falling[3:] + falling[:3])]:
        assert list(xsort.sort_array(array.array("d", floats), key, argsort=True)) == order
    pa = pytest.importorskip("pyarrow")
    batch = pa.table({"value": pa.array(floats), "number": range(len(floats))})
    for by, order in [("value", expected), ("value:desc", falling)]:
        assert pa.table(xsort.sorted_batches(batch, by=by))["number"].to_pylist() == order


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"memory": -1}, xsort.Unsuitable, "memory is a number of bytes from 1 on.*not -1"),
        ({"memory": 0}, xsort.Unsuitable, "memory is a number of bytes from 1 on.*not 0"),
        ({"memory": "0"}, xsort.Unsuitable, "memory is a number of bytes from 1 on.*not 0"),
        ({"memory": 1 << 70}, xsort.Unsuitable, "memory is a number of bytes.*not 11805"),
        ({"memory": "1 apple"}, xsort.Unsuitable, "memory: unknown unit"),
        ({"memory": 1.5}, TypeError, "whole number of bytes is wanted.*'1G', not float"),
        ({"memory": True}, TypeError, "whole number of bytes is wanted.*, not bool"),
        ({"threads": 10**6}, xsort.Unsuitable, "threads is 0 to 1024.*not 1000000"),
        ({"threads": -1}, xsort.Unsuitable, "threads is 0 to 1024.*not -1"),
        ({"threads": "2"}, TypeError, "a whole number is wanted, not str"),
        ({"bandwidth_limit": 0}, xsort.Unsuitable, "bandwidth_limit is .* from 1 on.*not 0"),
        ({"bandwidth_limit": "0"}, xsort.Unsuitable, "bandwidth_limit is .* from 1 on.*not 0"),
        ({"bandwidth_limit": -5}, xsort.Unsuitable, "bandwidth_limit is .*not -5"),
    ],
)
def test_numbers_out_of_range_are_told_with_what_they_may_be(tmp_path, arguments, error, message):
    calls = [
        lambda **given: xsort.Sorter(**given),
        lambda **given: xsort.sort("none", tmp_path / "out", **given),
        lambda **given: xsort.sort_lines("none", tmp_path / "out", **given),
        lambda **given: xsort.sort_table("none", tmp_path / "out", by="a", **given),
        lambda **given: xsort.verify("none", **given),
        lambda **given: xsort.generate(1, tmp_path / "out", **given),
        lambda **given: xsort.sorted_batches([], by="a", **given),
    ]
    if "threads" in arguments:
        calls += [
            lambda **given: xsort.sort_array(bytearray(b"ba"), **given),
            lambda **given: xsort.du(tmp_path, **given),
        ]
    for call in calls:
        with pytest.raises(error, match=message):
            call(**arguments)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rows", [0, -1])
def test_batches_have_rows(rows):
    with pytest.raises(xsort.Unsuitable, match=f"batch_rows is .*1 or more, not {rows}"):
        xsort.sorted_batches([], by="a", batch_rows=rows)
