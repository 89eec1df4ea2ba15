//! The outline of a sort of lines whose keys are built once, and travel before them.

use super::encode::RECORD_END;
use super::input::{beginning_at, from_beginning, to_keyed, to_keyed_again};
use super::keying::Piece;
use super::keying_threads::{KeyingMemory, KeyingThreads};
use super::line_framing::KeyPlace;
use super::line_keying::{CutShort, LineKeying, TooLong};
use super::line_keys::{ByKeyAndLine, ByKeyThenJudged, ByLineKey, LineKeys, LineTies};
use super::line_sum::LineSum;
use super::record_rule::RecordRule;
use super::restore_lines::RestoreLines;
use crate::lines::{
    LineKernels, LinesInput, LinesOptions, LinesReport, MapLines, OutputForm, PutLine, SegmentForm,
    SortedOutput, sort_formed, sort_lines_to,
};
use crate::{Error, Observer};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::Disk;

/// Expected size of copied keys, as a divisor of the lines' size.
const KEY_SHARE: u64 = 2;
/// Expected size of the ends of keys that aren't copied, as a divisor of the lines' size.
const END_SHARE: u64 = 16;
/// Share of the budget that a line may take, as a divisor.
const LINE_SHARE: u64 = 32;
/// Copies of a long line in memory: as it was read, with the bytes read after it, and twice with
/// its key, which may be as long: where the key is built, and before the line.
const LINE_COPIES: u64 = 5;
/// A budget below this has no room for pieces of the usual size.
const LITTLE_BYTES: u64 = 8 << 20;
/// Most inputs for which a second reading is kept possible. The memory for that isn't counted.
const AGAIN_INPUTS_MAX: usize = 1 << 14;

/// Sorts all lines of `inputs` by the keys that `keys` builds, and writes them to `output`. The
/// report's spilled bytes are those of lines with their keys. If a line is too long to have a key
/// before it, and all inputs can be read once more, they are sorted without keys by `order`, which
/// must be the keys' order.
///
/// # Errors
///
/// The errors of [`sort_lines`](crate::sort_lines).
pub fn sort_lines_by_keys<K: LineKeys>(
    options: &LinesOptions,
    (keys, order): (&Arc<K>, &dyn LineKernels),
    inputs: Vec<LinesInput>,
    mut output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let again = all_again(&inputs);
    let sort = KeyedSort::of_lines(options, keys);
    let result = sort.run(inputs, output.reborrow(), disk, observer);
    match (result, again) {
        // Nothing is written until all lines are read.
        (Err(Error::LongLine { .. }), Some(inputs)) => {
            sort_lines_to(options, order, inputs, output, disk, observer)
        }
        (result, _) => result,
    }
}

/// Copies of all inputs for a second reading, for a sort by keys that finds a line too long for
/// them. `None` if an input can't be read twice.
fn all_again(inputs: &[LinesInput]) -> Option<Vec<LinesInput>> {
    match inputs.len() {
        ..=AGAIN_INPUTS_MAX => inputs.iter().map(LinesInput::again).collect(),
        _ => None,
    }
}

/// Corrects the needed budget in the error of a sort without keys. If a sort with a larger budget
/// would use keys and can't begin again without them, a long line needs the budget of a sort with
/// keys. Below `least_bytes` no sort uses keys.
pub fn refused_with_room_for_keys(error: Error, can_begin_again: bool, least_bytes: u64) -> Error {
    match error {
        Error::LongLine {
            path,
            bytes,
            is_whole,
            is_record,
            budget_bytes,
            needed_bytes: Some(needed),
        } if !can_begin_again && needed >= least_bytes => {
            let needed_bytes = Some(needed.max(LINE_SHARE.saturating_mul(bytes)));
            Error::LongLine { path, bytes, is_whole, is_record, budget_bytes, needed_bytes }
        }
        error => error,
    }
}

/// True if a sort of these inputs by keys can begin again without keys.
pub fn can_begin_again(inputs: &[LinesInput]) -> bool {
    all_again(inputs).is_some()
}

/// A sort of lines, or of records of several lines, with keys before them.
pub(super) struct KeyedSort<'s, K> {
    options: &'s LinesOptions,
    pub(super) keying: Arc<LineKeying<K>>,
    memory: KeyingMemory,
    /// Bytes of the first input that come before the ones that are read.
    skipped_bytes: u64,
}

