//! The report of a sort, as figures.

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

/// The report of one chunk of the input.
#[derive(Clone, Debug, Serialize)]
pub struct ChunkReport {
    /// Number of the chunk, in the order of the input.
    pub chunk: usize,
    /// Number of records.
    pub records: u64,
    /// True if the chunk stayed in memory.
    pub is_resident: bool,
    /// Number of writes to scratch.
    pub writes: usize,
    /// Seconds from the start of the first read to the end of the last.
    pub read_seconds: f64,
    /// Seconds from then until a worker began.
    pub queue_seconds: f64,
    /// Seconds of hashing and sorting, or of finding bins.
    pub sort_seconds: f64,
    /// Seconds of gathering, including waits for free blocks.
    pub spill_seconds: f64,
}

/// The report of one bin, or of several small ones sorted together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BinReport {
    /// Number of the first bin, in the order of the keys.
    pub bin: usize,
    /// Number of bins.
    pub bins: usize,
    /// Number of records.
    pub records: u64,
    /// True if all records have the same key and needed no sort. A large bin of one key has several
    /// reports.
    pub is_one_key: bool,
    /// Seconds from the start of the first read to the end of the last.
    pub read_seconds: f64,
    /// Seconds from then until a worker began.
    pub queue_seconds: f64,
    /// Seconds of checking, moving records together and sorting.
    pub sort_seconds: f64,
    /// Seconds of gathering records into output blocks, including waits.
    pub write_seconds: f64,
    /// The part of `write_seconds` spent waiting for free blocks.
    pub write_wait_seconds: f64,
}

/// The times at which the stages of a chunk, or of a load of bins, began.
pub(crate) struct UnitTimes {
    read_time: Duration,
    queue_time: Duration,
    begun_at: Instant,
    sorted_at: Instant,
}

impl UnitTimes {
    /// The times of a unit that took `read_time` to read and was in memory at `arrived_at`. Called
    /// when a worker begins with it.
    pub(crate) fn begin(read_time: Duration, arrived_at: Instant) -> UnitTimes {
        let begun_at = Instant::now();
        let queue_time = begun_at - arrived_at;
        UnitTimes { read_time, queue_time, begun_at, sorted_at: begun_at }
    }

    /// Called when the unit is sorted or scattered.
    pub(crate) fn sorted(&mut self) {
        self.sorted_at = Instant::now();
    }

    /// The report of a chunk. Called when its writes have been started.
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

    /// Adds the times to a bin's report. Called when its writes have been started.
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

/// The report of a sort.
#[derive(Debug, Serialize)]
pub struct SortReport {
    /// Number of records, counted when read and when written.
    pub records: u64,
    /// Size of all records in bytes.
    pub bytes: u64,
    /// Sum of the CRC-32s of all records, in hexadecimal; equal for input and output.
    pub checksum: String,
    /// Wall-clock seconds from start to end, without preparation.
    pub seconds: f64,
    /// Input bytes per second, over the whole sort.
    pub bytes_per_second: f64,
    /// Number of threads that worked.
    pub threads: usize,
    /// Bytes of memory that the plan uses.
    pub memory_bytes: u64,
    /// Seconds of opening, reading a stream, planning and checking, and of measuring the drive if
    /// requested.
    pub prepare_seconds: f64,
    /// How the input from a stream was stored, if there was one. Its written bytes are not in
    /// `moved`.
    pub spool: Option<SpoolReport>,
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// Seconds in which each stage worked or waited, summed over its threads.
    #[serde(rename = "stage_seconds")]
    pub stages: Arc<StageTimes>,
    /// Processor seconds in user mode.
    pub cpu_user_seconds: f64,
    /// Processor seconds in the kernel.
    pub cpu_system_seconds: f64,
    /// Processor nanoseconds for each record, in user mode and kernel together.
    pub cpu_nanoseconds_per_record: f64,
    /// Peak resident memory of the process in bytes.
    pub peak_memory_bytes: u64,
    /// Bytes moved, and how busy that kept the drives.
    pub moved: Moved,
    /// Bytes of records that runs spilled; 0 for bins.
    pub spilled_bytes: u64,
    /// Bytes written to scratch for them: whole pages, after compression.
    pub scratch_bytes: u64,
    /// How much of `spilled_bytes` each codec compressed.
    #[serde(flatten)]
    pub compressed: Compressed,
    /// Bytes on scratch in each directory.
    #[serde(serialize_with = "directories_with_bytes")]
    pub scratch: Vec<(PathBuf, u64)>,
    /// The kind of I/O used for transfers.
    pub io: String,
    /// The drive's measured speed, if it was measured.
    pub drive: Option<DriveRates>,
    /// Minimum seconds that the drive needs for these bytes, if it was measured.
    pub floor_seconds: Option<f64>,
    /// `floor_seconds` / `seconds`: the share of the drive's speed that was reached.
    pub share_of_drive: Option<f64>,
    /// The plan.
    pub plan: Plan,
    /// The report of each chunk of the input.
    pub chunks: Vec<ChunkReport>,
    /// The report of each bin, if the method was to scatter.
    pub bins: Vec<BinReport>,
}

/// Serializes directories and their bytes for JSON. Paths that aren't UTF-8 get replacement
/// characters.
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

/// The minimum time in seconds in which drives with these rates can read and write these bytes: one
/// after the other or both at once, whichever is faster.
///
/// One after the other takes read/R + written/W. Both at once takes (read + written)/(R' + W'),
/// with the rates of the mixed load.
pub fn floor_seconds(rates: &DriveRates, read_bytes: u64, written_bytes: u64) -> f64 {
    let (read, written) = (read_bytes as f64, written_bytes as f64);
    let in_turn = read / rates.read_bytes_per_second + written / rates.write_bytes_per_second;
    let mixed = rates.mixed_read_bytes_per_second + rates.mixed_write_bytes_per_second;
    in_turn.min((read + written) / mixed)
}

impl SortReport {
    /// A report without measurements: all figures except the records and bytes are zero.
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

/// Measures a sort's wall-clock and processor time.
pub(crate) struct SortClock {
    begun_at: Instant,
    cpu_before: (f64, f64),
}

impl SortClock {
    pub(crate) fn start() -> SortClock {
        SortClock { begun_at: Instant::now(), cpu_before: cpu_seconds() }
    }

    /// Adds the times to a report, and compares them with a drive of these rates.
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
