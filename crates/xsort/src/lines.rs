//! Sorts lines of text.

use crate::gnu_order::read_lists;
use crate::incremental_order::IncrementalOrder;
use crate::keyed_order::sort_in_order;
use crate::late_output::LateOutput;
use crate::records_order::records_in_order;
use crate::setup::{Setup, output_setters};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use xsort_disk::{Disk, STANDARD_OUTPUT};
use xsort_extsort::lines::{LinesInput, SortedOutput, Within, total_bytes};
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer};
use xsort_gnu::sort::{Command, Environment, Extras, Order, Request, parse};
use xsort_gnu::{Locale, Refusal};

/// Sorts lines of text in GNU sort's orders.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (orders, sorted) = (folder.path().join("orders.csv"), folder.path().join("sorted.csv"));
/// # std::fs::write(&orders, "b,10\na,9\n")?;
/// use xsort::Lines;
///
/// Lines::files([&orders]).separator(',').key("2,2n").run(&sorted)?;
/// assert_eq!(std::fs::read_to_string(&sorted)?, "a,9\nb,10\n");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Lines {
    inputs: Vec<PathBuf>,
    /// Options of GNU sort.
    arguments: Vec<OsString>,
    late: Option<PathBuf>,
    scratch: Vec<PathBuf>,
    has_locale: bool,
    setup: Setup,
}

impl Lines {
    /// Sorts the lines of these files together.
    pub fn files<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Lines {
        Lines {
            inputs: inputs.into_iter().map(Into::into).collect(),
            arguments: Vec::new(),
            late: None,
            scratch: Vec::new(),
            has_locale: false,
            setup: Setup::default(),
        }
    }

    crate::resource_setters!();
    output_setters!();

    /// Sorts by a part of the line, in the syntax of GNU sort: `"2,2n"` is the second field as a
    /// number. Later keys decide among lines whose earlier keys are equal.
    #[must_use]
    pub fn key(self, key: &str) -> Lines {
        self.argument(format!("--key={key}"))
    }

    /// Sets the character that separates fields. Unless set, fields begin at blanks.
    #[must_use]
    pub fn separator(self, separator: char) -> Lines {
        self.argument(format!("--field-separator={separator}"))
    }

    /// Keeps only the first of several lines with equal keys.
    #[must_use]
    pub fn unique(self) -> Lines {
        self.argument("--unique")
    }

    /// Sorts in descending order.
    #[must_use]
    pub fn reverse(self) -> Lines {
        self.argument("--reverse")
    }

    /// Keeps lines with equal keys in the order of the input, instead of comparing the whole lines.
    #[must_use]
    pub fn stable(self) -> Lines {
        self.argument("--stable")
    }

    /// Says that the lines are in the order of the first key, or with several calls of the first
    /// keys, each in the words of [`key`](Lines::key). This is checked. Lines with equal first keys
    /// are sorted on their own and leave at once, in the memory of the largest such group.
    #[must_use]
    pub fn sorted_by(self, key: &str) -> Lines {
        self.argument(format!("--sorted-by={key}"))
    }

