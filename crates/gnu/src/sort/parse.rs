//! Parses the command line of GNU sort. The result is a [`Command`], or GNU's refusal.
//!
//! Words are read in order, as GNU sort does: the first wrong one is refused. Options that exclude
//! each other are refused only after all were read. Source: the manual of GNU coreutils ("sort
//! invocation"), getopt's ("Using Getopt", of the C library) and the output of the program.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use super::command::{Check, Codec, Command, Flags, KeyField, Request};
use super::count::{size, whole_count};
use super::environment::Environment;
use super::key;
use super::options::{
    CHECK_WORDS, COMPRESS_OUTPUT_WORDS, COMPRESS_WORDS, Meaning, OPTIONS, SORT_WORDS,
};
use super::record_key::{NEEDED, is_record_key, record_key, refuse_with_records};
use super::records::{RecordPart, Records};
use crate::getopt::{
    Given, Quoting, Refusal, Said, Words, incompatible, joined, one_of, threads, when,
};

/// Parses the arguments after the program's name.
///
/// # Errors
///
/// Command lines that GNU sort refuses, in its words.
pub fn parse<W: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = W>,
    environment: &Environment,
) -> Result<Request, Refusal> {
    let words: Vec<Vec<u8>> =
        arguments.into_iter().map(|argument| argument.as_ref().as_bytes().to_vec()).collect();
    let mut parser = Parser {
        words: Words::new(&OPTIONS, &words, environment.has_our_letters),
        environment,
        quoting: Quoting(&environment.locale),
        has_obsolete_keys: environment.has_obsolete_keys(),
        has_records: words.iter().any(|word| word.starts_with(b"--record-")),
        command: Command::default(),
    };
    Ok(match parser.run()? {
        Some(request) => request,
        None => Request::Run(Box::new(parser.finish()?)),
    })
}

/// Refuses options that exclude each other, and more than one input to a check. [`parse`] calls it
/// for operands. For `--files0-from` the caller calls it once it has read the list, as GNU sort
/// does.
///
/// # Errors
///
/// The combination that is refused.
pub fn refuse_combinations<F: AsRef<OsStr>>(
    command: &Command,
    files: &[F],
    environment: &Environment,
) -> Result<(), Refusal> {
    if let Some(key) = command.keys.iter().find(|key| !key.flags.are_compatible()) {
        let kinds = Flags { start_blanks: false, end_blanks: false, reverse: false, ..key.flags };
        return Err(incompatible(&kinds.letters()));
    }
    let check = command.check.map(|check| char::from(check_letter(check)));
    let forbids_debug = check.or(command.output.is_some().then_some('o'));
    if let (true, Some(letter)) = (command.debug, forbids_debug) {
        return Err(incompatible(&format!("{letter} --debug")));
    }
    refuse_extras(command)?;
    refuse_many(command, files, environment)?;
    match (check, &command.output) {
        (Some(letter), Some(_)) => Err(incompatible(&format!("{letter}o"))),
        _ => Ok(()),
    }
}

/// Refuses more than one input to a check.
fn refuse_many<F: AsRef<OsStr>>(
    command: &Command,
    files: &[F],
    environment: &Environment,
) -> Result<(), Refusal> {
    let (Some(check), Some(second)) = (command.check, files.get(1)) else { return Ok(()) };
    let quoting = Quoting(&environment.locale);
    let name = quoting.quote_name(second.as_ref().as_bytes());
    Err(Refusal::new(joined(&[
        b"extra operand ",
        &name,
        b" not allowed with -",
        &[check_letter(check)],
    ])))
}

fn check_letter(check: Check) -> u8 {
    match check {
        Check::DiagnoseFirst => b'c',
        Check::Quiet => b'C',
    }
}

/// The words, and the command built from those read so far.
struct Parser<'a> {
    words: Words<'a, Meaning>,
    environment: &'a Environment,
    quoting: Quoting<'a>,
    has_obsolete_keys: bool,
    /// True if an option, which may come later, makes records of lines.
    has_records: bool,
    command: Command,
}

