//! From arguments to settings: everything that depends on the machine, or on two arguments at once,
//! is decided here, once.
//!
//! The results are what the pipelines take. They check what only they can know: sizes of inputs,
//! space, whether the budget suffices.
//!
//! | file | idea |
//! |---|---|
//! | `limited` | the bandwidth limit of what doesn't pass the disk |
//! | `open_files` | how many files may be open |
//! | `outer_limit` | messages that name more memory than a limit from outside leaves |
//! | `stack` | a large enough stack for the main thread |
//! | `refused_memory` | memory that the system refuses ends the program with a message |
//! | `alternative_stacks` | threads start without memory of their own for signals |

pub(crate) mod alternative_stacks;
pub(crate) mod limited;
pub(crate) mod open_files;
mod outer_limit;
pub(crate) mod refused_memory;
pub(crate) mod stack;

use crate::args::{RecordForm, Records, Report, Resources};
use crate::exit::Failure;
use crate::signals::Stop;
use limited::Limited;
pub(crate) use outer_limit::with_outer_limit;
use rustix::process::{Resource, getrlimit};
use rustix::rand::{GetRandomFlags, getrandom};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xsort::machine::MemoryLimits;
use xsort::size::Amount;
use xsort_disk::{
    Disk, DiskOptions, Gate, IoChoice, LazyDisk, OsDisk, RateLimit, is_standard_output, is_url,
};
use xsort_extsort::Error;
use xsort_extsort::variable::LinesInput;
use xsort_gnu::When;
use xsort_objects::{ObjectLimits, ObjectUse, Requests};
use xsort_records::{Format, KeyField, KeyKind, Layout, Prefix};

/// Threads where the address space is limited: each takes some of it for its stack.
const LIMITED_THREADS_MAX: usize = 16;

/// The most threads that a job may use in this process.
pub(crate) fn threads_max() -> usize {
    if is_address_space_limited() { LIMITED_THREADS_MAX } else { usize::MAX }
}

/// Whether the address space is limited (`ulimit -v`).
pub(crate) fn is_address_space_limited() -> bool {
    getrlimit(Resource::As).current.is_some()
}

/// What a job may use.
#[derive(Debug)]
pub(crate) struct JobLimits {
    /// Memory for data in bytes.
    pub(crate) budget_bytes: u64,
    /// The same with what objects take.
    asked_bytes: u64,
    pub(crate) threads: usize,
    io: IoChoice,
    /// The temperature of drives in degrees Celsius above which transfers pause, and the gate that
    /// pauses them.
    pub(crate) temperature: Option<(f64, Arc<Gate>)>,
    /// The bandwidth limit.
    rate: Option<Arc<RateLimit>>,
    objects: Option<ObjectLimits>,
    /// `--verify-output` was given where no output is an object.
    verifies_no_object: bool,
    no_clobber: bool,
    cached_outputs: bool,
    /// A line for the user, if the memory is less than requested.
    pub(crate) notice: Option<String>,
}

/// What is wrong with `--verify-output` where no object is written.
pub(crate) const VERIFIES_NO_OBJECT: &str = "--verify-output reads an object back, and none is \
     written: leave it out, or write to a URL (s3://, gs:// or az://)";

