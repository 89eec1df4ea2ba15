//! Reads from the page cache what it already holds, if that is faster than the drive.
//!
//! An input that was just written, copied or read is often in the page cache, perhaps not yet
//! written back. A direct read of it would still wait for the drive, and first for the write-back.
//! Copying costs a tenth of a processor for each GB/s. So a read whose pages are all cached goes to
//! the drive or to the copying threads, whichever have fewer transfers under way. If some of its
//! pages are not written back yet, it always goes to the threads
//! (docs/experiments/2026-11-21-page-cache.md).
//!
//! cachestat(2) says which pages are cached. A read with RWF_NOWAIT would find out as well, but it
//! starts read-ahead for the missing pages: half of an uncached file is then read twice, and the
//! cache is polluted.
//!
//! The copy needs a descriptor without O_DIRECT. Each read opens one through /proc, which takes a
//! few microseconds. A second descriptor for each input would use up the few thousand that a
//! process may have.
//!
//! The result is correct even if cachestat's answer is wrong or missing. The read is direct if
//! pages were evicted before the copy, if the kernel is older than 6.5, if /proc is missing, or if
//! the file is neither ours nor writable (the kernel then hides its cache state). Scratch files and
//! outputs are not covered: they are always written and read directly.

use crate::Direction;
use crate::system::{self, CachedPages, cached_pages};
use crate::threads::{ThreadPool, carry_out};
use crate::transfer::{Action, Transfer};
use rustix::io::Errno;
use rustix::param::page_size;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A file counts as cached if at most one in `MISSING_SHARE` of its pages is missing.
const MISSING_SHARE: u64 = 8;

/// The threads that copy from the page cache.
#[derive(Debug)]
pub(crate) struct CacheReader {
    threads: usize,
    /// Started by the first read from the cache, since most disks never have one. `None` if
    /// starting failed: then all reads are direct.
    pool: OnceLock<Option<ThreadPool>>,
    bytes: Arc<AtomicU64>,
}

impl CacheReader {
    pub(crate) fn new(threads: usize) -> CacheReader {
        CacheReader { threads, pool: OnceLock::new(), bytes: Arc::default() }
    }

    /// Bytes copied so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Starts a transfer here if it reads from an input and copying is quicker; otherwise returns
    /// it. `drive_load` is the number of transfers under way to the drive.
    pub(crate) fn take_over(&self, transfer: Transfer, drive_load: usize) -> Option<Transfer> {
        let is_of_input = transfer.file.snapshot.is_some() && transfer.file.is_direct();
        if !is_of_input || transfer.request.direction == Direction::Write {
            return Some(transfer);
        }
        let load = self.pool.get().and_then(Option::as_ref).map_or(0, ThreadPool::load);
        match cached(&transfer) {
            Some(pages) if load <= drive_load || pages.unwritten > 0 => self.start(transfer),
            _ => Some(transfer),
        }
    }

    fn start(&self, transfer: Transfer) -> Option<Transfer> {
        let pool = self.pool.get_or_init(|| {
            let bytes = Arc::clone(&self.bytes);
            ThreadPool::new(self.threads, move |transfer| copy(transfer, &bytes)).ok()
        });
        match pool {
            Some(pool) => pool.start(transfer),
            None => return Some(transfer),
        }
        None
    }
}

/// Returns the state of a transfer's pages if the page cache holds all of them.
fn cached(transfer: &Transfer) -> Option<CachedPages> {
    let bytes = transfer.request.bytes_needed as u64;
    let needed = bytes.div_ceil(page_size() as u64);
    // A length of 0 would mean the rest of the file.
    let pages = match needed {
        0 => None,
        _ => cached_pages(&*transfer.file, transfer.request.offset, bytes),
    };
    pages.filter(|pages| pages.cached >= needed)
}

/// Returns whether the page cache holds nearly all of the file's `bytes` bytes. Nearly, because a
/// brief memory shortage evicts some pages. False if the kernel doesn't tell.
#[must_use]
pub fn is_cached(file: impl AsFd, bytes: u64) -> bool {
    let pages = cached_pages(file, 0, bytes);
    let needed = bytes.div_ceil(page_size() as u64);
    pages.is_some_and(|pages| pages.cached >= needed - needed / MISSING_SHARE)
}

/// Asks the system to read a range of a file into the page cache, because it will be needed soon. A
/// refusal has no consequence.
pub fn read_ahead(file: impl AsFd, offset: u64, bytes: NonZeroU64) {
    system::read_ahead(file, offset, bytes);
}

/// Tells the system that a file will be read from its beginning to its end.
pub fn read_in_order(file: impl AsFd) {
    system::read_in_order(file);
}

