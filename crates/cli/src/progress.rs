//! What a running job shows: a bar on a terminal, lines in a log, or nothing; and its notices.
//!
//! The pipelines write on a board; the reporter's thread draws what is there.

use crate::board::{Board, Phase};
use crate::output::write_stderr;
use crate::publish::{Publication, Uses};
use crate::reporter::{Duties, Reporter, end_publication};
use crate::settings::{self, Voice};
use crate::signals::Stop;
use crate::size::Decimal;
use crate::thermostat::Thermostat;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use xsort_disk::Gate;
use xsort_extsort::{Gauges, Observer};

const BAR_PERIOD: Duration = Duration::from_millis(100);
const LINE_PERIOD: Duration = Duration::from_secs(1);

/// Watches one job.
pub(crate) struct Console {
    // Before the bar: it draws.
    reporter: Option<Reporter>,
    board: Arc<Board>,
    bar: Option<ProgressBar>,
    quiet: bool,
    stop: Stop,
}

/// What the console has to know of a job.
pub(crate) struct Task<'a> {
    /// Name of the command.
    pub(crate) command: &'static str,
    pub(crate) voice: Voice,
    pub(crate) uses: Uses,
    /// The limit in degrees Celsius, and the gate to close above it.
    pub(crate) limit: Option<(f64, Arc<Gate>)>,
    /// What tells the job to stop; `None` if signals end it where it stands.
    pub(crate) stop: Option<&'a Stop>,
}

impl Console {
    pub(crate) fn new(task: Task<'_>) -> Console {
        let Task { command, voice, uses, limit, stop } = task;
        let board = Arc::new(Board::new());
        let bar = (voice.progress == settings::Progress::Bar).then(bar);
        let paint: Option<(Duration, Box<dyn FnMut() + Send>)> = match (&bar, voice.progress) {
            (Some(bar), _) => Some((BAR_PERIOD, Box::new(paint_bar(Arc::clone(&board), bar.clone())))),
            (None, settings::Progress::Lines) => {
                Some((LINE_PERIOD, Box::new(paint_lines(Arc::clone(&board)))))
            }
            (None, _) => None,
        };
        let is_stopped = stop.cloned().unwrap_or_default();
        let mut thermostat = limit.map(|(limit, gate)| {
            let directories = uses.directories.iter().map(|(path, _)| path.clone()).collect();
            let (bar, stop) = (bar.clone(), is_stopped.clone());
            let say = move |line: &str| say(bar.as_ref(), voice.quiet, line);
            Thermostat::new(limit, gate, directories, Box::new(say), Box::new(move || stop.is_set()))
        });
        if let Some(thermostat) = &mut thermostat {
            // Before the first transfer.
            thermostat.look(&board);
        }
        let publication = Arc::new(Mutex::new(Publication::new(command, uses)));
        if let Some(stop) = stop {
            let publication = Arc::clone(&publication);
            stop.before_leaving(move || end_publication(&publication));
        }
        let teller = (Arc::clone(&board), bar.clone());
        let duties = Duties {
            paint,
            tell: Box::new(move || {
                above(teller.1.as_ref(), &format!("{command}: {}", where_it_is(&teller.0)));
            }),
            publication,
            thermostat,
            dies_of_signals: stop.is_none(),
        };
        let reporter = Reporter::start(&board, duties);
        Console { reporter, board, bar, quiet: voice.quiet, stop: is_stopped }
    }
}

impl Console {
    /// So many more files were counted.
    pub(crate) fn count_files(&self, files: u64) {
        self.board.count_files(files);
    }

    /// Has `say` speak on standard error, above the bar if there is one.
    pub(crate) fn above(&self, say: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }
}

impl Observer for Console {
    fn phase(&self, name: &str, bytes: u64) {
        self.board.begin_phase(name, bytes);
    }

    fn advance(&self, bytes: u64) {
        self.board.advance(bytes);
    }

    fn notice(&self, line: &str) {
        self.board.notice(line);
        say(self.bar.as_ref(), self.quiet, line);
    }

    fn is_cancelled(&self) -> bool {
        self.stop.is_set()
    }

    fn expect(&self, phases: &[(&str, u64)]) {
        self.board.expect(phases);
    }

