//! Phase one for inputs in the page cache whose lines fit in memory: each thread takes the next
//! morsel, reads it, and sorts its lines. So no thread waits for a reading thread, and lines stay
//! in the caches of the core that needs them next.
//!
//! On any exception, such as an error, a very long line, too little memory, or an input that
//! changes, this work is dropped. One thread then reads the inputs again from their beginning, and
//! handles the exception.

use super::super::areas::Areas;
use super::super::chunk::Chunk;
use super::super::input::{InputReader, LinesInput, Morsels};
use super::super::job::LinesJob;
use super::super::run::Run;
use super::fill::{ChunkReader, Divided, Filled, Filling};
use super::former::Formed;
use super::worker::{FormWorker, SortedChunk};
use crate::job::threads::spawn_up_to;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::Lease;

/// Share of the memory that all lines may be expected to take, as a divisor.
const MEMORY_SHARE: u64 = 2;
/// Eighths of the memory that all lines may be expected to take, estimated from those read so far.
const EIGHTHS_MAX: u64 = 7;

/// Cuts these inputs into morsels, if each thread should read its own.
pub(crate) fn cut(
    job: &LinesJob<'_>,
    inputs: &[LinesInput],
    input_bytes: Option<u64>,
) -> Option<Morsels> {
    let plan = &job.plan;
    let input_bytes = input_bytes.filter(|&bytes| {
        let memory_bytes = (plan.areas * plan.area_bytes) as u64;
        plan.threads > 1
            && !plan.has_bypass()
            && !job.journal.is_recording()
            && bytes.saturating_mul(MEMORY_SHARE) <= memory_bytes
    })?;
    let file_bytes: u64 = inputs.iter().map(LinesInput::file_bytes).sum();
    // Lines may have more bytes than their files, for example if these are compressed.
    let share = file_bytes as f64 / input_bytes.max(1) as f64;
    let morsel_bytes = |left: u64| {
        let left = (left as f64 / share) as u64;
        (plan.chunk_bytes_after(0, Some(left)) as f64 * share) as u64
    };
    Morsels::cut(inputs, job.options.delimiter, plan.threads, morsel_bytes)
}

/// Forms chunks of all morsels. Returns all memory as an error if that fails.
pub(crate) fn form<'a>(
    job: &LinesJob<'a>,
    worker: &FormWorker<'a, '_>,
    morsels: &Morsels,
    areas: Areas,
) -> Result<Formed, Areas> {
    let memory_bytes = areas.sizes().sum::<usize>() as u64;
    let formed = Mutex::new(FormedChunks { free: Some(areas), ..FormedChunks::default() });
    let forming = Forming { job, worker, morsels, memory_bytes, next: AtomicUsize::new(0), formed };
    std::thread::scope(|scope| {
        let fail = |error| job.failure.set(error);
        let started = spawn_up_to(scope, job.plan.threads, fail, |_| || forming.run());
        // The thread that reads instead finds out why no thread can be started.
        if started.is_err() {
            forming.give_up();
        }
    });
    let FormedChunks { chunks, free, is_given_up, .. } = forming.formed.into_inner();
    let mut free = free.expect("it is taken here only");
    let chunk_bytes = chunks.values().map(Chunk::area_bytes).sum::<usize>();
    let all_bytes = (free.sizes().sum::<usize>() + chunk_bytes) as u64;
    debug_assert!(all_bytes == memory_bytes || job.failure.is_set(), "memory is lost");
    if is_given_up || job.failure.is_set() || !morsels.are_whole() {
        job.forget_read();
        morsels.forget();
        chunks.into_values().for_each(|chunk| free.give(chunk.into_area()));
        return Err(free);
    }
    let lines = chunks.values().map(|chunk| chunk.lines() as u64).sum();
    let bytes = chunks.values().map(|chunk| chunk.text_bytes() as u64).sum();
    let runs = chunks.into_values().map(Run::InMemory).collect();
    Ok(Formed { runs, free, lines, bytes })
}

/// Chunks that threads have formed.
#[derive(Default)]
struct FormedChunks {
    /// Chunks by the number of their morsel and their number in it.
    chunks: BTreeMap<(usize, usize), Chunk>,
    free: Option<Areas>,
    /// Bytes of the chunks' areas.
    used_bytes: u64,
    /// Bytes of the files that the chunks were read from.
    file_bytes: u64,
    is_given_up: bool,
}

