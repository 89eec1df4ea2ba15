//! A run on its way to scratch, in blocks of whole lines.
//!
//! A line that is longer than a block is a block of its own, which lies in one piece on scratch and
//! goes there through several of the desk's. It isn't compressed: that would take a second buffer
//! of its size.

use super::Job;
use super::chunk::Chunk;
use super::codec::{Codec, Packer};
use super::plan::DESK_BLOCKS;
use super::run::{Block, KEY_BYTES};
use crate::Error;
use crate::store::scratch::BlockAddress;
use crate::store::seal::seal;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{Completion, Direction, Lease, Request, align_up};
use xsort_kernels::lines::{Gathered, LineOrder, gather};
use xxhash_rust::xxh3::Xxh3;

/// Takes lines in order, and writes blocks of them.
pub(super) struct Spiller<'a, 'j, O: LineOrder> {
    job: &'j Job<'a, O>,
    free: Vec<Lease>,
    in_flight: usize,
    done_to: Sender<Completion>,
    done_from: Receiver<Completion>,
    /// Most bytes of lines in a block.
    fill_bytes: usize,
    packer: Option<Packer>,
    block: Option<Filling>,
    blocks: Vec<Block>,
    /// Bytes of the last line that are still to come, with its delimiter.
    left: u64,
    /// The last line, if it is longer than a block.
    long: Option<Long>,
    /// What of the desk is no block.
    rest: Lease,
    scratch: O::Scratch,
}

/// A block that is being filled, or a piece of a longer one.
struct Filling {
    lease: Lease,
    used: usize,
    last_line: usize,
    lines: u32,
}

impl Filling {
    fn new(lease: Lease) -> Filling {
        Filling { lease, used: 0, last_line: 0, lines: 0 }
    }
}

/// A line on its way in pieces.
struct Long {
    place: BlockAddress,
    bytes: u64,
    written_bytes: u64,
    hash: Box<Xxh3>,
    first_key: Option<[u64; KEY_BYTES / 8]>,
}

impl<'a, 'j, O: LineOrder> Spiller<'a, 'j, O> {
    /// Through a desk's memory.
    pub(super) fn new(job: &'j Job<'a, O>, mut desk: Lease) -> Result<Self, Error> {
        let block_bytes = job.plan.block_bytes;
        let blocks = (desk.len() / block_bytes).min(DESK_BLOCKS);
        let codec = job.options.codec;
        let free = (0..blocks).map(|_| desk.split_off_front(block_bytes)).collect();
        let (done_to, done_from) = unbounded();
        Ok(Spiller {
            job,
            free,
            in_flight: 0,
            done_to,
            done_from,
            fill_bytes: Codec::fill_bytes_max(codec, block_bytes),
            packer: codec.map(Packer::new).transpose().map_err(Error::Codec)?,
            block: None,
            blocks: Vec::new(),
            left: 0,
            long: None,
            rest: desk,
            scratch: O::Scratch::default(),
        })
    }

    /// Writes a sorted chunk.
    pub(super) fn spill(&mut self, chunk: &Chunk) -> Result<Vec<Block>, Error> {
        let delimiter = self.job.options.delimiter;
        let mut rest = chunk.entries::<O::Words>();
        while let Some((first, others)) = rest.split_first() {
            let mut lease = self.take()?;
            let gathered = gather(chunk.text(), delimiter, rest, &mut lease[..self.fill_bytes]);
            if gathered.lines == 0 {
                self.free.push(lease);
                self.push(first.line(chunk.text(), delimiter))?;
                rest = others;
                continue;
            }
            let Gathered { lines, bytes, last_line } = gathered;
            self.block = Some(Filling { lease, used: bytes, last_line, lines: lines as u32 });
            self.write()?;
            rest = &rest[lines..];
        }
        self.end()
    }

    /// Takes the next bytes of lines. The last of them may end with bytes that are still to come:
    /// so many, its delimiter included.
    pub(super) fn extend(&mut self, bytes: &[u8], to_come: usize) -> Result<(), Error> {
        let (begun, mut rest) = bytes.split_at(self.left.min(bytes.len() as u64) as usize);
        self.append(begun)?;
        while let Some(end) = memchr::memchr(self.job.options.delimiter, rest) {
            self.push(&rest[..end])?;
            rest = &rest[end + 1..];
        }
        if rest.is_empty() {
            return Ok(());
        }
        self.begin((rest.len() + to_come) as u64)?;
        self.append(rest)
    }

    /// Takes the next line.
    fn push(&mut self, line: &[u8]) -> Result<(), Error> {
        let bytes = line.len() + 1;
        match &mut self.block {
            Some(block) if block.used + bytes <= self.fill_bytes => {
                block.lease[block.used..][..line.len()].copy_from_slice(line);
                block.lease[block.used + line.len()] = self.job.options.delimiter;
                block.last_line = block.used;
                block.used += bytes;
                block.lines += 1;
                Ok(())
            }
            _ => {
                self.begin(bytes as u64)?;
                self.append(line)?;
                self.append(&[self.job.options.delimiter])
            }
        }
    }

    /// Makes room for a line of so many bytes.
    fn begin(&mut self, bytes: u64) -> Result<(), Error> {
        debug_assert_eq!(self.left, 0);
        let is_long = bytes > self.fill_bytes as u64;
        if self
            .block
            .as_ref()
            .is_some_and(|block| is_long || block.used as u64 + bytes > self.fill_bytes as u64)
        {
            self.write()?;
        }
        self.left = bytes;
        if is_long {
            let place = self.job.scratch()?.allocate(align_up(bytes))?;
            let hash = Box::new(Xxh3::new());
            self.long = Some(Long { place, bytes, written_bytes: 0, hash, first_key: None });
            return Ok(());
        }
        if self.block.is_none() {
            self.block = Some(Filling::new(self.take()?));
        }
        if let Some(block) = &mut self.block {
            block.last_line = block.used;
            block.lines += 1;
        }
        Ok(())
    }

