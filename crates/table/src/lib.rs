//! Tables bigger than memory: the rows of CSV, TSV and NDJSON files, in the order of their values.
//!
//! ```text
//!  inputs --> masks of row ends --> keyed rows --> sort_keyed --> rows --> output
//!           (the reading thread)  (all threads)  (extsort's engine)
//! ```
//!
//! A key is built once when its row is read, and travels before it, so that later stages never
//! parse. Rows are written unchanged.
//!
//! | file | idea |
//! |---|---|
//! | `sort`, `check` | the outlines |
//! | `options` | the settings |
//! | `parts` | several files of a size |
//! | `open`, `keyed_rows` | inputs whose header is read and whose keys are known |
//! | `format` | the format of an input |
//! | `field_keying`, `json_keying`, `row_rules` | read an input: cut its rows, build their keys |
//! | `row_pieces` | pieces of whole rows, with all of their fields |
//! | `index` | where all rows and fields of a text end, in one pass |
//! | `split`, `rows`, `header` | where one row ends, and its fields; the first rows; their names |
//! | `key`, `value` | the sort keys; values as bytes that compare as the values do |
//! | `curve`, `ranks` | space-filling curves; ranks of values in a sample |
//! | `sample`, `key_layout` | rows here and there in inputs; which values form a key |
//! | `text_keys` | keys of texts in files of columns |
//! | `number`, `time`, `natural` | the bytes of values of these kinds |
//! | `listed` | lists of names whose order counts |
//! | `top_lines` | lines above the rows that begin with given texts |
//! | `time_format` | formats of points in time |
//! | `first_keys` | the first fields of keyed rows: their order, and their numbers |
//! | `incremental` | rows that are nearly in order, sorted as they come |
//! | `on_bad`, `rows_read` | the treatment of values of another type; their number |
//! | `encoding` | texts whose rows can't be found: UTF-16 and UTF-32 |
//! | `row_room`, `row_end` | the memory of long rows; where a row ends that is too long |
//! | `language` | which language orders text |
//! | `json` | rows of JSON: values at paths, in the order of jq |
//! | `bad_row`, `input_error` | errors of inputs, apart from errors of the drive |
//! | `advice` | what a person may have meant |
#![forbid(unsafe_code)]

mod advice;
mod bad_row;
mod check;
mod curve;
mod encoding;
mod field_keying;
mod first_keys;
mod format;
mod header;
mod incremental;
mod index;
mod input_error;
mod json;
mod json_keying;
mod key;
mod key_layout;
mod keyed_rows;
mod language;
mod listed;
mod natural;
mod number;
mod on_bad;
mod open;
mod options;
mod parts;
mod ranks;
mod row_end;
mod row_pieces;
mod row_room;
mod row_rules;
mod rows;
mod rows_read;
mod sample;
mod sort;
mod split;
mod text_keys;
mod time;
mod time_format;
mod top_lines;
mod value;

pub use bad_row::shown;
pub use check::{Disorder, check_table};
pub use curve::CurveShape;
pub use format::{NoFormat, RowFormat};
pub use json::JsonPath;
pub use key::{BadKeys, BestRow, Column, Curve, KeyColumn, KeyKind, Keys, Place};
pub use keyed_rows::{BadRowCounter, KeyedRows, keyed_rows, of_rows};
pub use language::collator;
pub use listed::{ListedNames, NameList, read_names};
pub use on_bad::OnBad;
pub use options::{TableOptions, TableOutput};
pub use parts::PartNames;
pub use ranks::Ranks;
pub use row_pieces::{PieceBytes, RowPiece, RowPieces};
pub use sample::{RowSample, sample_rows};
pub use sort::{plan_table, sort_table, sort_table_and_late};
pub use split::Dialect;
pub use text_keys::{BadText, TextKeys};
pub use time_format::TimeFormat;
pub use xsort_extsort::keyed::Keep;
pub use xsort_extsort::lines::{BadWithin, Within};
pub use xsort_gnu::Collator;
