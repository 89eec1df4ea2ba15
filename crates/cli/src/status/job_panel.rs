//! One job on the full screen.

use super::detail::{drive_line, memory, moved, pieces};
use super::job_state::{preposition, trouble};
use super::words::{
    columns_of, command_line, cut, fitting, folded, how_far, leftovers_text, phase_name,
    phase_share, rate, span,
};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols;
use ratatui::text::{Line, Span};
use ratatui::widgets::{LineGauge, Paragraph, Sparkline};
use xsort_status::{FoundJob, Leftovers, Life, Snapshot, Stage};

/// Columns of the name of a stage; the next constant is the width of its bar.
const NAME_COLUMNS: u16 = 9;
const STAGE_COLUMNS: usize = 24;
/// Columns for the text next to a stage's bar. With fewer, the bar gets shorter.
const STAGE_TEXT_COLUMNS: usize = 32;
/// The least width of a bar that shows anything.
const BAR_COLUMNS_MIN: usize = 4;
/// The number of notices shown, the latest ones.
const NOTICES_MAX: usize = 2;

/// One job in full.
pub(super) struct JobPanel<'a> {
    pub(super) job: &'a FoundJob,
    /// What the job left, if it was killed.
    pub(super) leftovers: &'a Leftovers,
    pub(super) has_colour: bool,
}

impl JobPanel<'_> {
    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = usize::from(area.width);
        let Some(snapshot) = self.job.snapshot() else {
            let JobPanel { job, .. } = self;
            let text = format!("job {}, {}: {}", job.name(), job.state(), trouble(job));
            let lines: Vec<Line<'_>> = folded(&text, width).into_iter().map(Line::from).collect();
            return frame.render_widget(Paragraph::new(lines), area);
        };
        let resources = self.resource_lines(snapshot, width);
        let heights = [
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(snapshot.stages.len() as u16),
            Constraint::Length(resources.len() as u16),
        ];
        let [command, identity, _, bar, rates, curve, stages, rest] =
            Layout::vertical(heights).areas(area);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        frame.render_widget(Line::styled(cut(&command_line(snapshot), width), bold), command);
        self.draw_identity(frame, snapshot, identity);
        self.draw_bar(frame, snapshot, bar);
        frame.render_widget(Line::from(self.rates(snapshot, width)), rates);
        self.draw_curve(frame, snapshot, curve);
        let stage_line = |stage| self.stage_line(stage, snapshot.threads, width);
        let stage_lines: Vec<Line<'_>> = snapshot.stages.iter().map(stage_line).collect();
        frame.render_widget(Paragraph::new(stage_lines), stages);
        frame.render_widget(Paragraph::new(resources), rest);
    }

    fn colour(&self, colour: Color) -> Style {
        if self.has_colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn draw_identity(&self, frame: &mut Frame<'_>, snapshot: &Snapshot, area: Rect) {
        let state = self.job.state();
        let style = match (self.job.life(), state) {
            (Life::Dead, _) | (_, "cooling") => self.colour(Color::Red),
            (Life::Running, "running") => self.colour(Color::Green),
            _ => self.colour(Color::Yellow),
        };
        let rest = format!(
            " {} {}, {}, in {}",
            preposition(self.job),
            span(snapshot.seconds),
            snapshot.job.user,
            snapshot.job.directory
        );
        let name = format!("job {}, ", self.job.name());
        let spans = vec![Span::raw(name), Span::styled(state, style), Span::raw(rest)];
        frame.render_widget(cut_line(spans, usize::from(area.width)), area);
    }

    /// Draws the phase, a bar if there is space for one, and how far the phase is.
    fn draw_bar(&self, frame: &mut Frame<'_>, snapshot: &Snapshot, area: Rect) {
        let width = usize::from(area.width);
        let name = phase_name(snapshot);
        let mut far = how_far(snapshot);
        let share = phase_share(snapshot);
        if let Some(share) = share.filter(|_| columns_of(name) + 1 + columns_of(&far) > width) {
            far = percent(share);
        }
        let bar_columns = width.saturating_sub(columns_of(name) + columns_of(&far) + 2);
        let Some(share) = share.filter(|_| bar_columns >= BAR_COLUMNS_MIN) else {
            let text = fitting(&[(0, name.to_owned()), (0, far)], width);
            return frame.render_widget(Line::from(text), area);
        };
        let columns = [
            Constraint::Length(columns_of(name) as u16 + 1),
            Constraint::Min(0),
            Constraint::Length(columns_of(&far) as u16 + 1),
        ];
        let [left, bar, right] = Layout::horizontal(columns).areas(area);
        frame.render_widget(Line::from(name), left);
        let gauge = LineGauge::default()
            .ratio(share)
            .label("")
            .filled_symbol(symbols::block::FULL)
            .unfilled_symbol(symbols::shade::LIGHT)
            .filled_style(self.colour(Color::Cyan))
            .unfilled_style(self.colour(Color::DarkGray));
        frame.render_widget(gauge, bar);
        frame.render_widget(Line::from(far).right_aligned(), right);
    }

    /// The rates now and on average, how far the whole job is, and the time left if it can be
    /// predicted.
    fn rates(&self, snapshot: &Snapshot, width: usize) -> String {
        match self.job.life() {
            Life::Running => {
                let now = format!("{} now", rate(snapshot.bytes_per_second_now));
                let mean = format!("{} on average", rate(snapshot.bytes_per_second_mean));
                let done = snapshot.share_done.map(|share| percent(share) + " done");
                let left = snapshot.seconds_left.map(|seconds| span(seconds) + " left");
                let whole = format!("whole: {}", done.as_ref().unwrap_or(&mean));
                let mut pieces = vec![(2, now), (0, whole)];
                pieces.extend(done.map(|_| (3, mean)));
                pieces.extend(left.map(|left| (1, left)));
                fitting(&pieces, width)
            }
            Life::Dead => {
                let leftovers = leftovers_text(self.leftovers);
                cut(&format!("killed; c clears {leftovers}"), width)
            }
            Life::Over => "it is over".to_owned(),
        }
    }

    /// Draws the rate since the job began, scaled to the width.
    fn draw_curve(&self, frame: &mut Frame<'_>, snapshot: &Snapshot, area: Rect) {
        if area.height < 2 {
            return;
        }
        let [label, body] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        let columns = columns(&snapshot.curve, usize::from(body.width));
        let peak = columns.iter().copied().max().unwrap_or(0);
        let peak_text = format!("up to {}", rate(peak as f64));
        let text =
            fitting(&[(1, "rate since the beginning".into()), (0, peak_text)], body.width.into());
        frame.render_widget(Line::from(text).style(self.colour(Color::DarkGray)), label);
        let sparkline =
            Sparkline::default().data(&columns).max(peak.max(1)).style(self.colour(Color::Cyan));
        frame.render_widget(sparkline, body);
    }

    /// The line of a stage: its threads, dark for those that work and light for those that wait,
    /// and the most frequent cause of waits. On a narrow screen the bar is short, or absent.
    fn stage_line(&self, stage: &Stage, threads: u64, width: usize) -> Line<'_> {
        let most = stage.waits.iter().max_by(|a, b| a.threads.total_cmp(&b.threads));
        let waits = match most.filter(|wait| wait.threads >= 0.05) {
            Some(wait) => format!("  {:.1} wait for {}", wait.threads, wait.on),
            None => String::new(),
        };
        let name = format!("{:<1$}", stage.name, usize::from(NAME_COLUMNS));
        let text = format!("  {:.1} busy{waits}", stage.busy_threads);
        let others = columns_of(&name) + STAGE_TEXT_COLUMNS;
        let bar = width.saturating_sub(others).min(STAGE_COLUMNS);
        let all = (threads.max(1) as f64).max(stage.busy_threads);
        let waiting: f64 = stage.waits.iter().map(|wait| wait.threads).sum();
        let cells = |threads: f64| ((threads / all * bar as f64).round() as usize).min(bar);
        let busy = cells(stage.busy_threads);
        let idle = cells(waiting).min(bar - busy);
        let spans = vec![
            Span::raw(name),
            Span::styled(symbols::block::FULL.repeat(busy), self.colour(Color::Green)),
            Span::styled(symbols::shade::LIGHT.repeat(idle), self.colour(Color::Yellow)),
            Span::raw(" ".repeat(bar - busy - idle)),
            Span::raw(text),
        ];
        cut_line(spans, width)
    }

    /// Lines on drives, memory, bytes moved, and the latest notices.
    fn resource_lines<'s>(&self, snapshot: &'s Snapshot, width: usize) -> Vec<Line<'s>> {
        let mut lines = Vec::new();
        for drive in &snapshot.drives {
            let is_hot = drive
                .celsius
                .zip(snapshot.limit_celsius)
                .is_some_and(|(celsius, limit)| celsius > limit);
            let style = if is_hot { self.colour(Color::Red) } else { Style::new() };
            lines.push(Line::styled(cut(&drive_line(drive), width), style));
        }
        let pieces = pieces(snapshot).map(|pieces| format!("; {pieces}"));
        let memory = format!("memory   {}{}", memory(snapshot), pieces.unwrap_or_default());
        lines.push(Line::from(cut(&memory, width)));
        if let Some(moved) = moved(snapshot) {
            lines.push(Line::from(cut(&format!("moved    {moved}"), width)));
        }
        let last = snapshot.notices.len().saturating_sub(NOTICES_MAX);
        for notice in &snapshot.notices[last..] {
            lines.push(Line::styled(cut(notice, width), self.colour(Color::Yellow)));
        }
        lines
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", (100.0 * share).floor())
}

