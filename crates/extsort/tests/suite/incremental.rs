//! Lines that are in order in a part, or nearly in order, sorted as they come. Compared with their
//! definition: which lines are too late, and the standard library's sort of the others.

use crate::lines::options;
use std::cmp::Ordering;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::{
    Content, Incremental, LineKernels, LineOrder, LinesInput, Presorted, SortedOutput,
    sort_incrementally, sort_lines_to,
};
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer, Unobserved};
use xsort_testing::{Dribble, Random, for_each_seed};

const MIB: u64 = 1 << 20;

/// Compares lines by their first bytes only.
#[derive(Clone, Copy)]
struct ByFirst(usize);

impl ByFirst {
    fn key<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        &line[..line.len().min(self.0)]
    }
}

impl LineOrder for ByFirst {
    type Words = [u64; 1];
    type Scratch = ();

    fn word(&self, line: &[u8], skip: usize, (): &mut ()) -> u64 {
        let mut word = [0; 8];
        let key = self.key(line).get(skip..).unwrap_or_default();
        let bytes = key.len().min(8);
        word[..bytes].copy_from_slice(&key[..bytes]);
        u64::from_be_bytes(word)
    }

    fn compare(&self, a: &[u8], b: &[u8], (): &mut ()) -> Ordering {
        self.key(a).cmp(self.key(b))
    }

