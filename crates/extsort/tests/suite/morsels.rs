//! Files in the page cache, read by several threads, compared with the standard library's sort. In
//! some cases one thread has to read them again.

use crate::lines::{expected, options};
use std::fs;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::LinesInput;
use xsort_extsort::{LinesOptions, Observer, sort_lines};
use xsort_kernels::lines::ByBytes;
use xsort_testing::{Random, for_each_seed};

const MIB: u64 = 1 << 20;

/// Counts how often the first phase began.
#[derive(Default)]
struct Beginnings(AtomicU32);

impl Observer for Beginnings {
    fn phase(&self, name: &str, _: u64) {
        self.0.fetch_add(u32::from(name == "form runs"), Relaxed);
    }

    fn advance(&self, _: u64) {}

    fn notice(&self, _: &str) {}
}

/// Returns lines of about `line_bytes` bytes, with one of `longest` bytes among them. The last line
/// may lack its delimiter.
fn text(random: &mut Random, bytes: usize, line_bytes: usize, longest: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let mut longest = Some(longest).filter(|&longest| longest > 0 && bytes > 0);
    while text.len() < bytes {
        if text.len() >= bytes / 2
            && let Some(longest) = longest.take()
        {
            text.resize(text.len() + longest, b'x');
        }
        for _ in 0..random.below(2 * line_bytes + 1) {
            text.push(b'a' + random.below(26) as u8);
        }
        text.push(b'\n');
    }
    if random.one_of(&[false, true]) {
        text.pop();
    }
    text
}

#[test]
fn files_that_threads_read_side_by_side_are_sorted() {
    let (mut at_once, mut again) = (0, 0);
    let tried = for_each_seed("morsels", 20, |seed| {
        let random = &mut Random::new(seed);
        let directory = tempfile::tempdir().unwrap();
        let line_bytes = random.one_of(&[0, 3, 40, 3000]);
        let longest = random.one_of(&[0, 0, 0, 5000, 3 << 20]);
        let texts: Vec<Vec<u8>> = (0..random.one_of(&[1, 1, 2, 5]))
            .map(|_| {
                let bytes = random.one_of(&[0, 10, 100_000, 700_000, 2_500_000]);
                text(random, bytes, line_bytes, longest)
            })
            .collect();
        let inputs = texts.iter().enumerate().map(|(number, text)| {
            let path = directory.path().join(number.to_string());
            fs::write(&path, text).unwrap();
            LinesInput::at(&path)
        });
        let budget_bytes = random.one_of(&[16, 64, 64, 1024]) * MIB;
        let options = LinesOptions {
            threads: random.one_of(&[1, 2, 3, 7]),
            ..options(budget_bytes, 2, random.one_of(&[false, false, true]))
        };
        let (disk, mut output) = (SimDisk::new(SimOptions::default()), Vec::new());
        let beginnings = Beginnings::default();
        let report =
            sort_lines(&options, &ByBytes, inputs.collect(), &mut output, &disk, &beginnings);
        let report = report.unwrap();
        assert!(output == expected(&texts, options.is_unique), "{seed}: {options:?}");
        assert_eq!(report.bytes, expected(&texts, false).len() as u64, "{seed}: {options:?}");
        match beginnings.0.into_inner() {
            1 => at_once += u32::from(report.runs > 1),
            count => again += count / 2,
        }
        Ok(())
    });
    eprintln!("{at_once} sorts at once, {again} again by one thread");
    // If the kernel doesn't say what is cached, all sorts begin once.
    assert!(tried < 20 || at_once > 2 && (again == 0 || again > 1), "{at_once} {again}");
}
