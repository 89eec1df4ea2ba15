//! `xsort status`: which jobs run, how far they are, and what killed ones left.
//!
//! | file | idea |
//! |---|---|
//! | `words` | figures as people read them |
//! | `table` | a line for each job |
//! | `detail` | all about one |
//! | `view` | the full screen, drawn |
//! | `watch` | the full screen, kept up to date |
//! | `keys` | what is pressed meanwhile, and whether the terminal is still there |

mod detail;
mod keys;
mod table;
mod view;
mod watch;
mod words;

use crate::args::StatusArgs;
use crate::exit::Failure;
use crate::output::{self, write_stderr, write_stdout};
use crate::signals::Stop;
use serde::Serialize;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use xsort_disk::DisplayPath;
use xsort_status::{
    FoundJob, Inventory, Leftovers, Life, Search, Snapshot, StatusDirectories, search,
};

/// Answers what was asked.
pub(crate) fn run(args: &StatusArgs, stop: &Stop) -> Result<(), Failure> {
    let place = StatusDirectories::from_environment(|name| std::env::var_os(name));
    if args.watch {
        return watch::watch(&place, args.job.as_deref(), stop);
    }
    let jobs = chosen(&place, args.job.as_deref(), stop)?;
    if args.clear {
        return clear_all(&jobs, args.json, stop);
    }
    let left = all_left(&jobs, stop)?;
    let told = || jobs.iter().zip(&left);
    let text = match (&args.job, args.json) {
        (_, true) => json(told())?,
        (None, false) => table::table(told(), table_width()),
        (Some(_), false) => {
            told().map(|(job, left)| detail::detail(job, left)).collect::<Vec<_>>().join("\n")
        }
    };
    write_stdout(text.as_bytes())
}

/// All jobs, or the one that was named. Says which directories nobody can look into.
fn chosen(
    place: &StatusDirectories,
    name: Option<&str>,
    stop: &Stop,
) -> Result<Vec<FoundJob>, Failure> {
    let Search { mut jobs, troubles } = search(place, Vec::new(), &|| stop.is_set());
    if stop.is_set() {
        return Err(Failure::Stopped { so_far: "" });
    }
    for trouble in troubles {
        write_stderr(&format!("note: not looked for jobs in {trouble}"));
    }
    if let Some(name) = name {
        jobs.retain(|job| job.is_called(name));
        if jobs.is_empty() {
            return Err(Failure::Usage(format!(
                "no job {name} was found: it is over, or younger than a quarter of a second, or another user's; \
                 xsort status lists those that there are"
            )));
        }
    }
    Ok(jobs)
}

/// What each of the jobs left.
fn all_left(jobs: &[FoundJob], stop: &Stop) -> Result<Vec<Leftovers>, Failure> {
    let mut inventory = Inventory::default();
    let left =
        jobs.iter().map_while(|job| (!stop.is_set()).then(|| inventory.leftovers(job))).collect();
    if stop.is_set() { Err(Failure::Stopped { so_far: "" }) } else { Ok(left) }
}

/// Columns of the terminal; lines that go elsewhere aren't cut.
fn table_width() -> usize {
    let is_terminal = io::stdout().is_terminal();
    let width = is_terminal.then(|| ratatui::crossterm::terminal::size().ok()).flatten();
    width.map_or(usize::MAX, |(columns, _)| usize::from(columns.max(60)))
}

/// Seconds since the job's last word.
fn silence_seconds(snapshot: &Snapshot) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    (now - snapshot.taken_unix_seconds).max(0.0)
}

/// How a job is, in a word.
fn state(job: &FoundJob) -> &'static str {
    match (job.life(), job.snapshot()) {
        (Life::Dead, _) => "dead",
        (Life::Over, _) => "over",
        (Life::Running, Some(snapshot)) if silence_seconds(snapshot) > SILENT_SECONDS => "stopped",
        (Life::Running, Some(snapshot)) if snapshot.is_paused => "cooling",
        (Life::Running, _) => "running",
    }
}

