"""The steps of `xsort part` for rows of Parquet, which the program starts as a process.

A request, an object of JSON, comes on standard input. What a part has goes to standard output. The
last line on standard error is an object with an answer, or with an error: of which range of the
request ("lost", "damaged"), if it is one's.

A sorted slice is a file of Arrow's messages, each a batch of rows without a schema; a range of it is
some of them. A merge sorts what it reads of its ranges, in the order of their slices, so that any
number of them takes the memory it is given. Counts and sums of rows are compared on the way.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import sys
import urllib.error
import urllib.request
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from ._xsort import _BatchDigester, sorted_batches

# What the interpreter and pyarrow take, beside what they read: an estimate, not a bound.
OWN_BYTES = 144 << 20
# The least that is left for rows.
ROWS_BYTES_MIN = 64 << 20
# Rows of a batch in a slice, between which it may be cut.
SLICE_ROWS = 8192
# Rows that are read at once, at most, and bytes of a column's buffer.
READ_ROWS = 16384
READ_BYTES = 1 << 20
# Bytes of a row group that is written, about, as they are in memory.
GROUP_BYTES = 64 << 20
# Seconds until a server that says nothing is lost.
SILENCE = 30.0

_PR_SET_PDEATHSIG = 1


class Failure(Exception):
    """What can be said of the request: `said` are fields of the error."""

    def __init__(self, text: str, **said: Any) -> None:
        super().__init__(text)
        self.said = said


# Files.


def file_system(path: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """What reads a path, and the path there."""
    scheme, colon, rest = path.partition("://")
    if not colon:
        return pyarrow.fs.LocalFileSystem(), path
    if scheme == "s3":
        return _s3(), rest
    if scheme == "gs":
        return pyarrow.fs.GcsFileSystem(), rest
    raise Failure(f"{path}: Parquet is read from files, s3:// and gs://")


def _s3() -> pyarrow.fs.FileSystem:
    options: dict[str, Any] = {}
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region:
        options["region"] = region
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        options["scheme"], _, options["endpoint_override"] = endpoint.partition("://")
    return pyarrow.fs.S3FileSystem(**options)


class Input:
    """A file of Parquet."""

    def __init__(self, path: str) -> None:
        system, name = file_system(path)
        self.path = path
        # A column is read as it is needed, so that a row group may be larger than memory.
        self.file = pq.ParquetFile(
            system.open_input_file(name), buffer_size=READ_BYTES, pre_buffer=False
        )
        self.schema = plain(self.file.schema_arrow)

    def groups(self, offset: int, length: int) -> list[int]:
        """The row groups that begin in a range of the file."""
        metadata = self.file.metadata
        found = []
        for group in range(metadata.num_row_groups):
            if metadata.num_columns:
                column = metadata.row_group(group).column(0)
                at = column.dictionary_page_offset or column.data_page_offset
                if offset <= at < offset + length:
                    found.append(group)
        return found

    def batches(self, group: int, columns: list[int] | None = None) -> Iterator[pa.RecordBatch]:
        """Rows of a group; of these columns only, if any are named."""
        schema, names = self.schema, None
        if columns is not None:
            schema = pa.schema([schema.field(column) for column in columns])
            names = schema.names
        rows = self.file.iter_batches(
            READ_ROWS, row_groups=[group], columns=names, use_threads=False
        )
        for batch in rows:
            if batch.schema.names != schema.names:
                # Names that are doubled, or that look like paths.
                batch = batch.select([self.schema.names.index(name) for name in schema.names])
            yield batch.cast(schema) if batch.schema != schema else batch


def plain(schema: pa.Schema) -> pa.Schema:
    """The schema with the values of dictionaries: messages have none."""
    for at, field in enumerate(schema):
        if pa.types.is_dictionary(field.type):
            schema = schema.set(at, field.with_type(field.type.value_type))
    return schema


class Kept:
    """Batches whose error is kept: of one that passes through a stream only words are left."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self.batches = batches
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self.batches
        except Exception as error:
            self.error = error
            raise


