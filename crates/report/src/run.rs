//! A run, as its `--json` report tells it. Only `command` is required: fields that a command lacks,
//! or that an older program didn't write, stay empty.

use crate::largest::Largest;
use serde::Deserialize;
use std::io::BufRead;

/// The commands that have pages.
const COMMANDS: [&str; 6] = ["gen", "sort", "lines", "table", "verify", "du"];

/// The newest version of the reports that this crate reads.
const VERSION: u32 = 1;

/// A report that is no report of a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading failed, or the text is no JSON.
    #[error("it is no report of --json: {0}")]
    Json(#[from] serde_json::Error),
    /// Reading failed.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// No line begins an object.
    #[error("there is no report of --json in it")]
    Missing,
    /// The report of another command.
    #[error("the report is of 'xsort {0}', which has no page: gen, sort, lines, table, verify, du")]
    Command(String),
    /// The report of a dry run.
    #[error("the report is of a dry run: run the command without --dry-run")]
    DryRun,
    /// The report of a newer program.
    #[error("the report has version {0}, which a newer xsort wrote: use that one")]
    Version(u32),
}

/// A finished run.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Run {
    pub(crate) command: String,
    pub(crate) version: u32,
    pub(crate) dry_run: bool,
    pub(crate) records: Option<u64>,
    pub(crate) lines: Option<u64>,
    pub(crate) rows: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) written_bytes: Option<u64>,
    pub(crate) late_lines: Option<u64>,
    pub(crate) late_rows: Option<u64>,
    pub(crate) bad_rows: Option<u64>,
    pub(crate) copied_row_groups: Option<u64>,
    pub(crate) checksum: Option<String>,
    pub(crate) seconds: Option<f64>,
    pub(crate) threads: Option<u64>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) memory_shares: Vec<Share>,
    pub(crate) spilled_bytes: u64,
    pub(crate) scratch_bytes: u64,
    pub(crate) lz4_bytes: u64,
    pub(crate) zstd_bytes: u64,
    pub(crate) prepare_seconds: Option<f64>,
    pub(crate) cpu_user_seconds: Option<f64>,
    pub(crate) cpu_system_seconds: Option<f64>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) moved: Option<Moved>,
    pub(crate) drive: Option<Drive>,
    pub(crate) floor_seconds: Option<f64>,
    pub(crate) plan: Option<Plan>,
    pub(crate) scratch: Vec<Scratch>,
    pub(crate) io: Option<String>,
    pub(crate) ok: Option<bool>,
    pub(crate) unordered_records: Option<u64>,
    pub(crate) first_unordered_record: Option<u64>,
    pub(crate) duplicate_keys: Option<u64>,
    pub(crate) expected: Option<Comparison>,
    pub(crate) against: Option<Comparison>,
    pub(crate) entries: Largest,
    pub(crate) errors: Vec<WalkError>,
    pub(crate) total: Option<Usage>,
    pub(crate) run: Facts,
}

/// What a share of the memory was for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

/// A finished phase of a sort of records.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Phase {
    pub(crate) name: String,
    pub(crate) seconds: f64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    /// Bytes that the phase worked through, where reads and writes aren't counted.
    pub(crate) bytes: u64,
}

/// Transfers, and the time with at least one under way.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Moved {
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) busy_seconds: f64,
}

/// The drive as it was measured.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Drive {
    pub(crate) read_bytes_per_second: f64,
    pub(crate) write_bytes_per_second: f64,
    pub(crate) mixed_read_bytes_per_second: f64,
    pub(crate) mixed_write_bytes_per_second: f64,
}

/// The plan of a sort of records.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Plan {
    pub(crate) method: String,
    pub(crate) budget_bytes: u64,
    pub(crate) pool_bytes: u64,
    pub(crate) index_bytes: u64,
    pub(crate) compression_bytes: u64,
    pub(crate) chunks: u64,
    pub(crate) spilled_chunks: u64,
    pub(crate) scratch_bytes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
}

/// Scratch in one directory.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Scratch {
    pub(crate) directory: String,
    pub(crate) bytes: u64,
}

/// Records that were expected, and whether they were found.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Comparison {
    pub(crate) ok: bool,
    pub(crate) checksum: String,
    pub(crate) records: Option<u64>,
    pub(crate) source: String,
}

/// A path that could not be counted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WalkError {
    pub(crate) path: String,
    pub(crate) operation: String,
    pub(crate) reason: String,
}

/// The space of files.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    pub(crate) allocated_bytes: u64,
    pub(crate) apparent_bytes: u64,
    pub(crate) inodes: u64,
}

