//! A line for each job on the full screen, around the chosen job: how far the job is, and how long
//! it will take.

use super::columns::{Column, in_columns};
use super::job_state::trouble;
use super::words::{command_line, phase_name, rate, span};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use xsort_status::{FoundJob, Life};

const COLUMNS: usize = 7;
/// For name, state, share done, time left, rate, phase and command: whether the column is a figure,
/// and its rank.
const KINDS: [(bool, u8); COLUMNS] =
    [(false, 0), (false, 1), (true, 2), (true, 3), (true, 4), (false, 6), (false, 5)];

/// The list in at most `lines` lines of at most `columns` columns, with the chosen job among them.
pub(super) fn job_list(
    jobs: &[FoundJob],
    chosen: usize,
    lines: usize,
    columns: usize,
) -> Vec<Line<'static>> {
    let first = chosen.saturating_sub(lines / 2).min(jobs.len().saturating_sub(lines));
    let shown: Vec<(usize, &FoundJob)> = jobs.iter().enumerate().skip(first).take(lines).collect();
    let rows: Vec<[String; COLUMNS]> =
        shown.iter().map(|(index, job)| row(job, *index == chosen)).collect();
    let kinds = KINDS.map(|(is_figure, rank)| Column { is_figure, rank });
    let texts = in_columns(&kinds, &rows, columns);
    let lines = texts.into_iter().zip(shown).map(|(text, (index, job))| {
        let mut style = Style::new();
        if job.life() != Life::Running {
            style = style.add_modifier(Modifier::DIM);
        }
        if index == chosen {
            style = style.add_modifier(Modifier::BOLD);
        }
        Line::styled(text, style)
    });
    lines.collect()
}

fn row(job: &FoundJob, is_chosen: bool) -> [String; COLUMNS] {
    let name = format!("{} {}", if is_chosen { '>' } else { ' ' }, job.name());
    let Some(snapshot) = job.snapshot() else {
        let mut row = [(); COLUMNS].map(|()| String::new());
        row[0] = name;
        row[1] = job.state().into();
        row[COLUMNS - 1] = trouble(job).into();
        return row;
    };
    let is_running = job.life() == Life::Running;
    let done = snapshot.share_done.map(|share| format!("{:.0}%", (100.0 * share).floor()));
    let left = snapshot.seconds_left.filter(|_| is_running);
    [
        name,
        job.state().into(),
        done.unwrap_or_default(),
        left.map(|left| format!("{} left", span(left))).unwrap_or_default(),
        if is_running { rate(snapshot.bytes_per_second_now) } else { String::new() },
        phase_name(snapshot).into(),
        command_line(snapshot),
    ]
}