/// Copies what the page cache still holds of a transfer, and reads the rest from the drive.
fn copy(mut transfer: Transfer, total: &AtomicU64) {
    if let Ok(bytes @ 1..) = read_cached(&mut transfer) {
        total.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Action::Finish(result) = transfer.advance(Ok(bytes)) {
            return transfer.finish(result);
        }
    }
    carry_out(transfer);
}

fn read_cached(transfer: &mut Transfer) -> Result<usize, Errno> {
    let span = transfer.span();
    let memory = &mut transfer.request.lease[span.start..span.start + span.bytes];
    system::read_cached(&*transfer.file, memory, span.offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::OpenFile;
    use crate::notices::Notices;
    use crate::snapshot::Snapshot;
    use crate::{Completion, FileId, Lease, Request};
    use crossbeam_channel::{Receiver, unbounded};
    use rustix::fs::{Advice, fadvise, fstat, fsync};
    use std::os::fd::OwnedFd;
    use std::path::Path;

    const STRETCH: usize = 4 << 20;
    const STRETCHES: usize = 4;

    /// An input with every second stretch in the page cache and not written back, so that the
    /// kernel can't evict it. `None`, with a line of output, if this isn't possible here.
    fn half_cached() -> Option<Arc<OpenFile>> {
        // Cargo's own directory is on a real file system, where /tmp may be in memory.
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        for stretch in (0..STRETCHES).chain((0..STRETCHES).step_by(2)) {
            let at = (stretch * STRETCH) as u64;
            assert_eq!(rustix::io::pwrite(&file, &vec![stretch as u8; STRETCH], at), Ok(STRETCH));
            if stretch + 1 == STRETCHES {
                fsync(&file).unwrap();
                fadvise(&file, 0, None, Advice::DontNeed).unwrap();
            }
        }
        let fd = OwnedFd::from(file);
        let snapshot = Snapshot::from(&fstat(&fd).unwrap());
        let mut file = OpenFile::new(fd, Path::new("input"), &Arc::new(Notices::default()));
        file.snapshot = Some(snapshot);
        let bytes = (STRETCHES * STRETCH) as u64;
        let cached_bytes =
            cached_pages(&file, 0, bytes).map_or(0, |pages| pages.cached * page_size() as u64);
        if !file.is_direct() || cached_bytes != bytes / 2 {
            eprintln!("SKIPPED: cachestat(2) doesn't tell here, or files are not direct");
            return None;
        }
        Some(Arc::new(file))
    }

    fn read(file: &Arc<OpenFile>, stretch: usize) -> (Transfer, Receiver<Completion>) {
        let (reply, completions) = unbounded();
        let request = Request {
            direction: Direction::Read,
            file: FileId(0),
            offset: (stretch * STRETCH) as u64,
            bytes: STRETCH,
            bytes_needed: STRETCH,
            lease: Lease::map(STRETCH).unwrap(),
            tag: 0,
            reply,
        };
        (Transfer::new(request, Arc::clone(file)), completions)
    }

    fn assert_arrived(completions: &Receiver<Completion>, stretch: usize) {
        let completion = completions.recv().unwrap();
        completion.result.unwrap();
        assert!(completion.lease.iter().all(|&byte| byte == stretch as u8));
    }

    #[test]
    fn only_what_is_there_is_copied_and_nothing_is_read_in() {
        let Some(file) = half_cached() else { return };
        let cache = CacheReader::new(2);
        for stretch in 0..STRETCHES {
            let (transfer, completions) = read(&file, stretch);
            let is_copied = cache.take_over(transfer, usize::MAX).is_none();
            assert_eq!(is_copied, stretch % 2 == 0);
            if is_copied {
                assert_arrived(&completions, stretch);
            }
        }
        assert_eq!(cache.bytes(), (STRETCHES * STRETCH / 2) as u64);
        for stretch in [1, 3] {
            let pages = cached_pages(&*file, (stretch * STRETCH) as u64, STRETCH as u64);
            assert_eq!(pages.unwrap().cached, 0);
        }
    }

    #[test]
    fn a_part_of_what_is_needed_is_not_enough() {
        let Some(file) = half_cached() else { return };
        let (mut transfer, _completions) = read(&file, 0);
        assert!(cached(&transfer).is_some());
        transfer.request.offset += page_size() as u64;
        assert!(cached(&transfer).is_none());
        transfer.request.bytes_needed -= page_size();
        assert!(cached(&transfer).is_some());
        transfer.request.bytes_needed = 0;
        assert!(cached(&transfer).is_none());
    }

    #[test]
    fn what_is_gone_by_the_time_of_the_copy_is_read_all_the_same() {
        let Some(file) = half_cached() else { return };
        let total = AtomicU64::new(0);
        for stretch in 0..STRETCHES {
            let (transfer, completions) = read(&file, stretch);
            copy(transfer, &total);
            assert_arrived(&completions, stretch);
        }
        assert!(total.into_inner() >= (STRETCHES * STRETCH / 2) as u64);
    }
}