impl<'s, K: LineKeys> KeyedSort<'s, K> {
    fn of_lines(options: &'s LinesOptions, keys: &Arc<K>) -> KeyedSort<'s, K> {
        KeyedSort::of_records(options, keys, RecordRule::Line, 0)
    }

    /// A sort of records, of which the first begins after `skipped_bytes` bytes of the first input.
    pub(super) fn of_records(
        options: &'s LinesOptions,
        keys: &Arc<K>,
        rule: RecordRule,
        skipped_bytes: u64,
    ) -> KeyedSort<'s, K> {
        let LinesOptions { budget_bytes, threads, delimiter, .. } = *options;
        let keying = Arc::new(LineKeying {
            keys: Arc::clone(keys),
            delimiter,
            rule,
            line_bytes_max: (budget_bytes / LINE_SHARE) as usize,
            keyed: Arc::default(),
        });
        let memory = keying_memory(budget_bytes, threads);
        KeyedSort { options, keying, memory, skipped_bytes }
    }

    fn is_of_lines(&self) -> bool {
        matches!(self.keying.rule, RecordRule::Line)
    }

    /// The engine's settings.
    pub(super) fn engine(&self) -> LinesOptions {
        let threads = self.options.threads;
        let pieces = move |budget| keying_memory(budget, threads).taken_bytes;
        // One more where a record gets the blank line that it lacks.
        let copies = LINE_COPIES + u64::from(!self.is_of_lines());
        let reservation = self
            .options
            .reservation
            .clone()
            .with_share("pieces whose keys are built", pieces)
            .with_share("copies of the longest line", move |budget| copies * (budget / LINE_SHARE));
        LinesOptions { delimiter: RECORD_END, reservation, ..self.options.clone() }
    }

    /// Sorts `inputs` to `output`.
    pub(super) fn run(
        &self,
        inputs: Vec<LinesInput>,
        output: SortedOutput<'_>,
        disk: &dyn Disk,
        observer: &dyn Observer,
    ) -> Result<LinesReport, Error> {
        let KeyedSort { options, keying, .. } = self;
        let written_sum = Arc::new(AtomicU64::new(0));
        let inputs = self.keyed(&written_sum, inputs);
        let segment = || -> Box<dyn SegmentForm> {
            let restore = RestoreLines::new(keying.delimiter, keying.keys.place());
            let written = LineSum::new(Arc::clone(&written_sum));
            Box::new(SummedLines { restore, written, ends: Vec::new() })
        };
        let sums = || [keying.keyed.sum.load(Relaxed), written_sum.load(Relaxed)];
        // Only the engine knows which lines were dropped, or read before a checkpoint.
        let has_sums = !options.is_unique && options.checkpoint.is_none();
        let form = OutputForm { head: &[], segment: &segment, sums: has_sums.then_some(&sums) };
        let sort = |order: &dyn LineKernels| {
            sort_formed(&self.engine(), order, inputs, output, form, disk, observer)
        };
        self.report(in_order_of(&*keying.keys, sort))
    }

    /// The report of the lines without their keys.
    pub(super) fn report(&self, engine: Result<LinesReport, Error>) -> Result<LinesReport, Error> {
        let keyed = &self.keying.keyed;
        let report = engine.map_err(|error| self.refused(error))?;
        let (bytes, sum) = (keyed.bytes.load(Relaxed), keyed.sum.load(Relaxed));
        Ok(LinesReport { bytes, checksum: Some(sum), ..report })
    }

