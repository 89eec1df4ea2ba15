//! A run on its way to scratch, in blocks of whole lines.

use super::Job;
use super::chunk::Chunk;
use super::plan::DESK_BLOCKS;
use super::run::{Block, KEY_BYTES};
use crate::Error;
use crate::seal::seal;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{Completion, Direction, Lease, Request, align_up};
use xsort_kernels::lines::{Gathered, LineOrder, gather};

/// Takes lines in order, and writes blocks of them.
pub(super) struct Spiller<'a, 'j, O: LineOrder> {
    job: &'j Job<'a, O>,
    free: Vec<Lease>,
    in_flight: usize,
    done_to: Sender<Completion>,
    done_from: Receiver<Completion>,
    block: Option<Filling>,
    blocks: Vec<Block>,
    /// A line whose end is yet to come.
    partial: Vec<u8>,
    /// What of the desk is no block.
    rest: Lease,
    scratch: O::Scratch,
}

/// A block that is being filled.
struct Filling {
    lease: Lease,
    used: usize,
    last_line: usize,
    lines: u32,
}

impl<'a, 'j, O: LineOrder> Spiller<'a, 'j, O> {
    /// Through a desk's memory.
    pub(super) fn new(job: &'j Job<'a, O>, mut desk: Lease) -> Self {
        let blocks = (desk.len() / job.plan.block_bytes).min(DESK_BLOCKS);
        let free = (0..blocks).map(|_| desk.split_off_front(job.plan.block_bytes)).collect();
        let (done_to, done_from) = unbounded();
        Spiller {
            job,
            free,
            in_flight: 0,
            done_to,
            done_from,
            block: None,
            blocks: Vec::new(),
            partial: Vec::new(),
            rest: desk,
            scratch: O::Scratch::default(),
        }
    }

    /// Writes a sorted chunk.
    pub(super) fn spill(&mut self, chunk: &Chunk) -> Result<Vec<Block>, Error> {
        let delimiter = self.job.options.delimiter;
        let mut rest = chunk.entries::<O::Words>();
        while let Some((first, _)) = rest.split_first() {
            let mut lease = self.take()?;
            let gathered = gather(chunk.text(), delimiter, rest, &mut lease);
            if gathered.lines == 0 {
                return Err(self.too_long(first.bytes(chunk.text(), delimiter), lease.len()));
            }
            let Gathered { lines, bytes, last_line } = gathered;
            self.block = Some(Filling { lease, used: bytes, last_line, lines: lines as u32 });
            self.write()?;
            rest = &rest[lines..];
        }
        self.end()
    }

    /// Takes the next line.
    fn push(&mut self, line: &[u8]) -> Result<(), Error> {
        let bytes = line.len() + 1;
        if self.block.as_ref().is_some_and(|block| block.used + bytes > block.lease.len()) {
            self.write()?;
        }
        let mut block = match self.block.take() {
            Some(block) => block,
            None => Filling { lease: self.take()?, used: 0, last_line: 0, lines: 0 },
        };
        if bytes > block.lease.len() {
            return Err(self.too_long(line.len(), block.lease.len()));
        }
        block.lease[block.used..][..line.len()].copy_from_slice(line);
        block.lease[block.used + line.len()] = self.job.options.delimiter;
        block.last_line = block.used;
        block.used += bytes;
        block.lines += 1;
        self.block = Some(block);
        Ok(())
    }

    /// Of a line of so many bytes where blocks have so many.
    fn too_long(&self, bytes: usize, block_bytes: usize) -> Error {
        let factor = (bytes as u64 + 1).div_ceil(block_bytes as u64);
        Error::Settings(format!(
            "a line of {bytes} bytes is too long for this memory budget: more than {} of it are needed (-S)",
            crate::units::Bytes(self.job.options.budget_bytes * factor),
        ))
    }

    /// Takes the next bytes of lines, of which the last one may go on in the next bytes.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(self.job.options.delimiter, rest) {
            if self.partial.is_empty() {
                self.push(&rest[..end])?;
            } else {
                self.partial.extend_from_slice(&rest[..end]);
                let line = std::mem::take(&mut self.partial);
                self.push(&line)?;
            }
            rest = &rest[end + 1..];
        }
        self.partial.extend_from_slice(rest);
        Ok(())
    }

    /// The desk again.
    pub(super) fn into_desk(mut self) -> Lease {
        self.free.push(self.rest);
        self.free.sort_unstable_by_key(|lease| lease.as_ptr());
        let mut pieces = self.free.into_iter();
        let mut desk = pieces.next().expect("a desk has memory");
        pieces.for_each(|next| desk.join(next));
        desk
    }

    /// Ends the run: its blocks, all of them on scratch.
    pub(super) fn end(&mut self) -> Result<Vec<Block>, Error> {
        if self.block.is_some() {
            self.write()?;
        }
        while self.in_flight > 0 {
            let lease = self.wait()?;
            self.free.push(lease);
        }
        Ok(std::mem::take(&mut self.blocks))
    }

    fn take(&mut self) -> Result<Lease, Error> {
        match self.free.pop() {
            Some(lease) => Ok(lease),
            None => self.wait(),
        }
    }

    fn wait(&mut self) -> Result<Lease, Error> {
        let completion = self.done_from.recv().expect("this spiller holds a sender");
        self.in_flight -= 1;
        self.job.scratch()?.written(&completion);
        completion.result?;
        Ok(completion.lease)
    }

    fn write(&mut self) -> Result<(), Error> {
        let Some(Filling { mut lease, used, last_line, lines }) = self.block.take() else { return Ok(()) };
        let bytes = align_up(used as u64) as usize;
        let checksum = seal(&mut lease[..bytes], used);
        let scratch = self.job.scratch()?;
        let place = scratch.place(bytes as u64)?;
        let end = xsort_kernels::lines::line_end(&lease[..used], self.job.options.delimiter);
        let mut first_key = [0; KEY_BYTES / 8];
        for (number, word) in first_key.iter_mut().enumerate() {
            *word = self.job.order.word_of(&lease[..used], end, 8 * number, &mut self.scratch);
        }
        self.blocks.push(Block {
            place,
            bytes: used as u32,
            lines,
            last_line: last_line as u32,
            checksum,
            first_key,
        });
        self.job.spilled_bytes.fetch_add(used as u64, Relaxed);
        self.in_flight += 1;
        self.job.disk.submit(Request {
            direction: Direction::Write,
            file: scratch.file(place.drive),
            offset: place.offset,
            bytes,
            bytes_needed: bytes,
            lease,
            tag: u64::from(place.drive),
            reply: self.done_to.clone(),
        });
        Ok(())
    }
}