    /// Takes the next bytes of the line that was begun.
    fn append(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let mut block = match self.block.take() {
                Some(block) => block,
                None => Filling::new(self.take()?),
            };
            let taken = bytes.len().min(block.lease.len() - block.used);
            block.lease[block.used..][..taken].copy_from_slice(&bytes[..taken]);
            block.used += taken;
            self.left -= taken as u64;
            bytes = &bytes[taken..];
            if self.long.is_some() && (self.left == 0 || block.used == block.lease.len()) {
                self.write_piece(block)?;
            } else {
                self.block = Some(block);
            }
        }
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
        debug_assert_eq!(self.left, 0);
        self.write()?;
        while self.in_flight > 0 {
            let lease = self.wait()?;
            self.free.push(lease);
        }
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.shrink_to_fit();
        Ok(blocks)
    }

    fn take(&mut self) -> Result<Lease, Error> {
        match self.free.pop() {
            Some(lease) => Ok(lease),
            None => self.wait(),
        }
    }

    fn wait(&mut self) -> Result<Lease, Error> {
        let wait = || self.done_from.recv().expect("this spiller holds a sender");
        let completion = self.job.gauges.stage_times.spill_waits_for_write.time(wait);
        self.in_flight -= 1;
        self.job.scratch()?.written(&completion);
        completion.result?;
        Ok(completion.lease)
    }

    /// Writes the block that is being filled.
    fn write(&mut self) -> Result<(), Error> {
        let Some(Filling { lease, used, last_line, lines }) = self.block.take() else {
            return Ok(());
        };
        let first_key = self.first_key(&lease[..used]);
        let (mut lease, packed_bytes) = self.pack(lease, used)?;
        let stored_bytes = if packed_bytes > 0 { packed_bytes } else { used };
        let bytes = align_up(stored_bytes as u64) as usize;
        let checksum = seal(&mut lease[..bytes], stored_bytes);
        let place = self.job.scratch()?.allocate(bytes as u64)?;
        self.keep(Block {
            place,
            bytes: used as u64,
            packed_bytes: packed_bytes as u32,
            lines,
            last_line: last_line as u32,
            checksum,
            first_key,
        })?;
        self.job.spilled_bytes.fetch_add(used as u64, Relaxed);
        self.submit(lease, place, bytes)
    }

    /// Takes a block into the index, which is not to outgrow its share of the memory.
    fn keep(&mut self, block: Block) -> Result<(), Error> {
        self.blocks.push(block);
        let Job { plan, options, indexed_blocks, spilled_bytes, .. } = self.job;
        if indexed_blocks.fetch_add(1, Relaxed) < plan.index_entries_max() {
            return Ok(());
        }
        // For twice as much, of what nobody knows how much more there is.
        plan.refuse_index(options, Some(2 * spilled_bytes.load(Relaxed)))?;
        Err(Error::Memory {
            budget_bytes: options.budget_bytes,
            needed_bytes: 2 * options.budget_bytes,
        })
    }

    /// The block compressed, and in how many bytes; or as it is, and 0.
    fn pack(&mut self, block: Lease, used: usize) -> Result<(Lease, usize), Error> {
        if self.packer.is_none() {
            return Ok((block, 0));
        }
        let mut packed = self.take()?;
        let bytes =
            self.packer.as_mut().and_then(|packer| packer.pack(&block[..used], &mut packed));
        let (kept, other) = if bytes.is_some() { (packed, block) } else { (block, packed) };
        self.free.push(other);
        Ok((kept, bytes.unwrap_or(0)))
    }

    /// Writes a piece of a long line; the last one makes it a block.
    fn write_piece(&mut self, piece: Filling) -> Result<(), Error> {
        let Filling { mut lease, used, .. } = piece;
        let Some(mut long) = self.long.take() else {
            unreachable!("a piece is one of a long line")
        };
        // The line's end may be missing: a key made without it is as good a hint.
        let first_key = long.first_key.unwrap_or_else(|| self.first_key(&lease[..used]));
        let bytes = align_up(used as u64) as usize;
        lease[used..bytes].fill(0);
        long.hash.update(&lease[..bytes]);
        let place = BlockAddress { offset: long.place.offset + long.written_bytes, ..long.place };
        long.written_bytes += bytes as u64;
        if self.left > 0 {
            self.long = Some(Long { first_key: Some(first_key), ..long });
        } else {
            self.keep(Block {
                place: long.place,
                bytes: long.bytes,
                packed_bytes: 0,
                lines: 1,
                last_line: 0,
                checksum: long.hash.digest(),
                first_key,
            })?;
            self.job.spilled_bytes.fetch_add(long.bytes, Relaxed);
        }
        self.submit(lease, place, bytes)
    }

    fn submit(&mut self, lease: Lease, place: BlockAddress, bytes: usize) -> Result<(), Error> {
        self.in_flight += 1;
        self.job.scratch_bytes.fetch_add(bytes as u64, Relaxed);
        self.job.disk.submit(Request {
            direction: Direction::Write,
            file: self.job.scratch()?.file(place.drive),
            offset: place.offset,
            bytes,
            bytes_needed: bytes,
            lease,
            tag: u64::from(place.drive),
            reply: self.done_to.clone(),
        });
        Ok(())
    }

    fn first_key(&mut self, text: &[u8]) -> [u64; KEY_BYTES / 8] {
        let end = xsort_kernels::lines::line_end(text, self.job.options.delimiter);
        std::array::from_fn(|number| {
            self.job.order.word_of(text, end, 8 * number, &mut self.scratch)
        })
    }
}
