//! A journal of finished steps, so that a job that died can go on: whoever runs the same steps
//! again is given what came of those that were finished, instead of doing them.
//!
//! ```text
//!  step --- keep(step, what came of it) ---> keeper (a thread) --- sync the data, append, sync the journal ---> file
//!  step <-- recall(step) ------------------- what the file of an earlier process says
//! ```
//!
//! A step is in the journal only after the bytes that it speaks of are durable, and steps come in
//! the order in which they depend on each other: so whatever beginning of the journal survives, it
//! is true. The keeper takes together what has come while it was waiting for the drive, so that a
//! job's threads never wait for it, unless they ask ([`Journal::settle`]) because they are about to
//! destroy what an earlier step would need.
//!
//! | file | idea |
//! |---|---|
//! | `frames` | bytes that are appended, and how far what is there can be believed |
//! | `mark` | by what an input is known again |
//! | `transfer` | one transfer, waited for |

mod frames;
mod mark;
mod transfer;

pub(crate) use mark::{InputMark, mark};

use crate::Error;
use crate::job::failure::{Failure, STOP_INTERVAL};
use crate::job::threads::spawn_up_to;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select, unbounded};
use frames::Frames;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use xsort_disk::{Disk, FileId};

/// Longest encoding of one step, in bytes: more is damage.
const STEP_BYTES_MAX: usize = 1 << 31;

/// A step of a sort, in the order in which steps can depend on others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
pub(crate) enum Step {
    /// What is to be done.
    Begin,
    /// By what an input is known again.
    Input(u64),
    /// Sampling the keys.
    Sample,
    /// A chunk of the input, on scratch now.
    Chunk(u64),
    /// All chunks: from here on nobody needs the inputs.
    InputRead,
    /// A merge on the way, or a split of a bin.
    IntermediatePass(u64),
    /// How much of the output is written: an
    /// [`OutputPrefix`](crate::store::output_prefix::OutputPrefix), and what comes next. Only the
    /// last one counts.
    Written,
    /// The output is complete, and about to get its name.
    Publish,
}

enum Note {
    Step(Step, Vec<u8>),
    Settle(Sender<()>),
}

/// The journal of one job.
pub(crate) struct Journal<'a> {
    disk: &'a dyn Disk,
    file: FileId,
    recalled: Mutex<BTreeMap<Step, Vec<u8>>>,
    frames: Mutex<Frames>,
    notes: Sender<Note>,
    kept: Receiver<Note>,
    every: Duration,
    /// The keeper has failed.
    is_over: AtomicBool,
}

impl<'a> Journal<'a> {
    /// Opens the journal at `path`, or begins one; nobody else can have it until it is dropped.
    /// Whether it is new. `every` is how long the keeper collects steps at least.
    pub(crate) fn open(
        disk: &'a dyn Disk,
        path: &Path,
        every: Duration,
    ) -> Result<(Self, bool), Error> {
        let (file, is_new) = disk.open_or_create_persistent(path)?;
        let mut steps = Steps::default();
        match Frames::read(disk, file, |payload| steps.take(payload)) {
            Ok(frames) => Ok((Journal::with(disk, file, every, steps.whole, frames), is_new)),
            Err(error) => {
                disk.close(file);
                Err(error)
            }
        }
    }

    fn with(
        disk: &'a dyn Disk,
        file: FileId,
        every: Duration,
        recalled: BTreeMap<Step, Vec<u8>>,
        frames: Frames,
    ) -> Self {
        let (notes, kept) = unbounded();
        Journal {
            disk,
            file,
            recalled: Mutex::new(recalled),
            frames: Mutex::new(frames),
            notes,
            kept,
            every,
            is_over: AtomicBool::new(false),
        }
    }

    /// Begins with steps that are durable when this returns.
    pub(crate) fn begin(
        &self,
        steps: impl IntoIterator<Item = (Step, Vec<u8>)>,
    ) -> Result<(), Error> {
        self.commit(&[], &steps.into_iter().collect())
    }

