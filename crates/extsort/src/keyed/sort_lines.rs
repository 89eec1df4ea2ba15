//! The outline of a sort of lines whose keys are made once, and travel before them.

use super::encode::RECORD_END;
use super::input::{from_beginning, to_keyed};
use super::keying_threads::{KeyingMemory, KeyingThreads};
use super::line_framing::KeyPlace;
use super::line_keying::{LineKeying, TooLong};
use super::line_keys::{ByKeyAndLine, ByKeyThenJudged, ByLineKey, LineKeys, LineTies};
use super::line_sum::LineSum;
use super::restore_lines::RestoreLines;
use crate::variable::{
    LineKernels, LinesInput, LinesOptions, LinesReport, MapLines, OutputForm, PutLine, Reservation,
    SegmentForm, SortedOutput, sort_formed, sort_lines_to,
};
use crate::{Error, Observer};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::Disk;

/// Keys are expected to take this share of what lines take.
const KEY_SHARE: u64 = 2;
/// The ends of a key that isn't copied are expected to take this share.
const END_SHARE: u64 = 16;
/// A line may take this share of the budget.
const LINE_SHARE: u64 = 32;
/// A long line is in memory as it was read, with what is read behind it, and with its key, which
/// may be as long, twice: where it is made, and before the line.
const LINE_COPIES: u64 = 5;
/// Of so many inputs it is remembered how to read them once more: what that takes isn't counted.
const AGAIN_INPUTS_MAX: usize = 1 << 14;

/// Sorts all lines of `inputs` by the keys that `keys` makes of them, and writes them to `output`.
/// The report's spilled bytes are those of lines with their keys. If a line is too long to have a
/// key before it, and all inputs can be read once more, they are sorted by `order`, which is that
/// of the keys, without any.
///
/// # Errors
/// As [`sort_lines`](crate::sort_lines).
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
        // Nothing is written before all lines are read.
        (Err(Error::LongLine { .. }), Some(inputs)) => {
            sort_lines_to(options, order, inputs, output, disk, observer)
        }
        (result, _) => result,
    }
}

/// All inputs, to be read once more: those of a sort by keys that finds a line too long for them.
fn all_again(inputs: &[LinesInput]) -> Option<Vec<LinesInput>> {
    match inputs.len() {
        ..=AGAIN_INPUTS_MAX => inputs.iter().map(LinesInput::again).collect(),
        _ => None,
    }
}

/// The error of a sort without keys, if a sort with a larger budget may have keys and can't begin
/// again without. Then the budget that a long line needs is that of a sort with keys. With less
/// than `least_bytes` no sort has any.
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

/// Whether a sort by keys of these inputs can begin again without keys.
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
    let inputs = keyed(&keying, memory, inputs);
    let beside = move |budget| {
        KeyingMemory::of_budget(budget, threads).taken_bytes + LINE_COPIES * (budget / LINE_SHARE)
    };
    let engine = LinesOptions {
        delimiter: RECORD_END,
        reservation: options.reservation.clone().and(Reservation::share(beside)),
        ..options.clone()
    };
    let written_sum = Arc::new(AtomicU64::new(0));
    let segment = || -> Box<dyn SegmentForm> {
        let written = LineSum::new(delimiter, Arc::clone(&written_sum));
        Box::new(SummedLines { restore: RestoreLines::new(delimiter, keys.place()), written })
    };
    let sums = || [keying.keyed.sum.load(Relaxed), written_sum.load(Relaxed)];
    // Only the engine knows what was dropped, or read before a checkpoint.
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

/// Lines without their keys, hashed as they are written.
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

/// Inputs whose lines have keys.
fn keyed<K: LineKeys>(
    keying: &Arc<LineKeying<K>>,
    memory: KeyingMemory,
    inputs: Vec<LinesInput>,
) -> Vec<LinesInput> {
    let lines = || MapLines {
        delimiter: keying.delimiter,
        parts_max: memory.pieces(),
        map: {
            let keying = Arc::new(keying.of_parts());
            // Whoever reads a part makes its keys.
            let own = move || Arc::new(KeyingThreads::new(Arc::clone(&keying), 0));
            Arc::new(move || to_keyed(from_beginning(0), own()))
        },
        forget: {
            let keyed = Arc::clone(&keying.keyed);
            Arc::new(move || keyed.forget())
        },
    };
    let threads = Arc::new(KeyingThreads::new(Arc::clone(keying), memory.threads));
    let keyed = |(input, number): (LinesInput, u32)| {
        let is_copied = keying.keys.place() == KeyPlace::Before;
        let key_share = if is_copied { KEY_SHARE } else { END_SHARE };
        let bytes = input.bytes.map(|bytes| bytes + bytes / key_share);
        let map = to_keyed(from_beginning(number), Arc::clone(&threads));
        input.mapped_by_lines(bytes, map, Some(lines()))
    };
    inputs.into_iter().zip(0..).map(keyed).collect()
}

/// The refusal of a line for which the budget has no room.
fn too_long(error: Error, budget_bytes: u64) -> Error {
    let Error::Disk(error) = error else { return error };
    let inner = error.source.get_ref().and_then(|inner| inner.downcast_ref::<TooLong>());
    let Some(&TooLong { bytes, is_whole }) = inner else { return error.into() };
    let needed_bytes = Some(LINE_SHARE.saturating_mul(bytes));
    Error::LongLine { path: error.path, bytes, is_whole, budget_bytes, needed_bytes }
}
