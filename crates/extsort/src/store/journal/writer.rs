//! The thread that appends to the journal. A job's other threads wait for it only if they ask for a
//! flush.

use super::file::JournalFile;
use super::step::{Step, Steps};
use super::stored_parts::StoredParts;
use crate::Error;
use crate::job::failure::STOP_INTERVAL;
use crossbeam_channel::{Receiver, Sender, select};
use std::time::{Duration, Instant};
use xsort_disk::FileId;

/// A message to the journal's writer.
pub(super) enum Message {
    /// A finished step, with its encoded result.
    Record(Step, Vec<u8>),
    /// Append all steps recorded so far, then answer.
    Flush(Sender<()>),
}

/// Appends recorded steps until `ended` is closed. Steps are collected for `every`, so that one
/// sync of the `data` files serves many of them. A flush ends the collecting early.
pub(super) fn run_writer(
    journal: &JournalFile<'_>,
    every: Duration,
    data: &[FileId],
    messages: &Receiver<Message>,
    ended: &Receiver<()>,
) -> Result<(), Error> {
    let mut appended_at = Instant::now();
    let mut steps = Steps::new();
    let mut flushes = Vec::new();
    let mut stored = StoredParts::default();
    loop {
        let mut has_ended = false;
        let mut take = |message| match message {
            Message::Record(step, result) => drop(steps.insert(step, result)),
            Message::Flush(done) => flushes.push(done),
        };
        select! {
            recv(messages) -> message => message.into_iter().for_each(&mut take),
            // Nothing is ever sent on this channel: it was closed.
            recv(ended) -> _ => has_ended = true,
            default(STOP_INTERVAL) => {}
        }
        messages.try_iter().for_each(take);
        let is_due = !flushes.is_empty() || has_ended || appended_at.elapsed() >= every;
        if is_due {
            stored.hold_back(journal.disk, data, &mut steps);
        }
        if is_due && !steps.is_empty() {
            journal.append(data, &steps)?;
            steps.clear();
            appended_at = Instant::now();
        }
        for done in flushes.drain(..) {
            // The waiting thread may have given up.
            let _: Result<_, _> = done.send(());
        }
        if has_ended {
            return Ok(());
        }
    }
}
