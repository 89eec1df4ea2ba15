//! Everything that a job publishes about itself at one moment: JSON, which any language reads. The
//! reader checks it, because a process that may write the file may have written anything.
//!
//! A parsed snapshot is bounded in size, its numbers are finite, its lists are no longer than those
//! of a real job, and its texts have no control characters, so that it can be shown on a terminal.
//! docs/formats.md shows the bytes.

use serde::{Deserialize, Serialize};

/// Version of the layout that this program writes and reads. Fields may be added without a new
/// number; removing a field or changing its meaning takes a new number.
pub const FORMAT: u32 = 1;

/// Maximum length of a parsed snapshot, in bytes. A job's has 2 to 8 KiB.
pub const SNAPSHOT_BYTES_MAX: usize = 1 << 20;

/// Maximum number of entries that are kept in a list.
const ENTRIES_MAX: usize = 256;
/// Maximum number of characters that are kept of a text: a path's maximum length.
const TEXT_MAX: usize = 4096;

/// The state of one job at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`FORMAT`].
    pub format: u32,
    /// The job's identity.
    pub job: Identity,
    /// When it was taken, in seconds since 1970.
    pub taken_unix_seconds: f64,
    /// Seconds since the job began.
    pub seconds: f64,
    /// The current phase.
    pub phase: Phase,
    /// The completed share of the whole work, 0 to 1, if predictable.
    pub share_done: Option<f64>,
    /// Seconds until the job will be done, if predictable.
    pub seconds_left: Option<f64>,
    /// Bytes per second over the last two seconds.
    pub bytes_per_second_now: f64,
    /// Bytes per second since the job began, over all phases.
    pub bytes_per_second_mean: f64,
    /// Bytes per second since the job began, one figure for each step of equal length.
    pub curve: Vec<f64>,
    /// Length of each step in seconds.
    pub curve_step_seconds: f64,
    /// Size of a record in bytes; `None` for lines.
    pub record_bytes: Option<u64>,
    /// Number of worker threads.
    pub threads: u64,
    /// The stages, with their work and their waits.
    pub stages: Vec<Stage>,
    /// Bytes read from drives so far; 0 if the job doesn't count them.
    pub read_bytes: u64,
    /// Bytes written to drives so far.
    pub written_bytes: u64,
    /// Counts of chunks, parts and files.
    pub counts: Counts,
    /// Memory that it uses.
    pub memory: Memory,
    /// Bytes spilled so far; zeros if the job doesn't count them.
    #[serde(default)]
    pub spilled: Spilled,
    /// The drives that it uses.
    pub drives: Vec<DriveState>,
    /// True while transfers wait for the drives to cool below `resume_celsius`.
    pub is_paused: bool,
    /// Temperature above which transfers pause, if the user set a limit.
    pub limit_celsius: Option<f64>,
    /// Temperature below which transfers resume.
    pub resume_celsius: Option<f64>,
    /// Limit in bytes per second, reads and writes together, if the user set one.
    pub limit_bytes_per_second: Option<u64>,
    /// Uploads under way in stores, which a kill leaves there.
    #[serde(default)]
    pub uploads: Vec<Upload>,
    /// Directories in which a killed job leaves hidden files, if the file system doesn't support
    /// nameless files.
    pub places: Vec<String>,
    /// The job's last notices.
    pub notices: Vec<String>,
}

/// The identity of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// Name of the command: "sort".
    pub command: String,
    /// The words of the command line, starting with the program's name; only the first words if
    /// there are many.
    pub arguments: Vec<String>,
    /// Its process ID, in its own PID namespace.
    pub pid: u32,
    /// ID of the user for whom it runs.
    pub uid: u32,
    /// Name of that user, or the number.
    pub user: String,
    /// Working directory.
    pub directory: String,
    /// When it began, in seconds since 1970.
    pub started_unix_seconds: f64,
    /// Version of the program.
    pub version: String,
}

/// What a job is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name: "form runs".
    pub name: String,
    /// Number of phases that have begun, including this one.
    pub number: u64,
    /// Bytes processed so far.
    pub done_bytes: u64,
    /// Bytes to process; 0 if unknown.
    pub bytes: u64,
    /// Seconds since it began.
    pub seconds: f64,
}

/// A stage of the pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// What it does, for example "read".
    pub name: String,
    /// Seconds of work so far, over all of its threads.
    pub busy_seconds: f64,
    /// Average number of busy threads over the last second.
    pub busy_threads: f64,
    /// What it waits for, and how long.
    pub waits: Vec<Wait>,
}

/// What a stage waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The thing waited for.
    pub on: String,
    /// Seconds so far, over all of the stage's threads.
    pub seconds: f64,
    /// Average number of threads that waited for it over the last second.
    pub threads: f64,
}

/// Counts of chunks, parts and files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Chunks of the input that were sorted or scattered.
    pub chunks: u64,
    /// Total number of chunks, if known.
    pub chunks_all: Option<u64>,
    /// Segments or bins that were written to the output.
    pub parts: u64,
    /// Files that were counted; 0 if the job doesn't count files.
    #[serde(default)]
    pub files: u64,
}

/// Bytes written to scratch, and their compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spilled {
    /// Bytes before compression.
    pub bytes: u64,
    /// Bytes as written.
    pub scratch_bytes: u64,
    /// The part of `bytes` that LZ4 compressed.
    pub lz4_bytes: u64,
    /// The part of `bytes` that Zstandard compressed.
    pub zstd_bytes: u64,
}

