//! A journal of finished steps, with which a later process can resume a sort. The process runs the
//! same steps again, but replays the results of the finished ones.
//!
//! ```text
//!  step --- record(step, result) ---> writer ---> sync data, append, sync journal ---> file
//!  step <-- replay(step) ------------ the file of an earlier process
//! ```
//!
//! A step enters the journal only after the bytes that it refers to are durable, and steps are
//! appended in the order of their dependencies. So any prefix of the journal that survives is true.
//! A thread waits for the writer only before it destroys data that an earlier step would need
//! ([`Journal::flush`]).
//!
//! | file | idea |
//! |---|---|
//! | `step` | the steps and their encoding |
//! | `frames` | an append-only format, and how far a reader can trust it |
//! | `file` | the file: steps in frames |
//! | `stored_parts` | which parts must be in a store before a step counts |
//! | `writer` | the thread that appends |
//! | `handle` | an optional journal |

mod file;
mod frames;
mod handle;
mod step;
mod stored_parts;
mod writer;

pub(crate) use handle::JournalHandle;
pub(crate) use step::{Step, Steps, encoded};

use crate::Error;
use crate::job::failure::{Failure, STOP_INTERVAL};
use crate::job::threads::spawn_up_to;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use file::JournalFile;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use writer::{Message, run_writer};
use xsort_disk::{Disk, FileId};

/// The journal of one sort.
pub(crate) struct Journal<'a> {
    file: JournalFile<'a>,
    /// Steps of an earlier process that have not been replayed yet.
    replayable: Mutex<Steps>,
    messages_to: Sender<Message>,
    messages_from: Receiver<Message>,
    /// How long the writer collects steps.
    every: Duration,
    has_failed: AtomicBool,
}

impl<'a> Journal<'a> {
    /// Opens the journal at `path`, or creates one, and locks it until it is dropped. Also returns
    /// true if it is new. The writer collects steps for `every`.
    pub(crate) fn open(
        disk: &'a dyn Disk,
        path: &Path,
        every: Duration,
    ) -> Result<(Self, bool), Error> {
        let (file, steps, is_new) = JournalFile::open(disk, path)?;
        let (messages_to, messages_from) = unbounded();
        let journal = Journal {
            file,
            replayable: Mutex::new(steps),
            messages_to,
            messages_from,
            every,
            has_failed: AtomicBool::new(false),
        };
        Ok((journal, is_new))
    }

    /// Writes the first steps. They are durable when this returns.
    pub(crate) fn begin(&self, steps: Steps) -> Result<(), Error> {
        self.file.append(&[], &steps)
    }

