//! The full screen, drawn: made for 80 by 24, and for whatever it is resized to.
//!
//! ```text
//!  xsort status                                              2 jobs, q quits
//!  > 4711 running  merge       57%   512 MB/s  xsort sort ...     (if there are several jobs)
//!  xsort sort -m 1G data -o sorted
//!  job 4711, running for 42 s, user, directory
//!
//!  merge  ██████████████████████▌                         57% of 8.00 GB
//!  512 MB/s, whole: 78% done, 480 MB/s on average, 3 s left
//!   rate curve, as high as the terminal allows
//!  stages: a bar for each, threads that work and threads that wait
//!  drives, memory, the last notices
//! ```
//!
//! It only draws: everything it shows is an argument, so that tests see what users do.

use super::job_panel::JobPanel;
use super::job_state::state;
use super::words::{command_line, cut, how_far, phase_name, rate};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use xsort_status::{FoundJob, Leftovers};

/// Jobs that the list shows at once.
const LISTED_MAX: usize = 5;

/// What the screen shows.
pub(super) struct Screen<'a> {
    pub(super) jobs: &'a [FoundJob],
    /// Index of the job that is shown in full.
    pub(super) chosen: usize,
    /// What that job left, if it was killed.
    pub(super) leftovers: &'a Leftovers,
    pub(super) has_colour: bool,
}