impl JobLimits {
    /// The limits that the arguments and the machine set; with `no_clobber` outputs must not
    /// replace anything. `stop` ends a wait for bandwidth.
    pub(crate) fn decide(
        resources: &Resources,
        objects: ObjectUse,
        no_clobber: bool,
        stop: &Stop,
    ) -> JobLimits {
        let budget = MemoryLimits::read().budget(resources.memory);
        let threads = match resources.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => usize::from(threads),
        };
        let threads = threads.min(threads_max());
        let temperature =
            resources.temperature_limit.map(|celsius| (f64::from(celsius), Arc::default()));
        let rate = resources.bandwidth_limit.map(|bytes_per_second| {
            let stop = stop.clone();
            Arc::new(RateLimit::new(bytes_per_second, move || stop.is_set()))
        });
        let given = resources.objects.given(no_clobber);
        let verifies_no_object = given.verify_output && !objects.writes;
        let objects = ObjectLimits::decide(objects, given, threads, budget.bytes);
        let taken_bytes = objects.as_ref().map_or(0, |objects| objects.taken_bytes);
        JobLimits {
            budget_bytes: budget.bytes.saturating_sub(taken_bytes),
            asked_bytes: budget.bytes,
            objects,
            verifies_no_object,
            threads,
            io: resources.io,
            temperature,
            rate,
            no_clobber,
            cached_outputs: false,
            notice: budget.notice,
        }
    }

    /// The same, with so much patience with stores and servers that don't answer.
    pub(crate) fn giving_up_after(self, time: Duration) -> JobLimits {
        let objects = self.objects.map(|objects| objects.giving_up_after(time));
        JobLimits { objects, ..self }
    }

    /// The same for outputs of so many bytes that are read soon. They go through the page cache
    /// where it has room for two of them beside the job's memory
    /// (docs/experiments/2026-11-24-cluster.md).
    pub(crate) fn caching_outputs(self, bytes: u64) -> JobLimits {
        let room = MemoryLimits::read().available_bytes;
        let cached_outputs = room.saturating_sub(self.asked_bytes) / 2 >= bytes;
        JobLimits { cached_outputs, ..self }
    }

    /// The bandwidth limit in bytes per second.
    pub(crate) fn bytes_per_second(&self) -> Option<u64> {
        self.rate.as_ref().map(|rate| rate.bytes_per_second())
    }

    /// An input held to the bandwidth limit where it doesn't pass the disk.
    pub(crate) fn hold(&self, input: LinesInput) -> LinesInput {
        limited::input(input, self.rate.as_ref())
    }

    /// A stream of data held to the same limit.
    pub(crate) fn hold_stream<W: Write + Send + 'static>(&self, to: W) -> Box<dyn Write + Send> {
        match self.rate.clone() {
            Some(rate) => Box::new(Limited::new(to, rate)),
            None => Box::new(to),
        }
    }

    /// The machine's disk, with the chosen engine and limits.
    ///
    /// # Errors
    /// If it can't start, if objects leave no memory, or if an object is to be read back and none
    /// is written.
    pub(crate) fn disk(&self) -> Result<Arc<dyn Disk>, Failure> {
        if self.verifies_no_object {
            return Err(Failure::Usage(VERIFIES_NO_OBJECT.into()));
        }
        let (budget_bytes, needed_bytes) =
            (self.asked_bytes, self.objects.as_ref().map_or(0, ObjectLimits::needed_bytes));
        if budget_bytes < needed_bytes {
            return Err(Failure::Job(Error::Memory { budget_bytes, needed_bytes }));
        }
        Ok(self.with_objects(Arc::new(OsDisk::new(self.disk_options())?)))
    }

    /// The same for a command that may do no more than ask what is there: the engine starts with
    /// the first file.
    pub(crate) fn lazy_disk(&self) -> Arc<dyn Disk> {
        self.with_objects(Arc::new(LazyDisk::new(self.disk_options())))
    }

    /// Bytes of the memory that objects take.
    fn objects_bytes(&self) -> u64 {
        self.objects.as_ref().map_or(0, |objects| objects.taken_bytes)
    }

    /// An error about the memory that objects leave, as one about all of it.
    pub(crate) fn add_to(&self, error: Error) -> Error {
        match error {
            Error::Memory { budget_bytes, needed_bytes } => Error::Memory {
                budget_bytes: budget_bytes + self.objects_bytes(),
                needed_bytes: needed_bytes + self.objects_bytes(),
            },
            other => other,
        }
    }

    /// The requests of a job with these inputs and this output, of so many bytes each, if there are
    /// objects among them; `lists` are those that found the inputs.
    pub(crate) fn requests<'p>(
        &self,
        inputs: impl IntoIterator<Item = (&'p Path, u64)>,
        output: (&Path, u64),
        lists: u64,
    ) -> Option<Requests> {
        self.objects.as_ref().map(|objects| objects.requests(inputs, output, lists))
    }

    fn with_objects(&self, local: Arc<dyn Disk>) -> Arc<dyn Disk> {
        match &self.objects {
            Some(objects) => objects.disk(local, self.rate.clone()),
            None => local,
        }
    }

    fn disk_options(&self) -> DiskOptions {
        let gate = self.temperature.as_ref().map(|(_, gate)| Arc::clone(gate));
        let JobLimits { io, no_clobber, cached_outputs, .. } = *self;
        let rate = self.rate.clone();
        DiskOptions { io, gate, rate, no_clobber, cached_outputs, ..DiskOptions::default() }
    }
}

