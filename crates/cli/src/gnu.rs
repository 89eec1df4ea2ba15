//! The doors of commands that speak as GNU programs do: by which name they were called, what they
//! say on standard error, and that a word which nobody could hear makes any status one of trouble.

use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::inherited;
use xsort_gnu::Locale;

/// A command with a grammar of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Lines,
    Du,
}

/// The door, the name to speak under and the arguments, if the words of the command line are for
/// one: `xsort lines ...`, `xsort du ...`, or anything if the program was called `sort`, `lines` or
/// `du`.
pub(crate) fn called(
    mut words: impl Iterator<Item = OsString>,
) -> Option<(Door, String, Vec<OsString>)> {
    let program = words.next()?;
    // As GNU programs do, it speaks under the whole of the path by which it was called.
    let whole = || program.to_string_lossy().into_owned();
    let (door, name) = match Path::new(&program).file_name().and_then(OsStr::to_str) {
        Some("sort" | "lines") => (Door::Lines, whole()),
        Some("du") => (Door::Du, whole()),
        _ => match words.next()?.to_str()? {
            "lines" => (Door::Lines, "xsort lines".to_owned()),
            "du" => (Door::Du, "xsort du".to_owned()),
            _ => return None,
        },
    };
    Some((door, name, words.collect()))
}

/// A program's name without its directory.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether something couldn't be said.
static IS_UNHEARD: AtomicBool = AtomicBool::new(false);

/// Says something on standard error, as it is.
pub(crate) fn say(text: &[u8]) {
    let is_heard = inherited().is_open[2] && write_all(io::stderr(), text).is_ok();
    IS_UNHEARD.fetch_or(!is_heard && !text.is_empty(), Relaxed);
}

/// Whether something couldn't be said.
pub(crate) fn is_unheard() -> bool {
    IS_UNHEARD.load(Relaxed)
}

/// The process's locale, loaded when it is needed first.
pub(crate) fn locale() -> &'static Locale {
    static LOCALE: LazyLock<Locale> =
        LazyLock::new(|| Locale::from_environment().unwrap_or_else(Locale::c));
    &LOCALE
}

/// Writes past the standard library's buffers.
pub(crate) fn write_all(to: impl std::os::fd::AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(&to, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