/// A job that has said nothing for so long is stopped (SIGSTOP, Ctrl-Z), or the machine is far too
/// busy.
const SILENT_SECONDS: f64 = 3.0;

#[derive(Serialize)]
struct Told<'a> {
    command: &'static str,
    jobs: Vec<Job<'a>>,
}

#[derive(Serialize)]
struct Job<'a> {
    /// running, cooling, stopped, dead.
    state: &'static str,
    name: &'a str,
    #[serde(serialize_with = "output::lossy")]
    files: &'a Path,
    leftovers: Option<Left<'a>>,
    trouble: Option<&'a str>,
    snapshot: Option<&'a Snapshot>,
}

/// What a dead job left.
#[derive(Serialize)]
struct Left<'a> {
    #[serde(serialize_with = "output::lossy_all")]
    status: &'a [PathBuf],
    #[serde(serialize_with = "output::lossy_all")]
    hidden: Vec<PathBuf>,
    hidden_bytes: u64,
}

fn json<'a>(told: impl Iterator<Item = (&'a FoundJob, &'a Leftovers)>) -> Result<String, Failure> {
    let told = told.map(|(job, left)| Job {
        state: state(job),
        name: job.name(),
        files: job.prefix(),
        leftovers: (job.life() == Life::Dead).then(|| Left {
            status: &left.status,
            hidden: left.hidden.iter().map(|(path, _)| path.clone()).collect(),
            hidden_bytes: left.hidden.iter().map(|(_, bytes)| bytes).sum(),
        }),
        trouble: job.trouble(),
        snapshot: job.snapshot(),
    });
    output::json(&Told { command: "status", jobs: told.collect() }).map(|text| text + "\n")
}

/// What was removed, and what could not be.
#[derive(Default, Serialize)]
struct Cleared {
    command: &'static str,
    #[serde(serialize_with = "output::lossy_all")]
    removed: Vec<PathBuf>,
    failed: Vec<String>,
}

/// Clears one dead job after the other, whatever becomes of those before; a signal ends it between
/// two of them.
fn clear_all(jobs: &[FoundJob], is_json: bool, stop: &Stop) -> Result<(), Failure> {
    let mut inventory = Inventory::default();
    let (mut text, mut failures) = (String::new(), Vec::new());
    let mut all = Cleared { command: "status", ..Cleared::default() };
    for job in jobs.iter().filter(|job| job.life() == Life::Dead).take_while(|_| !stop.is_set()) {
        let xsort_status::Cleared { removed, failures: failed } = inventory.clear(job);
        // Nothing of one that another clears, or whose name a new job took.
        if removed != Leftovers::default() {
            let _ =
                writeln!(text, "job {}: removed {}", job.name(), table::left_in_words(&removed));
        }
        all.removed.extend(removed.hidden.into_iter().map(|(path, _)| path).chain(removed.status));
        failures.extend(failed.into_iter().map(|(path, source)| {
            let what = format!("clearing job {}: {}", job.name(), DisplayPath(&path));
            Failure::File { what, source }
        }));
    }
    if is_json {
        all.failed = failures.iter().map(ToString::to_string).collect();
        text = output::json(&all)? + "\n";
    } else if text.is_empty() && failures.is_empty() && !stop.is_set() {
        text = "no killed job left anything\n".into();
    }
    if !text.is_empty() {
        write_stdout(text.as_bytes())?;
    }
    if stop.is_set() {
        failures.push(Failure::Stopped {
            so_far: ": what is cleared by now is told, the rest is as it was",
        });
    }
    // The last one has its line from who gets it.
    let last = failures.pop();
    failures
        .iter()
        .filter_map(Failure::line)
        .for_each(|line| write_stderr(&format!("error: {line}")));
    last.map_or(Ok(()), Err)
}
