//! `xsort lines`, and `sort`: sorts lines of text, with GNU sort's grammar.
//!
//! It differs from the other commands: grammar, messages and statuses are GNU's (`xsort_gnu`).
//! Signals kill it at any point, except while a file is rewritten in place.
//!
//! | file | idea |
//! |---|---|
//! | `command` | a parsed command, and what can be refused before anything is read |
//! | `dispatch` | runs one of these: |
//! | `sort` | a sort or a merge |
//! | `resumable` | a sort with a checkpoint |
//! | `check` | `-c` and `-C` |
//! | `dry_run` | what a sort would do |
//! | `short_stream` | a few lines from a pipe, read before anything is set up for more |
//! | `prepare` | inputs limited and decompressed |
//! | `torn_rows` | CSV whose rows have several lines |
//! | `progress` | the observer of a sort, and its report |
//! | `session` | the job, and which names are URLs |
//! | `inputs` | which files are read; they are inspected first, and opened when read |
//! | `target` | the output, untouched until there is something to write |
//! | `in_place` | an output that is rewritten in place |
//! | `outgoing` | filters and compression between the engine and the output |
//! | `filters` | two of the filters: `--top`, `--debug` |
//! | `resources` | what the job may use: memory, threads, scratch, limits; randomness |
//! | `hints` | hints at what the user may have meant |
//! | `failure`, `job_failure` | messages on standard error, and the status |
//! | `not_opened` | errors of inputs that can't be opened |
//! | `names` | file names in messages |

mod check;
mod command;
mod dispatch;
mod dry_run;
mod failure;
mod filters;
mod hints;
mod in_place;
mod inputs;
mod job_failure;
mod names;
mod not_opened;
mod outgoing;
mod prepare;
mod progress;
mod resources;
mod resumable;
mod session;
mod short_stream;
mod sort;
mod target;
mod torn_rows;

use crate::gnu_commands::{base_name, is_called_as_gnu, is_message_lost, say, say_hint};
use crate::output::choose_colour;
use crate::signals::{let_closed_pipes_kill, report_exceeded_sizes_as_errors};
use command::LinesCommand;
use failure::{Failure, TROUBLE};
use std::ffi::OsString;
use std::io::{IsTerminal, Write, stdin};
use target::Target;
use xsort::read_lists;
use xsort_disk::inherited;
use xsort_gnu::Locale;
use xsort_gnu::sort::{Environment, Request};

/// Runs `xsort lines` with these arguments, with messages from `program`. If that is `sort`, the
/// arguments and the inputs' bytes mean what they mean to GNU sort. Returns the exit status.
pub(crate) fn run(program: &str, arguments: &[OsString]) -> u8 {
    // A process that ignores SIGPIPE wants an error message instead.
    let signals = if inherited().ignores_sigpipe { Ok(()) } else { let_closed_pipes_kill() };
    // GNU sort dies of SIGXFSZ.
    let is_gnu = is_called_as_gnu(program);
    let signals = signals.and_then(|()| match is_gnu {
        true => Ok(()),
        false => report_exceeded_sizes_as_errors(),
    });
    let result = signals.map_err(|error| Failure::said("signals", &error));
    let status = match result.and_then(|()| answer(program, arguments)) {
        Ok(()) => 0,
        Err(failure) => {
            let (status, hint) = (failure.status(), failure.hint().map(str::to_owned));
            say(&failure.into_text(program));
            say_hint(program, hint.as_deref());
            status
        }
    };
    if is_message_lost() { TROUBLE } else { status }
}

fn answer(program: &str, arguments: &[OsString]) -> Result<(), Failure> {
    let asked = Locale::from_environment();
    let has_locale = asked.is_some();
    let locale = asked.unwrap_or_else(Locale::c);
    let environment = Environment {
        has_our_letters: !is_called_as_gnu(program),
        ..resources::environment(locale.clone())
    };
    // It would wait for lines that are typed, to sort them by human sizes.
    let asks_for_help = environment.has_our_letters && arguments == ["-h"] && stdin().is_terminal();
    let request = match asks_for_help {
        true => Request::Help,
        false => xsort_gnu::sort::parse(arguments, &environment)?,
    };
    let (text, is_long) = match request {
        Request::Run(mut command) => {
            choose_colour(command.extras.color);
            let origins = resources::apply_defaults(&mut command)?;
            read_lists(&mut command).map_err(|error| Failure::Message(error.to_string().into()))?;
            if let Some(name) = locale.missing_language() {
                let what = "this static build has no locales: sorting by bytes";
                say(format!("{program}: {what}, not as {name} does (LC_ALL=C silences this)\n")
                    .as_bytes());
            }
            let mut command =
                LinesCommand { program, command: *command, environment, locale, origins };
            command.name_outputs_as_other_commands();
            return dispatch::run(&command, has_locale)
                .map_err(|failure| hints::add(failure, &command.command));
        }
        Request::Help => (xsort_gnu::sort::help(program), true),
        Request::Version => (xsort_gnu::sort::version(base_name(program)), false),
    };
    let mut output = Target::standard();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(|error| output.failed_at_exit(&error, is_long))
}
