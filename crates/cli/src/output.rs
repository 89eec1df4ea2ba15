//! Results on standard output: text for people or one JSON object, never both.

use crate::exit::Failure;
use crate::settings::Voice;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};

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

    /// Prints a result; as JSON even if quiet, since that was asked for by name.
    pub(crate) fn print<T: Display + Serialize>(self, result: &T) -> Result<(), Failure> {
        let text = match (self.json, self.quiet) {
            (true, _) => serde_json::to_string(result).expect("results are plain data") + "\n",
            (false, true) => return Ok(()),
            (false, false) => result.to_string(),
        };
        write_stdout(text.as_bytes())
    }
}

/// Writes everything, or says that standard output is broken: a result that did not arrive must not look like success.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(bytes)
        .and_then(|()| if bytes.ends_with(b"\n") { Ok(()) } else { stdout.write_all(b"\n") })
        .and_then(|()| stdout.flush())
        .map_err(|source| Failure::File { what: "standard output".into(), source })
}