    /// Says that the lines are nearly in order. A line leaves as soon as no other can come before
    /// it. `within` is by how many lines one may come late, or by which time its first key may be
    /// late, which is a number of seconds. The first line that is later is an error, unless
    /// [`late`](Lines::late) takes it.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let log = folder.path().join("log");
    /// # std::fs::write(&log, "10 a\n8 b\n20 c\n3 d\n")?;
    /// let (mut sorted, late) = (Vec::new(), folder.path().join("late"));
    /// let lines = xsort::Lines::files([&log]).key("1,1n").within("5s".parse()?).late(&late);
    /// let report = lines.write_to(&mut sorted)?;
    /// assert_eq!(sorted, b"8 b\n10 a\n20 c\n");
    /// assert_eq!((std::fs::read(&late)?, report.late_lines), (b"3 d\n".to_vec(), Some(1)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn within(self, within: Within) -> Lines {
        self.argument(format!("--within={within}"))
    }

    /// Writes lines that come too late for [`within`](Lines::within) to this file, in the order of
    /// the input. It appears complete or not at all, after the output.
    #[must_use]
    pub fn late(mut self, file: impl Into<PathBuf>) -> Lines {
        self.late = Some(file.into());
        self
    }

    /// Adds any option of GNU sort that affects the order or selects lines: `"-n"`,
    /// `"--version-sort"`, `"-z"`; or one of the program's that makes records of several lines:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let reads = folder.path().join("reads.fastq");
    /// # std::fs::write(&reads, "@b\nACGT\n+\n!!!!\n@a\nAC\n+\n!!\n")?;
    /// let mut sorted = Vec::new();
    /// let lines = xsort::Lines::files([&reads]).argument("--record-lines=4").key("length(L2)");
    /// lines.write_to(&mut sorted)?;
    /// assert_eq!(sorted, b"@a\nAC\n+\n!!\n@b\nACGT\n+\n!!!!\n");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Lines {
        self.arguments.push(argument.into());
        self
    }

    /// Compares text by the rules of the environment's locale (`LC_ALL` and others). Otherwise,
    /// text is compared by bytes, which is several times as fast.
    #[must_use]
    pub fn locale_of_environment(mut self) -> Lines {
        self.has_locale = true;
        self
    }

    /// Sets the directories for scratch. Unless set, scratch is in the output's directory.
    #[must_use]
    pub fn scratch<P: Into<PathBuf>>(mut self, directories: impl IntoIterator<Item = P>) -> Lines {
        self.scratch = directories.into_iter().map(Into::into).collect();
        self
    }

    /// Sorts into the file `output`, which may be one of the inputs. The output appears complete or
    /// not at all. Until then an old file stays; the new one gets its mode and owner. A symbolic
    /// link is followed.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::Settings`] for an option that GNU sort refuses, or that doesn't
    /// affect the order.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<LinesReport, Error> {
        let path = output.as_ref();
        self.sort(path, SortedOutput::File { path, sync: true })
    }

    /// Sorts into a writer. Unless set, scratch is in the system's temporary directory.
    ///
    /// # Errors
    /// The errors of [`run`](Lines::run).
    pub fn write_to(&self, output: &mut (dyn Write + Send)) -> Result<LinesReport, Error> {
        self.sort(Path::new(STANDARD_OUTPUT), SortedOutput::Stream(output))
    }

    fn sort(&self, path: &Path, output: SortedOutput<'_>) -> Result<LinesReport, Error> {
        let locale = match self.has_locale {
            true => Locale::from_environment().unwrap_or_else(Locale::c),
            false => Locale::c(),
        };
        let command = self.command(&locale)?;
        let (job, observer) = self.setup.begin(&self.inputs, Some(path))?;
        let engine = job.engine(&self.scratch, path);
        let late_bytes = if self.late.is_some() { LateOutput::MEMORY_BYTES } else { 0 };
        let options = LinesOptions {
            delimiter: command.terminator(),
            is_unique: command.unique,
            reservation: engine.reservation.clone().with("late lines", late_bytes),
            ..engine
        };
        // Random orders, which need a seed, were refused.
        let order = Order::new(&command, &locale, [0; 16]);
        let inputs = job.inputs(&self.inputs, LinesInput::at)?;
        let disk = &*job.disk;
        let sorted = if command.extras.is_incremental() {
            let order = IncrementalOrder {
                command: &command,
                locale: &locale,
                order: &order,
                header_lines: 0,
            };
            let late = self.late.as_deref().map(|late| LateOutput::open(disk, late, path));
            sort_as_they_come(order, &options, inputs, (output, late.transpose()?), disk, &observer)
        } else if let Some(records) = records_in_order(&order, options.is_unique) {
            records.sort(&options, inputs, output, disk, &observer)
        } else {
            sort_in_order(&options, &order, inputs, output, disk, &observer)
        };
        sorted.map_err(|error| job.total_from_budget(error))
    }

    /// Parses the options. Refuses those for inputs, output and resources, which the builder sets.
    fn command(&self, locale: &Locale) -> Result<Command, Error> {
        let environment = Environment::new(|_| None, locale.clone());
        let mut command = match parse(&self.arguments, &environment) {
            Ok(Request::Run(command)) => *command,
            Ok(_) => return Err(Error::Settings("an option that only prints something".into())),
            Err(refusal) => return Err(Error::Settings(text_of(&refusal))),
        };
        if command.needs_random() {
            return Err(Error::Settings("a random order is only in the program".into()));
        }
        if self.late.is_some() && command.extras.within.is_none() {
            return Err(Error::Settings("late takes the lines that within lets come late".into()));
        }
        let extras = Extras {
            records: command.extras.records.clone(),
            sorted_by: command.extras.sorted_by.clone(),
            within: command.extras.within.clone(),
            ..Extras::default()
        };
        if command != (Command { extras, ..command.order_only() }) {
            let reason = "an argument says more than how lines compare and which are wanted: \
                          files, memory, threads and scratch are set by methods of Lines";
            return Err(Error::Settings(reason.into()));
        }
        read_lists(&mut command)?;
        Ok(command)
    }
}

/// Sorts lines as they come, and publishes the output and the file of late lines.
fn sort_as_they_come(
    order: IncrementalOrder<'_>,
    options: &LinesOptions,
    inputs: Vec<LinesInput>,
    (output, mut late): (SortedOutput<'_>, Option<LateOutput<'_>>),
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let bytes = total_bytes(&inputs).unwrap_or(0);
    let report = output.write(bytes, disk, |to| {
        order.sort(options, inputs, to, late.as_mut(), (disk, observer))
    })?;
    late.map_or(Ok(()), |late| late.publish(true))?;
    Ok(report)
}

/// Returns the reason why GNU sort would refuse the options, without the program's name.
fn text_of(refusal: &Refusal) -> String {
    let message = String::from_utf8_lossy(&refusal.message("sort")).into_owned();
    message.trim_end().trim_start_matches("sort: ").to_owned()
}
