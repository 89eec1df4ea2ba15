//! A journal of finished steps, so that a later process can resume a sort: it runs the same steps
//! again, but replays the results of those that were finished.
//!
//! ```text
//!  step --- record(step, result) ---> writer ---> sync data, append, sync journal ---> file
//!  step <-- replay(step) ------------ the file of an earlier process
//! ```
//!
//! A step is in the journal only after the bytes that it refers to are durable, and steps come in
//! the order in which they depend on each other. So whatever beginning of the journal survives, it
//! is true. A thread waits for the writer only if it is about to destroy what an earlier step would
//! need ([`Journal::flush`]).
//!
//! | file | idea |
//! |---|---|
//! | `step` | the steps and their encoding |
//! | `frames` | appended bytes, and how far a reader can trust them |
//! | `file` | the file: steps in frames |
//! | `stored_parts` | what has to be in a store before it counts |
//! | `writer` | the thread that appends |
//! | `handle` | the journal of a sort that may have none |

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
    /// Steps of an earlier process that were not replayed yet.
    replayable: Mutex<Steps>,
    messages_to: Sender<Message>,
    messages_from: Receiver<Message>,
    /// For how long the writer collects steps.
    every: Duration,
    has_failed: AtomicBool,
}

impl<'a> Journal<'a> {
    /// Opens the journal at `path`, or creates one. No other process can open it until this is
    /// dropped. Returns whether it is new. `every` is for how long the writer collects steps.
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

    /// Writes the first steps, which are durable when this returns.
    pub(crate) fn begin(&self, steps: Steps) -> Result<(), Error> {
        self.file.append(&[], &steps)
    }

    /// Durably removes all steps.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        self.file.clear()?;
        self.replayable.lock().clear();
        Ok(())
    }

    /// Removes the file's name.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        Ok(self.file.disk.remove_persistent(self.file.file)?)
    }

    /// Whether an earlier process has finished a step that was not replayed yet.
    pub(crate) fn has(&self, step: Step) -> bool {
        self.replayable.lock().contains_key(&step)
    }

    /// The beginning of a step's result, which can still be replayed.
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

    /// The result of a step that an earlier process has finished. A step is replayed once.
    ///
    /// # Errors
    /// If there is a result, but it is no `T`.
    pub(crate) fn replay<T: DeserializeOwned>(&self, step: Step) -> Result<Option<T>, Error> {
        let bytes = self.replayable.lock().remove(&step);
        let Some(bytes) = bytes else { return Ok(None) };
        postcard::from_bytes(&bytes).map(Some).map_err(|error| self.unreadable(step, &error))
    }

    /// Forgets a step of an earlier process: its result isn't true any more.
    pub(crate) fn forget(&self, step: Step) {
        self.replayable.lock().remove(&step);
    }

    /// Refuses a journal with chunks that weren't replayed, though those before them were.
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

    /// Records a finished step, soon. All transfers of the bytes that it refers to have completed.
    pub(crate) fn record<T: Serialize>(&self, step: Step, result: &T) {
        // The writer may have failed; then the job has, too.
        drop(self.messages_to.send(Message::Record(step, encoded(result))));
    }

    /// Waits until everything recorded so far is durable; `false` if it never will be, because the
    /// writer has failed or is gone.
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

    /// Runs `work` while a thread appends the steps that it records. `data` are the files that
    /// steps refer to.
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
                // Nobody would answer the threads that wait for a flush.
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

    /// A step in several frames, of which only the first ones were written: what is appended
    /// next was read as the rest of it.
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
            // The first flush sees the failure happen, the second comes after it.
            [journal.flush(), journal.flush()]
        });
        assert!(flushed == [false, false] && failure.check().is_err());
    }
}
