//! Messages on standard error and exit statuses, in GNU sort's own words where it has some.

use super::names;
use super::not_opened::opening_error;
use crate::inputs::names_memory::TooManyNames;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use xsort_disk::{is_url, public_bytes};
use xsort_extsort::lines::PackingError;
use xsort_gnu::Refusal;

const DISORDER: u8 = 1;
pub(super) const TROUBLE: u8 = 2;

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Failure {
    /// The command line was refused.
    Refused(Refusal),
    /// A message without the program's name.
    Message(Vec<u8>),
    /// A write to the output failed. GNU sort prints this message, then `write error` when it
    /// closes the output.
    Unwritten(Vec<u8>),
    /// A failure, and a hint at what to do.
    Hinted(Box<Failure>, String),
    /// A check found lines out of order. The text is the whole message.
    Disorder(Vec<u8>),
}

impl Failure {
    /// Formats `what: the system's reason`.
    pub(super) fn said(what: &str, error: &io::Error) -> Failure {
        Failure::Message(format!("{what}: {}", reason(error)).into())
    }

    /// Formats `what: file: the system's reason`.
    pub(super) fn of_file(what: &str, file: &OsStr, error: &io::Error) -> Failure {
        let reason = reason(error);
        let parts = [what.as_bytes(), b": ", &names::shown(file), b": ", reason.as_bytes()];
        Failure::Message(parts.concat())
    }

    /// Formats the message of a failed write to the output: `what: file: the system's reason`.
    pub(super) fn unwritten(what: &str, file: &OsStr, error: &io::Error) -> Failure {
        match Failure::of_file(what, file, error) {
            Failure::Message(text) => Failure::Unwritten(text),
            other => other,
        }
    }

    /// Adds a hint to the failure of a write if the file would have exceeded the size limit.
    pub(super) fn with_limit_hint(self, error: &io::Error) -> Failure {
        if error.raw_os_error() != Some(Errno::FBIG.raw_os_error()) {
            return self;
        }
        let hint = "the file system or a limit (ulimit -f) allows no larger file; use another \
                    drive, or raise the limit";
        Failure::Hinted(Box::new(self), hint.to_owned())
    }

    /// The text for standard error.
    pub(super) fn into_text(self, program: &str) -> Vec<u8> {
        match self {
            Failure::Refused(refusal) => public_bytes(&refusal.message(program)).into_owned(),
            Failure::Message(text) => [program.as_bytes(), b": ", &text, b"\n"].concat(),
            Failure::Unwritten(text) => {
                let program = program.as_bytes();
                [program, b": ", &text, b"\n", program, b": write error\n"].concat()
            }
            Failure::Hinted(failure, _) => failure.into_text(program),
            Failure::Disorder(text) => text,
        }
    }

    /// A hint at what to do. GNU sort prints none, so it is not part of the text.
    pub(super) fn hint(&self) -> Option<&str> {
        match self {
            Failure::Refused(refusal) => refusal.hint(),
            Failure::Hinted(_, hint) => Some(hint),
            _ => None,
        }
    }

    pub(super) fn status(&self) -> u8 {
        match self {
            Failure::Refused(refusal) => refusal.status(),
            Failure::Message(_) | Failure::Unwritten(_) => TROUBLE,
            Failure::Hinted(failure, _) => failure.status(),
            Failure::Disorder(_) => DISORDER,
        }
    }
}

/// The failure of an input that can't be opened or read.
pub(super) fn of_read(file: &OsStr, error: &io::Error) -> Failure {
    let packing = error.get_ref().and_then(|inner| inner.downcast_ref::<PackingError>());
    if let Some(packing) = packing {
        let advice = "--no-decompress takes its bytes as they are";
        let text = packing.text("xsort lines", Some(advice));
        return Failure::of_file("read failed", file, &io::Error::other(text));
    }
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        return of_disk(error);
    }
    match opening_error(error) {
        Some(error) => Failure::of_file("open failed", file, error),
        None => Failure::of_file("read failed", file, error),
    }
}

/// An input that the engine can't read. At a URL it says at which byte, if that is known.
pub(super) fn of_engine_read(error: &xsort_disk::Error) -> Failure {
    match is_url(&error.path) && error.offset.is_some() {
        true => of_disk(error),
        false => of_read(error.path.as_os_str(), &error.source),
    }
}

/// What the disk says of a URL, which GNU sort has no words for.
pub(super) fn of_disk(error: &xsort_disk::Error) -> Failure {
    Failure::Message(error.to_string().into())
}

/// The failure of an output at a URL, in the engine's words.
pub(super) fn of_engine(error: &xsort_extsort::Error) -> Failure {
    Failure::Message(error.to_string().into())
}

/// The failure of a sort with more names than the budget allows.
pub(super) fn of_names(refusal: TooManyNames) -> Failure {
    let enough = refusal.needed_bytes.div_ceil(1 << 20);
    Failure::Message(format!("{refusal} (-S {enough}M)").into())
}

/// The failure of a directory in which scratch can't be created.
pub(super) fn of_scratch(directory: &OsStr, error: &io::Error) -> Failure {
    let (quoted, reason) = (names::quoted(directory), reason(error));
    let parts = [b"cannot create temporary file in ", &quoted[..], b": ", reason.as_bytes()];
    Failure::Message(parts.concat())
}

/// The system's reason, without the error number.
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}
