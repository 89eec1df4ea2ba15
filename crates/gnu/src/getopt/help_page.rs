//! Parses a program's help text, for code that shows it in another form: completions, manual pages.
//! So the text that people read is the only description of an option.
//!
//! ```text
//! Usage: program [OPTION]... [FILE]...        may have several lines
//! What the program does.
//!
//! Title:                                      options, if a line begins with a dash
//!   -o, --option=ARGUMENT   what it does,
//!                           continued far to the right
//!
//! Title:                                      anything else, kept as it is
//!   text
//!
//! A paragraph.
//! ```

#[cfg(test)]
use super::words::{Takes, Vocabulary};

/// Lines that begin in this column or later continue the text of an option.
const CONTINUED_COLUMN: usize = 10;

/// The parts of a help text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HelpPage {
    /// Forms of the command line.
    pub usage: Vec<String>,
    /// What the program does.
    pub about: String,
    /// The options, in groups.
    pub groups: Vec<OptionGroup>,
    /// Everything else, in order.
    pub notes: Vec<Note>,
}

/// Options under one title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionGroup {
    /// The title without its colon.
    pub title: String,
    /// The options, in the order of the text.
    pub options: Vec<HelpOption>,
}

/// One option as the help describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HelpOption {
    /// Its short names.
    pub letters: Vec<char>,
    /// Its long name, without dashes.
    pub name: Option<String>,
    /// Its argument, if it takes one.
    pub argument: Option<HelpArgument>,
    /// What it does.
    pub text: String,
}

/// The argument of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelpArgument {
    /// Its name: FILE, DIR, SIZE; or its words, with `|` between them.
    pub name: String,
    /// True if it may be left out. An optional argument must be joined: `--check=quiet`.
    pub is_optional: bool,
    /// The accepted words; empty if these are no short list.
    pub words: Vec<String>,
}

/// A paragraph, or lines under a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The title without its colon.
    pub title: Option<String>,
    /// The text with its line ends, except the last.
    pub text: String,
}

impl HelpPage {
    /// Parses a help text. `words` returns the words that a long option accepts as argument, where
    /// the text has only a name for them.
    pub(crate) fn read(text: &str, words: fn(&str) -> Vec<&'static str>) -> HelpPage {
        let mut page = HelpPage::default();
        for block in text.split("\n\n") {
            let block = block.trim_end();
            if block.starts_with("Usage: ") {
                page.read_usage(block);
                continue;
            }
            let (title, body) = match block.split_once(":\n") {
                Some((title, body)) if !title.contains('\n') => (Some(title.to_owned()), body),
                _ => (None, block),
            };
            match title {
                Some(title) if body.trim_start().starts_with('-') => {
                    page.groups.push(OptionGroup { title, options: read_options(body, words) });
                }
                _ => page.notes.push(Note { title, text: body.to_owned() }),
            }
        }
        page
    }

    fn read_usage(&mut self, block: &str) {
        let mut about = Vec::new();
        for line in block.lines() {
            match line.strip_prefix("Usage: ").or(line.strip_prefix("   or: ")) {
                Some(form) => self.usage.push(form.to_owned()),
                None => about.push(line),
            }
        }
        self.about = about.join(" ");
    }

    /// All options.
    pub fn options(&self) -> impl Iterator<Item = &HelpOption> {
        self.groups.iter().flat_map(|group| &group.options)
    }
}

fn read_options(body: &str, words: fn(&str) -> Vec<&'static str>) -> Vec<HelpOption> {
    let mut options: Vec<HelpOption> = Vec::new();
    for line in body.lines() {
        let text = line.trim_start();
        let is_continued = line.len() - text.len() >= CONTINUED_COLUMN;
        match options.last_mut() {
            Some(option) if is_continued => option.text += &format!(" {text}"),
            _ => options.push(HelpOption::read(text, words)),
        }
    }
    options
}

impl HelpOption {
    /// Parses `-o, --option=ARGUMENT   what it does`.
    fn read(line: &str, words: fn(&str) -> Vec<&'static str>) -> HelpOption {
        let mut option = HelpOption::default();
        let mut rest = line;
        loop {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            let name = word.trim_end_matches(',');
            match name.strip_prefix("--") {
                Some(long) => option.read_long(long, words),
                None => option.letters.extend(name.trim_start_matches('-').chars()),
            }
            rest = after.trim_start();
            if name == word {
                break;
            }
        }
        option.text = rest.to_owned();
        option
    }

