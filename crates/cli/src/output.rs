//! Results on standard output, as text for people or as one JSON object; and lines on standard
//! error.

use crate::exit::Failure;
use crate::settings::ReportStyle;
use serde::{Serialize, Serializer};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use xsort_disk::DisplayPath;
use xsort_gnu::When;

/// Prints a command's result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultPrinter {
    json: bool,
    quiet: bool,
}

impl ResultPrinter {
    pub(crate) fn new(style: ReportStyle) -> ResultPrinter {
        ResultPrinter { json: style.json, quiet: style.quiet }
    }

    /// Prints a result; JSON also if quiet, since --json requests it explicitly.
    pub(crate) fn print<T: Display + Serialize>(
        self,
        command: &str,
        result: &T,
    ) -> Result<(), Failure> {
        let text = match (self.json, self.quiet) {
            (true, _) => json(&JsonResult { command, result })? + "\n",
            (false, true) => return Ok(()),
            (false, false) => result.to_string(),
        };
        write_stdout(text.as_bytes())
    }
}

/// A result as JSON, with the name of its command.
#[derive(Serialize)]
struct JsonResult<'a, T> {
    command: &'a str,
    #[serde(flatten)]
    result: &'a T,
}

/// One object, without a line end.
pub(crate) fn json<T: Serialize>(result: &T) -> Result<String, Failure> {
    serde_json::to_string(result).map_err(|error| Failure::File {
        what: "writing the result as JSON".into(),
        source: error.into(),
    })
}

/// A path for JSON, which can't represent all bytes: what is not UTF-8 becomes U+FFFD.
pub(crate) fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Paths, as [`lossy`] writes one.
pub(crate) fn lossy_all<S: Serializer>(
    paths: &[PathBuf],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// Writes a line to standard error, without control characters that names in it may contain. A
/// failure is ignored: the job and its status matter more.
pub(crate) fn write_stderr(line: &str) {
    let _ = io::stderr().write_all(format!("xsort: {}\n", DisplayPath(line)).as_bytes());
}

/// Writes to standard output.
///
/// # Errors
/// If not all of it could be written: a lost result must not look like success.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(bytes)
        .and_then(|()| if bytes.ends_with(b"\n") { Ok(()) } else { stdout.write_all(b"\n") })
        .and_then(|()| stdout.flush())
        .map_err(|source| Failure::File { what: "standard output".into(), source })
}

/// What `--color` says; the environment decides if it is unset.
static COLOUR: OnceLock<bool> = OnceLock::new();

/// Sets whether colours are used, before anything is printed.
pub(crate) fn choose_colour(when: When) {
    if when != When::Auto {
        let _ = COLOUR.set(when == When::Always);
    }
}

/// Whether colours may be used on a terminal (no-color.org).
pub(crate) fn allows_colour() -> bool {
    let environment = || std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    COLOUR.get().copied().unwrap_or_else(environment)
}

/// Whether colours are used where output is a terminal or isn't.
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