/// What all commands tell of a run: the command line, the machine, and what was watched.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Facts {
    pub(crate) arguments: Vec<String>,
    pub(crate) directory: String,
    pub(crate) program_version: String,
    pub(crate) ended_unix_seconds: Option<f64>,
    pub(crate) machine: Machine,
    pub(crate) cpu_user_seconds: f64,
    pub(crate) cpu_system_seconds: f64,
    pub(crate) peak_memory_bytes: u64,
    pub(crate) limit_bytes_per_second: Option<u64>,
    pub(crate) paused_seconds: Option<f64>,
    pub(crate) threads: u64,
    pub(crate) phases: Vec<WatchedPhase>,
    pub(crate) stages: Vec<Stage>,
    pub(crate) moved: Option<Moved>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) lanes: Vec<Lane>,
}

/// The machine of a run.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Machine {
    pub(crate) host: String,
    pub(crate) system: String,
    pub(crate) processor: String,
    pub(crate) processors: u64,
    pub(crate) memory_bytes: u64,
}

/// A phase as it was watched.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WatchedPhase {
    pub(crate) name: String,
    pub(crate) begin_seconds: f64,
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
}

/// The seconds of a stage, summed over its threads.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Stage {
    pub(crate) name: String,
    pub(crate) busy_seconds: f64,
    pub(crate) waits: Vec<Wait>,
}

/// The seconds for which a stage waited.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wait {
    pub(crate) on: String,
    pub(crate) seconds: f64,
}

/// Figures at one moment. Bytes are totals since the beginning, except memory and scratch.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    pub(crate) done_bytes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) scratch_bytes: u64,
    pub(crate) resident_bytes: u64,
    pub(crate) celsius: Option<f64>,
    pub(crate) is_paused: bool,
}

/// What one thread did, or the transfers of one direction.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) spans: Vec<Span>,
}

/// A stretch of time: its begin, its length and the busy part of it in microseconds, and its kind.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Span(pub(crate) u64, pub(crate) u64, pub(crate) u64, pub(crate) String);

impl Run {
    /// Reads the report of a run. Lines before the one that begins the object are skipped: commands
    /// that write data to standard output print notes where they print the report.
    ///
    /// # Errors
    /// If there is no report, or one without a page.
    pub fn read(mut from: impl BufRead) -> Result<Run, Error> {
        loop {
            let begin = from.fill_buf()?;
            match begin.first() {
                None => return Err(Error::Missing),
                Some(b'{') => break,
                Some(_) => drop(from.skip_until(b'\n')?),
            }
        }
        let mut objects = serde_json::Deserializer::from_reader(from).into_iter::<Run>();
        let run = objects.next().ok_or(Error::Missing)??;
        match () {
            () if run.version > VERSION => Err(Error::Version(run.version)),
            () if !COMMANDS.contains(&&*run.command) => Err(Error::Command(run.command)),
            () if run.dry_run => Err(Error::DryRun),
            () => Ok(run),
        }
    }

    /// The number and the name of the items.
    pub(crate) fn items(&self) -> Option<(u64, &'static str)> {
        let named = [(self.records, "record"), (self.lines, "line"), (self.rows, "row")];
        named.into_iter().find_map(|(count, name)| Some((count?, name)))
    }

    /// Threads that worked, if that is known.
    pub(crate) fn thread_count(&self) -> Option<u64> {
        self.threads.or(Some(self.run.threads)).filter(|threads| *threads > 0)
    }

    /// Transfers, if they were counted.
    pub(crate) fn moved(&self) -> Option<Moved> {
        let moved = self.moved.or(self.run.moved);
        moved.filter(|moved| moved.read_bytes + moved.written_bytes > 0)
    }

    /// The processor seconds of the sort, or of the process; `None` if they are unknown.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        let user = self.cpu_user_seconds.unwrap_or(self.run.cpu_user_seconds);
        let seconds = user + self.cpu_system_seconds.unwrap_or(self.run.cpu_system_seconds);
        (seconds > 0.0).then_some(seconds)
    }

    /// The phases, from whichever source has more about them.
    pub(crate) fn all_phases(&self) -> Vec<Phase> {
        if !self.phases.is_empty() {
            return self.phases.clone();
        }
        let phase = |phase: &WatchedPhase| {
            let WatchedPhase { name, seconds, bytes, .. } = phase;
            Phase { name: name.clone(), seconds: *seconds, bytes: *bytes, ..Phase::default() }
        };
        self.run.phases.iter().map(phase).collect()
    }

    /// Memory by the names of its shares.
    pub(crate) fn shares(&self) -> Vec<(&str, u64)> {
        match &self.plan {
            Some(plan) if self.memory_shares.is_empty() => {
                let shares = [
                    ("blocks of the pool", plan.pool_bytes),
                    ("index of scratch", plan.index_bytes),
                    ("compressors of scratch", plan.compression_bytes),
                ];
                shares.into_iter().filter(|(_, bytes)| *bytes > 0).collect()
            }
            _ => self.memory_shares.iter().map(|share| (&*share.name, share.bytes)).collect(),
        }
    }
}