/// The result of an option. Help and version end the reading at once.
type Step = Result<Option<Request>, Refusal>;

impl<'a> Parser<'a> {
    fn run(&mut self) -> Step {
        loop {
            let has_files = !self.command.files.is_empty();
            let may_be_output = self.has_obsolete_keys && self.command.check.is_none();
            let is_over = self.environment.posixly_correct && has_files;
            // POSIX ends the options at the first operand, except for an `-o` by tradition.
            let said = self.words.next(|word, next| {
                let is_output = word.starts_with(b"-o") && (word.len() > 2 || next.is_some());
                is_over && !(may_be_output && is_output)
            });
            match said {
                None => return Ok(None),
                Some(Said::Operand(word)) if is_over || self.words.has_only_operands => {
                    self.command.files.push(OsString::from_vec(word.to_vec()));
                }
                Some(Said::Operand(word)) => self.operand(word)?,
                Some(Said::Wrong(word)) => {
                    return Err(Refusal::new(word.message).see_help().with_hint(word.hint));
                }
                Some(Said::Option(given)) => {
                    if let Some(request) = self.option(&given)? {
                        return Ok(Some(request));
                    }
                }
            }
        }
    }

    fn option(&mut self, option: &Given<'_, Meaning>) -> Step {
        let (argument, full) = (option.argument, &option.name[..]);
        let given = argument.unwrap_or_default();
        let text = || OsString::from_vec(given.to_vec());
        let command = &mut self.command;
        match option.meaning {
            Meaning::Help => return Ok(Some(Request::Help)),
            Meaning::Version => return Ok(Some(Request::Version)),
            Meaning::Letter(b'y') => {
                // `-y` of old systems is ignored. A separate word is its argument only if it is a
                // number.
                if option.is_apart && !given.iter().all(u8::is_ascii_digit) {
                    self.words.put_back();
                }
            }
            Meaning::Letter(letter) if argument.is_none() => self.letter(letter)?,
            Meaning::Letter(letter) => self.letter_with(letter, given, full)?,
            Meaning::BatchSize => self.batch_size(given)?,
            Meaning::Check => self.check_word(argument)?,
            // With the abbreviation `--compress`, some arguments are ours.
            Meaning::CompressProgram
                if option.typed == b"compress" && codec_of(given).is_some() =>
            {
                command.extras.compress = codec_of(given);
            }
            Meaning::CompressProgram => {
                once(
                    &mut command.compress_program,
                    text(),
                    "multiple compress programs specified",
                )?;
            }
            Meaning::Debug => command.debug = true,
            Meaning::Files0From => command.files0_from = Some(text()),
            Meaning::Parallel => self.parallel(given)?,
            Meaning::RandomSource => {
                once(&mut command.random_source, text(), "multiple random sources specified")?;
            }
            Meaning::Sort => self.sort_word(given)?,
            _ => self.our_option(option)?,
        }
        Ok(None)
    }

