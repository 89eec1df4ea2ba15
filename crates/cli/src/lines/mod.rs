//! `xsort lines`, and `sort`: lines of text, in GNU sort's words.
//!
//! A door of its own beside the other commands': its grammar is GNU's (`xsort_gnu`), so are its
//! messages and statuses, and it installs no handlers, for it has nothing to clean up.
//!
//! | file | idea |
//! |---|---|
//! | `failure` | what goes to standard error, and the status |
//! | `names` | file names in messages |
//! | `inputs` | which files, checked before anything is read; opened when they are |
//! | `decompress` | inputs that are compressed, by their first bytes |
//! | `header` | lines that stay at the head |
//! | `limited` | `--bandwidth-limit`, for what doesn't go through the disk's engine |
//! | `target` | the output, untouched until there is something to write |
//! | `passes` | a merge of more inputs than memory has room for |
//! | `filters` | what becomes of sorted lines on their way out: `--top`, `--debug` |
//! | `order` | the order of lines as the engine wants it |
//! | `resources` | memory, threads, scratch, randomness |
//! | `check` | `-c`, which needs no sort |

mod check;
mod decompress;
mod failure;
mod filters;
mod header;
mod inputs;
mod limited;
mod names;
mod order;
mod passes;
mod resources;
mod target;

use crate::gnu_commands::{base_name, is_message_lost, say};
use crate::inputs::tree::TreeOptions;
use crate::job::{Console, ConsoleOptions, JobResources};
use crate::settings::{self, ProgressStyle, ReportStyle};
use crate::signals::let_closed_pipes_kill;
use decompress::{Decoders, decompressed};
use failure::{Failure, TROUBLE};
use filters::{Marks, Top};
use inputs::Inputs;
use limited::Limited;
use order::ByText;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use target::Target;
use xsort_disk::{DiskOptions, Gate, LazyDisk, RateLimit, inherited};
use xsort_extsort::variable::{
    ByBytes, ByBytesReversed, LineOrder, LinesCheckpoint, Source, merge_sequential,
    sequential_inputs_max,
};
use xsort_extsort::{
    Begin, Checkpoint, LinesOptions, LinesReport, Observer, Unobserved, merge_lines, sort_lines,
};
use xsort_gnu::{
    Check, Checkpoint as Asked, Command, Environment, Locale, Order, Refusal, Request,
};

/// Inputs from this size on are merged by all threads, which takes it that they are in order.
const PLAIN_BYTES_MAX: u64 = 64 << 20;

/// How often a sort that can be resumed makes durable what is new.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// Does what the arguments ask for, and speaks as `program`. Returns the exit status.
pub(crate) fn run(program: &str, arguments: &[OsString]) -> u8 {
    // Whoever ignores SIGPIPE wants to be told.
    let signals = if inherited().ignores_sigpipe { Ok(()) } else { let_closed_pipes_kill() };
    let result = signals.map_err(|error| Failure::said("signals", &error));
    let status = match result.and_then(|()| answer(program, arguments)) {
        Ok(()) => 0,
        Err(failure) => {
            let status = failure.status();
            say(&failure.into_text(program));
            status
        }
    };
    if is_message_lost() { TROUBLE } else { status }
}

fn answer(program: &str, arguments: &[OsString]) -> Result<(), Failure> {
    let asked = Locale::from_environment();
    let has_locale = asked.is_some();
    let locale = asked.unwrap_or_else(Locale::c);
    let environment = resources::environment(locale.clone());
    let (text, is_long) = match xsort_gnu::parse(arguments, &environment)? {
        Request::Run(command) => {
            return Task { program, command: *command, environment, locale }.run(has_locale);
        }
        Request::Help => (xsort_gnu::help(program), true),
        Request::Version => (xsort_gnu::version(base_name(program)), false),
    };
    let mut output = Target::standard();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(|error| output.failed_at_exit(&error, is_long))
}

/// A command that was understood.
struct Task<'a> {
    program: &'a str,
    command: Command,
    environment: Environment,
    locale: Locale,
}

