//! What a sort did, for people and for machines.

use super::phases::Phase;
use super::plan::{Plan, Shape};
use super::spool::SpoolReport;
use crate::DriveRates;
use crate::job::stage_times::{StageTimer, StageTimes};
use crate::job::traffic::Moved;
use crate::job::units::{Bytes, Rate};
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use xsort_disk::DisplayPath;

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
    /// Seconds until a thread took it up.
    pub queue_seconds: f64,
    /// Seconds of hashing and of sorting, or of finding bins.
    pub sort_seconds: f64,
    /// Seconds of gathering, with the waits for free blocks.
    pub spill_seconds: f64,
}

/// What was done with one bin, or with several small ones in one go.
#[derive(Clone, Debug, Serialize)]
pub struct BinReport {
    /// Number of the first bin, in the order of the keys.
    pub bin: usize,
    /// How many bins.
    pub bins: usize,
    /// Records in them.
    pub records: u64,
    /// Whether all have the same key, so that they needed no sort; a large bin of one key comes in
    /// several parts.
    pub is_one_key: bool,
    /// Seconds from the first read's start to the last one's end.
    pub read_seconds: f64,
    /// Seconds until a thread took it up.
    pub queue_seconds: f64,
    /// Seconds of checking, moving together and sorting.
    pub sort_seconds: f64,
    /// Seconds of gathering the records into blocks of the output, with the waits.
    pub write_seconds: f64,
    /// Seconds of these in which it waited for free blocks.
    pub write_wait_seconds: f64,
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
    /// Seconds of opening, reading a stream, planning and checking, and of measuring the drive if
    /// that was asked for.
    pub prepare_seconds: f64,
    /// How the input that came from a stream was kept, if there was one; what was written for it is
    /// no part of `moved`.
    pub spool: Option<SpoolReport>,
    /// One phase after the other.
    pub phases: Vec<Phase>,
    /// Seconds in which each stage worked or waited, summed over its threads.
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
    /// Bytes on scratch by directory.
    #[serde(serialize_with = "lossy_paths")]
    pub scratch: Vec<(PathBuf, u64)>,
    /// How bytes travelled.
    pub io: String,
    /// The drive's own speed, if it was measured.
    pub drive: Option<DriveRates>,
    /// The least seconds in which the drive could have moved these bytes, if it was measured.
    pub floor_seconds: Option<f64>,
    /// `floor_seconds` over `seconds`: the share of the drive's own speed that was reached.
    pub share_of_drive: Option<f64>,
    /// What was planned.
    pub plan: Plan,
    /// What was done with each chunk of the input.
    pub chunks: Vec<ChunkReport>,
    /// What was done with each bin, if the method was to scatter.
    pub bins: Vec<BinReport>,
}

/// Paths as text, for JSON: what is not UTF-8 is replaced.
pub(crate) fn lossy_paths<S: Serializer>(
    paths: &[(PathBuf, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|(path, bytes)| (path.to_string_lossy(), bytes)))
}

/// The least time in seconds in which drives of these rates read and write so many bytes: in turn
/// or at once, whichever is faster.
///
/// In turn it is read/R + written/W; at once (read + written)/(R' + W') by the rates of the mixed
/// load.
pub fn floor_seconds(rates: &DriveRates, read_bytes: u64, written_bytes: u64) -> f64 {
    let (read, written) = (read_bytes as f64, written_bytes as f64);
    let in_turn = read / rates.read_bytes_per_second + written / rates.write_bytes_per_second;
    let mixed = rates.mixed_read_bytes_per_second + rates.mixed_write_bytes_per_second;
    in_turn.min((read + written) / mixed)
}

