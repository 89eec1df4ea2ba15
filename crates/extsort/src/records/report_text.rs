//! The report of a sort as text.

use super::phases::Phase;
use super::plan::Shape;
use super::report::{BinReport, ChunkReport, SortReport};
use super::spool::SpoolReport;
use crate::job::gauges::Spilled;
use crate::job::stage_times::StageTimer;
use crate::job::units::{Bytes, Count, Decimal, Rate};
use std::fmt::{self, Display, Formatter};
use xsort_disk::DisplayPath;

/// Three lines: the work, the speed and the check. The alternate form (`{:#}`) adds the figures of
/// each phase and stage.
impl Display for SortReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write_summary(f)?;
        if f.alternate() {
            writeln!(f)?;
            self.write_phases(f)?;
            self.write_stages(f)?;
            self.write_method(f)?;
            self.write_machine(f)?;
            self.write_drive(f)?;
        }
        Ok(())
    }
}

/// Prints a line for each chunk and each bin of a sort.
struct SortTables<'r>(&'r SortReport);

impl Display for SortTables<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.write_chunks(f)?;
        self.0.write_bins(f)
    }
}

impl SortReport {
    /// Tables of the chunks and bins, as text.
    #[must_use]
    pub fn tables(&self) -> impl Display + '_ {
        SortTables(self)
    }

    fn write_summary(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (records, bytes) = (Count(self.records, "record"), Decimal(self.bytes as f64));
        // The record size is unknown if the format is assumed and there are no records.
        let size = self.bytes.checked_div(self.records);
        let size = size.map(|bytes| format!(" of {}", Count(bytes, "byte"))).unwrap_or_default();
        writeln!(f, "sorted   {records}{size}, {bytes}, in {:.2} s", self.seconds)?;
        write!(f, "speed    {}", Rate(self.bytes_per_second))?;
        if let (Some(share), Some(floor)) = (self.share_of_drive, self.floor_seconds) {
            let percent = 100.0 * share;
            write!(f, ", {percent:.0}% of what the drive can do (it needs {floor:.2} s)")?;
        }
        if self.plan.compression_bytes > 0 {
            let SortReport { spilled_bytes: bytes, scratch_bytes, compressed, .. } = *self;
            write!(f, "\nspilled  {}", Spilled { bytes, scratch_bytes, compressed })?;
        }
        write!(f, "\nchecked  {records} and checksum {}: written as read", self.checksum)
    }

    /// Writes the bytes that each phase moved.
    fn write_phases(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(SpoolReport { bytes, directory, seconds }) = &self.spool {
            let place = match directory {
                Some(directory) => {
                    format!("written to scratch first, in {}", DisplayPath(directory))
                }
                None => "kept in memory".into(),
            };
            let bytes = Decimal(*bytes as f64);
            writeln!(f, "stream        {bytes} in {seconds:.2} s before that, {place}")?;
        }
        writeln!(f, "phases")?;
        for Phase { name, seconds, read_bytes, written_bytes } in &self.phases {
            let rate = Rate((read_bytes + written_bytes) as f64 / seconds.max(1e-9));
            let (read, written) = (Decimal(*read_bytes as f64), Decimal(*written_bytes as f64));
            writeln!(
                f,
                "  {name:<11} {seconds:>7.2} s  {read:>10} read, {written:>10} written at {rate}"
            )?;
        }
        Ok(())
    }

    /// Writes how long each stage worked and waited.
    fn write_stages(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let stages = &self.stages;
        let seconds = |timer: &StageTimer| format!("{:.2}", timer.seconds());
        let threads = Count(self.plan.threads as u64, "thread");
        writeln!(f, "stages        (seconds over {threads})")?;
        let wait = seconds(&stages.read_waits_for_areas);
        writeln!(f, "  read        waited {wait} for free areas")?;
        let (sort, hash) = (seconds(&stages.sort_busy), seconds(&stages.checksum_busy));
        let wait = seconds(&stages.work_waits_for_read);
        writeln!(f, "  sort        busy {sort} (and hashing {hash}), waited {wait} for read")?;
        let is_merge = !matches!(self.plan.shape, Shape::Scatter(_));
        if !is_merge {
            let (busy, load) = (seconds(&stages.scatter_busy), seconds(&stages.load_busy));
            writeln!(f, "  scatter     busy {busy}, and checking what came back {load}")?;
        }
        let (busy, wait) = (seconds(&stages.spill_busy), seconds(&stages.spill_waits_for_write));
        write!(f, "  spill       busy {busy}")?;
        if self.plan.compression_bytes > 0 {
            write!(f, " (and compressing {})", seconds(&stages.compress_busy))?;
        }
        writeln!(f, ", waited {wait} for scratch writes")?;
        if is_merge {
            writeln!(f, "  cuts        busy {}", seconds(&stages.cut_busy))?;
        }
        write!(f, "  output      busy {}, waited ", seconds(&stages.output_busy))?;
        if is_merge {
            write!(f, "{} for reads and ", seconds(&stages.merge_waits_for_read))?;
        }
        writeln!(f, "{} for output writes", seconds(&stages.output_waits_for_write))?;
        write!(f, "  coordinator busy {}", seconds(&stages.coordinator_busy))?;
        if is_merge {
            write!(f, ", {} of it with the forecast", seconds(&stages.forecast_busy))?;
        }
        writeln!(f)
    }

    /// Writes the numbers of runs or bins.
    fn write_method(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let chunks = self.plan.chunks;
        let (spilled, resident) = (self.plan.spilled_chunks, self.plan.resident_chunks());
        let where_from = format!("{spilled} spilled, {resident} kept in memory");
        match &self.plan.shape {
            Shape::Merge(shape) => {
                let plural = if shape.merge_passes == 1 { "" } else { "es" };
                let passes = format!("{} merge pass{plural}", shape.merge_passes);
                writeln!(f, "runs          {chunks} formed, {where_from}; {passes}")
            }
            Shape::MergeInputs(shape) => {
                writeln!(f, "runs          {} inputs, merged where they are", shape.fan_in_max)
            }
            Shape::Scatter(_) => {
                let bins: usize = self.bins.iter().map(|bin| bin.bins).sum();
                writeln!(f, "bins          {bins} of {chunks} chunks, {where_from}")
            }
        }
    }

    /// Writes the use of memory and processor.
    fn write_machine(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (peak, budget) = (Bytes(self.peak_memory_bytes), Bytes(self.plan.budget_bytes));
        writeln!(f, "memory        peak {peak}, budget {budget}")?;
        self.plan.fmt_shares(f)?;
        writeln!(
            f,
            "processor     {:.2} s user, {:.2} s system, {:.0} ns a record",
            self.cpu_user_seconds, self.cpu_system_seconds, self.cpu_nanoseconds_per_record
        )
    }

    /// Writes the use of the drives.
    fn write_drive(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let moved = &self.moved;
        let (read, written) =
            (Decimal(moved.read_bytes as f64), Decimal(moved.written_bytes as f64));
        writeln!(f, "moved         {read} read, {written} written ({})", self.io)?;
        let busy = 100.0 * moved.busy_seconds / self.seconds.max(1e-9);
        let bytes = (moved.read_bytes + moved.written_bytes) as f64;
        let rate = Rate(bytes / moved.busy_seconds.max(1e-9));
        write!(f, "drive         busy {busy:.0}% of the time, {rate} while busy")?;
        if let Some(rates) = &self.drive {
            write!(f, "\nmeasured      {rates}")?;
        }
        Ok(())
    }

    /// Writes a line for each chunk, in seconds.
    fn write_chunks(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\n  chunk    records     read    queue     sort    spill")?;
        for report in &self.chunks {
            let ChunkReport { chunk, records, read_seconds: read, .. } = report;
            let ChunkReport { queue_seconds: queue, sort_seconds: sort, .. } = report;
            let spill = report.spill_seconds;
            let stays = if report.is_resident { "  stays in memory" } else { "" };
            write!(
                f,
                "\n{chunk:>7} {records:>10} {read:>8.3} {queue:>8.3} {sort:>8.3} \
                 {spill:>8.3}{stays}"
            )?;
        }
        Ok(())
    }

    /// Writes a line for each bin, if there are any, in seconds.
    fn write_bins(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.bins.is_empty() {
            return Ok(());
        }
        write!(f, "\n\n    bin    records     read    queue     sort    write     (waited)")?;
        for report in &self.bins {
            let BinReport { bin, records, read_seconds: read, .. } = report;
            let BinReport { queue_seconds: queue, sort_seconds: sort, .. } = report;
            let BinReport { write_seconds: write, write_wait_seconds: wait, .. } = report;
            let note = match report {
                BinReport { is_one_key: true, .. } => "  one key".to_owned(),
                BinReport { bins: 2.., .. } => format!("  {} bins", report.bins),
                _ => String::new(),
            };
            write!(
                f,
                "\n{bin:>7} {records:>10} {read:>8.3} {queue:>8.3} {sort:>8.3} {write:>8.3} \
                 {wait:>12.3}{note}"
            )?;
        }
        Ok(())
    }
}