    /// Removes all steps durably.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        self.file.clear()?;
        self.replayable.lock().clear();
        Ok(())
    }

    /// Removes the file's name.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        Ok(self.file.disk.remove_persistent(self.file.file)?)
    }

    /// True if an earlier process has finished this step and it has not been replayed yet.
    pub(crate) fn has(&self, step: Step) -> bool {
        self.replayable.lock().contains_key(&step)
    }

    /// Decodes the beginning of a step's result, without replaying the step.
    ///
    /// # Errors
    /// If there is a result, but it doesn't begin with a `T`.
    pub(crate) fn peek<T: DeserializeOwned>(&self, step: Step) -> Result<Option<T>, Error> {
        let replayable = self.replayable.lock();
        let Some(bytes) = replayable.get(&step) else { return Ok(None) };
        match postcard::take_from_bytes(bytes) {
            Ok((result, _)) => Ok(Some(result)),
            Err(error) => Err(self.unreadable(step, &error)),
        }
    }

    /// The error for a step whose result can't be true.
    pub(crate) fn refuse(&self, step: Step, detail: &str) -> Error {
        let JournalFile { disk, file, .. } = self.file;
        Error::corrupt(disk, file, 0, format!("{step:?} can't be true: {detail}"))
    }

    /// Returns the result of a step that an earlier process has finished. A step is replayed once.
    ///
    /// # Errors
    /// If there is a result, but it isn't a `T`.
    pub(crate) fn replay<T: DeserializeOwned>(&self, step: Step) -> Result<Option<T>, Error> {
        let bytes = self.replayable.lock().remove(&step);
        let Some(bytes) = bytes else { return Ok(None) };
        postcard::from_bytes(&bytes).map(Some).map_err(|error| self.unreadable(step, &error))
    }

    /// Drops a step of an earlier process whose result is no longer true.
    pub(crate) fn forget(&self, step: Step) {
        self.replayable.lock().remove(&step);
    }

    /// Refuses a journal that has a chunk without all the chunks before it. Called after chunks
    /// have been replayed in order: a chunk that is left then follows a missing one.
    pub(crate) fn refuse_more_chunks(&self) -> Result<(), Error> {
        let is_chunk = |step: &&Step| matches!(step, Step::Chunk(_));
        let JournalFile { disk, file, .. } = self.file;
        match self.replayable.lock().keys().find(is_chunk) {
            Some(step) => {
                let detail = format!("{step:?} is there, but not all chunks before it");
                Err(Error::corrupt(disk, file, 0, detail))
            }
            None => Ok(()),
        }
    }

    fn unreadable(&self, step: Step, error: &postcard::Error) -> Error {
        let JournalFile { disk, file, .. } = self.file;
        Error::corrupt(disk, file, 0, format!("{step:?} can't be read ({error})"))
    }

    /// Queues a finished step for the journal. All transfers of the bytes that it refers to must
    /// have completed.
    pub(crate) fn record<T: Serialize>(&self, step: Step, result: &T) {
        // If the writer has failed, the job has failed too.
        drop(self.messages_to.send(Message::Record(step, encoded(result))));
    }

    /// Waits until everything recorded so far is durable. Returns false if the writer has failed or
    /// ended.
    pub(crate) fn flush(&self) -> bool {
        let (done, wait) = bounded(1);
        if self.messages_to.send(Message::Flush(done)).is_err() {
            return false;
        }
        loop {
            match wait.recv_timeout(STOP_INTERVAL) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Timeout) if !self.has_failed.load(Relaxed) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Runs `work` while a writer thread appends the recorded steps. Steps refer to the `data`
    /// files.
    pub(crate) fn run_while_recording<T>(
        &self,
        data: &[FileId],
        failure: &Failure,
        work: impl FnOnce() -> T,
    ) -> T {
        let (end, ended) = bounded::<()>(0);
        std::thread::scope(|scope| {
            let fail = |error| {
                failure.set(error);
                // Otherwise threads would wait for a flush forever.
                self.has_failed.store(true, Relaxed);
            };
            let ended = &ended;
            let writer = |_| {
                move || {
                    run_writer(&self.file, self.every, data, &self.messages_from, ended)
                        .unwrap_or_else(fail);
                }
            };
            if let Err(error) = spawn_up_to(scope, 1, fail, writer) {
                fail(error);
            }
            let result = work();
            drop(end);
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use xsort_disk::{SimDisk, SimOptions};

    fn path() -> PathBuf {
        "/scratch/journal".into()
    }

    fn begin(disk: &SimDisk, numbers: std::ops::Range<u64>) {
        let journal = Journal::open(disk, &path(), Duration::ZERO).unwrap().0;
        let failure = Failure::default();
        journal.run_while_recording(&[], &failure, || {
            for number in numbers {
                journal.record(Step::Chunk(number), &vec![number; 1000]);
                journal.record(Step::Written, &number);
                if number % 3 == 0 {
                    assert!(journal.flush());
                }
            }
        });
        failure.check().unwrap();
    }

    #[test]
    fn what_was_recorded_is_replayed_once() {
        let disk = SimDisk::new(SimOptions::rough(1));
        begin(&disk, 0..20);
        disk.power_cut();
        let journal = Journal::open(&disk, &path(), Duration::ZERO).unwrap().0;
        for number in 0..20 {
            assert!(journal.has(Step::Chunk(number)));
            let result: Option<Vec<u64>> = journal.replay(Step::Chunk(number)).unwrap();
            assert_eq!(result, Some(vec![number; 1000]));
            assert!(!journal.has(Step::Chunk(number)));
        }
        assert_eq!(journal.replay::<u64>(Step::Written).unwrap(), Some(19));
        assert_eq!(journal.replay::<u64>(Step::Written).unwrap(), None);
    }

    #[test]
    fn frames_are_found_across_the_ends_of_what_is_read_at_once() {
        let disk = SimDisk::new(SimOptions::default());
        begin(&disk, 0..400);
        assert!(disk.get(path()).unwrap().len() > 2 * frames::FRAME_BYTES);
        let journal = Journal::open(&disk, &path(), Duration::ZERO).unwrap().0;
        assert!((0..400).all(|number| journal.has(Step::Chunk(number))));
    }

    #[test]
    fn damage_ends_what_is_believed() {
        let disk = SimDisk::new(SimOptions::default());
        begin(&disk, 0..20);
        let whole = disk.get(path()).unwrap();
        for at in (0..whole.len()).step_by(4099) {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            disk.put(path(), &damaged);
            let journal = Journal::open(&disk, &path(), Duration::ZERO).unwrap().0;
            let count = (0..20).take_while(|&number| journal.has(Step::Chunk(number))).count();
            for number in 0..20 {
                let result: Option<Vec<u64>> = journal.replay(Step::Chunk(number)).unwrap();
                let expected = (number < count as u64).then(|| vec![number; 1000]);
                assert_eq!(result, expected, "byte {at}");
            }
            drop(journal);
        }
    }

    /// Only the first frames of a step were written. The frames appended next were read as its
    /// remainder.
    #[test]
    fn the_beginning_of_a_step_is_not_continued_by_the_next_one() {
        let disk = SimDisk::new(SimOptions::default());
        begin(&disk, 0..1);
        let long: Vec<u64> = (0..200_000).map(|number| number * number).collect();
        let (journal, _) = Journal::open(&disk, &path(), Duration::ZERO).unwrap();
        journal.begin([(Step::Chunk(1), encoded(&long))].into()).unwrap();
        drop(journal);
        let whole = disk.get(path()).unwrap();
        assert!(whole.len() > 2 * frames::FRAME_BYTES);
        for end in (0..=whole.len()).step_by(frames::FRAME_BYTES / 8).chain([whole.len()]) {
            disk.put(path(), &whole[..end]);
            begin(&disk, 2..40);
            let journal = Journal::open(&disk, &path(), Duration::ZERO).unwrap().0;
            let is_whole = end == whole.len();
            let result: Option<Vec<u64>> = journal.replay(Step::Chunk(1)).unwrap();
            assert_eq!(result, is_whole.then(|| long.clone()), "{end} bytes");
            for number in 2..40 {
                let result: Option<Vec<u64>> = journal.replay(Step::Chunk(number)).unwrap();
                assert_eq!(result, Some(vec![number; 1000]), "{end} bytes");
            }
        }
    }

    #[test]
    fn a_writer_that_fails_fails_the_job() {
        let fault = xsort_disk::Fault {
            operation: xsort_disk::Operation::Sync,
            role: None,
            site: xsort_disk::FaultSite::Everywhere,
            errno: 5,
        };
        let disk = SimDisk::new(SimOptions { faults: vec![fault], ..SimOptions::default() });
        let journal = Journal::open(&disk, &path(), Duration::ZERO).unwrap().0;
        let failure = Failure::default();
        let flushed = journal.run_while_recording(&[], &failure, || {
            journal.record(Step::Chunk(0), &1);
            // The first flush runs while the writer fails, the second afterwards.
            [journal.flush(), journal.flush()]
        });
        assert!(flushed == [false, false] && failure.check().is_err());
    }
}