    /// Forgets all that was in it, durably: what is appended next could else be followed by what
    /// lay behind it before.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        self.disk.set_bytes(self.file, 0)?;
        self.disk.sync(self.file)?;
        *self.frames.lock().unwrap_or_else(PoisonError::into_inner) = Frames::empty();
        self.recalled.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    /// Removes its name.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        Ok(self.disk.remove_persistent(self.file)?)
    }

    /// How what came of a step in an earlier process begins, without taking the step out.
    ///
    /// # Errors
    /// If it is there, but doesn't begin with such a thing.
    pub(crate) fn peek<T: DeserializeOwned>(&self, step: Step) -> Result<Option<T>, Error> {
        let recalled = self.recalled.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = recalled.get(&step).map(|bytes| postcard::take_from_bytes(bytes));
        begins
            .transpose()
            .map(|found| found.map(|(made, _)| made))
            .map_err(|error| self.unreadable(step, &error))
    }

    /// Forgets a step of an earlier process: what it says isn't so any more.
    pub(crate) fn forget(&self, step: Step) {
        self.recalled.lock().unwrap_or_else(PoisonError::into_inner).remove(&step);
    }

    fn unreadable(&self, step: Step, error: &postcard::Error) -> Error {
        Error::corrupt(self.disk, self.file, 0, format!("{step:?} can't be read ({error})"))
    }

    /// What came of a step in an earlier process, once.
    ///
    /// # Errors
    /// If it is there, but is no such thing.
    pub(crate) fn recall<T: DeserializeOwned>(&self, step: Step) -> Result<Option<T>, Error> {
        let found = self.recalled.lock().unwrap_or_else(PoisonError::into_inner).remove(&step);
        let Some(bytes) = found else { return Ok(None) };
        postcard::from_bytes(&bytes).map(Some).map_err(|error| self.unreadable(step, &error))
    }

    /// Whether a step was finished in an earlier process.
    pub(crate) fn has(&self, step: Step) -> bool {
        self.recalled.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&step)
    }

    /// Has a finished step kept, soon. All transfers that it speaks of have completed.
    pub(crate) fn keep<T: Serialize>(&self, step: Step, made: &T) {
        let bytes = encoded(made);
        // The keeper may have failed; then the job has, too.
        drop(self.notes.send(Note::Step(step, bytes)));
    }

    /// Waits until everything kept so far is durable; `false` if it never will be, because the
    /// keeper has failed or is gone.
    pub(crate) fn settle(&self) -> bool {
        let (done, wait) = bounded(1);
        if self.notes.send(Note::Settle(done)).is_err() {
            return false;
        }
        loop {
            match wait.recv_timeout(STOP_INTERVAL) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Timeout) if !self.is_over.load(Relaxed) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Runs `work` with a keeper beside it. `data` are the files that steps speak of.
    pub(crate) fn beside<T>(
        &self,
        data: &[FileId],
        failure: &Failure,
        work: impl FnOnce() -> T,
    ) -> T {
        let (end, ended) = bounded::<()>(0);
        std::thread::scope(|scope| {
            let fail = |error| {
                failure.set(error);
                // Nobody would answer those who wait.
                self.is_over.store(true, Relaxed);
            };
            let ended = &ended;
            let keeper = |_| move || self.run_keeper(data, ended).unwrap_or_else(fail);
            if let Err(error) = spawn_up_to(scope, 1, fail, keeper) {
                fail(error);
            }
            let result = work();
            drop(end);
            result
        })
    }

    /// The keeper's life: until `ended` is closed.
    fn run_keeper(&self, data: &[FileId], ended: &Receiver<()>) -> Result<(), Error> {
        let mut committed_at = Instant::now();
        let mut steps: BTreeMap<Step, Vec<u8>> = BTreeMap::new();
        let mut waiting = Vec::new();
        loop {
            let mut has_ended = false;
            let mut take = |note| match note {
                Note::Step(step, bytes) => drop(steps.insert(step, bytes)),
                Note::Settle(done) => waiting.push(done),
            };
            select! {
                recv(self.kept) -> note => note.into_iter().for_each(&mut take),
                // Nobody sends: it is closed.
                recv(ended) -> _ => has_ended = true,
                default(STOP_INTERVAL) => {}
            }
            self.kept.try_iter().for_each(take);
            let is_due = !waiting.is_empty() || has_ended || committed_at.elapsed() >= self.every;
            if is_due && !steps.is_empty() {
                self.commit(data, &steps)?;
                steps.clear();
                committed_at = Instant::now();
            }
            for done in waiting.drain(..) {
                // Whoever waited may have given up.
                let _: Result<_, _> = done.send(());
            }
            if has_ended {
                return Ok(());
            }
        }
    }

    fn commit(&self, data: &[FileId], steps: &BTreeMap<Step, Vec<u8>>) -> Result<(), Error> {
        for &file in data {
            self.disk.sync(file)?;
        }
        let mut bytes = Vec::new();
        for (step, made) in steps {
            let step = encoded(step);
            bytes.extend(((step.len() + made.len()) as u64).to_le_bytes());
            bytes.extend(step);
            bytes.extend(made);
        }
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.append(self.disk, self.file, &bytes)?;
        Ok(self.disk.sync(self.file)?)
    }
}

/// What is kept, as bytes.
pub(crate) fn encoded<T: Serialize>(made: &T) -> Vec<u8> {
    postcard::to_stdvec(made).expect("what is kept has a length and no pointers")
}

/// The journal of a job, if it has one.
#[derive(Clone, Copy)]
pub(crate) struct JournalHandle<'a>(pub(crate) Option<&'a Journal<'a>>);

