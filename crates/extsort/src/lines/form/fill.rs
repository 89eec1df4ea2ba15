//! Reads lines into areas, until a chunk of whole lines is complete.

use super::super::chunk::{Chunk, Layout};
use super::super::input::InputReader;
use super::super::job::LinesJob;
use super::super::plan::Plan;
use crate::Error;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::Lease;
use xsort_kernels::lines::{count_lines, whole_lines_bytes};

/// Bytes per read.
const READ_BYTES: usize = 1 << 20;
/// Bytes per read where an area is nearly full. Bytes that don't fit are copied twice.
const LAST_READ_BYTES: usize = 16 << 10;

/// An area that is being filled.
pub(crate) struct Filling {
    pub(crate) area: Lease,
    /// Bytes that were read into it.
    pub(crate) text_bytes: usize,
}

/// The result of filling an area.
pub(crate) enum Filled {
    /// `lines` whole lines of `bytes` bytes in all that fit, perhaps followed by more text.
    Lines { lines: usize, bytes: usize },
    /// The beginning of a line that is longer than the area.
    PartOfLine,
    /// Nothing: the input has ended.
    Nothing,
}

/// The parts of a filled area.
pub(crate) struct Divided {
    pub(crate) chunk: Chunk,
    /// The rest of the area, if it is large enough to use.
    pub(crate) rest: Option<Lease>,
    /// The rest of the area, if the beginning of a long line is in it.
    pub(crate) next: Option<Filling>,
}

/// Reads lines into areas.
pub(crate) struct ChunkReader<'a, 'j> {
    job: &'j LinesJob<'a>,
    pub(crate) reader: InputReader<'j>,
    /// Bytes still to be read, if known.
    pub(crate) remaining: Option<u64>,
    /// Bytes read after the lines of the last chunk, about one read at most. The beginning of a
    /// long line stays in its area instead.
    carry: Vec<u8>,
    is_at_end: bool,
    /// True if a chunk takes all that fits in its area.
    is_of_morsel: bool,
}

impl<'a, 'j> ChunkReader<'a, 'j> {
    pub(crate) fn new(
        job: &'j LinesJob<'a>,
        reader: InputReader<'j>,
        remaining: Option<u64>,
    ) -> Self {
        let (carry, is_at_end, is_of_morsel) = (Vec::new(), false, false);
        ChunkReader { job, reader, remaining, carry, is_at_end, is_of_morsel }
    }

    /// A reader for a morsel, which becomes one chunk.
    pub(crate) fn of_morsel(job: &'j LinesJob<'a>, reader: InputReader<'j>) -> Self {
        ChunkReader { is_of_morsel: true, ..ChunkReader::new(job, reader, None) }
    }

    /// True if everything was read and taken.
    pub(crate) fn is_over(&self) -> bool {
        self.is_at_end && self.carry.is_empty()
    }

    /// Skips bytes that an earlier process has read.
    pub(crate) fn skip(&mut self, bytes: u64) -> Result<(), Error> {
        self.remaining = self.remaining.map(|remaining| remaining.saturating_sub(bytes));
        self.reader.skip(bytes)
    }

    /// Bytes that the next chunk will have after `bytes_before` bytes of lines, if known and its
    /// area is large enough.
    pub(crate) fn expected_bytes(&self, bytes_before: u64) -> Option<usize> {
        let target = self.job.plan.chunk_bytes_after(bytes_before, self.remaining);
        Some(target.min(usize::try_from(self.remaining?).unwrap_or(usize::MAX)))
    }

    /// Fills an area with lines. After `bytes_before` bytes of lines, it may stop earlier to keep
    /// the pipeline busy.
    pub(crate) fn fill(
        &mut self,
        filling: &mut Filling,
        bytes_before: u64,
    ) -> Result<Filled, Error> {
        let delimiter = self.job.options.delimiter;
        let target = match self.is_of_morsel {
            true => usize::MAX,
            false => self.job.plan.chunk_bytes_after(bytes_before, self.remaining),
        };
        let Filling { area, text_bytes } = filling;
        // The area may be smaller than the last one.
        let carried = self.carry.len().min(area.len() - *text_bytes);
        area[*text_bytes..][..carried].copy_from_slice(&self.carry[..carried]);
        self.carry.drain(..carried);
        *text_bytes += carried;
        let mut lines = count_lines(&area[..*text_bytes], delimiter);
        while self.carry.is_empty()
            && self.fits(area, *text_bytes + 1, lines + 1)
            && (*text_bytes < target || lines == 0)
        {
            if self.job.should_stop() {
                // The thread that ends the job reports the failure.
                if self.is_of_morsel {
                    return Err(Error::Cancelled);
                }
                self.job.failure.check()?;
            }
            let bytes = self.read(area, *text_bytes, lines)?;
            if bytes == 0 {
                self.is_at_end = true;
                break;
            }
            lines += count_lines(&area[*text_bytes..][..bytes], delimiter);
            *text_bytes += bytes;
        }
        // Step back to the last whole line that fits.
        let mut bytes = whole_lines_bytes(&area[..*text_bytes], delimiter);
        while lines > 0 && !self.fits(area, bytes, lines) {
            lines -= 1;
            bytes = whole_lines_bytes(&area[..bytes - 1], delimiter);
        }
        Ok(match (lines, *text_bytes) {
            (0, 0) => Filled::Nothing,
            (0, _) => Filled::PartOfLine,
            _ => Filled::Lines { lines, bytes },
        })
    }

