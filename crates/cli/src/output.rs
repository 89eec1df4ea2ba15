//! Results on standard output: text for people or one JSON object, never both.

use crate::exit::Failure;
use crate::settings::Voice;
use serde::{Serialize, Serializer};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use xsort_disk::DisplayPath;

/// Standard output, spoken to as asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    json: bool,
    quiet: bool,
}

impl Output {
    pub(crate) fn new(voice: Voice) -> Output {
        Output { json: voice.json, quiet: voice.quiet }
    }

    /// Prints a command's result; as JSON even if quiet, since that was asked for by name.
    pub(crate) fn print<T: Display + Serialize>(
        self,
        command: &str,
        result: &T,
    ) -> Result<(), Failure> {
        let text = match (self.json, self.quiet) {
            (true, _) => json(&Named { command, result })? + "\n",
            (false, true) => return Ok(()),
            (false, false) => result.to_string(),
        };
        write_stdout(text.as_bytes())
    }
}

/// A result in JSON: which command's it is, and what it has to say.
#[derive(Serialize)]
struct Named<'a, T> {
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

/// A path for JSON, which has no bytes: what is not UTF-8 becomes U+FFFD.
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

/// Says a line on standard error, and nothing to a terminal, whatever the names in it. Where that
/// is broken there is nobody to tell, and the job and its status matter more.
pub(crate) fn write_stderr(line: &str) {
    let _ = io::stderr().write_all(format!("xsort: {}\n", DisplayPath(line)).as_bytes());
}

/// Writes everything, or says that standard output is broken: a result that did not arrive must not
/// look like success.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(bytes)
        .and_then(|()| if bytes.ends_with(b"\n") { Ok(()) } else { stdout.write_all(b"\n") })
        .and_then(|()| stdout.flush())
        .map_err(|source| Failure::File { what: "standard output".into(), source })
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
