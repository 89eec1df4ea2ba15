//! Draws the full screen: designed for 80 by 24, and adapted to any other size.
//!
//! ```text
//!  xsort status                        2 running, 1 dead, 812 MB/s, ? helps, q quits
//! > 4711  running  78%  3 s left  512 MB/s  merge  xsort sort ...   (if there are several jobs)
//!  xsort sort -m 1G data -o sorted
//!  job 4711, running for 42 s, user, directory
//!
//!  merge  ██████████████████████▌                         57% of 8.00 GB
//!  512 MB/s now, whole: 78% done, 480 MB/s on average, 3 s left
//!   rate curve, as high as the terminal allows
//!  stages: a bar for each, threads that work and threads that wait
//!  drives, memory, the last notices
//! the answer to a key
//! ```
//!
//! It only draws: everything it shows is an argument, so that tests see what users see.

use super::job_list::job_list;
use super::job_panel::JobPanel;
use super::key_help::key_help;
use super::words::{columns_of, cut, fitting, folded, rate};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use xsort_status::{FoundJob, Leftovers, Life};

/// The number of jobs that the list shows at once.
const LISTED_MAX: usize = 5;
/// The number of lines of a message that are shown.
const MESSAGE_LINES_MAX: usize = 3;

/// The content of the screen.
pub(super) struct Screen<'a> {
    pub(super) jobs: &'a [FoundJob],
    /// The index of the job that is shown in full.
    pub(super) chosen: usize,
    /// What that job left, if it was killed.
    pub(super) leftovers: &'a Leftovers,
    /// The answer to a key.
    pub(super) message: &'a str,
    /// True if the keys are shown in place of the job.
    pub(super) shows_keys: bool,
    pub(super) has_colour: bool,
}