    /// Applies an option that GNU sort doesn't have.
    fn our_option(&mut self, option: &Given<'_, Meaning>) -> Result<(), Refusal> {
        let (argument, full) = (option.argument, &option.name[..]);
        let given = argument.unwrap_or_default();
        let text = || OsString::from_vec(given.to_vec());
        let extras = &mut self.command.extras;
        match option.meaning {
            Meaning::AllowEmpty => extras.allows_empty = true,
            Meaning::BandwidthLimit => extras.bandwidth_limit = Some(text()),
            Meaning::S3Connections => extras.s3_connections = Some(text()),
            Meaning::S3PartSize => extras.s3_part_size = Some(text()),
            Meaning::CheckOutput => extras.check_output = true,
            Meaning::Checkpoint(checkpoint) => extras.checkpoint = Some(checkpoint),
            Meaning::CheckpointEvery => extras.checkpoint_every = Some(interval(given)?),
            Meaning::Color => extras.color = when(argument, full, self.quoting)?,
            Meaning::CompressOutput => return self.compress_output(given),
            Meaning::Count => extras.counts = true,
            Meaning::CountLinks => extras.counts_links = true,
            Meaning::Decompress(is_on) => extras.decompress = Some(is_on),
            Meaning::DryRun => extras.dry_run = true,
            Meaning::Header => {
                extras.header_lines = argument.map_or(Ok(1), |text| whole_count(text, full))?;
            }
            Meaning::HeaderPrefix => extras.header_prefix = Some(text()),
            Meaning::InPlace => extras.in_place = true,
            Meaning::IndexColumns => extras.index_columns = Some(text()),
            Meaning::Late => extras.late = Some(text()),
            Meaning::SortedBy => extras.sorted_by.push(key::fields(given, self.quoting)?),
            Meaning::Within => extras.within = Some(text()),
            Meaning::Json => extras.json = true,
            Meaning::Report => extras.report = Some(text()),
            Meaning::Trace => extras.trace = Some(text()),
            Meaning::NoClobber => extras.no_clobber = true,
            Meaning::NoQuotes => extras.no_quotes = true,
            Meaning::NoSync => extras.no_sync = true,
            Meaning::Order => {
                let key = key::listed(given, self.quoting)?;
                self.command.keys.push(key);
            }
            Meaning::VerifyOutput => extras.verify_output = true,
            Meaning::Memory => extras.memory = Some(text()),
            Meaning::MinShift => extras.min_shift = Some(text()),
            Meaning::Progress => extras.progress = when(argument, full, self.quoting)?,
            Meaning::Quiet => extras.quiet = true,
            Meaning::RecordBegins => {
                return Records::begins(given, self.quoting)?.set(&mut extras.records);
            }
            Meaning::RecordEndsBlank => return Records::EndBlank.set(&mut extras.records),
            Meaning::RecordLines => {
                return Records::lines(whole_count(given, full)?)?.set(&mut extras.records);
            }
            Meaning::Recursive => extras.recursive = true,
            Meaning::Seed => extras.seed = Some(seed(given)?),
            Meaning::Shuffle => extras.shuffles = true,
            Meaning::TemperatureLimit => {
                let celsius = whole_count(given, full)?;
                extras.limit_celsius = Some(u16::try_from(celsius).unwrap_or(u16::MAX));
            }
            Meaning::Threads => self.command.parallel = threads(given, self.quoting)?,
            Meaning::Top => extras.top_lines = Some(top_lines(given, full)?),
            Meaning::Verbose => extras.verbose = true,
            Meaning::WriteIndex => {
                extras.write_index = Some(argument.map_or_else(|| "auto".into(), |_| text()));
            }
            _ => unreachable!("all others are GNU sort's"),
        }
        Ok(())
    }

    /// Applies a letter without an argument.
    fn letter(&mut self, letter: u8) -> Result<(), Refusal> {
        let command = &mut self.command;
        match letter {
            b'c' => self.check(Check::DiagnoseFirst)?,
            b'C' => self.check(Check::Quiet)?,
            b'm' => command.merge = true,
            b's' => command.stable = true,
            b'u' => command.unique = true,
            b'z' => command.zero_terminated = true,
            _ => assert!(
                command.global.set(letter, true, true),
                "the vocabulary has no other letters"
            ),
        }
        Ok(())
    }

