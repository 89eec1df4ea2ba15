"""Arrow data that isn't valid is an error, whatever it would do to a reader that trusts it."""

import ctypes
import struct

import pytest
import xsort

pa = pytest.importorskip("pyarrow")


def offsets(*values, large=False):
    return struct.pack(f"<{len(values)}{'q' if large else 'i'}", *values)


def view(length, prefix=b"", number=0, offset=0, inline=None):
    if inline is not None:
        return struct.pack("<i12s", length, inline)
    return struct.pack("<i4sii", length, prefix, number, offset)


# Places in buffers, and what comes there.
FILLS = []


def of(kind, length, buffers, children=None):
    """An array of zeros, in which these bytes come with `fill`: pyarrow looks at some of them."""
    places = [None if content is None else bytearray(len(content)) for content in buffers]
    # The bits of nulls are counted at once.
    if buffers[0] is not None:
        places[0][:] = buffers[0]
    lent = [None if place is None else pa.py_buffer(place) for place in places]
    FILLS.extend((place, new) for place, new in zip(places, buffers) if place is not None)
    return pa.Array.from_buffers(kind, length, lent, children=children)


def fill(fills):
    for place, content in fills:
        place[:] = content
    fills.clear()


def raw(kind):
    """Arrays of a kind of text or bytes that are damaged."""
    large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    data = b"abcdefgh"
    for numbers in [(0, 4, 2, 6), (0, -1, 2, 6), (-2, 0, 3, 6), (0, 3, 1 << 30, 6), (7, 3, 3, 6)]:
        yield of(kind, 3, [None, offsets(*numbers, large=large), data])
    yield of(kind, 3, [None, offsets(0, 1, 2, -3, large=large), data])


def damaged():
    """Names and arrays, none of which is valid."""
    numbers = pa.array(range(4), pa.int32())
    for kind in [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]:
        for number, array in enumerate(raw(kind)):
            yield f"{kind} {number}", array
    for kind, large in [(pa.string(), False), (pa.large_string(), True)]:
        for number, text in enumerate([b"ab\xffdef", b"abc\xc3\xa4f"]):
            # The second one cuts a character in two.
            buffers = [None, offsets(0, 2, 4, 6, large=large), text]
            yield f"{kind} text {number}", of(kind, 3, buffers)
    short, data = view(3, inline=b"abc"), b"x" * 40
    for name, bad in [
        ("number", view(20, b"xxxx", 1, 0)),
        ("negative number", view(20, b"xxxx", -1, 0)),
        ("end", view(20, b"xxxx", 0, 30)),
        ("negative offset", view(20, b"xxxx", 0, -8)),
        ("far", view(20, b"xxxx", 0, 1 << 30)),
        ("negative length", view(-1, b"xxxx", 0, 0)),
        ("prefix", view(20, b"abcd", 0, 0)),
        ("padding", view(3, inline=b"abc\0z")),
    ]:
        for kind in [pa.string_view(), pa.binary_view()]:
            yield f"{kind} {name}", of(kind, 3, [None, short + bad + short, data])
    yield "view text", of(pa.string_view(), 1, [None, view(2, inline=b"a\xff")])
    for index in [pa.int8(), pa.uint16(), pa.int32(), pa.int64()]:
        for bad in [2, 100] + ([-1] if pa.types.is_signed_integer(index) else []):
            keys = pa.array([0, bad, 1], index)
            values = pa.array(["a", "b"])
            yield f"dictionary {index} {bad}", pa.DictionaryArray.from_arrays(keys, values, safe=False)
    for kind, large in [(pa.list_(pa.int32()), False), (pa.large_list(pa.int32()), True)]:
        for numbers_ in [(0, 3, 1, 4), (0, 2, 9, 4), (0, 2, 3, 9), (-1, 2, 3, 4)]:
            buffers = [None, offsets(*numbers_, large=large)]
            yield f"{kind} {numbers_}", of(kind, 3, buffers, [numbers])
    entries = pa.array([{"key": "a", "value": 1}] * 4, pa.struct([pa.field("key", pa.string(), False), ("value", pa.int32())]))
    yield "map", of(pa.map_(pa.string(), pa.int32()), 2, [None, offsets(0, 3, 9)], [entries])
    for sizes in [(2, 9), (2, -1)]:
        buffers = [None, offsets(0, 2), offsets(*sizes)]
        yield f"list view {sizes}", of(pa.list_view(pa.int32()), 2, buffers, [numbers])
    for ends in [(2, 1, 3), (0, 2, 3), (1, 2, 2), (1, 5, 3)]:
        place = bytearray(offsets(1, 2, 3))
        run_ends = pa.Array.from_buffers(pa.int32(), 3, [None, pa.py_buffer(place)])
        array = pa.RunEndEncodedArray.from_arrays(run_ends, numbers[:3])
        FILLS.append((place, offsets(*ends)))
        yield f"runs {ends}", array
    sparse = pa.union([pa.field("a", pa.int32())], "sparse")
    dense = pa.union([pa.field("a", pa.int32())], "dense")
    yield "union type", of(sparse, 2, [None, bytes([0, 5])], [numbers])
    yield "union offset", of(dense, 2, [None, bytes(2), offsets(0, 9)], [numbers])


