//! `xsort help`: the help of a command, or all commands and options as JSON, for pages and programs
//! that are made from them.

use super::gnu_definition;
use crate::args;
use crate::exit::Failure;
use crate::output::{json, write_stdout};
use clap::builder::StyledStr;
use clap::{Arg, Command};
use serde::Serialize;

/// Prints the help of the command that the words name, of the program without words, or with
/// `as_json` of all.
pub(crate) fn print(words: &[String], as_json: bool) -> Result<(), Failure> {
    let mut program = gnu_definition::with_options(args::command());
    program.build();
    let mut command = &mut program;
    for word in words {
        command = command
            .find_subcommand_mut(word)
            .ok_or_else(|| Failure::Usage(format!("there is no command '{word}'")))?;
    }
    match as_json {
        true => write_stdout(json(&Described::of(command))?.as_bytes()),
        false => write_stdout(command.render_long_help().to_string().as_bytes()),
    }
}

/// A command.
#[derive(Serialize)]
struct Described {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    about: String,
    usage: String,
    examples: Vec<String>,
    options: Vec<Argument>,
    operands: Vec<Argument>,
    commands: Vec<Described>,
}

/// An option or an operand.
#[derive(Serialize)]
struct Argument {
    /// Without dashes; of an operand its name in the usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    long: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    short: Vec<char>,
    /// The name of the value; `None` if there is none.
    value: Option<String>,
    /// The value is optional, and follows the option's name and an equals sign.
    is_joined: bool,
    is_repeated: bool,
    is_required: bool,
    default: Option<String>,
    /// The values that are possible, if they are few, with their meanings.
    values: Vec<(String, Option<String>)>,
    group: Option<String>,
    help: String,
}

fn text(styled: Option<&StyledStr>) -> String {
    styled.map(StyledStr::to_string).unwrap_or_default()
}

impl Described {
    fn of(command: &Command) -> Described {
        let examples = text(command.get_before_help());
        let examples = examples.lines().filter_map(|line| line.strip_prefix("  "));
        let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let (operands, options): (Vec<&Arg>, Vec<&Arg>) =
            shown.partition(|arg| arg.is_positional());
        let usage = command.clone().render_usage().to_string();
        let commands = command.get_subcommands().filter(|inner| inner.get_name() != "help");
        Described {
            name: command.get_display_name().unwrap_or(command.get_name()).to_owned(),
            version: command.get_version().map(str::to_owned),
            about: text(command.get_long_about().or(command.get_about())),
            usage: usage.trim_start_matches("Usage: ").to_owned(),
            examples: examples.map(str::to_owned).collect(),
            options: options.into_iter().map(Argument::of).collect(),
            operands: operands.into_iter().map(Argument::of).collect(),
            commands: commands.map(Described::of).collect(),
        }
    }
}

impl Argument {
    fn of(arg: &Arg) -> Argument {
        let takes_value = arg.get_action().takes_values();
        let values = if takes_value { arg.get_possible_values() } else { Vec::new() };
        let named = |value: &clap::builder::PossibleValue| {
            (value.get_name().to_owned(), value.get_help().map(StyledStr::to_string))
        };
        let defaults = arg.get_default_values().iter().filter(|_| takes_value);
        Argument {
            long: arg.get_long().map(str::to_owned),
            short: arg.get_short_and_visible_aliases().unwrap_or_default(),
            value: takes_value.then(|| arg.get_value_names().unwrap_or_default().join(" ")),
            is_joined: arg.is_require_equals_set(),
            is_repeated: matches!(
                arg.get_action(),
                clap::ArgAction::Append | clap::ArgAction::Count
            ),
            is_required: arg.is_required_set(),
            default: defaults.map(|value| value.to_string_lossy().into_owned()).next(),
            values: values.iter().filter(|value| !value.is_hide_set()).map(named).collect(),
            group: arg.get_help_heading().map(str::to_owned),
            help: text(arg.get_long_help().or(arg.get_help())),
        }
    }
}
