//! `xsort man`: the command line's definition as manual pages.

use super::gnu_definition;
use crate::args;
use crate::exit::Failure;
use crate::output::write_stdout;
use clap::Command;
use clap_mangen::Man;
use std::io;
use std::path::Path;
use xsort_disk::DisplayPath;

/// Prints xsort.1, or writes the pages of the program and of each command to a directory.
pub(crate) fn man(directory: Option<&Path>) -> Result<(), Failure> {
    let mut program = gnu_definition::with_options(args::command());
    program.build();
    let Some(directory) = directory else {
        return write_stdout(&page(&program, "xsort"));
    };
    std::fs::create_dir_all(directory).map_err(|source| write_failure(directory, source))?;
    write_page(directory, &program, "xsort")?;
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        write_page(directory, command, &format!("xsort-{}", command.get_name()))?;
    }
    Ok(())
}

fn write_page(directory: &Path, command: &Command, name: &str) -> Result<(), Failure> {
    let path = directory.join(format!("{name}.1"));
    std::fs::write(&path, page(command, name)).map_err(|source| write_failure(&path, source))
}

fn write_failure(path: &Path, source: io::Error) -> Failure {
    Failure::File { what: format!("writing {}", DisplayPath(path)), source }
}

/// One page. It is rendered section by section because the standard order has none for the
/// examples, which come first in the help.
fn page(command: &Command, name: &str) -> Vec<u8> {
    let man = Man::new(command.clone().name(name.to_owned()).display_name(name.to_owned()));
    let mut text = Vec::new();
    let mut render = || -> io::Result<()> {
        man.render_title(&mut text)?;
        man.render_name_section(&mut text)?;
        man.render_synopsis_section(&mut text)?;
        man.render_description_section(&mut text)?;
        if let Some(examples) = command.get_before_help() {
            verbatim(&mut text, "EXAMPLES", examples.to_string().trim_start_matches("Examples:\n"));
        }
        man.render_options_section(&mut text)?;
        if command.has_subcommands() {
            man.render_subcommands_section(&mut text)?;
        }
        if let Some(rest) = command.get_after_long_help().or(command.get_after_help()) {
            verbatim(&mut text, "NOTES", &rest.to_string());
        }
        if command.get_version().is_some() {
            man.render_version_section(&mut text)?;
        }
        Ok(())
    };
    render().expect("writing to memory does not fail");
    text
}

/// A section whose lines stay as they are. Roff interprets backslashes, and a full stop or quote at
/// the start of a line.
fn verbatim(page: &mut Vec<u8>, title: &str, text: &str) {
    page.extend_from_slice(format!(".SH {title}\n.nf\n").as_bytes());
    for line in text.lines() {
        page.extend_from_slice(b"\\&");
        page.extend_from_slice(line.replace('\\', "\\\\").replace('-', "\\-").as_bytes());
        page.push(b'\n');
    }
    page.extend_from_slice(b".fi\n");
}
