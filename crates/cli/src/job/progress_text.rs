//! Progress in words and figures: how far, how fast, how much longer.

use super::bar::BarFrame;
use super::state::{CurrentPhase, JobState};
use crate::decimal::Decimal;

/// One line about where a job is.
pub(super) fn position(state: &JobState) -> String {
    let phase = state.phase();
    if phase.name.is_empty() {
        return "it begins".into();
    }
    let seconds = phase.began.elapsed().as_secs_f64();
    phase_line(&phase, state.done_bytes(), state.files(), seconds)
}

/// A phase as a bar. If its size is unknown there is no bar, but figures about what is done.
pub(super) fn bar_frame(phase: CurrentPhase, done: u64, files: u64, seconds: f64) -> BarFrame {
    let CurrentPhase { name, bytes, .. } = phase;
    if bytes == 0 {
        let is_anything_done = done > 0 || files > 0;
        let figures =
            if is_anything_done { done_and_rate(done, files, seconds) } else { String::new() };
        return BarFrame { name, share: None, figures };
    }
    let (done_text, all) = (Decimal(done as f64), Decimal(bytes as f64));
    let figures = format!("{done_text} of {all}  {}", rate_and_rest(bytes, done, seconds));
    BarFrame { name, share: Some(done as f64 / bytes as f64), figures }
}

fn phase_line(phase: &CurrentPhase, done: u64, files: u64, seconds: f64) -> String {
    if phase.bytes == 0 {
        return format!("{}: {}", phase.name, done_and_rate(done, files, seconds));
    }
    let percent = 100 * u128::from(done.min(phase.bytes)) / u128::from(phase.bytes.max(1));
    let rate_and_rest = rate_and_rest(phase.bytes, done, seconds);
    format!("{}: {percent}% of {}, {rate_and_rest}", phase.name, Decimal(phase.bytes as f64))
}

/// What is done of a phase whose size is unknown, and how fast; counted in files if there are any.
fn done_and_rate(done: u64, files: u64, seconds: f64) -> String {
    let seconds = seconds.max(1e-3);
    match files {
        0 => format!("{}, {}/s", Decimal(done as f64), Decimal(done as f64 / seconds)),
        _ => format!(
            "{files} files, {}, {:.0} files/s",
            Decimal(done as f64),
            files as f64 / seconds
        ),
    }
}

fn rate_and_rest(bytes: u64, done: u64, seconds: f64) -> String {
    let rate = done as f64 / seconds.max(1e-3);
    let left = match bytes.saturating_sub(done) as f64 / rate {
        left if left.is_finite() => format!("{left:.0} s left"),
        _ => "unknown time left".into(),
    };
    format!("{}/s, {left}", Decimal(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_and_how_fast() {
        let state = JobState::new();
        state.begin_phase("merge", 8_000_000_000);
        let phase = state.phase();
        assert_eq!(
            phase_line(&phase, 2_000_000_000, 0, 1.0),
            "merge: 25% of 8.00 GB, 2.00 GB/s, 3 s left"
        );
        assert_eq!(phase_line(&phase, 0, 0, 1.0), "merge: 0% of 8.00 GB, 0 B/s, unknown time left");
        let frame = bar_frame(phase, 2_000_000_000, 0, 1.0);
        assert_eq!(
            (frame.share, &*frame.figures),
            (Some(0.25), "2.00 GB of 8.00 GB  2.00 GB/s, 3 s left")
        );
        state.begin_phase("merge", 0);
        let unknown = state.phase();
        assert_eq!(phase_line(&unknown, 2_000_000_000, 0, 1.0), "merge: 2.00 GB, 2.00 GB/s");
        assert_eq!(
            phase_line(&unknown, 2_000_000, 500, 0.5),
            "merge: 500 files, 2.00 MB, 1000 files/s"
        );
        assert_eq!(bar_frame(unknown.clone(), 0, 0, 0.5).figures, "");
        let frame = bar_frame(unknown, 2_000_000, 500, 0.5);
        assert_eq!((frame.share, &*frame.figures), (None, "500 files, 2.00 MB, 1000 files/s"));
    }
}
