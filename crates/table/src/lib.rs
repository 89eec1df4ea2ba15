//! Tables bigger than memory: the rows of CSV and TSV files, in the order of their columns.
//!
//! ```text
//!  inputs --> masks of row ends --> keyed rows --> sort_keyed --> rows --> output
//!           (the reading thread)  (all threads)  (extsort's engine)
//! ```
//!
//! A key is made once when its row is read, and travels before it, so that nothing behind has to
//! parse. A row comes out with the bytes that it came in with.
//!
//! | file | idea |
//! |---|---|
//! | `sort`, `check` | the outlines |
//! | `keying` | rows on their way in: cut, and given their keys |
//! | `index` | where all rows and fields of a text end, in one pass |
//! | `split`, `rows`, `header` | where one row ends, and its fields; the first rows; their names |
//! | `key`, `value`, `number` | what to sort by, and its values as bytes that compare as they do |
//! | `bad_row` | why an input isn't a table |
#![forbid(unsafe_code)]

mod bad_row;
mod check;
mod header;
mod index;
mod key;
mod keying;
mod number;
mod rows;
mod sort;
mod split;
mod value;

pub use check::{Disorder, check_table};
pub use key::{BadKeys, Column, KeyColumn, KeyKind, Keys, Place};
pub use keying::OnBad;
pub use sort::{TableOptions, TableOutput, TableReport, sort_table};
pub use split::{Dialect, NoFormat};
