//! `xsort status`: which jobs run, how far they are, and what killed jobs left.
//!
//! | file | idea |
//! |---|---|
//! | `selection` | the jobs that are shown |
//! | `table` | a line for each job |
//! | `detail` | everything about one job |
//! | `json` | both as JSON, for programs |
//! | `clear` | removes what killed jobs left |
//! | `uploads` | uploads under way in a store: who began them, and which are removed |
//! | `watch` | the full screen, kept up to date |
//! | `screen` | the full screen, drawn |
//! | `job_list`, `job_panel`, `key_help` | parts of it: a line for each job, one job, the keys |
//! | `columns` | rows in columns, as many as fit |
//! | `clearing` | clears dead jobs from it |
//! | `keyboard` | its keys, and whether the terminal is still there |
//! | `job_state` | a job's state in a word |
//! | `words` | figures formatted for people |

mod clear;
mod clearing;
mod columns;
mod detail;
mod job_list;
mod job_panel;
mod job_state;
mod json;
mod key_help;
mod keyboard;
#[cfg(test)]
mod samples;
mod screen;
mod selection;
mod table;
mod uploads;
mod watch;
mod words;

use crate::args::StatusArgs;
use crate::exit::Failure;
use crate::output::{uses_colour, write_stdout};
use crate::signals::Stop;
use selection::{leftovers_of, select_jobs};
use std::io::{self, IsTerminal};
use std::path::Path;
use xsort_disk::is_url;
use xsort_status::StatusDirectories;

/// Runs the command.
pub(crate) fn run(args: &StatusArgs, stop: &Stop) -> Result<(), Failure> {
    let directories = StatusDirectories::from_environment(|name| std::env::var_os(name));
    if args.watch {
        return watch::watch(&directories, args.job.as_deref(), stop);
    }
    if let Some(url) = args.job.as_deref().filter(|job| is_url(Path::new(job))) {
        let jobs = select_jobs(&directories, None, stop)?;
        return uploads::run(Path::new(url), args, &jobs, stop);
    }
    if args.older_than.is_some() {
        return Err(Failure::Usage(
            "--older-than is about uploads: name where they are, such as s3://BUCKET/".into(),
        ));
    }
    let jobs = select_jobs(&directories, args.job.as_deref(), stop)?;
    if args.clear {
        return clear::clear_all(&jobs, args.json, stop);
    }
    let leftovers = leftovers_of(&jobs, stop)?;
    let reported = || jobs.iter().zip(&leftovers);
    let text = match (&args.job, args.json) {
        (_, true) => json::json(reported())?,
        (None, false) => {
            let is_styled = uses_colour(io::stdout().is_terminal());
            table::table(reported(), terminal_width(), is_styled)
        }
        (Some(_), false) => {
            let width = terminal_width();
            let details = reported().map(|(job, leftovers)| detail::detail(job, leftovers, width));
            details.collect::<Vec<_>>().join("\n")
        }
    };
    write_stdout(text.as_bytes())
}

/// The width of the terminal in columns. Lines that go elsewhere aren't cut.
fn terminal_width() -> usize {
    let is_terminal = io::stdout().is_terminal();
    let width = is_terminal.then(|| ratatui::crossterm::terminal::size().ok()).flatten();
    width.map_or(usize::MAX, |(columns, _)| usize::from(columns.max(1)))
}
