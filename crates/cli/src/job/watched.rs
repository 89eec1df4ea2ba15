//! What was seen of a job: its phases and stages, and figures over time. The report of the job has
//! it, and the page about it.

use serde::Serialize;
use std::sync::Arc;
use xsort_extsort::{Reading, Spans, Stage};

/// The number of samples kept. When there are more, every other one goes, and fewer are added.
const SAMPLES_MAX: usize = 512;

/// What was seen of a job until its end.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) phases: Vec<PhaseTimes>,
    pub(crate) stages: Vec<StageSum>,
    pub(crate) moved: MovedSum,
    /// Threads that worked; 0 if that is unknown.
    pub(crate) threads: usize,
    /// Seconds in which hot drives held transfers up.
    pub(crate) paused_seconds: f64,
    /// `None` unless the job is recorded.
    pub(crate) samples: Option<Vec<Sample>>,
    /// `None` unless the job is recorded.
    pub(crate) spans: Option<Arc<Spans>>,
}

/// When a phase began, and how long it took.
#[derive(Debug, Serialize)]
pub(crate) struct PhaseTimes {
    pub(crate) name: String,
    pub(crate) begin_seconds: f64,
    pub(crate) seconds: f64,
    /// Bytes that it worked through.
    pub(crate) bytes: u64,
}

/// The times of a stage, in seconds summed over its threads.
#[derive(Debug, Serialize)]
pub(crate) struct StageSum {
    name: &'static str,
    busy_seconds: f64,
    waits: Vec<WaitSum>,
}

#[derive(Debug, Serialize)]
struct WaitSum {
    on: &'static str,
    seconds: f64,
}

/// Bytes moved, and the seconds with a transfer under way. Zeros if transfers aren't counted.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct MovedSum {
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    busy_seconds: f64,
}

/// The figures of all pipelines that the job ran one after the other.
#[derive(Debug, Default)]
pub(super) struct StageSums {
    pub(super) stages: Vec<StageSum>,
    pub(super) moved: MovedSum,
    pub(super) threads: usize,
}

impl StageSums {
    /// Adds the last figures of a pipeline.
    pub(super) fn add(&mut self, reading: &Reading) {
        self.moved = self.moved_with(reading.moved);
        self.threads = self.threads.max(reading.frame.threads);
        for Stage { name, busy_seconds, waits } in &reading.stages {
            let wait = |&(on, seconds): &(&'static str, f64)| WaitSum { on, seconds };
            match self.stages.iter_mut().find(|stage| stage.name == *name) {
                Some(sum) => {
                    sum.busy_seconds += busy_seconds;
                    let pairs = sum.waits.iter_mut().zip(waits);
                    pairs.for_each(|(sum, (_, seconds))| sum.seconds += seconds);
                }
                None => self.stages.push(StageSum {
                    name,
                    busy_seconds: *busy_seconds,
                    waits: waits.iter().map(wait).collect(),
                }),
            }
        }
    }

    /// The bytes moved so far, with those of the current pipeline.
    pub(super) fn moved_with(&self, moved: xsort_extsort::records::Moved) -> MovedSum {
        MovedSum {
            read_bytes: self.moved.read_bytes + moved.read_bytes,
            written_bytes: self.moved.written_bytes + moved.written_bytes,
            busy_seconds: self.moved.busy_seconds + moved.busy_seconds,
        }
    }
}

/// Figures at one moment. Bytes are totals since the beginning, except those in scratch and memory.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    pub(crate) done_bytes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) scratch_bytes: u64,
    pub(crate) resident_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) celsius: Option<f64>,
    pub(crate) is_paused: bool,
}

/// Samples at even distances, at most `SAMPLES_MAX`.
#[derive(Debug, Default)]
pub(super) struct Samples {
    list: Vec<Sample>,
    /// Of this number of samples one is kept, a power of two; 0 means 1.
    one_in: u64,
    offered: u64,
}

impl Samples {
    pub(super) fn add(&mut self, sample: Sample) {
        self.one_in = self.one_in.max(1);
        if self.offered.is_multiple_of(self.one_in) {
            if self.list.len() == SAMPLES_MAX {
                let mut is_even = false;
                self.list.retain(|_| {
                    is_even = !is_even;
                    is_even
                });
                self.one_in *= 2;
            }
            self.list.push(sample);
        }
        self.offered += 1;
    }

    pub(super) fn list(&self) -> &[Sample] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_few_and_evenly_spread() {
        let mut samples = Samples::default();
        for number in 0..100_000_u64 {
            samples.add(Sample {
                seconds: number as f64,
                done_bytes: number,
                read_bytes: 0,
                written_bytes: 0,
                scratch_bytes: 0,
                resident_bytes: 0,
                celsius: None,
                is_paused: false,
            });
            assert!(samples.list().len() <= SAMPLES_MAX);
        }
        let steps: Vec<f64> =
            samples.list().windows(2).map(|pair| pair[1].seconds - pair[0].seconds).collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "{steps:?}");
        assert!(samples.list().len() > SAMPLES_MAX / 2 && samples.list()[0].seconds == 0.0);
    }
}
