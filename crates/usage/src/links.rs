//! Which of a file's names is the one that counts.
//!
//! GNU du counts a file of several names under the one that it meets first, and leaves out the
//! others; so the sums of directories depend on the order of the walk. Here threads walk in any
//! order. What they find of such files is kept aside until the argument is walked, with its
//! directories, which can't be complete before; then each file is charged to the name that GNU's
//! walk meets first. So the numbers are GNU's, and the same in each run.
//!
//! Kept are not all names: now and then, whenever there are twice as many as were left the last
//! time, only the first of each file stays. Two names can't be told apart while the directory in
//! which their paths part is still being listed, for large ones are sorted; so they both stay until
//! later.

use crate::directory::{Directory, Place, compare};
use crate::status::Nature;
use crate::usage::Usage;
use std::cmp::Ordering;
use std::sync::Arc;

/// Names that are not worth a look at which of them can go: a few MiB.
const FEW: usize = 32 << 10;

/// A name of a file that has several. It is a task of its directory until it is charged or dropped.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) nature: Nature,
    pub(crate) usage: Usage,
    pub(crate) within: Arc<Directory>,
    pub(crate) place: Place,
    /// If the visitor is to be told of it.
    pub(crate) name: Option<Box<[u8]>>,
}

/// Names that may count.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    links: Vec<Link>,
    /// How many were left the last time.
    left: usize,
}

impl Kept {
    /// Adds names. Returns those that are out, now and then.
    pub(crate) fn add(&mut self, links: impl Iterator<Item = Link>) -> Vec<Link> {
        self.links.extend(links);
        if self.links.len() > FEW.max(2 * self.left) { self.thin() } else { Vec::new() }
    }

    /// When all is listed: the names that count, one for each file, and those that don't.
    pub(crate) fn decide(mut self) -> (Vec<Link>, Vec<Link>) {
        let out = self.thin();
        (self.links, out)
    }

    /// Takes out names that come after another of the same file.
    fn thin(&mut self) -> Vec<Link> {
        self.links.sort_unstable_by_key(|link| link.nature.identity);
        let mut out = Vec::new();
        let mut first = 0;
        let mut stay: Vec<Link> = Vec::with_capacity(self.links.len() / 2);
        for mut link in self.links.drain(..) {
            if stay.last().is_none_or(|last| last.nature.identity != link.nature.identity) {
                first = stay.len();
                stay.push(link);
                continue;
            }
            let is_out =
                stay[first..].iter_mut().any(|other| match compare(&link.at(), &other.at()) {
                    Some(Ordering::Less) => {
                        std::mem::swap(&mut link, other);
                        true
                    }
                    order => order.is_some(),
                });
            if is_out { out.push(link) } else { stay.push(link) }
        }
        self.left = stay.len();
        self.links = stay;
        out
    }
}

impl Link {
    fn at(&self) -> (&Directory, Place) {
        (&self.within, self.place)
    }
}
