//! The outline of a sort of lines whose keys are built once, and travel before them.

use super::encode::RECORD_END;
use super::input::{from_beginning, to_keyed, to_keyed_again};
use super::keying_threads::{KeyingMemory, KeyingThreads};
use super::line_framing::KeyPlace;
use super::line_keying::{LineKeying, TooLong};
use super::line_keys::{ByKeyAndLine, ByKeyThenJudged, ByLineKey, LineKeys, LineTies};
use super::line_sum::LineSum;
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
    let result = sort_keyed(options, keys, inputs, output.reborrow(), disk, observer);
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
        Error::LongLine { path, bytes, is_whole, budget_bytes, needed_bytes: Some(needed) }
            if !can_begin_again && needed >= least_bytes =>
        {
            let needed_bytes = Some(needed.max(LINE_SHARE.saturating_mul(bytes)));
            Error::LongLine { path, bytes, is_whole, budget_bytes, needed_bytes }
        }
        error => error,
    }
}

/// True if a sort of these inputs by keys can begin again without keys.
pub fn can_begin_again(inputs: &[LinesInput]) -> bool {
    all_again(inputs).is_some()
}

fn sort_keyed<K: LineKeys>(
    options: &LinesOptions,
    keys: &Arc<K>,
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let LinesOptions { budget_bytes, threads, delimiter, .. } = *options;
    let line_bytes_max = budget_bytes / LINE_SHARE;
    let keying = Arc::new(LineKeying {
        keys: Arc::clone(keys),
        delimiter,
        line_bytes_max: line_bytes_max as usize,
        keyed: Arc::default(),
    });
    let memory = KeyingMemory::of_budget(budget_bytes, threads);
    let written_sum = Arc::new(AtomicU64::new(0));
    let inputs = keyed(&keying, memory, &written_sum, inputs);
    let pieces = move |budget| KeyingMemory::of_budget(budget, threads).taken_bytes;
    let reservation = options
        .reservation
        .clone()
        .with_share("pieces whose keys are built", pieces)
        .with_share("copies of the longest line", |budget| LINE_COPIES * (budget / LINE_SHARE));
    let engine = LinesOptions { delimiter: RECORD_END, reservation, ..options.clone() };
    let segment = || -> Box<dyn SegmentForm> {
        let written = LineSum::new(delimiter, Arc::clone(&written_sum));
        Box::new(SummedLines { restore: RestoreLines::new(delimiter, keys.place()), written })
    };
    let sums = || [keying.keyed.sum.load(Relaxed), written_sum.load(Relaxed)];
    // Only the engine knows which lines were dropped, or read before a checkpoint.
    let has_sums = !options.is_unique && options.checkpoint.is_none();
    let form = OutputForm { head: &[], segment: &segment, sums: has_sums.then_some(&sums) };
    let by_judge = ByKeyThenJudged(&**keys);
    let order: &dyn LineKernels = match keys.ties() {
        LineTies::Equal => &ByLineKey,
        LineTies::Bytes => &ByKeyAndLine,
        LineTies::Judged => &by_judge,
    };
    let report = sort_formed(&engine, order, inputs, output, form, disk, observer);
    let report = report.map_err(|error| too_long(error, budget_bytes))?;
    let (bytes, sum) = (keying.keyed.bytes.load(Relaxed), keying.keyed.sum.load(Relaxed));
    Ok(LinesReport { bytes, checksum: Some(sum), ..report })
}

/// Restores lines without their keys, and hashes them as they are written.
struct SummedLines {
    restore: RestoreLines,
    written: LineSum,
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
        let bytes = self.restore.apply(out, piece_bytes);
        self.written.take(&out[..bytes]);
        bytes
    }
}

/// The inputs, mapped to keyed lines. `written_sum` is the sum of the lines that were written, of
/// which some may not count.
fn keyed<K: LineKeys>(
    keying: &Arc<LineKeying<K>>,
    memory: KeyingMemory,
    written_sum: &Arc<AtomicU64>,
    inputs: Vec<LinesInput>,
) -> Vec<LinesInput> {
    let lines = || MapLines {
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
    };
    let threads = Arc::new(KeyingThreads::new(Arc::clone(keying), memory));
    let keyed = |(input, number): (LinesInput, u32)| {
        let is_copied = keying.keys.place() == KeyPlace::Before;
        let key_share = if is_copied { KEY_SHARE } else { END_SHARE };
        let bytes = input.bytes.map(|bytes| bytes + bytes / key_share);
        let (keyed, written) = (Arc::clone(&keying.keyed), Arc::clone(written_sum));
        let forget = move || {
            keyed.forget();
            written.store(0, Relaxed);
        };
        let place = (keying.delimiter, number);
        let forget = Arc::new(forget);
        let again = to_keyed_again(from_beginning(number), Arc::clone(&threads), place, forget);
        input.mapped_by_lines(bytes, (again.whole)(), Some(lines())).mapped_again_by(again)
    };
    inputs.into_iter().zip(0..).map(keyed).collect()
}

/// The error for a line that exceeds the room in the budget.
fn too_long(error: Error, budget_bytes: u64) -> Error {
    let Error::Disk(error) = error else { return error };
    let inner = error.source.get_ref().and_then(|inner| inner.downcast_ref::<TooLong>());
    let Some(&TooLong { bytes, is_whole }) = inner else { return error.into() };
    let needed_bytes = Some(LINE_SHARE.saturating_mul(bytes));
    Error::LongLine { path: error.path, bytes, is_whole, budget_bytes, needed_bytes }
}
