//! Writes a run to scratch, in blocks of whole lines.
//!
//! A line longer than a block is its own block. It is contiguous on scratch and written in pieces,
//! through the write buffer's blocks. It isn't compressed, which would take a second buffer of its
//! size.
//!
//! Several compressed blocks are written at once, one after the other. So transfers stay large, and
//! as many bytes are in flight as without compression.

use super::block::{KEY_WORDS, SpilledBlock};
use super::chunk::ChunkSlice;
use super::job::LinesJob;
use crate::Error;
use crate::store::compression::{BlockCodec, BlockCompressor};
use crate::store::scratch::BlockAddress;
use crate::store::seal::seal;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{Completion, Lease, align_up};
use xsort_kernels::lines::{Gathered, LineComparer, LineMerge};
use xxhash_rust::xxh3::Xxh3;

/// Takes lines in order, and writes blocks of them to scratch.
pub(super) struct Spiller<'a, 'j> {
    job: &'j LinesJob<'a>,
    free: Vec<Lease>,
    in_flight: usize,
    done_to: Sender<Completion>,
    done_from: Receiver<Completion>,
    /// Most bytes of lines in a block.
    fill_bytes: usize,
    /// The codec of the block that is being filled, or of the next one.
    codec: Option<BlockCodec>,
    compressor: BlockCompressor,
    /// Compressed blocks that aren't written yet.
    batch: Option<Batch>,
    /// The block, or the piece of a long line, that is being filled.
    block: Option<Filling>,
    /// The index of the written blocks.
    blocks: Vec<SpilledBlock>,
    /// Bytes of the last line that are still to come, its delimiter included.
    left: u64,
    /// The last line, if it is longer than a block.
    long: Option<LongLine>,
    /// The end of the write buffer, which is too small for a block.
    rest: Lease,
    comparer: Box<dyn LineComparer + 'j>,
}

/// A block that is being filled, or a piece of a long line.
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

/// A block that was compressed.
struct CompressedBlock {
    codec: BlockCodec,
    lease: Lease,
    bytes: usize,
}

/// Compressed blocks that are written in one transfer.
struct Batch {
    lease: Lease,
    /// Bytes of the pages of its blocks.
    used: usize,
    /// Numbers of its blocks in the index, which doesn't have their addresses yet.
    numbers: Vec<usize>,
}

/// A line that is written in pieces.
struct LongLine {
    address: BlockAddress,
    bytes: u64,
    written_bytes: u64,
    hash: Box<Xxh3>,
    first_key: Option<[u64; KEY_WORDS]>,
}

impl<'a, 'j> Spiller<'a, 'j> {
    /// A spiller that uses the memory of a write buffer.
    pub(super) fn new(job: &'j LinesJob<'a>, mut write_buffer: Lease) -> Self {
        let block_bytes = job.plan.block_bytes;
        let blocks = write_buffer.len() / block_bytes;
        let free = (0..blocks).map(|_| write_buffer.split_off_front(block_bytes)).collect();
        let (done_to, done_from) = unbounded();
        let mut spiller = Spiller {
            job,
            free,
            in_flight: 0,
            done_to,
            done_from,
            fill_bytes: block_bytes,
            codec: None,
            compressor: BlockCompressor::default(),
            batch: None,
            block: None,
            blocks: Vec::new(),
            left: 0,
            long: None,
            rest: write_buffer,
            comparer: job.order.comparer(),
        };
        spiller.choose_codec();
        spiller
    }

    /// Writes lines of a sorted chunk.
    pub(super) fn spill(&mut self, slice: ChunkSlice<'_>) -> Result<Vec<SpilledBlock>, Error> {
        let delimiter = self.job.options.delimiter;
        let spill_busy = &self.job.gauges.stage_times.spill_busy;
        let mut rest = slice;
        while !rest.is_empty() {
            let mut lease = self.take()?;
            let into = &mut lease[..self.fill_bytes];
            let gathered = spill_busy.time(|| rest.gather(delimiter, into));
            let long = if gathered.lines == 0 { rest.take_line(delimiter) } else { None };
            self.write_gathered(lease, gathered, long)?;
        }
        self.end()
    }

    /// Writes the lines of a merge.
    pub(super) fn spill_merged(
        &mut self,
        merge: &mut dyn LineMerge<'_>,
    ) -> Result<Vec<SpilledBlock>, Error> {
        let spill_busy = &self.job.gauges.stage_times.spill_busy;
        while !merge.is_done() {
            let mut lease = self.take()?;
            let into = &mut lease[..self.fill_bytes];
            let gathered = spill_busy.time(|| merge.gather(into));
            // The rest may be duplicates only.
            let long = if gathered.lines == 0 { merge.take_line() } else { None };
            self.write_gathered(lease, gathered, long)?;
        }
        self.end()
    }

