//! The tests of `xsort-gnu`, one module a subject.

mod cases;
mod differential;
mod grammar;
mod locales;
mod oracle;
mod records;
mod semantics;
mod words;

use std::ffi::OsString;

use xsort_gnu::sort::{Command, Environment, Request, parse};
use xsort_gnu::{Locale, Refusal};

/// What the words mean in the locale C.
fn understand(words: &[OsString]) -> Result<Box<Command>, Refusal> {
    let environment = Environment {
        memory_bytes: 1 << 34,
        open_files_max: 1024,
        ..Environment::new(|_| None, Locale::c())
    };
    match parse(words, &environment)? {
        Request::Run(command) => Ok(command),
        other => panic!("{words:?} asks for {other:?}"),
    }
}