    fn show(&self, gauges: Gauges) {
        self.board.show(gauges);
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.reporter = None;
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A notice, unless only errors are wanted.
fn say(bar: Option<&ProgressBar>, quiet: bool, line: &str) {
    if !quiet {
        above(bar, &format!("note: {line}"));
    }
}

/// A line on standard error, above the bar if there is one.
fn above(bar: Option<&ProgressBar>, line: &str) {
    match bar {
        Some(bar) => bar.suspend(|| write_stderr(line)),
        None => write_stderr(line),
    }
}

/// The phase, how far, how fast, how much longer.
fn where_it_is(board: &Board) -> String {
    let phase = board.phase();
    if phase.name.is_empty() {
        return "it begins".into();
    }
    line(&phase, board.done_bytes(), board.files(), phase.began.elapsed().as_secs_f64())
}

fn bar() -> ProgressBar {
    ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr()).with_style(style(
        "",
        0,
        Instant::now(),
        Arc::default(),
    ))
}

/// What a phase of so many bytes looks like; one of none has nothing to measure. The name is part of the template: as a message it would
/// be drawn at once, beside the length of the phase before.
fn style(name: &str, bytes: u64, began: Instant, files: Arc<AtomicU64>) -> ProgressStyle {
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let bar = if colour { "{wide_bar:.cyan/dim}" } else { "{wide_bar}" };
    let figures = "{decimal_bytes} of {decimal_total_bytes}  {pace}";
    let name = format!("{name:>10}").replace('{', "{{").replace('}', "}}");
    let template = if bytes == 0 { format!("{name} {{sum}}") } else { format!("{name} {bar} {figures}") };
    // Not the bar's own rate, which starts with its first frame: the bytes before that would have taken no time.
    let pace = move |state: &ProgressState, out: &mut dyn fmt::Write| {
        // What can't be written is not shown.
        let _ = out.write_str(&pace(bytes, state.pos(), began.elapsed().as_secs_f64()));
    };
    // Of a phase whose size nobody knows, what is done is all that there is to tell.
    let sum = move |state: &ProgressState, out: &mut dyn fmt::Write| {
        let files = files.load(Relaxed);
        if state.pos() > 0 || files > 0 {
            let _ = out.write_str(&sum(state.pos(), files, began.elapsed().as_secs_f64()));
        }
    };
    let style = ProgressStyle::with_template(&template).expect("the template is constant");
    style.with_key("pace", pace).with_key("sum", sum)
}

fn paint_bar(board: Arc<Board>, bar: ProgressBar) -> impl FnMut() + Send {
    let mut shown = None;
    let files = Arc::<AtomicU64>::default();
    move || {
        let Phase { name, bytes, began, .. } = board.phase();
        if name.is_empty() {
            return;
        }
        if shown != Some(began) {
            shown = Some(began);
            bar.set_style(style(&name, bytes, began, Arc::clone(&files)));
        }
        files.store(board.files(), Relaxed);
        frame(&bar, board.done_bytes(), bytes);
    }
}

/// Draws position and length at once: no frame shows one of them without the other.
fn frame(bar: &ProgressBar, done: u64, bytes: u64) {
    bar.update(|state| {
        state.set_len(bytes);
        state.set_pos(done);
    });
}

fn paint_lines(board: Arc<Board>) -> impl FnMut() + Send {
    move || {
        if !board.phase().name.is_empty() {
            write_stderr(&where_it_is(&board));
        }
    }
}

/// One line of a log: how far, how fast, how much longer.
fn line(phase: &Phase, done: u64, files: u64, seconds: f64) -> String {
    if phase.bytes == 0 {
        return format!("{}: {}", phase.name, sum(done, files, seconds));
    }
    let percent = 100 * u128::from(done.min(phase.bytes)) / u128::from(phase.bytes.max(1));
    let pace = pace(phase.bytes, done, seconds);
    format!("{}: {percent}% of {}, {pace}", phase.name, Decimal(phase.bytes as f64))
}

/// What is done of a phase whose size nobody knows, and how fast: in files, if these are what counts.
fn sum(done: u64, files: u64, seconds: f64) -> String {
    let seconds = seconds.max(1e-3);
    match files {
        0 => format!("{}, {}/s", Decimal(done as f64), Decimal(done as f64 / seconds)),
        _ => format!("{files} files, {}, {:.0} files/s", Decimal(done as f64), files as f64 / seconds),
    }
}

/// How fast, and how much longer.
fn pace(bytes: u64, done: u64, seconds: f64) -> String {
    let rate = done as f64 / seconds.max(1e-3);
    let left = match bytes.saturating_sub(done) as f64 / rate {
        left if left.is_finite() => format!("{left:.0} s left"),
        _ => "unknown time left".into(),
    };
    format!("{}/s, {left}", Decimal(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_makes_a_bar() {
        for name in ["form runs", "", "{brace", "}", "{msg}"] {
            let bar = ProgressBar::hidden().with_style(style(name, 10, Instant::now(), Arc::default()));
            frame(&bar, 7, 10);
            assert_eq!((bar.position(), bar.length()), (7, Some(10)));
        }
    }

    #[test]
    fn lines_say_how_far_and_how_fast() {
        let board = Board::new();
        board.begin_phase("merge", 8_000_000_000);
        let phase = board.phase();
        assert_eq!(line(&phase, 2_000_000_000, 0, 1.0), "merge: 25% of 8.00 GB, 2.00 GB/s, 3 s left");
        assert_eq!(line(&phase, 0, 0, 1.0), "merge: 0% of 8.00 GB, 0 B/s, unknown time left");
        board.begin_phase("merge", 0);
        let unknown = board.phase();
        assert_eq!(line(&unknown, 2_000_000_000, 0, 1.0), "merge: 2.00 GB, 2.00 GB/s");
        assert_eq!(line(&unknown, 2_000_000, 500, 0.5), "merge: 500 files, 2.00 MB, 1000 files/s");
    }
}
