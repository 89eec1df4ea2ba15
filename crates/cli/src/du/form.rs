//! An entry as GNU du's line, or in JSON.

use super::entry::Entry;
use super::tree::Tree;
use crate::gnu::locale;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::{fs, str};
use xsort_gnu::Numerals;
use xsort_gnu::du::{Command, Scale, Zone, write_time};
use xsort_usage::{Operation, Timestamp, Usage, WalkError};

/// How entries are printed.
pub(super) enum Form<'a> {
    Lines(Lines<'a>),
    Json(Json),
    Tree(Tree<'a>),
}

impl Form<'_> {
    /// The time of what has none.
    pub(super) const EPOCH: Timestamp = Timestamp { seconds: 0, nanoseconds: 0 };

    /// Appends an entry; the seconds of its time if that is out of range.
    pub(super) fn write(&self, entry: &Entry, out: &mut Vec<u8>) -> Option<i64> {
        match self {
            Form::Lines(lines) => lines.write(entry, out),
            Form::Json(json) => {
                json.write(entry, out);
                None
            }
            Form::Tree(tree) => {
                tree.write_plain(entry, out);
                None
            }
        }
    }
}

/// Sizes as the command has them printed.
pub(super) struct Sizes {
    scale: Scale,
    numerals: Numerals,
}

impl Sizes {
    pub(super) fn new(command: &Command) -> Sizes {
        let scale = command.scale;
        let numerals = if scale.is_of_locale() { locale().numerals() } else { Numerals::default() };
        Sizes { scale, numerals }
    }

    pub(super) fn write(&self, figure: u64, out: &mut Vec<u8>) {
        match figure {
            // Sums end there.
            u64::MAX => out.extend_from_slice(b"Infinity"),
            _ => self.scale.write(figure, &self.numerals, out),
        }
    }
}

/// Size, perhaps time, and path.
pub(super) struct Lines<'a> {
    sizes: Sizes,
    time: Option<(&'a [u8], Zone)>,
    terminator: u8,
}

impl<'a> Lines<'a> {
    pub(super) fn new(command: &'a Command) -> Lines<'a> {
        let time = command.time.as_ref().map(|time| (&time.format[..], zone()));
        Lines { sizes: Sizes::new(command), time, terminator: command.terminator() }
    }

    fn write(&self, entry: &Entry, out: &mut Vec<u8>) -> Option<i64> {
        let mut strange = None;
        self.sizes.write(entry.figure, out);
        if let Some((format, zone)) = &self.time {
            out.push(b'\t');
            let Timestamp { seconds, nanoseconds } = entry.usage.newest.unwrap_or(Form::EPOCH);
            let is_told = write_time(format, seconds, nanoseconds, zone, locale(), out);
            strange = (!is_told).then_some(seconds);
        }
        out.push(b'\t');
        out.extend_from_slice(&entry.path);
        out.push(self.terminator);
        strange
    }
}

/// The zone of the process.
fn zone() -> Zone {
    let read = |path: &Path| fs::metadata(path).ok()?.is_file().then(|| fs::read(path).ok())?;
    Zone::of(std::env::var_os("TZ").as_deref(), read)
}

/// One document: entries as they come, then what went wrong, then the sum. docs/formats.md draws
/// it.
pub(super) struct Json {
    has_entries: AtomicBool,
    errors: Mutex<Vec<String>>,
}

/// A path. JSON has no bytes: those of one that isn't UTF-8 are beside it in hexadecimal.
#[derive(Serialize)]
struct Name<'a> {
    path: std::borrow::Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
}

impl Name<'_> {
    fn of(path: &[u8]) -> Name<'_> {
        let hexadecimal = || path.iter().map(|byte| format!("{byte:02x}")).collect();
        let path_bytes = str::from_utf8(path).is_err().then(hexadecimal);
        Name { path: String::from_utf8_lossy(path), path_bytes }
    }
}

#[derive(Serialize)]
struct Figures {
    allocated_bytes: u64,
    apparent_bytes: u64,
    inodes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<Moment>,
}

#[derive(Serialize)]
struct Moment {
    unix_seconds: i64,
    nanoseconds: u32,
}

impl Figures {
    fn of(usage: &Usage) -> Figures {
        let newest = usage
            .newest
            .map(|time| Moment { unix_seconds: time.seconds, nanoseconds: time.nanoseconds });
        let Usage { allocated_bytes, apparent_bytes, inodes, .. } = *usage;
        Figures { allocated_bytes, apparent_bytes, inodes, newest }
    }
}

#[derive(Serialize)]
struct JsonEntry<'a> {
    #[serde(flatten)]
    name: Name<'a>,
    depth: usize,
    is_directory: bool,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Serialize)]
struct JsonError<'a> {
    #[serde(flatten)]
    name: Name<'a>,
    operation: &'static str,
    reason: String,
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("its keys are texts, its numbers whole")
}

impl Json {
    pub(super) fn new() -> Json {
        Json { has_entries: AtomicBool::new(false), errors: Mutex::default() }
    }

    fn write(&self, entry: &Entry, out: &mut Vec<u8>) {
        let before = if self.has_entries.swap(true, Relaxed) { ",\n" } else { BEGINNING };
        out.extend_from_slice(before.as_bytes());
        let Entry { path, depth, is_directory, usage, .. } = entry;
        let (name, figures) = (Name::of(path), Figures::of(usage));
        let entry = JsonEntry { name, depth: *depth, is_directory: *is_directory, figures };
        out.extend_from_slice(json(&entry).as_bytes());
    }

    /// Something that couldn't be counted.
    pub(super) fn note(&self, failure: &WalkError) {
        let operation = match failure.operation {
            Operation::Access => "access",
            Operation::Open => "open directory",
            Operation::List => "list directory",
            Operation::Cycle => "cycle",
        };
        let reason = failure.source.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default().to_owned();
        let error = json(&JsonError { name: Name::of(&failure.path), operation, reason });
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).push(error);
    }

    /// What comes after the last entry.
    pub(super) fn end(&self, total: &Usage, out: &mut Vec<u8>) {
        if !self.has_entries.load(Relaxed) {
            out.extend_from_slice(BEGINNING.as_bytes());
        }
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner).join(",\n");
        let total = json(&Figures::of(total));
        out.extend_from_slice(
            format!("\n],\"errors\":[{errors}],\"total\":{total}}}\n").as_bytes(),
        );
    }
}

const BEGINNING: &str = "{\"command\":\"du\",\"format\":1,\"entries\":[\n";
