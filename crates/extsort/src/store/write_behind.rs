//! Write-behind: a sequential file, written past the page cache while the caller goes on to fill
//! the next blocks.

use crate::Error;
use crate::store::output_prefix::OutputPrefix;
use crate::store::reserve::ReservedSpace;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{BlockPool, Completion, Direction, Disk, FileId, Lease, Request, align_up};

/// A growing file. If it is dropped before its [end](WriteBehind::end), it is cut to the written
/// bytes.
pub(crate) struct WriteBehind<'j> {
    disk: &'j dyn Disk,
    file: FileId,
    block_pool: Arc<BlockPool>,
    /// The block that is being filled, and the number of bytes in it.
    block: Option<(Lease, usize)>,
    /// Where the next block goes.
    offset: u64,
    /// Reserved space: writing there is cheaper than writing beyond the file's end.
    reserved: ReservedSpace,
    /// The expected length of the file in bytes.
    expected_bytes: u64,
    in_flight: usize,
    /// Offset of the first failed write.
    failed_at: u64,
    done_to: Sender<Completion>,
    done_from: Receiver<Completion>,
    /// True if the caller closes the file and sets its length.
    is_borrowed: bool,
}

impl<'j> WriteBehind<'j> {
    /// Opens the empty file at `path`, which will have about `expected_bytes` bytes. Blocks come
    /// from `block_pool`.
    pub(crate) fn open(
        disk: &'j dyn Disk,
        path: &Path,
        block_pool: Arc<BlockPool>,
        expected_bytes: u64,
    ) -> Result<WriteBehind<'j>, Error> {
        Ok(WriteBehind::of(disk, disk.open_in_place(path)?, block_pool, expected_bytes))
    }

    fn of(
        disk: &'j dyn Disk,
        file: FileId,
        block_pool: Arc<BlockPool>,
        expected_bytes: u64,
    ) -> WriteBehind<'j> {
        let (done_to, done_from) = unbounded();
        WriteBehind {
            disk,
            file,
            block_pool,
            block: None,
            offset: 0,
            reserved: ReservedSpace::up_to(0),
            expected_bytes,
            in_flight: 0,
            failed_at: u64::MAX,
            done_to,
            done_from,
            is_borrowed: false,
        }
    }

    /// Continues after the prefix that an earlier process has `written`, in a file that the caller
    /// closes. Writes the prefix's tail again.
    pub(crate) fn resume(
        disk: &'j dyn Disk,
        file: FileId,
        block_pool: Arc<BlockPool>,
        expected_bytes: u64,
        written: &OutputPrefix,
    ) -> Result<WriteBehind<'j>, Error> {
        let mut behind = WriteBehind::of(disk, file, block_pool, expected_bytes);
        let offset = written.durable_bytes();
        (behind.offset, behind.is_borrowed) = (offset, true);
        behind.reserved = ReservedSpace::up_to(offset);
        behind.write(&written.tail)?;
        Ok(behind)
    }

    /// Waits until all submitted blocks are written. Returns the bytes that are still in memory.
    pub(crate) fn flush(&mut self) -> Result<&[u8], Error> {
        while self.in_flight > 0 {
            self.wait()?;
        }
        let tail = self.block.as_ref().map_or(&[][..], |(lease, used)| &lease[..*used]);
        Ok(tail)
    }

    /// Writes the next bytes.
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

    /// Writes the remaining bytes, and sets the file's length.
    pub(crate) fn end(mut self) -> Result<(), Error> {
        let last_bytes = self.block.as_ref().map_or(0, |(_, used)| *used as u64);
        let bytes = self.offset + last_bytes;
        self.submit();
        while self.in_flight > 0 {
            self.wait()?;
        }
        self.offset = bytes;
        if self.is_borrowed {
            Ok(())
        } else {
            self.disk.set_bytes(self.file, bytes).map_err(failed)
        }
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
        let end = self.offset + bytes as u64;
        // If the reservation fails, the write that needs the space reports the error.
        let _ = self.reserved.extend_to(end, self.expected_bytes, self.disk, self.file);
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
        if self.is_borrowed {
            return;
        }
        // Errors are ignored: there is no further remedy.
        let _ = self.disk.set_bytes(self.file, self.offset.min(self.failed_at));
        self.disk.close(self.file);
    }
}

fn failed(error: xsort_disk::Error) -> Error {
    Error::Output(error.source)
}
