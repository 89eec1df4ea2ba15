//! Sorts lines that are in order in a part of their keys, or nearly in order, as they come.
//!
//! ```text
//!  inputs --> blocks --> lines that wait --> those that may leave --> sorted --> output
//!       (a reading thread)                                     (a sort of its own)
//! ```
//!
//! A sort must have read all lines before it can write the first one. Here it is known how far the
//! lines are in order, and this is checked. So lines leave once no line that may still come belongs
//! before them: in little memory, and with a small delay.
//!
//! | file | idea |
//! |---|---|
//! | `presorted`, `within` | what is known of the order |
//! | `groups` | lines that are in the order of the first keys |
//! | `window`, `rule`, `late` | lines that are nearly in order; which leave, and which are late |
//! | `waiting` | lines that were read and haven't left |
//! | `arrivals` | the reading thread, and pauses of the input |
//! | `pace` | when lines leave although there is room for more |
//! | `batches` | sorts what leaves |
//! | `memory` | how the budget is divided |

mod arrivals;
mod batches;
mod groups;
mod late;
mod memory;
mod pace;
mod presorted;
mod rule;
mod waiting;
mod window;
mod within;

pub use batches::SortBatch;
pub use presorted::{LineNumber, Presorted};
pub use within::{BadWithin, Within};

use super::input::{LinesInput, total_bytes};
use super::options::LinesOptions;
use super::report::LinesReport;
use crate::{Error, Observer};
use arrivals::{Arrival, Arrivals, Block};
use batches::Batches;
use groups::Groups;
use late::Late;
use memory::IncrementalMemory;
use pace::Pace;
use rule::{ByLines, BySpan};
use std::io::Write;
use window::{Rule, Window};
use xsort_kernels::lines::LineKernels;

/// An incremental sort.
pub struct Incremental<'a> {
    /// In how far the lines are in order.
    pub presorted: Presorted<'a>,
    /// The order in which they leave.
    pub order: &'a dyn LineKernels,
    /// Sorts a part of the lines in this order.
    pub sort: &'a SortBatch<'a>,
    /// Takes the lines.
    pub output: &'a mut (dyn Write + Send),
    /// Takes lines that come too late. `None` if these are errors.
    pub late: Option<&'a mut (dyn Write + Send)>,
    /// True if lines are passed on when the input pauses. Otherwise the output is flushed once, at
    /// its end.
    pub is_prompt: bool,
}

/// Sorts the lines of `inputs`, read one after the other, as they come. The report's runs are the
/// parts that were sorted one by one.
///
/// # Errors
///
/// [`Error::NotSorted`] or [`Error::Late`] if the lines aren't as far in order as they should be;
/// [`Error::Memory`] if those that have to wait don't fit the budget; otherwise those of
/// [`sort_lines`](crate::sort_lines). What has been written stays.
pub fn sort_incrementally(
    options: &LinesOptions,
    inputs: Vec<LinesInput>,
    sort: Incremental<'_>,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let Incremental { presorted, order, sort, output, late, is_prompt } = sort;
    let late = late.map(|late| late as &mut (dyn Write + Send));
    observer.phase("sort as they come", total_bytes(&inputs).unwrap_or(0));
    let memory = IncrementalMemory::new(options, options.budget_bytes);
    let mut batches = Batches::new(IncrementalMemory::of_batches(options), sort, output, observer);
    let mut pending = match presorted {
        Presorted::ByFirstKeys(keys) => {
            Pending::Groups(Groups::new(options, memory, keys, observer))
        }
        Presorted::WithinLines(lines) => {
            let rule = ByLines::new(lines, order, options.is_unique);
            let (rule, late) = (Rule::Lines(rule), Late::new(late));
            Pending::Window(Window::new(options, memory, rule, late, observer))
        }
        Presorted::WithinSpan { span, number } => {
            let (rule, late) = (Rule::Span(BySpan::new(span, number)), Late::new(late));
            Pending::Window(Window::new(options, memory, rule, late, observer))
        }
    };
    let mut arrivals = Arrivals::start(inputs, options.delimiter, memory.block_bytes)?;
    let mut pace = Pace::default();
    loop {
        let deadline = if is_prompt { pace.deadline() } else { None };
        let is_pause = match arrivals.next(deadline, observer)? {
            Arrival::End => break,
            Arrival::Pause => true,
            Arrival::Block(block) => {
                pending.take(&block)?;
                pace.taken();
                if !pending.is_full() {
                    continue;
                }
                false
            }
        };
        pace.begin();
        pending.release(&mut arrivals, &mut batches)?;
        if is_pause {
            batches.flush()?;
            pending.flush()?;
        }
        pace.end();
    }
    pending.end(&mut batches)?;
    batches.flush()?;
    pending.flush()?;
    pending.report(batches)
}

/// The lines that were read and haven't left.
enum Pending<'a> {
    Groups(Groups<'a>),
    Window(Window<'a>),
}

impl Pending<'_> {
    fn take(&mut self, block: &Block) -> Result<(), Error> {
        match self {
            Pending::Groups(groups) => groups.take(block),
            Pending::Window(window) => window.take(block),
        }
    }

    fn is_full(&self) -> bool {
        match self {
            Pending::Groups(groups) => groups.is_full(),
            Pending::Window(window) => window.is_full(),
        }
    }

    fn release(&mut self, arrivals: &mut Arrivals, batches: &mut Batches<'_>) -> Result<(), Error> {
        match self {
            Pending::Groups(groups) => groups.release(arrivals, batches),
            Pending::Window(window) => window.release(arrivals, batches),
        }
    }

    fn end(&mut self, batches: &mut Batches<'_>) -> Result<(), Error> {
        match self {
            Pending::Groups(groups) => groups.end(batches),
            Pending::Window(window) => window.end(batches),
        }
    }

    /// Passes on late lines.
    fn flush(&mut self) -> Result<(), Error> {
        match self {
            Pending::Groups(_) => Ok(()),
            Pending::Window(window) => window.flush(),
        }
    }

    fn report(self, batches: Batches<'_>) -> Result<LinesReport, Error> {
        match self {
            Pending::Groups(groups) => batches.report(groups.waiting.read, Default::default()),
            Pending::Window(window) => {
                let (others, late_lines) = window.others();
                let report = batches.report(window.waiting.read, others)?;
                Ok(LinesReport { late_lines, ..report })
            }
        }
    }
}
