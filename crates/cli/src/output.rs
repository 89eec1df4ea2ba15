//! Results on standard output, as text for people or as one JSON object. Lines on standard error.

use crate::args::Origins;
use crate::exit::Failure;
use crate::job::Watched;
use crate::report::{ReportFiles, RunFacts};
use crate::settings::ReportStyle;
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use xsort_disk::{DisplayPath, STANDARD_OUTPUT, is_standard_output, public_path, public_text};
use xsort_extsort::Error;
use xsort_gnu::When;
use xsort_objects::Requests;

/// Prints a command's result.
#[derive(Debug)]
pub(crate) struct ResultPrinter {
    style: ReportStyle,
    /// True if standard output carries data. Then the result goes to standard error, and only on
    /// request.
    is_beside_data: bool,
    /// Of a job that is only planned: where its settings came from.
    origins: Option<Origins>,
    /// The run that ended; `None` if there was none, or if its result is printed.
    run: Option<RunEnd>,
}

/// A run at its end.
#[derive(Debug, Default)]
pub(crate) struct RunEnd {
    /// What was seen of its job; `None` if it wasn't watched.
    pub(crate) watched: Option<Watched>,
    /// The limit of transfers, if there was one.
    pub(crate) limit_bytes_per_second: Option<u64>,
    /// The files that its result goes to.
    pub(crate) files: ReportFiles,
}

/// The version of the JSON results. It changes when a field is removed or changes its meaning.
pub(crate) const JSON_VERSION: u32 = 1;

impl ResultPrinter {
    pub(crate) fn new(style: ReportStyle) -> ResultPrinter {
        ResultPrinter { style, is_beside_data: false, origins: None, run: None }
    }

    /// A printer for a command that writes data to `output`.
    pub(crate) fn beside(output: &Path, style: ReportStyle) -> ResultPrinter {
        let is_beside_data = is_standard_output(output);
        ResultPrinter { is_beside_data, ..ResultPrinter::new(style) }
    }

    /// A printer for a job that is only planned.
    pub(crate) fn of_dry_run(style: ReportStyle, origins: Origins) -> ResultPrinter {
        ResultPrinter { origins: Some(origins), ..ResultPrinter::new(style) }
    }

    /// The printer for the result of a run.
    pub(crate) fn after(self, run: RunEnd) -> ResultPrinter {
        ResultPrinter { run: Some(run), ..self }
    }

    /// Prints what a job would do, and the requests that it would send to object stores.
    pub(crate) fn print_plan<T: Display + Serialize>(
        mut self,
        command: &str,
        plan: &T,
        requests: Option<Requests>,
    ) -> Result<(), Failure> {
        let requests = requests.map(|requests| {
            let Requests { gets, puts } = requests;
            PlannedRequests { gets, puts, usd: requests.usd() }
        });
        self.print(command, &Planned { plan, requests })
    }

    /// Prints a result, then writes the files that it goes to. JSON is printed even if quiet, since
    /// `--json` requests it explicitly.
    pub(crate) fn print<T: Display + Serialize>(
        &mut self,
        command: &str,
        result: &T,
    ) -> Result<(), Failure> {
        let ReportStyle { json: is_json, quiet, verbosity, .. } = self.style;
        let is_verbose = verbosity > 0;
        let is_silent = quiet || (self.is_beside_data && !is_verbose);
        let text = match is_silent {
            true => None,
            false if is_verbose => {
                let origins = self.origins.map(|origins| format!("\n{origins}"));
                Some(format!("{result:#}") + &origins.unwrap_or_default())
            }
            false => Some(result.to_string()),
        };
        let run = self.run.take();
        if !is_json && !run.as_ref().is_some_and(|run| run.files.is_any()) {
            return text.map_or(Ok(()), |text| self.write(text));
        }
        let (files, run) = run.map(RunEnd::into_facts).unzip();
        let (version, dry_run) = (JSON_VERSION, self.origins.is_some());
        let json = json(&JsonResult { command, version, dry_run, result, run })?;
        let text = if is_json { Some(json.clone()) } else { text };
        let printed = text.map_or(Ok(()), |text| self.write(text));
        let warnings = files.map_or(Vec::new(), |files| files.write_page(&json));
        warnings.iter().for_each(|line| write_stderr(&format!("warning: {line}")));
        printed
    }

    /// Prints tables for people, if `-vv` asks for them. JSON results contain no tables.
    pub(crate) fn print_tables(&self, tables: &impl Display) -> Result<(), Failure> {
        let ReportStyle { json: is_json, verbosity, .. } = self.style;
        if is_json || verbosity < 2 { Ok(()) } else { self.write(tables.to_string()) }
    }

    fn write(&self, text: String) -> Result<(), Failure> {
        if self.is_beside_data {
            let line_end = if text.ends_with('\n') { "" } else { "\n" };
            let _ = io::stderr().write_all((text + line_end).as_bytes());
            return Ok(());
        }
        write_stdout(text.as_bytes())
    }
}

impl RunEnd {
    /// Writes the trace. Returns the files that the result goes to, and the facts for it.
    pub(crate) fn into_facts(self) -> (ReportFiles, RunFacts) {
        let RunEnd { watched, limit_bytes_per_second, mut files } = self;
        files.write_trace(watched.as_ref());
        (files, RunFacts::new(watched, limit_bytes_per_second))
    }
}