impl JournalHandle<'_> {
    /// How often to tell how far something has come, if anything is kept.
    pub(crate) fn every(&self) -> Option<Duration> {
        self.0.map(|journal| journal.every)
    }

    /// Whether there is one.
    pub(crate) fn are_kept(&self) -> bool {
        self.0.is_some()
    }

    /// What came of a step in an earlier process, once.
    pub(crate) fn recall<T: DeserializeOwned>(&self, step: Step) -> Result<Option<T>, Error> {
        self.0.map_or(Ok(None), |journal| journal.recall(step))
    }

    /// Keeps a step soon.
    pub(crate) fn keep<T: Serialize>(&self, step: Step, made: &T) {
        if let Some(journal) = self.0 {
            journal.keep(step, made);
        }
    }

    /// Waits until all steps are kept: what they don't need any more may go.
    pub(crate) fn settle(&self, failure: &Failure) -> Result<(), Error> {
        match self.0 {
            Some(journal) if !journal.settle() => {
                failure.check()?;
                Err(Error::Cancelled)
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Journal<'_> {
    fn drop(&mut self) {
        self.disk.close(self.file);
    }
}

/// The steps in a journal's bytes, which come piece by piece: only the last of each is kept, so
/// that a long journal of few steps takes little memory.
#[derive(Debug, Default)]
struct Steps {
    whole: BTreeMap<Step, Vec<u8>>,
    /// The beginning of one that isn't whole yet.
    begun: Vec<u8>,
    /// Something was no step: nothing behind it is believed.
    is_over: bool,
}

impl Steps {
    fn take(&mut self, bytes: &[u8]) {
        if self.is_over {
            return;
        }
        self.begun.extend_from_slice(bytes);
        let mut rest = &self.begun[..];
        while let Some((length, entries)) = rest.split_first_chunk() {
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
            self.is_over = length > STEP_BYTES_MAX;
            let Some((entry, behind)) = entries.split_at_checked(length) else { break };
            let Ok((step, made)) = postcard::take_from_bytes::<Step>(entry) else {
                self.is_over = true;
                break;
            };
            self.whole.insert(step, made.to_vec());
            rest = behind;
        }
        let taken = self.begun.len() - rest.len();
        self.begun.drain(..taken);
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
        journal.beside(&[], &failure, || {
            for number in numbers {
                journal.keep(Step::Chunk(number), &vec![number; 1000]);
                journal.keep(Step::Written, &number);
                if number % 3 == 0 {
                    assert!(journal.settle());
                }
            }
        });
        failure.check().unwrap();
    }

    #[test]
    fn what_was_kept_is_recalled_once() {
        let disk = SimDisk::new(SimOptions::rough(1));
        begin(&disk, 0..20);
        disk.power_cut();
        let journal = Journal::open(&disk, &path(), Duration::ZERO).unwrap().0;
        for number in 0..20 {
            assert!(journal.has(Step::Chunk(number)));
            let made: Option<Vec<u64>> = journal.recall(Step::Chunk(number)).unwrap();
            assert_eq!(made, Some(vec![number; 1000]));
            assert!(!journal.has(Step::Chunk(number)));
        }
        assert_eq!(journal.recall::<u64>(Step::Written).unwrap(), Some(19));
        assert_eq!(journal.recall::<u64>(Step::Written).unwrap(), None);
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
    fn any_bytes_are_steps_or_none_however_they_come() {
        let mut whole = Vec::new();
        for number in 0..50u64 {
            let entry =
                [encoded(&Step::Chunk(number)), encoded(&vec![number; number as usize])].concat();
            whole.extend((entry.len() as u64).to_le_bytes());
            whole.extend(entry);
        }
        let steps = |bytes: &[u8], most: usize| {
            let mut steps = Steps::default();
            bytes.chunks(most).for_each(|piece| steps.take(piece));
            steps.whole
        };
        assert_eq!(steps(&whole, usize::MAX).len(), 50);
        for most in [1, 7, 100, 4096] {
            assert_eq!(steps(&whole, most), steps(&whole, usize::MAX));
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x81;
            assert_eq!(steps(&damaged, 13), steps(&damaged, usize::MAX), "byte {at}");
        }
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
                let made: Option<Vec<u64>> = journal.recall(Step::Chunk(number)).unwrap();
                assert_eq!(made, (number < count as u64).then(|| vec![number; 1000]), "byte {at}");
            }
            drop(journal);
        }
    }

    #[test]
    fn a_keeper_that_fails_fails_the_job() {
        let fault = xsort_disk::Fault {
            operation: xsort_disk::Operation::Sync,
            role: None,
            site: xsort_disk::FaultSite::Everywhere,
            errno: 5,
        };
        let disk = SimDisk::new(SimOptions { faults: vec![fault], ..SimOptions::default() });
        let journal = Journal::open(&disk, &path(), Duration::ZERO).unwrap().0;
        let failure = Failure::default();
        let is_settled = journal.beside(&[], &failure, || {
            journal.keep(Step::Chunk(0), &1);
            // The first is told of the failure, the second comes after it.
            [journal.settle(), journal.settle()]
        });
        assert!(is_settled == [false, false] && failure.check().is_err());
    }
}
