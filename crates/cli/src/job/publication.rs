//! The state of a job as a snapshot in shared memory.

use super::command_line::arguments;
use super::drives::JobPlaces;
use super::sensors::Sensors;
use super::stage_rates::StageRates;
use super::state::JobState;
use super::thermostat::PauseState;
use rustix::param::page_size;
use rustix::process::getuid;
use std::env;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use xsort_extsort::Compressed;
use xsort_objects::{UploadUnderWay, uploads_under_way};
use xsort_status::{
    Counts, FORMAT, Identity, Memory, Phase, Publisher, RateHistory, Snapshot, Spilled,
    StatusDirectories, Upload,
};

/// The limit on published words of the command line; the next constant limits their bytes.
const ARGUMENTS_MAX: usize = 64;
const ARGUMENTS_BYTES_MAX: usize = 4096;

/// The published status of one job.
pub(super) struct Publication {
    identity: Identity,
    places: JobPlaces,
    sensors: Sensors,
    publisher: Option<Publisher>,
    rates: RateHistory,
    stage_rates: StageRates,
}

impl Publication {
    /// The status of the command that runs in this process; `None` if it must not be published
    /// (`XSORT_STATUS=off`).
    pub(super) fn new(command: &str, places: JobPlaces) -> Option<Publication> {
        let is_off =
            env::var_os("XSORT_STATUS").is_some_and(|value| value == "off" || value == "0");
        if is_off {
            return None;
        }
        // The rest of the identity takes time to find out. It is added at the first publication.
        let identity = Identity {
            command: command.into(),
            started_unix_seconds: unix_seconds(),
            pid: std::process::id(),
            ..Identity::default()
        };
        Some(Publication {
            identity,
            places,
            sensors: Sensors::default(),
            publisher: None,
            rates: RateHistory::default(),
            stage_rates: StageRates::default(),
        })
    }

    /// Publishes the present state.
    ///
    /// # Errors
    /// If no directory has space for it. Then no file is left.
    pub(super) fn publish(
        &mut self,
        state: &JobState,
        pause: Option<PauseState>,
    ) -> Result<(), String> {
        if self.publisher.is_none() {
            let directories = StatusDirectories::from_environment(|name| env::var_os(name));
            self.publisher = Some(Publisher::open(&directories, self.identity.pid)?);
            self.complete_identity();
        }
        let snapshot = self.snapshot(state, pause);
        let degrees = snapshot.drives.iter().filter_map(|drive| drive.celsius);
        state.set_celsius(degrees.reduce(f64::max));
        self.publisher.as_mut().expect("opened above").publish(&snapshot)
    }

    /// Removes the published status at the end of the job.
    pub(super) fn end(self) {
        if let Some(publisher) = self.publisher {
            publisher.end();
        }
    }

    fn complete_identity(&mut self) {
        let identity = &mut self.identity;
        identity.arguments = arguments(ARGUMENTS_MAX, ARGUMENTS_BYTES_MAX);
        let uid = getuid().as_raw();
        (identity.uid, identity.user) = (uid, user_name(uid).unwrap_or_else(|| uid.to_string()));
        let working = env::current_dir().unwrap_or_default();
        identity.directory = working.display().to_string();
        identity.version = env!("CARGO_PKG_VERSION").into();
        self.places.make_absolute(&working);
    }

    fn snapshot(&mut self, state: &JobState, pause: Option<PauseState>) -> Snapshot {
        let (phase, progress) = state.progress();
        let reading = state.read_gauges().unwrap_or_default();
        self.rates.add(progress.seconds, progress.done_bytes);
        let (curve, curve_step_seconds) = self.rates.curve();
        let pause = pause.unwrap_or_default();
        let working = Path::new(&self.identity.directory);
        let hidden_file_directories = self.places.hidden_file_directories.iter();
        Snapshot {
            format: FORMAT,
            job: self.identity.clone(),
            taken_unix_seconds: unix_seconds(),
            seconds: progress.seconds,
            share_done: progress.share_done(),
            seconds_left: progress.seconds_left(),
            bytes_per_second_now: self.rates.now(),
            bytes_per_second_mean: progress.mean(),
            curve,
            curve_step_seconds,
            record_bytes: reading.frame.record_bytes,
            threads: reading.frame.threads as u64,
            stages: self.stage_rates.add(progress.seconds, &reading.stages),
            read_bytes: reading.moved.read_bytes,
            written_bytes: reading.moved.written_bytes,
            counts: Counts {
                chunks: reading.chunks,
                chunks_all: reading.frame.chunks,
                parts: reading.parts,
                files: state.files(),
            },
            memory: Memory {
                resident_bytes: resident_bytes(),
                budget_bytes: reading.frame.budget_bytes,
            },
            spilled: spilled(reading.spilled),
            drives: self.places.drives(working, &reading, &mut self.sensors),
            is_paused: pause.is_paused,
            limit_celsius: pause.limit_celsius,
            limit_bytes_per_second: self.places.limit_bytes_per_second,
            resume_celsius: pause.resume_celsius,
            uploads: uploads_under_way().into_iter().map(upload).collect(),
            places: hidden_file_directories.map(|path| path.display().to_string()).collect(),
            notices: state.notices(),
            phase: Phase {
                name: phase.name,
                number: phase.number,
                done_bytes: progress.phase_done_bytes,
                bytes: phase.bytes,
                seconds: progress.phase_seconds,
            },
        }
    }
}

fn spilled(reading: xsort_extsort::Spilled) -> Spilled {
    let xsort_extsort::Spilled { bytes, scratch_bytes, compressed } = reading;
    let Compressed { lz4_bytes, zstd_bytes } = compressed;
    Spilled { bytes, scratch_bytes, lz4_bytes, zstd_bytes }
}

fn upload(of: UploadUnderWay) -> Upload {
    let UploadUnderWay { object, upload, is_resumable } = of;
    // Another process needs this URL to abort the upload. A bucket's URL has no secrets.
    Upload { url: object.text(), upload, is_resumable }
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The resident set size of this process in bytes.
pub(super) fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * page_size() as u64
}

/// A user's name from /etc/passwd. Directory services are not queried: they may take seconds.
fn user_name(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let uid = uid.to_string();
    let line = users.lines().find(|line| line.split(':').nth(2) == Some(&uid))?;
    line.split(':').next().map(str::to_owned)
}
