//! `lines` and `du` as definitions of clap, for completions and manual pages. Another parser reads
//! their arguments (`xsort_gnu`), and its help text is the source of everything here.

use clap::{Arg, ArgAction, Command, ValueHint};
use xsort_gnu::{HelpArgument, HelpOption, HelpPage, Note, du, sort};

/// The definition of the program in which `lines` and `du` have their options.
pub(super) fn with_options(program: Command) -> Command {
    program.mut_subcommands(|command| match command.get_name() {
        "lines" => defined(&command, sort::help_page("xsort lines")),
        "du" => defined(&command, du::help_page("xsort du")),
        _ => command,
    })
}

fn defined(stub: &Command, page: HelpPage) -> Command {
    let after_help: Vec<String> =
        page.notes.iter().filter(|note| !is_examples(note)).map(shown).collect();
    let mut command = Command::new(stub.get_name().to_owned())
        .about(stub.get_about().cloned().unwrap_or_default())
        .long_about(page.about.clone())
        .override_usage(page.usage.join("\n"))
        .disable_help_flag(true)
        .disable_version_flag(true)
        .after_help(after_help.join("\n\n"));
    if let Some(examples) = page.notes.iter().find(|note| is_examples(note)) {
        command = command.before_help(shown(examples));
    }
    for group in page.groups {
        let options = group.options.iter().map(argument);
        command = command.next_help_heading(group.title).args(options);
    }
    let files = Arg::new("FILE").action(ArgAction::Append).value_hint(ValueHint::AnyPath);
    command.arg(files.hide(true))
}

fn is_examples(note: &Note) -> bool {
    note.title.as_deref() == Some("Examples")
}

fn shown(note: &Note) -> String {
    match &note.title {
        Some(title) => format!("{title}:\n{}", note.text),
        None => note.text.clone(),
    }
}

/// The definition of an option. Any option may be repeated.
fn argument(option: &HelpOption) -> Arg {
    let HelpOption { letters, name, argument, text } = option;
    let (letter, further) = match letters.split_first() {
        Some((letter, further)) => (Some(*letter), further),
        None => (None, &[][..]),
    };
    let id = name.clone().or(letter.map(String::from)).expect("an option has a name");
    let mut arg = Arg::new(id).help(text.clone()).visible_short_aliases(further.to_vec());
    if let Some(letter) = letter {
        arg = arg.short(letter);
    }
    if let Some(name) = name {
        arg = arg.long(name.clone());
    }
    match argument {
        None => arg.action(ArgAction::Count),
        Some(argument) => taking(arg.action(ArgAction::Append), argument),
    }
}

fn taking(arg: Arg, argument: &HelpArgument) -> Arg {
    let HelpArgument { name, is_optional, words } = argument;
    let mut arg = arg.value_name(name.clone());
    if *is_optional {
        arg = arg.num_args(0..=1).require_equals(true);
    }
    if !words.is_empty() {
        return arg.value_parser(words.clone()).hide_possible_values(true);
    }
    arg.value_hint(match name.as_str() {
        "FILE" | "LIST" => ValueHint::FilePath,
        "DIR" => ValueHint::DirPath,
        "PROG" => ValueHint::CommandName,
        _ => ValueHint::Other,
    })
}
