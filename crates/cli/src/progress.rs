//! What a running job shows: a bar on a terminal, lines in a log, or nothing; and its notices.
//!
//! The pipelines write on a board; the reporter's thread draws what is there.

use crate::bar::{Bar, Frame};
use crate::board::{Board, Phase};
use crate::output::write_stderr;
use crate::publish::{Publication, Uses};
use crate::reporter::{Duties, Reporter, end_publication};
use crate::settings::{self, Voice};
use crate::signals::Stop;
use crate::size::Decimal;
use crate::thermostat::Thermostat;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xsort_disk::Gate;
use xsort_extsort::{Gauges, Observer};

const BAR_PERIOD: Duration = Duration::from_millis(100);
const LINE_PERIOD: Duration = Duration::from_secs(1);

/// Watches one job.
pub(crate) struct Console {
    // Before the bar: it draws.
    reporter: Option<Reporter>,
    board: Arc<Board>,
    bar: Option<Arc<Bar>>,
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
        let bar = (voice.progress == settings::Progress::Bar).then(|| Arc::new(Bar::new()));
        let paint: Option<(Duration, Box<dyn FnMut() + Send>)> = match (&bar, voice.progress) {
            (Some(bar), _) => {
                Some((BAR_PERIOD, Box::new(paint_bar(Arc::clone(&board), Arc::clone(bar)))))
            }
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
            Thermostat::new(
                limit,
                gate,
                directories,
                Box::new(say),
                Box::new(move || stop.is_set()),
            )
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
        let speaker = bar.clone();
        let duties = Duties {
            paint,
            tell: Box::new(move || {
                above(teller.1.as_ref(), &format!("{command}: {}", where_it_is(&teller.0)));
            }),
            publication,
            say: Box::new(move |line| say(speaker.as_ref(), voice.quiet, line)),
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
            Some(bar) => bar.above(say),
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
            bar.clear();
        }
    }
}

/// A notice, unless only errors are wanted.
fn say(bar: Option<&Arc<Bar>>, quiet: bool, line: &str) {
    if !quiet {
        above(bar, &format!("note: {line}"));
    }
}

/// A line on standard error, above the bar if there is one.
fn above(bar: Option<&Arc<Bar>>, line: &str) {
    match bar {
        Some(bar) => bar.above(|| write_stderr(line)),
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

fn paint_bar(board: Arc<Board>, bar: Arc<Bar>) -> impl FnMut() + Send {
    move || {
        let phase = board.phase();
        if !phase.name.is_empty() {
            let seconds = phase.began.elapsed().as_secs_f64();
            bar.draw(&frame(phase, board.done_bytes(), board.files(), seconds));
        }
    }
}

/// What a phase looks like; one whose size nobody knows has nothing to measure, and what is done is
/// all that there is to tell.
fn frame(phase: Phase, done: u64, files: u64, seconds: f64) -> Frame {
    let Phase { name, bytes, .. } = phase;
    if bytes == 0 {
        let figures = if done > 0 || files > 0 { sum(done, files, seconds) } else { String::new() };
        return Frame { name, share: None, figures };
    }
    let figures = format!(
        "{} of {}  {}",
        Decimal(done as f64),
        Decimal(bytes as f64),
        pace(bytes, done, seconds)
    );
    Frame { name, share: Some(done as f64 / bytes as f64), figures }
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

/// What is done of a phase whose size nobody knows, and how fast: in files, if these are what
/// counts.
fn sum(done: u64, files: u64, seconds: f64) -> String {
    let seconds = seconds.max(1e-3);
    match files {
        0 => format!("{}, {}/s", Decimal(done as f64), Decimal(done as f64 / seconds)),
        _ => format!(
            "{files} files, {}, {:.0} files/s",
            Decimal(done as f64),
            files as f64 / seconds
        ),
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
    fn lines_say_how_far_and_how_fast() {
        let board = Board::new();
        board.begin_phase("merge", 8_000_000_000);
        let phase = board.phase();
        assert_eq!(
            line(&phase, 2_000_000_000, 0, 1.0),
            "merge: 25% of 8.00 GB, 2.00 GB/s, 3 s left"
        );
        assert_eq!(line(&phase, 0, 0, 1.0), "merge: 0% of 8.00 GB, 0 B/s, unknown time left");
        let shown = frame(phase, 2_000_000_000, 0, 1.0);
        assert_eq!(
            (shown.share, &*shown.figures),
            (Some(0.25), "2.00 GB of 8.00 GB  2.00 GB/s, 3 s left")
        );
        board.begin_phase("merge", 0);
        let unknown = board.phase();
        assert_eq!(line(&unknown, 2_000_000_000, 0, 1.0), "merge: 2.00 GB, 2.00 GB/s");
        assert_eq!(line(&unknown, 2_000_000, 500, 0.5), "merge: 500 files, 2.00 MB, 1000 files/s");
        assert_eq!(frame(unknown.clone(), 0, 0, 0.5).figures, "");
        let shown = frame(unknown, 2_000_000, 500, 0.5);
        assert_eq!((shown.share, &*shown.figures), (None, "500 files, 2.00 MB, 1000 files/s"));
    }
}
