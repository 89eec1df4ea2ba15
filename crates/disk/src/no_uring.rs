//! What stands for io_uring where there is none: an engine that never starts.

use crate::transfer::Transfer;
use std::convert::Infallible;
use std::io;

/// An engine that doesn't exist.
#[derive(Debug)]
pub(crate) struct UringEngine(Infallible);

/// Why there is no io_uring.
#[derive(Debug)]
pub(crate) struct Refusal;

impl Refusal {
    /// Returns the error for the case that io_uring was demanded.
    pub(crate) fn required(self) -> io::Error {
        io::Error::other("only Linux has it: let it fall back with --io=auto")
    }

    /// Returns no notice for the case that io_uring was only preferred: nobody can change that.
    pub(crate) fn preferred(self) -> Option<String> {
        None
    }
}

impl UringEngine {
    pub(crate) fn new(_: usize, _: usize) -> Result<UringEngine, Refusal> {
        Err(Refusal)
    }

    pub(crate) fn describe(&self) -> String {
        match self.0 {}
    }

    pub(crate) fn load(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn start(&self, _: Transfer) {
        match self.0 {}
    }
}
