//! Progress in words and figures: how far, how fast, how much longer.

use super::bar::BarFrame;
use super::state::{CurrentPhase, JobState};
use crate::decimal::{Decimal, span};
use xsort_status::Progress;

/// One line on how far a job is.
pub(super) fn position(state: &JobState) -> String {
    let (phase, progress) = state.progress();
    if phase.name.is_empty() { "it begins".into() } else { line(&phase, &progress, state.files()) }
}

/// The frame of the bar for a phase. If the size of the phase is unknown, the frame has no bar,
/// only figures about what is done.
pub(super) fn bar_frame(phase: &CurrentPhase, progress: &Progress, files: u64) -> BarFrame {
    let (name, done) = (phase.name.clone(), progress.phase_done_bytes);
    if phase.bytes == 0 {
        let is_anything_done = done > 0 || files > 0;
        let figures = if is_anything_done { done_and_rate(progress, files) } else { String::new() };
        return BarFrame { name, share: None, figures };
    }
    let (done_text, all) = (Decimal(done as f64), Decimal(phase.bytes as f64));
    let figures = format!("{done_text} of {all}  {}", rate_and_rest(progress));
    BarFrame { name, share: Some(done as f64 / phase.bytes as f64), figures }
}

fn line(phase: &CurrentPhase, progress: &Progress, files: u64) -> String {
    let CurrentPhase { name, bytes, .. } = phase;
    if *bytes == 0 {
        return format!("{name}: {}", done_and_rate(progress, files));
    }
    let percent = 100 * u128::from(progress.phase_done_bytes.min(*bytes)) / u128::from(*bytes);
    let rate_and_rest = rate_and_rest(progress);
    format!("{name}: {percent}% of {}, {rate_and_rest}", Decimal(*bytes as f64))
}

/// The amount done in a phase of unknown size, and its rate; counted in files if there are any.
fn done_and_rate(progress: &Progress, files: u64) -> String {
    let (done, seconds) = (progress.phase_done_bytes as f64, progress.phase_seconds.max(1e-3));
    match files {
        0 => format!("{}, {}/s", Decimal(done), Decimal(done / seconds)),
        _ => format!("{files} files, {}, {:.0} files/s", Decimal(done), files as f64 / seconds),
    }
}

/// The rate of the phase, and the time left of the whole job, worded as in `xsort status`.
fn rate_and_rest(progress: &Progress) -> String {
    let rate = progress.phase_done_bytes as f64 / progress.phase_seconds.max(1e-3);
    let left = match progress.seconds_left() {
        Some(left) => format!("{} left", span(left)),
        None => "unknown time left".into(),
    };
    format!("{}/s, {left}", Decimal(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(phase_done_bytes: u64, phase_seconds: f64, to_come_bytes: u64) -> Progress {
        Progress {
            done_bytes: phase_done_bytes,
            phase_done_bytes,
            phase_bytes: Some(8_000_000_000),
            to_come_bytes: Some(to_come_bytes),
            phase_seconds,
            seconds: phase_seconds,
        }
    }

    #[test]
    fn lines_say_how_far_and_how_fast() {
        let state = JobState::new(false);
        state.begin_phase("merge", 8_000_000_000);
        let phase = state.phase();
        let quarter = progress(2_000_000_000, 1.0, 0);
        assert_eq!(line(&phase, &quarter, 0), "merge: 25% of 8.00 GB, 2.00 GB/s, 3 s left");
        let nothing = progress(0, 1.0, 0);
        assert_eq!(line(&phase, &nothing, 0), "merge: 0% of 8.00 GB, 0 B/s, unknown time left");
        let frame = bar_frame(&phase, &quarter, 0);
        assert_eq!(
            (frame.share, &*frame.figures),
            (Some(0.25), "2.00 GB of 8.00 GB  2.00 GB/s, 3 s left")
        );
        state.begin_phase("merge", 0);
        let unknown = state.phase();
        assert_eq!(line(&unknown, &quarter, 0), "merge: 2.00 GB, 2.00 GB/s");
        let files = progress(2_000_000, 0.5, 0);
        assert_eq!(line(&unknown, &files, 500), "merge: 500 files, 2.00 MB, 1000 files/s");
        assert_eq!(bar_frame(&unknown, &nothing, 0).figures, "");
        let frame = bar_frame(&unknown, &files, 500);
        assert_eq!((frame.share, &*frame.figures), (None, "500 files, 2.00 MB, 1000 files/s"));
    }

    /// A regression test: the line once showed the time left of the phase.
    #[test]
    fn what_is_left_is_the_whole_jobs() {
        let state = JobState::new(false);
        state.begin_phase("form runs", 8_000_000_000);
        let progress = progress(2_000_000_000, 1.0, 8_000_000_000);
        let line = line(&state.phase(), &progress, 0);
        assert_eq!(line, "form runs: 25% of 8.00 GB, 2.00 GB/s, 7 s left");
    }
}
