//! A command that was understood: what can be refused before anything is read, and by what order
//! its lines are sorted, merged or checked.

use super::check::check;
use super::failure::{self, Failure};
use super::inputs::{self, Inputs};
use super::limits::Limits;
use super::order::ByText;
use super::resumable::sort_resumably;
use super::sort::sort_or_merge;
use super::{resources, target};
use crate::gnu::say;
use crate::trees::Rules;
use std::ffi::OsString;
use xsort_extsort::variable::{ByBytes, ByBytesReversed, LineOrder};
use xsort_gnu::Locale;
use xsort_gnu::sort::{Check, Command, Environment, Order};

/// A command that was understood.
pub(super) struct LinesCommand<'a> {
    /// The name by which the program speaks.
    pub(super) program: &'a str,
    pub(super) command: Command,
    pub(super) environment: Environment,
    pub(super) locale: Locale,
}

impl LinesCommand<'_> {
    /// Does what the command says. `has_locale`: the locale is the one that the environment asks
    /// for.
    pub(super) fn run(&self, has_locale: bool) -> Result<(), Failure> {
        self.refuse_useless_options()?;
        let files = inputs::files(&self.command)?;
        xsort_gnu::sort::refuse_many(&self.command, &files, &self.environment)?;
        if self.command.debug {
            self.warn(has_locale);
        }
        let seed = resources::seed(&self.command)?;
        let order = Order::new(&self.command, &self.locale, seed);
        if order.is_bytes() {
            self.run_by(&ByBytes, &order, files)
        } else if order.is_bytes_reversed() {
            self.run_by(&ByBytesReversed, &order, files)
        } else if order.is_told_by_a_word() {
            self.run_by(&ByText::<[u64; 1]>::new(&order), &order, files)
        } else {
            self.run_by(&ByText::<[u64; 2]>::new(&order), &order, files)
        }
    }

    /// The same by an order that is known to the compiler.
    fn run_by<O: LineOrder>(
        &self,
        by: &O,
        order: &Order,
        files: Vec<OsString>,
    ) -> Result<(), Failure> {
        let limits = Limits::new(&self.command)?;
        if let Some(kind) = self.command.check {
            return check(self, by, kind, files, &limits);
        }
        let note = |line: &str| say(format!("{}: {line}\n", self.program).as_bytes());
        let inputs = Inputs::inspect(files, self.rules(), note)?;
        if inputs.names.of_budget() > 0 {
            let budget_bytes = resources::budget_bytes(&self.command);
            inputs.names.check(budget_bytes).map_err(failure::of_names)?;
        }
        match self.command.extras.checkpoint {
            Some(checkpoint) => sort_resumably(self, checkpoint, by, inputs, &limits),
            None => sort_or_merge(self, by, order, inputs, &limits),
        }
    }

    fn refuse_useless_options(&self) -> Result<(), Failure> {
        let Command { extras, check, merge, .. } = &self.command;
        let for_sorts_only = [("--check-output", extras.check_output)];
        let for_sorts_and_merges = [
            ("--json", extras.json),
            ("--progress", extras.progress),
            ("--temperature-limit", extras.limit_celsius.is_some()),
        ];
        let not_for_checks = [
            ("--header", extras.header_lines > 0),
            ("--recursive", extras.recursive),
            ("--top", extras.top_lines.is_some()),
        ];
        let refusal = |letter, options: &[(&str, bool)]| {
            let (name, _) = options.iter().find(|(_, is_given)| *is_given)?;
            Some(Failure::Message(format!("option '{name}' does nothing beside -{letter}").into()))
        };
        let letter = if *check == Some(Check::Quiet) { 'C' } else { 'c' };
        let refused = match check {
            Some(_) => refusal(letter, &for_sorts_and_merges)
                .or_else(|| refusal(letter, &not_for_checks))
                .or_else(|| refusal(letter, &for_sorts_only)),
            None if *merge => refusal('m', &for_sorts_only),
            None => None,
        };
        refused.map_or(Ok(()), Err)
    }

    /// How directories are read, if they are.
    fn rules(&self) -> Option<Rules> {
        let Command { extras, output, .. } = &self.command;
        extras.recursive.then(|| Rules {
            counts_links: extras.counts_links,
            output: target::present(output.as_deref()),
            budget_bytes: resources::budget_bytes(&self.command),
        })
    }

    /// The warnings of `--debug`.
    fn warn(&self, has_locale: bool) {
        let no_locale = (!has_locale).then(|| b"failed to set locale".to_vec());
        let warnings = xsort_gnu::sort::warnings(&self.command, &self.locale);
        for line in no_locale.into_iter().chain(warnings) {
            say(&[self.program.as_bytes(), b": ", &line, b"\n"].concat());
        }
    }
}
