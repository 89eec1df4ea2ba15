//! Any bytes are read without harm, and what was written comes back.

use crate::snapshot;
use proptest::prelude::*;
use xsort_status::{DriveState, FORMAT, ParseError, SNAPSHOT_BYTES_MAX, Snapshot, Stage, Wait};

fn full() -> Snapshot {
    let waits = vec![Wait { on: "write".into(), seconds: 1.5, threads: 0.25 }];
    let drive = DriveState {
        path: "/scratch".into(),
        role: "scratch".into(),
        scratch_bytes: 1 << 40,
        device: Some("nvme0n1".into()),
        celsius: Some(-3.5),
    };
    Snapshot {
        share_done: Some(0.5),
        curve: vec![1.0, 2.5],
        stages: vec![Stage { name: "sort".into(), busy_seconds: 1.0, busy_threads: 2.0, waits }],
        drives: vec![drive],
        notices: vec!["größer".into()],
        ..snapshot(42)
    }
}

#[test]
fn what_is_written_is_read() {
    assert_eq!(Snapshot::parse(&full().to_bytes()).unwrap(), full());
}

#[test]
fn fields_that_a_later_program_adds_are_no_trouble() {
    let mut value: serde_json::Value = serde_json::from_slice(&full().to_bytes()).unwrap();
    value["novelty"] = serde_json::json!({"deep": [1, 2, 3]});
    assert_eq!(Snapshot::parse(&serde_json::to_vec(&value).unwrap()).unwrap(), full());
}

#[test]
fn another_format_is_told_from_nonsense() {
    let other = br#"{"format": 99, "anything": []}"#;
    assert!(matches!(Snapshot::parse(other), Err(ParseError::OtherFormat { found: 99 })));
    assert!(matches!(Snapshot::parse(b"{}"), Err(ParseError::Malformed(_))));
    let long = vec![b' '; SNAPSHOT_BYTES_MAX + 1];
    assert!(matches!(Snapshot::parse(&long), Err(ParseError::TooLong(_))));
    let deep = format!("{{\"format\":{FORMAT},\"x\":{}", "[".repeat(500_000));
    assert!(matches!(Snapshot::parse(deep.as_bytes()), Err(ParseError::Malformed(_))));
}

#[test]
fn what_is_not_finite_is_not_written() {
    let snapshot = Snapshot { seconds: f64::NAN, bytes_per_second_now: f64::INFINITY, ..full() };
    let read = Snapshot::parse(&snapshot.to_bytes()).unwrap();
    assert_eq!(read.seconds, 0.0);
    assert!(read.bytes_per_second_now.is_finite());
}

/// A terminal obeys what it is shown: names must not be able to say anything to it.
#[test]
fn texts_have_no_control_characters() {
    let mut hostile = full();
    hostile.job.arguments = vec!["\u{1b}[2J\u{1b}]0;x\u{7}".into(), "a\nb\u{9b}c\u{202e}d".into()];
    hostile.notices = vec!["x".repeat(100_000)];
    hostile.drives[0].path = "\r/etc".into();
    let bytes = serde_json::to_vec(&hostile).unwrap();
    let read = Snapshot::parse(&bytes).unwrap();
    let texts = read
        .job
        .arguments
        .iter()
        .chain(&read.notices)
        .chain(read.drives.iter().map(|drive| &drive.path));
    for text in texts {
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        assert!(text.chars().count() <= 4096);
    }
}

#[test]
fn lists_are_bounded() {
    let long = Snapshot { notices: vec!["x".into(); 10_000], curve: vec![1.0; 10_000], ..full() };
    let read = Snapshot::parse(&serde_json::to_vec(&long).unwrap()).unwrap();
    assert!(read.notices.len() <= 256 && read.curve.len() <= 256);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = Snapshot::parse(&bytes);
    }

    /// A snapshot with some bytes changed: what is still one is within bounds, and comes back as it
    /// is.
    #[test]
    fn damaged_snapshots_are_within_bounds(
        places in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = full().to_bytes();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(read) = Snapshot::parse(&bytes) {
            prop_assert!(read.seconds.is_finite() && read.seconds >= 0.0);
            prop_assert!(read.share_done.is_none_or(|share| (0.0..=1.0).contains(&share)));
            prop_assert_eq!(&Snapshot::parse(&read.to_bytes()).unwrap(), &read);
        }
    }
}