/// A line of at most `columns` columns; an ellipsis marks a cut.
fn cut_line(spans: Vec<Span<'_>>, columns: usize) -> Line<'_> {
    if spans.iter().map(Span::width).sum::<usize>() <= columns {
        return Line::from(spans);
    }
    let mut left = columns;
    let mut line = Line::default();
    for span in spans {
        if span.width() >= left {
            // The space is cut, too, so that an ellipsis appears even if the span itself fits.
            let content = cut(&format!("{} ", span.content), left);
            line.push_span(Span::styled(content, span.style));
            break;
        }
        left -= span.width();
        line.push_span(span);
    }
    line
}

/// Scales a curve to `width` columns. Each is the mean of the points that fall into it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_stretched_and_squeezed() {
        assert_eq!(columns(&[1.0, 3.0], 4), [1, 1, 3, 3]);
        assert_eq!(columns(&[1.0, 3.0, 5.0, 7.0], 2), [2, 6]);
        assert_eq!(columns(&[], 4), [0; 0]);
        assert_eq!(columns(&[1.0], 0), [0; 0]);
        for (points, width) in [(120, 78), (7, 78), (119, 118), (1, 1)] {
            let curve = vec![5.0; points];
            assert_eq!(columns(&curve, width), vec![5; width], "{points} in {width}");
        }
    }
}