impl Screen<'_> {
    /// Draws everything.
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let listed = if self.jobs.len() > 1 { self.jobs.len().min(LISTED_MAX) } else { 0 };
        let [title, list, rest] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(listed as u16),
            Constraint::Min(0),
        ])
        .areas(frame.area());
        self.draw_title(frame, title);
        self.draw_list(frame, list);
        match self.jobs.get(self.chosen) {
            Some(job) => {
                let (leftovers, has_colour) = (self.leftovers, self.has_colour);
                JobPanel { job, leftovers, has_colour }.draw(frame, rest);
            }
            None => {
                frame.render_widget(
                    Paragraph::new("\n  No job runs. New ones appear by themselves."),
                    rest,
                );
            }
        }
    }

    fn draw_title(&self, frame: &mut Frame<'_>, area: Rect) {
        let keys = if self.jobs.len() > 1 { "arrows choose, q quits" } else { "q quits" };
        let jobs = match self.jobs.len() {
            0 => "no jobs".to_owned(),
            1 => "1 job".to_owned(),
            several => format!("{several} jobs"),
        };
        let style = Style::new().add_modifier(Modifier::REVERSED);
        frame.render_widget(Paragraph::new(" xsort status").style(style), area);
        frame.render_widget(
            Line::from(format!("{jobs}, {keys} ")).style(style).right_aligned(),
            area,
        );
    }

    /// A line for each job, around the chosen one.
    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect) {
        let rows = usize::from(area.height);
        let first = self.chosen.saturating_sub(rows / 2).min(self.jobs.len().saturating_sub(rows));
        let lines = self.jobs.iter().enumerate().skip(first).take(rows).map(|(number, job)| {
            let mark = if number == self.chosen { '>' } else { ' ' };
            let text = match job.snapshot() {
                Some(snapshot) => format!(
                    "{mark} {:>7} {:<8} {:<10} {:>14} {:>10}  {}",
                    job.name(),
                    state(job),
                    phase_name(snapshot),
                    how_far(snapshot),
                    rate(snapshot.bytes_per_second_now),
                    command_line(snapshot)
                ),
                None => format!(
                    "{mark} {:>7} {:<8} {}",
                    job.name(),
                    state(job),
                    job.trouble().unwrap_or("")
                ),
            };
            let line = Line::from(cut(&text, usize::from(area.width)));
            if number == self.chosen {
                line.style(Style::new().add_modifier(Modifier::BOLD))
            } else {
                line
            }
        });
        frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::path::Path;
    use xsort_status::{
        Counts, DriveState, FORMAT, Identity, Memory, Phase, Publisher, Snapshot, Stage,
        StatusDirectories, Wait,
    };
    use xsort_status::{find, leftovers};

    fn snapshot(pid: u32) -> Snapshot {
        let words = ["/usr/bin/xsort", "sort", "-m", "1G", "-T", "/nvme1", "data", "-o", "sorted"];
        let wait = |on: &str, threads| Wait { on: on.into(), seconds: 1.0, threads };
        let stage = |name: &str, busy_threads, waits| Stage {
            name: name.into(),
            busy_seconds: 1.0,
            busy_threads,
            waits,
        };
        Snapshot {
            format: FORMAT,
            job: Identity {
                command: "sort".into(),
                arguments: words.map(str::to_owned).to_vec(),
                pid,
                user: "ada".into(),
                directory: "/home/ada".into(),
                ..Identity::default()
            },
            // In the future: a job that isn't silent.
            taken_unix_seconds: 1e12,
            seconds: 125.0,
            phase: Phase {
                name: "merge".into(),
                number: 2,
                done_bytes: 4_600_000_000,
                bytes: 8_000_000_000,
                seconds: 9.0,
            },
            share_done: Some(0.785),
            seconds_left: Some(7.0),
            bytes_per_second_now: 512e6,
            bytes_per_second_mean: 480e6,
            curve: (0..120).map(|point| 1e6 * f64::from(point)).collect(),
            curve_step_seconds: 1.0,
            threads: 4,
            stages: vec![
                stage("spill", 0.0, vec![wait("write", 0.0)]),
                stage("output", 2.0, vec![wait("read", 0.2), wait("write", 1.0)]),
            ],
            read_bytes: 12_560_000_000,
            written_bytes: 12_000_000_000,
            counts: Counts { chunks: 63, chunks_all: Some(63), parts: 800, files: 0 },
            memory: Memory { resident_bytes: 1100 << 20, budget_bytes: 1 << 30 },
            drives: vec![DriveState {
                path: "/nvme1".into(),
                role: "scratch".into(),
                scratch_bytes: 3_440_000_000,
                device: Some("nvme1n1".into()),
                celsius: Some(71.0),
            }],
            limit_celsius: Some(80.0),
            notices: vec!["io_uring is forbidden here".into()],
            ..Snapshot::default()
        }
    }

    fn jobs(home: &Path, pids: &[u32]) -> (Vec<Publisher>, Vec<FoundJob>) {
        let home = home.as_os_str().to_owned();
        let directories = StatusDirectories::from_environment(move |name| {
            (name == "XSORT_STATUS_DIR").then(|| home.clone())
        });
        let publish = |pid: &u32| {
            let mut publisher = Publisher::open(&directories, *pid).unwrap();
            publisher.publish(&snapshot(*pid)).unwrap();
            publisher
        };
        (pids.iter().map(publish).collect(), find(&directories))
    }

    fn drawn(jobs: &[FoundJob], chosen: usize, size: (u16, u16)) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        let left = jobs.get(chosen).map(leftovers).unwrap_or_default();
        let screen = Screen { jobs, chosen, leftovers: &left, has_colour: true };
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| {
            (0..size.0).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned()
        };
        (0..size.1).map(row).collect()
    }

    #[test]
    fn one_job_fills_80_by_24() {
        let home = tempfile::tempdir().unwrap();
        let (_alive, jobs) = jobs(home.path(), &[4711]);
        let rows = drawn(&jobs, 0, (80, 24));
        let bar = format!(" merge  {}{} 57% of 8.00 GB", "█".repeat(32), "░".repeat(24));
        for (row, expected) in [
            (0, " xsort status                                                    1 job, q quits"),
            (1, " xsort sort -m 1G -T /nvme1 data -o sorted"),
            (2, " job 4711, running for 2 m 05 s, ada, in /home/ada"),
            (3, ""),
            (4, &bar),
            (5, " 512 MB/s now; whole: 78% done, 480 MB/s on average, 7 s left"),
            (6, " rate since the beginning, up to 118 MB/s"),
            (18, " spill                              0.0 busy"),
            (19, " output   ████████████░░░░░░░       2.0 busy  1.0 wait for write"),
            (20, " /nvme1, for scratch (3.44 GB in use), nvme1n1 71 °C"),
            (21, " memory   1.07 GiB held, 1.00 GiB for data; 63 of 63 chunks, 800 parts of the …"),
            (22, " moved    12.6 GB read, 12.0 GB written"),
            (23, " io_uring is forbidden here"),
        ] {
            assert_eq!(rows[row], expected, "row {row} of\n{}", rows.join("\n"));
        }
        // The curve rises to the right, over the whole width.
        assert!(
            rows[17].ends_with("████████") && rows[7].ends_with('█') && !rows[7].starts_with(" █")
        );
    }

    #[test]
    fn several_are_listed_around_the_chosen_one() {
        let home = tempfile::tempdir().unwrap();
        let pids: Vec<u32> = (1001..1010).collect();
        let (_alive, jobs) = jobs(home.path(), &pids);
        let rows = drawn(&jobs, 6, (80, 24));
        assert!(rows[0].contains("9 jobs, arrows choose, q quits"), "{}", rows[0]);
        let listed: Vec<&str> = rows[1..=LISTED_MAX].iter().map(|row| &row[2..9]).collect();
        assert_eq!(listed, ["   1005", "   1006", "   1007", "   1008", "   1009"]);
        assert!(rows[3].starts_with(">    1007 running  merge"), "{}", rows[3]);
        assert!(rows.iter().any(|row| row.starts_with(" job 1007, running")), "{rows:?}");
    }

    #[test]
    fn dead_jobs_differ_from_living_ones() {
        let home = tempfile::tempdir().unwrap();
        let (alive, _) = jobs(home.path(), &[4711]);
        drop(alive);
        let (_none, jobs) = jobs(home.path(), &[]);
        let rows = drawn(&jobs, 0, (80, 24));
        assert_eq!(rows[2], " job 4711, dead after 2 m 05 s, ada, in /home/ada");
        assert!(rows[5].starts_with(" killed; left its status ("), "{}", rows[5]);
    }

    #[test]
    fn any_size_is_drawn_without_harm() {
        let home = tempfile::tempdir().unwrap();
        let (_alive, jobs) = jobs(home.path(), &[1, 2]);
        for size in [(1, 1), (2, 50), (10, 3), (20, 5), (60, 14), (200, 60), (500, 2)] {
            assert_eq!(drawn(&jobs, 1, size).len(), usize::from(size.1));
            drawn(&[], 0, size);
        }
    }
}
