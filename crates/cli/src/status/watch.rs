//! The full screen, updated until the user quits.

use super::clearing::Clearing;
use super::keyboard::{Key, Keyboard, KeyboardEvent};
use super::screen::Screen;
use super::selection::select_jobs;
use crate::exit::Failure;
use crate::output::allows_colour;
use crate::signals::Stop;
use ratatui::DefaultTerminal;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use xsort_status::{FoundJob, Leftovers, Life, StatusDirectories, leftovers, search};

/// The time between two frames, which is also that between two snapshots of a job.
const FRAME: Duration = Duration::from_millis(100);
/// A lower priority than that of the jobs.
const NICENESS: i32 = 10;
/// How often new jobs are searched for.
const SEARCH: Duration = Duration::from_millis(500);

/// Watches all jobs, or the job of this name, until the user quits or the terminal is gone.
pub(super) fn watch(
    directories: &StatusDirectories,
    name: Option<&str>,
    stop: &Stop,
) -> Result<(), Failure> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "--watch needs a terminal; --json is for everything else".into(),
        ));
    }
    let watcher = Watcher::new(select_jobs(directories, name, stop)?);
    // Many users may watch on a busy machine, and jobs come first. A refusal does no harm.
    let _ = rustix::process::nice(NICENESS);
    // It also has a panic restore the terminal.
    let mut terminal = ratatui::try_init().map_err(broken)?;
    let directories = name.is_none().then_some(directories);
    let result = watcher.run(&mut terminal, directories, stop);
    // Dropping it shows the cursor. If the terminal is gone, that would print an error and panic.
    if terminal.show_cursor().is_err() {
        std::mem::forget(terminal);
    }
    let _ = ratatui::try_restore();
    result
}

fn broken(source: io::Error) -> Failure {
    Failure::File { what: "terminal".into(), source }
}

struct Watcher {
    jobs: Vec<FoundJob>,
    /// The job that the user chose. Without a choice, the first job is shown, which is a running
    /// one if there is any.
    chosen: Option<PathBuf>,
    /// What the chosen job left, if it is dead. It is searched for only once, because a large
    /// directory may have to be listed.
    leftovers: Option<(PathBuf, Leftovers)>,
    clearing: Clearing,
    shows_keys: bool,
    is_over: bool,
}

impl Watcher {
    fn new(jobs: Vec<FoundJob>) -> Watcher {
        let clearing = Clearing::default();
        Watcher { jobs, chosen: None, leftovers: None, clearing, shows_keys: false, is_over: false }
    }

    /// Draws and obeys keys until the user quits. Searches `directories`, if given, for new jobs.
    fn run(
        mut self,
        terminal: &mut DefaultTerminal,
        directories: Option<&StatusDirectories>,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let has_colour = allows_colour();
        let mut keyboard = Keyboard::default();
        let mut searched = Instant::now();
        loop {
            if let Some(directories) = directories
                && searched.elapsed() >= SEARCH
            {
                self.search(directories, stop);
                // Measured from the end: searching many thousands of jobs may take longer than the
                // period.
                searched = Instant::now();
            }
            self.refresh();
            let screen = self.screen(has_colour);
            // A new size of the terminal takes effect in the next frame.
            terminal.draw(|frame| screen.draw(frame)).map_err(broken)?;
            match keyboard.next_event(io::stdin(), FRAME).map_err(broken)? {
                KeyboardEvent::Keys(keys) => keys.into_iter().for_each(|key| self.press(key)),
                KeyboardEvent::Nothing => {}
                KeyboardEvent::HungUp => self.is_over = true,
            }
            if stop.is_set() {
                return Err(Failure::Stopped { so_far: "" });
            }
            if self.is_over {
                return Ok(());
            }
        }
    }

    /// Adds new jobs and removes those that are over. The chosen job stays chosen.
    fn search(&mut self, directories: &StatusDirectories, stop: &Stop) {
        let known = std::mem::take(&mut self.jobs);
        self.jobs = search(directories, known, &|| stop.is_set()).jobs;
        if self.chosen.is_some()
            && !self.jobs.iter().any(|job| Some(job.prefix()) == self.chosen.as_deref())
        {
            self.chosen = None;
        }
    }

    /// Reads the jobs' snapshots again.
    fn refresh(&mut self) {
        self.jobs.iter_mut().for_each(FoundJob::refresh);
        let dead = self.jobs.get(self.index()).filter(|job| job.life() == Life::Dead);
        let is_known = |job: &FoundJob| {
            self.leftovers.as_ref().is_some_and(|(prefix, _)| prefix == job.prefix())
        };
        match dead {
            Some(job) if is_known(job) => {}
            Some(job) => self.leftovers = Some((job.prefix().to_owned(), leftovers(job))),
            None => self.leftovers = None,
        }
    }

