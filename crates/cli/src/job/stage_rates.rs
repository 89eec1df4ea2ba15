//! How many threads of each stage worked and waited over the last second.

use std::collections::VecDeque;
use xsort_extsort::Stage as StageTimes;
use xsort_status::{Stage, Wait};

/// The number of readings to average: those of the last second.
const READINGS: usize = 11;

/// The stage times of the last second.
#[derive(Default)]
pub(super) struct StageRates {
    /// For each reading, the seconds since the job began and the stage times.
    readings: VecDeque<(f64, Vec<StageTimes>)>,
}

impl StageRates {
    /// Adds a reading. Returns the stages with their averages; empty after the first reading.
    pub(super) fn add(&mut self, seconds: f64, stages: &[StageTimes]) -> Vec<Stage> {
        if self.readings.len() == READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back((seconds, stages.to_vec()));
        if self.readings.len() < 2 {
            return Vec::new();
        }
        let (oldest_seconds, oldest) = self.readings.front().expect("pushed above");
        let span = (seconds - oldest_seconds).max(1e-3);
        let threads =
            |now: f64, before: Option<f64>| ((now - before.unwrap_or(0.0)) / span).max(0.0);
        let stage = |now: &StageTimes| {
            let old = oldest.iter().find(|stage| stage.name == now.name);
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
        stages.iter().map(stage).collect()
    }
}
