//! `xsort lines`, but for the process: any order, inputs that fill its memory or not, spilled,
//! merged, compressed, cut at the top; beside a sort of all lines by comparison. And normalised
//! keys beside that comparison.
#![no_main]

#[allow(dead_code, reason = "marks are another target's")]
#[path = "../../crates/cli/src/lines/filters.rs"]
mod filters;

use arbitrary::Arbitrary;
use filters::Top;
use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;
use xsort::GnuOrder;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::{
    ByBytes, ByBytesReversed, Content, Header, LineOrder, LinesInput, merge_sequential, take_header,
};
use xsort_extsort::{Codec, LinesOptions, LinesReport, Unobserved, merge_lines, sort_lines};
use xsort_fuzz::model;
use xsort_fuzz::orders::Orders;
use xsort_fuzz::texts::{Dribble, Growth, grown, lines, parts};
use xsort_gnu::Locale;
use xsort_gnu::sort::{Command, Order, Scratch};

#[derive(Arbitrary, Debug)]
struct Case {
    orders: Orders,
    how: How,
    threads: u8,
    /// Memory, in halves of a MiB beyond the least.
    budget: u8,
    /// Words beside each line, if the order has no own way.
    has_two_words: bool,
    codec: Option<bool>,
    is_size_known: bool,
    is_output_a_file: bool,
    is_disk_rough: Option<u8>,
    top: Option<u16>,
    header: Option<u8>,
    dribble: u16,
    growth: Growth,
    cuts: [u16; 3],
    sources: u8,
    text: Vec<u8>,
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum How {
    Sort,
    /// Sources that are in order.
    Merge,
    /// By their heads, in whatever order they are.
    Heads,
}

fuzz_target!(|case: Case| {
    let Ok(command) = case.orders.command() else { return };
    let order = Order::new(&command, &Locale::c(), *b"0123456789abcdef");
    let text = grown(&case.text, case.growth, command.terminator());
    let mut texts: Vec<Vec<u8>> = parts(&text, &case.cuts[..usize::from(case.sources % 4)])
        .into_iter()
        .map(<[u8]>::to_vec)
        .collect();
    if case.how == How::Merge {
        for text in &mut texts {
            // With all of equal lines: `-u` of the merge drops them.
            let all = Command { unique: false, ..command.clone() };
            *text = model::sorted(&all, &order, &mut lines(&[text], command.terminator()));
        }
    }
    if order.is_bytes() && !case.has_two_words {
        check(&case, &command, &order, &ByBytes, &texts);
    } else if order.is_bytes_reversed() && !case.has_two_words {
        check(&case, &command, &order, &ByBytesReversed, &texts);
    } else if case.has_two_words {
        check(&case, &command, &order, &GnuOrder::<[u64; 2]>::new(&order), &texts);
    } else {
        check(&case, &command, &order, &GnuOrder::<[u64; 1]>::new(&order), &texts);
    }
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let mut lines = lines(&texts, command.terminator());
    lines.truncate(64);
    model::check_keys(&order, &lines);
    let mut scratch = Scratch::default();
    lines.sort_by(|a, b| order.compare(a, b, &mut scratch));
    model::check_keys(&order, &lines);
});

fn check<O: LineOrder>(case: &Case, command: &Command, order: &Order, by: &O, texts: &[Vec<u8>]) {
    let terminator = command.terminator();
    let mut sources: Vec<LinesInput> = texts.iter().map(|text| source(case, text)).collect();
    let header_lines = u64::from(case.header.unwrap_or(0));
    let mut output = match sources.first_mut().filter(|_| header_lines > 0) {
        Some(first) => take_header(first, Header::Lines(header_lines), terminator).unwrap(),
        None => Vec::new(),
    };
    let header_bytes = output.len();
    let disk = SimDisk::new(
        case.is_disk_rough.map_or_else(SimOptions::default, |seed| SimOptions::rough(seed.into())),
    );
    let has_file = case.is_output_a_file && case.top.is_none() && header_lines == 0;
    disk.put("/output", b"");
    let options = LinesOptions {
        delimiter: terminator,
        is_unique: command.unique,
        scratch: vec![PathBuf::from("/scratch")],
        codec: case.codec.map(|is_fast| if is_fast { Codec::Lz4 } else { Codec::Zstd }),
        output_file: has_file.then(|| PathBuf::from("/output")),
        ..LinesOptions::new(u64::from(case.budget % 8) << 19, usize::from(case.threads % 3) + 1)
    };
    let most = case.top.map_or(u64::MAX, |lines| u64::from(lines) + 1);
    let mut top = Top::new(&mut output, most, terminator);
    let report = match case.how {
        How::Sort => sort_lines(&options, by, sources, &mut top, &disk, &Unobserved),
        How::Merge => merge_lines(&options, by, sources, &mut top, &disk, &Unobserved),
        How::Heads => merge_sequential(&options, by, sources, &mut top, &Unobserved),
    };
    top.flush().unwrap();
    let report = match report {
        Ok(report) => report,
        // Grown texts have lines of up to 400 KiB; with little memory that is too long.
        Err(error) if error.to_string().contains("too long") => return,
        Err(error) => panic!("{error}"),
    };
    let written = if has_file { disk.get("/output").unwrap() } else { Vec::new() };
    let output = if written.is_empty() { output } else { written };
    assert_eq!(disk.open_files(), 0);
    judge(case, command, order, texts, header_bytes, &output, &report);
}

fn source(case: &Case, text: &[u8]) -> LinesInput {
    let bytes = Dribble::new(text.to_vec(), usize::from(case.dribble) * 8);
    LinesInput {
        path: PathBuf::from("lines"),
        bytes: case.is_size_known.then_some(text.len() as u64),
        content: Content::Stream(Box::new(bytes)),
    }
}

fn judge(
    case: &Case,
    command: &Command,
    order: &Order,
    texts: &[Vec<u8>],
    header_bytes: usize,
    output: &[u8],
    report: &LinesReport,
) {
    let terminator = command.terminator();
    let mut texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    // A header without an end gets one.
    let first = texts[0];
    let mut expected = first[..header_bytes.min(first.len())].to_vec();
    if header_bytes > first.len() {
        expected.push(terminator);
    }
    let header_lines = usize::from(case.header.unwrap_or(0));
    let in_header = expected.iter().filter(|&&byte| byte == terminator).count();
    assert!(in_header == header_lines || (in_header < header_lines && header_bytes >= first.len()));
    texts[0] = &first[header_bytes.min(first.len())..];
    let mut all = lines(&texts, terminator);
    assert_eq!(report.lines, all.len() as u64);
    let body = match case.how {
        How::Sort | How::Merge => model::sorted(command, order, &mut all),
        How::Heads => by_heads(command, order, &texts),
    };
    assert_eq!(report.written_bytes, body.len() as u64);
    let most = case.top.map_or(usize::MAX, |lines| usize::from(lines) + 1);
    expected.extend(body.split_inclusive(|&byte| byte == terminator).take(most).flatten());
    assert!(output == expected, "{report:?}");
}

/// Always the smallest head, of equal ones that of the first source; `-u` drops what compares equal
/// to the last one written.
fn by_heads(command: &Command, order: &Order, texts: &[&[u8]]) -> Vec<u8> {
    let mut scratch = Scratch::default();
    let mut rest: Vec<VecDeque<&[u8]>> =
        texts.iter().map(|text| lines(&[text], command.terminator()).into()).collect();
    let mut merged: Vec<&[u8]> = Vec::new();
    loop {
        let heads = rest.iter_mut().filter(|lines| !lines.is_empty());
        let Some(first) = heads.min_by(|a, b| order.compare(a[0], b[0], &mut scratch)) else {
            break;
        };
        merged.extend(first.pop_front());
    }
    let mut output = Vec::new();
    let mut last: Option<&[u8]> = None;
    for line in merged {
        if command.unique
            && last.is_some_and(|last| order.compare(last, line, &mut scratch).is_eq())
        {
            continue;
        }
        last = Some(line);
        output.extend_from_slice(line);
        output.push(command.terminator());
    }
    output
}