class Rows:
    """The request's files, which all have the columns of the first."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.by: list[str] = request["by"]
        self.first = Input(request["first"])
        self.schema = self.first.schema
        self.memory = request["memory"] - OWN_BYTES
        if self.memory < ROWS_BYTES_MIN:
            least = (OWN_BYTES + ROWS_BYTES_MIN) >> 20
            raise Failure(f"Parquet takes {least} MiB of memory at least: give it more (-m)")
        self.threads = request["threads"]
        self.digester = _BatchDigester(self.empty(), self.by)

    def empty(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], self.schema.remove_metadata())

    def open(self, path: str) -> Input:
        opened = Input(path)
        if not opened.schema.equals(self.schema):
            raise Failure(f"{path} has other columns than {self.first.path}, the first input")
        return opened

    def read(self, inputs: Iterable[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
        """All rows of ranges of files."""
        for each in inputs:
            opened = self.open(each["path"])
            for group in opened.groups(each["offset"], each["bytes"]):
                yield from opened.batches(group)

    def sorted(
        self, batches: Iterator[pa.RecordBatch], rows: int, scratch: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Batches in order, of so many rows at most."""
        kept = Kept(batches)
        try:
            with sorted_batches(
                pa.RecordBatchReader.from_batches(self.schema, iter(kept)),
                by=self.by,
                batch_rows=rows,
                memory=self.memory,
                threads=self.threads,
                scratch=list(scratch),
            ) as result:
                for batch in result:
                    yield pa.record_batch(batch)
        except Exception:
            if kept.error is not None:
                raise kept.error from None
            raise

    def digest(self, batch: pa.RecordBatch) -> tuple[pa.Array, bool, int]:
        """Keys, whether they ascend, the sum."""
        keys, is_sorted, total = self.digester.digest(batch)
        return pa.record_batch(keys).column(0), is_sorted, total


class Sum:
    """Count and sum of rows."""

    def __init__(self) -> None:
        self.rows = self.sum = 0

    def add(self, rows: int, total: int) -> None:
        self.rows += rows
        self.sum += total

    def said(self) -> dict[str, Any]:
        return {"rows": self.rows, "sum": f"{self.sum:x}"}


class Order:
    """Whether batches go on where the one before ended."""

    def __init__(self) -> None:
        self.first: bytes | None = None
        self.last: bytes | None = None

    def goes_on(self, keys: pa.Array, is_sorted: bool) -> bool:
        if not len(keys):
            return True
        first = keys[0].as_py()
        ascends = is_sorted and (self.last is None or self.last <= first)
        self.first = first if self.first is None else self.first
        self.last = keys[-1].as_py()
        return ascends


# Steps.


def look(request: dict[str, Any]) -> dict[str, Any]:
    """Whether the columns are there."""
    Rows(request)
    return {}


