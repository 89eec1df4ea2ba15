//! Which of a file's names is the one that counts.
//!
//! GNU du counts a file of several names under the one that it meets first, and leaves out the others; so the sums of directories depend on the order of the
//! walk. Here threads walk in any order. What they find of such files is kept aside until the argument is walked, with its directories, which can't be complete
//! before; then each file is charged to the name that GNU's walk meets first. So the numbers are GNU's, and the same in each run.

use crate::directory::{Directory, Place, compare};
use crate::status::Identity;
use crate::usage::Usage;
use std::sync::Arc;

/// A name of a file that has several. It is a task of its directory until it is charged or dropped.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) identity: Identity,
    pub(crate) usage: Usage,
    pub(crate) within: Arc<Directory>,
    pub(crate) place: Place,
    /// If the visitor is to be told of it.
    pub(crate) name: Option<Box<[u8]>>,
}

/// Puts the name that counts first among those of each file, and these next to each other.
pub(crate) fn sort(links: &mut [Link]) {
    links.sort_unstable_by(|a, b| {
        a.identity.cmp(&b.identity).then_with(|| compare((&a.within, a.place), (&b.within, b.place)))
    });
}
