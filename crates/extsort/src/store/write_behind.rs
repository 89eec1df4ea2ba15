//! A file written some blocks behind whoever makes its bytes, past the page cache.

use crate::Error;
use crate::store::output_prefix::OutputPrefix;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{BlockPool, Completion, Direction, Disk, FileId, Lease, Request, align_up};

/// Space is reserved in steps of so many bytes: writing to it is cheaper than beyond a file's end.
const RESERVE_BYTES: u64 = 256 << 20;

/// A file that grows. Dropped before its end, it is cut to what was written.
pub(crate) struct WriteBehind<'j> {
    disk: &'j dyn Disk,
    file: FileId,
    block_pool: Arc<BlockPool>,
    /// The block that is being filled, and how far.
    block: Option<(Lease, usize)>,
    /// Where it goes.
    offset: u64,
    /// Up to where there is space, and how long the file is expected to be.
    reserved: u64,
    expected: u64,
    in_flight: usize,
    /// Where the first write failed.
    failed_at: u64,
    done_to: Sender<Completion>,
    done_from: Receiver<Completion>,
    /// It is someone else's to close, and to give its length.
    is_lent: bool,
}

impl<'j> WriteBehind<'j> {
    /// Of the empty file at `path`, with blocks from `block_pool`. It will have about `expected`
    /// bytes.
    pub(crate) fn open(
        disk: &'j dyn Disk,
        path: &Path,
        block_pool: Arc<BlockPool>,
        expected: u64,
    ) -> Result<WriteBehind<'j>, Error> {
        Ok(WriteBehind::of(disk, disk.open_in_place(path)?, block_pool, expected))
    }

    fn of(
        disk: &'j dyn Disk,
        file: FileId,
        block_pool: Arc<BlockPool>,
        expected: u64,
    ) -> WriteBehind<'j> {
        let (done_to, done_from) = unbounded();
        WriteBehind {
            disk,
            file,
            block_pool,
            block: None,
            offset: 0,
            reserved: 0,
            expected,
            in_flight: 0,
            failed_at: u64::MAX,
            done_to,
            done_from,
            is_lent: false,
        }
    }

    /// Of a file that stays open, and has what `written` says already, but for its tail, which
    /// comes next.
    pub(crate) fn go_on(
        disk: &'j dyn Disk,
        file: FileId,
        block_pool: Arc<BlockPool>,
        expected: u64,
        written: &OutputPrefix,
    ) -> Result<WriteBehind<'j>, Error> {
        let mut behind = WriteBehind::of(disk, file, block_pool, expected);
        let offset = written.durable_bytes();
        (behind.offset, behind.reserved, behind.is_lent) = (offset, offset, true);
        behind.write(&written.tail)?;
        Ok(behind)
    }

    /// Waits until what was submitted is written; returns the bytes that come next.
    pub(crate) fn settle(&mut self) -> Result<&[u8], Error> {
        while self.in_flight > 0 {
            self.wait()?;
        }
        let tail = self.block.as_ref().map_or(&[][..], |(lease, used)| &lease[..*used]);
        Ok(tail)
    }

    /// Takes the next bytes.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let (mut lease, used) = match self.block.take() {
                Some(block) => block,
                None => (self.take()?, 0),
            };
            let more = bytes.len().min(lease.len() - used);
            lease[used..used + more].copy_from_slice(&bytes[..more]);
            bytes = &bytes[more..];
            self.block = Some((lease, used + more));
            if used + more == self.block_pool.block_bytes() {
                self.submit();
            }
        }
        Ok(())
    }

    /// Writes what is left, and gives the file its length.
    pub(crate) fn end(mut self) -> Result<(), Error> {
        let last_bytes = self.block.as_ref().map_or(0, |(_, used)| *used as u64);
        let bytes = self.offset + last_bytes;
        self.submit();
        while self.in_flight > 0 {
            self.wait()?;
        }
        self.offset = bytes;
        if self.is_lent { Ok(()) } else { self.disk.set_bytes(self.file, bytes).map_err(failed) }
    }

    fn take(&mut self) -> Result<Lease, Error> {
        loop {
            if let Some(lease) = self.block_pool.try_take() {
                return Ok(lease);
            }
            self.wait()?;
        }
    }

    fn submit(&mut self) {
        let Some((mut lease, used)) = self.block.take() else { return };
        let bytes = align_up(used as u64) as usize;
        lease[used..bytes].fill(0);
        self.reserve(self.offset + bytes as u64);
        self.in_flight += 1;
        self.disk.submit(Request {
            direction: Direction::Write,
            file: self.file,
            offset: self.offset,
            bytes,
            bytes_needed: bytes,
            lease,
            tag: 0,
            reply: self.done_to.clone(),
        });
        self.offset += bytes as u64;
    }

    /// If there is no space to reserve, the write that needs it will say so.
    fn reserve(&mut self, end: u64) {
        if end <= self.reserved {
            return;
        }
        self.reserved = align_up((self.reserved + RESERVE_BYTES).min(self.expected)).max(end);
        let _ = self.disk.reserve(self.file, self.reserved);
    }

    fn wait(&mut self) -> Result<(), Error> {
        let completion = self.done_from.recv().expect("this end holds a sender");
        self.in_flight -= 1;
        if completion.result.is_err() {
            self.failed_at = self.failed_at.min(completion.offset);
        }
        completion.result.map_err(failed)
    }
}

impl Drop for WriteBehind<'_> {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            let _ = self.wait();
        }
        if self.is_lent {
            return;
        }
        // Nothing more can be done if this fails, too.
        let _ = self.disk.set_bytes(self.file, self.offset.min(self.failed_at));
        self.disk.close(self.file);
    }
}

fn failed(error: xsort_disk::Error) -> Error {
    Error::Output(error.source)
}
