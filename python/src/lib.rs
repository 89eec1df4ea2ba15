//! The Python package `xsort`: its native module, which Python's files import as `xsort._xsort`.
//!
//! It contains no logic. Python's arguments become settings of a builder of the library. The
//! builder runs on its own thread with the interpreter released, and its report or error becomes a
//! Python object.
//!
//! | file | idea |
//! |---|---|
//! | `arguments`, `amounts` | Python's values and numbers, converted for the library |
//! | `exported` | the bytes that an object lends |
//! | `array`, `array_layout` | arrays that are sorted where they are, and what their elements are |
//! | `complex_field` | complex numbers that two keys put to other places than NumPy does |
//! | `shared` | versions in shared memory |
//! | `interpreter` | restricts the module to one interpreter |
//! | `resources` | the arguments that all calls share |
//! | `job` | runs a job on its own thread, which Ctrl-C ends |
//! | `progress` | the progress of a job, passed to Python's callable |
//! | `errors` | the library's errors as exceptions |
//! | `reports` | reports as Python objects |
//! | `sorter` | sorts records that are pushed |
//! | `pump`, `batch` | the thread that runs that sort, and the batches that it receives and sends |
//! | `sort_key`, `key_types` | Python's values as keys of bytes; the types of keys |
//! | `sorted_batches` | sorts batches of Arrow |
//! | `batch_pump`, `arrow_input` | the thread that runs that sort, and its input |
//! | `arrow_capsules` | the C interfaces by which batches are passed |
//! | `arrow_shape`, `arrow_valid` | check data from these interfaces |
//! | `batch_digest` | keys and sums of batches |
//! | `merge` | merges iterables that are in order |
//! | `output` | the output: a path or a file object |
//! | `sort`, `lines`, `table`, `verify`, `generate`, `du`, `jobs` | the calls |
// Denied by the workspace, and allowed in files that name it: `array`, `arrow_capsules`,
// `arrow_shape`, `arrow_valid`, `exported`, `shared` and `interpreter`.

mod amounts;
mod arguments;
mod array;
mod array_layout;
mod arrow_capsules;
mod arrow_input;
mod arrow_shape;
mod arrow_valid;
mod batch;
mod batch_digest;
mod batch_pump;
mod channel;
mod columns;
mod complex_field;
mod du;
mod errors;
mod exported;
mod generate;
mod interpreter;
mod job;
mod jobs;
mod key_types;
mod lines;
mod merge;
mod output;
mod progress;
mod pump;
mod reports;
mod resources;
mod shared;
mod sort;
mod sort_key;
mod sorted_batches;
mod sorter;
mod table;
mod verify;

/// The native module.
#[pyo3::pymodule]
mod _xsort {
    #[pymodule_export]
    use crate::array::sort_array;
    #[pymodule_export]
    use crate::batch_digest::BatchDigester;
    #[pymodule_export]
    use crate::du::du;
    #[pymodule_export]
    use crate::generate::generate;
    #[pymodule_export]
    use crate::job::wait_for_interrupted_jobs;
    #[pymodule_export]
    use crate::jobs::jobs;
    #[pymodule_export]
    use crate::lines::sort_lines;
    #[pymodule_export]
    use crate::merge::{Merged, merge};
    #[pymodule_export]
    use crate::progress::Progress;
    #[pymodule_export]
    use crate::reports::{
        BatchesReport, GenerateReport, LinesReport, SortReport, SorterReport, TableReport,
        TreeUsage, Usage, Verdict,
    };
    #[pymodule_export]
    use crate::shared::{Reader, Writer};
    #[pymodule_export]
    use crate::sort::sort;
    #[pymodule_export]
    use crate::sort_key::{Descending, key};
    #[pymodule_export]
    use crate::sorted_batches::{Batch, SortedBatches, sorted_batches};
    #[pymodule_export]
    use crate::sorter::{SortedRecords, Sorter};
    #[pymodule_export]
    use crate::table::sort_table;
    #[pymodule_export]
    use crate::verify::verify;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::interpreter::refuse_others(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
