//! Runs a sort, a merge or a check, with the fastest kernels for its order.

use super::check::check;
use super::command::LinesCommand;
use super::dry_run::print_dry_run;
use super::failure::{self, Failure};
use super::inputs::{self, Inputs};
use super::resumable::sort_resumably;
use super::session::LinesSession;
use super::sort::sort_or_merge;
use super::{resources, target};
use crate::gnu_commands::say;
use std::ffi::OsString;
use xsort::kernels_for;
use xsort_extsort::lines::{ByBytes, LineKernels};
use xsort_gnu::sort::Order;

/// Runs the command. `has_locale` is true if the locale is the one that the environment names.
pub(super) fn run(lines: &LinesCommand<'_>, has_locale: bool) -> Result<(), Failure> {
    lines.refuse_useless_options()?;
    lines.refuse_foreign_compression()?;
    let session = LinesSession::begin(lines)?;
    let files = inputs::files(&lines.command, &session)?;
    if lines.command.files0_from.is_some() {
        xsort_gnu::sort::refuse_combinations(&lines.command, &files, &lines.environment)?;
    }
    if lines.command.debug {
        lines.warn(has_locale);
    }
    let seed = resources::seed(&lines.command)?;
    let order = Order::new(&lines.command, &lines.locale, seed);
    let task = LinesTask { lines, order: &order, files, session: &session };
    // A shuffle sorts by the bytes of random keys.
    let shuffles = lines.command.extras.shuffles;
    let done = if shuffles { task.run(&ByBytes) } else { task.run(&*kernels_for(&order)) };
    if !lines.command.extras.quiet {
        let notices = session.notices_of_objects();
        notices.iter().for_each(|line| say(format!("{}: {line}\n", lines.program).as_bytes()));
    }
    done
}

/// The command, with its order, files and session.
struct LinesTask<'a> {
    lines: &'a LinesCommand<'a>,
    order: &'a Order,
    files: Vec<OsString>,
    session: &'a LinesSession,
}

impl LinesTask<'_> {
    /// Checks, plans, sorts or merges with the kernels `by` of the order.
    fn run(self, by: &dyn LineKernels) -> Result<(), Failure> {
        let LinesTask { lines, order, files, session } = self;
        if let Some(kind) = lines.command.check {
            return check(lines, (by, order), kind, files, session);
        }
        let note = |line: &str| {
            if !lines.command.extras.quiet {
                say(format!("{}: {line}\n", lines.program).as_bytes());
            }
        };
        let inputs =
            Inputs::inspect(files, lines.rules(&session.job, target::present), session, note)?;
        if inputs.names.budget_bytes() > 0 {
            inputs.names.check(session.job.total_bytes()).map_err(failure::of_names)?;
        }
        if lines.command.extras.dry_run {
            return print_dry_run(lines, (by, order), &inputs, &session.job);
        }
        match lines.command.extras.checkpoint {
            Some(checkpoint) => sort_resumably(lines, checkpoint, by, inputs, session),
            None => sort_or_merge(lines, by, order, inputs, session),
        }
    }
}