impl fmt::Display for SortReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages = &self.stages;
        writeln!(f, "records       {} ({})", self.records, Bytes(self.bytes))?;
        writeln!(f, "checksum      {}", self.checksum)?;
        if let Some(SpoolReport { bytes, directory, seconds }) = &self.spool {
            let place = match directory {
                Some(directory) => {
                    format!("written to scratch first, in {}", DisplayPath(directory))
                }
                None => "kept in memory".into(),
            };
            writeln!(f, "stream        {} in {seconds:.2} s before that, {place}", Bytes(*bytes))?;
        }
        writeln!(f, "time          {:.2} s, {}", self.seconds, Rate(self.bytes_per_second))?;
        for Phase { name, seconds, read_bytes, written_bytes } in &self.phases {
            let rate = Rate((read_bytes + written_bytes) as f64 / seconds.max(1e-9));
            let (read, written) =
                (Bytes(*read_bytes).to_string(), Bytes(*written_bytes).to_string());
            writeln!(
                f,
                "  {name:<11} {seconds:>7.2} s  {read:>10} read, {written:>10} written at {rate}"
            )?;
        }
        writeln!(f, "stages        (seconds over {} threads)", self.plan.threads)?;
        let seconds = StageTimer::seconds;
        let hashing = seconds(&stages.checksum_busy);
        writeln!(
            f,
            "  read        waited {:.2} for free areas",
            seconds(&stages.read_waits_for_areas)
        )?;
        write!(
            f,
            "  sort        busy {:.2} (and hashing {hashing:.2}), ",
            seconds(&stages.sort_busy)
        )?;
        writeln!(f, "waited {:.2} for read", seconds(&stages.work_waits_for_read))?;
        if let Shape::Scatter(_) = self.plan.shape {
            write!(f, "  scatter     busy {:.2}, ", seconds(&stages.scatter_busy))?;
            writeln!(f, "and checking what came back {:.2}", seconds(&stages.load_busy))?;
        }
        write!(f, "  spill       busy {:.2}, ", seconds(&stages.spill_busy))?;
        writeln!(f, "waited {:.2} for scratch writes", seconds(&stages.spill_waits_for_write))?;
        if let Shape::Merge(_) = self.plan.shape {
            writeln!(f, "  cuts        busy {:.2}", seconds(&stages.cut_busy))?;
        }
        write!(f, "  output      busy {:.2}, ", seconds(&stages.output_busy))?;
        if let Shape::Merge(_) = self.plan.shape {
            write!(f, "waited {:.2} for reads and ", seconds(&stages.merge_waits_for_read))?;
        } else {
            write!(f, "waited ")?;
        }
        writeln!(f, "{:.2} for output writes", seconds(&stages.output_waits_for_write))?;
        write!(f, "  coordinator busy {:.2}", seconds(&stages.coordinator_busy))?;
        if let Shape::Merge(_) = self.plan.shape {
            write!(f, ", {:.2} of it with the forecast", seconds(&stages.forecast_busy))?;
        }
        writeln!(f)?;
        let counts = [
            (self.plan.spilled_chunks, "spilled"),
            (self.plan.resident_chunks(), "kept in memory"),
        ];
        let [spilled, kept] = counts.map(|(count, what)| format!("{count} {what}"));
        match &self.plan.shape {
            Shape::Merge(shape) => {
                let many = if shape.merge_passes == 1 { "" } else { "es" };
                let passes = format!("{} merge pass{many}", shape.merge_passes);
                writeln!(
                    f,
                    "runs          {} formed, {spilled}, {kept}; {passes}",
                    self.plan.chunks
                )?;
            }
            Shape::Scatter(_) => {
                let bins: usize = self.bins.iter().map(|bin| bin.bins).sum();
                writeln!(
                    f,
                    "bins          {bins} of {} chunks, {spilled}, {kept}",
                    self.plan.chunks
                )?;
            }
        }
        writeln!(
            f,
            "memory        peak {}, budget {}",
            Bytes(self.peak_memory_bytes),
            Bytes(self.plan.budget_bytes)
        )?;
        writeln!(
            f,
            "processor     {:.2} s user, {:.2} s system, {:.0} ns a record",
            self.cpu_user_seconds, self.cpu_system_seconds, self.cpu_nanoseconds_per_record
        )?;
        write!(
            f,
            "moved         {} read, {} written ({})\n\
             drive         busy {:.0}% of the time, {} while busy",
            Bytes(self.moved.read_bytes),
            Bytes(self.moved.written_bytes),
            self.io,
            100.0 * self.moved.busy_seconds / self.seconds.max(1e-9),
            Rate(
                (self.moved.read_bytes + self.moved.written_bytes) as f64
                    / self.moved.busy_seconds.max(1e-9)
            )
        )?;
        if let (Some(rates), Some(floor), Some(share)) =
            (&self.drive, self.floor_seconds, self.share_of_drive)
        {
            write!(
                f,
                "\nmeasured      reads {}, writes {}, both at once {} + {}\n\
                 share         {:.0}% of the drive's own speed (which would take {floor:.2} s)",
                Rate(rates.read_bytes_per_second),
                Rate(rates.write_bytes_per_second),
                Rate(rates.mixed_read_bytes_per_second),
                Rate(rates.mixed_write_bytes_per_second),
                share * 100.0
            )?;
        }
        if f.alternate() {
            self.write_details(f)?;
        }
        Ok(())
    }
}

impl SortReport {
    /// A line for each chunk and each bin: who took how long, in seconds.
    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n\n  chunk    records     read    queue     sort    spill")?;
        for chunk in &self.chunks {
            let ChunkReport {
                chunk: number,
                records,
                read_seconds: read,
                queue_seconds: queue,
                ..
            } = chunk;
            let ChunkReport { sort_seconds: sort, spill_seconds: spill, .. } = chunk;
            let stays = if chunk.is_resident { "  stays in memory" } else { "" };
            write!(
                f,
                "\n{number:>7} {records:>10} {read:>8.3} {queue:>8.3} {sort:>8.3} {spill:>8.3}{stays}"
            )?;
        }
        if self.bins.is_empty() {
            return Ok(());
        }
        write!(f, "\n\n    bin    records     read    queue     sort    write     (waited)")?;
        for bin in &self.bins {
            let BinReport {
                bin: number, records, read_seconds: read, queue_seconds: queue, ..
            } = bin;
            let BinReport {
                sort_seconds: sort,
                write_seconds: write,
                write_wait_seconds: wait,
                ..
            } = bin;
            let several = if bin.bins > 1 { format!("  {} bins", bin.bins) } else { String::new() };
            let note = if bin.is_one_key { "  one key" } else { &several };
            write!(
                f,
                "\n{number:>7} {records:>10} {read:>8.3} {queue:>8.3} {sort:>8.3} {write:>8.3} {wait:>12.3}{note}"
            )?;
        }
        Ok(())
    }
}
