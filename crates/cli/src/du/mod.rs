//! `xsort du`, and `du`: prints how much space files take, with the options and output of GNU du.
//!
//! `xsort_usage` walks the tree. `xsort_gnu::du` parses options and formats figures. This module
//! connects them, and sets up only what is needed: counting ten files takes less time than starting
//! a thread.
//!
//! ```text
//!  arguments --> walk --> DuVisitor --> threshold --> lines or JSON, at once ---------.
//!  (command line,             |             `-------> ranking, tree: at the end -------+--> output
//!   or a list)                `--> messages, after what was printed before them ------'
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `arguments` | the arguments, read one by one from the command line or a list |
//! | `visitor` | prints or keeps what the walk finds |
//! | `objects` | objects of a store as a tree |
//! | `row` | the content of a line, and the orders of lines |
//! | `ranking` | rows that are printed in order: all, or the largest |
//! | `format` | rows as GNU du's lines, as JSON or as a tree |
//! | `gnu_lines`, `json`, `tree` | these three formats |
//! | `tree_rows` | which rows a tree has |
//! | `size_format` | figures in the format that the options choose |
//! | `messages` | lines on standard error |
//! | `output` | standard output, in GNU du's order with standard error |
//! | `pseudo_file_systems` | file systems that hold no data |
//! | `run_report` | the page of `--report` |
//! | `live_status` | the status of a walk that takes long enough to be watched |

mod arguments;
mod format;
mod gnu_lines;
mod json;
mod live_status;
mod messages;
mod objects;
mod output;
mod pseudo_file_systems;
mod ranking;
mod row;
mod run_report;
mod size_format;
mod tree;
mod tree_rows;
mod visitor;

use crate::args::default_threads;
use crate::gnu_commands::{base_name, is_called_as_gnu, is_message_lost, locale, say_hint};
use crate::output::choose_colour;
use crate::signals::let_closed_pipes_kill;
use arguments::{Arguments, read_patterns};
use messages::Messages;
use output::OrderedOutput;
use run_report::RunReport;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use visitor::DuVisitor;
use xsort_disk::inherited;
use xsort_gnu::du::{self, Command, Follow, Request, Surroundings, TimeOf};
use xsort_usage::{Detail, Links, Options, Time, Usage, walk};

/// The exit status if a file couldn't be counted or printed, or for wrong usage.
const TROUBLE: u8 = 1;

/// Runs the command line. Messages begin with `program`. Returns the exit status.
pub(crate) fn run(program: &str, arguments: &[OsString]) -> u8 {
    let messages = Messages(program);
    // A parent that ignores SIGPIPE expects an error instead.
    if !inherited().ignores_sigpipe
        && let Err(error) = let_closed_pipes_kill()
    {
        messages.print(format!("signals: {error}").as_bytes());
        return TROUBLE;
    }
    let surroundings = Surroundings {
        variable: &|name| std::env::var_os(name),
        locale: &|| locale(),
        read: &read_patterns,
        has_our_letters: !is_called_as_gnu(program),
    };
    let is_done = match du::parse(arguments, &surroundings) {
        Ok(understood) => {
            understood.said.iter().for_each(|line| messages.print(line));
            match understood.request {
                Request::Run(mut command) => {
                    choose_colour(command.extras.color);
                    match default_threads() {
                        Ok(threads) => {
                            let threads = threads.and_then(|n| NonZeroUsize::new(n.into()));
                            command.extras.threads = command.extras.threads.or(threads);
                            count(messages, &command)
                        }
                        Err(line) => {
                            messages.print(line.as_bytes());
                            false
                        }
                    }
                }
                Request::Help => print(messages, &du::help(program)),
                Request::Version => print(messages, &du::version(base_name(program))),
            }
        }
        Err(refusal) => {
            messages.print_whole(&refusal.message(program));
            say_hint(program, refusal.hint());
            false
        }
    };
    if is_done && !is_message_lost() { 0 } else { TROUBLE }
}

/// Prints a text. Returns false if that failed.
fn print(messages: Messages<'_>, text: &str) -> bool {
    let output = OrderedOutput::new();
    output.write(|out| out.extend_from_slice(text.as_bytes()));
    match output.finish() {
        Ok(()) => true,
        Err(error) => {
            messages.print(&error.with_reason());
            false
        }
    }
}

/// Walks, and prints what is found. Returns false if anything failed.
fn count(messages: Messages<'_>, command: &Command) -> bool {
    let mut arguments = match Arguments::open(command) {
        Ok(arguments) => arguments,
        Err(complaint) => {
            messages.print(&complaint);
            return false;
        }
    };
    let report = match RunReport::create(command) {
        Ok(report) => report,
        Err(failure) => {
            messages.print(failure.to_string().as_bytes());
            return false;
        }
    };
    let visitor = DuVisitor::new(messages, command, report);
    let names = std::iter::from_fn(|| arguments.next(|complaint| visitor.complain(complaint)));
    let mut in_stores = Usage::default();
    let mut names = names.filter(|name| {
        let is_url = visitor.is_url(name);
        if is_url {
            match objects::count(name, command, &visitor) {
                Ok(usage) => in_stores += usage,
                Err(text) => visitor.fail_listing(name, &text),
            }
        }
        !is_url
    });
    let mut total = walk(&walk_options(command), &mut names, &visitor);
    total += in_stores;
    visitor.finish(&total)
}

/// The options of the walk for this command.
fn walk_options(command: &Command) -> Options {
    // A page shows all of the tree.
    let has_report = command.extras.report.is_some();
    let detail = if command.shows_files || has_report {
        Detail::Files
    } else if command.depth_max == 0 && !command.separate_directories {
        Detail::Total
    } else {
        Detail::Directories
    };
    let skipped_devices =
        if command.extras.skips_pseudo { pseudo_file_systems::devices() } else { Vec::new() };
    Options {
        threads: command.extras.threads,
        follow: match command.follow {
            Follow::Never => xsort_usage::Follow::Never,
            Follow::Arguments => xsort_usage::Follow::Arguments,
            Follow::Always => xsort_usage::Follow::Always,
        },
        one_file_system: command.one_file_system,
        skipped_devices,
        links: if command.counts_links { Links::Each } else { Links::Once },
        detail,
        depth_max: if has_report { usize::MAX } else { command.depth_max },
        time: command.time.as_ref().map(|time| match time.of {
            TimeOf::Modified => Time::Modified,
            TimeOf::Accessed => Time::Accessed,
            TimeOf::Changed => Time::Changed,
        }),
        has_excludes: !command.excludes.is_empty(),
        remembers_all: command.remembers_all(),
    }
}
