//! Lines that come too late.

use super::waiting::Counts;
use crate::Error;
use std::io::Write;

/// Where lines go that come too late.
pub(super) struct Late<'a> {
    to: Option<&'a mut (dyn Write + Send)>,
    pub(super) counts: Counts,
}

impl<'a> Late<'a> {
    /// They are written to `to`, or are errors.
    pub(super) fn new(to: Option<&'a mut (dyn Write + Send)>) -> Late<'a> {
        Late { to, counts: Counts::default() }
    }

    /// Takes a line with its delimiter. Returns false if it is an error.
    ///
    /// # Errors
    ///
    /// [`Error::Late`] if it can't be written.
    pub(super) fn take(&mut self, line: &[u8], delimiter: u8) -> Result<bool, Error> {
        let Some(to) = &mut self.to else { return Ok(false) };
        to.write_all(line).map_err(Error::LateOutput)?;
        self.counts.add(line, delimiter);
        Ok(true)
    }

    /// Passes on everything that was written.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.to.as_mut().map_or(Ok(()), Write::flush).map_err(Error::LateOutput)
    }

    /// The number of these lines, if they are no errors.
    pub(super) fn lines(&self) -> Option<u64> {
        self.to.is_some().then_some(self.counts.lines)
    }
}
