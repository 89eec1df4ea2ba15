//! Threads finish chunks in another order than that of the input.
//!
//! A later chunk was once recorded before an earlier one. The sort was then interrupted twice. The
//! third process trusted that record, although the second one had freed the chunk's scratch and
//! divided the lines into other chunks.

use crate::resume::{RESUME, kept};
use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};
use xsort_disk::SimDisk;
use xsort_extsort::lines::{Content, LineOrder, LinesCheckpoint, LinesInput};
use xsort_extsort::{Error, LinesOptions, Observer, Unobserved, sort_lines};

/// Returns the length of the journal, which grows with each recorded step.
fn journal_bytes(disk: &SimDisk) -> usize {
    let is_journal = |path: &PathBuf| path.to_string_lossy().ends_with("journal");
    let journal = kept(disk).into_iter().find(is_journal);
    journal.and_then(|path| disk.get(path)).map_or(0, |bytes| bytes.len())
}

/// The order of bytes. The thread that compares the first line of the input waits until a step is
/// recorded, or for a time limit. Then the sort is told to stop.
struct LateFirstChunk<'a> {
    disk: &'a SimDisk,
    is_over: &'a AtomicBool,
}

impl LineOrder for LateFirstChunk<'_> {
    type Words = [u64; 1];

    type Scratch = ();

    fn word(&self, line: &[u8], skip: usize, (): &mut ()) -> u64 {
        if line == b"the first line" && skip == 0 && !self.is_over.load(Relaxed) {
            let (begun, before) = (Instant::now(), journal_bytes(self.disk));
            while journal_bytes(self.disk) == before && begun.elapsed() < Duration::from_millis(500)
            {
                sleep(Duration::from_millis(1));
            }
            self.is_over.store(true, Relaxed);
        }
        let rest = &line[skip.min(line.len())..];
        let mut word = [0; 8];
        let bytes = rest.len().min(8);
        word[..bytes].copy_from_slice(&rest[..bytes]);
        u64::from_be_bytes(word)
    }

    fn compare(&self, a: &[u8], b: &[u8], (): &mut ()) -> Ordering {
        a.cmp(b)
    }

    fn same(&self, a: &[u8], b: &[u8], (): &mut ()) -> bool {
        a == b
    }

    fn is_exact(&self) -> bool {
        true
    }
}

/// Stops when the first chunk is late, or as soon as the journal has grown.
struct Impatient<'a> {
    disk: &'a SimDisk,
    begun_bytes: usize,
    is_over: &'a AtomicBool,
}

impl Observer for Impatient<'_> {
    fn phase(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn notice(&self, _: &str) {}
    fn is_cancelled(&self) -> bool {
        let has_grown = self.begun_bytes > 0 && journal_bytes(self.disk) > self.begun_bytes;
        self.is_over.load(Relaxed) || has_grown
    }
}

#[test]
fn a_chunk_is_recorded_only_behind_those_before_it() {
    let mut lines = vec!["the first line".to_owned()];
    lines.extend(
        (0..150_000_u64).map(|i| format!("{:016x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
    );
    let text = lines.join("\n") + "\n";
    lines.sort();
    let disk = SimDisk::new(xsort_disk::SimOptions::default());
    disk.put("/in", &text);
    let checkpoint = LinesCheckpoint {
        checkpoint: RESUME.unwrap(),
        output: "/out/sorted".into(),
        inputs: vec!["/in".into()],
        meaning: String::new(),
    };
    let options = LinesOptions {
        scratch: vec!["/scratch".into()],
        checkpoint: Some(checkpoint),
        ..LinesOptions::new(2 << 20, 2)
    };
    let sort = |is_over: &AtomicBool, observer: &dyn Observer| {
        let bytes: xsort_extsort::lines::InputBytes<'static> =
            Box::new(std::io::Cursor::new(text.clone().into_bytes()));
        let input = LinesInput {
            path: "/in".into(),
            bytes: Some(text.len() as u64),
            content: Content::Stream(bytes),
        };
        let order = LateFirstChunk { disk: &disk, is_over };
        sort_lines(&options, &order, vec![input], &mut std::io::sink(), &disk, observer)
    };
    for begun_bytes in [0, 1] {
        let is_over = AtomicBool::new(begun_bytes > 0);
        let begun_bytes = begun_bytes * journal_bytes(&disk);
        let late = AtomicBool::new(false);
        let stop = if begun_bytes > 0 { &late } else { &is_over };
        let observer = Impatient { disk: &disk, begun_bytes, is_over: stop };
        let error = sort(&is_over, &observer).unwrap_err();
        assert!(matches!(error, Error::Resumable { .. }), "{error}");
        disk.power_cut();
    }
    let report = sort(&AtomicBool::new(true), &Unobserved).unwrap();
    assert_eq!(report.lines, lines.len() as u64);
    assert!(disk.get("/out/sorted").unwrap() == (lines.join("\n") + "\n").as_bytes());
}
