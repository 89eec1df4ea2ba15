//! `xsort man`: turns the definition of the command line into manual pages, with the sections of
//! man-pages(7).
//!
//! A help text before or after the options consists of blocks. Those with a title ("Examples:",
//! "Exit status:") become sections; paragraphs follow the options.

use super::gnu_definition;
use crate::args;
use crate::exit::Failure;
use crate::output::write_stdout;
use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};
use roff::{Inline, Roff, bold, italic, roman};
use std::io;
use std::path::Path;
use xsort_disk::DisplayPath;

/// The date of the pages, which man requires: when this version's texts were written.
const DATE: &str = "2026-11-22";
/// The width of the pages' source in columns.
const SOURCE_COLUMNS: usize = 70;
/// Lines of a block that are indented by this number of columns or more continue the previous line.
const CONTINUED_COLUMN: usize = 10;

/// Prints xsort.1, or writes the pages of the program and of each command to a directory.
pub(crate) fn man(directory: Option<&Path>) -> Result<(), Failure> {
    let mut program = gnu_definition::with_options(args::command());
    program.build();
    let Some(directory) = directory else {
        return write_stdout(page(&program, &program).render().as_bytes());
    };
    std::fs::create_dir_all(directory).map_err(|source| write_failure(directory, source))?;
    let is_ours = |command: &&Command| command.get_name() != "help";
    let commands: Vec<&Command> = program.get_subcommands().filter(is_ours).collect();
    let steps = commands.iter().flat_map(|command| command.get_subcommands().filter(is_ours));
    for command in commands.iter().copied().chain(steps).chain([&program]) {
        let path = directory.join(format!("{}.1", page_name(command)));
        std::fs::write(&path, page(command, &program).render())
            .map_err(|source| write_failure(&path, source))?;
    }
    Ok(())
}

fn write_failure(path: &Path, source: io::Error) -> Failure {
    Failure::File { what: format!("writing {}", DisplayPath(path)), source }
}

fn page_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// The page of one command.
fn page(command: &Command, program: &Command) -> Roff {
    let name = page_name(command);
    let source = format!("xsort {}", env!("CARGO_PKG_VERSION"));
    let about = command.get_about().map(StyledStr::to_string).unwrap_or_default();
    let notes = Notes::of(command);
    let mut page = Roff::new();
    page.control("TH", [&*name.to_uppercase(), "1", DATE, &source, "User Commands"]);
    // Neither hyphenated nor justified: readers copy names from the page.
    page.control("nh", []);
    page.control("ad", ["l"]);
    page.control("SH", ["NAME"]);
    page.text([roman(format!("{name} - {}", about.trim_end_matches('.')))]);
    write_synopsis(&mut page, command);
    page.control("SH", ["DESCRIPTION"]);
    let sentence = format!("{}.", about.trim_end_matches('.'));
    let description = match command.get_long_about().map(StyledStr::to_string) {
        // The first paragraph repeats the title.
        Some(long) if long.starts_with(&*about) => long.replacen(&*about, &sentence, 1),
        long => long.unwrap_or(sentence),
    };
    write_paragraphs(&mut page, &description, "PP");
    if command.has_subcommands() {
        write_commands(&mut page, command);
    }
    write_options(&mut page, command);
    let is_grouped = command.get_arguments().any(|arg| arg.get_help_heading().is_some());
    for paragraph in &notes.paragraphs {
        if is_grouped {
            page.control("SS", ["Arguments"]);
        } else {
            page.control("PP", []);
        }
        write_filled(&mut page, paragraph);
    }
    for title in ["Exit status", "Environment", "Examples"] {
        let sections = notes.sections.iter().filter(|(found, _)| found == title);
        sections.for_each(|(title, body)| write_list(&mut page, title, body));
    }
    write_see_also(&mut page, command, program);
    page
}

/// The help text before and after the options.
struct Notes {
    paragraphs: Vec<String>,
    /// The title and the lines of each section.
    sections: Vec<(String, String)>,
}

impl Notes {
    fn of(command: &Command) -> Notes {
        let after = command.get_after_long_help().or(command.get_after_help());
        let texts = [command.get_before_help(), after].into_iter().flatten();
        let mut notes = Notes { paragraphs: Vec::new(), sections: Vec::new() };
        for text in texts.map(StyledStr::to_string) {
            for block in text.split("\n\n") {
                match block.split_once(":\n") {
                    Some((title, body)) if body.starts_with("  ") => {
                        notes.sections.push((title.to_owned(), body.to_owned()));
                    }
                    _ => notes.paragraphs.push(block.to_owned()),
                }
            }
        }
        notes
    }
}

fn write_synopsis(page: &mut Roff, command: &Command) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let usage = command.clone().render_usage().to_string();
    page.control("SH", ["SYNOPSIS"]);
    for (number, form) in usage.trim_start_matches("Usage: ").lines().enumerate() {
        if number > 0 {
            page.control("br", []);
        }
        page.text([bold(name), roman(form.trim().trim_start_matches(name))]);
    }
}

