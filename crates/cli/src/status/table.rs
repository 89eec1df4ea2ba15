//! A line for each job, one for all jobs together, and what killed jobs left.

use super::columns::{Column, in_columns};
use super::job_state::trouble;
use super::words::{
    all_leftovers_text, command_line, folded, leftovers_text, phase_name, phase_share, rate, span,
};
use xsort_status::{FoundJob, Leftovers, Life, Snapshot};

const COLUMNS: usize = 9;
const HEADER: [&str; COLUMNS] =
    ["JOB", "STATE", "PHASE", "DONE", "ALL", "RATE", "LEFT", "RUNS", "COMMAND"];
/// For each column, whether it is a figure, and its rank.
const KINDS: [(bool, u8); COLUMNS] = [
    (true, 0),
    (false, 1),
    (false, 6),
    (true, 7),
    (true, 2),
    (true, 4),
    (true, 3),
    (true, 8),
    (false, 5),
];

/// The most dead jobs of which each has a note of its own.
const NOTES_MAX: usize = 3;

/// The jobs in lines of at most `width` columns, and what they left. Dead jobs are dimmed if
/// `is_styled`.
pub(super) fn table<'a>(
    reported: impl Iterator<Item = (&'a FoundJob, &'a Leftovers)> + Clone,
    width: usize,
    is_styled: bool,
) -> String {
    let lines = if reported.clone().next().is_none() {
        folded("no jobs are running (jobs shorter than a quarter of a second aren't shown)", width)
    } else {
        let jobs = reported.clone().map(|(job, _)| row(job));
        let rows: Vec<[String; COLUMNS]> = std::iter::once(HEADER.map(str::to_owned))
            .chain(jobs)
            .chain(total(reported.clone().map(|(job, _)| job)))
            .collect();
        let columns = KINDS.map(|(is_figure, rank)| Column { is_figure, rank });
        let mut lines = in_columns(&columns, &rows, width);
        if is_styled {
            let jobs = lines.iter_mut().skip(1).zip(reported.clone());
            for (line, _) in jobs.filter(|(_, (job, _))| job.life() == Life::Dead) {
                *line = format!("\x1b[2m{line}\x1b[0m");
            }
        }
        let dead = reported.filter(|(job, _)| job.life() == Life::Dead).collect::<Vec<_>>();
        lines.extend(notes(&dead).iter().flat_map(|text| folded(text, width)));
        lines
    };
    lines.join("\n") + "\n"
}

fn row(job: &FoundJob) -> [String; COLUMNS] {
    let none = || "-".to_owned();
    let Some(snapshot) = job.snapshot() else {
        let mut row = [(); COLUMNS].map(|()| none());
        row[0] = job.name().into();
        row[1] = job.state().into();
        row[COLUMNS - 1] = trouble(job).into();
        return row;
    };
    let percent = |share: Option<f64>| {
        share.map_or_else(none, |share| format!("{:.0}%", (100.0 * share).floor()))
    };
    let is_running = job.life() == Life::Running;
    [
        job.name().into(),
        job.state().into(),
        phase_name(snapshot).into(),
        percent(phase_share(snapshot)),
        percent(snapshot.share_done),
        if is_running { rate(snapshot.bytes_per_second_now) } else { none() },
        snapshot.seconds_left.filter(|_| is_running).map_or_else(none, span),
        span(snapshot.seconds),
        command_line(snapshot),
    ]
}

/// What dead jobs left: a note for each, or one for all of many.
fn notes(dead: &[(&FoundJob, &Leftovers)]) -> Vec<String> {
    if dead.len() > NOTES_MAX {
        let left = all_leftovers_text(dead.iter().map(|(_, leftovers)| *leftovers));
        let jobs = dead.len();
        return vec![format!(
            "{jobs} jobs were killed and left {left}; xsort status --clear removes them, and xsort \
             status JOB names them"
        )];
    }
    let note = |(job, leftovers): &(&FoundJob, &Leftovers)| {
        let left = leftovers_text(leftovers);
        format!("job {} was killed and left {left}; xsort status --clear removes them", job.name())
    };
    dead.iter().map(note).collect()
}