    fn same(&self, a: &[u8], b: &[u8], scratch: &mut ()) -> bool {
        self.compare(a, b, scratch) == Ordering::Equal
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// The number that a line begins with.
fn number_of(line: &[u8]) -> f64 {
    let text = String::from_utf8_lossy(line);
    let digits = text.trim_start_matches('0').split(' ').next().unwrap_or_default();
    digits.parse().unwrap_or(0.0)
}

/// What came out.
struct Outcome {
    sorted: Vec<u8>,
    late: Vec<u8>,
    report: LinesReport,
}

/// Sorts `texts`, each a file, on a simulated disk.
fn sort(
    options: &LinesOptions,
    texts: &[Vec<u8>],
    presorted: Presorted<'_>,
    order: &dyn LineKernels,
    takes_late: bool,
) -> Result<Outcome, Error> {
    let disk = SimDisk::new(SimOptions::rough(7));
    let input = |(number, text): (usize, &Vec<u8>)| LinesInput {
        path: PathBuf::from(format!("file {number}")),
        bytes: None,
        content: Content::Stream(Box::new(Dribble::new(text.clone(), 9_001))),
    };
    let inputs = texts.iter().enumerate().map(input).collect();
    let (mut sorted, mut late) = (Vec::new(), Vec::new());
    let sort = |options: &LinesOptions,
                input: LinesInput,
                to: &mut (dyn Write + Send),
                observer: &dyn Observer| {
        sort_lines_to(options, order, vec![input], SortedOutput::Stream(to), &disk, observer)
    };
    let job = Incremental {
        presorted,
        order,
        sort: &sort,
        output: &mut sorted,
        late: takes_late.then_some(&mut late as &mut (dyn Write + Send)),
        is_prompt: true,
    };
    let report = sort_incrementally(options, inputs, job, &Unobserved)?;
    assert_eq!((disk.open_files(), disk.paths().len()), (0, 0), "no scratch is left");
    Ok(Outcome { sorted, late, report })
}

/// Sorts in the least memory that the refusal of less names, from 2 MiB on.
fn sort_in_enough(
    options: &LinesOptions,
    texts: &[Vec<u8>],
    presorted: Presorted<'_>,
    order: &dyn LineKernels,
    takes_late: bool,
) -> Result<(Outcome, usize), Error> {
    let mut options = options.clone();
    for refusals in 0..4 {
        match sort(&options, texts, presorted, order, takes_late) {
            Err(Error::Memory { budget_bytes, needed_bytes }) => {
                assert!(budget_bytes == options.budget_bytes && needed_bytes > budget_bytes);
                options.budget_bytes = needed_bytes;
            }
            other => return other.map(|outcome| (outcome, refusals)),
        }
    }
    panic!("the memory that is named isn't enough: {}", options.budget_bytes);
}

/// The lines of `texts`, with the end that the last one of a file may lack.
fn lines_of(texts: &[Vec<u8>]) -> Vec<&[u8]> {
    texts
        .iter()
        .flat_map(|text| {
            let own = text.strip_suffix(b"\n").unwrap_or(text);
            let is_empty = text.is_empty();
            own.split(|&byte| byte == b'\n').filter(move |_| !is_empty)
        })
        .collect()
}

fn text_of(lines: &[&[u8]]) -> Vec<u8> {
    lines.iter().flat_map(|line| [*line, b"\n"].concat()).collect()
}

/// The lines that belong before one that came more than `most` lines earlier.
fn are_late(lines: &[&[u8]], most: usize, order: &dyn LineKernels) -> Vec<bool> {
    let mut comparer = order.comparer();
    let mut limit: Option<&[u8]> = None;
    let mut late = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(earlier) = at.checked_sub(most + 1)
            && limit.is_none_or(|limit| comparer.compare(limit, lines[earlier]).is_lt())
        {
            limit = Some(lines[earlier]);
        }
        late.push(limit.is_some_and(|limit| comparer.compare(line, limit).is_lt()));
    }
    late
}

/// Numbers that rise, each of them up to `late` lines later than in order, in one or more files.
fn nearly_sorted(random: &mut Random, lines: usize, late: usize) -> Vec<Vec<u8>> {
    let mut places: Vec<(usize, usize)> =
        (0..lines).map(|at| (at + random.below(late + 1), at)).collect();
    places.sort_unstable();
    let repeats = random.one_of(&[1, 1, 3]);
    let length = random.one_of(&[0, 5, 90]);
    let mut texts = vec![Vec::new()];
    for (_, at) in places {
        let tail = "x".repeat(random.below(length + 1));
        let text = texts.last_mut().expect("there is one");
        text.extend(format!("{:09} {tail}\n", at / repeats).bytes());
        if random.one_in(lines) {
            texts.push(Vec::new());
        }
    }
    if random.one_in(2) {
        texts.last_mut().expect("there is one").pop();
    }
    texts
}

/// Checks counts and what came out.
fn check(
    outcome: &Outcome,
    lines: &[&[u8]],
    late: &[bool],
    options: &LinesOptions,
    order: &dyn LineKernels,
) {
    let of = |is_late: bool| {
        let chosen = lines.iter().zip(late).filter(move |(_, late)| **late == is_late);
        chosen.map(|(line, _)| *line).collect::<Vec<&[u8]>>()
    };
    let mut comparer = order.comparer();
    let mut expected = of(false);
    expected.sort_by(|a, b| comparer.compare(a, b));
    if options.is_unique {
        expected.dedup_by(|b, a| comparer.same(a, b));
    }
    assert!(outcome.sorted == text_of(&expected), "the lines that are in time");
    assert!(outcome.late == text_of(&of(true)), "the lines that are late");
    let Outcome { report, .. } = outcome;
    assert_eq!(report.lines, lines.len() as u64);
    assert_eq!(report.written_bytes, outcome.sorted.len() as u64);
    assert_eq!(report.late_lines.unwrap_or(0), of(true).len() as u64);
}

#[test]
fn lines_leave_in_order_and_late_ones_apart() {
    for_each_seed("incremental lines leave", 20, |seed| {
        let mut random = Random::new(seed);
        let lines = random.one_of(&[0, 1, 2, 50, 5_000, 40_000]);
        let late = random.one_of(&[0, 1, 7, 900]);
        let texts = nearly_sorted(&mut random, lines, late);
        let lines = lines_of(&texts);
        let options = options(2 * MIB, 1 + random.below(3), random.one_in(3));
        let order = ByFirst(random.one_of(&[7, 9, 99]));
        // Some numbers of lines are too few, and all of them are enough.
        for most in [0, 1, 2, late / 2, late, 2 * late, lines.len()] {
            let most = if lines.len() > 10_000 { most.min(2_000) } else { most };
            let are_late = are_late(&lines, most, &order);
            let presorted = Presorted::WithinLines(most as u64);
            let (outcome, _) = sort_in_enough(&options, &texts, presorted, &order, true).unwrap();
            check(&outcome, &lines, &are_late, &options, &order);
            match are_late.iter().position(|is_late| *is_late) {
                None => {
                    let (outcome, _) =
                        sort_in_enough(&options, &texts, presorted, &order, false).unwrap();
                    check(&outcome, &lines, &are_late, &options, &order);
                }
                Some(at) => {
                    let error = sort_in_enough(&options, &texts, presorted, &order, false).err();
                    let Some(Error::Late { line, .. }) = error else { panic!("{error:?}") };
                    assert_eq!(line, lines[at]);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn lines_may_be_late_by_a_span() {
    for_each_seed("incremental lines may", 20, |seed| {
        let mut random = Random::new(seed);
        let lines = random.one_of(&[0, 1, 50, 5_000]);
        let texts = nearly_sorted(&mut random, lines, 90);
        let lines = lines_of(&texts);
        let options = options(2 * MIB, 2, random.one_in(3));
        for span in [0.0, 1.0, 33.0, 1e9] {
            let mut most = f64::NEG_INFINITY;
            let mut is_late = |line: &&[u8]| {
                let own = number_of(line);
                let is_late = own < most - span;
                most = if is_late { most } else { most.max(own) };
                is_late
            };
            let late: Vec<bool> = lines.iter().map(&mut is_late).collect();
            let presorted = Presorted::WithinSpan { span, number: &number_of };
            let (outcome, _) =
                sort_in_enough(&options, &texts, presorted, &ByFirst(99), true).unwrap();
            check(&outcome, &lines, &late, &options, &ByFirst(99));
        }
        Ok(())
    });
}

/// Groups of one line, of a few, and one that is larger than the memory.
#[test]
fn groups_are_sorted_one_by_one() {
    for_each_seed("incremental groups are", 12, |seed| {
        let mut random = Random::new(seed);
        let mut text = Vec::new();
        for group in 0..random.one_of(&[0, 1, 300]) {
            let lines = match (seed % 4, group) {
                (0, 7) => 60_000,
                _ => 1 + random.below(9),
            };
            for _ in 0..lines {
                text.extend(format!("{group:05} {:016x} tail\n", random.word()).bytes());
            }
        }
        if random.one_in(2) {
            text.pop();
        }
        let cut = text.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let texts = [text[..cut].to_vec(), text[cut..].to_vec()];
        let lines = lines_of(&texts);
        let options = options(2 * MIB, 2, random.one_in(3));
        let presorted = Presorted::ByFirstKeys(&ByFirst(5));
        let order = ByFirst(random.one_of(&[5, 12, 99]));
        let outcome = sort(&options, &texts, presorted, &order, false).unwrap();
        check(&outcome, &lines, &vec![false; lines.len()], &options, &order);
        let is_large = text.len() > 2_000_000;
        assert_eq!(outcome.report.spilled_bytes > 0, is_large, "{}", text.len());
        Ok(())
    });
}

#[test]
fn a_line_that_is_not_in_order_is_named() {
    let presorted = Presorted::ByFirstKeys(&ByFirst(1));
    let texts = [b"a\nb2\n".to_vec(), b"b1\nc\nbad\nd\n".to_vec()];
    let error = sort(&options(2 * MIB, 1, false), &texts, presorted, &ByFirst(9), false).err();
    let Some(Error::NotSorted { path, number, line, before }) = error else { panic!("{error:?}") };
    assert_eq!(
        (path.to_str(), number, &line[..], &before[..]),
        (Some("file 1"), 3, &b"bad"[..], &b"c"[..])
    );
    // The first line of a file comes after the last one of the file before.
    let texts = [b"b".to_vec(), b"a\n".to_vec()];
    let error = sort(&options(2 * MIB, 1, false), &texts, presorted, &ByFirst(9), false).err();
    let Some(Error::NotSorted { path, number, .. }) = error else { panic!("{error:?}") };
    assert_eq!((path.to_str(), number), (Some("file 1"), 1));
    let texts = [b"5\n6\n".to_vec(), b"7\n1\n".to_vec()];
    let late = Presorted::WithinSpan { span: 1.0, number: &number_of };
    let error = sort(&options(2 * MIB, 1, false), &texts, late, &ByFirst(9), false).err();
    let Some(Error::Late { path, number, line, .. }) = error else { panic!("{error:?}") };
    assert_eq!((path.to_str(), number, &line[..]), (Some("file 1"), 2, &b"1"[..]));
}

/// What doesn't fit is refused with a budget that is enough.
#[test]
fn a_window_that_does_not_fit_names_one_that_does() {
    let mut random = Random::new(5);
    let texts = nearly_sorted(&mut random, 60_000, 30_000);
    for presorted in [
        Presorted::WithinLines(30_000),
        Presorted::WithinSpan { span: 30_000.0, number: &number_of },
    ] {
        let options = options(2 * MIB, 2, false);
        let (outcome, refusals) =
            sort_in_enough(&options, &texts, presorted, &ByFirst(99), false).unwrap();
        assert!((1..=3).contains(&refusals), "{refusals}");
        assert_eq!(outcome.report.lines, 60_000);
    }
    let long = [[vec![b'a'; 3 << 20], b"\n".to_vec(), vec![b'a'; 3 << 20]].concat()];
    let presorted = Presorted::ByFirstKeys(&ByFirst(1));
    let error = sort(&options(2 * MIB, 1, false), &long, presorted, &ByFirst(9), false).err();
    let Some(Error::LongLine { needed_bytes: Some(needed), .. }) = error else {
        panic!("{error:?}")
    };
    let outcome = sort(&options(needed, 1, false), &long, presorted, &ByFirst(9), false).unwrap();
    assert_eq!(outcome.report.lines, 2);
}

/// Bytes that come one message at a time. Then it ends.
struct Messages(Receiver<Vec<u8>>, Vec<u8>);

impl Read for Messages {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.1.is_empty() {
            self.1 = self.0.recv().unwrap_or_default();
        }
        let bytes = self.1.len().min(out.len());
        out[..bytes].copy_from_slice(&self.1[..bytes]);
        self.1.drain(..bytes);
        Ok(bytes)
    }
}

/// Each write as a message.
struct Written(Sender<Vec<u8>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_leave_while_the_input_pauses() {
    for presorted in [
        Presorted::ByFirstKeys(&ByFirst(1)),
        Presorted::WithinLines(1),
        Presorted::WithinSpan { span: 1.5, number: &number_of },
    ] {
        thread::scope(|scope| {
            let ((feed, input), (output, written)) = (channel(), channel());
            let input = LinesInput {
                path: "messages".into(),
                bytes: None,
                content: Content::Stream(Box::new(Messages(input, Vec::new()))),
            };
            let sorting = scope.spawn(move || {
                let disk = SimDisk::new(SimOptions::default());
                let sort = |options: &LinesOptions,
                            input: LinesInput,
                            to: &mut (dyn Write + Send),
                            observer: &dyn Observer| {
                    let to = SortedOutput::Stream(to);
                    sort_lines_to(options, &ByFirst(9), vec![input], to, &disk, observer)
                };
                let (mut output, order, late) = (Written(output), &ByFirst(9), None);
                let output = &mut output as &mut (dyn Write + Send);
                let sort =
                    Incremental { presorted, order, sort: &sort, output, late, is_prompt: true };
                sort_incrementally(&options(2 * MIB, 1, false), vec![input], sort, &Unobserved)
            });
            let mut seen = Vec::new();
            let patience = Duration::from_secs(60);
            for (message, expected) in
                [("1\n3", ""), (" a\n2", "1\n"), (" a\n4\n", "1\n"), ("6\n", "1\n2 a\n3 a\n")]
            {
                if matches!(presorted, Presorted::ByFirstKeys(_)) && message == " a\n2" {
                    break;
                }
                feed.send(message.as_bytes().to_vec()).unwrap();
                while !seen.starts_with(expected.as_bytes()) {
                    seen.extend(written.recv_timeout(patience).unwrap());
                }
            }
            if matches!(presorted, Presorted::ByFirstKeys(_)) {
                feed.send(b" b\n3 a\n4\n".to_vec()).unwrap();
                while seen != b"1\n3 a\n3 b\n" {
                    seen.extend(written.recv_timeout(patience).unwrap());
                }
            }
            drop(feed);
            let report = sorting.join().unwrap().unwrap();
            seen.extend(written.iter().flatten());
            assert_eq!(seen.len() as u64, report.written_bytes);
        });
    }
}
