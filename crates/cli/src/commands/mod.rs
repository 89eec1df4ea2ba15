//! Commands that are little more than a call of their pipeline. `status`, `lines` and `du` have
//! folders of their own.

pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod generate;
mod gnu_definition;
mod keyed_plan;
pub(crate) mod manual;
pub(crate) mod part;
mod session_options;
pub(crate) mod sort;
mod sort_prefixed;
mod summary_file;
pub(crate) mod table;
mod verdict;
pub(crate) mod verify;
mod verify_prefixed;
