//! GNU sort's order of lines that are in order in a part of it, or nearly in order.

use crate::gnu_order::kernels_for;
use crate::keyed_order::sort_in_order;
use crate::late_output::LateOutput;
use std::io::Write;
use std::path::Path;
use xsort_disk::Disk;
use xsort_extsort::lines::{
    Incremental, LinesInput, Presorted, SortedOutput, Within, sort_incrementally,
};
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer};
use xsort_gnu::Locale;
use xsort_gnu::sort::{Command, Order};

/// Most characters of a line in an error.
const SHOWN_CHARS: usize = 100;

/// The order of a command whose lines are sorted as they come.
#[derive(Clone, Copy, Debug)]
pub struct IncrementalOrder<'a> {
    /// The command, which says how far the lines are in order.
    pub command: &'a Command,
    /// The locale of its texts.
    pub locale: &'a Locale,
    /// Its order.
    pub order: &'a Order,
    /// Lines of the first input that were taken from its beginning. Errors count them.
    pub header_lines: u64,
}

impl IncrementalOrder<'_> {
    /// Sorts lines to `output` as they come. Lines that come too late go to `late`. `is_prompt` is
    /// true if lines are passed on when the input pauses.
    ///
    /// # Errors
    /// [`Error::Settings`] if the command's `--within` is wrong or doesn't go with its keys;
    /// otherwise those of [`sort_incrementally`].
    pub fn sort(
        self,
        options: &LinesOptions,
        inputs: Vec<LinesInput>,
        output: &mut (dyn Write + Send),
        mut late: Option<&mut LateOutput<'_>>,
        (disk, observer): (&dyn Disk, &dyn Observer),
    ) -> Result<LinesReport, Error> {
        let IncrementalOrder { command, locale, order, header_lines } = self;
        let first = inputs.first().map(|input| input.path.clone()).unwrap_or_default();
        let within = within(command)?;
        let first_keys =
            Command { keys: command.extras.sorted_by.clone(), stable: true, ..Command::default() };
        let first_keys = Command { separator: command.separator, ..first_keys };
        let first_keys = Order::new(&first_keys, locale, [0; 16]);
        let first_keys = kernels_for(&first_keys);
        let number = |line: &[u8]| order.first_number(line);
        let presorted = match within {
            None => Presorted::ByFirstKeys(&*first_keys),
            Some(Within::Lines(lines)) => Presorted::WithinLines(lines),
            Some(Within::Time(_)) if !order.has_first_number() => {
                let what = "--within with a time needs a first key that is a number of seconds: \
                            add n to it (-k1,1n), or give a number of lines";
                return Err(Error::Settings(what.into()));
            }
            Some(Within::Time(time)) => {
                Presorted::WithinSpan { span: time.as_secs_f64(), number: &number }
            }
        };
        let kernels = kernels_for(order);
        let sort = |options: &LinesOptions,
                    input: LinesInput,
                    output: &mut (dyn Write + Send),
                    observer: &dyn Observer| {
            let output = SortedOutput::Stream(output);
            sort_in_order(options, order, vec![input], output, disk, observer)
        };
        // The groups of `--count` stay open: a later line may belong to the last one.
        let is_prompt = !(command.extras.counts && matches!(within, Some(Within::Lines(_))));
        let order = &*kernels;
        let late_lines = late.as_mut().map(|late| &mut **late as &mut (dyn Write + Send));
        let sort =
            Incremental { presorted, order, sort: &sort, output, late: late_lines, is_prompt };
        let sorted = sort_incrementally(options, inputs, sort, observer);
        sorted.map_err(|error| match late {
            Some(late) => error.of_late_output(late.path()),
            None => not_in_order(error, (&first, header_lines)),
        })
    }
}

/// The error for lines that aren't as far in order as they should be. `header_lines` more precede
/// those of the input `first`.
fn not_in_order(error: Error, (first, header_lines): (&Path, u64)) -> Error {
    let in_file = |path: &Path, number| number + if path == first { header_lines } else { 0 };
    let (path, number, line, before) = match error {
        Error::NotSorted { path, number, line, before } => (path, number, line, before),
        Error::Late { path, number, line, lag } => {
            return Error::Late { number: in_file(&path, number), path, line, lag };
        }
        other => return other,
    };
    let number = in_file(&path, number);
    let shown =
        |line: &[u8]| String::from_utf8_lossy(line).chars().take(SHOWN_CHARS).collect::<String>();
    let (line, before) = (shown(&line), shown(&before));
    let reason = format!(
        "line {number} belongs before the line before it, so the lines are not in the order of \
         --sorted-by: {line:?} after {before:?}: leave it out to sort them, or name only the keys \
         that they are in the order of"
    );
    Error::Input { path, reason }
}

/// The parsed argument of `--within`. Refuses keys for which lines can't be nearly in order.
fn within(command: &Command) -> Result<Option<Within>, Error> {
    let extras = &command.extras;
    if extras.sorted_by.iter().any(|key| key.flags.random) {
        let what = "--sorted-by needs an order that lines can be in: R is a random one";
        return Err(Error::Settings(what.into()));
    }
    let Some(text) = &extras.within else { return Ok(None) };
    let within = text.to_string_lossy().parse::<Within>();
    within
        .map(Some)
        .map_err(|error| Error::Settings(format!("--within {}: {error}", text.to_string_lossy())))
}
