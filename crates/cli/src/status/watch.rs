//! The full screen, kept up to date until the user has seen enough.

use super::keys::{Heard, Key, Keyboard};
use super::view::Screen;
use crate::exit::Failure;
use crate::signals::Stop;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use xsort_status::{FoundJob, Leftovers, Life, StatusDirectories, leftovers, search};

/// As often as jobs publish.
const FRAME: Duration = Duration::from_millis(100);
/// Less urgent than what is watched.
const NICENESS: i32 = 10;
/// How often it is looked whether there are other jobs.
const SEARCH: Duration = Duration::from_millis(500);

/// Watches all jobs, or the one that is named, until it is told to end, or the terminal is gone.
pub(super) fn watch(
    place: &StatusDirectories,
    name: Option<&str>,
    stop: &Stop,
) -> Result<(), Failure> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "--watch needs a terminal; --json is for everything else".into(),
        ));
    }
    let mut watcher = Watcher::new(super::chosen(place, name, stop)?);
    let has_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let broken = |source| Failure::File { what: "terminal".into(), source };
    // Many may watch on a machine that is busy: the jobs go first. If it is refused, nothing is
    // lost.
    let _ = rustix::process::nice(NICENESS);
    // Also has a panic restore the terminal.
    let mut terminal = ratatui::try_init().map_err(broken)?;
    let mut keyboard = Keyboard::default();
    let mut searched = Instant::now();
    let result = loop {
        if searched.elapsed() >= SEARCH && name.is_none() {
            watcher.search(place, stop);
            // From its end on: a look at many thousands of jobs may take longer than the time
            // between two.
            searched = Instant::now();
        }
        watcher.refresh();
        let screen = watcher.screen(has_colour);
        let drawn = terminal.draw(|frame| screen.draw(frame)).map(drop);
        // A new size is drawn with the next frame.
        match drawn.and_then(|()| keyboard.listen(io::stdin(), FRAME)) {
            Ok(Heard::Keys(keys)) => keys.into_iter().for_each(|key| watcher.press(key)),
            Ok(Heard::Nothing) => {}
            Ok(Heard::HungUp) => watcher.is_over = true,
            Err(error) => break Err(broken(error)),
        }
        if stop.is_set() {
            break Err(Failure::Stopped { so_far: "" });
        }
        if watcher.is_over {
            break Ok(());
        }
    };
    // The terminal may be gone. Then dropping this would say so to it, and panic.
    if terminal.show_cursor().is_err() {
        std::mem::forget(terminal);
    }
    let _ = ratatui::try_restore();
    result
}

struct Watcher {
    jobs: Vec<FoundJob>,
    /// The job that the user chose; else it is the first one, which lives if any does.
    chosen: Option<PathBuf>,
    /// What a dead one left, which is looked for once: that may mean to list a large directory.
    left: Option<(PathBuf, Leftovers)>,
    is_over: bool,
}

impl Watcher {
    fn new(jobs: Vec<FoundJob>) -> Watcher {
        Watcher { jobs, chosen: None, left: None, is_over: false }
    }

    /// Takes in new jobs and lets go of those that are over; the chosen one stays chosen.
    fn search(&mut self, place: &StatusDirectories, stop: &Stop) {
        let known = std::mem::take(&mut self.jobs);
        self.jobs = search(place, known, &|| stop.is_set()).jobs;
        if self.chosen.is_some()
            && !self.jobs.iter().any(|job| Some(job.prefix()) == self.chosen.as_deref())
        {
            self.chosen = None;
        }
    }

    /// What the jobs say now.
    fn refresh(&mut self) {
        self.jobs.iter_mut().for_each(FoundJob::refresh);
        let dead = self.jobs.get(self.index()).filter(|job| job.life() == Life::Dead);
        let is_known =
            |job: &FoundJob| self.left.as_ref().is_some_and(|(prefix, _)| prefix == job.prefix());
        match dead {
            Some(job) if is_known(job) => {}
            Some(job) => self.left = Some((job.prefix().to_owned(), leftovers(job))),
            None => self.left = None,
        }
    }

    fn screen(&self, has_colour: bool) -> Screen<'_> {
        static NOTHING: Leftovers = Leftovers { status: Vec::new(), hidden: Vec::new() };
        let left = self.left.as_ref().map_or(&NOTHING, |(_, left)| left);
        Screen { jobs: &self.jobs, chosen: self.index(), left, has_colour }
    }

    /// Where the shown job is in the list.
    fn index(&self) -> usize {
        let chosen = self.chosen.as_deref();
        chosen
            .and_then(|prefix| self.jobs.iter().position(|job| job.prefix() == prefix))
            .unwrap_or(0)
    }

    fn press(&mut self, key: Key) {
        let index = match key {
            Key::Quit => {
                self.is_over = true;
                return;
            }
            Key::Down => (self.index() + 1).min(self.jobs.len().saturating_sub(1)),
            Key::Up => self.index().saturating_sub(1),
        };
        self.chosen = self.jobs.get(index).map(|job| job.prefix().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use xsort_status::{FORMAT, Identity, Publisher, Snapshot};

    fn publish(place: &StatusDirectories, pid: u32) -> Publisher {
        let job = Identity { pid, started_unix_seconds: pid.into(), ..Identity::default() };
        let mut publisher = Publisher::open(place, pid).unwrap();
        publisher.publish(&Snapshot { format: FORMAT, job, ..Snapshot::default() }).unwrap();
        publisher
    }

    fn shown(watcher: &Watcher) -> &str {
        watcher.jobs[watcher.index()].name()
    }

    /// Who watches wants to see what is done, not the oldest of the killed jobs.
    #[test]
    fn a_job_that_lives_is_shown_before_the_dead_unless_one_of_them_is_chosen() {
        let home = tempfile::tempdir().unwrap();
        let home: OsString = home.path().into();
        let place = StatusDirectories::from_environment(move |name| {
            (name == "XSORT_STATUS_DIR").then(|| home.clone())
        });
        let stop = Stop::default();
        drop([1, 2].map(|pid| publish(&place, pid)));
        let mut watcher = Watcher::new(search(&place, Vec::new(), &|| false).jobs);
        watcher.refresh();
        assert_eq!((shown(&watcher), watcher.left.is_some()), ("1", true));
        let living = publish(&place, 3);
        watcher.search(&place, &stop);
        watcher.refresh();
        assert_eq!((shown(&watcher), watcher.left.is_some()), ("3", false));
        watcher.press(Key::Down);
        watcher.search(&place, &stop);
        assert_eq!(shown(&watcher), "1", "the user's choice stays");
        // Whose number is another's by now lives again.
        let again = publish(&place, 1);
        watcher.search(&place, &stop);
        assert_eq!(
            (shown(&watcher), watcher.jobs[0].life(), watcher.jobs[0].name()),
            ("1", Life::Running, "1")
        );
        again.end();
        watcher.search(&place, &stop);
        assert_eq!(shown(&watcher), "3", "what was chosen is gone");
        living.end();
        watcher.search(&place, &stop);
        assert_eq!((shown(&watcher), watcher.jobs.len()), ("2", 1));
    }
}