def sample(request: dict[str, Any]) -> dict[str, Any]:
    """Keys at even distances, of all row groups: of the columns of keys only."""
    rows, said = Rows(request), request["of_step"]
    columns, digester = rows.digester.of_keys()
    groups = []
    for each in said["inputs"]:
        opened = rows.open(each["path"])
        metadata = opened.file.metadata
        for group in opened.groups(each["offset"], each["bytes"]):
            groups.append((opened, group, metadata.row_group(group).num_rows))
    total = sum(count for _, _, count in groups)
    wanted = min(said["keys"], total)
    places = [(place * 2 + 1) * total // (wanted * 2) for place in range(wanted)]
    keys, row, at = [], 0, 0
    for opened, group, count in groups:
        if at == len(places) or places[at] >= row + count:
            row += count
            continue
        for batch in opened.batches(group, columns):
            end = row + batch.num_rows
            if at < len(places) and places[at] < end:
                found = pa.record_batch(digester.digest(batch)[0]).column(0)
                while at < len(places) and places[at] < end:
                    offset = places[at] * said["bytes"] // total
                    key = found[places[at] - row].as_py().hex()
                    keys.append({"key": key, "offset": min(offset, said["bytes"] - 1)})
                    at += 1
            row = end
    return {"keys": keys}


class Cuts:
    """Where a sorted slice is cut. It is written in pieces that end wherever a splitter's key begins
    or ends, and where a batch does; `ends` has bytes, rows and sum of all before each end."""

    def __init__(self, splitters: list[dict[str, Any]]) -> None:
        self.splitters = splitters
        self.keys = [bytes.fromhex(each["key"]) for each in splitters]
        self.distinct = sorted(set(self.keys))
        self.ends: list[tuple[int, int, int]] = [(0, 0, 0)]
        # The number of ends before each distinct key, and up to its end.
        self.below: dict[bytes, int] = {}
        self.up_to: dict[bytes, int] = {}

    def pieces(self, keys: pa.Array) -> list[int]:
        """Where a batch is divided: rows, ascending, all of them in the end."""
        view = _Keys(keys)
        lowest, highest = view[0], view[len(view) - 1]
        near = self.distinct[
            bisect_left(self.distinct, lowest) : bisect_right(self.distinct, highest)
        ]
        rows = {len(view)}
        for key in near:
            rows |= {bisect_left(view, key), bisect_right(view, key)}
        return sorted(rows - {0})

    def add(self, length: int, rows: int, total: int, first: bytes) -> None:
        """A piece was written, whose first key this is."""
        for key in self.distinct[: bisect_right(self.distinct, first)]:
            if key not in self.below:
                self.below[key] = len(self.ends) - 1
            if key < first and key not in self.up_to:
                self.up_to[key] = len(self.ends) - 1
        before = self.ends[-1]
        self.ends.append((before[0] + length, before[1] + rows, before[2] + total))

    def parts(self, slice_: int, slice_bytes: int, parts: int) -> list[list[Any]]:
        """Offset, bytes, rows and sum of each part."""
        cuts = [self._cut(at, slice_, slice_bytes) for at in range(len(self.splitters))]
        # A job without bytes has no splitters.
        cuts += [len(self.ends) - 1] * (parts - len(cuts))
        found, begin = [], self.ends[0]
        for cut in cuts:
            end = self.ends[cut]
            found.append(
                [begin[0], end[0] - begin[0], end[1] - begin[1], f"{end[2] - begin[2]:x}"]
            )
            begin = end
        return found

    def _cut(self, at: int, slice_: int, slice_bytes: int) -> int:
        """The number of pieces below a splitter. Of its own slice those with its key are divided as
        its offset divides the slice."""
        splitter, last = self.splitters[at], len(self.ends) - 1
        below = self.below.get(self.keys[at], last)
        up_to = self.up_to.get(self.keys[at], last)
        if slice_ != splitter["slice"]:
            return up_to if slice_ < splitter["slice"] else below
        rows = self.ends[up_to][1] - self.ends[below][1]
        wanted = self.ends[below][1] + rows * splitter["offset"] // max(slice_bytes, 1)
        return min(range(below, up_to + 1), key=lambda end: abs(self.ends[end][1] - wanted))


class _Keys(Sequence[bytes]):
    """Keys as a sequence that bisect takes."""

    def __init__(self, keys: pa.Array) -> None:
        self.keys = keys

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, at: Any) -> Any:
        return self.keys[at].as_py()


def map_(request: dict[str, Any]) -> dict[str, Any]:
    """Sorts a slice to its file."""
    rows, said = Rows(request), request["of_step"]
    cuts, order = Cuts(said["splitters"]), Order()
    with open(said["data"], "wb", buffering=1 << 20) as file:
        for batch in rows.sorted(rows.read(said["inputs"]), SLICE_ROWS, said["scratch"]):
            keys, is_sorted, total = rows.digest(batch)
            if not order.goes_on(keys, is_sorted):
                raise Failure("the sorted slice is out of order: this is a fault of xsort")
            begin = 0
            for end in cuts.pieces(keys):
                piece = batch.slice(begin, end - begin)
                if piece.num_rows < batch.num_rows:
                    total = rows.digest(piece)[2]
                message = piece.serialize()
                file.write(message)
                cuts.add(message.size, piece.num_rows, total, keys[begin].as_py())
                begin = end
        file.flush()
        if said["sync"]:
            os.fsync(file.fileno())
    return {"parts": cuts.parts(said["slice"], said["bytes"], said["parts"])}


class Range:
    """A range of a file or of what a server has, as a file that ends."""

    closed = False

    def __init__(self, number: int, path: str, offset: int, length: int) -> None:
        self.number, self.path, self.left = number, path, length
        try:
            if "://" in path:
                asked = {"Range": f"bytes={offset}-{offset + length - 1}"}
                self.file: Any = urllib.request.urlopen(
                    urllib.request.Request(path, headers=asked), timeout=SILENCE
                )
                if self.file.status != 206:
                    raise OSError(f"status {self.file.status} for a range")
            else:
                self.file = open(path, "rb")
                self.file.seek(offset)
        except OSError as error:
            raise self._lost(error) from error

    def read(self, wanted: int = -1) -> bytes:
        wanted = self.left if wanted < 0 else min(wanted, self.left)
        pieces = []
        while wanted:
            try:
                piece = self.file.read(wanted)
                if not piece:
                    raise OSError("it ends too early")
            except OSError as error:
                raise self._lost(error) from error
            pieces.append(piece)
            wanted -= len(piece)
            self.left -= len(piece)
        return b"".join(pieces)

    def _lost(self, error: OSError) -> Failure:
        # The URL of a server has a secret in it.
        shown = re.sub(r"(?<=^http://)([^/]+/)[^/]+", r"\1***", self.path)
        return Failure(f"{shown}: {error}", lost=self.number)

    def close(self) -> None:
        self.file.close()


