//! One thread panics because of a contradiction. The others stop, the job ends with an error, and
//! all files are unchanged.

use crate::sort::oracle;
use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::{ByBytes, Content, LineOrder, LinesInput};
use xsort_extsort::records::Method;
use xsort_extsort::{
    Error, GenerateOptions, LinesOptions, Observer, SortOptions, Unobserved, VerifyOptions,
    generate, sort, sort_lines, verify,
};
use xsort_records::{Format, GenerateSpec, Generator, Layout, Pattern};

/// Panics in the thread of this name, when it reports anything in this phase.
struct Saboteur {
    phase: &'static str,
    is_there: AtomicBool,
}

impl Saboteur {
    fn new(phase: &'static str) -> Saboteur {
        Saboteur { phase, is_there: false.into() }
    }

    fn strike(&self) {
        let is_worker = thread::current().name() == Some("xsort-0");
        assert!(!is_worker || !self.is_there.load(Relaxed), "sabotage");
    }
}

impl Observer for Saboteur {
    fn phase(&self, name: &str, _bytes: u64) {
        self.is_there.store(name == self.phase, Relaxed);
    }
    fn advance(&self, _bytes: u64) {
        self.strike();
    }
    fn notice(&self, _line: &str) {}
    fn is_cancelled(&self) -> bool {
        self.strike();
        false
    }
}

fn records(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn layout() -> Layout {
    Layout::new(100, vec!["0:10".parse().unwrap()]).unwrap()
}

#[test]
fn a_sort_of_records_ends_in_any_phase() {
    let bytes = records(4_000_000);
    for (method, phase) in [(Method::Merge, "merge"), (Method::Scatter, "gather")] {
        for threads in [1, 3] {
            let disk = SimDisk::new(SimOptions::default());
            disk.put("/in", &bytes);
            disk.put("/out", "old");
            let options = SortOptions {
                inputs: vec!["/in".into()],
                output: "/out".into(),
                method,
                scratch: vec!["/scratch".into()],
                ..SortOptions::new(layout(), 1 << 20, threads)
            };
            let error = sort(&options, &disk, &Saboteur::new(phase)).unwrap_err();
            assert!(matches!(error, Error::Panicked), "{method:?}: {error}");
            assert_eq!((disk.get("/out").unwrap(), disk.open_files()), (b"old".to_vec(), 0));
            // Without the saboteur the sort succeeds.
            sort(&options, &disk, &Unobserved).unwrap();
            assert!(disk.get("/out").unwrap() == oracle(&layout(), &bytes));
        }
    }
}

/// An order that panics on one line.
#[derive(Clone, Copy)]
struct Squeamish;

impl LineOrder for Squeamish {
    type Words = [u64; 1];
    type Scratch = ();

    fn word(&self, line: &[u8], skip: usize, scratch: &mut ()) -> u64 {
        ByBytes.word(line, skip, scratch)
    }
    fn compare(&self, a: &[u8], b: &[u8], scratch: &mut ()) -> Ordering {
        assert!(!a.starts_with(b"horror"), "sabotage");
        ByBytes.compare(a, b, scratch)
    }
    fn same(&self, a: &[u8], b: &[u8], scratch: &mut ()) -> bool {
        ByBytes.same(a, b, scratch)
    }
    fn is_exact(&self) -> bool {
        false
    }
}

#[test]
fn a_sort_of_lines_ends_whoever_compares() {
    let line = |number: u64| format!("horror of equal beginnings {}\n", number * 7919 % 999_983);
    let text: String = (0..150_000).map(line).collect();
    for threads in [2, 3] {
        let disk = SimDisk::new(SimOptions::default());
        let options = LinesOptions {
            scratch: vec![PathBuf::from("/scratch")],
            ..LinesOptions::new(2 << 20, threads)
        };
        let source = || LinesInput {
            path: "/in".into(),
            bytes: None,
            content: Content::Stream(Box::new(std::io::Cursor::new(text.clone().into_bytes()))),
        };
        let mut output = Vec::new();
        let result =
            sort_lines(&options, &Squeamish, vec![source()], &mut output, &disk, &Unobserved);
        assert!(matches!(result, Err(Error::Panicked)), "{result:?}");
        assert_eq!((output.len(), disk.open_files()), (0, 0));
        let result = sort_lines(
            &options,
            &ByBytes,
            vec![source()],
            &mut output,
            &disk,
            &Saboteur::new("merge"),
        );
        assert!(matches!(result, Err(Error::Panicked)), "{result:?}");
        assert!(output.len() < text.len());
        assert_eq!(disk.open_files(), 0);
    }
}

#[test]
fn a_verification_and_a_generation_end() {
    let disk = SimDisk::new(SimOptions::default());
    disk.put("/in", records(4_000_000));
    disk.put("/out", "old");
    let options = VerifyOptions {
        inputs: vec!["/in".into()],
        layout: layout(),
        format_is_assumed: false,
        budget_bytes: 1 << 20,
        threads: 1,
        order: true,
    };
    let result = verify(&options, &disk, &Saboteur::new("verify"));
    assert!(matches!(result, Err(Error::Panicked)), "{:?}", result.map(|report| report.records));
    assert_eq!(disk.open_files(), 0);
    let (format, pattern) = (Format::Gensort, Pattern::Uniform);
    let spec = GenerateSpec { format, skewed: false, pattern, start: 0, seed: 1, total: 50_000 };
    let generator = Generator::new(spec).unwrap();
    for threads in [1, 2] {
        let (generator, output) = (generator.clone(), "/out".into());
        let options =
            GenerateOptions { generator, output, budget_bytes: 1 << 20, threads, sync: true };
        let result = generate(&options, &disk, &Saboteur::new("generate"));
        assert!(
            matches!(result, Err(Error::Panicked)),
            "{:?}",
            result.map(|report| report.records)
        );
        assert_eq!((disk.get("/out").unwrap(), disk.open_files()), (b"old".to_vec(), 0));
    }
}