fn write_commands(page: &mut Roff, command: &Command) {
    page.control("SH", ["COMMANDS"]);
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        page.control("TP", []);
        page.text([bold(page_name(command)), roman("(1)")]);
        write_filled(page, &command.get_about().map(StyledStr::to_string).unwrap_or_default());
    }
}

/// Writes the options: first those without a heading, then the others, then the operands.
fn write_options(page: &mut Roff, command: &Command) {
    page.control("SH", ["OPTIONS"]);
    let (operands, options): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .partition(|arg| arg.is_positional());
    let mut heading = None;
    for arg in options.into_iter().chain(operands) {
        if arg.get_help_heading() != heading {
            heading = arg.get_help_heading();
            page.control("SS", heading);
        }
        page.control("TP", []);
        page.text(names(arg));
        let help = arg.get_long_help().or(arg.get_help()).map(StyledStr::to_string);
        write_paragraphs(page, &(help.unwrap_or_default() + &default(arg)), "IP");
        write_values(page, arg);
    }
}

/// An argument's names: `-o, --output=FILE`.
fn names(arg: &Arg) -> Vec<Inline> {
    let letters = arg.get_short_and_visible_aliases().unwrap_or_default();
    let short = letters.into_iter().map(|letter| bold(format!("-{letter}")));
    let long = arg.get_long().map(|name| bold(format!("--{name}")));
    let mut names: Vec<Inline> = Vec::new();
    for name in short.chain(long) {
        if !names.is_empty() {
            names.push(roman(", "));
        }
        names.push(name);
    }
    let value = || arg.get_value_names().unwrap_or_default().join(" ");
    match arg.get_action() {
        ArgAction::Set | ArgAction::Append if arg.is_positional() => names.push(italic(value())),
        ArgAction::Set | ArgAction::Append if arg.is_require_equals_set() => {
            names.extend([roman("[="), italic(value()), roman("]")]);
        }
        ArgAction::Set | ArgAction::Append => {
            let joint = if arg.get_long().is_some() { "=" } else { " " };
            names.extend([roman(joint), italic(value())]);
        }
        _ => {}
    }
    names
}

fn default(arg: &Arg) -> String {
    match arg.get_default_values() {
        [value] if !arg.is_hide_default_value_set() && arg.get_action().takes_values() => {
            format!(" [default: {}]", value.to_string_lossy())
        }
        _ => String::new(),
    }
}

fn write_values(page: &mut Roff, arg: &Arg) {
    let values = arg.get_possible_values();
    if arg.is_hide_possible_values_set() || !arg.get_action().takes_values() || values.is_empty() {
        return;
    }
    page.control("RS", []);
    for value in values.iter().filter(|value| !value.is_hide_set()) {
        page.control("TP", []);
        page.text([bold(value.get_name())]);
        let help = value.get_help().map(StyledStr::to_string);
        write_filled(page, &help.unwrap_or_default());
    }
    page.control("RE", []);
}

/// Writes a section of lines like `  name   text`. A text may continue in lines that are indented
/// further.
fn write_list(page: &mut Roff, title: &str, body: &str) {
    let mut items: Vec<(String, String)> = Vec::new();
    for line in body.lines() {
        let text = line.trim_start();
        match items.last_mut() {
            Some((_, item)) if line.len() - text.len() >= CONTINUED_COLUMN => {
                *item += &format!(" {text}");
            }
            _ => {
                let (name, item) = text.split_once("  ").unwrap_or((text, ""));
                items.push((name.to_owned(), item.trim_start().to_owned()));
            }
        }
    }
    page.control("SH", [&*title.to_uppercase()]);
    for (name, item) in items {
        page.control("TP", []);
        page.text([bold(name)]);
        write_filled(page, &item);
    }
}

fn write_see_also(page: &mut Roff, command: &Command, program: &Command) {
    let gnu = match command.get_name() {
        "lines" => Some("sort"),
        "du" => Some("du"),
        _ => None,
    };
    let ours = [program].into_iter().chain(program.get_subcommands());
    let ours = ours.map(page_name).filter(|name| *name != page_name(command));
    let ours = ours.filter(|name| *name != "xsort-help");
    page.control("SH", ["SEE ALSO"]);
    let names: Vec<String> = gnu.into_iter().chain(ours).map(|name| format!("{name}(1)")).collect();
    write_filled(page, &names.join(", "));
}

/// Writes paragraphs, with a macro between them.
fn write_paragraphs(page: &mut Roff, text: &str, between: &str) {
    for (number, paragraph) in text.split("\n\n").enumerate() {
        if number > 0 {
            page.control(between, []);
        }
        write_filled(page, paragraph);
    }
}

/// Writes a text, broken into lines of the source.
fn write_filled(page: &mut Roff, text: &str) {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.len() + 1 + word.len() > SOURCE_COLUMNS {
            page.text([roman(std::mem::take(&mut line))]);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        page.text([roman(line)]);
    }
}
