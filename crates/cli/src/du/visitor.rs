//! Receives what the walk finds. Several threads call it at once.

use super::format::Format;
use super::gnu_lines::EPOCH;
use super::live_status::LiveStatus;
use super::messages::Messages;
use super::output::OrderedOutput;
use super::ranking::Ranking;
use super::row::{Found, Row, figure};
use super::run_report::RunReport;
use crate::gnu_commands::{is_called_as_gnu, locale};
use crate::report::RunFacts;
use parking_lot::Mutex;
use std::ffi::OsStr;
use std::io;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::is_url;
use xsort_gnu::du::{Command, Complaint, Follow, Threshold};
use xsort_usage::{FoundFile, Operation, Usage, Visitor, WalkError};

/// Prints what is found, at once or in order.
pub(super) struct DuVisitor<'a> {
    messages: Messages<'a>,
    command: &'a Command,
    format: Format<'a>,
    /// Rows to be printed at the end, if they are ordered.
    ranking: Option<Mutex<Ranking>>,
    output: OrderedOutput,
    has_failed: AtomicBool,
    status: LiveStatus,
    report: Option<RunReport>,
}

impl<'a> DuVisitor<'a> {
    /// `report` also gets what is found.
    pub(super) fn new(
        messages: Messages<'a>,
        command: &'a Command,
        report: Option<RunReport>,
    ) -> DuVisitor<'a> {
        let output = OrderedOutput::new();
        // GNU du shows no progress, and on a terminal the rows themselves show it.
        let may_show = !is_called_as_gnu(messages.0) && !output.is_terminal();
        let status = LiveStatus::new(command, may_show);
        if status.draws_bar() && output.is_terminal() {
            output.hold_until_end();
        }
        DuVisitor {
            messages,
            command,
            format: Format::new(command, output.is_terminal()),
            ranking: Ranking::of(command).map(Mutex::new),
            output,
            has_failed: AtomicBool::new(false),
            status,
            report,
        }
    }

    /// Reports a failure, after the lines printed earlier.
    pub(super) fn complain(&self, complaint: &Complaint<'_>) {
        self.has_failed.store(true, Relaxed);
        self.print_message(complaint);
    }

    /// True if a name is the URL of objects. To GNU du it is a file name.
    pub(super) fn is_url(&self, name: &[u8]) -> bool {
        !is_called_as_gnu(self.messages.0) && is_url(Path::new(OsStr::from_bytes(name)))
    }

    /// Reports that the objects at a URL can't be listed.
    pub(super) fn fail_listing(&self, url: &[u8], text: &str) {
        self.has_failed.store(true, Relaxed);
        let (operation, source) = (Operation::List, io::Error::other(text.to_owned()));
        self.add_error(&WalkError { path: url.to_vec(), operation, source });
        self.print_text(text.as_bytes());
    }

    /// True if the options exclude this path.
    pub(super) fn leaves_out(&self, path: &[u8]) -> bool {
        // The C library matches patterns, and a key may contain any bytes.
        !path.contains(&0) && self.command.excludes.matches(path, locale())
    }

    /// Adds to the progress.
    pub(super) fn count(&self, inodes: u64, bytes: u64) {
        self.status.advance(inodes, bytes);
    }

    /// Adds an error to the documents that list errors.
    fn add_error(&self, error: &WalkError) {
        if let Format::Json(json) = &self.format {
            json.add_error(error);
        }
        if let Some(report) = &self.report {
            report.add_error(error);
        }
    }

    /// Prints a file or directory that is counted completely, or keeps it if rows are ordered.
    pub(super) fn add(&self, found: &Found, path: impl Fn() -> Vec<u8>) {
        if let Some(report) = &self.report {
            report.add(found, &path);
            // The walk passes everything on, also what the options don't print.
            let is_shown = found.depth <= self.command.depth_max
                && (found.depth == 0 || found.is_directory || self.command.shows_files);
            if !is_shown {
                return;
            }
        }
        let usage = if self.command.separate_directories { found.own } else { found.total };
        let figure = figure(&usage, self.command.measure);
        let threshold = self.command.threshold;
        // A tree also shows how much is left out.
        let is_printed = threshold.admits(figure)
            || self.command.extras.tree && matches!(threshold, Threshold::Least(_));
        let Found { depth, is_directory, files, .. } = *found;
        let row = || Row { path: path(), depth, is_directory, files, usage, figure };
        match &self.ranking {
            Some(ranking) => {
                let mut ranking = ranking.lock();
                if is_printed && ranking.has_place_for(figure) {
                    ranking.add(row());
                }
                // An argument comes after everything below it.
                if depth == 0 && matches!(self.format, Format::Tree(_)) {
                    let next = Ranking::of(self.command).unwrap_or_default();
                    self.print_ranked(mem::replace(&mut *ranking, next));
                }
            }
            None if is_printed => self.print(&row()),
            None => {}
        }
    }

    fn print_message(&self, complaint: &Complaint<'_>) {
        self.print_text(&complaint.text(locale()));
    }

    fn print_text(&self, text: &[u8]) {
        let print = || self.output.flush_before(|| self.messages.print(text));
        self.status.print_above_bar(print);
    }

    /// True if the error is a symbolic link that was followed and has no target.
    fn is_dangling(&self, error: &WalkError) -> bool {
        let path = Path::new(OsStr::from_bytes(&error.path));
        self.command.follow != Follow::Never
            && error.source.kind() == io::ErrorKind::NotFound
            && path.symlink_metadata().is_ok()
    }

    fn print(&self, row: &Row) {
        let mut bad_time = None;
        self.output.write(|out| bad_time = self.format.write(row, out));
        // GNU du reports a bad time, but doesn't count it as a failure.
        if let Some(seconds) = bad_time {
            self.print_message(&Complaint::TimeOutOfRange(seconds));
        }
    }

    fn print_ranked(&self, ranking: Ranking) {
        let rows = ranking.into_sorted();
        match &self.format {
            Format::Tree(tree) => self.output.write(|out| tree.draw(rows, out)),
            _ => rows.iter().for_each(|row| self.print(row)),
        }
    }

    /// Prints the remaining rows after the walk. Returns false if anything failed.
    pub(super) fn finish(self, total: &Usage) -> bool {
        let ranking = self.ranking.as_ref().map(|ranking| mem::take(&mut *ranking.lock()));
        if let Some(ranking) = ranking.filter(|_| !matches!(self.format, Format::Tree(_))) {
            self.print_ranked(ranking);
        }
        let has_document = matches!(self.format, Format::Json(_)) || self.report.is_some();
        let facts = has_document.then(|| RunFacts::new(self.status.watched(), None));
        match &self.format {
            Format::Json(json) => self.output.write(|out| json.end(total, facts.as_ref(), out)),
            _ if self.command.has_total => self.print(&self.total_row(total)),
            _ => {}
        }
        let DuVisitor { messages, output, has_failed, status, report, .. } = self;
        // The bar must be gone before the last lines are printed.
        drop(status);
        let is_written = match output.finish() {
            Ok(()) => true,
            Err(error) => {
                messages.print(&error.at_exit());
                false
            }
        };
        if let Some(report) = report {
            report.write(total, facts.as_ref(), messages);
        }
        is_written && !has_failed.into_inner()
    }

    fn total_row(&self, total: &Usage) -> Row {
        // The time of GNU du's sum is at least 1970.
        let newest = total.newest.into_iter().chain([EPOCH]).max();
        let usage = Usage { newest, ..*total };
        let figure = figure(&usage, self.command.measure);
        let path = b"total".to_vec();
        Row { path, depth: 0, is_directory: false, files: 0, usage, figure }
    }
}

impl Visitor for DuVisitor<'_> {
    fn excludes(&self, path: &[u8]) -> bool {
        self.leaves_out(path)
    }

    fn found(&self, file: &FoundFile<'_>) {
        let found = Found {
            depth: file.depth,
            is_directory: file.is_directory(),
            files: file.own.inodes.saturating_sub(1),
            own: file.own,
            total: file.total,
        };
        self.add(&found, || file.path());
    }

    fn failed(&self, error: &WalkError) {
        let WalkError { path, source, .. } = error;
        let complaint = match error.operation {
            Operation::Access if self.is_dangling(error) => Complaint::Dangling(path),
            Operation::Access => Complaint::Access(path, source),
            Operation::Open | Operation::List => Complaint::ReadDirectory(path, source),
            Operation::Cycle => Complaint::Cycle(path),
        };
        self.add_error(error);
        self.complain(&complaint);
    }

    fn advance(&self, inodes: u64, allocated_bytes: u64) {
        self.count(inodes, allocated_bytes);
    }
}
