//! Sorts records of varying length that begin with their length.
//!
//! ```text
//!  inputs --> walk from prefix to prefix --> keyed records --> sort_keyed --> records --> output
//!             (the reading thread)           (all threads)
//! ```
//!
//! Records are written unchanged, with their prefixes.
//!
//! | file | idea |
//! |---|---|
//! | `sort` | the outline |
//! | `options` | the settings |
//! | `keying` | reads an input: cuts its records and builds their keys |
//! | `key_room` | the memory that records take with their keys |
//! | `bad_record` | errors of inputs that can't be sorted |
//! | `input_file` | a file that must not change while it is read |

mod bad_record;
mod input_file;
mod key_room;
mod keying;
mod options;
mod sort;

pub use input_file::{input_file, input_on};
pub use options::PrefixedOptions;
pub use sort::{KeyedRecords, keyed_records, of_records_read, plan_prefixed, sort_prefixed};
