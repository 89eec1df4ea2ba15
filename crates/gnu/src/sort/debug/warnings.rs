//! The warnings that `--debug` prints before the sort: the rules that order text, and options that
//! may not do what was meant.

use super::super::command::{Command, Flags, KeyField};
use crate::getopt::Quoting;
use crate::locale::{Collation, Locale};

/// The warnings for `command`, each a line without the program's name. Print "failed to set locale"
/// before them if the requested locale is missing.
pub fn warnings(command: &Command, locale: &Locale) -> Vec<Vec<u8>> {
    let mut said = Said { lines: Vec::new(), quoting: Quoting(locale) };
    match locale.collation {
        Collation::Bytes => said.say("text ordering performed using simple byte comparison"),
        _ => said.say_quoted(
            "text ordering performed using ",
            locale.name.as_bytes(),
            " sorting rules",
        ),
    }
    for (key, number) in command.keys.iter().zip(1..) {
        said.warn_of_key(command, key, number);
    }
    said.warn_of_numbers(command, locale);
    said.warn_of_ignored(command);
    said.lines
}

struct Said<'a> {
    lines: Vec<Vec<u8>>,
    quoting: Quoting<'a>,
}

impl Said<'_> {
    fn say(&mut self, text: impl Into<Vec<u8>>) {
        self.lines.push(text.into());
    }

    fn say_quoted(&mut self, before: &str, quoted: &[u8], after: &str) {
        let line = [before.as_bytes(), &self.quoting.quote(quoted), after.as_bytes()].concat();
        self.say(line);
    }

    fn warn_of_key(&mut self, command: &Command, key: &KeyField, number: usize) {
        if key.is_obsolete {
            self.warn_of_obsolete(key);
        }
        let has_width = key.end.is_none_or(|end| end.field >= key.start_field || is_at_start(key));
        if !has_width {
            self.say(format!("key {number} has zero width and will be ignored"));
        }
        if command.is_global_key {
            return;
        }
        if command.separator.is_none() && has_width && counts_blanks(key) {
            self.say(format!(
                "leading blanks are significant in key {number}; consider also specifying 'b'"
            ));
        }
        if key.flags.is_number() && spans_fields(key) {
            self.say(format!("key {number} is numeric and spans multiple fields"));
        }
    }

    fn warn_of_obsolete(&mut self, key: &KeyField) {
        let (start, end) = (key.start_field, key.end.map(|end| end.field + 1));
        let old = format!("+{start}{}", end.map_or(String::new(), |end| format!(" -{end}")));
        let new = format!("-k {}{}", start + 1, end.map_or(String::new(), |end| format!(",{end}")));
        let (old, new) = (self.quoting.quote(old.as_bytes()), self.quoting.quote(new.as_bytes()));
        self.say([b"obsolescent key ", &old[..], b" used; consider ", &new, b" instead"].concat());
    }

    /// Warns of characters in numbers that also separate fields, and tells the decimal point.
    fn warn_of_numbers(&mut self, command: &Command, locale: &Locale) {
        let has = |is: fn(&Flags) -> bool| command.keys.iter().any(|key| is(&key.flags));
        let spans = |is: fn(&Flags) -> bool| {
            !command.is_global_key
                && command.keys.iter().any(|key| is(&key.flags) && spans_fields(key))
        };
        let separates = |mark: u8| match command.separator {
            Some(separator) => separator == mark,
            None => locale.classes.blank[usize::from(mark)],
        };
        let mut knows_point = false;
        let group = locale.thousands.filter(|&group| separates(group));
        if let (true, Some(group)) = (spans(is_basic), group) {
            self.say_separator(group, "group separator");
            knows_point = true;
        }
        if spans(Flags::is_number) && separates(locale.decimal_point) {
            self.say_separator(locale.decimal_point, "decimal point");
            knows_point = true;
        } else if spans(Flags::is_number) && command.separator == Some(b'-') {
            self.say_separator(b'-', "minus sign");
        } else if spans(|flags| flags.general) && command.separator == Some(b'+') {
            self.say_separator(b'+', "plus sign");
        }
        if has(Flags::is_number) && !knows_point {
            let is_separator = command.separator == Some(locale.decimal_point);
            let before = if is_separator { "numbers use " } else { "note numbers use " };
            self.say_quoted(before, &[locale.decimal_point], " as a decimal point in this locale");
        }
        if has(is_basic) && locale.has_wide_thousands {
            self.say("the multi-byte number group separator in this locale is not supported");
        }
    }

    fn say_separator(&mut self, separator: u8, role: &str) {
        self.say_quoted(
            "field separator ",
            &[separator],
            &format!(" is treated as a {role} in numbers"),
        );
    }

    /// Warns of global options that no key has.
    fn warn_of_ignored(&mut self, command: &Command) {
        let mut ignored = command.global;
        for key in &command.keys {
            take_away(&mut ignored, key.flags);
        }
        let has_resort = command.has_last_resort();
        let reverse = ignored.reverse && !command.keys.is_empty();
        ignored.reverse = reverse && !has_resort;
        let letters = ignored.letters();
        match letters.len() {
            0 => {}
            1 => self.say(format!("option '-{letters}' is ignored")),
            _ => self.say(format!("options '-{letters}' are ignored")),
        }
        if reverse && has_resort {
            self.say("option '-r' only applies to last-resort comparison");
        }
    }
}

/// True for numbers that may have group separators.
fn is_basic(flags: &Flags) -> bool {
    flags.numeric || flags.human
}

/// Removes from `flags` the options that `key` has. `-d` and `-i` are two ways to ignore
/// characters, and a key has only one of them.
fn take_away(flags: &mut Flags, key: Flags) {
    let which = |flags: &Flags| (flags.dictionary, !flags.dictionary && flags.nonprinting);
    if which(flags) == which(&key) {
        (flags.dictionary, flags.nonprinting) = (false, false);
    }
    flags.start_blanks &= !key.start_blanks;
    flags.end_blanks &= !key.end_blanks;
    flags.fold &= !key.fold;
    flags.general &= !key.general;
    flags.human &= !key.human;
    flags.month &= !key.month;
    flags.numeric &= !key.numeric;
    flags.random &= !key.random;
    flags.version &= !key.version;
    flags.reverse &= !key.reverse;
}

/// True if the key begins where the line does.
fn is_at_start(key: &KeyField) -> bool {
    key.start_field == 0 && key.start_char == 0
}

/// True if blanks before fields count, where this is unexpected.
fn counts_blanks(key: &KeyField) -> bool {
    let Flags { start_blanks, end_blanks, .. } = key.flags;
    let end_char = key.end.map_or(0, |end| end.char);
    if key.end.is_some_and(|end| end.field == 0) && end_char != 0 {
        return false;
    }
    let skips_anyway = key.flags.is_number() || key.flags.month;
    (!start_blanks && (!skips_anyway || key.start_char != 0)) || (!end_blanks && end_char != 0)
}

/// True if a number's key extends beyond the field in which it begins.
fn spans_fields(key: &KeyField) -> bool {
    key.end.is_none_or(|end| end.field > key.start_field)
}