impl Screen<'_> {
    /// Draws the whole screen.
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let listed = if self.jobs.len() > 1 { self.jobs.len().min(LISTED_MAX) } else { 0 };
        let columns = usize::from(frame.area().width);
        let message = self.message_lines(columns);
        let [title, list, rest, below] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(listed as u16),
            Constraint::Min(0),
            Constraint::Length(message.len() as u16),
        ])
        .areas(frame.area());
        self.draw_title(frame, title);
        let list_lines = job_list(self.jobs, self.chosen, usize::from(list.height), columns);
        frame.render_widget(Paragraph::new(list_lines), list);
        frame.render_widget(Paragraph::new(message), below);
        let inside = rest.inner(Margin { horizontal: 1, vertical: 0 });
        let columns = usize::from(inside.width);
        match self.jobs.get(self.chosen) {
            _ if self.shows_keys => {
                frame.render_widget(Paragraph::new(key_help(columns)), inside);
            }
            Some(job) => {
                let (leftovers, has_colour) = (self.leftovers, self.has_colour);
                JobPanel { job, leftovers, has_colour }.draw(frame, inside);
            }
            None => {
                let text = folded("No job runs. New ones appear by themselves.", columns);
                let lines: Vec<Line<'_>> = text.into_iter().map(Line::from).collect();
                frame.render_widget(Paragraph::new(lines), inside);
            }
        }
    }

    /// Draws the title: the name, the number of jobs, their total rate, and the keys for help and
    /// the end.
    fn draw_title(&self, frame: &mut Frame<'_>, area: Rect) {
        let columns = usize::from(area.width);
        let dead = self.jobs.iter().filter(|job| job.life() == Life::Dead).count();
        let living: Vec<f64> = self
            .jobs
            .iter()
            .filter(|job| job.life() == Life::Running)
            .map(|job| job.snapshot().map_or(0.0, |snapshot| snapshot.bytes_per_second_now))
            .collect();
        let mut pieces = vec![(1, format!("{} running", living.len()))];
        if dead > 0 {
            pieces.push((2, format!("{dead} dead")));
        }
        if living.len() > 1 {
            pieces.push((3, rate(living.iter().sum())));
        }
        pieces.push((0, "? helps".to_owned()));
        pieces.push((4, "q quits".to_owned()));
        let style = Style::new().add_modifier(Modifier::REVERSED);
        frame.render_widget(Paragraph::new("").style(style), area);
        let name = " xsort status ";
        let left = columns.saturating_sub(columns_of(name) + 1);
        let is_named = left >= columns_of(&pieces[0].1);
        if is_named {
            frame.render_widget(Line::styled(name, style), area);
        }
        let right = fitting(&pieces, if is_named { left } else { columns });
        frame.render_widget(Line::styled(right + " ", style).right_aligned(), area);
    }

    fn message_lines(&self, columns: usize) -> Vec<Line<'_>> {
        if self.message.is_empty() {
            return Vec::new();
        }
        let style = if self.has_colour { Style::new().fg(Color::Yellow) } else { Style::new() };
        let mut lines = folded(self.message, columns);
        if lines.len() > MESSAGE_LINES_MAX {
            lines.truncate(MESSAGE_LINES_MAX);
            let last = lines.pop().unwrap_or_default();
            lines.push(cut(&(last + " …"), columns));
        }
        lines.into_iter().map(|line| Line::styled(line, style)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::jobs;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::buffer::Buffer;
    use std::collections::BTreeSet;
    use xsort_status::leftovers;

    fn screen(jobs: &[FoundJob], chosen: usize) -> Screen<'_> {
        static NOTHING: Leftovers =
            Leftovers { status: Vec::new(), hidden: Vec::new(), uploads: Vec::new() };
        let (message, shows_keys, has_colour) = ("", false, true);
        Screen { jobs, chosen, leftovers: &NOTHING, message, shows_keys, has_colour }
    }

    fn buffer(screen: &Screen<'_>, size: (u16, u16)) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        terminal.backend().buffer().clone()
    }

    fn rows_of(buffer: &Buffer) -> Vec<String> {
        let row = |y| {
            let cells = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        };
        (0..buffer.area.height).map(row).collect()
    }

    fn drawn(jobs: &[FoundJob], chosen: usize, size: (u16, u16)) -> Vec<String> {
        let left = jobs.get(chosen).map(leftovers).unwrap_or_default();
        rows_of(&buffer(&Screen { leftovers: &left, ..screen(jobs, chosen) }, size))
    }

    #[test]
    fn one_job_fills_80_by_24() {
        let home = tempfile::tempdir().unwrap();
        let (_alive, jobs) = jobs(home.path(), &[4711]);
        let rows = drawn(&jobs, 0, (80, 24));
        let bar = format!(" merge  {}{} 57% of 8.00 GB", "█".repeat(32), "░".repeat(24));
        for (row, expected) in [
            (0, " xsort status                                       1 running, ? helps, q quits"),
            (1, " xsort sort -m 1G -T /nvme1 data -o sorted"),
            (2, " job 4711, running for 2 m 05 s, ada, in /home/ada"),
            (3, ""),
            (4, &bar),
            (5, " 512 MB/s now, whole: 78% done, 480 MB/s on average, 7 s left"),
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
        assert!(rows[0].ends_with(" 9 running, 4.61 GB/s, ? helps, q quits"), "{}", rows[0]);
        let listed: Vec<&str> = rows[1..=LISTED_MAX].iter().map(|row| &row[..6]).collect();
        assert_eq!(listed, ["  1005", "  1006", "> 1007", "  1008", "  1009"]);
        assert_eq!(
            rows[3],
            "> 1007  running  78%  7 s left  512 MB/s  merge  xsort sort -m 1G -T /nvme1 dat…"
        );
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
        assert!(rows[5].starts_with(" killed; c clears its status ("), "{}", rows[5]);
    }

    /// Tests that running jobs come first, that dead ones are dimmed, and that there is no colour
    /// if the user wants none.
    #[test]
    fn the_dead_are_dimmed() {
        let home = tempfile::tempdir().unwrap();
        drop(jobs(home.path(), &[1, 2]));
        let (_alive, jobs) = jobs(home.path(), &[3]);
        let buffer =
            buffer(&Screen { message: "hello", has_colour: false, ..screen(&jobs, 0) }, (80, 24));
        let rows = rows_of(&buffer);
        assert!(rows[0].contains("1 running, 2 dead, ? helps"), "{}", rows[0]);
        let is_dim = |y| buffer[(0, y)].modifier.contains(Modifier::DIM);
        assert_eq!([1, 2, 3].map(is_dim), [false, true, true], "{rows:?}");
        assert!(
            rows[1].starts_with("> 3  running") && rows[2].starts_with("  1  dead"),
            "{rows:?}"
        );
        assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset), "no colour");
        assert_eq!(rows[23], "hello");
    }

    #[test]
    fn keys_are_explained() {
        for (size, expected) in
            [((80, 24), " c c clear this job"), ((20, 24), " C C clear all dead")]
        {
            let rows = rows_of(&buffer(&Screen { shows_keys: true, ..screen(&[], 0) }, size));
            assert!(rows.iter().any(|row| row.starts_with(expected)), "{rows:?}");
        }
    }

    /// Tests that every figure on a screen of any width is also on the widest one, or ends in an
    /// ellipsis.
    #[test]
    fn no_figure_is_cut_without_a_sign_at_any_width() {
        let home = tempfile::tempdir().unwrap();
        drop(jobs(home.path(), &[3_000_001]));
        let (_alive, jobs) = jobs(home.path(), &[4711, 4_000_001]);
        let screens = [
            (screen(&jobs, 0), ""),
            (screen(&jobs, 1), "123456789 files removed, 987654321 not removed"),
            (screen(&jobs, 2), ""),
            (screen(&[], 0), ""),
            (Screen { shows_keys: true, ..screen(&jobs, 0) }, ""),
        ];
        let is_apart = |letter: char| letter == ' ' || "█░▁▂▃▄▅▆▇".contains(letter);
        let figures = |rows: &[String]| -> BTreeSet<String> {
            // The highest rate of the curve depends on the width of the screen: it is the mean over
            // one column.
            let rows = rows.iter().filter(|row| !row.contains("up to"));
            let words = rows.flat_map(|row| row.split(is_apart));
            let words = words.map(|word| word.trim_end_matches([',', ';']));
            words
                .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
                .map(str::to_owned)
                .collect()
        };
        for (screen, message) in screens {
            let screen = Screen { message, ..screen };
            let whole = figures(&rows_of(&buffer(&screen, (400, 40))));
            // All widths at which columns are left out, and some larger ones.
            for width in (20..=120).chain((125..=220).step_by(5)) {
                let rows = rows_of(&buffer(&screen, (width, 40)));
                let unknown: Vec<_> = figures(&rows)
                    .into_iter()
                    .filter(|word| !whole.contains(word) && !word.ends_with('…'))
                    .collect();
                assert_eq!(unknown, [""; 0], "{width}:\n{}", rows.join("\n"));
            }
        }
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
