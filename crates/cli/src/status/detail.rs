//! Everything about one job, as text.

use super::job_state::{preposition, trouble};
use super::words::{command_line, folded, how_far, leftovers_text, phase_name, rate, span};
use crate::decimal::Decimal;
use std::fmt::Write;
use xsort_extsort::Compressed;
use xsort_extsort::units::Bytes;
use xsort_status::{DriveState, FoundJob, Leftovers, Life, Snapshot, Spilled, Stage};

/// Columns of the name of a line.
const NAME_COLUMNS: usize = 11;

/// Names and values of the lines about a job.
type Lines = Vec<(&'static str, String)>;

/// Everything about the job, in lines of at most `width` columns.
pub(super) fn detail(job: &FoundJob, leftovers: &Leftovers, width: usize) -> String {
    let Some(snapshot) = job.snapshot() else {
        let text = format!("{}, {}: {}", job.name(), job.state(), trouble(job));
        return in_lines(vec![("job", text)], width);
    };
    let mut lines = identity_lines(job, snapshot);
    lines.extend(progress_lines(snapshot));
    lines.extend(limit_lines(snapshot));
    lines.extend(snapshot.stages.iter().map(|stage| ("stage", stage_line(stage))));
    lines.extend(snapshot.drives.iter().map(|drive| ("drive", drive_line(drive))));
    lines.extend(snapshot.notices.iter().map(|notice| ("notice", notice.clone())));
    if job.life() == Life::Dead {
        let left = leftovers_text(leftovers) + "; xsort status --clear removes them";
        lines.push(("left", left));
    }
    in_lines(lines, width)
}

/// Formats lines with their names at the left, each name once.
fn in_lines(lines: Lines, width: usize) -> String {
    let mut text = String::new();
    let mut last = "";
    for (name, line) in lines {
        for line in folded(&line, width.saturating_sub(NAME_COLUMNS + 1)) {
            let _ =
                writeln!(text, "{:<NAME_COLUMNS$} {line}", if name == last { "" } else { name });
            last = name;
        }
    }
    text
}

fn identity_lines(job: &FoundJob, snapshot: &Snapshot) -> Lines {
    let time = format!("{} {}", preposition(job), span(snapshot.seconds));
    let mut lines = vec![
        ("job", format!("{}, {} {time}", job.name(), job.state())),
        ("command", command_line(snapshot)),
        ("directory", snapshot.job.directory.clone()),
        ("user", format!("{}, xsort {}", snapshot.job.user, snapshot.job.version)),
    ];
    if job.life() != Life::Running || job.state() == "stopped" {
        lines.push(("last seen", format!("{} ago", span(snapshot.silence_seconds()))));
    }
    lines
}

fn progress_lines(snapshot: &Snapshot) -> Lines {
    let mut lines = vec![("phase", phase(snapshot)), ("whole", whole(snapshot))];
    if let Some(records) = snapshot.records_done() {
        lines.push(("records", format!("{records} of this phase")));
    }
    lines.extend(moved(snapshot).map(|moved| ("moved", moved)));
    lines.extend(pieces(snapshot).map(|pieces| ("pieces", pieces)));
    lines.extend(spilled(snapshot).map(|spilled| ("spilled", spilled)));
    lines.push(("memory", memory(snapshot)));
    lines
}

fn limit_lines(snapshot: &Snapshot) -> Lines {
    let mut lines = Vec::new();
    if let Some(limit) = snapshot.limit_celsius {
        let state = if snapshot.is_paused {
            "transfers pause until the drives have cooled down"
        } else {
            "within it"
        };
        lines.push(("limit", format!("{limit:.0} °C, {state}")));
    }
    if let Some(bytes) = snapshot.limit_bytes_per_second {
        lines.push(("limit", format!("{}, read and written together", rate(bytes as f64))));
    }
    lines
}

fn phase(snapshot: &Snapshot) -> String {
    format!(
        "{}: {}, {} now, for {}",
        phase_name(snapshot),
        how_far(snapshot),
        rate(snapshot.bytes_per_second_now),
        span(snapshot.phase.seconds)
    )
}

/// How far the whole job is, its mean rate, and the time left if it can be predicted.
fn whole(snapshot: &Snapshot) -> String {
    let done = snapshot.share_done.map(|share| format!("{:.0}% done, ", (100.0 * share).floor()));
    let left = snapshot.seconds_left.map(|seconds| format!(", {} left", span(seconds)));
    let mean = rate(snapshot.bytes_per_second_mean);
    format!("{}{mean} on average{}", done.unwrap_or_default(), left.unwrap_or_default())
}

/// The number of chunks and segments, if there are any.
pub(super) fn pieces(snapshot: &Snapshot) -> Option<String> {
    let counts = &snapshot.counts;
    let all = counts.chunks_all.map(|all| format!(" of {all}"));
    match (counts.chunks, counts.parts) {
        (0, 0) => None,
        (chunks, 0) => Some(format!("{chunks}{} chunks", all.unwrap_or_default())),
        (chunks, parts) => {
            Some(format!("{chunks}{} chunks, {parts} parts of the output", all.unwrap_or_default()))
        }
    }
}

/// Bytes read and written, if the job counts them.
pub(super) fn moved(snapshot: &Snapshot) -> Option<String> {
    let Snapshot { read_bytes, written_bytes, .. } = *snapshot;
    let [read, written] = [read_bytes, written_bytes].map(|bytes| Decimal(bytes as f64));
    (read_bytes + written_bytes > 0).then(|| format!("{read} read, {written} written"))
}

/// The bytes spilled to scratch, if the job counts them.
fn spilled(snapshot: &Snapshot) -> Option<String> {
    let Spilled { bytes, scratch_bytes, lz4_bytes, zstd_bytes } = snapshot.spilled;
    let compressed = Compressed { lz4_bytes, zstd_bytes };
    let spilled = xsort_extsort::Spilled { bytes, scratch_bytes, compressed };
    (bytes > 0).then(|| spilled.to_string())
}

/// The memory that the job uses, and its budget.
pub(super) fn memory(snapshot: &Snapshot) -> String {
    let memory = &snapshot.memory;
    let budget =
        (memory.budget_bytes > 0).then(|| format!(", {} for data", Bytes(memory.budget_bytes)));
    format!("{} held{}", Bytes(memory.resident_bytes), budget.unwrap_or_default())
}

fn stage_line(stage: &Stage) -> String {
    let mut text = format!("{:<8} {:>5.2} threads busy", stage.name, stage.busy_threads);
    for wait in &stage.waits {
        let _ = write!(text, ", {:.2} wait for {}", wait.threads, wait.on);
    }
    let _ = write!(text, " ({:.1} s busy in all)", stage.busy_seconds);
    text
}

/// A drive as one line.
pub(super) fn drive_line(drive: &DriveState) -> String {
    let mut text = format!("{}, for {}", drive.path, drive.role);
    if drive.role.contains("scratch") {
        let _ = write!(text, " ({} in use)", Decimal(drive.scratch_bytes as f64));
    }
    if let Some(celsius) = drive.celsius {
        let _ = write!(text, ", {} {celsius:.0} °C", drive.device.as_deref().unwrap_or_default());
    }
    text
}
