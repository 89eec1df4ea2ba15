//! What is served: a directory of sorted slices, to those who know the token.

use std::path::PathBuf;

/// What is served.
pub(super) struct Served {
    pub(super) directory: PathBuf,
    pub(super) token: String,
}
