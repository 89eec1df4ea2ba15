//! Counts objects of a store as a tree: the text between two slashes of a key is a directory.
//! Objects and their bytes are counted; a store has no blocks, and its directories take no space.
//!
//! A list comes in the order of the keys' bytes, so the objects of a directory come one after the
//! other. Only one row per level is kept.

use super::row::Found;
use super::visitor::DuVisitor;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use xsort_gnu::du::{Command, Follow, TimeOf};
use xsort_objects::{Bucket, Listed};
use xsort_usage::{Timestamp, Usage};

/// Counts the objects at a URL, and passes the rows to `visitor`. Returns the sum.
///
/// # Errors
/// The reason why they couldn't be counted.
pub(super) fn count(
    url: &[u8],
    command: &Command,
    visitor: &DuVisitor<'_>,
) -> Result<Usage, String> {
    refuse(command)?;
    let path = url.to_vec();
    let url = Path::new(OsStr::from_bytes(url));
    let environment = Arc::new(|name: &str| std::env::var(name).ok());
    let bucket = Bucket::open(url, environment).map_err(|error| error.to_string())?;
    let root = bucket.url().key.clone();
    let is_directory = root.is_empty() || root.ends_with('/');
    let mut tree = ObjectTree { visitor, command, open: Vec::new(), is_directory };
    tree.enter(String::new(), path);
    let mut is_empty = true;
    let mut add = |object: Listed| {
        is_empty = false;
        let rest = &object.key[root.len()..];
        // If the argument has no slash at its end, a key continues with one.
        let rest = if is_directory { rest } else { rest.strip_prefix('/').unwrap_or(rest) };
        tree.is_directory |= !rest.is_empty();
        tree.add(rest, &object);
        ControlFlow::Continue(())
    };
    bucket.objects(&mut add).map_err(|error| error.to_string())?;
    // A bucket may be empty. A prefix exists only if a key begins with it.
    if is_empty && !root.is_empty() {
        let what = match is_directory {
            true => "there is no object below it",
            false => "there is no such object, and none below it",
        };
        return Err(format!("{}: {what}", url.display()));
    }
    while tree.open.len() > 1 {
        tree.leave();
    }
    Ok(tree.leave())
}

/// Refuses options that have no meaning for stores.
fn refuse(command: &Command) -> Result<(), String> {
    let (option, what) = match command {
        Command { one_file_system: true, .. } => ("-x", "file systems"),
        Command { counts_links: true, .. } => ("-l", "hard links"),
        Command { follow: Follow::Arguments | Follow::Always, .. } => {
            ("-D, -H and -L", "symbolic links")
        }
        Command { time: Some(time), .. } if time.of != TimeOf::Modified => {
            ("--time=WORD", "such time, only that of the last change (--time)")
        }
        _ => return Ok(()),
    };
    Err(format!("{option}: a store has no {what}; leave it out for objects"))
}

/// The open directories, which contain the last object. The first is the argument.
struct ObjectTree<'a> {
    visitor: &'a DuVisitor<'a>,
    command: &'a Command,
    open: Vec<Directory>,
    /// True if the argument is a directory, false if it is an object.
    is_directory: bool,
}

/// A directory whose objects are being counted.
struct Directory {
    /// The text between two slashes; empty for the argument.
    name: String,
    path: Vec<u8>,
    own: Usage,
    total: Usage,
    is_excluded: bool,
}

impl ObjectTree<'_> {
    /// Adds an object. `rest` is its key after the argument's key and a slash.
    fn add(&mut self, rest: &str, object: &Listed) {
        let mut names: Vec<&str> = rest.split('/').collect();
        let name = names.pop().unwrap_or_default();
        let inside = self.open.iter().skip(1).zip(&names);
        let common = 1 + inside.take_while(|(open, name)| open.name == **name).count();
        while self.open.len() > common {
            self.leave();
        }
        for name in &names[common - 1..] {
            let path = self.path_of(name);
            self.enter((*name).to_owned(), path);
        }
        let depth = self.open.len();
        let path = self.path_of(name);
        let directory = self.open.last_mut().expect("the argument is open");
        if directory.is_excluded || self.visitor.leaves_out(&path) {
            return;
        }
        let modified = object.modified.filter(|_| self.command.time.is_some());
        let usage = Usage {
            allocated_bytes: object.bytes,
            apparent_bytes: object.bytes,
            inodes: 1,
            newest: modified.map(|seconds| Timestamp { seconds, nanoseconds: 0 }),
        };
        directory.own += usage;
        directory.total += usage;
        self.visitor.count(1, object.bytes);
        // A key that ends in a slash stands for a directory, and an argument has only one row.
        let is_shown = self.command.shows_files && depth <= self.command.depth_max;
        if is_shown && !name.is_empty() {
            let found = Found { depth, is_directory: false, files: 0, own: usage, total: usage };
            self.visitor.add(&found, || path.clone());
        }
    }

    /// The path of `name` in the directory that was entered last.
    fn path_of(&self, name: &str) -> Vec<u8> {
        let above = self.open.last().map_or(&[][..], |directory| &directory.path);
        let end = above.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let above = if self.open.len() == 1 { &above[..end] } else { above };
        [above, b"/", name.as_bytes()].concat()
    }

    fn enter(&mut self, name: String, path: Vec<u8>) {
        let is_above = self.open.last().is_some_and(|above| above.is_excluded);
        let is_excluded = is_above || self.visitor.leaves_out(&path);
        let (own, total) = (Usage::default(), Usage::default());
        self.open.push(Directory { name, path, own, total, is_excluded });
    }

    /// Closes the last directory, which is now counted, and returns its total.
    fn leave(&mut self) -> Usage {
        let Directory { path, own, total, is_excluded, .. } =
            self.open.pop().expect("a directory is open");
        let depth = self.open.len();
        if let Some(above) = self.open.last_mut() {
            above.total += total;
        }
        if !is_excluded && depth <= self.command.depth_max {
            let is_directory = depth > 0 || self.is_directory;
            self.visitor.add(&Found { depth, is_directory, files: own.inodes, own, total }, || {
                path.clone()
            });
        }
        total
    }
}
