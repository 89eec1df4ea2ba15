//! The observer of a pipeline: receives progress and notices, and shows them on standard error and
//! in `xsort status`.

use super::bar::Bar;
use super::drives::JobPlaces;
use super::progress_text::{bar_frame, position};
use super::publication::Publication;
use super::reporter::{Reporter, ReporterOptions, SharedPublication, try_to_end_publication};
use super::state::JobState;
use super::thermostat::Thermostat;
use super::watched::Watched;
use crate::output::write_stderr;
use crate::settings::{ProgressStyle, ReportStyle};
use crate::signals::{Stop, before_death};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use xsort_disk::Gate;
use xsort_extsort::{Gauges, Observer, Spans};

const BAR_PERIOD: Duration = Duration::from_millis(100);
const LINE_PERIOD: Duration = Duration::from_secs(1);
/// Shorter jobs have no bar, which would only flicker.
const UNSEEN_SECONDS: f64 = 0.4;

/// Observes one job.
pub(crate) struct Console {
    // Declared before the bar, because the reporter draws it.
    reporter: Option<Reporter>,
    state: Arc<JobState>,
    stderr: Stderr,
    stop: Stop,
}

/// What the console needs to know about a job.
pub(crate) struct ConsoleOptions<'a> {
    /// The name of the command.
    pub(crate) command: &'static str,
    pub(crate) style: ReportStyle,
    pub(crate) places: JobPlaces,
    /// The limit in degrees Celsius, and the gate to close above it.
    pub(crate) temperature: Option<(f64, Arc<Gate>)>,
    /// True if figures over time are kept, for a page or a trace.
    pub(crate) is_recorded: bool,
    /// What stops the job; `None` if signals end the process on the spot.
    pub(crate) stop: Option<&'a Stop>,
}

/// Standard error, on which a bar may be drawn.
#[derive(Clone)]
struct Stderr {
    bar: Option<Arc<Bar>>,
    quiet: bool,
}

impl Stderr {
    /// Prints a notice, except where the user wants errors only.
    fn print_notice(&self, line: &str) {
        if !self.quiet {
            self.print(&format!("note: {line}"));
        }
    }

    fn print(&self, line: &str) {
        self.print_above_bar(|| write_stderr(line));
    }

    fn print_above_bar(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.print_above(print),
            None => print(),
        }
    }
}

impl Console {
    pub(crate) fn new(options: ConsoleOptions<'_>) -> Console {
        let ConsoleOptions { command, style, places, temperature, is_recorded, stop } = options;
        let state = Arc::new(JobState::new(is_recorded));
        let bar = (style.progress == ProgressStyle::Bar).then(|| Arc::new(Bar::new()));
        let stderr = Stderr { bar: bar.clone(), quiet: style.quiet };
        let is_stopped = stop.cloned().unwrap_or_default();
        let mut thermostat = temperature.map(|(limit, gate)| {
            let directories = places.directories.iter().map(|(path, _)| path.clone()).collect();
            let (stderr, stop) = (stderr.clone(), is_stopped.clone());
            let print_notice = Box::new(move |line: &str| stderr.print_notice(line));
            let is_stopped = Box::new(move || stop.is_set());
            Thermostat::new(limit, gate, directories, print_notice, is_stopped)
        });
        if let Some(thermostat) = &mut thermostat {
            // The drives may be too hot before the first transfer.
            thermostat.update(&state);
        }
        let publication: SharedPublication =
            Arc::new(Mutex::new(Publication::new(command, places)));
        let published = Arc::clone(&publication);
        before_death(move |patience| try_to_end_publication(&published, patience));
        let (position_state, position_stderr) = (Arc::clone(&state), stderr.clone());
        let notice_stderr = stderr.clone();
        let reporter = Reporter::start(ReporterOptions {
            state: Arc::clone(&state),
            draw: draw_function(style.progress, &state, bar),
            print_position: Box::new(move || {
                position_stderr.print(&format!("{command}: {}", position(&position_state)));
            }),
            print_notice: Box::new(move |line| notice_stderr.print_notice(line)),
            publication,
            thermostat,
            are_signals_fatal: stop.is_none(),
        });
        Console { reporter, state, stderr, stop: is_stopped }
    }

    /// What was seen of the job, which has ended.
    pub(crate) fn watched(&self) -> Watched {
        self.state.watched()
    }

    /// Adds to the number of files counted.
    pub(crate) fn count_files(&self, files: u64) {
        self.state.count_files(files);
    }

    /// Calls `print`, which writes to standard error, above the bar if there is one.
    pub(crate) fn print_above_bar(&self, print: impl FnOnce()) {
        self.stderr.print_above_bar(print);
    }
}

/// The period of drawing, and the function that draws progress.
type DrawFunction = (Duration, Box<dyn FnMut() + Send>);

fn draw_function(
    style: ProgressStyle,
    state: &Arc<JobState>,
    bar: Option<Arc<Bar>>,
) -> Option<DrawFunction> {
    let state = Arc::clone(state);
    match (bar, style) {
        (Some(bar), _) => {
            let draw = move || {
                let (phase, progress) = state.progress();
                if !phase.name.is_empty() && progress.seconds >= UNSEEN_SECONDS {
                    bar.draw(&bar_frame(&phase, &progress, state.files()));
                }
            };
            Some((BAR_PERIOD, Box::new(draw)))
        }
        (None, ProgressStyle::Lines) => {
            let print = move || {
                if !state.phase().name.is_empty() {
                    write_stderr(&position(&state));
                }
            };
            Some((LINE_PERIOD, Box::new(print)))
        }
        (None, _) => None,
    }
}

impl Observer for Console {
    fn phase(&self, name: &str, bytes: u64) {
        self.state.begin_phase(name, bytes);
    }

    fn advance(&self, bytes: u64) {
        self.state.advance(bytes);
    }

    fn notice(&self, line: &str) {
        self.state.add_notice(line);
        self.stderr.print_notice(line);
    }

    fn is_cancelled(&self) -> bool {
        self.stop.is_set()
    }

    fn expect(&self, phases: &[(&str, u64)]) {
        self.state.expect(phases);
    }

    fn show(&self, gauges: Gauges) {
        self.state.set_gauges(gauges);
    }

    fn spans(&self) -> Option<Arc<Spans>> {
        self.state.spans()
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.reporter = None;
        if let Some(bar) = &self.stderr.bar {
            bar.clear();
        }
    }
}