struct Forming<'f, 'a, 'j> {
    job: &'f LinesJob<'a>,
    worker: &'f FormWorker<'a, 'j>,
    morsels: &'f Morsels,
    memory_bytes: u64,
    /// The number of the next morsel.
    next: AtomicUsize,
    formed: Mutex<FormedChunks>,
}

impl Forming<'_, '_, '_> {
    /// Forms chunks of morsels until there are no more.
    fn run(&self) {
        let next = || self.next.fetch_add(1, Relaxed);
        let mut area = None;
        while !self.should_stop()
            && let number = next()
            && let Some((inputs, file_bytes)) = self.morsels.open(number)
        {
            match self.form(number, inputs, &mut area) {
                Some(used_bytes) if !self.is_too_much(used_bytes, file_bytes) => {}
                _ => self.give_up(),
            }
        }
        area.into_iter().for_each(|area| self.give(area));
    }

    /// Forms the chunks of a morsel, usually one. Reads into `area` if given. If the sort moves the
    /// lines, the area stays in `area` for the next morsel. Returns the bytes of the chunks' areas,
    /// or `None` on failure.
    fn form(
        &self,
        number: usize,
        inputs: Vec<LinesInput>,
        area: &mut Option<Lease>,
    ) -> Option<u64> {
        let reader = InputReader::new(inputs, self.job.options.delimiter, None);
        let mut reader = ChunkReader::of_morsel(self.job, reader);
        let (mut next, mut used_bytes) = (None, 0);
        for chunk in 0.. {
            let mut filling = match next.take() {
                Some(filling) => filling,
                None => Filling { area: self.area(area)?, text_bytes: 0 },
            };
            let (lines, bytes) = match reader.fill(&mut filling, 0) {
                Ok(Filled::Lines { lines, bytes }) => (lines, bytes),
                filled => {
                    self.give(filling.area);
                    return matches!(filled, Ok(Filled::Nothing)).then_some(used_bytes);
                }
            };
            let Divided { chunk: unsorted, rest, next: begun } =
                reader.divide(filling, lines, bytes);
            next = begun;
            self.job.observer.advance(bytes as u64);
            let sorted = self.sort(unsorted, rest, area);
            used_bytes += sorted.area_bytes() as u64;
            self.formed.lock().chunks.insert((number, chunk), sorted);
            if next.is_none() && reader.is_over() {
                break;
            }
        }
        Some(used_bytes)
    }

    /// Sorts a chunk whose area has `rest` left. If the lines move, the old area is put into
    /// `area`.
    fn sort(&self, unsorted: Chunk, rest: Option<Lease>, area: &mut Option<Lease>) -> Chunk {
        let mut to = match unsorted.arranged_bytes() {
            0 => None,
            bytes => self.free(|free| free.take_bytes(bytes)),
        };
        let SortedChunk { chunk, rest: dropped, has_moved, .. } =
            self.worker.sort(unsorted, to.as_mut());
        self.give(dropped);
        match (to, rest) {
            (Some(mut own), rest) if has_moved => {
                rest.into_iter().for_each(|rest| own.join(rest));
                area.replace(own).into_iter().for_each(|other| self.give(other));
            }
            (to, rest) => to.into_iter().chain(rest).for_each(|unused| self.give(unused)),
        }
        chunk
    }

    /// Takes the area of the last chunk if it is large enough, else a free one.
    fn area(&self, last: &mut Option<Lease>) -> Option<Lease> {
        match last.take() {
            Some(last) if last.len() >= self.job.plan.area_bytes / 2 => return Some(last),
            small => small.into_iter().for_each(|small| self.give(small)),
        }
        self.free(Areas::take)
    }

    fn give(&self, memory: Lease) {
        self.free(|free| free.give(memory));
    }

    fn free<R>(&self, change: impl FnOnce(&mut Areas) -> R) -> R {
        change(self.formed.lock().free.as_mut().expect("it is there while threads work"))
    }

    /// True if all lines are expected to exceed the memory. Adds chunks of `used_bytes` bytes, read
    /// from `file_bytes` bytes of files.
    fn is_too_much(&self, used_bytes: u64, file_bytes: u64) -> bool {
        let mut formed = self.formed.lock();
        formed.used_bytes += used_bytes;
        formed.file_bytes += file_bytes;
        let all = self.morsels.file_bytes() as f64 / formed.file_bytes.max(1) as f64;
        (formed.used_bytes as f64 * all) as u64 > self.memory_bytes / 8 * EIGHTHS_MAX
    }

    fn give_up(&self) {
        self.formed.lock().is_given_up = true;
    }

    fn should_stop(&self) -> bool {
        self.job.should_stop() || self.formed.lock().is_given_up
    }
}
