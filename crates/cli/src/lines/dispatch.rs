//! What a command does: a sort, a merge or a check, by the fastest form of its order.

use super::check::check;
use super::command::LinesCommand;
use super::dry_run::print_dry_run;
use super::failure::{self, Failure};
use super::inputs::{self, Inputs};
use super::limits::Limits;
use super::resources;
use super::resumable::sort_resumably;
use super::sort::sort_or_merge;
use crate::gnu_commands::say;
use std::ffi::OsString;
use xsort::GnuOrder;
use xsort_extsort::variable::{ByBytes, ByBytesReversed, LineOrder};
use xsort_gnu::sort::Order;

/// Does what the command says. `has_locale`: the locale is the one that the environment asks
/// for.
pub(super) fn run(lines: &LinesCommand<'_>, has_locale: bool) -> Result<(), Failure> {
    lines.refuse_useless_options()?;
    let files = inputs::files(&lines.command)?;
    xsort_gnu::sort::refuse_many(&lines.command, &files, &lines.environment)?;
    if lines.command.debug {
        lines.warn(has_locale);
    }
    let seed = resources::seed(&lines.command)?;
    let order = Order::new(&lines.command, &lines.locale, seed);
    if order.is_bytes() {
        run_by(lines, &ByBytes, &order, files)
    } else if order.is_bytes_reversed() {
        run_by(lines, &ByBytesReversed, &order, files)
    } else if order.is_decided_by_one_word() {
        run_by(lines, &GnuOrder::<[u64; 1]>::new(&order), &order, files)
    } else {
        run_by(lines, &GnuOrder::<[u64; 2]>::new(&order), &order, files)
    }
}

/// The same by an order of its own type, so that comparisons are inlined.
fn run_by<O: LineOrder>(
    lines: &LinesCommand<'_>,
    by: &O,
    order: &Order,
    files: Vec<OsString>,
) -> Result<(), Failure> {
    let limits = Limits::new(&lines.command)?;
    if let Some(kind) = lines.command.check {
        return check(lines, by, kind, files, &limits);
    }
    let note = |line: &str| {
        if !lines.command.extras.quiet {
            say(format!("{}: {line}\n", lines.program).as_bytes());
        }
    };
    let inputs = Inputs::inspect(files, lines.rules(), note)?;
    if inputs.names.budget_bytes() > 0 {
        let budget_bytes = resources::budget_bytes(&lines.command);
        inputs.names.check(budget_bytes).map_err(failure::of_names)?;
    }
    if lines.command.extras.dry_run {
        return print_dry_run::<O>(lines, &inputs);
    }
    match lines.command.extras.checkpoint {
        Some(checkpoint) => sort_resumably(lines, checkpoint, by, inputs, &limits),
        None => sort_or_merge(lines, by, order, inputs, &limits),
    }
}
