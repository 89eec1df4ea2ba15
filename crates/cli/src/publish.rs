//! From the board to a snapshot in shared memory.

use crate::board::Board;
use crate::thermostat::{Pause, Sensors};
use rustix::param::page_size;
use rustix::process::getuid;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use xsort_extsort::{Reading, Stage as StageTimes};
use xsort_status::{
    Counts, DriveState, FORMAT, Identity, Memory, Phase, Publisher, RateHistory, Snapshot, Stage,
    StatusDirectories, Wait,
};

/// Words of the command line that are shown, and their bytes.
const ARGUMENTS_MAX: usize = 64;
const ARGUMENTS_BYTES_MAX: usize = 4096;

/// Readings that the averages over the last second are made of.
const READINGS: usize = 11;

/// What a job uses, for whoever watches it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    /// Directories and what for: "input", "scratch", "output".
    pub(crate) directories: Vec<(PathBuf, &'static str)>,
    /// Of these, where hidden files may be left if the job is killed.
    pub(crate) places: Vec<PathBuf>,
    /// Bytes a second, read and written together, if these are limited.
    pub(crate) limit_bytes_per_second: Option<u64>,
}

/// The status of one job.
pub(crate) struct Publication {
    identity: Identity,
    uses: Uses,
    sensors: Sensors,
    publisher: Option<Publisher>,
    pace: RateHistory,
    /// Seconds and stages of the last second.
    readings: VecDeque<(f64, Vec<StageTimes>)>,
}

impl Publication {
    /// Of the command that runs in this process; `None` if it is not to be published
    /// (`XSORT_STATUS=off`).
    pub(crate) fn new(command: &str, uses: Uses) -> Option<Publication> {
        let is_off =
            std::env::var_os("XSORT_STATUS").is_some_and(|value| value == "off" || value == "0");
        if is_off {
            return None;
        }
        // What is dear to find out is found out when there is something to publish.
        let identity = Identity {
            command: command.into(),
            started_unix_seconds: unix_seconds(),
            pid: std::process::id(),
            ..Identity::default()
        };
        Some(Publication {
            identity,
            uses,
            sensors: Sensors::default(),
            publisher: None,
            pace: RateHistory::default(),
            readings: VecDeque::new(),
        })
    }

    /// Shows what is now.
    ///
    /// # Errors
    /// If there is no place for it. Then nothing of it stays.
    pub(crate) fn publish(&mut self, board: &Board, pause: Option<Pause>) -> Result<(), String> {
        if self.publisher.is_none() {
            self.publisher = Some(Publisher::open(
                &StatusDirectories::from_environment(|name| std::env::var_os(name)),
                self.identity.pid,
            )?);
            self.identify();
        }
        let snapshot = self.snapshot(board, pause);
        self.publisher.as_mut().expect("made above").publish(&snapshot)
    }

    /// The job is over.
    pub(crate) fn end(self) {
        if let Some(publisher) = self.publisher {
            publisher.end();
        }
    }

    fn identify(&mut self) {
        let identity = &mut self.identity;
        let mut bytes = 0;
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let fits = |word: &String| {
            bytes += word.len();
            bytes <= ARGUMENTS_BYTES_MAX
        };
        identity.arguments = words.take(ARGUMENTS_MAX).take_while(fits).collect();
        if identity.arguments.len() < std::env::args_os().len() {
            identity.arguments.push("...".into());
        }
        let uid = getuid().as_raw();
        (identity.uid, identity.user) = (uid, user_name(uid).unwrap_or_else(|| uid.to_string()));
        let directory = std::env::current_dir().unwrap_or_default();
        identity.directory = directory.display().to_string();
        identity.version = env!("CARGO_PKG_VERSION").into();
        for (path, _) in &mut self.uses.directories {
            *path = absolute(&directory, path);
        }
        for path in &mut self.uses.places {
            *path = absolute(&directory, path);
        }
    }

