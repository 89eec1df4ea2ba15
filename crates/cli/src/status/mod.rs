//! `xsort status`: which jobs run, how far they are, and what killed ones left.
//!
//! | file | idea |
//! |---|---|
//! | `words` | figures as people read them |
//! | `table` | a line for each job |
//! | `detail` | all about one |
//! | `view` | the full screen, drawn |
//! | `watch` | the full screen, kept up to date |

mod detail;
mod table;
mod view;
mod watch;
mod words;

use crate::args::StatusArgs;
use crate::exit::Failure;
use crate::output::{self, write_stdout};
use crate::signals::Stop;
use serde::Serialize;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use xsort_status::{Found, Leftovers, Life, Place, Snapshot, clear, find, leftovers};

/// Answers what was asked.
pub(crate) fn run(args: &StatusArgs, stop: &Stop) -> Result<(), Failure> {
    let place = Place::of_environment(|name| std::env::var_os(name));
    if args.watch {
        return watch::watch(&place, args.job.as_deref(), stop);
    }
    let jobs = chosen(&place, args.job.as_deref())?;
    if args.clear {
        return clear_all(&jobs, args.json);
    }
    let text = match (&args.job, args.json) {
        (_, true) => json(&jobs)?,
        (None, false) => table::table(&jobs, table_width()),
        (Some(_), false) => jobs.iter().map(detail::detail).collect::<Vec<_>>().join("\n"),
    };
    write_stdout(text.as_bytes())
}

/// All jobs, or the one that was named.
fn chosen(place: &Place, name: Option<&str>) -> Result<Vec<Found>, Failure> {
    let mut jobs = find(place);
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
fn state(job: &Found) -> &'static str {
    match (job.life(), job.snapshot()) {
        (Life::Dead, _) => "dead",
        (Life::Over, _) => "over",
        (Life::Running, Some(snapshot)) if silence_seconds(snapshot) > SILENT_SECONDS => "stopped",
        (Life::Running, Some(snapshot)) if snapshot.is_paused => "cooling",
        (Life::Running, _) => "running",
    }
}

/// A job that has said nothing for so long is stopped (SIGSTOP, Ctrl-Z), or the machine is far too busy.
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
    hidden: &'a [PathBuf],
    hidden_bytes: u64,
}

fn json(jobs: &[Found]) -> Result<String, Failure> {
    let left: Vec<(Leftovers, Vec<PathBuf>)> = jobs
        .iter()
        .map(leftovers)
        .map(|left| {
            let hidden = left.hidden.iter().map(|(path, _)| path.clone()).collect();
            (left, hidden)
        })
        .collect();
    let told = jobs.iter().zip(&left).map(|(job, (left, hidden))| Job {
        state: state(job),
        name: job.name(),
        files: job.prefix(),
        leftovers: (job.life() == Life::Dead).then(|| Left {
            status: &left.status,
            hidden,
            hidden_bytes: left.hidden.iter().map(|(_, bytes)| bytes).sum(),
        }),
        trouble: job.trouble(),
        snapshot: job.snapshot(),
    });
    output::json(&Told { command: "status", jobs: told.collect() }).map(|text| text + "\n")
}

fn clear_all(jobs: &[Found], is_json: bool) -> Result<(), Failure> {
    let dead: Vec<&Found> = jobs.iter().filter(|job| job.life() == Life::Dead).collect();
    let (mut text, mut cleared, mut failure) = (String::new(), Vec::new(), None);
    for job in dead {
        match clear(job) {
            Ok(left) => {
                let _ = writeln!(text, "job {}: removed {}", job.name(), table::left_in_words(&left));
                cleared.extend(left.hidden.into_iter().map(|(path, _)| path).chain(left.status));
            }
            Err(source) => {
                failure = Some(Failure::File { what: format!("clearing job {}", job.name()), source });
            }
        }
    }
    if is_json {
        #[derive(Serialize)]
        struct Cleared {
            command: &'static str,
            #[serde(serialize_with = "output::lossy_all")]
            removed: Vec<PathBuf>,
        }
        text = output::json(&Cleared { command: "status", removed: cleared })?;
    } else if text.is_empty() && failure.is_none() {
        text = "no killed job left anything\n".into();
    }
    if !text.is_empty() {
        write_stdout(text.as_bytes())?;
    }
    failure.map_or(Ok(()), Err)
}
