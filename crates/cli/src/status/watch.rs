//! The full screen, kept up to date until the user has seen enough.

use super::view::Screen;
use crate::exit::Failure;
use crate::signals::Stop;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};
use xsort_extsort::Error;
use xsort_status::{Found, Life, Place, find};

/// As often as jobs publish.
const FRAME: Duration = Duration::from_millis(100);
/// Less urgent than what is watched.
const NICENESS: i32 = 10;
/// How often it is looked whether there are other jobs.
const SEARCH: Duration = Duration::from_millis(500);

/// Watches all jobs, or the one that is named, until it is told to end.
pub(super) fn watch(place: &Place, name: Option<&str>, stop: &Stop) -> Result<(), Failure> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Failure::Usage("--watch needs a terminal; --json is for everything else".into()));
    }
    let mut watcher = Watcher { jobs: super::chosen(place, name)?, chosen: 0, is_over: false };
    let has_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let broken = |source| Failure::File { what: "terminal".into(), source };
    // Many may watch on a machine that is busy: the jobs go first. If it is refused, nothing is lost.
    let _ = rustix::process::nice(NICENESS);
    // Also has a panic restore the terminal.
    let mut terminal = ratatui::try_init().map_err(broken)?;
    let mut searched = Instant::now();
    let result = loop {
        if searched.elapsed() >= SEARCH && name.is_none() {
            searched = Instant::now();
            watcher.search(place);
        }
        watcher.jobs.iter_mut().for_each(Found::refresh);
        let screen = Screen { jobs: &watcher.jobs, chosen: watcher.chosen, has_colour };
        let drawn = terminal.draw(|frame| screen.draw(frame)).map(drop);
        if let Err(error) = drawn.and_then(|()| watcher.listen()) {
            break Err(broken(error));
        }
        if stop.is_set() {
            break Err(Failure::Job(Error::Cancelled));
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
    jobs: Vec<Found>,
    chosen: usize,
    is_over: bool,
}

impl Watcher {
    /// Takes in new jobs and lets go of those that are over; the chosen one stays chosen.
    fn search(&mut self, place: &Place) {
        let chosen = self.jobs.get(self.chosen).map(|job| job.prefix().to_owned());
        self.jobs = find(place);
        self.jobs.retain(|job| job.life() != Life::Over);
        let again = chosen.and_then(|prefix| self.jobs.iter().position(|job| job.prefix() == prefix));
        self.chosen = again.unwrap_or_else(|| self.chosen.min(self.jobs.len().saturating_sub(1)));
    }

    /// Waits for keys until the next frame.
    fn listen(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        while let Some(left) = FRAME.checked_sub(begun.elapsed()) {
            match wait_for_key(left) {
                Ok(Waited::Key) => {}
                Ok(Waited::Nothing) => break,
                Ok(Waited::HungUp) => {
                    self.is_over = true;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => break,
                Err(error) => return Err(error),
            }
            if !event::poll(Duration::ZERO)? {
                continue;
            }
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => self.press(key),
                // Drawn anew at once.
                Event::Resize(..) => break,
                _ => {}
            }
            if self.is_over {
                break;
            }
        }
        Ok(())
    }

    fn press(&mut self, key: KeyEvent) {
        let is_control_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => self.is_over = true,
            _ if is_control_c => self.is_over = true,
            KeyCode::Down | KeyCode::Char('j') => {
                self.chosen = (self.chosen + 1).min(self.jobs.len().saturating_sub(1));
            }
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            _ => {}
        }
    }
}

enum Waited {
    Key,
    Nothing,
    /// The terminal is gone.
    HungUp,
}

/// Waits for a key on standard input, no longer than that. Crossterm's own wait never ends once the terminal is gone, at full speed.
fn wait_for_key(longest: Duration) -> io::Result<Waited> {
    let stdin = io::stdin();
    let mut looked = [PollFd::new(&stdin, PollFlags::IN)];
    let longest = Timespec::try_from(longest).expect("a frame is short");
    rustix::event::poll(&mut looked, Some(&longest))?;
    let found = looked[0].revents();
    Ok(if found.intersects(PollFlags::HUP | PollFlags::ERR) {
        Waited::HungUp
    } else if found.contains(PollFlags::IN) {
        Waited::Key
    } else {
        Waited::Nothing
    })
}
