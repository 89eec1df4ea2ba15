//! Rates and ends, by a clock that is an argument.

use xsort_status::{CURVE_POINTS_MAX, Progress, RateHistory};

#[test]
fn now_is_the_last_two_seconds() {
    let mut pace = RateHistory::default();
    for tenth in 0..=100 {
        let seconds = f64::from(tenth) / 10.0;
        // 100 bytes a second, and 1,000 from the fifth second on.
        let bytes = if seconds <= 5.0 { 100.0 * seconds } else { 500.0 + 1000.0 * (seconds - 5.0) };
        pace.add(seconds, bytes as u64);
    }
    assert!((pace.now() - 1000.0).abs() < 10.0, "{}", pace.now());
}

#[test]
fn a_curve_covers_the_whole_life_in_a_bounded_number_of_points() {
    let mut pace = RateHistory::default();
    for tenth in 0..100_000u64 {
        pace.add(tenth as f64 / 10.0, tenth * 10);
    }
    let (curve, step) = pace.curve();
    assert!(curve.len() <= CURVE_POINTS_MAX && curve.len() > CURVE_POINTS_MAX / 3);
    assert!(
        (curve.len() as f64 * step - 10_000.0).abs() <= step,
        "{} steps of {step}",
        curve.len()
    );
    let bytes: f64 = curve.iter().map(|rate| rate * step).sum();
    assert!((bytes - 1e6).abs() < 1e6 * 0.02, "{bytes}");
    assert!(curve.iter().all(|rate| (rate - 100.0).abs() < 5.0), "{curve:?}");
}

#[test]
fn the_end_is_foreseen_over_all_phases() {
    let progress = Progress {
        done_bytes: 1500,
        phase_done_bytes: 500,
        phase_bytes: Some(1000),
        to_come_bytes: Some(300),
        phase_seconds: 10.0,
        seconds: 15.0,
    };
    // 500 at 50 a second, and 300 at 100.
    assert_eq!(progress.seconds_left(), Some(13.0));
    assert_eq!(progress.share_done(), Some(1500.0 / 2300.0));
    let unknown = Progress { phase_bytes: None, ..progress };
    assert_eq!((unknown.seconds_left(), unknown.share_done()), (None, None));
    let begun = Progress { done_bytes: 0, phase_done_bytes: 0, ..progress };
    assert_eq!(begun.seconds_left(), None, "nothing is known of a rate");
    let done = Progress { phase_done_bytes: 1000, to_come_bytes: Some(0), ..progress };
    assert_eq!(done.seconds_left(), Some(0.0));
}
