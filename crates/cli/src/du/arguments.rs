//! The arguments of a walk, each read only when the walk reaches it: from the command line, or from
//! a list that may be a pipe.

use crate::gnu_commands::locale;
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::vec;
use xsort_disk::{inherited, public_path};
use xsort_gnu::du::{Command, Complaint};

/// The name of standard input.
const STDIN: &str = "-";

/// A source of arguments.
pub(super) enum Arguments {
    /// From the command line.
    Operands(vec::IntoIter<OsString>),
    /// From `--files0-from`.
    List {
        /// The list's name; of a URL, without its secrets.
        name: OsString,
        bytes: Box<dyn BufRead>,
        /// The number of names read so far.
        number: u64,
        has_failed: bool,
    },
}

impl Arguments {
    /// Opens the arguments of a command, and the list if there is one.
    ///
    /// # Errors
    /// A message, if the list can't be opened.
    pub(super) fn open(command: &Command) -> Result<Arguments, Vec<u8>> {
        match &command.files0_from {
            None => Ok(Arguments::Operands(command.files.clone().into_iter())),
            Some(name) => {
                let opened = if name == STDIN { Ok(standard_input()) } else { file(name) };
                let name = public_path(Path::new(name)).as_os_str().to_owned();
                let bytes =
                    opened.map_err(|error| Complaint::OpenList(&name, &error).text(locale()))?;
                let bytes = Box::new(BufReader::new(bytes));
                Ok(Arguments::List { name, bytes, number: 0, has_failed: false })
            }
        }
    }

    /// The next argument. Invalid ones are passed to `complain` and skipped.
    pub(super) fn next(&mut self, complain: impl Fn(&Complaint<'_>)) -> Option<Vec<u8>> {
        loop {
            match self {
                Arguments::Operands(names) => match names.next()?.into_vec() {
                    name if name.is_empty() => complain(&Complaint::EmptyName),
                    name => return Some(name),
                },
                Arguments::List { has_failed: true, .. } => return None,
                Arguments::List { name: list, bytes, number, has_failed } => {
                    let mut name = Vec::new();
                    if let Err(error) = bytes.read_until(0, &mut name) {
                        complain(&Complaint::ReadList(list, &error));
                        *has_failed = true;
                        return None;
                    }
                    if name.is_empty() {
                        return None;
                    }
                    *number += 1;
                    name.pop_if(|byte| *byte == 0);
                    if name.is_empty() {
                        complain(&Complaint::EmptyNameInList(list, *number));
                    } else if list == STDIN && name == STDIN.as_bytes() {
                        complain(&Complaint::StandardInputInList);
                    } else {
                        return Some(name);
                    }
                }
            }
        }
    }
}

/// Reads a file of patterns (`-X`).
pub(super) fn read_patterns(name: &OsStr) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = if name == STDIN { standard_input() } else { file(name)? };
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn file(name: &OsStr) -> io::Result<Box<dyn Read>> {
    Ok(Box::new(File::open(name)?))
}

fn standard_input() -> Box<dyn Read> {
    Box::new(StandardInput)
}

/// Standard input without a buffer. Reading fails if it was closed when the process started.
struct StandardInput;

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !inherited().is_open[0] {
            return Err(Errno::BADF.into());
        }
        Ok(rustix::io::read(io::stdin().as_fd(), buffer)?)
    }
}
