//! Records that a program pushes, their keys, and merges of sorted iterators.

use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use tempfile::tempdir;
use xsort::{Cancel, Error, Pusher, SortKey, Sorter, merge_sorted};

/// Returns a pseudo-random number, the same each time.
fn random(number: u64) -> u64 {
    let word = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ (word >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[test]
fn scratch_is_where_it_was_asked_for_and_gone_at_the_end() {
    let folder = tempdir().unwrap();
    let (advances, cancel) = (Arc::new(AtomicU64::new(0)), Cancel::new());
    let counted = Arc::clone(&advances);
    let sorter = Sorter::new()
        .memory(4 << 20)
        .threads(2)
        .scratch([folder.path()])
        .cancel(&cancel)
        .on_progress(move |_| {
            counted.fetch_add(1, Relaxed);
        });
    let mut sorting = sorter.start().unwrap();
    for number in 0..100_000 {
        sorting.push(random(number).to_be_bytes(), [7; 100]).unwrap();
    }
    let mut sorted = sorting.finish().unwrap();
    let (mut last, mut records) = ([0; 8], 0);
    while let Some((key, record)) = sorted.next().unwrap() {
        assert!(last[..] <= *key && record == [7; 100]);
        last.copy_from_slice(key);
        records += 1;
    }
    let report = sorted.report().unwrap();
    assert_eq!((records, report.records, report.bytes), (100_000, 100_000, 10_800_000));
    assert!(report.spilled_bytes > 0 && advances.load(Relaxed) > 4);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // The same settings again, cancelled on the way.
    let mut sorting = sorter.start().unwrap();
    cancel.cancel();
    let error = (0..).find_map(|number: u64| sorting.push(number.to_be_bytes(), [7; 100]).err());
    assert!(matches!(error, Some(Error::Cancelled)), "{error:?}");
    drop(sorting);
    let error =
        Sorter::new().memory(4 << 20).scratch(["/nowhere/there"]).start().and_then(|mut s| {
            (0..200_000_u64).try_for_each(|number| s.push(number.to_be_bytes(), [7; 100]))?;
            s.finish()?.write_to(&mut Vec::new(), |_, _, _| Ok(()))
        });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("/nowhere/there"), "{text}");
}

fn push_numbers(mut pusher: Pusher, numbers: impl Iterator<Item = u64>) -> Result<(), Error> {
    for number in numbers {
        let length = if number % 50_000 == 0 { 700_000 } else { 10 + number as usize % 100 };
        pusher.push(random(number).to_be_bytes(), vec![number as u8; length])?;
    }
    pusher.flush()
}

fn peak_memory_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// The peak is measured for a whole process, so each budget has its own.
#[test]
fn whatever_is_pushed_stays_within_the_budget() {
    const VARIABLE: &str = "XSORT_TEST_BUDGET_MIB";
    const RECORDS: u64 = 2_000_000;
    if let Ok(mebibytes) = std::env::var(VARIABLE) {
        let budget_bytes = mebibytes.parse::<u64>().unwrap() << 20;
        let folder = tempdir().unwrap();
        let sorter = Sorter::new().memory(budget_bytes).threads(4).scratch([folder.path()]);
        let sorting = sorter.start().unwrap();
        thread::scope(|scope| {
            for first in 0..10 {
                let pusher = sorting.pusher();
                let numbers = (first..RECORDS).step_by(10);
                scope.spawn(move || push_numbers(pusher, numbers).unwrap());
            }
        });
        let mut sorted = sorting.finish().unwrap();
        let mut records = 0;
        while sorted.next().unwrap().is_some() {
            records += 1;
        }
        let (report, peak) = (sorted.report().unwrap(), peak_memory_bytes());
        assert!(records == RECORDS && report.spilled_bytes > 100_000_000, "{report:?}");
        assert!(peak <= budget_bytes + (64 << 20), "{} MiB", peak >> 20);
        return;
    }
    for mebibytes in ["8", "16"] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "sorter::whatever_is_pushed_stays_within_the_budget";
        let output = command.args(["--exact", name]).env(VARIABLE, mebibytes).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{mebibytes} MiB: {text}");
    }
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0u8), Just(1), Just(0xfe), Just(0xff)], 0..5)
}

fn key_of(fields: &(Vec<u8>, u64, Vec<u8>, i64, f64)) -> Vec<u8> {
    let (text, number, falling, signed, float) = fields;
    let mut key = SortKey::new();
    key.text(text).descending().text(falling).u64(*number);
    key.descending().i64(*signed).f64(*float);
    key.as_ref().to_vec()
}

proptest! {
    #[test]
    fn keys_compare_as_their_fields(
        a in (texts(), 0..3u64, texts(), any::<i64>(), any::<f64>()),
        b in (texts(), 0..3u64, texts(), any::<i64>(), any::<f64>()),
        is_alike: bool,
    ) {
        let mut b = b;
        if is_alike {
            (b.0, b.1, b.2) = (a.0.clone(), a.1, a.2.clone());
        }
        let expected = a.0.cmp(&b.0)
            .then(Reverse(&a.2).cmp(&Reverse(&b.2)))
            .then(a.1.cmp(&b.1))
            .then(b.3.cmp(&a.3))
            .then(a.4.total_cmp(&b.4));
        prop_assert_eq!(key_of(&a).cmp(&key_of(&b)), expected);
    }

    #[test]
    fn numbers_compare_as_numbers(a: f64, b: f64, i: i64, j: i64) {
        let float = |number: f64| SortKey::new().f64(number).clone();
        prop_assert_eq!(float(a).cmp(&float(b)), a.total_cmp(&b));
        prop_assert!(float(-0.0) < float(0.0) && float(f64::MAX) < float(f64::INFINITY));
        let signed = |number: i64| SortKey::new().i64(number).clone();
        prop_assert_eq!(signed(i).cmp(&signed(j)), i.cmp(&j));
    }

    #[test]
    fn a_merge_is_a_stable_sort(mut inputs in vec(vec((0..5u8, any::<u8>()), 0..20), 0..6)) {
        inputs.iter_mut().for_each(|input| input.sort_by_key(|&(key, _)| key));
        let mut expected = inputs.concat();
        expected.sort_by_key(|&(key, _)| key);
        let merged = merge_sorted(inputs);
        prop_assert_eq!(merged.size_hint(), (expected.len(), Some(expected.len())));
        prop_assert_eq!(merged.collect::<Vec<_>>(), expected);
    }
}
