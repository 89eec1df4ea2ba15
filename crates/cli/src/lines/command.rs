//! A parsed command, and what can be refused or printed before anything is read.

use super::failure::Failure;
use super::names;
use super::resources::parsed;
use crate::args::{Origins, min_shift};
use crate::gnu_commands::{is_called_as_gnu, say};
use crate::inputs::tree::TreeOptions;
use std::ffi::OsStr;
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;
use xsort::Job;
use xsort_disk::is_url;
use xsort_extsort::lines::{IndexForm, IndexOptions, OutputCodec};
use xsort_gnu::sort::{Check, Command, Environment, OutputCompression};
use xsort_gnu::{Locale, When};
use xsort_usage::Identity;

/// A parsed command.
pub(super) struct LinesCommand<'a> {
    /// The program's name in messages.
    pub(super) program: &'a str,
    pub(super) command: Command,
    pub(super) environment: Environment,
    pub(super) locale: Locale,
    /// Where memory, threads and scratch came from.
    pub(super) origins: Origins,
}

impl LinesCommand<'_> {
    /// Takes `-o -` for standard output as the other commands do, except if the program is called
    /// `sort`: to GNU sort, `-` is a file name.
    pub(super) fn name_outputs_as_other_commands(&mut self) {
        if !is_called_as_gnu(self.program) {
            self.command.output.take_if(|name| name == "-");
        }
    }

    /// True if a name is a URL. GNU sort knows no URLs.
    pub(super) fn is_url(&self, name: &OsStr) -> bool {
        is_url(Path::new(name)) && !is_called_as_gnu(self.program)
    }

    /// Refuses an output whose name ends like that of a compression which xsort can't write.
    /// Without the refusal it would hold plain text, contrary to its name.
    pub(super) fn refuse_foreign_compression(&self) -> Result<(), Failure> {
        let Command { extras, output, .. } = &self.command;
        if is_called_as_gnu(self.program) || extras.compress_output.is_some() {
            return Ok(());
        }
        let Some(name) = output else { return Ok(()) };
        let Some(command) = OutputCodec::foreign_command(Path::new(name)) else { return Ok(()) };
        let reason = format!(
            ": this compression can't be written: leave out -o and use a pipe \
             ({} ... | {command}), choose a name that ends in .gz, .lz4 or .zst, \
             or write plain lines (--compress-output=none)",
            self.program
        );
        Err(Failure::Message([&names::shown(name)[..], reason.as_bytes()].concat()))
    }

    /// Refuses options that have no effect on the command.
    pub(super) fn refuse_useless_options(&self) -> Result<(), Failure> {
        let Command { extras, check, merge, .. } = &self.command;
        let for_sorts_only = [("--check-output", extras.check_output)];
        let for_sorts_and_merges = [
            ("--json", extras.json),
            ("--verbose", extras.verbose),
            ("--progress", extras.progress == When::Always),
            ("--report", extras.report.is_some()),
            ("--trace", extras.trace.is_some()),
            ("--dry-run", extras.dry_run),
            ("--temperature-limit", extras.limit_celsius.is_some()),
        ];
        let not_for_checks = [
            ("--allow-empty", extras.allows_empty),
            ("--compress-output", extras.compress_output.is_some()),
            ("--count", extras.counts),
            ("--header", extras.header_lines > 0),
            ("--header-prefix", extras.header_prefix.is_some()),
            ("--recursive", extras.recursive),
            ("--top", extras.top_lines.is_some()),
            ("--verify-output", extras.verify_output),
            ("--write-index", extras.write_index.is_some()),
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
        refused.map_or(Ok(()), Err)?;
        if extras.dry_run && (extras.report.is_some() || extras.trace.is_some()) {
            let what = "--report and --trace show a run: leave them out with --dry-run";
            return Err(Failure::Message(what.into()));
        }
        let output = self.command.output.as_deref().filter(|name| self.is_url(name));
        let verify_output = extras.verify_output;
        let resources = xsort::Resources { verify_output, ..xsort::Resources::default() };
        resources
            .check_output(output.map(Path::new), "--verify-output")
            .map_err(|refusal| Failure::Message(refusal.to_string().into()))
    }

    /// True if compressed inputs are decompressed.
    pub(super) fn decompresses(&self) -> bool {
        self.command.extras.decompress.unwrap_or_else(|| !is_called_as_gnu(self.program))
    }

    /// The compression of the output, if any.
    pub(super) fn output_codec(&self) -> Option<OutputCodec> {
        let Command { extras, output, .. } = &self.command;
        let by_name = || {
            let name = output.as_ref().filter(|_| !is_called_as_gnu(self.program))?;
            let is_indexed = extras.write_index.is_some();
            OutputCodec::of_name(Path::new(name)).map(|codec| codec.for_index(is_indexed))
        };
        match extras.compress_output {
            Some(OutputCompression::Off) => None,
            Some(OutputCompression::Bgzip) => Some(OutputCodec::Bgzf),
            Some(OutputCompression::Gzip) => Some(OutputCodec::Gzip),
            Some(OutputCompression::Lz4) => Some(OutputCodec::Lz4),
            Some(OutputCompression::Zstd) => Some(OutputCodec::Zstd),
            None => by_name(),
        }
    }

    /// The index that is written beside the output, if any.
    pub(super) fn index(&self) -> Result<Option<IndexOptions>, Failure> {
        let Command { extras, output, .. } = &self.command;
        let Some(form) = &extras.write_index else { return Ok(None) };
        let form = parsed("--write-index", Some(form), from_text)?.unwrap_or(IndexForm::Auto);
        let columns = parsed("--index-columns", extras.index_columns.as_deref(), from_text)?;
        let min_shift = parsed("--min-shift", extras.min_shift.as_deref(), min_shift)?;
        IndexOptions { form, columns, min_shift }
            .for_output(output.as_ref().map(Path::new), self.output_codec())
            .map(Some)
            .map_err(|reason| Failure::Message(reason.into()))
    }

    /// How to read directories; `None` without `--recursive`. `identify` returns the file that is
    /// the output now.
    pub(super) fn rules(
        &self,
        job: &Job,
        identify: impl Fn(Option<&OsStr>) -> Option<Identity>,
    ) -> Option<TreeOptions<'_>> {
        let Command { extras, output, .. } = &self.command;
        let url = output.as_deref().filter(|name| self.is_url(name));
        extras.recursive.then(|| TreeOptions {
            counts_links: extras.counts_links,
            output: if url.is_some() { None } else { identify(output.as_deref()) },
            output_url: url.map(Path::new),
            budget_bytes: job.total_bytes(),
            allows_empty: extras.allows_empty,
        })
    }

    /// Prints the warnings of `--debug`. `has_locale` is true if the locale is the one that the
    /// environment names.
    pub(super) fn warn(&self, has_locale: bool) {
        let no_locale = (!has_locale).then(|| b"failed to set locale".to_vec());
        let warnings = xsort_gnu::sort::warnings(&self.command, &self.locale);
        for line in no_locale.into_iter().chain(warnings) {
            say(&[self.program.as_bytes(), b": ", &line, b"\n"].concat());
        }
    }
}

/// Parses an argument by its type.
fn from_text<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}