    /// Applies a letter with its argument. `option` is its name in messages.
    fn letter_with(&mut self, letter: u8, argument: &[u8], option: &str) -> Result<(), Refusal> {
        let key = if letter == b'k' { Some(self.key(argument)?) } else { None };
        let command = &mut self.command;
        let text = OsString::from_vec(argument.to_vec());
        match letter {
            b'k' => command.keys.extend(key),
            b'o' => once(&mut command.output, text, "multiple output files specified")?,
            b'S' => {
                let hint = "--memory takes sizes as the other commands do: 1GB, 1GiB, 1.5G, 50%";
                let bytes = size(argument, option, self.environment.memory_bytes)
                    .map_err(|refusal| refusal.with_hint(hint.to_owned()))?;
                command.buffer_bytes = command.buffer_bytes.max(Some(bytes));
            }
            b't' => self.separator(argument)?,
            b'T' => command.temporary_directories.push(text),
            _ => unreachable!("no option takes this argument"),
        }
        Ok(())
    }

    /// Parses the argument of `-k`.
    fn key(&self, argument: &[u8]) -> Result<KeyField, Refusal> {
        match (is_record_key(argument), self.has_records) {
            (true, true) => record_key(argument, self.quoting),
            (true, false) => key::fields(argument, self.quoting).map_err(|refusal| {
                let needed = String::from_utf8_lossy(NEEDED);
                refusal.with_hint(format!("a key of a record of several lines needs {needed}"))
            }),
            (false, _) => key::fields(argument, self.quoting),
        }
    }

    fn separator(&mut self, argument: &[u8]) -> Result<(), Refusal> {
        let separator = match *argument {
            [] => return Err(Refusal::new("empty tab")),
            [byte] => byte,
            [b'\\', b'0'] => 0,
            _ => {
                let tab = self.quoting.quote(argument);
                let refusal = Refusal::new(joined(&[b"multi-character tab ", &tab]));
                return Err(match argument {
                    b"\\t" => refusal.with_hint("a tab is written -t $'\\t'".to_owned()),
                    _ => refusal,
                });
            }
        };
        match self.command.separator.replace(separator) {
            Some(earlier) if earlier != separator => Err(Refusal::new("incompatible tabs")),
            _ => Ok(()),
        }
    }

    fn check(&mut self, check: Check) -> Result<(), Refusal> {
        match self.command.check.replace(check) {
            Some(earlier) if earlier != check => Err(incompatible("cC")),
            _ => Ok(()),
        }
    }

    fn check_word(&mut self, word: Option<&[u8]>) -> Result<(), Refusal> {
        let Some(word) = word else { return self.check(Check::DiagnoseFirst) };
        self.check(one_of(word, "--check", &CHECK_WORDS, self.quoting)?)
    }

    fn sort_word(&mut self, word: &[u8]) -> Result<(), Refusal> {
        let letter = one_of(word, "--sort", &SORT_WORDS, self.quoting)?;
        self.command.global.set(letter, true, true);
        Ok(())
    }

    fn compress_output(&mut self, word: &[u8]) -> Result<(), Refusal> {
        let compression = one_of(word, "--compress-output", &COMPRESS_OUTPUT_WORDS, self.quoting)?;
        self.command.extras.compress_output = Some(compression);
        Ok(())
    }

    fn parallel(&mut self, argument: &[u8]) -> Result<(), Refusal> {
        match whole_count(argument, "--parallel")? {
            0 => Err(Refusal::new("number in parallel must be nonzero")),
            threads => {
                self.command.parallel = Some(threads as usize);
                Ok(())
            }
        }
    }

    /// Parses the argument of `--batch-size`. Three files stay open besides the merged ones:
    /// standard input, output and error.
    fn batch_size(&mut self, argument: &[u8]) -> Result<(), Refusal> {
        let most = self.environment.open_files_max.saturating_sub(3);
        let inputs = whole_count(argument, "--batch-size")?;
        let quoted = self.quoting.quote(argument);
        if inputs < 2 {
            let two = self.quoting.quote(b"2");
            return Err(Refusal::new(joined(&[b"invalid --batch-size argument ", &quoted]))
                .and(joined(&[b"minimum --batch-size argument is ", &two])));
        }
        if inputs > most {
            return Err(Refusal::new(joined(&[b"--batch-size argument ", &quoted, b" too large"]))
                .and(format!("maximum --batch-size argument with current rlimit is {most}")));
        }
        self.command.batch_size = Some(inputs as usize);
        Ok(())
    }