# By name: an array that pytest shows of a failed test would end it.
DAMAGED = {}
for name, array in damaged():
    DAMAGED[name] = array, list(FILLS)
    FILLS.clear()


class Batch:
    """A batch of another library, behind nothing but Arrow's interface."""

    def __init__(self, array):
        self.batch = pa.RecordBatch.from_arrays([pa.array(range(len(array))), array], ["number", "bad"])

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__()


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_columns_are_told(name, tmp_path):
    array, fills = DAMAGED[name]
    inputs = []
    for each in [
        array,
        pa.StructArray.from_arrays([array], ["inner"]),
        pa.ListArray.from_arrays(pa.array([0, len(array)], pa.int32()), array),
    ]:
        batch = Batch(each)
        reader = pa.RecordBatchReader.from_batches(batch.batch.schema, [batch.batch])
        inputs.append((batch, reader))
    fill(fills)
    for batch, reader in inputs:
        for data in [batch, reader, [batch]]:
            for memory in ["1G", "4M"]:
                if data is reader and memory == "4M":
                    continue
                with pytest.raises(xsort.Unsuitable, match="isn't valid Arrow data: column 'bad'"):
                    xsort.sorted_batches(data, by="number", memory=memory, scratch=tmp_path)
        with pytest.raises(xsort.Unsuitable, match="isn't valid Arrow data: column 'bad'"):
            xsort._xsort._BatchDigester(batch, ["number"])


def test_slices_of_damaged_columns_without_the_damage_are_sorted():
    array = of(pa.string(), 4, [None, offsets(0, 1, 2, 9, 3), b"ba\xffxxxxxx"])
    table = pa.table({"text": array[:2]})
    fill(FILLS)
    assert pa.table(xsort.sorted_batches(table, by="text"))["text"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize("memory", ["1G", "4M"])
def test_what_is_behind_nulls_may_be_anything(memory, tmp_path):
    mask = bytes([0b101])
    views = view(2, inline=b"bb") + view(50, b"zzzz", 77, 12345) + view(1, inline=b"a")
    keys = of(pa.int8(), 3, [mask, bytes([1, 99, 0])])
    columns = {
        "text": of(pa.string(), 3, [mask, offsets(0, 2, 4, 5), b"bb\xff\xfea"]),
        "large": of(
            pa.large_string(), 3, [mask, offsets(0, 2, 4, 5, large=True), b"bb\xff\xfea"]
        ),
        "view": of(pa.string_view(), 3, [mask, views, b"c" * 20]),
        "bytes": of(pa.binary_view(), 3, [mask, views, b"c" * 20]),
        "key": pa.DictionaryArray.from_arrays(keys, pa.array(["a", "bb"]), safe=False),
    }
    columns["struct"] = pa.StructArray.from_arrays([columns["view"], columns["text"]], ["v", "t"])
    columns["list"] = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), columns["view"])
    table = pa.table(columns)
    fill(FILLS)
    for by in columns:
        data = pa.concat_tables([table] * 30_000) if memory == "4M" and by == "text" else table
        found = pa.table(xsort.sorted_batches(data, by=by, memory=memory, scratch=tmp_path))
        found.validate(full=True)
        times = data.num_rows // 3
        expected = ["a"] * times + ["bb"] * times + [None] * times
        assert found["text"].to_pylist() == expected and found["view"].to_pylist() == expected
        assert found["key"].to_pylist() == expected and found["large"].to_pylist() == expected
        assert found["list"].to_pylist() == [[value] for value in expected]


class CArray(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ["length", "null_count", "offset", "n_buffers", "n_children"]),
        *((name, ctypes.c_void_p) for name in ["buffers", "children", "dictionary", "release", "private"]),
    ]


class CSchema(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ["format", "name", "metadata"]),
        *((name, ctypes.c_int64) for name in ["flags", "n_children"]),
        *((name, ctypes.c_void_p) for name in ["children", "dictionary", "release", "private"]),
    ]


def pointer(capsule, name):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


@ctypes.CFUNCTYPE(None, ctypes.POINTER(CArray))
def forget_array(array):
    """Releases nothing: pyarrow would follow what was changed."""
    array[0].release = None


