//! `xsort du`, and `du`: the space of files, in GNU du's words.
//!
//! The walk is `xsort_usage`'s, what words and figures mean is `xsort_gnu::du`'s. Here one is put
//! on the other, and nothing is set up that isn't needed: ten files take less time than a thread.
//!
//! ```text
//!  names --> walk --> Desk --> threshold --> lines or JSON as they come    --> Output
//!  (command line,      |   \-> ranking, tree: when all (of an argument) is there  ^
//!   list)              `----> complaints, after what was printed before them -----'
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `names` | the arguments, taken from the command line or a list when their turn comes |
//! | `desk` | where the walk's findings arrive |
//! | `entry` | a line's content, and how it is ranked |
//! | `form` | an entry as a line, or in JSON |
//! | `tree` | an argument's entries as a tree with bars |
//! | `output` | standard output, in GNU du's order with standard error |
//! | `pseudo` | file systems that hold no data |
//! | `watch` | the live status, once the walk takes long enough for anybody to look |

mod desk;
mod entry;
mod form;
mod names;
mod output;
mod pseudo;
mod tree;
mod watch;

use crate::gnu::{base_name, is_unheard, locale, say};
use crate::signals::Stop;
use desk::Desk;
use names::{Names, read_patterns};
use output::Output;
use std::ffi::OsString;
use xsort_disk::inherited;
use xsort_gnu::du::{self, Command, Follow, Request, Surroundings, TimeOf};
use xsort_usage::{Detail, Links, Options, Time, walk};

/// Status after anything that couldn't be counted, or done at all.
const TROUBLE: u8 = 1;

/// Does what the arguments ask for, and speaks as `program`. Returns the exit status.
pub(crate) fn run(program: &str, arguments: &[OsString]) -> u8 {
    let speaker = Speaker(program);
    // Whoever ignores SIGPIPE wants to be told.
    if !inherited().ignores_sigpipe
        && let Err(error) = Stop::die_of_closed_pipes()
    {
        speaker.say(format!("signals: {error}").as_bytes());
        return TROUBLE;
    }
    let surroundings = Surroundings {
        variable: &|name| std::env::var_os(name),
        locale: &|| locale(),
        read: &read_patterns,
    };
    let is_done = match du::parse(arguments, &surroundings) {
        Ok(understood) => {
            understood.said.iter().for_each(|line| speaker.say(line));
            match understood.request {
                Request::Run(command) => count(speaker, &command),
                Request::Help => print(speaker, &du::help(program)),
                Request::Version => print(speaker, &du::version(base_name(program))),
            }
        }
        Err(refusal) => {
            say(&refusal.message(program));
            false
        }
    };
    if is_done && !is_unheard() { 0 } else { TROUBLE }
}

/// Who speaks on standard error.
#[derive(Clone, Copy, Debug)]
struct Speaker<'a>(&'a str);

impl Speaker<'_> {
    fn say(self, line: &[u8]) {
        say(&[self.0.as_bytes(), b": ", line, b"\n"].concat());
    }
}

/// Prints a text; false if it couldn't be.
fn print(speaker: Speaker<'_>, text: &str) -> bool {
    let output = Output::new();
    output.write(|out| out.extend_from_slice(text.as_bytes()));
    match output.finish() {
        Ok(()) => true,
        Err(failed) => {
            speaker.say(&failed.at_once());
            false
        }
    }
}

/// Walks, and prints what is found. False if anything went wrong.
fn count(speaker: Speaker<'_>, command: &Command) -> bool {
    let mut names = match Names::open(command) {
        Ok(names) => names,
        Err(complaint) => {
            speaker.say(&complaint);
            return false;
        }
    };
    let desk = Desk::new(speaker, command);
    let total = walk(&options(command), &mut std::iter::from_fn(|| names.next(&desk)), &desk);
    desk.finish(&total)
}

/// The command, as the walk takes it.
fn options(command: &Command) -> Options {
    let detail = if command.shows_files {
        Detail::Files
    } else if command.depth_max == 0 && !command.separate_directories {
        Detail::Total
    } else {
        Detail::Directories
    };
    Options {
        threads: command.extras.threads,
        follow: match command.follow {
            Follow::Never => xsort_usage::Follow::Never,
            Follow::Arguments => xsort_usage::Follow::Arguments,
            Follow::Always => xsort_usage::Follow::Always,
        },
        one_file_system: command.one_file_system,
        skipped_devices: if command.extras.skips_pseudo { pseudo::devices() } else { Vec::new() },
        links: if command.counts_links { Links::Each } else { Links::Once },
        detail,
        depth_max: command.depth_max,
        time: command.time.as_ref().map(|time| match time.of {
            TimeOf::Modified => Time::Modified,
            TimeOf::Accessed => Time::Accessed,
            TimeOf::Changed => Time::Changed,
        }),
        has_excludes: !command.excludes.is_empty(),
        remembers_all: command.remembers_all(),
    }
}
