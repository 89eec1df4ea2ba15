//! The threads of a simulated disk: each takes any transfer out of the queue and processes one
//! answer of the simulated system.

use super::content::{Page, pages};
use super::faults::{Damage, SimOptions};
use super::file_system::{FileSystem, Handle};
use super::queue::{Queue, SimTransfer};
use crate::progress::Next;
use crate::{ALIGNMENT, Direction, Error};
use parking_lot::Mutex;
use rustix::io::Errno;
use std::io;
use std::thread;

/// State shared by the disk and its threads.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: SimOptions,
    pub(super) file_system: Mutex<FileSystem>,
    pub(super) queue: Queue,
}

impl Shared {
    /// Processes one answer for each transfer taken, in any order, until the disk is closed and all
    /// are done.
    pub(super) fn work(&self) {
        while let Some(mut transfer) = self.queue.take(&self.options) {
            let operation = transfer.operation();
            let span = transfer.progress.span();
            thread::sleep(self.options.delay(
                operation,
                transfer.handle.role,
                span.offset,
                transfer.attempt,
            ));
            match self.answer(&mut transfer) {
                Next::Again | Next::GoBuffered | Next::Later(_) => self.queue.go_on(transfer),
                Next::Done => self.finish(transfer, Ok(())),
                Next::Failed { offset, source } => {
                    let error = Error::at(operation, &transfer.handle.path, offset, source);
                    self.finish(transfer, Err(error));
                }
            }
        }
    }

    /// Computes one answer of the simulated system, and returns what to do next.
    fn answer(&self, transfer: &mut SimTransfer) -> Next {
        let operation = transfer.operation();
        let SimTransfer { request, progress, handle, attempt, .. } = transfer;
        let span = progress.span();
        let options = &self.options;
        let role = handle.role;
        let now = *attempt;
        *attempt += 1;
        let bytes = options.moved(operation, role, span.offset, span.bytes, now);
        let memory = &mut request.lease[span.start..span.start + bytes];
        // Bytes are copied while the file system is not locked, so that threads copy in parallel.
        let written =
            if request.direction == Direction::Write { pages(memory) } else { Vec::new() };
        let mut file_system = self.file_system.lock();
        if handle.boot != file_system.boot || file_system.operate(options.power_goes_after).is_err()
        {
            return progress.advance(Err(Errno::IO));
        }
        if let Some(errno) = options.interrupt(operation, role, span.offset, now) {
            return progress.advance(Err(errno));
        }
        // Always attempt 0: a permanent failure occurs again.
        if let Some(errno) = options.fault_in(operation, role, span.offset, span.bytes as u64, 0) {
            return progress.advance(Err(errno));
        }
        let answer = match request.direction {
            Direction::Read => file_system.read(handle.inode, span.offset, bytes),
            Direction::Write => {
                let moved = self.write(&mut file_system, handle, span.offset, written, bytes);
                moved.map(|bytes| (bytes, Vec::new())).map_err(io::Error::from)
            }
        };
        drop(file_system);
        match answer {
            Ok((bytes, read)) => {
                fill(&mut memory[..bytes], &read);
                progress.advance(Ok(bytes))
            }
            Err(source) => match Errno::from_io_error(&source) {
                Some(errno) => progress.advance(Err(errno)),
                None => Next::Failed { offset: span.offset, source },
            },
        }
    }

    fn write(
        &self,
        file_system: &mut FileSystem,
        handle: &Handle,
        offset: u64,
        pages: Vec<Page>,
        bytes: usize,
    ) -> Result<usize, Errno> {
        let capacity = self.options.capacity_bytes;
        match self.options.damage(handle.role, offset, bytes as u64) {
            None => file_system.write(handle.inode, offset, pages, bytes, capacity),
            Some((Damage::LoseWrite, _)) => {
                file_system.reserve(handle.inode, offset, bytes as u64, capacity)?;
                Ok(bytes)
            }
            Some((Damage::FlipBit, bit)) => {
                let written = file_system.write(handle.inode, offset, pages, bytes, capacity)?;
                file_system.flip_bit(handle.inode, bit);
                Ok(written)
            }
        }
    }

    /// Releases the file before it sends the completion, as the real disk does.
    fn finish(&self, transfer: SimTransfer, result: Result<(), Error>) {
        if transfer.is_counted {
            self.file_system.lock().end_transfer(&transfer.handle);
        }
        transfer.request.complete(result);
    }
}

/// Copies pages to memory.
fn fill(memory: &mut [u8], pages: &[Option<Page>]) {
    for (block, page) in memory.chunks_mut(ALIGNMENT).zip(pages) {
        match page {
            Some(page) => block.copy_from_slice(&page[..block.len()]),
            None => block.fill(0),
        }
    }
}
