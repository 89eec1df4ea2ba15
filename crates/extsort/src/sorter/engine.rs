//! The thread that sorts the pushed records.

use super::blocks::BlockWriter;
use super::outcome::Ended;
use super::watch::Watch;
use crate::keyed::ByKey;
use crate::lines::{Content, InputBytes, LinesInput, LinesOptions, LinesReport, sort_lines};
use crate::{Error, Observer};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use xsort_disk::{Disk, Operation};

/// What the sorting thread needs.
pub(super) struct Engine {
    pub(super) options: LinesOptions,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) watch: Arc<Watch>,
    pub(super) output: BlockWriter,
}

impl Engine {
    /// Starts the thread, which sorts `stream`. `bytes` is its size, if known. The outcome gets the
    /// thread's result in any case.
    pub(super) fn spawn(
        mut self,
        stream: InputBytes<'static>,
        bytes: Option<u64>,
    ) -> Result<JoinHandle<()>, Ended> {
        let outcome = Arc::clone(&self.watch.outcome);
        let work = move || {
            // Unwind safety: nothing of the engine is used again.
            let result = catch_unwind(AssertUnwindSafe(|| self.sort(stream, bytes)));
            let result = match result.unwrap_or(Err(Error::Panicked)) {
                Err(_) if self.watch.is_cancelled() => Err(Error::Cancelled),
                result => result,
            };
            let outcome = Arc::clone(&self.watch.outcome);
            outcome.end(result);
            // The reader waits until the block writer is dropped. The outcome is set by then.
            drop(self);
        };
        Builder::new().name("xsort-sorter".into()).spawn(work).map_err(|source| {
            let path = PathBuf::from("a thread");
            outcome.end(Err(xsort_disk::Error::new(Operation::Start, path, source).into()));
            Ended
        })
    }

    fn sort(
        &mut self,
        stream: InputBytes<'static>,
        bytes: Option<u64>,
    ) -> Result<LinesReport, Error> {
        let path = PathBuf::from("pushed records");
        let input = LinesInput { path, bytes, content: Content::Stream(stream) };
        let Engine { options, disk, watch, output } = self;
        let report = sort_lines(options, &ByKey, vec![input], output, &**disk, &**watch)?;
        output.flush().map_err(Error::Output)?;
        Ok(report)
    }
}
