//! The arguments of a walk, each taken when its turn comes: of the command line, or of a list that
//! may be a pipe.

use super::desk::Desk;
use crate::gnu::locale;
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::vec;
use xsort_disk::inherited;
use xsort_gnu::du::{Command, Complaint};

/// The name of standard input.
const STANDARD: &str = "-";

/// The arguments.
pub(super) enum Names {
    Operands(vec::IntoIter<OsString>),
    List { name: OsString, bytes: Box<dyn BufRead>, number: u64, is_over: bool },
}

impl Names {
    /// Of a command; a list is opened.
    ///
    /// # Errors
    /// What is to be said if the list can't be.
    pub(super) fn open(command: &Command) -> Result<Names, Vec<u8>> {
        match &command.files0_from {
            None => Ok(Names::Operands(command.files.clone().into_iter())),
            Some(name) => {
                let opened = if name == STANDARD { Ok(standard_input()) } else { file(name) };
                let bytes =
                    opened.map_err(|error| Complaint::OpenList(name, &error).text(locale()))?;
                let bytes = Box::new(BufReader::new(bytes));
                Ok(Names::List { name: name.clone(), bytes, number: 0, is_over: false })
            }
        }
    }

    /// The next one; of those that are none the desk complains.
    pub(super) fn next(&mut self, desk: &Desk<'_>) -> Option<Vec<u8>> {
        loop {
            match self {
                Names::Operands(names) => match names.next()?.into_vec() {
                    name if name.is_empty() => desk.complain(&Complaint::EmptyName),
                    name => return Some(name),
                },
                Names::List { is_over: true, .. } => return None,
                Names::List { name: list, bytes, number, is_over } => {
                    let mut name = Vec::new();
                    if let Err(error) = bytes.read_until(0, &mut name) {
                        desk.complain(&Complaint::ReadList(list, &error));
                        *is_over = true;
                        return None;
                    }
                    if name.is_empty() {
                        return None;
                    }
                    *number += 1;
                    name.pop_if(|byte| *byte == 0);
                    if name.is_empty() {
                        desk.complain(&Complaint::EmptyNameInList(list, *number));
                    } else if list == STANDARD && name == STANDARD.as_bytes() {
                        desk.complain(&Complaint::StandardInputInList);
                    } else {
                        return Some(name);
                    }
                }
            }
        }
    }
}

/// The bytes of a file of patterns (`-X`).
pub(super) fn read_patterns(name: &OsStr) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = if name == STANDARD { standard_input() } else { file(name)? };
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn file(name: &OsStr) -> io::Result<Box<dyn Read>> {
    Ok(Box::new(File::open(name)?))
}

fn standard_input() -> Box<dyn Read> {
    Box::new(StandardInput)
}

/// Standard input without a buffer between; what was closed when the process was started can't be
/// read.
struct StandardInput;

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !inherited().is_open[0] {
            return Err(Errno::BADF.into());
        }
        Ok(rustix::io::read(io::stdin().as_fd(), buffer)?)
    }
}
