//! An optional journal.

use super::Journal;
use super::step::Step;
use crate::Error;
use crate::job::failure::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A sort's journal, if the sort can be resumed. Without one, nothing is recorded or replayed.
#[derive(Clone, Copy)]
pub(crate) struct JournalHandle<'a>(pub(crate) Option<&'a Journal<'a>>);

impl JournalHandle<'_> {
    /// The interval for recording progress; `None` without a journal.
    pub(crate) fn interval(&self) -> Option<Duration> {
        self.0.map(|journal| journal.every)
    }

    /// True if there is a journal.
    pub(crate) fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    /// Calls [`Journal::replay`]; `None` without a journal.
    pub(crate) fn replay<T: DeserializeOwned>(&self, step: Step) -> Result<Option<T>, Error> {
        self.0.map_or(Ok(None), |journal| journal.replay(step))
    }

    /// Calls [`Journal::refuse`]; without a journal, returns [`Error::Lost`].
    pub(crate) fn refuse(&self, step: Step, detail: &str) -> Error {
        let refused = self.0.map(|journal| journal.refuse(step, detail));
        refused.unwrap_or_else(|| Error::Lost { what: detail.into() })
    }

    /// Calls [`Journal::refuse_more_chunks`], if there is a journal.
    pub(crate) fn refuse_more_chunks(&self) -> Result<(), Error> {
        self.0.map_or(Ok(()), Journal::refuse_more_chunks)
    }

    /// Calls [`Journal::record`], if there is a journal.
    pub(crate) fn record<T: Serialize>(&self, step: Step, result: &T) {
        if let Some(journal) = self.0 {
            journal.record(step, result);
        }
    }

    /// Waits until all recorded steps are durable. Then data that later steps don't need may be
    /// destroyed.
    pub(crate) fn flush(&self, failure: &Failure) -> Result<(), Error> {
        match self.0 {
            Some(journal) if !journal.flush() => {
                failure.check()?;
                Err(Error::Cancelled)
            }
            _ => Ok(()),
        }
    }

    /// Returns the result of a step whose sources the caller destroys afterwards. If an earlier
    /// process recorded the result, `replay` claims it. Otherwise `run` computes it, and it is
    /// recorded durably.
    pub(crate) fn replay_or_run<T: Serialize + DeserializeOwned>(
        &self,
        step: Step,
        failure: &Failure,
        replay: impl FnOnce(&T) -> Result<(), Error>,
        run: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if let Some(result) = self.replay(step)? {
            replay(&result)?;
            return Ok(result);
        }
        let result = run()?;
        self.record(step, &result);
        self.flush(failure)?;
        Ok(result)
    }
}