@ctypes.CFUNCTYPE(None, ctypes.POINTER(CSchema))
def forget_schema(schema):
    schema[0].release = None


class Changed:
    """A batch whose structs of C were changed."""

    def __init__(self, change, column, data=None):
        batch = pa.record_batch({"column": pa.array(["a", None, "c"]) if data is None else data})
        self.capsules = batch.__arrow_c_array__()
        self.schema = CSchema.from_address(pointer(self.capsules[0], b"arrow_schema"))
        array = CArray.from_address(pointer(self.capsules[1], b"arrow_array"))
        children = ctypes.cast(array.children, ctypes.POINTER(ctypes.c_void_p))
        self.child = CArray.from_address(children[0])
        self.array = array
        self.array.release = ctypes.cast(forget_array, ctypes.c_void_p)
        self.schema.release = ctypes.cast(forget_schema, ctypes.c_void_p)
        change(self)

    def __arrow_c_array__(self, requested_schema=None):
        return self.capsules


def set_(place, name, value):
    return lambda changed: setattr(getattr(changed, place), name, value)


def no_buffer(number):
    def change(changed):
        ctypes.cast(changed.child.buffers, ctypes.POINTER(ctypes.c_void_p))[number] = None

    return change


@pytest.mark.parametrize(
    "change, message",
    [
        (set_("child", "length", -1), "length -1"),
        (set_("child", "length", (1 << 63) - 1), "length 9223372036854775807"),
        (set_("child", "offset", -5), "offset -5"),
        (set_("child", "offset", 1 << 62), "offset 4611686018427387904"),
        (set_("child", "length", 2), "length smaller than expected"),
        (set_("child", "null_count", -2), "-2 nulls"),
        (set_("child", "null_count", 0), "0 nulls by number, and 1 in the bitmap"),
        (set_("child", "null_count", 2), "2 nulls by number, and 1 in the bitmap"),
        (no_buffer(0), "1 nulls by number, and 0 in the bitmap"),
        (no_buffer(1), "a buffer of an array of Utf8 is missing"),
        (no_buffer(2), "a buffer of an array of Utf8 is missing"),
        (set_("child", "n_buffers", 2), "2 buffers of 3"),
        (set_("child", "n_buffers", -1), "-1 buffers"),
        (set_("child", "buffers", None), "3 buffers, which aren't there"),
        (set_("array", "n_children", 0), "0 children of 1"),
        (set_("array", "n_children", -7), "-7 children"),
        (set_("array", "children", None), "1 children, which aren't there"),
        (set_("array", "release", None), "was released"),
        (set_("schema", "n_children", -1), "-1 children of a type"),
        (set_("schema", "children", None), "1 children of a type"),
        (set_("schema", "format", None), "no format"),
        (set_("schema", "release", None), "was released"),
    ],
)
def test_structs_that_can_not_be_are_told(change, message):
    with pytest.raises(xsort.Unsuitable, match=message):
        xsort.sorted_batches(Changed(change, "column"), by="column")


def test_a_stream_that_was_read_is_told():
    capsule = pa.table({"a": [1]}).__arrow_c_stream__()

    class Again:
        def __arrow_c_stream__(self, requested_schema=None):
            return capsule

    assert len(list(xsort.sorted_batches(Again(), by="a"))) == 1
    with pytest.raises(xsort.Unsuitable, match="read already"):
        xsort.sorted_batches(Again(), by="a")


def test_types_that_are_nested_too_deep_are_told():
    kind = pa.int32()
    for _ in range(70):
        kind = pa.list_(kind)
    with pytest.raises(xsort.Unsuitable, match="more than 64 deep"):
        xsort.sorted_batches(pa.table({"a": pa.array([], kind)}), by="a")


def test_what_slices_of_a_table_share_is_looked_at_once():
    """Each would otherwise take as long as the whole table."""
    FILLS.clear()
    text = bytearray(b"ab" * 4)
    values = pa.Array.from_buffers(
        pa.string(), 4, [None, pa.py_buffer(offsets(0, 2, 4, 6, 8)), pa.py_buffer(text)]
    )
    table = pa.table(
        {
            "number": [4, 3, 2, 1],
            "list": pa.ListArray.from_arrays(pa.array(range(5), pa.int32()), values),
            "kind": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), values),
        }
    )

    def slices():
        first, *rest = table.to_batches(max_chunksize=1)
        yield first
        # Whoever looks again finds this.
        text[:] = b"\xff" * 8
        yield from rest

    reader = pa.RecordBatchReader.from_batches(table.schema, slices())
    assert len(pa.table(xsort.sorted_batches(reader, by="number"))) == 4
    with pytest.raises(xsort.Unsuitable, match="column 'list'"):
        xsort.sorted_batches(table, by="number")