    /// The inputs, mapped to keyed lines. `written_sum` is the sum of the lines that were written,
    /// of which some may not count.
    pub(super) fn keyed(
        &self,
        written_sum: &Arc<AtomicU64>,
        inputs: Vec<LinesInput>,
    ) -> Vec<LinesInput> {
        let KeyedSort { keying, memory, skipped_bytes, .. } = self;
        let threads = Arc::new(KeyingThreads::new(Arc::clone(keying), *memory));
        let keyed = |(input, number): (LinesInput, u32)| {
            let is_copied = keying.keys.place() == KeyPlace::Before;
            let key_share = if is_copied { KEY_SHARE } else { END_SHARE };
            let bytes = input.bytes.map(|bytes| bytes + bytes / key_share);
            if !self.is_of_lines() {
                // Where a record begins is known only to who has read all before it.
                let offset = if number == 0 { *skipped_bytes } else { 0 };
                let at = Piece { input: number, record: 1, offset };
                return input.mapped(bytes, to_keyed(beginning_at(at), Arc::clone(&threads)));
            }
            let (keyed, written) = (Arc::clone(&keying.keyed), Arc::clone(written_sum));
            let forget = move || {
                keyed.forget();
                written.store(0, Relaxed);
            };
            let place = (keying.delimiter, number);
            let forget = Arc::new(forget);
            let again = to_keyed_again(from_beginning(number), Arc::clone(&threads), place, forget);
            let lines = map_lines(keying, *memory);
            input.mapped_by_lines(bytes, (again.whole)(), Some(lines)).mapped_again_by(again)
        };
        inputs.into_iter().zip(0..).map(keyed).collect()
    }

    /// The error for a record that is too long for the budget, or cut short.
    fn refused(&self, error: Error) -> Error {
        let (budget_bytes, is_record) = (self.options.budget_bytes, !self.is_of_lines());
        let error = match error {
            Error::Disk(error) => error,
            Error::LongLine { path, bytes, is_whole, needed_bytes, .. } => {
                return Error::LongLine {
                    path,
                    bytes,
                    is_whole,
                    is_record,
                    budget_bytes,
                    needed_bytes,
                };
            }
            other => return other,
        };
        let inner = error.source.get_ref();
        if let Some(short) = inner.and_then(|inner| inner.downcast_ref::<CutShort>()) {
            return Error::Input { reason: short.to_string(), path: error.path };
        }
        let Some(&TooLong { bytes, is_whole }) = inner.and_then(|inner| inner.downcast_ref())
        else {
            return error.into();
        };
        let needed_bytes = Some(LINE_SHARE.saturating_mul(bytes));
        let path = error.path;
        Error::LongLine { path, bytes, is_whole, is_record, budget_bytes, needed_bytes }
    }
}

/// The memory for building keys. Of little memory, pieces take a share.
fn keying_memory(budget_bytes: u64, threads: usize) -> KeyingMemory {
    match budget_bytes {
        ..LITTLE_BYTES => KeyingMemory::of_merge(budget_bytes, 0, 1),
        _ => KeyingMemory::of_budget(budget_bytes, threads),
    }
}

/// Calls `work` with the order of keyed lines.
pub(super) fn in_order_of<K: LineKeys, T>(keys: &K, work: impl FnOnce(&dyn LineKernels) -> T) -> T {
    match keys.ties() {
        LineTies::Equal => work(&ByLineKey),
        LineTies::Bytes => work(&ByKeyAndLine),
        LineTies::Judged => work(&ByKeyThenJudged(keys)),
    }
}

/// How threads read parts of an input of lines in parallel.
fn map_lines<K: LineKeys>(keying: &Arc<LineKeying<K>>, memory: KeyingMemory) -> MapLines {
    MapLines {
        delimiter: keying.delimiter,
        parts_max: memory.pieces(),
        map: {
            let keying = Arc::new(keying.of_parts());
            // The thread that reads a part also builds its keys.
            let own = move || Arc::new(KeyingThreads::none(Arc::clone(&keying)));
            Arc::new(move || to_keyed(from_beginning(0), own()))
        },
        forget: {
            let keyed = Arc::clone(&keying.keyed);
            Arc::new(move || keyed.forget())
        },
    }
}

/// Restores lines without their keys, and hashes them as they are written.
struct SummedLines {
    restore: RestoreLines,
    written: LineSum,
    /// Where the lines of a piece end.
    ends: Vec<usize>,
}

impl PutLine for SummedLines {
    fn put(&mut self, keyed: &[u8], out: &mut [u8]) -> usize {
        let bytes = self.restore.put(keyed, out);
        self.written.take_line(out, bytes - 1);
        bytes
    }
}

impl SegmentForm for SummedLines {
    fn put_piece(&mut self, out: &mut [u8], piece_bytes: usize) -> usize {
        self.ends.clear();
        let bytes = self.restore.apply(out, piece_bytes, |end| self.ends.push(end));
        self.written.take(&out[..bytes], &self.ends);
        bytes
    }
}