/// The row for all running jobs together, if there are several: their total rate, and when the last
/// one ends.
fn total<'a>(jobs: impl Iterator<Item = &'a FoundJob>) -> Option<[String; COLUMNS]> {
    let living: Vec<&Snapshot> =
        jobs.filter(|job| job.life() == Life::Running).filter_map(FoundJob::snapshot).collect();
    if living.len() < 2 {
        return None;
    }
    let mut row = [(); COLUMNS].map(|()| String::new());
    row[0] = "all".into();
    row[1] = format!("{} live", living.len());
    row[5] = rate(living.iter().map(|job| job.bytes_per_second_now).sum());
    // Unknown if the time of any job is.
    let left: Option<Vec<f64>> = living.iter().map(|job| job.seconds_left).collect();
    row[6] = left.map_or_else(|| "-".into(), |left| span(left.into_iter().fold(0.0, f64::max)));
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::super::detail::detail;
    use super::super::samples::jobs;
    use super::*;
    use std::collections::BTreeSet;
    use xsort_status::leftovers;

    fn figures(text: &str) -> BTreeSet<&str> {
        let words = text.split_whitespace();
        words.filter(|word| word.contains(|c: char| c.is_ascii_digit())).collect()
    }

    #[test]
    fn many_dead_jobs_have_one_note() {
        let home = tempfile::tempdir().unwrap();
        let pids: Vec<u32> = (3_000_001..3_000_021).collect();
        drop(jobs(home.path(), &pids));
        let (_none, jobs) = jobs(home.path(), &[]);
        let left: Vec<Leftovers> = jobs.iter().map(leftovers).collect();
        let text = table(jobs.iter().zip(&left), usize::MAX, false);
        assert_eq!(text.lines().count(), 22, "{text}");
        let note = text.lines().last().unwrap();
        let expected = "20 jobs were killed and left their status (";
        assert!(note.starts_with(expected) && note.contains("--clear removes them"), "{note}");
    }

    #[test]
    fn lines_fit_any_terminal_and_no_figure_is_cut_without_a_sign() {
        let home = tempfile::tempdir().unwrap();
        drop(jobs(home.path(), &[3_000_001]));
        let (_alive, jobs) = jobs(home.path(), &[4711, 4712]);
        let left: Vec<Leftovers> = jobs.iter().map(leftovers).collect();
        let reported = || jobs.iter().zip(&left);
        let whole = table(reported(), usize::MAX, false);
        let lines: Vec<&str> = whole.lines().collect();
        for (row, expected) in [
            (0, "    JOB  STATE    PHASE  DONE  ALL       RATE  LEFT      RUNS  COMMAND"),
            (1, "   4711  running  merge   57%  78%   512 MB/s   7 s  2 m 05 s  xsort sort -m"),
            (3, "3000001  dead     merge   57%  78%          -     -  2 m 05 s  xsort sort -m"),
            (4, "    all  2 live                     1.02 GB/s   7 s"),
        ] {
            assert!(lines[row].starts_with(expected), "{whole}");
        }
        let dimmed: Vec<bool> =
            table(reported(), 80, true).lines().map(|line| line.contains('\x1b')).collect();
        assert_eq!(dimmed[..5], [false, false, false, true, false]);
        for width in 20..=220 {
            let mut text = table(reported(), width, false);
            assert!(text.contains("4711 running") || width >= 60, "{text}");
            text += &reported().map(|(job, left)| detail(job, left, width)).collect::<String>();
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            let table = table(reported(), width, false);
            let known: Vec<&str> = table.lines().take(5).collect();
            for word in figures(&known.join("\n")) {
                assert!(figures(&whole).contains(word) || word.ends_with('…'), "{width}: {word}");
            }
        }
    }
}
