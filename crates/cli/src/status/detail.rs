//! All about one job, as text.

use super::words::{command_line, how_far, phase_name, rate, span};
use super::{silence_seconds, state, table};
use crate::size::{Binary, Decimal};
use std::fmt::Write;
use xsort_status::{DriveState, FoundJob, Leftovers, Life, Snapshot, Stage};

/// The job in full.
pub(super) fn detail(job: &FoundJob, left: &Leftovers) -> String {
    let Some(snapshot) = job.snapshot() else {
        let what = job.trouble().unwrap_or("it said nothing");
        return format!("job         {}, {}: {what}\n", job.name(), state(job));
    };
    let mut lines = vec![
        (
            "job",
            format!("{}, {} {} {}", job.name(), state(job), since(job), span(snapshot.seconds)),
        ),
        ("command", command_line(snapshot)),
        ("directory", snapshot.job.directory.clone()),
        ("user", format!("{}, xsort {}", snapshot.job.user, snapshot.job.version)),
    ];
    if job.life() != Life::Running || state(job) == "stopped" {
        lines.push(("last word", format!("{} ago", span(silence_seconds(snapshot)))));
    }
    lines.push(("phase", phase(snapshot)));
    lines.push(("whole", whole(snapshot)));
    if let Some(records) = snapshot.records_done() {
        lines.push(("records", format!("{records} of this phase")));
    }
    if let Some(moved) = moved(snapshot) {
        lines.push(("moved", moved));
    }
    if let Some(pieces) = pieces(snapshot) {
        lines.push(("pieces", pieces));
    }
    lines.push(("memory", memory(snapshot)));
    if let Some(limit) = snapshot.limit_celsius {
        let is_paused = if snapshot.is_paused {
            "transfers pause until the drives have cooled down"
        } else {
            "within it"
        };
        lines.push(("limit", format!("{limit:.0} °C, {is_paused}")));
    }
    if let Some(bytes) = snapshot.limit_bytes_per_second {
        lines.push(("limit", format!("{}, read and written together", rate(bytes as f64))));
    }
    for stage in &snapshot.stages {
        lines.push(("stage", stage_line(stage)));
    }
    for drive in &snapshot.drives {
        lines.push(("drive", drive_line(drive)));
    }
    for notice in &snapshot.notices {
        lines.push(("notice", notice.clone()));
    }
    if job.life() == Life::Dead {
        lines.push(("left", table::left_in_words(left) + "; xsort status --clear removes them"));
    }
    let mut text = String::new();
    let mut last = "";
    for (name, line) in lines {
        let _ = writeln!(text, "{:<11} {line}", if name == last { "" } else { name });
        last = name;
    }
    text
}

/// A job runs for a time, or died after it.
pub(super) fn since(job: &FoundJob) -> &'static str {
    if job.life() == Life::Running { "for" } else { "after" }
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

/// How far the whole job is, where that can be said.
pub(super) fn whole(snapshot: &Snapshot) -> String {
    let done = snapshot.share_done.map(|share| format!("{:.0}% done, ", (100.0 * share).floor()));
    let left = snapshot.seconds_left.map(|seconds| format!(", {} left", span(seconds)));
    let mean = rate(snapshot.bytes_per_second_mean);
    format!("{}{mean} on average{}", done.unwrap_or_default(), left.unwrap_or_default())
}

/// Chunks and segments.
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

/// What the drives moved, of jobs that count it.
pub(super) fn moved(snapshot: &Snapshot) -> Option<String> {
    let Snapshot { read_bytes, written_bytes, .. } = *snapshot;
    let [read, written] = [read_bytes, written_bytes].map(|bytes| Decimal(bytes as f64));
    (read_bytes + written_bytes > 0).then(|| format!("{read} read, {written} written"))
}

/// What it holds, and of how much.
pub(super) fn memory(snapshot: &Snapshot) -> String {
    let memory = &snapshot.memory;
    let budget =
        (memory.budget_bytes > 0).then(|| format!(", {} for data", Binary(memory.budget_bytes)));
    format!("{} held{}", Binary(memory.resident_bytes), budget.unwrap_or_default())
}

fn stage_line(stage: &Stage) -> String {
    let mut text = format!("{:<8} {:>5.2} threads busy", stage.name, stage.busy_threads);
    for wait in &stage.waits {
        let _ = write!(text, ", {:.2} wait for {}", wait.threads, wait.on);
    }
    let _ = write!(text, " ({:.1} s busy in all)", stage.busy_seconds);
    text
}

/// A drive in a line.
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
