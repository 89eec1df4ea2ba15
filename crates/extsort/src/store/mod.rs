//! What a sort keeps on drives: scratch and its seals, the journal and the checkpoint built on it,
//! sequential reading ahead and writing behind.

pub(crate) mod checkpoint;
pub(crate) mod content;
pub(crate) mod journal;
pub(crate) mod open_files;
pub(crate) mod output_prefix;
pub(crate) mod read_ahead;
pub(crate) mod scratch;
pub(crate) mod seal;
pub(crate) mod write_behind;
