//! Clears dead jobs from the full screen, by a key that is pressed twice. It calls the function of
//! `--clear`, so it takes the same care.

use super::keyboard::Key;
use super::words::leftovers_text;
use std::path::PathBuf;
use xsort_disk::DisplayPath;
use xsort_status::{Cleared, FoundJob, Inventory, Life, leftovers};

/// The question that was asked, and the message to show.
#[derive(Default)]
pub(super) struct Clearing {
    /// The key that was pressed once, and the jobs that it would clear.
    asked: Option<(Key, Vec<PathBuf>)>,
    pub(super) message: String,
}

impl Clearing {
    /// Asks or clears. Any other key cancels the question.
    pub(super) fn press(&mut self, key: Key, jobs: &[FoundJob], chosen: usize) {
        let asked = self.asked.take();
        self.message.clear();
        let named = match key {
            Key::Clear => jobs.get(chosen).map_or(&[][..], std::slice::from_ref),
            Key::ClearAll => jobs,
            _ => return,
        };
        let is_dead = |job: &&FoundJob| job.life() == Life::Dead;
        // A store may take a minute to answer, and the screen doesn't wait.
        let (distant, dead): (Vec<_>, Vec<_>) = named
            .iter()
            .filter(is_dead)
            .partition(|job| job.snapshot().is_some_and(|snapshot| !snapshot.uploads.is_empty()));
        let names = || dead.iter().map(|job| job.prefix().to_owned()).collect();
        self.message = match (&dead[..], key) {
            ([], _) if !distant.is_empty() => {
                "what is left is in a store: xsort status --clear removes it".into()
            }
            ([], Key::Clear) => "only dead jobs are cleared".into(),
            ([], _) => "no job is dead".into(),
            _ if asked == Some((key, names())) => clear(&dead),
            (_, Key::Clear) => {
                self.asked = Some((key, names()));
                let (name, left) = (dead[0].name(), leftovers_text(&leftovers(dead[0])));
                format!("c again clears job {name}: removes {left}")
            }
            _ => {
                self.asked = Some((key, names()));
                format!("C again clears all dead jobs: {}", dead.len())
            }
        };
    }
}

/// Clears the jobs, and returns a message with the result.
fn clear(dead: &[&FoundJob]) -> String {
    let mut inventory = Inventory::default();
    let (mut files, mut failed) = (0, Vec::new());
    for job in dead {
        let Cleared { removed, failures } = inventory.clear(job);
        files += removed.status.len() + removed.hidden.len();
        failed.extend(failures);
    }
    match failed.first() {
        None if files == 1 => "1 file removed".into(),
        None => format!("{files} files removed"),
        Some((path, reason)) => {
            format!("{} not removed, first {}: {reason}", failed.len(), DisplayPath(path))
        }
    }
}