    /// Divides a filled area into the chunk of its first `lines` lines, of `bytes` bytes, and the
    /// rest.
    pub(crate) fn divide(&mut self, filling: Filling, lines: usize, bytes: usize) -> Divided {
        let Filling { mut area, text_bytes } = filling;
        let layout = self.layout(bytes, lines);
        let chunk = |area| Chunk::new(area, layout, bytes, lines);
        let needed = layout.area_bytes(bytes, lines);
        let tail_bytes = text_bytes - bytes;
        if tail_bytes > READ_BYTES && needed < area.len() {
            // The beginning of a long line stays, as far as there is memory for it.
            let staying = tail_bytes.min(area.len() - needed);
            self.carry.splice(0..0, area[bytes + staying..text_bytes].iter().copied());
            area.copy_within(bytes..bytes + staying, needed);
            let own = area.split_off_front(needed);
            let next = Filling { area, text_bytes: staying };
            return Divided { chunk: chunk(own), rest: None, next: Some(next) };
        }
        self.carry.splice(0..0, area[bytes..text_bytes].iter().copied());
        let mut rest = None;
        if needed < area.len() / 2 {
            let own = area.split_off_front(needed);
            rest = Some(std::mem::replace(&mut area, own));
        }
        Divided { chunk: chunk(area), rest, next: None }
    }

    /// Reads into an area at offset `from`, after `lines` lines.
    fn read(&mut self, area: &mut Lease, from: usize, lines: usize) -> Result<usize, Error> {
        // Lines may be empty, so their entries may fill a small area at once.
        let most = READ_BYTES.min(area.len() / 8).min(area.len() - from);
        let step = most.min(self.fitting_bytes(area, from, lines).max(LAST_READ_BYTES));
        area.populate(from..from + step);
        let read = || self.reader.read(&mut area[from..][..step]);
        let bytes = self.job.gauges.stage_times.read_busy.time(read)?;
        self.job.read_bytes.fetch_add(bytes as u64, Relaxed);
        self.remaining = self.remaining.map(|left| left.saturating_sub(bytes as u64));
        Ok(bytes)
    }

    /// Bytes for which an area and the sort buffer have room after `lines` lines of `text_bytes`
    /// bytes, if the next lines have the same average length.
    fn fitting_bytes(&self, area: &Lease, text_bytes: usize, lines: usize) -> usize {
        let Plan { entry_bytes, sort_buffer_bytes, .. } = self.job.plan;
        if lines == 0 {
            return usize::MAX;
        }
        let line_bytes = text_bytes / lines + 1;
        let layout = self.layout(text_bytes, lines);
        let own_entry_bytes = if layout == Layout::Arranged { 0 } else { entry_bytes };
        let needed = layout.area_bytes(text_bytes, lines);
        let of_area = area.len().saturating_sub(needed) / (line_bytes + own_entry_bytes);
        let of_buffer = (sort_buffer_bytes / entry_bytes).saturating_sub(lines);
        of_area.min(of_buffer).saturating_mul(line_bytes)
    }

    /// True if an area and the sort buffer can hold `lines` lines of `text_bytes` bytes in all.
    fn fits(&self, area: &Lease, text_bytes: usize, lines: usize) -> bool {
        let Plan { entry_bytes, sort_buffer_bytes, .. } = self.job.plan;
        self.layout(text_bytes, lines).area_bytes(text_bytes, lines) <= area.len()
            && lines * entry_bytes <= sort_buffer_bytes
    }

    /// The layout of a chunk of `lines` lines of `text_bytes` bytes in all.
    fn layout(&self, text_bytes: usize, lines: usize) -> Layout {
        Layout::new(self.job.order, text_bytes, lines, self.job.plan.sort_buffer_bytes)
    }
}
