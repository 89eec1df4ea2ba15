//! Tables bigger than memory: the rows of CSV and TSV files, in the order of their columns.
//!
//! ```text
//!  inputs --> rows --> keyed rows ---------> sort_lines ---------> rows --> output
//!           (split)   (key, escaped row)   (extsort's engine)   (keys taken away)
//! ```
//!
//! The engine sorts lines. A row may hold any byte, so it is escaped to be one; and its key, made
//! once when the row is read, travels before it, so that nothing behind has to parse. A row comes
//! out with the bytes that it came in with.
//!
//! | file | idea |
//! |---|---|
//! | `sort`, `check` | the outlines |
//! | `keyed` | an input on its way in: rows become lines with keys |
//! | `rows_output` | rows on their way out |
//! | `order` | the order of keys |
//! | `rows`, `split`, `header` | where rows and fields end; what columns are called |
//! | `key`, `value`, `number` | what to sort by, and its values as bytes that compare as they do |
//! | `encode` | the bytes of a keyed row |
//! | `bad_row` | why an input isn't a table |
#![forbid(unsafe_code)]

mod bad_row;
mod check;
mod encode;
mod header;
mod key;
mod keyed;
mod number;
mod order;
mod rows;
mod rows_output;
mod sort;
mod split;
mod value;

pub use check::{Disorder, check_table};
pub use key::{BadKeys, Column, KeyColumn, KeyKind, Keys, Place};
pub use keyed::OnBad;
pub use sort::{TableOptions, TableOutput, TableReport, sort_table};
pub use split::{Dialect, NoFormat};