    /// Parses `option`, `option=ARGUMENT` or `option[=ARGUMENT]`.
    fn read_long(&mut self, long: &str, words: fn(&str) -> Vec<&'static str>) {
        let Some((name, argument)) = long.split_once('=') else {
            self.name = Some(long.to_owned());
            return;
        };
        let is_optional = name.ends_with('[');
        let name = name.trim_end_matches('[').to_owned();
        let argument = argument.trim_end_matches(']').to_owned();
        let words =
            if argument.contains('|') { argument.split('|').collect() } else { words(&name) };
        let words = words.into_iter().map(str::to_owned).collect();
        self.argument = Some(HelpArgument { name: argument, is_optional, words });
        self.name = Some(name);
    }
}

/// The differences between a help text and the options that a program understands.
#[cfg(test)]
pub(crate) fn differences<M: Copy>(page: &HelpPage, vocabulary: &Vocabulary<M>) -> Vec<String> {
    let mut differences = Vec::new();
    for long in vocabulary.long_options() {
        let option = page.options().find(|option| option.name.as_deref() == Some(long.name));
        let takes = match option.map(|option| option.argument.as_ref().map(|a| a.is_optional)) {
            Some(None) => Takes::Nothing,
            Some(Some(true)) => Takes::Perhaps,
            Some(Some(false)) => Takes::Argument,
            None => {
                differences.push(format!("the text lacks --{}", long.name));
                continue;
            }
        };
        if takes != long.takes {
            differences.push(format!("the text gives --{} another argument", long.name));
        }
    }
    for option in page.options() {
        if let Some(name) = &option.name
            && !vocabulary.long_options().any(|long| long.name == name)
        {
            differences.push(format!("only the text has --{name}"));
        }
        for letter in &option.letters {
            let takes = option.argument.as_ref().is_some_and(|argument| !argument.is_optional);
            let letters = if takes { vocabulary.letters_with_argument } else { vocabulary.letters };
            let is_ours = vocabulary.our_letters.iter().any(|(ours, _)| *ours == *letter as u8);
            if !letters.contains(&(*letter as u8)) && !is_ours {
                differences.push(format!("only the text has -{letter}"));
            }
        }
    }
    let has = |name: &str| vocabulary.ours.iter().any(|option| option.name == name);
    let ours = vocabulary.our_letters.iter().filter(|(_, name)| has(name));
    let ours = ours.map(|(letter, _)| letter);
    for letter in vocabulary.letters.iter().chain(vocabulary.letters_with_argument).chain(ours) {
        let letter = char::from(*letter);
        if !page.options().any(|option| option.letters.contains(&letter)) {
            differences.push(format!("the text lacks -{letter}"));
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart() {
        let text = "\
Usage: sort [OPTION]...
   or: sort --list
Sorts
lines.

Examples:
  sort a   sorts a

What is done:
  -c, --check[=WORD]   sees whether
                       --it is sorted
  -k, -m, --key=KEY the key
      --sort=WORD      by WORD

A KEY: is a part,
of a line.

Help:
      --help           this
";
        let page = HelpPage::read(text, |name| if name == "sort" { vec!["month"] } else { vec![] });
        assert_eq!((page.usage.len(), page.about.as_str()), (2, "Sorts lines."));
        let titles: Vec<&str> = page.groups.iter().map(|group| &*group.title).collect();
        assert_eq!(titles, ["What is done", "Help"]);
        let options: Vec<&HelpOption> = page.options().collect();
        assert_eq!(
            (&options[0].letters[..], options[0].name.as_deref(), options[0].text.as_str()),
            (&['c'][..], Some("check"), "sees whether --it is sorted")
        );
        let argument = options[0].argument.as_ref().unwrap();
        assert_eq!((argument.name.as_str(), argument.is_optional), ("WORD", true));
        assert_eq!(
            (&options[1].letters[..], options[1].text.as_str()),
            (&['k', 'm'][..], "the key")
        );
        assert!(!options[1].argument.as_ref().unwrap().is_optional);
        assert_eq!(options[2].argument.as_ref().unwrap().words, ["month"]);
        assert_eq!((options[3].letters.len(), options[3].name.as_deref()), (0, Some("help")));
        let notes: Vec<_> =
            page.notes.iter().map(|note| (note.title.as_deref(), &*note.text)).collect();
        assert_eq!(
            notes,
            [(Some("Examples"), "  sort a   sorts a"), (None, "A KEY: is a part,\nof a line.")]
        );
    }
}