def ranges(rows: Rows, said: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    """All rows of ranges, compared with what was written of each."""
    for number, each in enumerate(said):
        entry, came = each["entry"], Sum()
        source = Range(number, each["path"], entry["offset"], entry["bytes"])
        stream = pa.PythonFile(source, mode="r")
        try:
            while source.left:
                batch = pa.ipc.read_record_batch(pa.ipc.read_message(stream), rows.schema)
                # What a drive or a link has changed may point anywhere.
                batch.validate(full=True)
                came.add(batch.num_rows, rows.digest(batch)[2])
                yield batch
        except (pa.ArrowException, OSError, EOFError) as error:
            raise Failure(f"no message of Arrow's: {error}", damaged=number) from error
        finally:
            source.close()
        if (came.rows, f"{came.sum:x}") != (entry["records"], entry["checksum"]):
            text = f"{came.rows} rows with checksum {came.sum:x} have come, and "
            text += f"{entry['records']} with {entry['checksum']} were written"
            raise Failure(text, damaged=number)


def merge(request: dict[str, Any]) -> dict[str, Any]:
    """Writes a part to standard output."""
    rows, said = Rows(request), request["of_step"]
    count = sum(each["entry"]["records"] for each in said["ranges"])
    length = sum(each["entry"]["bytes"] for each in said["ranges"])
    group = min(GROUP_BYTES, rows.memory // 8)
    rows.memory -= 2 * group
    group_rows = max(1024, group * count // max(length, 1))
    came, order = Sum(), Order()
    with pq.ParquetWriter(
        pa.PythonFile(sys.stdout.buffer, "w"), rows.schema, compression=compression(rows.first)
    ) as writer:
        for batch in rows.sorted(ranges(rows, said["ranges"]), SLICE_ROWS, said["scratch"]):
            keys, is_sorted, total = rows.digest(batch)
            if not order.goes_on(keys, is_sorted):
                raise Failure("the merged part is out of order: this is a fault of xsort")
            came.add(batch.num_rows, total)
            writer.write_batch(batch, row_group_size=group_rows)
    sys.stdout.buffer.flush()
    ends = [key.hex() if key is not None else None for key in (order.first, order.last)]
    return {**came.said(), "first": ends[0], "last": ends[1]}


def compression(first: Input) -> str:
    """As the first input's."""
    metadata = first.file.metadata
    if metadata.num_row_groups and metadata.num_columns:
        name = str(metadata.row_group(0).column(0).compression).lower()
        return {"uncompressed": "none", "lz4_raw": "lz4"}.get(name, name)
    return "snappy"


def verify(request: dict[str, Any]) -> dict[str, Any]:
    """Reads parts and inputs again."""
    rows, said = Rows(request), request["of_step"]
    outputs, inputs, order, disorder = Sum(), Sum(), Order(), None
    for number, path in enumerate(said["outputs"]):
        opened = rows.open(path)
        for group in range(opened.file.metadata.num_row_groups):
            for batch in opened.batches(group):
                keys, is_sorted, total = rows.digest(batch)
                if not order.goes_on(keys, is_sorted) and disorder is None:
                    disorder = f"part {number} is out of order in row group {group}"
                outputs.add(batch.num_rows, total)
    for batch in rows.read(said["inputs"]):
        inputs.add(batch.num_rows, rows.digest(batch)[2])
    return {"outputs": outputs.said(), "inputs": inputs.said(), "disorder": disorder}


STEPS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "look": look,
    "sample": sample,
    "map": map_,
    "merge": merge,
    "verify": verify,
}


def main() -> int:
    """Does a step; its exit status."""
    # Whoever started this may be killed.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        return 1
    # Batches are freed where they were made, and small pieces don't keep large ones.
    pa.set_memory_pool(pa.system_memory_pool())
    request = json.load(sys.stdin)
    said: dict[str, Any]
    try:
        said = {"answer": STEPS[request["step"]](request)}
    except Exception as error:
        text = str(error).strip().splitlines()
        said = {"error": text[0] if text else type(error).__name__}
        said |= error.said if isinstance(error, Failure) else {}
    print(json.dumps(said), file=sys.stderr)
    return 0 if "answer" in said else 1


if __name__ == "__main__":
    sys.exit(main())
