//! Hints for options that the commands of records don't have: options of GNU sort and of
//! `xsort lines`.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use xsort_gnu::HelpOption;

/// Options of GNU sort that have another name here.
const OTHER_NAMES: [(&[&str], &str); 4] = [
    (&["-S", "--buffer-size"], "the memory is -m or --memory"),
    (&["--parallel"], "the threads are -j or --threads"),
    (&["-c", "-C", "--check"], "'xsort verify FILE' checks files of records"),
    (&["--version"], "'xsort --version' prints the version"),
];

/// Options that `xsort table` has under another name.
const OTHER_NAMES_OF_TABLE: [(&[&str], &str); 4] = [
    (
        &["-r", "--reverse", "--desc", "--descending", "--order"],
        "'--by COLUMN:desc' puts the largest value first",
    ),
    (&["-k", "--key", "--sort", "--sort-by", "--order-by"], "the columns are given by --by"),
    (&["-t", "--separator", "--field-separator", "--sep", "-d"], "that is --delimiter"),
    (&["-n", "--numeric", "--numeric-sort"], "'--by COLUMN:num' sorts by numbers"),
];

/// The least number of characters, with the dashes, by which an abbreviated long option is
/// recognised.
const ABBREVIATION_MIN: usize = 5;

/// A hint for a command line that the parser of `program` refuses, if there is one.
pub(super) fn hint(error: &Error, command: &str, program: &Command) -> Option<String> {
    if error.kind() == ErrorKind::MissingRequiredArgument && command == "sort" {
        let is_output_missing = matches!(
            error.get(ContextKind::InvalidArg),
            Some(ContextValue::Strings(missing))
                if missing.iter().any(|argument| argument.starts_with("--output"))
        );
        return is_output_missing.then(|| "-o - writes to standard output".to_owned());
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let name = argument.split('=').next().unwrap_or_default();
    if !matches!(command, "sort" | "table" | "verify" | "gen") {
        return None;
    }
    if command == "table"
        && let Some(hint) = hint_for_table(name)
    {
        return Some(hint);
    }
    let other = OTHER_NAMES.iter().find(|(names, _)| names.contains(&name));
    if let Some((_, hint)) = other {
        return Some((*hint).to_owned());
    }
    let option = option_of_lines(name, program).filter(|_| command == "sort")?;
    Some(format!("'xsort lines' sorts text, and has {option}"))
}

/// A hint for an option that `xsort table` doesn't have.
fn hint_for_table(name: &str) -> Option<String> {
    let other = OTHER_NAMES_OF_TABLE.iter().find(|(names, _)| names.contains(&name));
    // Names of files may have any bytes.
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let direction = direction_of_table(&words.collect::<Vec<_>>());
    direction.or_else(|| other.map(|(_, hint)| (*hint).to_owned()))
}

/// A hint for `--by -date`, which the parser takes for options.
fn direction_of_table(words: &[String]) -> Option<String> {
    let values = words.windows(2).filter(|pair| pair[0] == "--by").map(|pair| &pair[1]);
    let column = values
        .filter_map(|value| value.strip_prefix('-'))
        .find(|name| name.len() > 1 && !name.starts_with('-'))?;
    Some(format!("'--by {column}:desc' puts the largest value first"))
}

/// The option of `xsort lines` that `name` is or abbreviates. Options that `xsort sort` also has
/// don't count.
fn option_of_lines(name: &str, program: &Command) -> Option<String> {
    let sort = program.find_subcommand("sort").expect("it is a command");
    let is_shared = |long: &str| {
        let names = |arg: &Arg| {
            arg.get_long()
                .into_iter()
                .chain(arg.get_all_aliases().into_iter().flatten())
                .any(|name| name == long)
        };
        sort.get_arguments().any(names)
    };
    let page = xsort_gnu::sort::help_page("xsort lines");
    let mut spelled = page.options().flat_map(|HelpOption { letters, name, .. }| {
        let long = name.iter().filter(|name| !is_shared(name)).map(|name| format!("--{name}"));
        letters.iter().map(|letter| format!("-{letter}")).chain(long)
    });
    let is_short_for = |option: &str| name.len() >= ABBREVIATION_MIN && option.starts_with(name);
    spelled.find(|option| option == name || is_short_for(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minus_before_a_column_is_a_direction() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let hint = direction_of_table(&words("xsort table a.csv --by -date"));
        assert_eq!(hint.as_deref(), Some("'--by date:desc' puts the largest value first"));
        assert_eq!(direction_of_table(&words("xsort table --by -o out")), None);
        assert_eq!(direction_of_table(&words("xsort table --by --check")), None);
    }
}
