//! What a sort did, as figures.

use super::phases::Phase;
use super::plan::Plan;
use super::spool::SpoolReport;
use crate::job::gauges::Compressed;
use crate::job::process::{cpu_seconds, peak_memory_bytes};
use crate::job::stage_times::StageTimes;
use crate::job::traffic::Moved;
use crate::store::probe::DriveRates;
use serde::{Serialize, Serializer};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xsort_disk::Disk;
use xsort_records::Checksum;

/// What was done with one chunk of the input.
#[derive(Clone, Debug, Serialize)]
pub struct ChunkReport {
    /// Its number, in the order of the input.
    pub chunk: usize,
    /// Records in it.
    pub records: u64,
    /// Whether it stayed in memory.
    pub is_resident: bool,
    /// Writes to scratch.
    pub writes: usize,
    /// Seconds from the first read's start to the last one's end.
    pub read_seconds: f64,
    /// Seconds from then until a worker began with it.
    pub queue_seconds: f64,
    /// Seconds of hashing and of sorting, or of finding bins.
    pub sort_seconds: f64,
    /// Seconds of gathering, with the waits for free blocks.
    pub spill_seconds: f64,
}

/// What was done with one bin, or with several small ones at once.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BinReport {
    /// Number of the first bin, in the order of the keys.
    pub bin: usize,
    /// How many bins.
    pub bins: usize,
    /// Records in them.
    pub records: u64,
    /// Whether all have the same key, so that they needed no sort. A large bin of one key has
    /// several reports.
    pub is_one_key: bool,
    /// Seconds from the first read's start to the last one's end.
    pub read_seconds: f64,
    /// Seconds from then until a worker began with it.
    pub queue_seconds: f64,
    /// Seconds of checking, moving together and sorting.
    pub sort_seconds: f64,
    /// Seconds of gathering the records into blocks of the output, with the waits.
    pub write_seconds: f64,
    /// Seconds of these in which it waited for free blocks.
    pub write_wait_seconds: f64,
}

/// When the stages of a chunk, or of a load of bins, began.
pub(crate) struct UnitTimes {
    read_time: Duration,
    queue_time: Duration,
    begun_at: Instant,
    sorted_at: Instant,
}

impl UnitTimes {
    /// Of a unit that took `read_time` to read, was in memory at `arrived_at`, and that a worker
    /// begins with now.
    pub(crate) fn begin(read_time: Duration, arrived_at: Instant) -> UnitTimes {
        let begun_at = Instant::now();
        let queue_time = begun_at - arrived_at;
        UnitTimes { read_time, queue_time, begun_at, sorted_at: begun_at }
    }

    /// The unit is sorted or scattered now.
    pub(crate) fn sorted(&mut self) {
        self.sorted_at = Instant::now();
    }

    /// The report of a chunk whose writes were started just now.
    pub(crate) fn chunk_report(
        &self,
        chunk: usize,
        records: usize,
        is_resident: bool,
        writes: usize,
    ) -> ChunkReport {
        ChunkReport {
            chunk,
            records: records as u64,
            is_resident,
            writes,
            read_seconds: self.read_time.as_secs_f64(),
            queue_seconds: self.queue_time.as_secs_f64(),
            sort_seconds: (self.sorted_at - self.begun_at).as_secs_f64(),
            spill_seconds: self.sorted_at.elapsed().as_secs_f64(),
        }
    }

    /// Adds the times to the report of a bin whose writes were started just now.
    pub(crate) fn bin_report(&self, waited: Duration, bin: BinReport) -> BinReport {
        BinReport {
            read_seconds: self.read_time.as_secs_f64(),
            queue_seconds: self.queue_time.as_secs_f64(),
            sort_seconds: (self.sorted_at - self.begun_at).as_secs_f64(),
            write_seconds: self.sorted_at.elapsed().as_secs_f64(),
            write_wait_seconds: waited.as_secs_f64(),
            ..bin
        }
    }
}

