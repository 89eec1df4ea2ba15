//! The full screen, drawn: made for 80 by 24, and for whatever it is resized to.
//!
//! ```text
//!  xsort status                                              2 jobs, q quits
//!  > 4711 running  merge       57%   512 MB/s     3 s left  xsort sort ...     only if there are several
//!  xsort sort -m 1G data -o sorted
//!  job 4711, running for 42 s, user, directory
//!
//!  merge  ██████████████████████▌                         57% of 8.00 GB
//!  512 MB/s, whole: 78% done, 480 MB/s on average, 3 s left
//!   rate curve, as high as there is room for
//!  stages: a lane for each, threads that work and threads that wait
//!  drives, memory, the last notices
//! ```
//!
//! It only draws: what there is to see comes as an argument, so that tests see what users do.

use super::detail::{drive_line, memory, moved, pieces, since, whole};
use super::state;
use super::table::left_in_words;
use super::words::{command_line, cut, how_far, phase_name, phase_share, rate, span};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols;
use ratatui::text::{Line, Span};
use ratatui::widgets::{LineGauge, Paragraph, Sparkline};
use xsort_status::{Found, Life, Snapshot, Stage, leftovers};

/// Jobs that the list shows at once.
const LISTED_MAX: usize = 5;
/// Columns of a stage's name, and of a lane.
const NAME_COLUMNS: u16 = 9;
const LANE_COLUMNS: usize = 24;
/// Notices that are shown.
const NOTICES_MAX: usize = 2;

/// What is to be seen.
pub(super) struct Screen<'a> {
    pub(super) jobs: &'a [Found],
    /// Which of them.
    pub(super) chosen: usize,
    pub(super) has_colour: bool,
}

