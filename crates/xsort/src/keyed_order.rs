//! GNU sort's order of lines, by keys that are computed once and precede the lines.

use crate::gnu_order::{GnuOrder, kernels_for};
use std::cmp::Ordering;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_extsort::keyed::{
    KeyPlace, LineKeys, LineTies, can_begin_again, refused_with_room_for_keys, sort_lines_by_keys,
};
use xsort_extsort::lines::{
    LinesInput, SMALL_INPUT_BYTES, SortedOutput, sort_lines_to, total_bytes,
};
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer};
use xsort_gnu::sort::{self as gnu, Order, Scratch, Ties};

/// Minimum budget for keys: with less memory they cost more than they save.
const BUDGET_BYTES_MIN: u64 = 16 << 20;
/// Bytes of the first input that are sampled.
const SAMPLE_BYTES: u64 = 64 << 10;
/// Assumed size of a stream, as a multiple of the sample.
const UNKNOWN_SHARE: u64 = 1000;
/// Keys are kept if key words tie in at least `1 / TIES_SHARE` of all pairs of neighbours, as
/// estimated from the sample, and in at least `TIES_MIN` pairs of the sample.
const TIES_SHARE: u64 = 32;
const TIES_MIN: u64 = 3;

/// The keys of lines in an order of GNU sort.
pub struct GnuKeys(pub(crate) gnu::LineKeys);

impl LineKeys for GnuKeys {
    type Scratch = Scratch;

    fn push_key(&self, line: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) {
        self.0.push(line, scratch, out);
    }

    #[inline]
    fn part_of(&self, line: &[u8]) -> Option<Range<usize>> {
        self.0.part_of(line)
    }

    fn place(&self) -> KeyPlace {
        match self.0.place() {
            gnu::KeyPlace::Before => KeyPlace::Before,
            gnu::KeyPlace::Beginning => KeyPlace::Beginning,
            gnu::KeyPlace::Moved { first_stays } => KeyPlace::Moved { first_stays },
        }
    }

    fn ties(&self) -> LineTies {
        match self.0.ties() {
            Ties::Equal => LineTies::Equal,
            Ties::Bytes => LineTies::Bytes,
            Ties::Judged => LineTies::Judged,
        }
    }

    fn compare_ties(
        &self,
        a: &[u8],
        b: &[u8],
        key_bytes: usize,
        scratch: &mut Scratch,
    ) -> Ordering {
        self.0.compare_ties(a, b, key_bytes, scratch)
    }

    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> bool {
        self.0.same(a, b, scratch)
    }
}

/// Sorts lines to `output` in `order`. Uses keys that are computed once, if they cost less than
/// they save.
///
/// # Errors
/// The errors of [`sort_lines`](xsort_extsort::sort_lines).
pub fn sort_in_order(
    options: &LinesOptions,
    order: &Order,
    mut inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let kernels = kernels_for(order);
    let by = &*kernels;
    let bytes = total_bytes(&inputs);
    let is_small = bytes.is_some_and(|bytes| bytes <= SMALL_INPUT_BYTES);
    let has_room = options.budget_bytes >= BUDGET_BYTES_MIN && options.checkpoint.is_none();
    let keys = gnu::LineKeys::new(order, options.is_unique);
    if is_small || !has_room {
        let has_keys = keys.is_some() && options.checkpoint.is_none();
        let can_begin_again = !has_keys || can_begin_again(&inputs);
        return sort_lines_to(options, by, inputs, output, disk, observer)
            .map_err(|error| refused_with_room_for_keys(error, can_begin_again, BUDGET_BYTES_MIN));
    }
    let has_choice = keys.is_some() || order.is_decided_by_one_word();
    if let Some(first) = inputs.first_mut().filter(|_| has_choice) {
        let sample = first
            .peek(read_sample)
            .map_err(|error| xsort_disk::Error::of_read(&first.path, error))?;
        let share = bytes.map_or(UNKNOWN_SHARE, |bytes| bytes / SAMPLE_BYTES);
        let sample = sample.unwrap_or_default();
        let sample = Sample::new(order, &sample, share, options.delimiter);
        if let Some(keys) = keys.filter(|keys| sample.words_tie() && sample.has_short(keys)) {
            let keys = Arc::new(GnuKeys(keys));
            return sort_lines_by_keys(options, (&keys, by), inputs, output, disk, observer);
        }
        if order.is_decided_by_one_word() && sample.first_words_tie() {
            let by = GnuOrder::<[u64; 2]>::new(order);
            return sort_lines_to(options, &by, inputs, output, disk, observer);
        }
    }
    sort_lines_to(options, by, inputs, output, disk, observer)
}