/// What a sort did.
#[derive(Debug, Serialize)]
pub struct SortReport {
    /// Records sorted; counted on the way in and on the way out.
    pub records: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Sum of the CRC-32 of all records, in hexadecimal; the same on the way in and on the way out.
    pub checksum: String,
    /// From start to end on the wall clock, without preparations.
    pub seconds: f64,
    /// Input bytes per second, over all.
    pub bytes_per_second: f64,
    /// Threads that worked.
    pub threads: usize,
    /// Bytes of memory that the plan takes.
    pub memory_bytes: u64,
    /// Seconds of opening, reading a stream, planning and checking, and of measuring the drive if
    /// that was asked for.
    pub prepare_seconds: f64,
    /// How the input that came from a stream was kept, if there was one. The bytes written for it
    /// are not in `moved`.
    pub spool: Option<SpoolReport>,
    /// The phases, in their order.
    pub phases: Vec<Phase>,
    /// Seconds in which each stage worked or waited, summed over its threads.
    #[serde(rename = "stage_seconds")]
    pub stages: Arc<StageTimes>,
    /// Processor seconds in user mode.
    pub cpu_user_seconds: f64,
    /// Processor seconds in the kernel.
    pub cpu_system_seconds: f64,
    /// Processor nanoseconds for each record, user and kernel together.
    pub cpu_nanoseconds_per_record: f64,
    /// Largest resident set of the process, in bytes.
    pub peak_memory_bytes: u64,
    /// Bytes that were moved, and how busy that kept the drives.
    pub moved: Moved,
    /// Bytes of records that runs brought to scratch; 0 of bins.
    pub spilled_bytes: u64,
    /// Bytes that were written to scratch for them: whole pages, after compression.
    pub scratch_bytes: u64,
    /// Which of them were compressed.
    #[serde(flatten)]
    pub compressed: Compressed,
    /// Bytes on scratch by directory.
    #[serde(serialize_with = "directories_with_bytes")]
    pub scratch: Vec<(PathBuf, u64)>,
    /// How transfers were made.
    pub io: String,
    /// The drive's own speed, if it was measured.
    pub drive: Option<DriveRates>,
    /// The least seconds in which the drive could have moved these bytes, if it was measured.
    pub floor_seconds: Option<f64>,
    /// `floor_seconds` over `seconds`: the share of the drive's own speed that was reached.
    pub share_of_drive: Option<f64>,
    /// The plan.
    pub plan: Plan,
    /// What was done with each chunk of the input.
    pub chunks: Vec<ChunkReport>,
    /// What was done with each bin, if the method was to scatter.
    pub bins: Vec<BinReport>,
}

/// Directories and their bytes, for JSON: what is not UTF-8 is replaced.
pub(crate) fn directories_with_bytes<S: Serializer>(
    directories: &[(PathBuf, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct DirectoryBytes {
        directory: String,
        bytes: u64,
    }
    let object = |(path, bytes): &(PathBuf, u64)| DirectoryBytes {
        directory: path.to_string_lossy().into_owned(),
        bytes: *bytes,
    };
    serializer.collect_seq(directories.iter().map(object))
}

/// The least time in seconds in which drives of these rates can read and write so many bytes: one
/// after the other or at the same time, whichever is faster.
///
/// One after the other takes read/R + written/W; at the same time (read + written)/(R' + W'), by
/// the rates of the mixed load.
pub fn floor_seconds(rates: &DriveRates, read_bytes: u64, written_bytes: u64) -> f64 {
    let (read, written) = (read_bytes as f64, written_bytes as f64);
    let in_turn = read / rates.read_bytes_per_second + written / rates.write_bytes_per_second;
    let mixed = rates.mixed_read_bytes_per_second + rates.mixed_write_bytes_per_second;
    in_turn.min((read + written) / mixed)
}

impl SortReport {
    /// The report of a sort of which nothing was measured: all figures but the records are zero.
    pub(crate) fn unmeasured(plan: Plan, checksum: Checksum, disk: &dyn Disk) -> SortReport {
        SortReport {
            records: plan.records,
            bytes: plan.bytes,
            checksum: checksum.to_string(),
            seconds: 0.0,
            bytes_per_second: 0.0,
            threads: plan.threads,
            memory_bytes: plan.memory_bytes(),
            prepare_seconds: 0.0,
            spool: None,
            phases: Vec::new(),
            stages: Arc::default(),
            cpu_user_seconds: 0.0,
            cpu_system_seconds: 0.0,
            cpu_nanoseconds_per_record: 0.0,
            peak_memory_bytes: peak_memory_bytes(),
            moved: Moved::default(),
            spilled_bytes: 0,
            scratch_bytes: 0,
            compressed: Compressed::default(),
            scratch: Vec::new(),
            io: disk.describe(),
            drive: None,
            floor_seconds: None,
            share_of_drive: None,
            plan,
            chunks: Vec::new(),
            bins: Vec::new(),
        }
    }
}

/// Measures a sort's time on the wall clock and of the processor.
pub(crate) struct SortClock {
    begun_at: Instant,
    cpu_before: (f64, f64),
}

impl SortClock {
    pub(crate) fn start() -> SortClock {
        SortClock { begun_at: Instant::now(), cpu_before: cpu_seconds() }
    }

    /// Adds the times to a report, and what they mean on a drive of these rates.
    pub(crate) fn stop(&self, drive: Option<DriveRates>, report: SortReport) -> SortReport {
        let seconds = self.begun_at.elapsed().as_secs_f64();
        let (user, system) = cpu_seconds();
        let (user, system) = (user - self.cpu_before.0, system - self.cpu_before.1);
        let Moved { read_bytes, written_bytes, .. } = report.moved;
        let floor = drive.map(|rates| floor_seconds(&rates, read_bytes, written_bytes));
        SortReport {
            seconds,
            bytes_per_second: report.bytes as f64 / seconds.max(1e-9),
            cpu_user_seconds: user,
            cpu_system_seconds: system,
            cpu_nanoseconds_per_record: (user + system) * 1e9 / (report.records.max(1) as f64),
            drive,
            floor_seconds: floor,
            share_of_drive: floor.map(|floor| floor / seconds),
            ..report
        }
    }
}
