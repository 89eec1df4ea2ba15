//! GNU sort's order of lines, by keys that are made once and travel before them.

use std::cmp::Ordering;
use std::io::{self, Read};
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_extsort::keyed::{LineKeys, LineTies, sort_lines_by_keys};
use xsort_extsort::variable::{
    LineOrder, LinesInput, SMALL_INPUT_BYTES, SortedOutput, sort_lines_to, total_bytes,
};
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer};
use xsort_gnu::sort::{self as gnu, Order, Scratch, Ties};

/// With less memory keys take more of it than they save time.
const BUDGET_BYTES_MIN: u64 = 16 << 20;
/// Bytes of the first input that are looked at first.
const SAMPLE_BYTES: u64 = 64 << 10;
/// A stream is taken to be so many times as long.
const UNKNOWN_SHARE: u64 = 1000;
/// Keys are kept if words leave one in so many pairs of neighbours open, and at least so many pairs
/// of the sample.
const TIES_SHARE: u64 = 32;
const TIES_MIN: u64 = 3;

/// The keys of GNU sort's lines.
struct GnuKeys(gnu::LineKeys);

impl LineKeys for GnuKeys {
    type Scratch = Scratch;

    fn push_key(&self, line: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) {
        self.0.push(line, scratch, out);
    }

    fn ties(&self) -> LineTies {
        match self.0.ties() {
            Ties::Equal => LineTies::Equal,
            Ties::Bytes => LineTies::Bytes,
            Ties::Judged => LineTies::Judged,
        }
    }

    fn compare_ties(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> Ordering {
        self.0.compare_ties(a, b, scratch)
    }

    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> bool {
        self.0.same(a, b, scratch)
    }
}

/// Sorts lines to `output` in `order`, of which `by` is the engine's form: by keys that are made
/// once, where these cost less than they save.
///
/// # Errors
/// As [`sort_lines`](xsort_extsort::sort_lines).
pub fn sort_in_order<O: LineOrder>(
    options: &LinesOptions,
    (order, by): (&Order, &O),
    mut inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let bytes = total_bytes(&inputs);
    let is_small = bytes.is_some_and(|bytes| bytes <= SMALL_INPUT_BYTES);
    let has_room = options.budget_bytes >= BUDGET_BYTES_MIN && options.checkpoint.is_none();
    let keys = (!is_small && has_room).then(|| gnu::LineKeys::new(order, options.is_unique));
    if let Some((keys, first)) = keys.flatten().zip(inputs.first_mut()) {
        let sample = first
            .peek(read_sample)
            .map_err(|error| xsort_disk::Error::of_read(&first.path, error))?;
        let share = bytes.map_or(UNKNOWN_SHARE, |bytes| bytes / SAMPLE_BYTES);
        if words_tie(order, &sample.unwrap_or_default(), share, options.delimiter) {
            let keys = Arc::new(GnuKeys(keys));
            return sort_lines_by_keys(options, &keys, inputs, output, disk, observer);
        }
    }
    sort_lines_to(options, by, inputs, output, disk, observer)
}

/// The first bytes of an input, twice: to be read again, and to look at.
fn read_sample(input: &mut dyn Read) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut sample = Vec::with_capacity(SAMPLE_BYTES as usize);
    input.take(SAMPLE_BYTES).read_to_end(&mut sample)?;
    Ok((sample.clone(), sample))
}

/// Whether the words that the engine compares often leave it open how different lines compare: then
/// keys that travel before lines save looking at these again. Of all lines, which are `share` times
/// as many as those of the sample, so many more have a neighbour with the same words.
fn words_tie(order: &Order, sample: &[u8], share: u64, delimiter: u8) -> bool {
    let mut scratch = Scratch::default();
    let mut words = |line| {
        let [first, second] = order.two_words(line, 0, &mut scratch);
        // A merge compares twelve bytes.
        (first, second >> 32)
    };
    let mut lines: Vec<((u64, u64), &[u8])> =
        sample.split(|&byte| byte == delimiter).map(|line| (words(line), line)).collect();
    // The last one may be cut.
    lines.pop();
    lines.sort_unstable();
    let ties = lines.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1);
    let ties = ties.count() as u64;
    ties >= TIES_MIN && ties.saturating_mul(share * TIES_SHARE) >= lines.len() as u64
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
        assert!(!words_tie(&of("-t, -k2,2n -k1,1"), &different, 1, b'\n'));
        let alike: Vec<u8> = (0..900)
            .flat_map(|n| format!("{n},what all of them begin with {n}\n").into_bytes())
            .collect();
        assert!(words_tie(&of("-t, -k2,2"), &alike, 1, b'\n'));
        assert!(!words_tie(&of("-t, -k2,2"), b"", 1, b'\n'));
        let same = b"1,the same line again and again\n".repeat(900);
        assert!(!words_tie(&of("-t, -k2,2"), &same, 1, b'\n'));
    }
}