    fn screen(&self, has_colour: bool) -> Screen<'_> {
        static NOTHING: Leftovers =
            Leftovers { status: Vec::new(), hidden: Vec::new(), uploads: Vec::new() };
        let leftovers = self.leftovers.as_ref().map_or(&NOTHING, |(_, leftovers)| leftovers);
        Screen {
            jobs: &self.jobs,
            chosen: self.index(),
            leftovers,
            message: &self.clearing.message,
            shows_keys: self.shows_keys,
            has_colour,
        }
    }

    /// The index of the job that is shown.
    fn index(&self) -> usize {
        let chosen = self.chosen.as_deref();
        chosen
            .and_then(|prefix| self.jobs.iter().position(|job| job.prefix() == prefix))
            .unwrap_or(0)
    }

    fn press(&mut self, key: Key) {
        let index = self.index();
        self.clearing.press(key, &self.jobs, index);
        match key {
            Key::Quit => self.is_over = true,
            Key::Down => self.choose((index + 1).min(self.jobs.len().saturating_sub(1))),
            Key::Up => self.choose(index.saturating_sub(1)),
            Key::Help => self.shows_keys = !self.shows_keys,
            Key::Clear | Key::ClearAll => {}
        }
    }

    fn choose(&mut self, index: usize) {
        self.chosen = self.jobs.get(index).map(|job| job.prefix().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use xsort_status::{FORMAT, Identity, Publisher, Snapshot};

    fn publish(directories: &StatusDirectories, pid: u32) -> Publisher {
        let job = Identity { pid, started_unix_seconds: pid.into(), ..Identity::default() };
        let mut publisher = Publisher::open(directories, pid).unwrap();
        publisher.publish(&Snapshot { format: FORMAT, job, ..Snapshot::default() }).unwrap();
        publisher
    }

    fn directories_in(home: &Path) -> StatusDirectories {
        StatusDirectories::from_environment(|name| {
            (name == "XSORT_STATUS_DIR").then(|| home.as_os_str().to_owned())
        })
    }

    fn shown(watcher: &Watcher) -> &str {
        watcher.jobs[watcher.index()].name()
    }

    /// Users want to see what is running, not the oldest of the killed jobs.
    #[test]
    fn a_job_that_lives_is_shown_before_the_dead_unless_one_of_them_is_chosen() {
        let home = tempfile::tempdir().unwrap();
        let directories = directories_in(home.path());
        let stop = Stop::default();
        drop([1, 2].map(|pid| publish(&directories, pid)));
        let mut watcher = Watcher::new(search(&directories, Vec::new(), &|| false).jobs);
        watcher.refresh();
        assert_eq!((shown(&watcher), watcher.leftovers.is_some()), ("1", true));
        let living = publish(&directories, 3);
        watcher.search(&directories, &stop);
        watcher.refresh();
        assert_eq!((shown(&watcher), watcher.leftovers.is_some()), ("3", false));
        watcher.press(Key::Down);
        watcher.search(&directories, &stop);
        assert_eq!(shown(&watcher), "1", "the user's choice stays");
        // Another job with the chosen job's process ID.
        let again = publish(&directories, 1);
        watcher.search(&directories, &stop);
        assert_eq!(
            (shown(&watcher), watcher.jobs[0].life(), watcher.jobs[0].name()),
            ("1", Life::Running, "1")
        );
        again.end();
        watcher.search(&directories, &stop);
        assert_eq!(shown(&watcher), "3", "the chosen job is gone");
        living.end();
        watcher.search(&directories, &stop);
        assert_eq!((shown(&watcher), watcher.jobs.len()), ("2", 1));
    }

    #[test]
    fn a_dead_job_is_cleared_by_a_key_that_is_pressed_twice_and_a_living_one_never() {
        let home = tempfile::tempdir().unwrap();
        let directories = directories_in(home.path());
        let files = |name: &str| {
            let entries = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap());
            entries.filter(|entry| entry.file_name().to_str().unwrap().starts_with(name)).count()
        };
        let living = publish(&directories, 3);
        drop([1, 2].map(|pid| publish(&directories, pid)));
        let mut watcher = Watcher::new(search(&directories, Vec::new(), &|| false).jobs);
        watcher.refresh();
        for key in [Key::Clear, Key::Clear] {
            watcher.press(key);
            assert_eq!(watcher.clearing.message, "only dead jobs are cleared");
        }
        watcher.press(Key::Down);
        assert_eq!(shown(&watcher), "1");
        // Pressed once, and with other keys in between.
        for key in [Key::Clear, Key::Help, Key::Clear, Key::ClearAll, Key::Clear] {
            watcher.press(key);
        }
        assert!(watcher.clearing.message.starts_with("c again clears job 1: removes its status"));
        assert_eq!([files("1."), files("2."), files("3.")].map(|files| files > 0), [true; 3]);
        watcher.press(Key::Clear);
        assert!(watcher.clearing.message.ends_with(" files removed"));
        assert_eq!((files("1."), files("2.") > 0), (0, true));
        watcher.search(&directories, &Stop::default());
        watcher.press(Key::ClearAll);
        assert_eq!(watcher.clearing.message, "C again clears all dead jobs: 1");
        watcher.press(Key::ClearAll);
        assert_eq!((files("2."), files("3.") > 0), (0, true));
        watcher.search(&directories, &Stop::default());
        watcher.press(Key::ClearAll);
        assert_eq!(watcher.clearing.message, "no job is dead");
        living.end();
    }
}