    /// Takes a file, or a key in the obsolete form.
    fn operand(&mut self, word: &'a [u8]) -> Result<(), Refusal> {
        let is_end = |word: &&[u8]| word.len() > 1 && word[0] == b'-' && word[1].is_ascii_digit();
        let end = self.words.peek().filter(is_end);
        if word.starts_with(b"+") && end.is_some() && !self.environment.posixly_correct {
            self.has_obsolete_keys = true;
        }
        let key = if self.has_obsolete_keys { key::obsolete_start(word) } else { None };
        let Some(mut key) = key else {
            self.command.files.push(OsString::from_vec(word.to_vec()));
            return Ok(());
        };
        if let Some(end) = end {
            self.words.word();
            key::obsolete_end(end, &mut key, self.quoting)?;
        }
        self.command.keys.push(key);
        Ok(())
    }

    /// Runs the checks that need all words, in GNU sort's order.
    fn finish(mut self) -> Result<Command, Refusal> {
        self.refuse_files_beside_list()?;
        let command = &mut self.command;
        give_global_flags(command);
        if command.files0_from.is_none() {
            refuse_combinations(command, &command.files, self.environment)?;
        }
        if command.files.is_empty() && command.files0_from.is_none() {
            command.files.push("-".into());
        }
        Ok(self.command)
    }

    fn refuse_files_beside_list(&self) -> Result<(), Refusal> {
        match (&self.command.files0_from, self.command.files.first()) {
            (Some(_), Some(file)) => {
                let name = self.quoting.quote_name(file.as_bytes());
                Err(Refusal::new(joined(&[b"extra operand ", &name]))
                    .and_bare("file operands cannot be combined with --files0-from")
                    .see_help())
            }
            _ => Ok(()),
        }
    }
}

/// Refuses invalid combinations of our own options.
fn refuse_extras(command: &Command) -> Result<(), Refusal> {
    let extras = &command.extras;
    if extras.counts && !command.unique {
        return Err(Refusal::new("--count counts the equal lines of which -u prints one: add -u"));
    }
    if extras.counts && command.debug {
        return Err(Refusal::new("--debug marks keys, which are not where --count puts them"));
    }
    if extras.checkpoint_every.is_some() && extras.checkpoint.is_none() {
        return Err(Refusal::new(
            "--checkpoint-every says how often: add --checkpoint, --resume or --restart",
        ));
    }
    if (extras.index_columns.is_some() || extras.min_shift.is_some())
        && extras.write_index.is_none()
    {
        return Err(Refusal::new(
            "--index-columns and --min-shift are of an index, which is missing: add --write-index",
        ));
    }
    if extras.seed.is_some() && !extras.shuffles {
        return Err(Refusal::new("--seed chooses the order of --shuffle, which is missing"));
    }
    let has_order = !command.keys.is_empty() || command.reverse || command.stable;
    let is_no_sort = command.merge || command.check.is_some();
    let looks_at_keys = command.unique || command.debug || command.random_source.is_some();
    if extras.shuffles && (has_order || is_no_sort || looks_at_keys) {
        return Err(Refusal::new(
            "--shuffle goes with no option that orders, checks, merges, drops or marks lines",
        ));
    }
    refuse_beside_records(command)?;
    refuse_incremental(command)?;
    if let Some(prefix) = &extras.header_prefix {
        let prefix = prefix.as_bytes();
        if prefix.is_empty() || prefix.contains(&command.terminator()) {
            return Err(Refusal::new("the prefix of a header is text within a line"));
        }
        if extras.header_lines > 0 {
            return Err(Refusal::new("a header has either --header or --header-prefix"));
        }
    }
    Ok(())
}

