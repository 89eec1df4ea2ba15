//! Parses the command line of GNU du. The result is a request, or GNU's refusal.
//!
//! du continues after most errors and gives up at the end, so it may report several. A wrong size
//! or word ends it at once.

use std::ffi::{OsStr, OsString};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::command::{
    Command, Extras, Follow, Measure, Request, SortBy, Threshold, Time, TimeOf, Understood,
};
use super::exclude::Excludes;
use super::number::{Number, Problem, number};
use super::options::{Meaning, OPTIONS, SORT_WORDS, TIME_STYLES, TIME_WORDS};
use super::size::Scale;
use crate::getopt::{
    Given, Quoting, Refusal, Said, Words, WrongWord, one_of, system_reason, threads, when,
};
use crate::locale::Locale;

/// The process state that the parser needs.
pub struct Surroundings<'a> {
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The locale, which decides how messages are quoted. It is loaded when needed.
    pub locale: &'a dyn Fn() -> &'a Locale,
    /// Reads a file with patterns; `-` is standard input.
    pub read: &'a dyn Fn(&OsStr) -> io::Result<Vec<u8>>,
    /// True if the short options that all of xsort's commands share are understood: `-j`, `-q`.
    /// Called `du`, the program refuses them as GNU du does.
    pub has_our_letters: bool,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Surroundings").finish_non_exhaustive()
    }
}

impl<'a> Surroundings<'a> {
    fn quote(&self, text: &[u8]) -> Vec<u8> {
        Quoting((self.locale)()).quote(text)
    }

    /// Bytes of a block by default.
    fn default_block_bytes(&self) -> u64 {
        if (self.variable)("POSIXLY_CORRECT").is_some() { 512 } else { 1024 }
    }

    /// The scale from the environment.
    fn scale(&self) -> Scale {
        let default = self.default_block_bytes();
        let value =
            ["DU_BLOCK_SIZE", "BLOCK_SIZE", "BLOCKSIZE"].into_iter().find_map(self.variable);
        value.map_or(Scale::blocks(default), |value| Scale::parse(value.as_bytes(), default).0)
    }
}

/// Default depth of a tree.
const TREE_DEPTH: usize = 2;

/// Parses the arguments after the program's name.
///
/// # Errors
///
/// Command lines that GNU du refuses, in its words.
pub fn parse<'a, W: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = W>,
    surroundings: &'a Surroundings<'a>,
) -> Result<Understood, Refusal> {
    let words: Vec<Vec<u8>> =
        arguments.into_iter().map(|argument| argument.as_ref().as_bytes().to_vec()).collect();
    let mut parser = Parser::new(surroundings);
    match parser.run(&words) {
        Ok(Some(request)) => Ok(Understood { request, said: parser.said }),
        Ok(None) => parser.finish(),
        Err(refusal) => Err(refusal.after(parser.said)),
    }
}

struct Parser<'a> {
    surroundings: &'a Surroundings<'a>,
    command: Command,
    /// `-d`.
    depth_max: Option<usize>,
    summarizes: bool,
    is_apparent: bool,
    counts_inodes: bool,
    time: Option<TimeOf>,
    time_style: Option<Vec<u8>>,
    said: Vec<Vec<u8>>,
    is_refused: bool,
    hint: Option<String>,
}

impl<'a> Parser<'a> {
    fn new(surroundings: &'a Surroundings<'a>) -> Self {
        let command = Command {
            files: Vec::new(),
            files0_from: None,
            follow: Follow::default(),
            counts_links: false,
            one_file_system: false,
            excludes: Excludes::default(),
            shows_files: false,
            depth_max: usize::MAX,
            separate_directories: false,
            has_total: false,
            threshold: Threshold::Least(0),
            measure: Measure::default(),
            scale: surroundings.scale(),
            time: None,
            zero_terminated: false,
            extras: Extras::default(),
        };
        Self {
            surroundings,
            command,
            depth_max: None,
            summarizes: false,
            is_apparent: false,
            counts_inodes: false,
            time: None,
            time_style: None,
            said: Vec::new(),
            is_refused: false,
            hint: None,
        }
    }

    /// Reads all words, unless an option ends the reading.
    fn run(&mut self, words: &[Vec<u8>]) -> Result<Option<Request>, Refusal> {
        let ends_at_operand = (self.surroundings.variable)("POSIXLY_CORRECT").is_some();
        let mut words = Words::new(&OPTIONS, words, self.surroundings.has_our_letters);
        loop {
            let is_over = ends_at_operand && !self.command.files.is_empty();
            match words.next(|_, _| is_over) {
                None => return Ok(None),
                Some(Said::Operand(word)) => {
                    self.command.files.push(OsString::from_vec(word.to_vec()));
                }
                Some(Said::Wrong(WrongWord { message, hint })) => {
                    self.complain(message);
                    self.hint = self.hint.take().or(hint);
                }
                Some(Said::Option(given)) => {
                    if let Some(request) = self.option(&given)? {
                        return Ok(Some(request));
                    }
                }
            }
        }
    }

