//! The directory of sorted slices that is served to clients with the token.

use std::path::PathBuf;

/// The served directory and its token.
pub(super) struct Served {
    pub(super) directory: PathBuf,
    pub(super) token: String,
}