/// What a job prints, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReportStyle {
    /// Whether the result is printed as JSON.
    pub(crate) json: bool,
    /// Whether neither a result for people nor notices are printed.
    pub(crate) quiet: bool,
    /// How often -v was given: once, a result for people says what each phase took; twice, it has
    /// a line for each chunk and bin.
    pub(crate) verbosity: u8,
    pub(crate) progress: ProgressStyle,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressStyle {
    None,
    /// A line now and then, for logs.
    Lines,
    /// A bar that is redrawn in place.
    Bar,
}

impl ProgressStyle {
    /// How progress is shown; by itself only if it `may_show` it.
    pub(crate) fn decide(when: When, may_show: bool) -> ProgressStyle {
        match (when, io::stderr().is_terminal()) {
            (When::Auto, _) if !may_show => ProgressStyle::None,
            (When::Auto | When::Always, true) => ProgressStyle::Bar,
            (When::Always, false) => ProgressStyle::Lines,
            (When::Auto, false) | (When::Never, _) => ProgressStyle::None,
        }
    }
}

impl ReportStyle {
    pub(crate) fn decide(report: &Report) -> ReportStyle {
        let Report { json, quiet, verbose: verbosity, progress, .. } = *report;
        ReportStyle { json, quiet, verbosity, progress: ProgressStyle::decide(progress, !quiet) }
    }
}

/// The records' size and key, from --format, or from --record and --key.
pub(crate) fn layout(records: &Records) -> Result<Layout, Failure> {
    let record_bytes = match records.record {
        Some(RecordForm::Bytes(bytes)) => bytes,
        Some(RecordForm::Prefixed(prefix)) => {
            return Err(Failure::Usage(format!("records of --record {prefix} have no one size")));
        }
        None => return Ok(records.format.unwrap_or(Format::Gensort).layout()),
    };
    let whole =
        KeyField { offset: 0, length: record_bytes, kind: KeyKind::Bytes, descending: false };
    let keys = if records.keys.is_empty() { vec![whole] } else { records.keys.clone() };
    Layout::new(record_bytes, keys).map_err(|error| Failure::Usage(error.to_string()))
}

/// What records begin with, if that is their length.
pub(crate) fn prefix(records: &Records) -> Option<Prefix> {
    match records.record {
        Some(RecordForm::Prefixed(prefix)) => Some(prefix),
        _ => None,
    }
}

/// Whether the records' format is assumed. Then inputs that look like something else are refused.
pub(crate) fn is_format_assumed(records: &Records) -> bool {
    records.format.is_none() && records.record.is_none()
}

/// The number of whole records in an amount, and the bytes that are left over.
pub(crate) fn records(amount: Amount, record_bytes: usize) -> (u64, u64) {
    match amount {
        Amount::Records(records) => (records, 0),
        Amount::Bytes(bytes) => (bytes / record_bytes as u64, bytes % record_bytes as u64),
    }
}

/// The directories that outputs are written to: none for standard output, and at a URL.
pub(crate) fn output_directories(output: &Path) -> Vec<PathBuf> {
    match is_standard_output(output) || is_url(output) {
        true => Vec::new(),
        false => vec![directory_of(output)],
    }
}

/// The directory that holds a file.
pub(crate) fn directory_of(file: &Path) -> PathBuf {
    xsort_disk::parent_directory(file)
}

/// Random bytes of the system's.
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_become_whole_records() {
        assert_eq!(records(Amount::Bytes(1_000_099), 100), (10_000, 99));
        assert_eq!(records(Amount::Records(7), 100), (7, 0));
        assert_eq!(records(Amount::Bytes(99), 100), (0, 99));
    }
}
