//! Error messages of a running du, of one line or several, without the program's name.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;

use crate::getopt::{Quoting, system_reason};
use crate::locale::Locale;

/// An error after which du continues, to exit with status 1.
#[derive(Debug)]
pub enum Complaint<'a> {
    /// The status of a file can't be read.
    Access(&'a [u8], &'a io::Error),
    /// The target of a symbolic link that must be followed doesn't exist. GNU du gives no reason.
    Dangling(&'a [u8]),
    /// A directory can't be read.
    ReadDirectory(&'a [u8], &'a io::Error),
    /// A directory contains itself.
    Cycle(&'a [u8]),
    /// A time whose year is out of range, in seconds.
    TimeOutOfRange(i64),
    /// An operand is empty.
    EmptyName,
    /// The name of this number (from 1) in this list is empty.
    EmptyNameInList(&'a OsStr, u64),
    /// A list from standard input contains `-`.
    StandardInputInList,
    /// A list can't be read to its end.
    ReadList(&'a OsStr, &'a io::Error),
    /// A list can't be opened. du does nothing else.
    OpenList(&'a OsStr, &'a io::Error),
}

impl Complaint<'_> {
    /// The message, with the locale's quotation marks.
    pub fn text(&self, locale: &Locale) -> Vec<u8> {
        let quoting = Quoting(locale);
        let of_file = |what: &str, path: &[u8], after: &str, error: &io::Error| {
            let reason = system_reason(error);
            [what.as_bytes(), &quoting.quote_name(path), after.as_bytes(), b": ", reason.as_bytes()]
                .concat()
        };
        match *self {
            Complaint::Access(path, error) => of_file("cannot access ", path, "", error),
            Complaint::Dangling(path) => {
                [b"cannot access ", &quoting.quote_name(path)[..]].concat()
            }
            Complaint::ReadDirectory(path, error) => {
                of_file("cannot read directory ", path, "", error)
            }
            Complaint::OpenList(list, error) => {
                of_file("cannot open ", list.as_bytes(), " for reading", error)
            }
            Complaint::Cycle(path) => {
                [CYCLE_BEFORE.as_bytes(), b"  ", &quoting.show_name(path), b"\n"].concat()
            }
            Complaint::TimeOutOfRange(seconds) => {
                let seconds = quoting.quote(seconds.to_string().as_bytes());
                [b"time ", &seconds[..], b" is out of range"].concat()
            }
            Complaint::EmptyName => b"invalid zero-length file name".to_vec(),
            Complaint::EmptyNameInList(list, number) => {
                let rest = format!(":{number}: invalid zero-length file name");
                [&quoting.show_name(list.as_bytes())[..], rest.as_bytes()].concat()
            }
            Complaint::StandardInputInList => {
                let name = quoting.quote_name(b"-");
                [b"when reading file names from stdin, no file name of ", &name[..], b" allowed"]
                    .concat()
            }
            Complaint::ReadList(list, error) => {
                let rest = format!(": read error: {}", system_reason(error));
                [&quoting.show_name(list.as_bytes())[..], rest.as_bytes()].concat()
            }
        }
    }
}

/// Precedes the name of a directory that contains itself.
const CYCLE_BEFORE: &str = "\
WARNING: Circular directory structure.
This almost certainly means that you have a corrupted file system.
NOTIFY YOUR SYSTEM MANAGER.
The following directory is part of the cycle:
";