    /// Reports an error after which du continues, to give up at the end.
    fn complain(&mut self, text: Vec<u8>) {
        self.said.push(text);
        self.is_refused = true;
    }

    fn option(&mut self, given: &Given<'_, Meaning>) -> Result<Option<Request>, Refusal> {
        let argument = given.argument.unwrap_or_default();
        let command = &mut self.command;
        match given.meaning {
            Meaning::Letter(letter) => self.letter(letter, argument, &given.name)?,
            Meaning::Color => {
                command.extras.color =
                    when(given.argument, &given.name, Quoting((self.surroundings.locale)()))?;
            }
            Meaning::Exclude => command.excludes.add(argument),
            Meaning::Files0From => {
                command.files0_from = Some(OsString::from_vec(argument.to_vec()));
            }
            Meaning::Help => return Ok(Some(Request::Help)),
            Meaning::Version => return Ok(Some(Request::Version)),
            Meaning::Inodes => self.counts_inodes = true,
            Meaning::Json => command.extras.json = true,
            Meaning::Progress => {
                command.extras.progress =
                    when(given.argument, &given.name, Quoting((self.surroundings.locale)()))?;
            }
            Meaning::Quiet => command.extras.quiet = true,
            Meaning::Report => {
                command.extras.report = Some(OsString::from_vec(argument.to_vec()));
            }
            Meaning::Si => command.scale = Scale::short(false),
            Meaning::SkipPseudo => command.extras.skips_pseudo = true,
            Meaning::Sort => self.command.extras.sort = Some(self.sort(argument)?),
            Meaning::Threads => {
                let threads = threads(argument, Quoting((self.surroundings.locale)()));
                let threads = threads.map_err(|refusal| refusal.with_status(1))?;
                command.extras.threads = threads.and_then(NonZeroUsize::new);
            }
            Meaning::Time => self.time = Some(self.time_of(given.argument)?),
            Meaning::TimeStyle => self.time_style = Some(argument.to_vec()),
            Meaning::Top => command.extras.top_lines = Some(at_least_one(argument, &given.name)?),
            Meaning::Tree => command.extras.tree = true,
        }
        Ok(None)
    }

    fn letter(&mut self, letter: u8, argument: &[u8], option: &str) -> Result<(), Refusal> {
        let command = &mut self.command;
        match letter {
            b'0' => command.zero_terminated = true,
            b'A' => self.is_apparent = true,
            b'a' => command.shows_files = true,
            b'B' => {
                let (scale, problem) =
                    Scale::parse(argument, self.surroundings.default_block_bytes());
                command.scale = scale;
                problem.map_or(Ok(()), |problem| Err(problem.refusal(option, argument)))?;
            }
            b'b' => {
                self.is_apparent = true;
                command.scale = Scale::blocks(1);
            }
            b'c' => command.has_total = true,
            b'd' => self.depth(argument),
            b'D' | b'H' => command.follow = Follow::Arguments,
            b'h' => command.scale = Scale::short(true),
            b'k' => command.scale = Scale::blocks(1 << 10),
            b'L' => command.follow = Follow::Always,
            b'l' => command.counts_links = true,
            b'm' => command.scale = Scale::blocks(1 << 20),
            b'P' => command.follow = Follow::Never,
            b'S' => command.separate_directories = true,
            b's' => self.summarizes = true,
            b't' => command.threshold = threshold(argument, option)?,
            b'X' => match (self.surroundings.read)(OsStr::from_bytes(argument)) {
                Ok(text) => command.excludes.add_lines(&text),
                Err(error) => {
                    let name = Quoting((self.surroundings.locale)()).show_name(argument);
                    self.complain([&name[..], b": ", system_reason(&error).as_bytes()].concat());
                }
            },
            b'x' => command.one_file_system = true,
            _ => unreachable!("the vocabulary has no other letters"),
        }
        Ok(())
    }

    fn depth(&mut self, argument: &[u8]) {
        let depth = number(argument, 0, u64::MAX.into(), b"");
        match depth {
            Number { value: Some(value), problem: None, .. } => {
                self.depth_max = Some(value as usize);
            }
            _ => self.complain(
                [b"invalid maximum depth ", &self.surroundings.quote(argument)[..]].concat(),
            ),
        }
    }

    fn time_of(&self, word: Option<&[u8]>) -> Result<TimeOf, Refusal> {
        let Some(word) = word else { return Ok(TimeOf::Modified) };
        self.choose(word, "--time", &TIME_WORDS)
    }

    fn sort(&self, word: &[u8]) -> Result<SortBy, Refusal> {
        self.choose(word, "--sort", &SORT_WORDS)
    }

    /// The meaning of one of several words.
    fn choose<M: Copy + PartialEq>(
        &self,
        word: &[u8],
        of: &str,
        words: &[(&str, M)],
    ) -> Result<M, Refusal> {
        one_of(word, of, words, Quoting((self.surroundings.locale)()))
    }

