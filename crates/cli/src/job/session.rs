//! A running command: its job, and the console that shows it.
//!
//! ```text
//! begin --> files, inputs --> (a builder of the library runs) --> end --> ResultPrinter
//! ```

use super::console::{Console, ConsoleOptions};
use super::drives::JobPlaces;
use crate::args::{Report, Resources};
use crate::exit::Failure;
use crate::inputs::expand::{ExpandedInputs, directory_of, expand, expand_one};
use crate::inputs::names_memory::NamesMemory;
use crate::inputs::stdin::{NAME, StandardInput, go_to_end, index_of_stdin};
use crate::inputs::tree::{TreeError, TreeOptions};
use crate::output::{ResultPrinter, RunEnd};
use crate::report::{ReportFiles, ReportRequest};
use crate::settings::{ReportStyle, output_directories};
use crate::signals::Stop;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use xsort::Job;
use xsort_disk::{Gate, Operation, is_url};
use xsort_extsort::Observer;
use xsort_extsort::lines::{Content, LinesInput};

/// The arguments of a command that all commands share.
#[derive(Clone, Copy)]
pub(crate) struct SessionOptions<'g> {
    /// The name of the command.
    pub(crate) command: &'static str,
    pub(crate) resources: &'g Resources,
    pub(crate) report: &'g Report,
    /// The names of inputs.
    pub(crate) read: [&'g [PathBuf]; 2],
    /// Directories for scratch.
    pub(crate) scratch: &'g [PathBuf],
    pub(crate) output: Option<&'g Path>,
    /// True if the output must not replace a file or object.
    pub(crate) no_clobber: bool,
    /// Bytes of cache per thread; `None` for what the processor has.
    pub(crate) cache_bytes: Option<u64>,
    /// Bytes of the output, if it is read soon.
    pub(crate) read_soon_bytes: Option<u64>,
    /// How long to retry a server that doesn't answer; `None` for the store's own time.
    pub(crate) patience: Option<Duration>,
    /// The files about the run that are wanted.
    pub(crate) files: ReportRequest<'g>,
    /// The flag that stops the command.
    pub(crate) stop: &'g Stop,
}

impl<'g> SessionOptions<'g> {
    /// The arguments of a command that reads and writes nothing; the caller sets the other fields.
    pub(crate) fn new(
        command: &'static str,
        resources: &'g Resources,
        report: &'g Report,
        stop: &'g Stop,
    ) -> SessionOptions<'g> {
        SessionOptions {
            command,
            resources,
            report,
            read: [&[]; 2],
            scratch: &[],
            output: None,
            no_clobber: false,
            cache_bytes: None,
            read_soon_bytes: None,
            patience: None,
            files: ReportRequest::default(),
            stop,
        }
    }

    /// Creates the job. Its transfers pass `gate`.
    ///
    /// # Errors
    /// See [`xsort::Resources::job`].
    pub(crate) fn job(&self, gate: Option<Arc<Gate>>) -> Result<Job, Failure> {
        let Resources { memory, threads, io, bandwidth_limit, objects, .. } = *self.resources;
        let resources = xsort::Resources {
            memory,
            threads: threads.map(usize::from).filter(|&threads| threads > 0),
            cache_bytes: self.cache_bytes,
            io,
            bandwidth: bandwidth_limit,
            gate,
            no_clobber: self.no_clobber,
            read_soon_bytes: self.read_soon_bytes,
            verify_output: objects.verify_output,
            objects: objects.given(),
            patience: self.patience,
            cancel: self.stop.cancel(),
            ..xsort::Resources::default()
        };
        resources.check_output(self.output, "--verify-output")?;
        Ok(resources.job(self.read.into_iter().flatten(), self.output)?)
    }

    /// Refuses files about the run of a command that has none.
    ///
    /// # Errors
    /// If one is wanted.
    pub(crate) fn refuse_files(&self) -> Result<(), Failure> {
        ReportFiles::create(self.files, iter::empty(), false).map(|_| ())
    }

    /// The directories that the command uses. URLs have none.
    fn places(&self, limit_bytes_per_second: Option<u64>) -> JobPlaces {
        let outputs = self.output.map(output_directories).unwrap_or_default();
        let scratch = self.scratch.iter().map(|path| (path.clone(), "scratch"));
        let read = self.read.into_iter().flatten();
        let read = read.filter(|path| path.as_os_str() != "-" && !is_url(path));
        let read = read.map(|path| (directory_of(path), "input"));
        let written = outputs.iter().map(|path| (path.clone(), "output"));
        let mut directories: Vec<_> = scratch.chain(read).chain(written).collect();
        directories.dedup();
        let hidden_file_directories = [&outputs, self.scratch].concat();
        JobPlaces { directories, hidden_file_directories, limit_bytes_per_second }
    }
}

/// A running command.
pub(crate) struct Session<'g> {
    pub(crate) job: Job,
    pub(crate) console: Console,
    /// The names of inputs, and the memory that they take.
    pub(crate) names: NamesMemory,
    pub(crate) style: ReportStyle,
    files: ReportFiles,
    options: SessionOptions<'g>,
}

