//! Sorts of files beside sorts of indices by arrow-ord, and files that are damaged.

#[path = "../../../arrow/tests/suite/arrays.rs"]
mod arrays;
mod arrow_files;
mod conversions;
mod copied;
mod curves;
mod damage;
mod files;
mod forms;
mod refusals;
mod round_trips;
mod text_columns;