impl Task<'_> {
    fn run(&self, has_locale: bool) -> Result<(), Failure> {
        self.refuse_what_does_nothing()?;
        let files = inputs::files(&self.command)?;
        xsort_gnu::refuse_many(&self.command, &files, &self.environment)?;
        if self.command.debug {
            self.warn(has_locale);
        }
        let seed = resources::seed(&self.command)?;
        let order = Order::new(&self.command, &self.locale, seed);
        if order.is_bytes() {
            self.run_in(&ByBytes, &order, files)
        } else if order.is_bytes_reversed() {
            self.run_in(&ByBytesReversed, &order, files)
        } else if order.is_told_by_a_word() {
            self.run_in(&ByText::<[u64; 1]>::new(&order), &order, files)
        } else {
            self.run_in(&ByText::<[u64; 2]>::new(&order), &order, files)
        }
    }

    fn refuse_what_does_nothing(&self) -> Result<(), Failure> {
        let Command { extras, check, merge, .. } = &self.command;
        let sorts_check = [("--check-output", extras.check_output)];
        let has_limit = extras.limit_celsius.is_some();
        let sorts_only = [
            ("--json", extras.json),
            ("--progress", extras.progress),
            ("--temperature-limit", has_limit),
        ];
        let never_checks = [
            ("--header", extras.header_lines > 0),
            ("--recursive", extras.recursive),
            ("--top", extras.top_lines.is_some()),
        ];
        let beside = |letter, options: &[(&str, bool)]| {
            let (name, _) = options.iter().find(|(_, is_asked)| *is_asked)?;
            Some(Failure::Message(format!("option '{name}' does nothing beside -{letter}").into()))
        };
        let letter = if *check == Some(Check::Quiet) { 'C' } else { 'c' };
        let refused = match check {
            Some(_) => beside(letter, &sorts_only)
                .or_else(|| beside(letter, &never_checks))
                .or_else(|| beside(letter, &sorts_check)),
            None if *merge => beside('m', &sorts_check),
            None => None,
        };
        refused.map_or(Ok(()), Err)
    }

    /// How directories are read, if they are.
    fn rules(&self) -> Option<TreeOptions> {
        let Command { extras, output, .. } = &self.command;
        let output = || target::present(output.as_deref());
        let budget_bytes = || resources::budget_bytes(&self.command);
        extras.recursive.then(|| TreeOptions {
            counts_links: extras.counts_links,
            output: output(),
            budget_bytes: budget_bytes(),
        })
    }

    /// What `--debug` has to say before anything is done.
    fn warn(&self, has_locale: bool) {
        let no_locale = (!has_locale).then(|| b"failed to set locale".to_vec());
        for line in no_locale.into_iter().chain(xsort_gnu::warnings(&self.command, &self.locale)) {
            say(&[self.program.as_bytes(), b": ", &line, b"\n"].concat());
        }
    }

    fn run_in<O: LineOrder>(
        &self,
        by: &O,
        order: &Order,
        files: Vec<OsString>,
    ) -> Result<(), Failure> {
        let rate = self.rate()?;
        if let Some(check) = self.command.check {
            return self.check(by, check, files, rate);
        }
        let note = |line: &str| say(format!("{}: {line}\n", self.program).as_bytes());
        let inputs = Inputs::look(files, self.rules(), note)?;
        let names_bytes = inputs.names.budget_bytes();
        if names_bytes > 0 {
            inputs
                .names
                .check(resources::budget_bytes(&self.command))
                .map_err(failure::of_names)?;
        }
        if let Some(asked) = self.command.extras.checkpoint {
            return self.sort_resumably(asked, by, inputs, rate);
        }
        let mut target = Target::open(self.command.output.as_deref())?;
        let (mut bytes, can_all_be_open) = (inputs.bytes(), inputs.can_all_be_open());
        let merges = self.command.merge;
        let mut sources = if merges {
            inputs.sources_at_once(&target, &resources::scratch(&self.command)[0])?
        } else {
            inputs.refuse_closed()?;
            resources::refuse_missing_scratch(&self.command, bytes)?;
            inputs.sources()
        };
        if let Some(rate) = &rate {
            sources = sources.into_iter().map(|source| limited(source, rate)).collect();
        }
        let (mut sources_max, mut taken_bytes) = (usize::MAX, names_bytes);
        if self.command.extras.decompress {
            let budget_bytes = resources::budget_bytes(&self.command).saturating_sub(taken_bytes);
            let decoders = match merges {
                true => Decoders::of_merge(budget_bytes, sources.len()),
                false => Decoders::of_sort(budget_bytes),
            };
            sources = sources.into_iter().map(|source| decompressed(source, decoders)).collect();
            (sources_max, taken_bytes) = (decoders.sources_max, taken_bytes + decoders.taken_bytes);
            bytes = None;
        }
        let terminator = self.command.terminator();
        let header_lines = self.command.extras.header_lines;
        if let Some(first) = sources.first_mut().filter(|_| header_lines > 0) {
            let header = header::take_header(first, header_lines, terminator);
            target.begin_with(
                header.map_err(|error| failure::of_read(first.path.as_os_str(), &error))?,
            );
        }
        let is_filtered = self.command.debug || self.command.extras.top_lines.is_some();
        let output_file = target.path().filter(|_| !is_filtered);
        let has_path = output_file.is_some();
        if merges {
            // As GNU sort does: before it reads.
            target.begin().map_err(|error| target.failed(&error))?;
        }
        let options =
            LinesOptions { output_file, taken_bytes, ..resources::options(&self.command, bytes) };
        let limit = self
            .command
            .extras
            .limit_celsius
            .map(|limit| (f64::from(limit), Arc::<Gate>::default()));
        let gate = limit.as_ref().map(|(_, gate)| Arc::clone(gate));
        let observer = self.observer(bytes, limit, rate.as_deref());
        let disk = LazyDisk::new(DiskOptions { gate, rate: rate.clone(), ..resources::disk() });
        let is_plain = !can_all_be_open || bytes < Some(PLAIN_BYTES_MAX);
        if merges && is_plain {
            let sources_max = sources_max.min(sequential_inputs_max(&options));
            let all_lines = LinesOptions { is_unique: false, ..options.clone() };
            let merge = |group, part: &mut (dyn Write + Send)| {
                merge_sequential(&all_lines, by, group, part, &*observer).map(drop)
            };
            let (directory, of_job) =
                (&options.scratch[0], |error: &_| failure::of_job(error, &target));
            sources = passes::reduce(sources, sources_max, directory, merge, of_job)?;
        }
        let is_to_drive = target.identity().is_some();
        let mut out: Box<dyn Write + Send + '_> = Box::new(&mut target);
        if let Some(rate) = rate.as_ref().filter(|_| is_to_drive) {
            out = Box::new(Limited::new(out, Arc::clone(rate)));
        }
        if self.command.debug {
            out = Box::new(Marks::new(out, order, &self.locale, terminator));
        }
        if let Some(lines) = self.command.extras.top_lines {
            out = Box::new(Top::new(out, lines, terminator));
        }
        let result = match (merges, is_plain) {
            (false, _) => sort_lines(&options, by, sources, &mut out, &disk, &*observer),
            (true, false) => merge_lines(&options, by, sources, &mut out, &disk, &*observer),
            (true, true) => merge_sequential(&options, by, sources, &mut out, &*observer),
        };
        drop(out);
        let report = result.map_err(|error| failure::of_job(&error, &target))?;
        if has_path {
            target.go_to_end().map_err(|error| target.failed(&error))?;
        }
        if self.command.extras.json { tell(&report) } else { Ok(()) }
    }

    /// A sort that can go on after an interruption: only of files, to a file.
    fn sort_resumably<O: LineOrder>(
        &self,
        asked: Asked,
        by: &O,
        inputs: Inputs,
        rate: Option<Arc<RateLimit>>,
    ) -> Result<(), Failure> {
        let Command { extras, output, .. } = &self.command;
        let refuse =
            |what: &str| Failure::Message(format!("a sort that can be resumed {what}").into());
        let Some(output) = output.clone() else { return Err(refuse("needs an output file (-o)")) };
        let beside = [
            (self.command.merge, "is no merge (-m)"),
            (self.command.debug, "has no --debug"),
            (extras.header_lines > 0, "has no --header"),
            (extras.top_lines.is_some(), "has no --top"),
            (
                self.command.needs_random() && self.command.random_source.is_none(),
                "with -R needs --random-source",
            ),
        ];
        if let Some((_, what)) = beside.into_iter().find(|(is_asked, _)| *is_asked) {
            return Err(refuse(what));
        }
        let Some(files) = inputs.files() else {
            return Err(refuse("reads files only: what comes from a pipe can't be read again"));
        };
        let bytes = inputs.bytes();
        resources::refuse_missing_scratch(&self.command, bytes)?;
        let mut taken_bytes = inputs.names.budget_bytes();
        let mut sources = inputs.sources();
        if let Some(rate) = &rate {
            sources = sources.into_iter().map(|source| limited(source, rate)).collect();
        }
        if extras.decompress {
            let decoders = Decoders::of_sort(
                resources::budget_bytes(&self.command).saturating_sub(taken_bytes),
            );
            sources = sources.into_iter().map(|source| decompressed(source, decoders)).collect();
            taken_bytes += decoders.taken_bytes;
        }
        let begin = match asked {
            Asked::Begin => Begin::New,
            Asked::Resume => Begin::Resume,
            Asked::Restart => Begin::Restart,
        };
        // What says how lines compare, and which are wanted.
        let Command {
            keys,
            unique,
            stable,
            reverse,
            zero_terminated,
            separator,
            random_source,
            ..
        } = &self.command;
        let order = (keys, unique, stable, reverse, zero_terminated, separator, random_source);
        let locale = ["LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LANG"]
            .map(std::env::var_os);
        let meaning = format!("{order:?} {} {locale:?}", extras.decompress);
        let checkpoint = LinesCheckpoint {
            checkpoint: Checkpoint {
                begin,
                every: extras.checkpoint_every.unwrap_or(CHECKPOINT_EVERY),
            },
            output: output.into(),
            inputs: files,
            meaning,
        };
        let limit = extras.limit_celsius.map(|limit| (f64::from(limit), Arc::<Gate>::default()));
        let gate = limit.as_ref().map(|(_, gate)| Arc::clone(gate));
        let observer = self.observer(bytes, limit, rate.as_deref());
        let disk = LazyDisk::new(DiskOptions { gate, rate, ..resources::disk() });
        let options = LinesOptions {
            checkpoint: Some(checkpoint),
            taken_bytes,
            ..resources::options(&self.command, bytes)
        };
        let report = sort_lines(&options, by, sources, &mut io::sink(), &disk, &*observer)
            .map_err(|error| Failure::Message(error.to_string().into()))?;
        if extras.json { tell(&report) } else { Ok(()) }
    }

    /// How much may be moved in a second, if that was asked for. Signals end a sort of lines where
    /// it stands, waits too.
    fn rate(&self) -> Result<Option<Arc<RateLimit>>, Failure> {
        let rate = self.command.extras.bandwidth_limit.as_deref().map(limited::rate).transpose()?;
        Ok(rate.map(|rate| Arc::new(RateLimit::new(rate, || false))))
    }

    fn check<O: LineOrder>(
        &self,
        by: &O,
        check: Check,
        files: Vec<OsString>,
        rate: Option<Arc<RateLimit>>,
    ) -> Result<(), Failure> {
        let Some(file) = files.into_iter().next() else { return Ok(()) };
        let terminator = self.command.terminator();
        let mut source = inputs::source(&file);
        if let Some(rate) = rate {
            source.bytes_from = Box::new(Limited::new(source.bytes_from, rate));
        }
        if self.command.extras.decompress {
            source =
                decompressed(source, Decoders::of_sort(resources::budget_bytes(&self.command)));
        }
        let found = check::first_disorder(by, source, terminator, self.command.unique)
            .map_err(|error| failure::of_read(&file, &error))?;
        match (found, check) {
            (None, _) => Ok(()),
            (Some(_), Check::Quiet) => Err(Failure::Disorder(Vec::new())),
            (Some((number, line)), Check::DiagnoseFirst) => {
                let name = file.as_bytes();
                let text = xsort_gnu::disorder(self.program, name, number, line, &self.command);
                Err(Failure::Disorder(text))
            }
        }
    }

    /// Who watches a sort of so many bytes, if that is known. Little is sorted before anybody could
    /// look, and sooner without a thread for that; where files are scarce, the thread's would be
    /// missed.
    fn observer(
        &self,
        bytes: Option<u64>,
        limit: Option<(f64, Arc<Gate>)>,
        rate: Option<&RateLimit>,
    ) -> Box<dyn Observer> {
        let is_small = bytes.is_some_and(|bytes| bytes <= resources::SMALL_BYTES);
        let is_asked = self.command.extras.progress || limit.is_some() || rate.is_some();
        if !is_asked && (is_small || resources::has_few_files()) {
            return Box::new(Unobserved);
        }
        let progress = match self.command.extras.progress {
            true if io::stderr().is_terminal() => ProgressStyle::Bar,
            true => ProgressStyle::Lines,
            false => ProgressStyle::None,
        };
        let style = ReportStyle { json: false, quiet: false, progress };
        let scratch = resources::scratch(&self.command);
        let mut directories: Vec<_> =
            scratch.iter().map(|path| (path.clone(), "scratch")).collect();
        if let Some(output) = &self.command.output {
            directories.push((settings::directory_of(Path::new(output)), "output"));
        }
        let limit_bytes_per_second = rate.map(RateLimit::bytes_per_second);
        let resources =
            JobResources { directories, hidden_file_directories: scratch, limit_bytes_per_second };
        Box::new(Console::new(ConsoleOptions {
            command: "lines",
            style,
            resources,
            temperature: limit,
            stop: None,
        }))
    }
}

/// A source held to a rate, if it is on a drive. One that is read by its name passes the disk's
/// engine.
fn limited(source: Source, rate: &Arc<RateLimit>) -> Source {
    match source.bytes {
        Some(_) => Source {
            bytes_from: Box::new(Limited::new(source.bytes_from, Arc::clone(rate))),
            ..source
        },
        None => source,
    }
}

/// The figures of a sort, as one JSON object on standard error: standard output is for the lines.
fn tell(report: &LinesReport) -> Result<(), Failure> {
    let mut text =
        serde_json::to_vec(report).map_err(|error| Failure::said("JSON", &error.into()))?;
    text.push(b'\n');
    say(&text);
    Ok(())
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}
