//! Many more scripts, one per line, in files: closed and full streams, signals, few descriptors and
//! merges in `scripts/streams.txt`; valid and invalid command lines in `scripts/words.txt`. GNU
//! sort and xsort must behave the same in each.

use crate::lines::{others_can_run_programs, run_in};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use xsort_testing::gnu;

/// The files that these scripts find in their directory, in addition to those of `lines`.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let mut files = crate::lines::files();
    files.extend([
        ("u1", b"c\na\nd\nb\n".to_vec()),
        ("u2", b"b\nz\na\n".to_vec()),
        ("u3", b"m\nb\nb\na".to_vec()),
        ("num", NUMBERS.as_bytes().to_vec()),
        ("words", WORDS.as_bytes().to_vec()),
        ("months", MONTHS.as_bytes().to_vec()),
        ("latin", b"Zebra\napple\n\xC4pfel\nzebra\n\xFD\nI\ni\n\xDD\n\xFE\ns\n".to_vec()),
    ]);
    files
}

const NUMBERS: &str = "1,000\n1.5\n-3\n1e3\n2K\n3M\n1 \
    000\n1.000\n-0\n0\n+5\n0x10\nnan\ninf\n-inf\n\n .5\n-.5\n1000\n999\n1,5\n";
const WORDS: &str = "Zebra\napple\nÄpfel\nzebra\nApple\néclair\neclair\ncôte\ncoté\ncote\n\
    chata\ncihla\nhora\nı\nI\ni\nİ\n_x\n-y\n a\na b\nab\n";
const MONTHS: &str = "jan\nFeb\nMAR \n apr\nmai\nMai\nMär\nokt\nDez\ndec\nčen\nled\nxyz\n";

fn check(scripts: &str) {
    if !gnu::has("sort") {
        return;
    }
    let scripts: Vec<&str> = scripts.lines().filter(|line| can_run(line)).collect();
    let (files, next) = (files(), AtomicUsize::new(0));
    let differences = || {
        let mut told = Vec::new();
        while let Some(script) = scripts.get(next.fetch_add(1, Relaxed)) {
            let [ours, gnus] = [true, false].map(|is_ours| {
                run_in(&["bash", "-c", script], &[("LC_ALL", "C")], &files, is_ours)
            });
            if ours != gnus {
                told.push(format!("{script}\nours:  {ours:?}\nGNU's: {gnus:?}\n"));
            }
        }
        told
    };
    let told: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(differences)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// Only root can become another user, who may not have access to the build directory.
fn can_run(script: &str) -> bool {
    !script.contains("setpriv") || others_can_run_programs()
}

#[test]
fn streams_and_files_fail_as_gnu_sorts() {
    check(include_str!("scripts/streams.txt"));
}

#[test]
fn words_are_understood_as_by_gnu_sort() {
    check(include_str!("scripts/words.txt"));
}