    /// Writes a block of gathered lines. If there are none, `long` is the next line, which may be
    /// too long for a block.
    fn write_gathered(
        &mut self,
        lease: Lease,
        gathered: Gathered,
        long: Option<&[u8]>,
    ) -> Result<(), Error> {
        let Gathered { lines, bytes, last_line } = gathered;
        if lines == 0 {
            self.free.push(lease);
            return long.map_or(Ok(()), |line| self.push(line));
        }
        // A line pushed before may have begun a block.
        self.write()?;
        self.block = Some(Filling { lease, used: bytes, last_line, lines: lines as u32 });
        self.write()
    }

    /// Adds the next bytes of lines. If they end within a line, `to_come` bytes of it are missing,
    /// its delimiter included.
    pub(super) fn extend(&mut self, bytes: &[u8], to_come: usize) -> Result<(), Error> {
        let (line_end, mut rest) = bytes.split_at(self.left.min(bytes.len() as u64) as usize);
        self.append(line_end)?;
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

    /// Adds the next line.
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

    /// Begins a line of `bytes` bytes, its delimiter included.
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
            let address = self.job.scratch()?.allocate(align_up(bytes))?;
            let hash = Box::new(Xxh3::new());
            self.long = Some(LongLine { address, bytes, written_bytes: 0, hash, first_key: None });
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

    /// Adds the next bytes of the line that was begun.
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

    /// Returns the write buffer.
    pub(super) fn into_write_buffer(mut self) -> Lease {
        self.free.push(self.rest);
        self.free.sort_unstable_by_key(|lease| lease.as_ptr());
        let mut pieces = self.free.into_iter();
        let mut write_buffer = pieces.next().expect("a write buffer has memory");
        pieces.for_each(|next| write_buffer.join(next));
        write_buffer
    }

    /// Ends the run. Returns its blocks, which have all been written.
    pub(super) fn end(&mut self) -> Result<Vec<SpilledBlock>, Error> {
        debug_assert_eq!(self.left, 0);
        self.write()?;
        self.write_batch()?;
        while self.in_flight > 0 {
            let lease = self.wait()?;
            self.free.push(lease);
        }
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.shrink_to_fit();
        Ok(blocks)
    }

    /// Returns a free block of memory, after waiting for a write if there is none.
    fn take(&mut self) -> Result<Lease, Error> {
        if let Some(lease) = self.free.pop() {
            return Ok(lease);
        }
        if self.in_flight == 0 {
            self.write_batch()?;
        }
        self.wait()
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
        let Some(Filling { mut lease, used, last_line, lines }) = self.block.take() else {
            return Ok(());
        };
        let mut block = SpilledBlock {
            address: BlockAddress::NOT_ON_SCRATCH,
            bytes: used as u64,
            codec: None,
            compressed_bytes: 0,
            lines,
            last_line: last_line as u32,
            checksum: 0,
            first_key: self.first_key(&lease[..used]),
        };
        let spilled = &self.job.gauges.spilled;
        spilled.bytes.fetch_add(used as u64, Relaxed);
        if let Some(compressed) = self.compress(&lease[..used])? {
            self.free.push(lease);
            self.add_to_batch(block, compressed)?;
        } else {
            let bytes = align_up(used as u64) as usize;
            block.checksum = seal(&mut lease[..bytes], used);
            let address = self.job.scratch()?.allocate(bytes as u64)?;
            self.add_to_index(SpilledBlock { address, ..block })?;
            self.submit(lease, address, bytes)?;
        }
        self.choose_codec();
        Ok(())
    }

    /// Chooses the codec of the next block, and so how far it is filled.
    fn choose_codec(&mut self) {
        let block_bytes = self.job.plan.block_bytes;
        self.codec = self.job.effort.codec(|| self.job.load());
        self.fill_bytes = self.codec.map_or(block_bytes, |codec| codec.fill_bytes_max(block_bytes));
    }

    /// Adds a block to the index, which must not outgrow its share of the memory.
    fn add_to_index(&mut self, block: SpilledBlock) -> Result<(), Error> {
        self.blocks.push(block);
        let LinesJob { plan, options, indexed_blocks, gauges, .. } = self.job;
        if indexed_blocks.fetch_add(1, Relaxed) < plan.index_entries_max() {
            return Ok(());
        }
        // The input's size is unknown: suggest a budget for twice the spilled bytes.
        plan.refuse_index(options, Some(2 * gauges.spilled.read().bytes))?;
        Err(Error::Memory {
            budget_bytes: options.budget_bytes,
            needed_bytes: 2 * options.budget_bytes,
        })
    }

    /// Compresses a block; `None` if that is not requested or saves no page.
    fn compress(&mut self, block: &[u8]) -> Result<Option<CompressedBlock>, Error> {
        let Some(codec) = self.codec else { return Ok(None) };
        let mut lease = self.take()?;
        let LinesJob { effort, gauges, .. } = self.job;
        let compressor = &mut self.compressor;
        let compress = || compressor.compress(codec, block, &mut lease);
        let bytes = effort.compress(codec, block.len(), gauges, compress)?;
        let Some(bytes) = bytes else {
            self.free.push(lease);
            return Ok(None);
        };
        Ok(Some(CompressedBlock { codec, lease, bytes }))
    }

    /// Adds a block to the batch, and writes the batch if there is no room for another block of
    /// this size.
    fn add_to_batch(
        &mut self,
        block: SpilledBlock,
        compressed: CompressedBlock,
    ) -> Result<(), Error> {
        let CompressedBlock { codec, mut lease, bytes } = compressed;
        let paged = align_up(bytes as u64) as usize;
        if self.batch.as_ref().is_some_and(|batch| batch.used + paged > batch.lease.len()) {
            self.write_batch()?;
        }
        let checksum = seal(&mut lease[..paged], bytes);
        let batch = match &mut self.batch {
            Some(batch) => {
                batch.lease[batch.used..][..paged].copy_from_slice(&lease[..paged]);
                self.free.push(lease);
                batch
            }
            none => none.insert(Batch { lease, used: 0, numbers: Vec::new() }),
        };
        batch.used += paged;
        batch.numbers.push(self.blocks.len());
        let is_full = batch.used + paged > batch.lease.len();
        let compressed_bytes = bytes as u32;
        self.add_to_index(SpilledBlock {
            codec: Some(codec),
            compressed_bytes,
            checksum,
            ..block
        })?;
        if is_full { self.write_batch() } else { Ok(()) }
    }

    /// Writes the batch of compressed blocks.
    fn write_batch(&mut self) -> Result<(), Error> {
        let Some(Batch { lease, used, numbers }) = self.batch.take() else { return Ok(()) };
        let address = self.job.scratch()?.allocate(used as u64)?;
        let mut offset = address.offset;
        for number in numbers {
            let block = &mut self.blocks[number];
            block.address = BlockAddress { offset, ..address };
            offset += block.paged_bytes();
        }
        self.submit(lease, address, used)
    }

    /// Writes a piece of a long line. The last piece completes the block.
    fn write_piece(&mut self, piece: Filling) -> Result<(), Error> {
        let Filling { mut lease, used, .. } = piece;
        let Some(mut long) = self.long.take() else {
            unreachable!("a piece is one of a long line")
        };
        // The line's end may be missing. The key is only a hint, and as good without it.
        let first_key = long.first_key.unwrap_or_else(|| self.first_key(&lease[..used]));
        let bytes = align_up(used as u64) as usize;
        lease[used..bytes].fill(0);
        long.hash.update(&lease[..bytes]);
        let address =
            BlockAddress { offset: long.address.offset + long.written_bytes, ..long.address };
        long.written_bytes += bytes as u64;
        if self.left > 0 {
            self.long = Some(LongLine { first_key: Some(first_key), ..long });
        } else {
            self.add_to_index(SpilledBlock {
                address: long.address,
                bytes: long.bytes,
                codec: None,
                compressed_bytes: 0,
                lines: 1,
                last_line: 0,
                checksum: long.hash.digest(),
                first_key,
            })?;
            self.job.gauges.spilled.bytes.fetch_add(long.bytes, Relaxed);
        }
        self.submit(lease, address, bytes)
    }

    fn submit(&mut self, lease: Lease, address: BlockAddress, bytes: usize) -> Result<(), Error> {
        self.in_flight += 1;
        self.job.gauges.spilled.scratch_bytes.fetch_add(bytes as u64, Relaxed);
        let write = self.job.scratch()?.write(address, bytes, lease, 0, &self.done_to);
        // With a rate limit, this waits.
        let waits = &self.job.gauges.stage_times.spill_waits_for_write;
        waits.time(|| self.job.disk.submit(write));
        Ok(())
    }

    fn first_key(&mut self, text: &[u8]) -> [u64; KEY_WORDS] {
        let end = xsort_kernels::lines::line_end(text, self.job.options.delimiter);
        std::array::from_fn(|number| self.comparer.word(text, end, 8 * number))
    }
}
