//! Sorts lines by keys that precede them, compared with the standard library's stable sort: in
//! memory and on scratch, with any bytes in lines.

use std::cmp::Ordering;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::keyed::{KeyPlace, LineKeys, LineTies, sort_lines_by_keys};
use xsort_extsort::lines::{
    ByBytes, Content, LineOrder, LinesInput, OpenInput, OutputForm, PutLine, SegmentForm,
    SortedOutput, sort_formed,
};
use xsort_extsort::{Error, LinesOptions, LinesReport, Unobserved};
use xsort_kernels::lines::line_hash;
use xsort_testing::{Dribble, Random, for_each_seed};

const MIB: u64 = 1 << 20;

/// Lines with equal keys compare by their lengths if the order judges ties.
#[derive(Clone, Copy, Debug)]
struct Part {
    which: Which,
    ties: LineTies,
}

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// The text before the first `x`.
    First,
    /// The text after the first `x`, up to the next one.
    Second,
    /// The text from the first `x` on, up to the next one.
    SecondWithX,
    /// The text after the last `x`.
    Last,
}

impl Part {
    fn last(ties: LineTies) -> Part {
        Part { which: Which::Last, ties }
    }

    fn range(self, line: &[u8]) -> Range<usize> {
        let end = line.len();
        let x_from = |from: usize| (from..end).find(|&at| line[at] == b'x').unwrap_or(end);
        let first = x_from(0);
        let behind_first = end.min(first + 1);
        match self.which {
            Which::First => 0..first,
            Which::Second => behind_first..x_from(behind_first),
            Which::SecondWithX => first..x_from(behind_first),
            Which::Last => line.iter().rposition(|&byte| byte == b'x').map_or(0, |at| at + 1)..end,
        }
    }

    fn key(self, line: &[u8]) -> &[u8] {
        &line[self.range(line)]
    }
}

impl LineKeys for Part {
    type Scratch = ();

    fn push_key(&self, line: &[u8], (): &mut (), out: &mut Vec<u8>) {
        out.extend_from_slice(self.key(line));
    }

    /// If keys are copied: for every other line, depending on its length.
    fn part_of(&self, line: &[u8]) -> Option<Range<usize>> {
        let is_part = self.place() != KeyPlace::Before || line.len().is_multiple_of(2);
        is_part.then(|| self.range(line))
    }

    fn place(&self) -> KeyPlace {
        match self.which {
            _ if self.ties == LineTies::Judged => KeyPlace::Before,
            Which::First => KeyPlace::Beginning,
            Which::Second => KeyPlace::Moved { first_stays: false },
            Which::SecondWithX => KeyPlace::Moved { first_stays: true },
            Which::Last => KeyPlace::Before,
        }
    }

    fn ties(&self) -> LineTies {
        self.ties
    }

    fn compare_ties(&self, a: &[u8], b: &[u8], key_bytes: usize, (): &mut ()) -> Ordering {
        assert_eq!(self.key(a), self.key(b));
        assert!(key_bytes >= self.key(a).len());
        a.len().cmp(&b.len())
    }

    fn same(&self, a: &[u8], b: &[u8], scratch: &mut ()) -> bool {
        self.compare_ties(a, b, usize::MAX, scratch) == Ordering::Equal
    }
}

impl Part {
    fn order(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.key(a).cmp(self.key(b)).then_with(|| match self.ties {
            LineTies::Equal => Ordering::Equal,
            LineTies::Bytes => a.cmp(b),
            LineTies::Judged => a.len().cmp(&b.len()),
        })
    }
}

/// The order of lines without keys.
impl LineOrder for Part {
    type Words = [u64; 1];

    type Scratch = ();

    fn word(&self, _: &[u8], _: usize, (): &mut ()) -> u64 {
        0
    }

    fn compare(&self, a: &[u8], b: &[u8], (): &mut ()) -> Ordering {
        self.order(a, b)
    }

    fn same(&self, a: &[u8], b: &[u8], (): &mut ()) -> bool {
        self.order(a, b) == Ordering::Equal
    }

