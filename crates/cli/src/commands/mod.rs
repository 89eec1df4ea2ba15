//! Commands that do little more than call their pipeline. `status`, `lines` and `du` have their own
//! folders.

pub(crate) mod bam;
pub(crate) mod bio;
pub(crate) mod cluster;
mod column_format;
#[cfg(feature = "columns")]
mod columns;
#[cfg(not(feature = "columns"))]
#[path = "without_columns.rs"]
mod columns;
pub(crate) mod completions;
pub(crate) mod generate;
mod gnu_definition;
pub(crate) mod help;
mod keyed_plan;
pub(crate) mod manual;
pub(crate) mod part;
mod session_options;
pub(crate) mod sort;
mod sort_prefixed;
mod summary_file;
pub(crate) mod table;
mod table_format;
mod verdict;
pub(crate) mod verify;
mod verify_prefixed;