    fn snapshot(&mut self, board: &Board, pause: Option<Pause>) -> Snapshot {
        let (phase, progress) = board.progress();
        let reading = board.read().unwrap_or_default();
        self.pace.add(progress.seconds, progress.done_bytes);
        let (curve, curve_step_seconds) = self.pace.curve();
        let stages = self.stages(progress.seconds, &reading);
        let pause = pause.unwrap_or_default();
        Snapshot {
            format: FORMAT,
            job: self.identity.clone(),
            taken_unix_seconds: unix_seconds(),
            seconds: progress.seconds,
            share_done: progress.share_done(),
            seconds_left: progress.seconds_left(),
            bytes_per_second_now: self.pace.now(),
            bytes_per_second_mean: progress.mean(),
            curve,
            curve_step_seconds,
            record_bytes: reading.frame.record_bytes,
            threads: reading.frame.threads as u64,
            stages,
            read_bytes: reading.moved.read_bytes,
            written_bytes: reading.moved.written_bytes,
            counts: Counts {
                chunks: reading.chunks,
                chunks_all: reading.frame.chunks,
                parts: reading.parts,
                files: board.files(),
            },
            memory: Memory {
                resident_bytes: resident_bytes(),
                budget_bytes: reading.frame.budget_bytes,
            },
            drives: self.drives(&reading),
            is_paused: pause.is_paused,
            limit_celsius: pause.limit_celsius,
            limit_bytes_per_second: self.uses.limit_bytes_per_second,
            resume_celsius: pause.resume_celsius,
            places: self.uses.places.iter().map(|path| path.display().to_string()).collect(),
            notices: board.notices(),
            phase: Phase {
                name: phase.name,
                number: phase.number,
                done_bytes: progress.phase_done_bytes,
                bytes: phase.bytes,
                seconds: progress.phase_seconds,
            },
        }
    }

    /// The stages, with what they did over the last second.
    fn stages(&mut self, seconds: f64, reading: &Reading) -> Vec<Stage> {
        if self.readings.len() == READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back((seconds, reading.stages.clone()));
        let (then, before) = self.readings.front().expect("pushed above");
        let span = (seconds - then).max(1e-3);
        let threads =
            |now: f64, before: Option<f64>| ((now - before.unwrap_or(0.0)) / span).max(0.0);
        let stage = |now: &StageTimes| {
            let old = before.iter().find(|stage| stage.name == now.name);
            let waits = now.waits.iter().enumerate().map(|(number, (on, seconds))| Wait {
                on: (*on).into(),
                seconds: *seconds,
                threads: threads(*seconds, old.map(|old| old.waits[number].1)),
            });
            Stage {
                name: now.name.into(),
                busy_seconds: now.busy_seconds,
                busy_threads: threads(now.busy_seconds, old.map(|old| old.busy_seconds)),
                waits: waits.collect(),
            }
        };
        // With a single reading there is no last second to speak of.
        if self.readings.len() < 2 {
            return Vec::new();
        }
        reading.stages.iter().map(stage).collect()
    }

    /// The directories that the job uses, each once, and what is known of their drives.
    fn drives(&mut self, reading: &Reading) -> Vec<DriveState> {
        let working = Path::new(&self.identity.directory);
        let scratch = reading
            .scratch
            .iter()
            .map(|(path, bytes)| (absolute(working, path), "scratch", *bytes));
        let named = self.uses.directories.iter().map(|(path, role)| (path.clone(), *role, 0));
        let mut drives: Vec<(PathBuf, Vec<&str>, u64)> = Vec::new();
        for (path, role, bytes) in scratch.chain(named) {
            match drives.iter_mut().find(|(known, ..)| *known == path) {
                Some((_, roles, _)) if roles.contains(&role) => {}
                Some((_, roles, _)) => roles.push(role),
                None => drives.push((path, vec![role], bytes)),
            }
        }
        let state = |(path, roles, scratch_bytes): (PathBuf, Vec<&str>, u64)| {
            let (device, celsius) = self.sensors.look(&path).unzip();
            let path = path.display().to_string();
            DriveState {
                path,
                role: roles.join(", "),
                scratch_bytes,
                device,
                celsius: celsius.flatten(),
            }
        };
        drives.into_iter().map(state).collect()
    }
}

fn absolute(directory: &Path, path: &Path) -> PathBuf {
    // Without dots where that can be.
    let joined = directory.join(path);
    joined.canonicalize().unwrap_or(joined)
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// What the process holds now.
fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * page_size() as u64
}

/// The name of a user of this machine, from the file: what a network knows of users is not asked.
fn user_name(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let uid = uid.to_string();
    let line = users.lines().find(|line| line.split(':').nth(2) == Some(&uid))?;
    line.split(':').next().map(str::to_owned)
}
