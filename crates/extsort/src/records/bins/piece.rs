//! Pieces of bins, and writing them to scratch.
//!
//! A chunk has a piece for each bin that its records fall into. Several pieces share one block on
//! scratch, each in its own pages, so that writes are large however many bins there are. A piece
//! that fills its block continues in the next.

use super::places::BinPlaces;
use crate::Error;
use crate::records::job::SortJob;
use crate::store::scratch::BlockAddress;
use crate::store::seal::{SealedBlock, paged_bytes, seal};
use crossbeam_channel::Sender;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{BlockPool, Completion, Lease};
use xsort_kernels::gather;

/// A piece on scratch: the records of one bin that came from one chunk, or a part of them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) address: BlockAddress,
    /// XXH3 of the piece's pages.
    pub(crate) seal: u64,
    /// Number of records; they begin at the piece's first byte.
    pub(crate) records: u32,
    /// Number of the bin.
    pub(crate) bin: u32,
}

impl Piece {
    /// Keeps this piece, which an earlier process has written to scratch for one of `bins`.
    ///
    /// # Errors
    /// A message, if there is no such piece.
    pub(crate) fn claim(&self, job: &SortJob<'_>, bins: Range<usize>) -> Result<(), String> {
        let Piece { records, bin, .. } = *self;
        if records as usize > job.block_records() || !bins.contains(&(bin as usize)) {
            return Err(format!("a piece of bin {bin} has {records} records"));
        }
        job.scratch().claim(self.address, self.paged_bytes(job.record_bytes))
    }

    /// The piece's address, size and seal on scratch.
    pub(crate) fn sealed(&self, record_bytes: usize) -> SealedBlock {
        let bytes = paged_bytes(self.records as usize, record_bytes);
        SealedBlock { address: self.address, bytes, seal: self.seal }
    }

    /// Size of the piece's pages in bytes.
    pub(crate) fn paged_bytes(&self, record_bytes: usize) -> u64 {
        paged_bytes(self.records as usize, record_bytes) as u64
    }
}

/// Writes the pieces of one chunk to scratch.
pub(crate) struct PieceWriter<'a> {
    job: &'a SortJob<'a>,
    chunk: usize,
    block_pool: &'a Arc<BlockPool>,
    places: Option<&'a BinPlaces>,
    written: &'a Sender<Completion>,
    block: Option<Lease>,
    used: usize,
    /// All pieces so far. The pieces from `addressed` on are in `block`, and their offsets are
    /// relative to the block.
    pieces: Vec<Piece>,
    addressed: usize,
    writes: usize,
}

impl<'a> PieceWriter<'a> {
    pub(crate) fn new(
        job: &'a SortJob<'a>,
        chunk: usize,
        block_pool: &'a Arc<BlockPool>,
        places: Option<&'a BinPlaces>,
        written: &'a Sender<Completion>,
    ) -> Self {
        PieceWriter {
            job,
            chunk,
            block_pool,
            places,
            written,
            block: None,
            used: 0,
            pieces: Vec::new(),
            addressed: 0,
            writes: 0,
        }
    }

    /// Gathers the records whose numbers are in `order` into pieces of `bin`.
    pub(crate) fn add(
        &mut self,
        bin: usize,
        records: &[u8],
        mut order: &[u64],
    ) -> Result<(), Error> {
        let record_bytes = self.job.record_bytes;
        while !order.is_empty() {
            let fitting = match &self.block {
                Some(block) => (block.len() - self.used) / record_bytes,
                None => 0,
            };
            // A smaller piece isn't worth it, because the rest would go to the next block anyway.
            // If blocks have places of one size, the space that a block leaves free is lost.
            let worth = if self.places.is_some() { 64 } else { 8 };
            if fitting < order.len().min(self.job.block_records().div_ceil(worth)) {
                self.flush()?;
                let block =
                    self.job.stage_times.spill_waits_for_write.time(|| self.block_pool.take());
                self.block = Some(block.ok_or(Error::Cancelled)?);
                continue;
            }
            let (now, later) = order.split_at(order.len().min(fitting));
            order = later;
            let block = self.block.as_mut().expect("some records fit in it");
            let bytes = paged_bytes(now.len(), record_bytes);
            let pages = &mut block[self.used..self.used + bytes];
            let seal = self.job.stage_times.spill_busy.time(|| {
                let filled = now.len() * record_bytes;
                gather(records, record_bytes, now, &mut pages[..filled]);
                seal(pages, filled)
            });
            let address = BlockAddress { drive: 0, offset: self.used as u64 };
            self.pieces.push(Piece { address, seal, records: now.len() as u32, bin: bin as u32 });
            self.used += bytes;
        }
        Ok(())
    }

    /// Submits the write of the block, if there is one.
    fn flush(&mut self) -> Result<(), Error> {
        let Some(lease) = self.block.take() else { return Ok(()) };
        let scratch = self.job.scratch();
        let used = self.used as u64;
        // After the place of the block's last bin, so that it is in the way of none of its bins.
        let last_bin = self.pieces.last().map_or(0, |piece| piece.bin as usize);
        let address = match self.places {
            Some(places) => scratch.allocate_behind(places.start(last_bin), used),
            None => scratch.allocate(used),
        }?;
        let pieces = &mut self.pieces[self.addressed..];
        let records: u64 = pieces.iter().map(|piece| u64::from(piece.records)).sum();
        let spilled = &self.job.gauges.spilled;
        spilled.bytes.fetch_add(records * self.job.record_bytes as u64, Relaxed);
        spilled.scratch_bytes.fetch_add(self.used as u64, Relaxed);
        for piece in pieces {
            let offset = address.offset + piece.address.offset;
            piece.address = BlockAddress { offset, ..address };
        }
        self.addressed = self.pieces.len();
        self.job.submit(scratch.write(address, self.used, lease, self.chunk, self.written));
        self.used = 0;
        self.writes += 1;
        Ok(())
    }

    /// Writes the remaining records. Returns the pieces, in the order of bins, and the number of
    /// writes started.
    pub(crate) fn finish(mut self) -> Result<(Vec<Piece>, usize), Error> {
        self.flush()?;
        Ok((self.pieces, self.writes))
    }
}
