"""Sort anything bigger than memory, at the speed of the drive.

==================  ===========================================================
to                  use
==================  ===========================================================
sort records        `sort`: files of records of one size
sort text           `sort_lines`: lines, in GNU sort's orders
sort tables         `sort_table`: CSV, TSV, NDJSON, Parquet and Arrow by typed columns
sort arrays         `sort_array`: of NumPy, or anything with a buffer
sort Arrow          `sorted_batches`: tables, frames and streams, by columns
sort what you hold  `Sorter`: records that are pushed, in any number; `key`, `desc`
merge               `merge`: iterables that are in order
check               `verify`: order, count and checksum of records
make data           `generate`: records of the Sort Benchmark
count               `du`: what trees of files take on drives
share               `shm`: versions in memory, for other processes
watch               `jobs`: what runs now, and what killed jobs left
==================  ===========================================================

Each call works with the interpreter released, within `memory`, and returns a report, or raises
`Error`. Ctrl-C stops it: the old output is still there, and scratch is gone.
"""

import atexit as _atexit

from . import _xsort, shm
from ._errors import (
    BudgetTooSmall,
    Corrupt,
    Error,
    FileError,
    NoPermission,
    NoSpace,
    NotFound,
    NotReady,
    Unsuitable,
)
from ._xsort import (
    Batch,
    BatchesReport,
    GenerateReport,
    LinesReport,
    Merged,
    Progress,
    SortedBatches,
    SortedRecords,
    Sorter,
    SorterReport,
    SortReport,
    TableReport,
    TreeUsage,
    Usage,
    Verdict,
    __version__,
    desc,
    du,
    generate,
    jobs,
    key,
    merge,
    sort,
    sort_array,
    sort_lines,
    sort_table,
    sorted_batches,
    verify,
)

__all__ = [
    "Batch",
    "BatchesReport",
    "BudgetTooSmall",
    "Corrupt",
    "Error",
    "FileError",
    "GenerateReport",
    "LinesReport",
    "Merged",
    "NoPermission",
    "NoSpace",
    "NotFound",
    "NotReady",
    "Progress",
    "SortReport",
    "SortedBatches",
    "SortedRecords",
    "Sorter",
    "SorterReport",
    "TableReport",
    "TreeUsage",
    "Unsuitable",
    "Usage",
    "Verdict",
    "__version__",
    "desc",
    "du",
    "generate",
    "jobs",
    "key",
    "merge",
    "shm",
    "sort",
    "sort_array",
    "sort_lines",
    "sort_table",
    "sorted_batches",
    "verify",
]

# Jobs that Ctrl-C has stopped clean up before the process ends.
_atexit.register(_xsort._wait_for_interrupted_jobs)