/// An unfinished output in an object store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// The URL that the output will have.
    pub url: String,
    /// The store's identifier of the upload.
    pub upload: String,
    /// True if a resumed sort continues the upload, so that a killed sort's upload isn't left over.
    #[serde(default)]
    pub is_resumable: bool,
}

/// Memory of a job, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Resident set size of the process.
    pub resident_bytes: u64,
    /// Budget for data.
    pub budget_bytes: u64,
}

/// A directory that a job uses, and its drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveState {
    /// The directory.
    pub path: String,
    /// Its purpose: "scratch", "output", "input", or several of these separated by commas.
    pub role: String,
    /// Bytes of the job's scratch in it.
    pub scratch_bytes: u64,
    /// The device, if it has a thermometer.
    pub device: Option<String>,
    /// Degrees Celsius, if the system shows them.
    pub celsius: Option<f64>,
}

/// The reason why bytes are not a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// Longer than [`SNAPSHOT_BYTES_MAX`].
    #[error("{0} bytes are too long for a snapshot")]
    TooLong(usize),
    /// Written by another version of the program.
    #[error("its format is {found}, this program knows {FORMAT}: use the xsort that runs the job")]
    OtherFormat {
        /// The format number found.
        found: u32,
    },
    /// Not a job's JSON.
    #[error("not a snapshot: {0}")]
    Malformed(#[from] serde_json::Error),
}

impl Snapshot {
    /// Returns the bytes to publish.
    pub fn to_bytes(&self) -> Vec<u8> {
        // JSON can't represent infinity: it would become null, which a reader rejects. So numbers
        // are made finite before they are written, too.
        serde_json::to_vec(&self.clone().tidy())
            .expect("maps have text as keys, and writing to memory does not fail")
    }

    /// Parses the bytes that [`Snapshot::to_bytes`] wrote, or any other bytes.
    ///
    /// # Errors
    /// [`ParseError`] if they are no snapshot of this [`FORMAT`].
    pub fn parse(bytes: &[u8]) -> Result<Snapshot, ParseError> {
        #[derive(Deserialize)]
        struct FormatOnly {
            format: u32,
        }
        if bytes.len() > SNAPSHOT_BYTES_MAX {
            return Err(ParseError::TooLong(bytes.len()));
        }
        let FormatOnly { format } = serde_json::from_slice(bytes)?;
        if format != FORMAT {
            return Err(ParseError::OtherFormat { found: format });
        }
        Ok(serde_json::from_slice::<Snapshot>(bytes)?.tidy())
    }

    /// Bounds lists and texts, replaces control characters, and makes times and rates finite and
    /// not negative.
    fn tidy(mut self) -> Snapshot {
        let Snapshot { job, phase, stages, drives, uploads, places, notices, curve, .. } =
            &mut self;
        for text in
            [&mut job.command, &mut job.user, &mut job.directory, &mut job.version, &mut phase.name]
        {
            clean(text);
        }
        for list in [&mut job.arguments, places, notices] {
            list.truncate(ENTRIES_MAX);
            list.iter_mut().for_each(clean);
        }
        stages.truncate(ENTRIES_MAX);
        for stage in stages {
            clean(&mut stage.name);
            stage.waits.truncate(ENTRIES_MAX);
            for number in [&mut stage.busy_seconds, &mut stage.busy_threads] {
                bound(number);
            }
            for wait in &mut stage.waits {
                clean(&mut wait.on);
                bound(&mut wait.seconds);
                bound(&mut wait.threads);
            }
        }
        drives.truncate(ENTRIES_MAX);
        for drive in drives {
            clean(&mut drive.path);
            clean(&mut drive.role);
            drive.device.iter_mut().for_each(clean);
            drive.celsius = drive.celsius.filter(|celsius| celsius.is_finite());
        }
        uploads.truncate(ENTRIES_MAX);
        for Upload { url, upload, .. } in uploads {
            clean(url);
            clean(upload);
        }
        curve.truncate(ENTRIES_MAX);
        curve.iter_mut().for_each(bound);
        for number in [
            &mut self.taken_unix_seconds,
            &mut self.seconds,
            &mut self.phase.seconds,
            &mut self.job.started_unix_seconds,
            &mut self.bytes_per_second_now,
            &mut self.bytes_per_second_mean,
            &mut self.curve_step_seconds,
        ] {
            bound(number);
        }
        for number in [&mut self.share_done, &mut self.seconds_left] {
            number.iter_mut().for_each(bound);
        }
        self.share_done = self.share_done.map(|share| share.min(1.0));
        for number in [&mut self.limit_celsius, &mut self.resume_celsius] {
            *number = number.filter(|celsius| celsius.is_finite());
        }
        self
    }

    /// Returns the number of the phase's records that are done, if the job sorts records.
    pub fn records_done(&self) -> Option<u64> {
        self.record_bytes.filter(|bytes| *bytes > 0).map(|bytes| self.phase.done_bytes / bytes)
    }
}

/// Limits a time or rate to 0 to 10^15, more than any real one, so that sums and integers stay in
/// range.
fn bound(number: &mut f64) {
    *number = if number.is_nan() { 0.0 } else { number.clamp(0.0, 1e15) };
}

/// Makes a text safe for a terminal: file names and arguments can contain anything, including
/// escape sequences.
fn clean(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(TEXT_MAX) {
        text.truncate(end);
    }
    if text.contains(is_unfit) {
        *text = text.replace(is_unfit, "\u{fffd}");
    }
}

/// Returns whether a character is a control character or changes the direction of text.
fn is_unfit(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}')
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
