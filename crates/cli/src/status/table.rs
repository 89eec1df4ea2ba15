//! A line for each job, and what killed ones left.

use super::job_state::{state, trouble};
use super::words::{command_line, cut, leftovers_text, phase_name, phase_share, rate, span};
use std::fmt::Write;
use xsort_status::{FoundJob, Leftovers, Life};

const COLUMNS: usize = 9;
const HEADER: [&str; COLUMNS] =
    ["JOB", "STATE", "PHASE", "DONE", "ALL", "RATE", "LEFT", "RUNS", "COMMAND"];

/// The jobs, in lines of at most `width` characters, and what they left.
pub(super) fn table<'a>(
    reported: impl Iterator<Item = (&'a FoundJob, &'a Leftovers)> + Clone,
    width: usize,
) -> String {
    if reported.clone().next().is_none() {
        return "no job runs (jobs of less than a quarter of a second don't show)\n".into();
    }
    let jobs = reported.clone().map(|(job, _)| row(job));
    let rows: Vec<[String; COLUMNS]> =
        std::iter::once(HEADER.map(str::to_owned)).chain(jobs).collect();
    let mut widths = [0; COLUMNS];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        text.push_str(&cut(aligned(&row, widths).trim_end(), width));
        text.push('\n');
    }
    for (job, leftovers) in reported.filter(|(job, _)| job.life() == Life::Dead) {
        let leftovers = leftovers_text(leftovers);
        let _ = writeln!(
            text,
            "job {} was killed and left {leftovers}; xsort status --clear removes them",
            job.name()
        );
    }
    text
}

/// A row's cells in columns: names left-aligned, figures right-aligned.
fn aligned(row: &[String; COLUMNS], widths: [usize; COLUMNS]) -> String {
    let mut line = String::new();
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        let _ = match column {
            1 | 2 => write!(line, "  {cell:<width$}"),
            0 => write!(line, "{cell:>width$}"),
            8 => write!(line, "  {cell}"),
            _ => write!(line, "  {cell:>width$}"),
        };
    }
    line
}

fn row(job: &FoundJob) -> [String; COLUMNS] {
    let none = || "-".to_owned();
    let Some(snapshot) = job.snapshot() else {
        let mut row = [(); COLUMNS].map(|()| none());
        row[0] = job.name().into();
        row[1] = state(job).into();
        row[COLUMNS - 1] = trouble(job).into();
        return row;
    };
    let percent = |share: Option<f64>| {
        share.map_or_else(none, |share| format!("{:.0}%", (100.0 * share).floor()))
    };
    let is_running = job.life() == Life::Running;
    [
        job.name().into(),
        state(job).into(),
        phase_name(snapshot).into(),
        percent(phase_share(snapshot)),
        percent(snapshot.share_done),
        if is_running { rate(snapshot.bytes_per_second_now) } else { none() },
        snapshot.seconds_left.filter(|_| is_running).map_or_else(none, span),
        span(snapshot.seconds),
        command_line(snapshot),
    ]
}
