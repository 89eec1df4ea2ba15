//! GNU sort's order of lines, by keys that are made once and travel before them.

use std::cmp::Ordering;
use std::io::Write;
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_extsort::keyed::{LineKeys, LineTies, sort_lines_by_keys};
use xsort_extsort::variable::{LineOrder, LinesInput};
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer, sort_lines};
use xsort_gnu::sort::{self as gnu, Order, Scratch, Ties};

/// With less memory keys take more of it than they save time.
const BUDGET_BYTES_MIN: u64 = 16 << 20;
/// Up to this size lines are compared in less time than threads take to start.
const SMALL_BYTES: u64 = 512 << 10;

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
/// As [`sort_lines`].
pub fn sort_in_order<O: LineOrder>(
    options: &LinesOptions,
    (order, by): (&Order, &O),
    inputs: Vec<LinesInput>,
    output: &mut (dyn Write + Send),
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let bytes: Option<u64> = inputs.iter().map(|input| input.bytes).sum();
    let is_small = bytes.is_some_and(|bytes| bytes <= SMALL_BYTES);
    let has_room = options.budget_bytes >= BUDGET_BYTES_MIN && options.checkpoint.is_none();
    let keys = (!is_small && has_room).then(|| gnu::LineKeys::new(order, options.is_unique));
    match keys.flatten() {
        Some(keys) => {
            let keys = Arc::new(GnuKeys(keys));
            sort_lines_by_keys(options, &keys, inputs, output, disk, observer)
        }
        None => sort_lines(options, by, inputs, output, disk, observer),
    }
}