    /// Checks everything that needs all words, in GNU du's order.
    fn finish(mut self) -> Result<Understood, Refusal> {
        if self.is_refused {
            return Err(self.give_up());
        }
        if self.command.shows_files && self.summarizes {
            self.said.push(b"cannot both summarize and show all entries".to_vec());
            return Err(self.give_up());
        }
        match self.depth_max {
            Some(0) if self.summarizes => {
                self.said.push(b"warning: summarizing is the same as using --max-depth=0".to_vec());
            }
            Some(depth) if self.summarizes => {
                self.said.push(
                    format!("warning: summarizing conflicts with --max-depth={depth}").into(),
                );
                return Err(self.give_up());
            }
            None if self.command.extras.tree => self.command.depth_max = TREE_DEPTH,
            depth => self.command.depth_max = depth.unwrap_or(usize::MAX),
        }
        if self.summarizes {
            self.command.depth_max = 0;
        }
        self.command.measure = match (self.counts_inodes, self.is_apparent) {
            (true, _) => Measure::Inodes,
            (false, true) => Measure::Apparent,
            (false, false) => Measure::Allocated,
        };
        if self.counts_inodes {
            if self.is_apparent {
                let text = "warning: options --apparent-size and -b are ineffective with --inodes";
                self.said.push(text.into());
            }
            self.command.scale.unit_bytes = 1;
        }
        if let Some(of) = self.time {
            let format = self.time_format().map_err(|refusal| refusal.after(self.said.clone()))?;
            self.command.time = Some(Time { of, format });
        }
        if let (Some(_), Some(file)) = (&self.command.files0_from, self.command.files.first()) {
            let text = [b"extra operand ", &self.surroundings.quote(file.as_bytes())[..]].concat();
            return Err(Refusal::new(text)
                .and_bare("file operands cannot be combined with --files0-from")
                .see_help()
                .with_status(1)
                .after(self.said));
        }
        if self.command.files.is_empty() && self.command.files0_from.is_none() {
            self.command.files.push(".".into());
        }
        self.refuse_what_does_nothing()?;
        Ok(Understood { request: Request::Run(Box::new(self.command)), said: self.said })
    }

    /// Returns the refusal, with the messages so far as its reason.
    fn give_up(&self) -> Refusal {
        let refusal = Refusal::none().see_help().with_status(1).after(self.said.clone());
        refusal.with_hint(self.hint.clone())
    }

    /// The format of times: from the option, or from the environment variable, which ls uses too.
    fn time_format(&self) -> Result<Vec<u8>, Refusal> {
        let style = match &self.time_style {
            Some(style) => style.clone(),
            None => match (self.surroundings.variable)("TIME_STYLE").map(OsString::into_vec) {
                None => b"long-iso".to_vec(),
                Some(style) if style == b"locale" => b"long-iso".to_vec(),
                Some(style) if style.starts_with(b"+") => {
                    style.split(|&byte| byte == b'\n').next().unwrap_or_default().to_vec()
                }
                Some(style) => {
                    let mut style = &style[..];
                    while let Some(rest) = style.strip_prefix(b"posix-") {
                        style = rest;
                    }
                    style.to_vec()
                }
            },
        };
        if let Some(format) = style.strip_prefix(b"+") {
            return Ok(format.to_vec());
        }
        self.choose(&style, "time style", &TIME_STYLES).map(|format| format.as_bytes().to_vec())
    }

    fn refuse_what_does_nothing(&self) -> Result<(), Refusal> {
        let Extras { json, tree, sort, top_lines, .. } = &self.command.extras;
        let pairs = [
            (*json && *tree, "--json", "--tree"),
            (*tree && self.command.zero_terminated, "--null", "--tree"),
            (*tree && self.time.is_some(), "--time", "--tree"),
            (*json && self.command.zero_terminated, "--null", "--json"),
            (top_lines.is_some() && *sort == Some(SortBy::Name), "--top", "--sort=name"),
        ];
        match pairs.iter().find(|(is_given, ..)| *is_given) {
            None => Ok(()),
            Some((_, one, other)) => {
                let text = format!("option '{one}' cannot be combined with '{other}'");
                Err(Refusal::new(text).see_help().with_status(1).after(self.said.clone()))
            }
        }
    }
}

fn threshold(argument: &[u8], option: &str) -> Result<Threshold, Refusal> {
    let number = number(argument, i64::MIN.into(), i64::MAX.into(), b"kKmMGTPEZY0");
    if let Some(problem) = number.problem {
        return Err(problem.refusal(option, argument));
    }
    match number.value.unwrap_or(0) {
        0 if argument.starts_with(b"-") => {
            Err(Refusal::new("invalid --threshold argument '-0'").with_status(1))
        }
        value @ ..0 => Ok(Threshold::Most(value.unsigned_abs() as u64)),
        value => Ok(Threshold::Least(value as u64)),
    }
}

/// Parses a number of lines.
fn at_least_one(argument: &[u8], option: &str) -> Result<NonZeroUsize, Refusal> {
    let number = number(argument, 0, usize::MAX as i128, b"");
    if let Some(problem) = number.problem {
        return Err(problem.refusal(option, argument));
    }
    NonZeroUsize::new(number.value.unwrap_or(0) as usize)
        .ok_or_else(|| Problem::NoNumber.refusal(option, argument))
}
