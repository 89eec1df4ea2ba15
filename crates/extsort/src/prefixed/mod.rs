//! Sorting records of varying length that begin with their length.
//!
//! ```text
//!  inputs --> walk from prefix to prefix --> keyed records --> sort_keyed --> records --> output
//!             (the reading thread)           (all threads)
//! ```
//!
//! A record comes out with the bytes it came in with, those of its prefix, too.
//!
//! | file | idea |
//! |---|---|
//! | `sort` | the outline |
//! | `options` | what is asked for |
//! | `keying` | records on their way in: cut, and given their keys |
//! | `key_room` | how much memory they take with these |
//! | `bad_record` | why an input can't be sorted |
//! | `input_file` | a file that must stay as it is while it is read |

mod bad_record;
mod input_file;
mod key_room;
mod keying;
mod options;
mod sort;

pub use input_file::{input_file, input_on};
pub use options::PrefixedOptions;
pub use sort::{KeyedRecords, keyed_records, of_records_read, plan_prefixed, sort_prefixed};
