//! What may have been meant by options that the commands of records don't have: GNU sort's, and
//! those of `xsort lines`.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of GNU sort that have another name here.
const OTHER_NAMES: [(&[&str], &str); 3] = [
    (&["-S", "--buffer-size"], "the memory is -m or --memory"),
    (&["--parallel"], "the threads are -j or --threads"),
    (&["-c", "-C", "--check"], "'xsort verify FILE' checks files of records"),
];

/// Options for lines of text.
const FOR_LINES: [&str; 35] = [
    "-b",
    "-d",
    "-g",
    "-i",
    "-k",
    "-M",
    "-n",
    "-r",
    "-R",
    "-s",
    "-t",
    "-u",
    "-V",
    "-z",
    "--compress",
    "--decompress",
    "--dictionary-order",
    "--field-separator",
    "--files0-from",
    "--general-numeric-sort",
    "--header",
    "--human-numeric-sort",
    "--ignore-case",
    "--ignore-leading-blanks",
    "--ignore-nonprinting",
    "--merge",
    "--month-sort",
    "--numeric-sort",
    "--random-sort",
    "--recursive",
    "--reverse",
    "--top",
    "--unique",
    "--version-sort",
    "--zero-terminated",
];

/// Characters of a long option, with its dashes, from which on it is recognised.
const ABBREVIATION_MIN: usize = 5;

/// What may have been meant by a command line that the parser refuses.
pub(super) fn hint(error: &Error, command: &str) -> Option<String> {
    if error.kind() == ErrorKind::MissingRequiredArgument && command == "sort" {
        return Some("-o - writes to standard output".to_owned());
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument || !matches!(command, "sort" | "verify" | "gen") {
        return None;
    }
    let name = argument.split('=').next().unwrap_or_default();
    let other = OTHER_NAMES.iter().find(|(names, _)| names.contains(&name));
    if let Some((_, hint)) = other {
        return Some((*hint).to_owned());
    }
    let is_meant = |option: &&&str| {
        **option == name || (name.len() >= ABBREVIATION_MIN && option.starts_with(name))
    };
    let option = FOR_LINES.iter().find(is_meant).filter(|_| command == "sort")?;
    Some(format!("'xsort lines' sorts text, and has {option}"))
}