impl Screen<'_> {
    /// Draws everything.
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let listed = if self.jobs.len() > 1 { self.jobs.len().min(LISTED_MAX) } else { 0 };
        let [title, list, rest] =
            Layout::vertical([Constraint::Length(1), Constraint::Length(listed as u16), Constraint::Min(0)])
                .areas(frame.area());
        self.draw_title(frame, title);
        self.draw_list(frame, list);
        match self.jobs.get(self.chosen) {
            Some(job) => self.draw_job(frame, job, rest),
            None => {
                frame.render_widget(Paragraph::new("\n  No job runs. New ones appear by themselves."), rest);
            }
        }
    }

    fn colour(&self, colour: Color) -> Style {
        if self.has_colour { Style::new().fg(colour) } else { Style::new() }
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
        frame.render_widget(Line::from(format!("{jobs}, {keys} ")).style(style).right_aligned(), area);
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
                None => format!("{mark} {:>7} {:<8} {}", job.name(), state(job), job.trouble().unwrap_or("")),
            };
            let line = Line::from(cut(&text, usize::from(area.width)));
            if number == self.chosen { line.style(Style::new().add_modifier(Modifier::BOLD)) } else { line }
        });
        frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
    }

    fn draw_job(&self, frame: &mut Frame<'_>, job: &Found, area: Rect) {
        let area = area.inner(ratatui::layout::Margin { horizontal: 1, vertical: 0 });
        let Some(snapshot) = job.snapshot() else {
            let what = job.trouble().unwrap_or("it said nothing");
            return frame
                .render_widget(Paragraph::new(format!("job {}, {}: {what}", job.name(), state(job))), area);
        };
        let last_notices = snapshot.notices.len().saturating_sub(NOTICES_MAX);
        let notices = &snapshot.notices[last_notices..];
        let travelled = moved(snapshot);
        let heights = [
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(snapshot.stages.len() as u16),
            Constraint::Length(snapshot.drives.len() as u16),
            Constraint::Length(1),
            Constraint::Length(u16::from(travelled.is_some())),
            Constraint::Length(notices.len() as u16),
        ];
        let [command, identity, _, bar, pace, curve, stages, drives, holds, has_moved, said] =
            Layout::vertical(heights).areas(area);
        let width = usize::from(area.width);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        frame.render_widget(Line::styled(cut(&command_line(snapshot), width), bold), command);
        self.draw_identity(frame, job, snapshot, identity);
        self.draw_bar(frame, snapshot, bar);
        let pace_text = match job.life() {
            Life::Running => {
                format!("{} now; whole: {}", rate(snapshot.bytes_per_second_now), whole(snapshot))
            }
            Life::Dead => {
                format!("killed; left {}; xsort status --clear removes it", left_in_words(&leftovers(job)))
            }
            Life::Over => "it is over".to_owned(),
        };
        frame.render_widget(Line::from(cut(&pace_text, width)), pace);
        self.draw_curve(frame, snapshot, curve);
        let lanes: Vec<Line<'_>> =
            snapshot.stages.iter().map(|stage| self.lane(stage, snapshot.threads)).collect();
        frame.render_widget(Paragraph::new(lanes), stages);
        let lines = snapshot.drives.iter().map(|drive| {
            let is_hot =
                drive.celsius.zip(snapshot.limit_celsius).is_some_and(|(celsius, limit)| celsius > limit);
            let style = if is_hot { self.colour(Color::Red) } else { Style::new() };
            Line::styled(cut(&drive_line(drive), width), style)
        });
        frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), drives);
        let pieces = pieces(snapshot).map(|pieces| format!("; {pieces}"));
        let text = format!("memory   {}{}", memory(snapshot), pieces.unwrap_or_default());
        frame.render_widget(Line::from(cut(&text, width)), holds);
        if let Some(text) = travelled {
            frame.render_widget(Line::from(cut(&format!("moved    {text}"), width)), has_moved);
        }
        let lines = notices.iter().map(|line| Line::styled(cut(line, width), self.colour(Color::Yellow)));
        frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), said);
    }

    fn draw_identity(&self, frame: &mut Frame<'_>, job: &Found, snapshot: &Snapshot, area: Rect) {
        let state = state(job);
        let style = match (job.life(), state) {
            (Life::Dead, _) | (_, "cooling") => self.colour(Color::Red),
            (Life::Running, "running") => self.colour(Color::Green),
            _ => self.colour(Color::Yellow),
        };
        let rest = format!(
            " {} {}, {}, in {}",
            since(job),
            span(snapshot.seconds),
            snapshot.job.user,
            snapshot.job.directory
        );
        let name = format!("job {}, ", job.name());
        let room = usize::from(area.width).saturating_sub(name.len() + state.len());
        let spans = [Span::raw(name), Span::styled(state, style), Span::raw(cut(&rest, room))];
        frame.render_widget(Line::from_iter(spans), area);
    }

    fn draw_bar(&self, frame: &mut Frame<'_>, snapshot: &Snapshot, area: Rect) {
        let text = how_far(snapshot);
        let columns = [
            Constraint::Length(phase_name(snapshot).chars().count() as u16 + 1),
            Constraint::Min(0),
            Constraint::Length(text.len() as u16 + 1),
        ];
        let [name, bar, far] = Layout::horizontal(columns).areas(area);
        frame.render_widget(Line::from(phase_name(snapshot)), name);
        if let Some(share) = phase_share(snapshot) {
            let gauge = LineGauge::default()
                .ratio(share)
                .label("")
                .filled_symbol(symbols::block::FULL)
                .unfilled_symbol(symbols::shade::LIGHT)
                .filled_style(self.colour(Color::Cyan))
                .unfilled_style(self.colour(Color::DarkGray));
            frame.render_widget(gauge, bar);
        }
        frame.render_widget(Line::from(text).right_aligned(), far);
    }

    /// The rate over the whole of the job's life, stretched or squeezed to the width.
    fn draw_curve(&self, frame: &mut Frame<'_>, snapshot: &Snapshot, area: Rect) {
        if area.height < 2 {
            return;
        }
        let [label, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        let columns = columns(&snapshot.curve, usize::from(body.width));
        let peak = columns.iter().copied().max().unwrap_or(0);
        let text = format!("rate since the beginning, up to {}", rate(peak as f64));
        frame.render_widget(Line::from(text).style(self.colour(Color::DarkGray)), label);
        let sparkline = Sparkline::default().data(&columns).max(peak.max(1)).style(self.colour(Color::Cyan));
        frame.render_widget(sparkline, body);
    }

    /// A stage: threads that work are dark, threads that wait are light, and for what.
    fn lane(&self, stage: &Stage, threads: u64) -> Line<'_> {
        let all = (threads.max(1) as f64).max(stage.busy_threads);
        let waiting: f64 = stage.waits.iter().map(|wait| wait.threads).sum();
        let cells = |threads: f64| ((threads / all * LANE_COLUMNS as f64).round() as usize).min(LANE_COLUMNS);
        let busy = cells(stage.busy_threads);
        let idle = cells(waiting).min(LANE_COLUMNS - busy);
        let most = stage.waits.iter().max_by(|a, b| a.threads.total_cmp(&b.threads));
        let waits = match most.filter(|wait| wait.threads >= 0.05) {
            Some(wait) => format!("  {:.1} wait for {}", wait.threads, wait.on),
            None => String::new(),
        };
        Line::from(vec![
            Span::raw(format!("{:<1$}", stage.name, usize::from(NAME_COLUMNS))),
            Span::styled(symbols::block::FULL.repeat(busy), self.colour(Color::Green)),
            Span::styled(symbols::shade::LIGHT.repeat(idle), self.colour(Color::Yellow)),
            Span::raw(" ".repeat(LANE_COLUMNS - busy - idle)),
            Span::raw(format!("  {:.1} busy{waits}", stage.busy_threads)),
        ])
    }
}

/// A curve in so many columns: each the mean of the stretch of time that it stands for.
fn columns(curve: &[f64], width: usize) -> Vec<u64> {
    if curve.is_empty() || width == 0 {
        return Vec::new();
    }
    let column = |number: usize| {
        let from = number * curve.len() / width;
        let to = ((number + 1) * curve.len()).div_ceil(width).clamp(from + 1, curve.len());
        let stretch = &curve[from..to];
        (stretch.iter().sum::<f64>() / stretch.len() as f64) as u64
    };
    (0..width).map(column).collect()
}