/// A result as JSON, with the fields that all results have.
#[derive(Serialize)]
struct JsonResult<'a, T> {
    command: &'a str,
    version: u32,
    dry_run: bool,
    #[serde(flatten)]
    result: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunFacts>,
}

/// A plan, with its requests to object stores.
#[derive(Serialize)]
struct Planned<'a, T> {
    #[serde(flatten)]
    plan: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<PlannedRequests>,
}

#[derive(Serialize)]
struct PlannedRequests {
    gets: u64,
    puts: u64,
    usd: f64,
}

impl<T: Display> Display for Planned<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)?;
        let Some(PlannedRequests { gets, puts, usd }) = self.requests else { return Ok(()) };
        write!(
            f,
            "\nrequests         about {gets} GET and HEAD, {puts} PUT, POST and LIST: {usd:.4} USD \
             at Amazon's list prices ({} and {} USD a thousand)",
            Requests::GET_USD,
            Requests::PUT_USD
        )
    }
}

/// The result of a run as JSON.
pub(crate) fn result_json<T: Serialize>(
    command: &str,
    result: &T,
    run: RunFacts,
) -> Result<String, Failure> {
    json(&JsonResult { command, version: JSON_VERSION, dry_run: false, result, run: Some(run) })
}

/// A result as one JSON object, without a line end. A terminal may show it: characters in names
/// that would move its cursor or turn its text around are escaped.
pub(crate) fn json<T: Serialize>(result: &T) -> Result<String, Failure> {
    let text = serde_json::to_string(result).map_err(|error| Failure::File {
        what: "writing the result as JSON".into(),
        source: error.into(),
    })?;
    // Serde escapes those below U+0020. All of them stand in strings.
    let acting = ['\u{7f}'..='\u{9f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    let acts = |c: char| acting.iter().any(|range| range.contains(&c));
    if !text.contains(acts) {
        return Ok(text);
    }
    Ok(text.chars().fold(String::new(), |mut escaped, c| {
        match acts(c) {
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => escaped.push(c),
        }
        escaped
    }))
}

/// Serializes a path for JSON, which can't represent all bytes: bytes that are not UTF-8 become
/// U+FFFD. Secrets in URLs are left out.
pub(crate) fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&public_path(path).display())
}

/// Serializes each path as [`lossy`] does.
pub(crate) fn lossy_all<S: Serializer>(
    paths: &[PathBuf],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| public_path(path).display().to_string()))
}

/// Writes a line to standard error, without the control characters and secrets that names in it may
/// contain. A failure is ignored: the job and its status matter more.
pub(crate) fn write_stderr(line: &str) {
    // With the program's name first, `DisplayPath` doesn't take the whole line for a URL.
    let line = format!("xsort: {}", public_text(line));
    let _ = io::stderr().write_all(format!("{}\n", DisplayPath(line)).as_bytes());
}

/// Prints all failures except the last, which the caller prints.
///
/// # Errors
/// The last failure, if there is any.
pub(crate) fn all_but_last(mut failures: Vec<Failure>) -> Result<(), Failure> {
    let last = failures.pop();
    failures
        .iter()
        .filter_map(Failure::line)
        .for_each(|line| write_stderr(&format!("error: {line}")));
    last.map_or(Ok(()), Err)
}

/// Writes lines to standard output, with a line end at the end.
///
/// # Errors
/// If not all of it could be written: a lost result must not look like success.
pub(crate) fn write_stdout(text: &[u8]) -> Result<(), Failure> {
    write_data_to_stdout(text)?;
    if text.ends_with(b"\n") { Ok(()) } else { write_data_to_stdout(b"\n") }
}

/// Writes data to standard output, unchanged.
///
/// # Errors
/// If not all of it could be written.
pub(crate) fn write_data_to_stdout(data: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(data)
        .and_then(|()| stdout.flush())
        .map_err(|source| Failure::File { what: "standard output".into(), source })
}

/// The value of `--color`. If unset, the environment decides.
static COLOUR: OnceLock<bool> = OnceLock::new();

/// Sets whether colours are used. Call it before anything is printed.
pub(crate) fn choose_colour(when: When) {
    if when != When::Auto {
        let _ = COLOUR.set(when == When::Always);
    }
}

/// Refuses to write data to a terminal.
pub(crate) fn refuse_terminal(output: &Path) -> Result<(), Failure> {
    if is_standard_output(output) && io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "standard output is a terminal: name a file, or pipe the records on".into(),
        ));
    }
    Ok(())
}

/// The error of a sort whose output is a stream, worded as all commands word it.
pub(crate) fn of_stream(error: Error) -> Error {
    match error {
        Error::Output(_) => {
            Error::Streamed { cause: Box::new(error.of_output(STANDARD_OUTPUT.as_ref())) }
        }
        error => error,
    }
}

/// Whether colours may be used on a terminal (no-color.org).
pub(crate) fn allows_colour() -> bool {
    let environment = || std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    COLOUR.get().copied().unwrap_or_else(environment)
}

/// True if output to a terminal, or to something else, uses colours.
pub(crate) fn uses_colour(is_terminal: bool) -> bool {
    COLOUR.get().copied().unwrap_or_else(|| is_terminal && allows_colour())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn what_json_cant_hold_is_an_error_and_no_panic() {
        let path = PathBuf::from(OsStr::from_bytes(b"a\xff"));
        let failure = json(&path).unwrap_err();
        assert!(failure.line().unwrap().starts_with("writing the result as JSON: "), "{failure}");
    }
}
