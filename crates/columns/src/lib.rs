//! Sort files of columns larger than memory by any of their columns: Parquet and Arrow.
//!
//! ```text
//!  footers --> plan of the memory
//!  row groups --> decoded on all threads --> BatchSorter --> encoded on all threads --> one file
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `columns`, `options` | the builder: from files to a file; what it should do |
//! | `sort_plan`, `read_sorted`, `write_sorted` | decisions before the sort; its two halves |
//! | `order_check`, `groups` | rows out of order; one of several rows with equal keys |
//! | `copied`, `copy_plan` | row groups that are copied as they are; which of them |
//! | `copy_hints`, `overlaps` | what footers say about that; ranges that don't overlap |
//! | `key_ranges`, `ascending` | the keys of row groups; whether simple values are in order |
//! | `places` | where rows belong beside row groups in order |
//! | `copying`, `page_check` | copies a row group; checks pages as they pass |
//! | `verify` | whether files are in order, and have the rows of others |
//! | `first_rows` | the first rows of the order |
//! | `derived`, `keyed_source` | columns to sort by that no file has; batches with all of them |
//! | `text_columns` | texts in another order than that of their bytes |
//! | `curves`, `shapes`, `sample` | space-filling curves; shapes' centres; rows here and there |
//! | `inputs`, `file` | footers and the schema; a file that is read at positions |
//! | `object` | an object in a store, read in windows |
//! | `schema_difference` | why two files can't be sorted together |
//! | `physical` | the schema with which columns are read and written |
//! | `nested` | types inside of lists and structs |
//! | `parquet_types` | types of Arrow's that Parquet has no word for |
//! | `keys`, `leaves` | the columns to sort by; columns of Arrow as leaves of Parquet |
//! | `plan`, `pages` | how the memory is divided; how large pages are |
//! | `arrow_inputs`, `arrow_reading` | inputs in Arrow's format; threads that decode them |
//! | `arrow_messages` | streams of Arrow's messages, and how much memory one takes |
//! | `source`, `sink` | batches of any input; the file that they become |
//! | `text_schema`, `text_values` | the schema of rows of text; texts as values of its types |
//! | `infer` | the schema that rows of text have |
//! | `text_reading`, `text_sink` | rows of text become batches, and batches become rows of text |
//! | `output_files` | the files of an output: one, or several of a size |
//! | `reading`, `gate`, `damage` | threads that decode; room for what they decoded; errors |
//! | `old_times` | times that can't be decoded |
//! | `writing`, `encoding`, `properties` | row groups; threads that encode; how they are written |
//! | `column_orders` | the order in which statistics of floats are |
//! | `dictionaries` | which columns of a row group get one |
//! | `errors` | errors of the crates below |
#![forbid(unsafe_code)]

mod arrow_inputs;
mod arrow_messages;
mod arrow_reading;
mod ascending;
mod column_orders;
mod columns;
mod copied;
mod copy_hints;
mod copy_plan;
mod copying;
mod curves;
mod damage;
mod derived;
mod dictionaries;
mod encoding;
mod errors;
mod file;
mod first_rows;
mod gate;
mod groups;
mod infer;
mod inputs;
mod key_ranges;
mod keyed_source;
mod keys;
mod leaves;
mod nested;
mod object;
mod old_times;
mod options;
mod order_check;
mod output_files;
mod overlaps;
mod page_check;
mod pages;
mod parquet_types;
mod physical;
mod places;
mod plan;
mod properties;
mod read_sorted;
mod reading;
mod sample;
mod schema_difference;
mod shapes;
mod sink;
mod sort_plan;
mod source;
mod text_columns;
mod text_reading;
mod text_schema;
mod text_sink;
mod text_values;
mod verify;
mod write_sorted;
mod writing;

pub use columns::Columns;
pub use options::{Codec, ColumnsOptions, InputFormat, OutputFormat};
pub use text_schema::{BadSchema, parse_schema, schema_text};
