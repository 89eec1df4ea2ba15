//! Prints one JSON document: the entries as they are found, then the errors, then the sum.
//! docs/json.md describes it.

use super::row::Row;
use crate::gnu_commands::reason;
use crate::report::RunFacts;
use parking_lot::Mutex;
use serde::Serialize;
use std::borrow::Cow;
use std::str;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use xsort_usage::{Operation, Usage, WalkError};

const BEGINNING: &str = "{\"command\":\"du\",\"version\":1,\"dry_run\":false,\"entries\":[\n";

/// The document as far as it is written.
pub(super) struct JsonDocument {
    has_entries: AtomicBool,
    /// The errors, each as JSON.
    errors: Mutex<Vec<String>>,
}

/// A path for JSON, which can't represent all bytes: if the path isn't UTF-8, its bytes are added
/// in hexadecimal.
#[derive(Serialize)]
struct JsonPath<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
}

#[derive(Serialize)]
struct JsonUsage {
    allocated_bytes: u64,
    apparent_bytes: u64,
    inodes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<JsonTime>,
}

#[derive(Serialize)]
struct JsonTime {
    unix_seconds: i64,
    nanoseconds: u32,
}

#[derive(Serialize)]
struct JsonEntry<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    depth: usize,
    is_directory: bool,
    #[serde(flatten)]
    usage: JsonUsage,
}

#[derive(Serialize)]
struct JsonError<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    operation: &'static str,
    reason: String,
}

impl JsonPath<'_> {
    fn of(path: &[u8]) -> JsonPath<'_> {
        let hexadecimal = || path.iter().map(|byte| format!("{byte:02x}")).collect();
        let path_bytes = str::from_utf8(path).is_err().then(hexadecimal);
        JsonPath { path: String::from_utf8_lossy(path), path_bytes }
    }
}

impl JsonUsage {
    fn of(usage: &Usage) -> JsonUsage {
        let newest = usage
            .newest
            .map(|time| JsonTime { unix_seconds: time.seconds, nanoseconds: time.nanoseconds });
        let Usage { allocated_bytes, apparent_bytes, inodes, .. } = *usage;
        JsonUsage { allocated_bytes, apparent_bytes, inodes, newest }
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("keys are strings")
}

impl JsonDocument {
    pub(super) fn new() -> JsonDocument {
        JsonDocument { has_entries: AtomicBool::new(false), errors: Mutex::default() }
    }

    /// Appends an entry.
    pub(super) fn write(&self, row: &Row, out: &mut Vec<u8>) {
        let before = if self.has_entries.swap(true, Relaxed) { ",\n" } else { BEGINNING };
        out.extend_from_slice(before.as_bytes());
        let Row { path, depth, is_directory, usage, .. } = row;
        let (path, usage) = (JsonPath::of(path), JsonUsage::of(usage));
        let entry = JsonEntry { path, depth: *depth, is_directory: *is_directory, usage };
        out.extend_from_slice(json(&entry).as_bytes());
    }

    /// Adds an error for a file or directory that couldn't be counted.
    pub(super) fn add_error(&self, error: &WalkError) {
        let operation = match error.operation {
            Operation::Access => "access",
            Operation::Open => "open directory",
            Operation::List => "list directory",
            Operation::Cycle => "cycle",
        };
        let reason = reason(&error.source);
        let error = json(&JsonError { path: JsonPath::of(&error.path), operation, reason });
        self.errors.lock().push(error);
    }

    /// Appends the end of the document: errors, the sum, and facts about the run.
    pub(super) fn end(&self, total: &Usage, facts: Option<&RunFacts>, out: &mut Vec<u8>) {
        if !self.has_entries.load(Relaxed) {
            out.extend_from_slice(BEGINNING.as_bytes());
        }
        let errors = self.errors.lock().join(",\n");
        let (total, run) = (json(&JsonUsage::of(total)), json(&facts));
        out.extend_from_slice(
            format!("\n],\"errors\":[{errors}],\"total\":{total},\n\"run\":{run}}}\n").as_bytes(),
        );
    }
}