    fn is_exact(&self) -> bool {
        false
    }
}

fn sort(
    part: Part,
    options: &LinesOptions,
    inputs: Vec<LinesInput>,
) -> Result<(Vec<u8>, LinesReport), Error> {
    let (disk, mut output) = (SimDisk::new(SimOptions::default()), Vec::new());
    let keys = Arc::new(part);
    let stream = SortedOutput::Stream(&mut output);
    let report = sort_lines_by_keys(options, (&keys, &*keys), inputs, stream, &disk, &Unobserved)?;
    Ok((output, report))
}

fn stream(text: &[u8], is_size_known: bool) -> LinesInput {
    LinesInput {
        path: PathBuf::from("lines"),
        bytes: is_size_known.then_some(text.len() as u64),
        content: Content::Stream(Box::new(Dribble::new(text.to_vec(), 70_001))),
    }
}

/// Creates lines of a few characters, with the bytes that framing treats specially. The last line
/// may lack its delimiter.
fn text(random: &mut Random, bytes: u64, delimiter: u8) -> Vec<u8> {
    let letters: &[u8] = random.one_of(&[b"xab", b"xab\0\x01\x02\xfe\xff\n", b"aaaaaaaaaaaaaaaax"]);
    let longest = random.one_of(&[3, 30, 300]);
    let mut text = Vec::new();
    while (text.len() as u64) < bytes {
        let prefix = random.one_of(&[0, 20]);
        text.extend(std::iter::repeat_n(b'x', prefix));
        for _ in 0..random.between(0, longest) {
            text.extend([random.one_of(letters)].iter().filter(|&&byte| byte != delimiter));
        }
        text.push(delimiter);
    }
    if random.one_of(&[false, true]) {
        text.pop();
    }
    text
}

fn lines(texts: &[Vec<u8>], delimiter: u8) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = Vec::new();
    for text in texts {
        let mut own: Vec<&[u8]> = text.split(|&byte| byte == delimiter).collect();
        own.pop_if(|last| last.is_empty());
        lines.extend(own);
    }
    lines
}

/// Writes lines unchanged.
struct AsTheyAre;

impl PutLine for AsTheyAre {
    fn put(&mut self, line: &[u8], out: &mut [u8]) -> usize {
        out[..line.len()].copy_from_slice(line);
        out[line.len()] = b'\n';
        line.len() + 1
    }
}

impl SegmentForm for AsTheyAre {
    fn put_piece(&mut self, _: &mut [u8], piece_bytes: usize) -> usize {
        piece_bytes
    }
}