/// Refuses what a sort of records of several lines can't do.
fn refuse_beside_records(command: &Command) -> Result<(), Refusal> {
    let extras = &command.extras;
    let given = [
        ("-m (a sort of sorted inputs gives the same)", command.merge),
        ("--debug", command.debug),
        ("--count", extras.counts),
        ("--shuffle", extras.shuffles),
        ("--sorted-by and --within", extras.is_incremental()),
        ("--checkpoint, --resume and --restart", extras.checkpoint.is_some()),
        ("--write-index", extras.write_index.is_some()),
    ];
    refuse_with_records(extras.records.as_ref(), &command.keys, &given)
}

/// Refuses invalid combinations of the options that say how far lines are in order.
fn refuse_incremental(command: &Command) -> Result<(), Refusal> {
    let extras = &command.extras;
    if extras.late.is_some() && extras.within.is_none() {
        return Err(Refusal::new(
            "--late takes the lines that --within lets come too late: add it",
        ));
    }
    if !extras.is_incremental() {
        return Ok(());
    }
    if extras.within.is_some() && !extras.sorted_by.is_empty() {
        return Err(Refusal::new(
            "--sorted-by and --within both say how far lines are in order: leave one out",
        ));
    }
    if !command.keys.starts_with(&extras.sorted_by) {
        return Err(Refusal::new(
            "--sorted-by names the first keys of the sort: give the same to -k, before all others",
        ));
    }
    let name = if extras.within.is_some() { "--within" } else { "--sorted-by" };
    let refused = [
        ("-c", command.check.is_some()),
        ("-m", command.merge),
        ("--dry-run", extras.dry_run),
        ("--shuffle", extras.shuffles),
        ("--checkpoint, --resume and --restart", extras.checkpoint.is_some()),
    ];
    match refused.iter().find(|(_, is_given)| *is_given) {
        Some((other, _)) => Err(Refusal::new(format!(
            "{name} says how far the lines of a sort are in order: leave out {other}"
        ))),
        None => Ok(()),
    }
}

/// Copies the global ordering options to keys that have none. Without keys it adds a key of the
/// whole line.
fn give_global_flags(command: &mut Command) {
    command.reverse = command.global.reverse;
    for key in command.keys.iter_mut().chain(&mut command.extras.sorted_by) {
        if key.flags == Flags::default() {
            key.flags = command.global;
        }
    }
    if command.keys.is_empty() && !command.global.is_plain() {
        let part = RecordPart::Whole;
        command.keys.push(KeyField { part, flags: command.global, ..KeyField::default() });
        command.is_global_key = true;
    }
}

/// Parses the argument of `--checkpoint-every`.
fn interval(argument: &[u8]) -> Result<Duration, Refusal> {
    let seconds = std::str::from_utf8(argument).ok().and_then(|text| text.parse().ok());
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| {
        Refusal::new("the argument of --checkpoint-every must be seconds, such as 1 or 0.5")
    })
}

/// Parses the argument of `--top`, whose name is `option`.
fn top_lines(argument: &[u8], option: &str) -> Result<u64, Refusal> {
    match whole_count(argument, option)? {
        0 => Err(Refusal::new("number of lines must be nonzero")),
        lines => Ok(lines),
    }
}

/// Parses the argument of `--seed`.
fn seed(argument: &[u8]) -> Result<u64, Refusal> {
    let number = std::str::from_utf8(argument).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        Refusal::new("the argument of --seed must be a number from 0 to 18446744073709551615")
    })
}

/// Sets an option that may be repeated only with the same value.
fn once(place: &mut Option<OsString>, value: OsString, problem: &str) -> Result<(), Refusal> {
    match place.replace(value) {
        Some(earlier) if Some(&earlier) != place.as_ref() => Err(Refusal::new(problem)),
        _ => Ok(()),
    }
}

/// The compression of a word after `--compress`, unless it is a program's name.
fn codec_of(word: &[u8]) -> Option<Codec> {
    COMPRESS_WORDS.iter().find(|(name, _)| name.as_bytes() == word).map(|&(_, codec)| codec)
}
