//! What a running job shows: a bar on a terminal, lines in a log, or nothing; and its notices.
//!
//! The pipelines only add to a counter. A thread of its own draws ten times a second, so that a terminal that is stopped (Ctrl-S)
//! or slow never holds a worker up.

use crate::output::write_stderr;
use crate::settings::{self, Voice};
use crate::signals::Stop;
use crate::size::Decimal;
use crossbeam_channel::{RecvTimeoutError, Sender};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use xsort_extsort::Observer;

const BAR_PERIOD: Duration = Duration::from_millis(100);
const LINE_PERIOD: Duration = Duration::from_secs(1);

/// Watches one job.
pub(crate) struct Console {
    board: Arc<Board>,
    bar: Option<ProgressBar>,
    quiet: bool,
    stop: Stop,
    painter: Option<(Sender<()>, JoinHandle<()>)>,
}

/// What the pipelines write and the painter reads.
#[derive(Debug)]
struct Board {
    /// Bytes of this phase that are done.
    done: AtomicU64,
    phase: Mutex<Phase>,
}

#[derive(Clone, Debug)]
struct Phase {
    name: String,
    bytes: u64,
    began: Instant,
}

impl Console {
    pub(crate) fn new(voice: Voice, stop: &Stop) -> Console {
        let phase = Phase { name: String::new(), bytes: 0, began: Instant::now() };
        let board = Arc::new(Board { done: AtomicU64::new(0), phase: Mutex::new(phase) });
        let bar = (voice.progress == settings::Progress::Bar).then(bar);
        let painter = match (&bar, voice.progress) {
            (Some(bar), _) => spawn(BAR_PERIOD, paint_bar(Arc::clone(&board), bar.clone())),
            (None, settings::Progress::Lines) => spawn(LINE_PERIOD, paint_lines(Arc::clone(&board))),
            (None, _) => None,
        };
        Console { board, bar, quiet: voice.quiet, stop: stop.clone(), painter }
    }
}

impl Observer for Console {
    fn phase(&self, name: &str, bytes: u64) {
        let mut phase = self.board.phase();
        *phase = Phase { name: name.into(), bytes, began: Instant::now() };
        self.board.done.store(0, Ordering::Relaxed);
    }

    fn advance(&self, bytes: u64) {
        self.board.done.fetch_add(bytes, Ordering::Relaxed);
    }

    fn notice(&self, line: &str) {
        if self.quiet {
            return;
        }
        match &self.bar {
            Some(bar) => bar.suspend(|| write_stderr(&format!("note: {line}"))),
            None => write_stderr(&format!("note: {line}")),
        }
    }

    fn is_cancelled(&self) -> bool {
        self.stop.is_set()
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if let Some((stop, painter)) = self.painter.take() {
            drop(stop);
            // A painter that panicked has nothing left to lose.
            let _ = painter.join();
        }
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Board {
    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `paint` once a period until the sender is dropped. Where no thread can be had (a limit on processes), the job goes on unseen.
fn spawn(period: Duration, mut paint: impl FnMut() + Send + 'static) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (sender, receiver) = crossbeam_channel::bounded(0);
    let repeat = move || {
        while receiver.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
            paint();
        }
    };
    let painter = thread::Builder::new().name("progress".into()).spawn(repeat).ok()?;
    Some((sender, painter))
}

fn bar() -> ProgressBar {
    ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr()).with_style(style(
        "",
        0,
        Instant::now(),
    ))
}

/// What a phase of so many bytes looks like; one of none has nothing to measure. The name is part of the template: as a message it would
/// be drawn at once, beside the length of the phase before.
fn style(name: &str, bytes: u64, began: Instant) -> ProgressStyle {
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
        if state.pos() > 0 {
            let rate = state.pos() as f64 / began.elapsed().as_secs_f64().max(1e-3);
            let _ = write!(out, "{}, {}/s", Decimal(state.pos() as f64), Decimal(rate));
        }
    };
    let style = ProgressStyle::with_template(&template).expect("the template is constant");
    style.with_key("pace", pace).with_key("sum", sum)
}

fn paint_bar(board: Arc<Board>, bar: ProgressBar) -> impl FnMut() + Send {
    let mut shown = None;
    move || {
        let Phase { name, bytes, began } = board.phase().clone();
        if name.is_empty() {
            return;
        }
        if shown != Some(began) {
            shown = Some(began);
            bar.set_style(style(&name, bytes, began));
        }
        frame(&bar, board.done.load(Ordering::Relaxed), bytes);
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
        let phase = board.phase().clone();
        if !phase.name.is_empty() {
            let done = board.done.load(Ordering::Relaxed);
            write_stderr(&line(&phase, done, phase.began.elapsed().as_secs_f64()));
        }
    }
}

/// One line of a log: how far, how fast, how much longer.
fn line(phase: &Phase, done: u64, seconds: f64) -> String {
    if phase.bytes == 0 {
        let rate = done as f64 / seconds.max(1e-3);
        return format!("{}: {}, {}/s", phase.name, Decimal(done as f64), Decimal(rate));
    }
    let percent = 100 * u128::from(done.min(phase.bytes)) / u128::from(phase.bytes.max(1));
    let pace = pace(phase.bytes, done, seconds);
    format!("{}: {percent}% of {}, {pace}", phase.name, Decimal(phase.bytes as f64))
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
            let bar = ProgressBar::hidden().with_style(style(name, 10, Instant::now()));
            frame(&bar, 7, 10);
            assert_eq!((bar.position(), bar.length()), (7, Some(10)));
        }
    }

    #[test]
    fn lines_say_how_far_and_how_fast() {
        let phase = Phase { name: "merge".into(), bytes: 8_000_000_000, began: Instant::now() };
        assert_eq!(line(&phase, 2_000_000_000, 1.0), "merge: 25% of 8.00 GB, 2.00 GB/s, 3 s left");
        assert_eq!(line(&phase, 0, 1.0), "merge: 0% of 8.00 GB, 0 B/s, unknown time left");
        let unknown = Phase { bytes: 0, ..phase };
        assert_eq!(line(&unknown, 2_000_000_000, 1.0), "merge: 2.00 GB, 2.00 GB/s");
    }
}
