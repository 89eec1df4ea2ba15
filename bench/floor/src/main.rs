//! The floor of a walk: what the kernel takes for the calls that can't be left out, asked by a
//! program that knows the tree.
//!
//! `xsort-walk-floor DIR THREADS [cold]` first learns the tree, then measures itself: each
//! directory is opened relative to the one above, asked for its own size, listed to its end and
//! closed; each file is asked for its size once, relative to its directory, in the order of inodes.
//! The threads share nothing: each has its part of the entries from the beginning. Nothing is put
//! together, sorted or remembered; the names are those learnt. With `cold` (as root) the kernel's
//! caches are dropped between learning and measuring.
//!
//! It prints seconds, processor seconds and the bytes allocated, in which each link counts for its
//! part of its inode.
//!
//! It is no proof of a limit: who does less than a call a file, or divides the work better, may be
//! quicker.

use std::ffi::{CStr, CString, OsString};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirEntryExt;
use std::path::Path;
use std::time::Instant;
use std::{env, fs, io, thread};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, Statx, StatxFlags, openat, statx};
use rustix::time::{ClockId, clock_gettime};

/// What one call lists at most: 1,000 names or more.
const LIST_BYTES: usize = 64 << 10;
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const QUIET: AtFlags =
    AtFlags::SYMLINK_NOFOLLOW.union(AtFlags::NO_AUTOMOUNT).union(AtFlags::STATX_DONT_SYNC);

/// A directory, with what is in it but directories. They come with each before those below it.
struct Directory {
    name: CString,
    depth: usize,
    files: Vec<CString>,
    /// Its place among all entries, itself first, then its files.
    entries: Range<usize>,
}

fn main() -> io::Result<()> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "--version") {
        println!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        return Ok(());
    }
    let (Some(root), Some(Ok(threads))) = (
        arguments.first(),
        arguments.get(1).and_then(|count| count.to_str()).map(str::parse::<usize>),
    ) else {
        return Err(io::Error::other("usage: xsort-walk-floor DIR THREADS [cold]"));
    };
    let mut tree = Vec::new();
    learn(Path::new(root), root.clone(), 0, &mut tree)?;
    if arguments.get(2).is_some_and(|word| word == "cold") {
        fs::write("/proc/sys/vm/drop_caches", "3")?;
    }
    let entries = tree.last().map_or(0, |last| last.entries.end);
    let part = |thread: usize| entries * thread / threads..entries * (thread + 1) / threads;
    let (start, processor) = (Instant::now(), processor_seconds());
    let allocated = thread::scope(|scope| {
        let tree = &tree;
        let walks: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || walk(tree, part(thread)))).collect();
        walks
            .into_iter()
            .map(|walk| walk.join().expect("a thread doesn't panic"))
            .sum::<io::Result<u64>>()
    })?;
    println!(
        "{:.6} {:.6} {allocated}",
        start.elapsed().as_secs_f64(),
        processor_seconds() - processor
    );
    Ok(())
}

/// Adds the directory at `path` and all below it to the tree; the name is relative to the one
/// above.
fn learn(path: &Path, name: OsString, depth: usize, tree: &mut Vec<Directory>) -> io::Result<()> {
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = if entry.file_type()?.is_dir() { &mut directories } else { &mut files };
        kind.push((entry.ino(), entry.file_name()));
    }
    files.sort_unstable();
    directories.sort_unstable();
    let start = tree.last().map_or(0, |last: &Directory| last.entries.end);
    let entries = start..start + 1 + files.len();
    let files = files.into_iter().map(|(_, name)| c_string(name)).collect();
    tree.push(Directory { name: c_string(name), depth, files, entries });
    directories
        .into_iter()
        .try_for_each(|(_, name)| learn(&path.join(&name), name, depth + 1, tree))
}

fn c_string(name: OsString) -> CString {
    CString::new(name.into_vec()).expect("a name has no zero byte")
}

/// A thread's part of the tree: the bytes allocated to the entries in `part`.
fn walk(tree: &[Directory], part: Range<usize>) -> io::Result<u64> {
    let first = tree.partition_point(|directory| directory.entries.end <= part.start);
    let mut open: Vec<OwnedFd> = Vec::new();
    for above in ancestors(tree, first) {
        open.push(open_below(&open, above)?);
    }
    let mut list = vec![MaybeUninit::uninit(); LIST_BYTES];
    let mut allocated = 0;
    for directory in tree[first..].iter().take_while(|directory| directory.entries.start < part.end)
    {
        open.truncate(directory.depth);
        let descriptor = open_below(&open, directory)?;
        if part.contains(&directory.entries.start) {
            allocated +=
                ask(descriptor.as_fd(), c"", QUIET | AtFlags::EMPTY_PATH)?.stx_blocks * 512;
            let mut names = RawDir::new(&descriptor, &mut list);
            while names.next().transpose()?.is_some() {}
        }
        let place = |entry: usize| {
            entry.saturating_sub(directory.entries.start + 1).min(directory.files.len())
        };
        for name in &directory.files[place(part.start)..place(part.end)] {
            let file = ask(descriptor.as_fd(), name, QUIET)?;
            allocated += file.stx_blocks * 512 / u64::from(file.stx_nlink);
        }
        open.push(descriptor);
    }
    Ok(allocated)
}

/// The directories above the one at `place`, the root first.
fn ancestors(tree: &[Directory], place: usize) -> Vec<&Directory> {
    let mut above: Vec<&Directory> = Vec::new();
    let mut depth = tree[place].depth;
    for directory in tree[..place].iter().rev() {
        if directory.depth < depth {
            depth = directory.depth;
            above.push(directory);
        }
    }
    above.reverse();
    above
}

fn open_below(open: &[OwnedFd], directory: &Directory) -> io::Result<OwnedFd> {
    let above = open.last().map_or(CWD, AsFd::as_fd);
    Ok(openat(above, &directory.name, DIRECTORY, Mode::empty())?)
}

fn ask(directory: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> io::Result<Statx> {
    Ok(statx(directory, name, flags, StatxFlags::BLOCKS | StatxFlags::NLINK)?)
}

/// Of all threads, those that have ended, too.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
