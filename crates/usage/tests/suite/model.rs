//! A plain walk: one thread, recursion, whole paths, GNU du's order.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use xsort_usage::{Detail, Follow, Links, Options, Usage};

/// What was told of a path: all below, and its own.
pub(crate) type Told = BTreeMap<Vec<u8>, (Usage, Usage)>;

pub(crate) struct Model<'a> {
    pub(crate) options: &'a Options,
    pub(crate) told: Told,
    pub(crate) failed: usize,
    seen: HashSet<(u64, u64)>,
}

impl<'a> Model<'a> {
    pub(crate) fn walk(options: &'a Options, arguments: &[&Path]) -> Model<'a> {
        let mut model = Model { options, told: Told::new(), failed: 0, seen: HashSet::new() };
        for argument in arguments {
            model.visit(argument, 0, &mut Vec::new());
        }
        model
    }

    /// Returns the total of a path; `None` if it doesn't count.
    fn visit(
        &mut self,
        path: &Path,
        depth: usize,
        above: &mut Vec<(u64, u64)>,
    ) -> Option<(Usage, bool)> {
        let follows = match self.options.follow {
            Follow::Never => false,
            Follow::Arguments => depth == 0,
            Follow::Always => true,
        };
        let looked = if follows { fs::metadata(path) } else { fs::symlink_metadata(path) };
        let Ok(metadata) = looked else {
            self.failed += 1;
            return None;
        };
        let identity = (metadata.dev(), metadata.ino());
        let remembers = self.options.remembers_all || self.options.follow == Follow::Always;
        let may_repeat = remembers || (!metadata.is_dir() && metadata.nlink() > 1);
        if self.options.links == Links::Once && may_repeat && !self.seen.insert(identity) {
            return None;
        }
        if above.contains(&identity) {
            return None;
        }
        let mut own = usage(&metadata);
        let mut below = Usage::default();
        if metadata.is_dir() {
            above.push(identity);
            // The listing's order, as the kernel gives it.
            for entry in fs::read_dir(path).unwrap() {
                if let Some((total, is_directory)) =
                    self.visit(&entry.unwrap().path(), depth + 1, above)
                {
                    *(if is_directory { &mut below } else { &mut own }) += total;
                }
            }
            above.pop();
        }
        let mut total = own;
        total += below;
        let is_told = match self.options.detail {
            Detail::Total => false,
            Detail::Directories => metadata.is_dir(),
            Detail::Files => true,
        };
        if depth == 0 || (is_told && depth <= self.options.depth_max) {
            self.told.insert(path.as_os_str().as_bytes().to_vec(), (total, own));
        }
        Some((total, metadata.is_dir()))
    }
}

fn usage(metadata: &Metadata) -> Usage {
    Usage {
        allocated_bytes: metadata.blocks() * 512,
        apparent_bytes: metadata.size(),
        inodes: 1,
        newest: None,
    }
}
