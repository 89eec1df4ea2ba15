//! xsort: the program.
//!
//! A door and nothing else: arguments come in, settings go to the pipelines, reports and an exit
//! status come out. Whatever is worth testing without a process lives in the rooms behind it.
#![forbid(unsafe_code)]

mod args;
mod bar;
mod board;
mod caches;
mod du;
mod exit;
mod r#gen;
mod gnu;
mod lines;
mod manual;
mod memory;
mod names_memory;
mod open_files;
mod output;
mod progress;
mod publish;
mod reporter;
mod settings;
mod signals;
mod size;
mod sort;
mod stack;
mod status;
mod stdin;
mod summary;
mod thermostat;
mod trees;
mod verify;

use args::{Cli, Command};
use clap::Parser;
use exit::Failure;
use gnu::Door;
use signals::Stop;
use std::process::ExitCode;
use xsort_disk::share_one_arena_if_limited;

fn main() -> ExitCode {
    share_one_arena_if_limited();
    ExitCode::from(stack::run(run_program))
}

/// Does what the command line says; returns the exit status.
fn run_program() -> u8 {
    if let Some((door, program, arguments)) = gnu::called(std::env::args_os()) {
        return match door {
            Door::Lines => lines::run(&program, &arguments),
            Door::Du => du::run(&program, &arguments),
        };
    }
    if let Err(error) = signals::heed_closed_pipes_as_errors() {
        return fail(&format!("installing signal handlers: {error}"), exit::USAGE);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return fail(&exit::usage_line(&error), exit::USAGE),
        Err(help) => {
            // Help and version; to a closed pipe there is nothing left to say.
            let _ = help.print();
            return exit::SUCCESS;
        }
    };
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
        Command::Gen(args) => r#gen::run(args, stop),
        Command::Sort(args) => sort::run(args, stop),
        Command::Verify(args) => verify::run(args, stop),
        Command::Status(args) => status::run(args, stop),
        Command::Lines { .. } | Command::Du { .. } => unreachable!("they have doors of their own"),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { dir } => manual::man(dir.as_deref()),
    }
}

/// The one line on standard error that every failure has.
fn fail(line: &str, code: u8) -> u8 {
    output::write_stderr(&format!("error: {line}"));
    code
}
