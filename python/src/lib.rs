//! The Python package `xsort`: its native module, which Python's files import as `xsort._xsort`.
//!
//! It contains no logic. Python's arguments become settings of a builder of the library, the
//! builder runs on a thread of its own with the interpreter released, and its report or error
//! becomes a Python object.
//!
//! | file | idea |
//! |---|---|
//! | `arguments` | Python's values as the library's |
//! | `resources` | the arguments that all calls have |
//! | `job` | work beside the interpreter, which Ctrl-C ends |
//! | `progress` | how far a job is, as Python's callable gets it |
//! | `errors` | the library's errors as exceptions |
//! | `reports` | what was done, as objects |
//! | `sorter` | records that are pushed, and come out in order |
//! | `pump`, `batch` | the thread that has the library's end of that, and what it gets and gives |
//! | `sort_key` | Python's values as keys of bytes |
//! | `merge` | iterables that are in order, as one |
//! | `output` | a file of a name, or a file object |
//! | `sort`, `lines`, `table`, `verify`, `generate`, `du` | the calls |
#![forbid(unsafe_code)]

mod arguments;
mod batch;
mod du;
mod errors;
mod generate;
mod job;
mod lines;
mod merge;
mod output;
mod progress;
mod pump;
mod reports;
mod resources;
mod sort;
mod sort_key;
mod sorter;
mod table;
mod verify;

/// The native module.
#[pyo3::pymodule]
mod _xsort {
    #[pymodule_export]
    use crate::du::du;
    #[pymodule_export]
    use crate::generate::generate;
    #[pymodule_export]
    use crate::job::wait_for_interrupted_jobs;
    #[pymodule_export]
    use crate::lines::sort_lines;
    #[pymodule_export]
    use crate::merge::{Merged, merge};
    #[pymodule_export]
    use crate::progress::Progress;
    #[pymodule_export]
    use crate::reports::{
        GenerateReport, LinesReport, SortReport, SorterReport, TableReport, TreeUsage, Usage,
        Verdict,
    };
    #[pymodule_export]
    use crate::sort::sort;
    #[pymodule_export]
    use crate::sort_key::{Descending, key};
    #[pymodule_export]
    use crate::sorter::{SortedRecords, Sorter};
    #[pymodule_export]
    use crate::table::sort_table;
    #[pymodule_export]
    use crate::verify::verify;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
