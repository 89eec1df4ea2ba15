//! A line for each job, and what killed ones left.

use super::state;
use super::words::{command_line, cut, phase_name, phase_share, rate, span};
use crate::size::Decimal;
use std::fmt::Write;
use xsort_disk::DisplayPath;
use xsort_status::{FoundJob, Leftovers, Life};

/// The jobs, in lines of at most `width` characters.
pub(super) fn table<'a>(
    told: impl Iterator<Item = (&'a FoundJob, &'a Leftovers)> + Clone,
    width: usize,
) -> String {
    let jobs = told.clone().map(|(job, _)| job);
    if told.clone().next().is_none() {
        return "no job runs (jobs of less than a quarter of a second don't show)\n".into();
    }
    let heads = ["JOB", "STATE", "PHASE", "DONE", "ALL", "RATE", "LEFT", "RUNS", "COMMAND"]
        .map(str::to_owned);
    let rows: Vec<[String; 9]> = std::iter::once(heads).chain(jobs.map(row)).collect();
    let mut widths = [0; 9];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (number, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Names from the left, figures from the right.
            let _ = match number {
                1 | 2 => write!(line, "  {cell:<width$}"),
                0 => write!(line, "{cell:>width$}"),
                8 => write!(line, "  {cell}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(&cut(line.trim_end(), width));
        text.push('\n');
    }
    for (job, left) in told.filter(|(job, _)| job.life() == Life::Dead) {
        let left = left_in_words(left);
        let _ = writeln!(
            text,
            "job {} was killed and left {left}; xsort status --clear removes them",
            job.name()
        );
    }
    text
}

fn row(job: &FoundJob) -> [String; 9] {
    let none = || "-".to_owned();
    let Some(snapshot) = job.snapshot() else {
        let what = job.trouble().unwrap_or("it said nothing").to_owned();
        return [
            job.name().into(),
            state(job).into(),
            none(),
            none(),
            none(),
            none(),
            none(),
            none(),
            what,
        ];
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

/// What a killed job left, in words.
pub(super) fn left_in_words(left: &Leftovers) -> String {
    let files = |count: usize| format!("{count} file{}", if count == 1 { "" } else { "s" });
    let mut text = format!("its status ({})", files(left.status.len()));
    for (path, bytes) in &left.hidden {
        let _ = write!(text, ", {} ({})", DisplayPath(path), Decimal(*bytes as f64));
    }
    text
}
