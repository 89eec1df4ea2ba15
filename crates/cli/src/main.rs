//! xsort: the program.
//!
//! It turns arguments into settings for the pipelines, and shows progress, results and an exit
//! status. Logic that is worth testing without a process belongs in the other crates.
//!
//! | module | idea |
//! |---|---|
//! | `args` | the command line as it is written |
//! | `settings` | what depends on the machine: memory, threads, caches, open files |
//! | `inputs` | which files the inputs stand for: directories, standard input |
//! | `commands` | gen, sort, table, bio, bam, verify, part, cluster, help, man, completions |
//! | `lines`, `du` | the commands that behave as GNU sort and GNU du do |
//! | `gnu_commands` | what these two share |
//! | `lines_plan` | what sorting lines or tables would take |
//! | `status` | which jobs run |
//! | `report` | what is left of a run: facts, the page about it, its trace |
//! | `job` | a running job: progress bar, published status, temperature limit |
//! | `signals` | which signals stop a job, and how |
//! | `output`, `decimal` | results on standard output; figures for people |
//! | `system` | calls that differ between systems |
//! | `exit` | exit statuses |

mod args;
mod commands;
mod decimal;
mod du;
mod exit;
mod gnu_commands;
mod inputs;
mod job;
mod lines;
mod lines_plan;
mod output;
mod report;
mod settings;
mod signals;
mod status;
mod system;

use args::Command;
use clap::error::ErrorKind;
use commands::bio;
use exit::Failure;
use gnu_commands::{GnuCommand, gnu_command};
use report::page_command;
use settings::{alternative_stacks, open_files, refused_memory, stack, with_outer_limit};
use signals::Stop;
use std::process::ExitCode;
use xsort_disk::share_one_arena_if_limited;

#[global_allocator]
static ALLOCATOR: refused_memory::Allocator = refused_memory::Allocator;

fn main() -> ExitCode {
    alternative_stacks::restore_signals();
    share_one_arena_if_limited();
    refused_memory::prepare_end(signals::clean_up_without_memory);
    if let Some((command, program, _)) = gnu_command(bio::command_words()) {
        refused_memory::end_with(format!("{program}: "), command.trouble());
    }
    let status = stack::run_with_enough(run_program);
    signals::report_uploads_left();
    ExitCode::from(status)
}

/// Runs the command line; returns the exit status.
fn run_program() -> u8 {
    if let Some((command, program, arguments)) = gnu_command(bio::command_words()) {
        return match command {
            GnuCommand::Lines => lines::run(&program, &arguments),
            GnuCommand::Du => du::run(&program, &arguments),
        };
    }
    if let Err(error) = signals::report_closed_pipes_as_errors() {
        return fail(&format!("installing signal handlers: {error}"), exit::USAGE);
    }
    let words = match bio::words() {
        Ok(words) => words,
        Err(line) => return fail(&format!("{line} (see --help)"), exit::USAGE),
    };
    let mut cli = match args::parse(words.iter().cloned()) {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return exit::USAGE;
        }
        Err(error) if error.use_stderr() => return fail(&args::usage_line(&error), exit::USAGE),
        Err(help) => {
            // Help or version. A closed standard output is no error here.
            let _ = help.print();
            return exit::SUCCESS;
        }
    };
    if let Err(line) = cli.command.fill_from_environment() {
        return fail(&line, exit::USAGE);
    }
    output::choose_colour(cli.command.color());
    open_files::allow_as_many_as_possible();
    let stop = match Stop::install() {
        Ok(stop) => stop,
        Err(error) => return fail(&format!("installing signal handlers: {error}"), exit::USAGE),
    };
    match run(&cli.command, &stop) {
        Ok(()) => exit::SUCCESS,
        Err(failure) => {
            let code = failure.code(stop.exit_code());
            failure.line().map_or(code, |line| fail(&line, code))
        }
    }
}

fn run(command: &Command, stop: &Stop) -> Result<(), Failure> {
    match command {
        Command::Gen(args) => commands::generate::run(args, stop),
        Command::Sort(args) => commands::sort::run(args, stop),
        Command::Table(args) => {
            bio::show_plain_command(args.dry_run && !args.report.json)?;
            commands::table::run(args, stop)
        }
        Command::Bam(args) => {
            bio::show_plain_command(args.dry_run && !args.report.json)?;
            commands::bam::run(args, stop)
        }
        Command::Bio(_) => Err(Failure::Usage(
            "the format comes right after 'bio': xsort bio FORMAT [FILES AND OPTIONS]".into(),
        )),
        Command::Verify(args) => commands::verify::run(args, stop),
        Command::Part(args) => commands::part::run(args, stop),
        Command::Cluster { arguments } => commands::cluster::run(arguments),
        Command::Status(args) => status::run(args, stop),
        Command::Report(args) => page_command::run(args),
        Command::Lines { .. } | Command::Du { .. } => unreachable!("`gnu_command` takes these"),
        Command::Completions { shell } => commands::completions::print(*shell),
        Command::Help { json, command } => commands::help::print(command, *json),
        Command::Man { dir } => commands::manual::man(dir.as_deref()),
    }
}

/// Prints the line on standard error that every failure has; returns the failure's exit status.
fn fail(line: &str, code: u8) -> u8 {
    output::write_stderr(&with_outer_limit(format!("error: {line}")));
    code
}
