//! What a job says of itself, to whoever watches: anybody can write it. It is refused, or it means
//! something that is fit to be shown, and nothing else when it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xsort_status::{FORMAT, SNAPSHOT_BYTES_MAX, Snapshot};

fuzz_target!(|data: &[u8]| {
    let Ok(snapshot) = Snapshot::parse(data) else { return };
    assert!(data.len() <= SNAPSHOT_BYTES_MAX && snapshot.format == FORMAT);
    let texts =
        [&snapshot.job.command, &snapshot.job.user, &snapshot.job.directory, &snapshot.phase.name];
    let lists = [&snapshot.job.arguments, &snapshot.places, &snapshot.notices];
    for text in texts.into_iter().chain(lists.into_iter().flatten()) {
        assert!(!text.contains(char::is_control));
    }
    assert!(snapshot.share_done.is_none_or(|share| (0.0..=1.0).contains(&share)));
    assert!(snapshot.seconds >= 0.0 && snapshot.curve.iter().all(|rate| rate.is_finite()));
    let _ = snapshot.records_done();
    let again = Snapshot::parse(&snapshot.to_bytes()).expect("what was written is read");
    assert_eq!(again, snapshot);
});
