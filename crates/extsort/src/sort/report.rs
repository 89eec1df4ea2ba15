//! What a sort did, for people and for machines.

use super::form::RunReport;
use super::ledger::Waits;
use super::plan::Plan;
use super::traffic::Moved;
use crate::DriveRates;
use crate::units::{Bytes, Rate};
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;

/// Seconds of each phase on the wall clock.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PhaseSeconds {
    /// Opening, planning, checking, and measuring the drive if that was asked for.
    pub prepare: f64,
    /// Reading the input, and writing runs.
    pub form: f64,
    /// Merges on the way, if there were any.
    pub reduce: f64,
    /// The last merge.
    pub merge: f64,
    /// Making the output durable and putting it in place.
    pub publish: f64,
}

/// What a sort did.
#[derive(Clone, Debug, Serialize)]
pub struct SortReport {
    /// Records sorted; counted on the way in and on the way out.
    pub records: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Sum of the CRC-32 of all records, in hexadecimal; the same on the way in and on the way out.
    pub checksum: String,
    /// From start to end on the wall clock, without the measuring of the drive.
    pub seconds: f64,
    /// Input bytes per second, over all.
    pub bytes_per_second: f64,
    /// By phase.
    pub phases: PhaseSeconds,
    /// Seconds in which each stage worked or waited, summed over its threads.
    pub stages: Waits,
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
    /// How each run was made.
    pub runs: Vec<RunReport>,
}

/// Paths as text, for JSON: what is not UTF-8 is replaced.
pub(crate) fn lossy_paths<S: Serializer>(paths: &[(PathBuf, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|(path, bytes)| (path.to_string_lossy(), bytes)))
}

/// The least time in seconds in which drives of these rates read and write so many bytes: in turn or at once, whichever is faster.
///
/// In turn it is read/R + written/W; at once (read + written)/(R' + W') by the rates of the mixed load.
pub fn floor_seconds(rates: &DriveRates, read_bytes: u64, written_bytes: u64) -> f64 {
    let (read, written) = (read_bytes as f64, written_bytes as f64);
    let in_turn = read / rates.read_bytes_per_second + written / rates.write_bytes_per_second;
    let mixed = rates.mixed_read_bytes_per_second + rates.mixed_write_bytes_per_second;
    in_turn.min((read + written) / mixed)
}

impl fmt::Display for SortReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (phases, stages) = (&self.phases, &self.stages);
        writeln!(f, "records       {} ({})", self.records, Bytes(self.bytes))?;
        writeln!(f, "checksum      {}", self.checksum)?;
        writeln!(f, "time          {:.2} s, {}", self.seconds, Rate(self.bytes_per_second))?;
        let phase = |f: &mut fmt::Formatter<'_>, name: &str, seconds: f64, bytes: u64| {
            let rate = Rate(bytes as f64 / seconds.max(1e-9));
            writeln!(f, "  {name:<11} {seconds:>7.2} s  {:>10} moved at {rate}", Bytes(bytes).to_string())
        };
        let spilled: u64 = self.plan.spilled_chunk_bytes();
        phase(f, "form runs", phases.form, self.bytes + spilled)?;
        if phases.reduce > 0.0 {
            writeln!(f, "  reduce      {:>7.2} s", phases.reduce)?;
        }
        phase(f, "merge", phases.merge, self.bytes + spilled)?;
        writeln!(f, "  publish     {:>7.2} s", phases.publish)?;
        writeln!(f, "stages        (seconds over {} threads)", self.plan.threads)?;
        writeln!(f, "  read        waited {:.2} for sort and spill", stages.read_waits_for_areas)?;
        writeln!(
            f,
            "  sort        busy {:.2} (and hashing {:.2}), waited {:.2} for read",
            stages.sort_busy, stages.checksum_busy, stages.sort_waits_for_read
        )?;
        writeln!(
            f,
            "  gather      busy {:.2}, waited {:.2} for scratch writes",
            stages.gather_busy, stages.gather_waits_for_write
        )?;
        writeln!(
            f,
            "  merge       busy {:.2}, waited {:.2} for reads, {:.2} for output writes",
            stages.merge_busy, stages.merge_waits_for_read, stages.merge_waits_for_write
        )?;
        writeln!(
            f,
            "runs          {} formed, {} spilled, {} kept in memory; {} merge pass{}",
            self.plan.runs,
            self.plan.spilled_runs,
            self.plan.resident_runs(),
            self.plan.merge_passes,
            if self.plan.merge_passes == 1 { "" } else { "es" }
        )?;
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
                (self.moved.read_bytes + self.moved.written_bytes) as f64 / self.moved.busy_seconds.max(1e-9)
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
        Ok(())
    }
}