/// Reads the first bytes of an input. Returns two copies: one to be read again, one for the sample.
fn read_sample(input: &mut dyn Read) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut sample = Vec::with_capacity(SAMPLE_BYTES as usize);
    input.take(SAMPLE_BYTES).read_to_end(&mut sample)?;
    Ok((sample.clone(), sample))
}

/// The first lines of an input, sorted by the key words that the engine compares.
struct Sample<'s> {
    lines: Vec<([u64; 2], &'s [u8])>,
    /// The size of all inputs as a multiple of the sample. The share of tied neighbours is assumed
    /// to grow by this factor.
    share: u64,
}

impl<'s> Sample<'s> {
    fn new(order: &Order, sample: &'s [u8], share: u64, delimiter: u8) -> Self {
        let mut scratch = Scratch::default();
        let mut words = |line| {
            let [first, second] = order.two_words(line, 0, &mut scratch);
            // A merge compares twelve bytes of key words.
            [first, second >> 32]
        };
        let mut lines: Vec<([u64; 2], &[u8])> =
            sample.split(|&byte| byte == delimiter).map(|line| (words(line), line)).collect();
        // The last line may be cut.
        lines.pop();
        lines.sort_unstable();
        Self { lines, share }
    }

    /// Returns whether different lines often have equal key words. If so, keys save comparing the
    /// lines again.
    fn words_tie(&self) -> bool {
        self.tie(|a, b| a == b)
    }

    /// Returns whether different lines often have equal first key words.
    fn first_words_tie(&self) -> bool {
        self.tie(|[a, _], [b, _]| a == b)
    }

    /// Returns whether keys are short. Longer keys cost more than they save: 2.3 times the
    /// processor time for long fields in a locale's order.
    fn has_short(&self, keys: &gnu::LineKeys) -> bool {
        keys.are_short(self.lines.iter().map(|&(_, line)| line))
    }

    fn tie(&self, are_equal: impl Fn([u64; 2], [u64; 2]) -> bool) -> bool {
        let ties = self.lines.windows(2).filter(|pair| {
            let [(words_a, a), (words_b, b)] = pair else { return false };
            are_equal(*words_a, *words_b) && a != b
        });
        let ties = ties.count() as u64;
        ties >= TIES_MIN && ties.saturating_mul(self.share * TIES_SHARE) >= self.lines.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_two_words_tell_apart_need_no_keys() {
        let of = |options: &str| {
            let words = options.split_whitespace().map(Into::into);
            let environment = gnu::Environment::new(|_| None, xsort_gnu::Locale::c());
            let Ok(gnu::Request::Run(command)) =
                gnu::parse(words.collect::<Vec<std::ffi::OsString>>(), &environment)
            else {
                panic!("{options}")
            };
            Order::new(&command, &xsort_gnu::Locale::c(), [0; 16])
        };
        let different: Vec<u8> =
            (0..900).flat_map(|n| format!("x{n},{}\n", 7919 * n % 1000).into_bytes()).collect();
        let tie = |options: &str, lines: &[u8]| {
            let sample = Sample::new(&of(options), lines, 1, b'\n');
            (sample.words_tie(), sample.first_words_tie())
        };
        assert_eq!(tie("-t, -k2,2n -k1,1", &different), (false, false));
        let alike: Vec<u8> = (0..900)
            .flat_map(|n| format!("{n},what all of them begin with {n}\n").into_bytes())
            .collect();
        assert_eq!(tie("-t, -k2,2", &alike), (true, true));
        assert_eq!(tie("-t, -k2,2", b""), (false, false));
        let same = b"1,the same line again and again\n".repeat(900);
        assert_eq!(tie("-t, -k2,2", &same), (false, false));
        let numbers: Vec<u8> =
            (0..900).flat_map(|n| format!("{n:03},{}\n", n % 9).into_bytes()).collect();
        assert_eq!(tie("-t, -k2,2n", &numbers), (false, true));
        // A number that begins many lines has a key that is made once.
        let repeated: Vec<u8> =
            (0..900).flat_map(|n| format!("{} {n:03}\n", 123_456 + n % 9).into_bytes()).collect();
        for options in ["-n", "-nr", "-k1,1n", "-g"] {
            assert!(gnu::LineKeys::new(&of(options), false).is_some(), "{options}");
            assert!(tie(options, &repeated).0, "{options}");
        }
    }
}
