//! Where the walk's findings arrive, from several threads at once.

use super::Speaker;
use super::entry::{Entry, Ranking, figure};
use super::form::{Form, Json, Lines};
use super::output::Output;
use super::tree::Tree;
use super::watch::Watch;
use crate::gnu::locale;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use xsort_gnu::du::{Command, Complaint, Follow};
use xsort_usage::{FoundFile, Operation, Usage, Visitor, WalkError};

/// Takes what is found, and prints it.
pub(super) struct Desk<'a> {
    speaker: Speaker<'a>,
    command: &'a Command,
    form: Form<'a>,
    /// What waits for all the others, if lines have an order.
    ranking: Option<Mutex<Ranking>>,
    output: Output,
    has_failed: AtomicBool,
    // Before the output: a bar is gone when the last lines come.
    watch: Watch,
}

impl<'a> Desk<'a> {
    pub(super) fn new(speaker: Speaker<'a>, command: &'a Command) -> Desk<'a> {
        let output = Output::new();
        let watch = Watch::new(command);
        if watch.is_drawing() && output.is_terminal() {
            output.keep_all();
        }
        let form = if command.extras.json {
            Form::Json(Json::new())
        } else if command.extras.tree {
            Form::Tree(Tree::new(command, output.is_terminal()))
        } else {
            Form::Lines(Lines::new(command))
        };
        let ranking = Ranking::of(command).map(Mutex::new);
        Desk { speaker, command, form, ranking, output, has_failed: AtomicBool::new(false), watch }
    }

    /// Says what went wrong, after what was printed before.
    pub(super) fn complain(&self, complaint: &Complaint<'_>) {
        self.has_failed.store(true, Relaxed);
        self.say(complaint);
    }

    fn say(&self, complaint: &Complaint<'_>) {
        let text = complaint.text(locale());
        self.watch.above(|| self.output.then_say(|| self.speaker.say(&text)));
    }

    /// Whether a symbolic link was followed that leads nowhere.
    fn is_dangling(&self, failure: &WalkError) -> bool {
        let path = Path::new(OsStr::from_bytes(&failure.path));
        self.command.follow != Follow::Never
            && failure.source.kind() == io::ErrorKind::NotFound
            && path.symlink_metadata().is_ok()
    }

    fn print(&self, entry: &Entry) {
        let mut strange = None;
        self.output.write(|out| strange = self.form.write(entry, out));
        // GNU du says so and goes on as if nothing was wrong.
        if let Some(seconds) = strange {
            self.say(&Complaint::TimeOutOfRange(seconds));
        }
    }

    /// Prints what has waited for its order.
    fn print_ranked(&self, ranking: Ranking) {
        let entries = ranking.into_sorted();
        match &self.form {
            Form::Tree(tree) => self.output.write(|out| tree.draw(entries, out)),
            _ => entries.iter().for_each(|entry| self.print(entry)),
        }
    }

    /// The walk is over, and this is its sum. False if anything went wrong.
    pub(super) fn finish(self, total: &Usage) -> bool {
        let ranking = self.ranking.as_ref().map(|ranking| std::mem::take(&mut *locked(ranking)));
        if let Some(ranking) = ranking.filter(|_| !matches!(self.form, Form::Tree(_))) {
            self.print_ranked(ranking);
        }
        if self.command.has_total {
            // GNU du's sum begins in 1970.
            let newest = total.newest.into_iter().chain([Form::EPOCH]).max();
            let usage = Usage { newest, ..*total };
            let figure = figure(&usage, self.command.measure);
            let entry =
                Entry { path: b"total".to_vec(), depth: 0, is_directory: false, usage, figure };
            if !matches!(self.form, Form::Json(_)) {
                self.print(&entry);
            }
        }
        if let Form::Json(json) = &self.form {
            self.output.write(|out| json.end(total, out));
        }
        let Desk { speaker, output, has_failed, watch, .. } = self;
        drop(watch);
        match output.finish() {
            Ok(()) => !has_failed.into_inner(),
            Err(failed) => {
                speaker.say(&failed.at_exit());
                false
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Visitor for Desk<'_> {
    fn excludes(&self, path: &[u8]) -> bool {
        self.command.excludes.matches(path, locale())
    }

    fn found(&self, found: &FoundFile<'_>) {
        let usage = if self.command.separate_directories { &found.own } else { &found.total };
        let figure = figure(usage, self.command.measure);
        let is_admitted = self.command.threshold.admits(figure);
        let entry = || Entry {
            path: found.path(),
            depth: found.depth,
            is_directory: found.is_directory(),
            usage: *usage,
            figure,
        };
        match &self.ranking {
            Some(ranking) => {
                let mut ranking = locked(ranking);
                if is_admitted && ranking.wants(figure) {
                    ranking.add(entry());
                }
                // An argument comes after everything in it.
                if found.depth == 0 && matches!(self.form, Form::Tree(_)) {
                    let whole = std::mem::replace(
                        &mut *ranking,
                        Ranking::of(self.command).unwrap_or_default(),
                    );
                    self.print_ranked(whole);
                }
            }
            None if is_admitted => self.print(&entry()),
            None => {}
        }
    }

    fn failed(&self, failure: &WalkError) {
        let WalkError { path, source, .. } = failure;
        let complaint = match failure.operation {
            Operation::Access if self.is_dangling(failure) => Complaint::Dangling(path),
            Operation::Access => Complaint::Access(path, source),
            Operation::Open | Operation::List => Complaint::ReadDirectory(path, source),
            Operation::Cycle => Complaint::Cycle(path),
        };
        if let Form::Json(json) = &self.form {
            json.note(failure);
        }
        self.complain(&complaint);
    }

    fn advance(&self, inodes: u64, allocated_bytes: u64) {
        self.watch.advance(inodes, allocated_bytes);
    }
}