impl<'g> Session<'g> {
    /// Begins the job, shows it and publishes its status.
    ///
    /// # Errors
    /// See [`SessionOptions::job`] and [`ReportFiles::create`].
    pub(crate) fn begin(options: SessionOptions<'g>) -> Result<Session<'g>, Failure> {
        let style = ReportStyle::decide(options.report);
        let others = options.read.into_iter().flatten().map(PathBuf::as_path);
        let others = others.chain(options.output);
        let files = ReportFiles::create(options.files, others, options.no_clobber)?;
        let limit = options.resources.temperature_limit;
        let temperature = limit.map(|celsius| (f64::from(celsius), Arc::<Gate>::default()));
        let job = options.job(temperature.as_ref().map(|(_, gate)| Arc::clone(gate)))?;
        let console = Console::new(ConsoleOptions {
            command: options.command,
            style,
            places: options.places(job.rate().map(|rate| rate.bytes_per_second())),
            temperature,
            is_recorded: files.is_any(),
            stop: Some(options.stop),
        });
        job.notice().iter().for_each(|line| console.notice(line));
        Ok(Session { job, console, names: NamesMemory::default(), style, files, options })
    }

    /// The files that `paths` stand for. Memory for many names is taken from the budget.
    ///
    /// # Errors
    /// See [`expand`].
    pub(crate) fn files(
        &mut self,
        paths: &[PathBuf],
        trees: TreeOptions<'_>,
    ) -> Result<Vec<PathBuf>, TreeError> {
        let options = TreeOptions { budget_bytes: self.job.budget_bytes(), ..trees };
        let is_stopped = || self.options.stop.is_set();
        let expanded = expand(paths, options, &mut self.names, &*self.job.disk, is_stopped)?;
        Ok(self.take(expanded))
    }

    /// The files that `path` stands for, and whether they are all files below it.
    ///
    /// # Errors
    /// See [`files`](Session::files).
    pub(crate) fn expand_one(
        &mut self,
        path: &Path,
        options: TreeOptions<'_>,
    ) -> Result<(ExpandedInputs, bool), TreeError> {
        let is_stopped = || self.options.stop.is_set();
        let one = expand_one(path, options, &mut self.names, &*self.job.disk, is_stopped)?;
        self.names.check(options.budget_bytes)?;
        Ok(one)
    }

    /// Prints the notices of an expansion, reserves memory for the names, and returns the files.
    pub(crate) fn take(&mut self, expanded: ExpandedInputs) -> Vec<PathBuf> {
        expanded.notices.iter().for_each(|line| self.console.notice(line));
        self.job.reserve("names of inputs", self.names.budget_bytes());
        expanded.files
    }

    /// Opens the inputs of a job that reads each as a stream. No path may be a directory. `-` is
    /// standard input, `at` opens a file, and the disk opens a URL. A missing input is an error
    /// now; other errors appear when the input is read.
    pub(crate) fn inputs(
        &self,
        paths: &[PathBuf],
        at: fn(&Path) -> LinesInput,
    ) -> Result<Vec<LinesInput>, Failure> {
        index_of_stdin(paths)?;
        paths.iter().map(|path| self.input(path, at)).collect()
    }

    fn input(&self, path: &Path, at: fn(&Path) -> LinesInput) -> Result<LinesInput, Failure> {
        if path.as_os_str() != "-" {
            let missing = |error| xsort_disk::Error::new(Operation::Open, path, error);
            if !is_url(path) {
                fs::metadata(path).map_err(missing)?;
            }
            return Ok(self.job.input(path, at)?);
        }
        Ok(match StandardInput::open(self.options.stop)? {
            StandardInput::File(path) => {
                go_to_end();
                self.job.input(&path, at)?
            }
            StandardInput::Stream(read) => self.job.hold(LinesInput {
                path: NAME.into(),
                bytes: None,
                content: Content::Stream(read),
            }),
        })
    }

    /// Ends a step of a sort in parts. Its output is no data, so the result goes to standard
    /// output.
    pub(crate) fn end_step(self) -> ResultPrinter {
        let style = self.style;
        self.end();
        ResultPrinter::new(style)
    }

    /// Ends a job that is only planned.
    pub(crate) fn end_plan(self) -> ResultPrinter {
        let (style, origins) = (self.style, self.options.resources.origins);
        self.end();
        ResultPrinter::of_dry_run(style, origins)
    }

    /// The command's name.
    pub(crate) fn command(&self) -> &'static str {
        self.options.command
    }

    /// Ends the job: prints the notices of its disk, and stops drawing. The caller prints the
    /// result after that.
    pub(crate) fn end(self) -> ResultPrinter {
        let Session { job, console, style, files, options, .. } = self;
        job.disk.notices().iter().for_each(|line| console.notice(line));
        let printer = match options.output {
            Some(output) => ResultPrinter::beside(output, style),
            None => ResultPrinter::new(style),
        };
        let limit_bytes_per_second = job.rate().map(|rate| rate.bytes_per_second());
        printer.after(RunEnd { watched: Some(console.watched()), limit_bytes_per_second, files })
    }
}
