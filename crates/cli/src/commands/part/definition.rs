//! Parses a command without its files: the words that say what a job sorts.

use crate::args;
use crate::exit::Failure;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

/// Parses the words of a command. The output may be missing. Refuses options whose IDs are not in
/// `allowed`.
pub(super) fn matches_of(words: &[String], allowed: &[&str]) -> Result<ArgMatches, Failure> {
    let name = words.first().map_or("", String::as_str).to_owned();
    let definition = args::command().mut_subcommand(&name, |command| {
        command.mut_arg("output", |output| output.required(false).default_value("-"))
    });
    let program = std::iter::once("xsort".to_owned());
    let mut matches = definition
        .clone()
        .try_get_matches_from(program.chain(words.iter().cloned()))
        .map_err(|error| Failure::Usage(format!("after --: {}", args::usage_line(&error))))?;
    let (_, matches) = matches.remove_subcommand().expect("the words begin with its name");
    let command = definition.find_subcommand(&name).expect("the words begin with its name");
    let is_given =
        |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let mut given = command.get_arguments().filter(is_given);
    match given.find(|arg| !allowed.contains(&arg.get_id().as_str())) {
        None => Ok(matches),
        Some(arg) if arg.is_positional() => Err(Failure::Usage(
            "after -- there are inputs: they come before it, and other files are named by the \
             options of each step"
                .into(),
        )),
        Some(arg) => {
            let option = arg.get_long().unwrap_or_default();
            Err(Failure::Usage(format!(
                "after --: --{option} says nothing of what the data is and how it compares: leave \
                 it out, each step has options of its own"
            )))
        }
    }
}
