//! What `lines` and `du` share: both behave as the GNU programs do. They also run under the names
//! `sort` and `du`, parse their own arguments, and exit with a failure status if a message couldn't
//! be written.

use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::inherited;
use xsort_gnu::Locale;

/// A command with GNU's grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GnuCommand {
    Lines,
    Du,
}

impl GnuCommand {
    /// The exit status of any failure.
    pub(crate) fn trouble(self) -> u8 {
        match self {
            GnuCommand::Lines => 2,
            GnuCommand::Du => 1,
        }
    }
}

/// The command, the program's name for messages, and the arguments. `None` if the command line is
/// for another command. Accepts `xsort lines ...`, `xsort du ...`, and any arguments if the program
/// was called as `sort`, `lines` or `du`.
pub(crate) fn gnu_command(
    mut words: impl Iterator<Item = OsString>,
) -> Option<(GnuCommand, String, Vec<OsString>)> {
    let program = words.next()?;
    // In messages, GNU programs use the whole path by which they were called.
    let whole = || program.to_string_lossy().into_owned();
    let (command, name) = match Path::new(&program).file_name().and_then(OsStr::to_str) {
        Some("sort" | "lines") => (GnuCommand::Lines, whole()),
        Some("du") => (GnuCommand::Du, whole()),
        _ => match words.next()?.to_str()? {
            "lines" => (GnuCommand::Lines, "xsort lines".to_owned()),
            "du" => (GnuCommand::Du, "xsort du".to_owned()),
            _ => return None,
        },
    };
    Some((command, name, words.collect()))
}

/// True if the program was called by the name of the GNU program. Then it does only what the GNU
/// program does, except where an option asks for more.
pub(crate) fn is_called_as_gnu(program: &str) -> bool {
    matches!(base_name(program), "sort" | "du")
}

/// A program's name without its directory.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// True once a message couldn't be written.
static IS_MESSAGE_LOST: AtomicBool = AtomicBool::new(false);

/// Writes a message to standard error, unchanged.
pub(crate) fn say(text: &[u8]) {
    let is_written = inherited().is_open[2] && write_all(io::stderr(), text).is_ok();
    IS_MESSAGE_LOST.fetch_or(!is_written && !text.is_empty(), Relaxed);
}

/// Prints a hint below a message, except where the program was called by the GNU name.
pub(crate) fn say_hint(program: &str, hint: Option<&str>) {
    if let Some(hint) = hint.filter(|_| !is_called_as_gnu(program)) {
        say(format!("{program}: hint: {hint}\n").as_bytes());
    }
}

/// True if a message couldn't be written.
pub(crate) fn is_message_lost() -> bool {
    IS_MESSAGE_LOST.load(Relaxed)
}

/// The process's locale, loaded at the first call.
pub(crate) fn locale() -> &'static Locale {
    static LOCALE: LazyLock<Locale> =
        LazyLock::new(|| Locale::from_environment().unwrap_or_else(Locale::c));
    &LOCALE
}

/// An error's reason in the system's words, without the number that the standard library appends.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Writes all bytes, bypassing the standard library's buffers.
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