#[test]
fn lines_whose_sums_differ_are_not_published() {
    for sums in [[7, 7], [7, 8]] {
        let disk = SimDisk::new(SimOptions::default());
        let path = PathBuf::from("/out/sorted");
        let output = SortedOutput::File { path: &path, sync: false };
        let (segment, sums_of) = (|| -> Box<dyn SegmentForm> { Box::new(AsTheyAre) }, || sums);
        let form = OutputForm { head: &[], segment: &segment, sums: Some(&sums_of) };
        let inputs = vec![stream(b"b\na\n", true)];
        let report =
            sort_formed(&options(4 * MIB), &ByBytes, inputs, output, form, &disk, &Unobserved);
        match report {
            Ok(report) => assert_eq!((sums, report.checksum), ([7, 7], Some(7))),
            Err(Error::LostLines { read: 7, written: 8 }) => assert_eq!(sums, [7, 8]),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(disk.get(&path).is_some(), sums == [7, 7]);
    }
}

#[test]
fn lines_with_keys_come_in_order_and_whole() {
    let (mut spilled, mut unique) = (0, 0);
    let tried = for_each_seed("lines with keys", 15, |seed| {
        let mut random = Random::new(seed);
        let ties = random.one_of(&[LineTies::Equal, LineTies::Bytes, LineTies::Judged]);
        let which = [Which::First, Which::Second, Which::SecondWithX, Which::Last];
        let part = Part { which: random.one_of(&which), ties };
        let options = LinesOptions {
            delimiter: random.one_of(&[b'\n', 0]),
            is_unique: ties != LineTies::Bytes && random.one_of(&[false, false, true]),
            budget_bytes: random.one_of(&[2, 4, 64]) * MIB,
            threads: random.one_of(&[1, 2, 5]),
            scratch: vec![PathBuf::from("/scratch")],
            ..LinesOptions::new(0, 1)
        };
        let bytes = random.one_of(&[0, 1, 1000, 300_000, 3_000_000]);
        let texts: Vec<Vec<u8>> = (0..random.one_of(&[1, 1, 3]))
            .map(|_| text(&mut random, bytes, options.delimiter))
            .collect();
        let is_size_known = random.one_of(&[false, true]);
        let directory = tempfile::tempdir().unwrap();
        let input = |(number, text): (usize, &Vec<u8>)| {
            if number > 0 || !is_size_known {
                return stream(text, is_size_known);
            }
            let path = directory.path().join("lines");
            fs::write(&path, text).unwrap();
            LinesInput::at(&path)
        };
        let inputs = texts.iter().enumerate().map(input).collect();
        let (sorted, report) = sort(part, &options, inputs).unwrap();
        let mut expected = lines(&texts, options.delimiter);
        let sum =
            expected.iter().fold(0u64, |sum, line| sum.wrapping_add(line_hash(line, line.len())));
        assert_eq!(report.lines, expected.len() as u64);
        assert_eq!(report.checksum, Some(sum));
        assert_eq!(report.bytes, expected.iter().map(|line| line.len() as u64 + 1).sum::<u64>());
        expected.sort_by(|a, b| part.order(a, b));
        if options.is_unique {
            expected.dedup_by(|a, b| part.order(a, b) == Ordering::Equal);
            unique += 1;
        }
        let expected: Vec<u8> = expected
            .iter()
            .flat_map(|line| line.iter().copied().chain([options.delimiter]))
            .collect();
        assert!(sorted == expected, "{seed}: {part:?} {options:?}");
        spilled += u32::from(report.spilled_bytes > 0);
        Ok(())
    });
    assert!(tried < 15 || spilled > 1 && unique > 1, "{spilled} {unique}");
}

fn options(budget_bytes: u64) -> LinesOptions {
    LinesOptions { scratch: vec![PathBuf::from("/scratch")], ..LinesOptions::new(budget_bytes, 2) }
}

#[test]
fn a_stream_s_line_that_is_too_long_is_refused_with_a_way_out() {
    let long = vec![b'a'; 600_000];
    let sort = |budget_bytes| {
        sort(Part::last(LineTies::Bytes), &options(budget_bytes), vec![stream(&long, true)])
    };
    let text = sort(4 * MIB).unwrap_err().to_string();
    assert!(text.contains("lines: ") && text.contains("-S"), "{text}");
    assert_eq!(sort(32 * MIB).unwrap().0.len(), long.len() + 1);
}

/// After enough lines that some are on scratch with their keys when the problem is detected.
#[test]
fn a_file_with_a_line_that_is_too_long_for_a_key_is_sorted_without_keys() {
    let short = b"axc\nxb\nxxxxa\n".repeat(800_000);
    let long = [&b"x".repeat(600_000)[..], b"bb\n"].concat();
    let inputs = [&short, &long].map(|text| {
        let stream = Dribble::new(text.clone(), 70_001);
        LinesInput {
            path: PathBuf::from("a file"),
            bytes: Some(text.len() as u64),
            content: Content::File(OpenInput::new(move || Ok(Box::new(stream.clone()) as _))),
        }
    });
    let (sorted, report) =
        sort(Part::last(LineTies::Bytes), &options(4 * MIB), inputs.into()).unwrap();
    assert!(report.spilled_bytes > 0 && report.lines == 2_400_001);
    let expected = [b"xxxxa\n".repeat(800_000), b"xb\n".repeat(800_000), long];
    assert!(sorted == [&expected.concat()[..], &b"axc\n".repeat(800_000)].concat());
}
