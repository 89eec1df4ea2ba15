//! Sorts lines, compared with the standard library's stable sort: with memory for all lines, for
//! some, and for very few.

use crate::adversity::NOW_AND_THEN;
use std::io::Read;
use std::path::PathBuf;
use xsort_disk::{Fault, FaultSite, FileRole, Operation, SimDisk, SimOptions};
use xsort_extsort::lines::{
    Content, LinesInput, OpenInput, SortedOutput, merge_sequential, sort_lines_to,
};
use xsort_extsort::{
    Codec, Compressed, Error, LinesOptions, LinesReport, Unobserved, merge_lines, sort_lines,
};
use xsort_kernels::lines::{ByBytes, line_hash};
use xsort_testing::{Dribble, Random, quick_or_long};

const MIB: u64 = 1 << 20;

pub(crate) fn options(budget_bytes: u64, threads: usize, is_unique: bool) -> LinesOptions {
    LinesOptions {
        is_unique,
        scratch: vec![PathBuf::from("/scratch")],
        ..LinesOptions::new(budget_bytes, threads)
    }
}

fn source(text: &[u8], is_size_known: bool) -> LinesInput {
    let bytes = Dribble::new(text.to_vec(), 70_001);
    LinesInput {
        path: PathBuf::from("lines"),
        bytes: is_size_known.then_some(text.len() as u64),
        content: Content::Stream(Box::new(bytes)),
    }
}

fn sort(
    options: &LinesOptions,
    texts: &[Vec<u8>],
    is_size_known: bool,
) -> Result<(Vec<u8>, LinesReport), Error> {
    let disk = SimDisk::new(SimOptions::default());
    let sources = texts.iter().map(|text| source(text, is_size_known)).collect();
    let mut output = Vec::new();
    let report = sort_lines(options, &ByBytes, sources, &mut output, &disk, &Unobserved)?;
    assert_eq!(report.written_bytes, output.len() as u64);
    Ok((output, report))
}

pub(crate) fn expected(texts: &[Vec<u8>], is_unique: bool) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = Vec::new();
    for text in texts {
        let mut own: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
        own.pop_if(|last| last.is_empty());
        lines.extend(own);
    }
    lines.sort();
    if is_unique {
        lines.dedup();
    }
    let mut text = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
    for line in lines {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text
}

fn check(options: &LinesOptions, texts: &[Vec<u8>]) -> Vec<LinesReport> {
    let (wanted, checksum) = (expected(texts, options.is_unique), sum_of(texts));
    let report = |is_size_known| {
        let (sorted, report) = sort(options, texts, is_size_known).unwrap();
        assert!(sorted == wanted, "{options:?}, size known: {is_size_known}");
        assert_eq!(report.checksum, Some(checksum));
        report
    };
    [true, false].map(report).into()
}

/// Returns the sum of all lines' hashes; the last line of a text may lack its delimiter.
fn sum_of(texts: &[Vec<u8>]) -> u64 {
    let lines = texts.iter().flat_map(|text| text.split_inclusive(|&byte| byte == b'\n'));
    lines.fold(0, |sum, line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        sum.wrapping_add(line_hash(line, line.len()))
    })
}

fn text(bytes: usize, mut line: impl FnMut(&mut Vec<u8>)) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 100);
    while text.len() < bytes {
        line(&mut text);
        text.push(b'\n');
    }
    text
}

fn short_numbers(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    text(bytes, |text| text.extend(format!("{}", random.word() % 100_000).bytes()))
}

fn long_alike(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let prefix = "the beginning that all of these lines share, longer than any index of blocks \
        keeps of it: "
        .repeat(2);
    text(bytes, |text| text.extend(format!("{prefix}{}", random.word() % 5000).bytes()))
}

/// Returns a text with few lines for its size.
fn wide(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    text(bytes, |text| {
        text.extend(random.word().to_string().bytes());
        text.resize(text.len() + 2000, b'w');
    })
}

fn one_line(bytes: usize) -> Vec<u8> {
    text(bytes, |text| text.extend(b"always the same"))
}

fn ascending(bytes: usize) -> Vec<u8> {
    let mut number = 0;
    text(bytes, |text| {
        number += 1;
        text.extend(format!("{number:09}").bytes());
    })
}

#[test]
fn few_lines_are_sorted_in_memory() {
    for lines in ["", "\n", "b", "b\na", "b\na\n", "\n\nb\n\na", "b\0c\nb\0a\nb\n"] {
        for threads in [1, 3] {
            let reports = check(&options(64 * MIB, threads, false), &[lines.as_bytes().to_vec()]);
            assert!(reports.iter().all(|report| report.spilled_bytes == 0));
        }
    }
}

#[test]
fn sources_without_a_last_delimiter_end_a_line() {
    let texts = ["c\na", "", "b", "\n"].map(|text| text.as_bytes().to_vec());
    let (sorted, _) = sort(&options(MIB, 1, false), &texts, true).unwrap();
    assert_eq!(sorted, b"\na\nb\nc\n");
}

#[test]
fn what_does_not_fit_goes_to_scratch() {
    for (threads, is_unique) in [(1, false), (2, true), (5, false)] {
        let texts = [
            short_numbers(6 << 20, 1),
            long_alike(6 << 20, 2),
            one_line(6 << 20),
            ascending(6 << 20),
        ];
        // All texts and threads, but only a long run has all pairs.
        for text in
            texts.into_iter().skip(quick_or_long(threads % 2, 0)).step_by(quick_or_long(2, 1))
        {
            let reports = check(&options(4 * MIB, threads, is_unique), &[text]);
            assert!(reports.iter().all(|report| report.spilled_bytes > 0), "{reports:?}");
        }
    }
}

#[test]
fn what_goes_to_scratch_is_compressed_if_that_is_asked() {
    let all = [(2 * MIB, 1), (6 * MIB, 5), (4 * MIB, 2)];
    // All sizes with both codecs, but only a long run has all pairs.
    for (row, codec) in [Codec::Lz4, Codec::Zstd].into_iter().enumerate() {
        for &(budget_bytes, threads) in &all[quick_or_long(row..row + 1, 0..all.len())] {
            let options =
                LinesOptions { codec: Some(codec), ..options(budget_bytes, threads, false) };
            for text in [long_alike(8 << 20, 2), one_line(6 << 20)] {
                for report in check(&options, std::slice::from_ref(&text)) {
                    let (before, after) = (report.spilled_bytes, report.scratch_bytes);
                    assert!(before > 0 && after < before / 2, "{report:?}");
                }
            }
            check(&options, &[short_numbers(8 << 20, 1)]);
        }
    }
}

#[test]
fn blocks_are_compressed_or_not_in_the_same_run() {
    let all = [(2 * MIB, 1), (6 * MIB, 3), (4 * MIB, 2)];
    for &(budget_bytes, threads) in &all[..quick_or_long(2, all.len())] {
        let options =
            LinesOptions { codec: Some(NOW_AND_THEN), ..options(budget_bytes, threads, false) };
        for report in check(&options, &[long_alike(9 << 20, 2)]) {
            let Compressed { lz4_bytes, zstd_bytes } = report.compressed;
            // The timing of threads decides how much each codec gets.
            assert!(lz4_bytes.min(zstd_bytes) > 0, "{report:?}");
            assert!(lz4_bytes + zstd_bytes + 100_000 < report.spilled_bytes, "{report:?}");
        }
        // Lines of at least a block's length among others.
        let long = |length: usize| text(length, |text| text.resize(length, b'l'));
        let lengths = [15_000, 16_383, 16_384, 50_000].map(long).concat();
        check(&options, &[wide(6 << 20, 5), lengths, short_numbers(4 << 20, 6)]);
    }
}

/// Compression of random bytes is hardly ever tried.
#[test]
fn what_does_not_shrink_stays_as_it_is() {
    let mut random = Random::new(1);
    let noise = text(8 << 20, |text| {
        let word = |_| random.word().to_le_bytes().map(|byte| if byte == b'\n' { 0 } else { byte });
        text.extend((0..12).flat_map(word));
    });
    let options = LinesOptions { codec: Some(NOW_AND_THEN), ..options(2 * MIB, 2, false) };
    for report in check(&options, &[noise]) {
        assert_eq!(report.compressed, Compressed::default());
        assert!(report.spilled_bytes > 6 << 20, "{report:?}");
    }
}

/// The memory of compression was once not subtracted from the bytes of each thread, which then had
/// no block.
#[test]
fn many_threads_may_compress() {
    let texts = [short_numbers(10 << 20, 1)];
    for &codec in &[NOW_AND_THEN, Codec::Lz4, Codec::Zstd][..quick_or_long(1, 3)] {
        check(&LinesOptions { codec: Some(codec), ..options(32 * MIB, 64, false) }, &texts);
    }
}

/// A file of /proc reports a size of 0, and a log grows. A spill once waited for a second block of
/// half a small write buffer.
#[test]
fn an_input_may_be_much_larger_than_it_said() {
    let text = short_numbers(14 << 20, 1);
    let wanted = expected(std::slice::from_ref(&text), false);
    for codec in quick_or_long(
        &[None, Some(NOW_AND_THEN)][..],
        &[None, Some(Codec::Lz4), Some(Codec::Zstd), Some(NOW_AND_THEN)],
    ) {
        let codec = *codec;
        let disk = SimDisk::new(SimOptions::default());
        let source = LinesInput { bytes: Some(64 << 10), ..source(&text, false) };
        let options = LinesOptions { codec, ..options(256 * MIB, 2, false) };
        let mut output = Vec::new();
        sort_lines(&options, &ByBytes, vec![source], &mut output, &disk, &Unobserved).unwrap();
        assert!(output == wanted, "{codec:?}");
    }
}

#[test]
fn more_runs_than_memory_has_blocks_for_take_several_passes() {
    let texts = [short_numbers(2 << 20, 3), long_alike(2 << 20, 4), wide(160 << 20, 11)];
    for (threads, codec) in [(1, None), (3, Some(NOW_AND_THEN))] {
        let options = LinesOptions { codec, ..options(2 * MIB, threads, false) };
        let (sorted, report) = sort(&options, &texts, false).unwrap();
        assert!(sorted == expected(&texts, false), "{threads} threads");
        // The first pass writes each line, and another pass writes the lines of a few runs.
        assert!(report.spilled_bytes > report.bytes / 20 * 21, "{report:?}");
    }
}

/// The budget is divided into many areas, and a run has the lines of several areas.
#[test]
fn many_runs_are_large() {
    let texts = [wide(100 << 20, 10)];
    for (threads, runs_max) in [(1, 80), (2, 110)] {
        let (sorted, report) = sort(&options(4 * MIB, threads, false), &texts, false).unwrap();
        assert!(sorted == expected(&texts, false), "{threads} threads");
        assert!(report.runs < runs_max, "{report:?}");
        // No data was written twice.
        assert!(report.spilled_bytes < 101 << 20, "{report:?}");
    }
}

/// Reads that fill an area when the next area may be smaller.
#[test]
fn what_an_area_could_not_take_goes_to_the_next() {
    let texts = [short_numbers(3 << 20, 8), long_alike(2 << 20, 9), vec![b'\n'; 1 << 16]];
    for (budget_bytes, threads) in [(2 * MIB, 1), (8 * MIB, 2), (12 * MIB, 3)] {
        let disk = SimDisk::new(SimOptions::default());
        let whole = |text: &Vec<u8>| LinesInput {
            path: PathBuf::from("lines"),
            bytes: Some(text.len() as u64),
            content: Content::Stream(Box::new(std::io::Cursor::new(text.clone()))),
        };
        let sources = texts.iter().map(whole).collect();
        let mut output = Vec::new();
        sort_lines(
            &options(budget_bytes, threads, false),
            &ByBytes,
            sources,
            &mut output,
            &disk,
            &Unobserved,
        )
        .unwrap();
        assert!(output == expected(&texts, false), "{budget_bytes} bytes, {threads} threads");
    }
}

/// There are no more chunks than areas, so in no order of events does a chunk wait for another
/// one's memory.
#[test]
fn what_fits_stays_in_memory() {
    for report in check(&options(64 * MIB, 2, false), &[short_numbers(4 << 20, 5)]) {
        assert_eq!(report.spilled_bytes, 0, "{report:?}");
        assert!(report.runs > 1, "{report:?}");
    }
}

#[test]
fn long_lines_are_whole() {
    let mut random = Random::new(6);
    let lengths: Vec<usize> = (0..40).map(|_| random.word() as usize % 200_000).collect();
    let mut lines = lengths.iter();
    let text = text(lengths.iter().sum::<usize>() + lengths.len(), |text| {
        let length = *lines.next().unwrap_or(&0);
        text.extend((0..length).map(|at| b'a' + (at * at + length) as u8 % 20));
    });
    check(&options(64 * MIB, 2, false), &[text]);
}

/// Returns short lines, with `long` lines of about `bytes` bytes among them. Many of these have a
/// common prefix.
fn some_long(short_bytes: usize, long: usize, bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = Vec::new();
    text.extend(short_numbers(short_bytes / (long + 1), random.word()));
    for _ in 0..long {
        text.extend(short_numbers(short_bytes / (long + 1), random.word()));
        let bytes = bytes - random.word() as usize % (bytes / 4);
        let first = random.word() as u8 % 3;
        text.extend(
            (0..bytes).map(|at| b'1' + if at < 1000 { first } else { (at * at / 7) as u8 % 20 }),
        );
        text.push(b'\n');
    }
    text
}

/// Such lines were once refused if they didn't fit a block of at most 1 MiB.
#[test]
fn lines_longer_than_blocks_go_through_scratch_and_passes() {
    for (budget_bytes, threads, codec) in
        [(2 * MIB, 1, None), (4 * MIB, 2, Some(Codec::Lz4)), (7 * MIB, 3, Some(Codec::Zstd))]
    {
        let long_bytes = budget_bytes as usize / 10;
        for is_unique in quick_or_long(&[threads % 2 == 0][..], &[false, true]) {
            let options = LinesOptions { codec, ..options(budget_bytes, threads, *is_unique) };
            let mut texts: Vec<Vec<u8>> = (1..4)
                .map(|seed| some_long(budget_bytes as usize / 3, 2, long_bytes, seed))
                .collect();
            texts.push(texts[0].clone());
            texts.push(some_long(100_000, 30, 40_000, 9));
            for report in check(&options, &texts) {
                assert!(report.spilled_bytes > budget_bytes, "{report:?}");
            }
        }
    }
}

#[test]
fn a_full_drive_is_named_with_the_output_file() {
    let settings = SimOptions { capacity_bytes: Some(1 << 20), ..SimOptions::default() };
    let disk = SimDisk::new(settings);
    let inputs = vec![source(&short_numbers(4 << 20, 1), false)];
    let output = SortedOutput::File { path: "/out/sorted".as_ref(), sync: true };
    let options = options(64 * MIB, 2, false);
    let error = sort_lines_to(&options, &ByBytes, inputs, output, &disk, &Unobserved);
    let said = error.unwrap_err().to_string();
    assert!(said.contains("/out/sorted") && said.contains("No space left"), "{said}");
    assert_eq!((disk.open_files(), disk.paths().len()), (0, 0));
}

#[test]
fn a_line_may_be_alone_and_almost_as_long_as_memory_allows() {
    for threads in [1, 2] {
        let mut long = vec![b'x'; 1_800_000];
        long.push(b'\n');
        let texts = [short_numbers(9 << 20, 1), long.clone(), short_numbers(1 << 20, 2), long];
        check(&options(8 * MIB, threads, false), &texts);
    }
}

/// Returns the memory that such an error calls enough.
fn enough_bytes(error: &str) -> u64 {
    let (_, rest) = error.split_once("-S ").unwrap_or_else(|| panic!("{error}"));
    rest.split_once('M').unwrap().0.parse::<u64>().unwrap() * MIB
}

#[test]
fn a_line_that_is_too_long_for_the_budget_is_refused_with_one_that_is_enough() {
    for threads in [1, 2] {
        let mut long = vec![b'x'; 3 << 20];
        long.push(b'\n');
        let texts = [short_numbers(5 << 20, 1), long.clone(), b"b\na\n".to_vec(), long];
        let error = sort(&options(2 * MIB, threads, false), &texts, false).unwrap_err().to_string();
        assert!(error.starts_with("lines: a line of 3145729 bytes is too long"), "{error}");
        let enough = enough_bytes(&error);
        assert!(enough < 16 * MIB, "{error}");
        check(&options(enough, threads, false), &texts);
        // The line's place in an area may save one MiB.
        assert!(sort(&options(enough - 2 * MIB, threads, false), &texts, false).is_err());
    }
}

/// Sorts large files from the disk and to it, with small files between them.
fn sort_files(
    disk: &SimDisk,
    texts: &[Vec<u8>],
    is_unique: bool,
) -> (Result<LinesReport, Error>, Option<Vec<u8>>) {
    let file = |(number, text): (usize, &Vec<u8>)| {
        let path = PathBuf::from(format!("/input-{number}"));
        disk.put(&path, text);
        let bytes = std::io::Cursor::new(text.clone());
        let content = Content::File(OpenInput::new(move || Ok(Box::new(bytes.clone()) as _)));
        LinesInput { path, bytes: Some(text.len() as u64), content }
    };
    let sources = texts.iter().enumerate().map(file).collect();
    disk.put("/output", b"");
    let options = LinesOptions {
        output_file: Some(PathBuf::from("/output")),
        ..options(8 * MIB, 2, is_unique)
    };
    let report = sort_lines(&options, &ByBytes, sources, &mut Vec::new(), disk, &Unobserved);
    (report, disk.get("/output"))
}

#[test]
fn large_files_pass_the_page_cache() {
    let mut whole = long_alike(17 << 20, 11);
    whole.truncate((17 << 20) + 1);
    let texts = [long_alike((16 << 20) + 5, 10), short_numbers(1 << 10, 12), whole];
    for is_unique in [false, true] {
        let disk = SimDisk::new(SimOptions::rough(u64::from(is_unique)));
        let (report, output) = sort_files(&disk, &texts, is_unique);
        assert_eq!(report.unwrap().written_bytes, output.as_ref().unwrap().len() as u64);
        assert!(output.unwrap() == expected(&texts, is_unique));
        assert_eq!(disk.open_files(), 0);
    }
}

#[test]
fn an_output_that_fails_past_the_page_cache_ends_where_it_failed() {
    let texts = [long_alike(17 << 20, 13)];
    let whole = expected(&texts, false);
    for place in [1 << 20, 5 << 20, 16 << 20] {
        let fault = Fault {
            operation: Operation::Write,
            role: Some(FileRole::Output),
            site: FaultSite::Byte(place),
            errno: 28,
        };
        let disk = SimDisk::new(SimOptions { faults: vec![fault], ..SimOptions::default() });
        let (report, output) = sort_files(&disk, &texts, false);
        let Err(Error::Output(error)) = report else { panic!("{report:?}") };
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        let output = output.unwrap();
        assert!(
            output.len() as u64 <= place && whole.starts_with(&output),
            "{} bytes",
            output.len()
        );
        assert_eq!(disk.open_files(), 0);
    }
}

#[test]
fn an_input_that_fails_past_the_page_cache_is_named() {
    let texts = [long_alike(17 << 20, 14)];
    let fault = Fault {
        operation: Operation::Read,
        role: Some(FileRole::Input),
        site: FaultSite::Byte(9 << 20),
        errno: 5,
    };
    let disk = SimDisk::new(SimOptions { faults: vec![fault], ..SimOptions::default() });
    let (report, output) = sort_files(&disk, &texts, false);
    assert!(report.unwrap_err().to_string().contains("/input-0"));
    assert_eq!(output.unwrap(), b"");
    assert_eq!(disk.open_files(), 0);
}

#[test]
fn a_source_that_fails_is_named() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no more"))
        }
    }
    let broken = || LinesInput {
        path: PathBuf::from("the-source"),
        bytes: None,
        content: Content::Stream(Box::new(Broken)),
    };
    let disk = SimDisk::new(SimOptions::default());
    for threads in [1, 2] {
        let sources = vec![source(b"b\na\n", false), broken()];
        let result = sort_lines(
            &options(MIB, threads, false),
            &ByBytes,
            sources,
            &mut Vec::new(),
            &disk,
            &Unobserved,
        );
        assert!(result.unwrap_err().to_string().contains("the-source"));
    }
}

#[test]
fn an_output_that_takes_no_more_ends_the_sort() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let disk = SimDisk::new(SimOptions::default());
    for threads in [1, 3] {
        let sources = vec![source(&short_numbers(3 << 20, 7), true)];
        let result = sort_lines(
            &options(64 * MIB, threads, false),
            &ByBytes,
            sources,
            &mut Full,
            &disk,
            &Unobserved,
        );
        assert!(matches!(result, Err(Error::Output(_))), "{result:?}");
    }
}

fn merge(options: &LinesOptions, texts: &[Vec<u8>]) -> Result<(Vec<u8>, LinesReport), Error> {
    let disk = SimDisk::new(SimOptions::default());
    let sources = texts.iter().map(|text| source(text, false)).collect();
    let mut output = Vec::new();
    let report = merge_lines(options, &ByBytes, sources, &mut output, &disk, &Unobserved)?;
    Ok((output, report))
}

#[test]
fn sources_in_order_are_merged() {
    for (threads, is_unique) in [(1, false), (2, true), (3, false)] {
        let sorted =
            |seed| expected(&[short_numbers(300_000, seed), long_alike(200_000, seed)], false);
        let mut texts: Vec<Vec<u8>> = (0..5).map(sorted).collect();
        texts.push(Vec::new());
        texts.push(b"a line without an end".to_vec());
        let (merged, report) = merge(&options(16 * MIB, threads, is_unique), &texts).unwrap();
        assert!(merged == expected(&texts, is_unique));
        assert_eq!(report.spilled_bytes, 0);
    }
}

#[test]
fn more_sources_than_memory_has_blocks_for_are_merged_in_passes() {
    let sorted = |seed| expected(&[short_numbers(20_000, seed)], false);
    let texts: Vec<Vec<u8>> = (0..300).map(sorted).collect();
    let (merged, report) = merge(&options(2 * MIB, 1, false), &texts).unwrap();
    assert!(merged == expected(&texts, false));
    assert!(report.spilled_bytes > 0, "{report:?}");
}

#[test]
fn sources_out_of_order_lose_no_line() {
    let texts: Vec<Vec<u8>> = (0..4).map(|seed| short_numbers(400_000, seed)).collect();
    for threads in [1, 3] {
        let (merged, _) = merge(&options(4 * MIB, threads, false), &texts).unwrap();
        assert!(expected(&[merged], false) == expected(&texts, false));
    }
}

#[test]
fn sources_in_order_may_have_long_lines() {
    for (threads, is_unique) in [(1, false), (2, true), (3, false)] {
        let sorted = |seed| expected(&[some_long(300_000, 5, 1_500_000, seed)], false);
        let mut texts: Vec<Vec<u8>> = (0..4).map(sorted).collect();
        texts.push(expected(&[short_numbers(3_000_000, 8)], false));
        let (merged, report) = merge(&options(32 * MIB, threads, is_unique), &texts).unwrap();
        assert!(merged == expected(&texts, is_unique));
        assert_eq!(
            report.lines,
            expected(&texts, false).iter().filter(|&&byte| byte == b'\n').count() as u64
        );
        assert_eq!(report.bytes, texts.iter().map(|text| text.len() as u64).sum::<u64>());
    }
}

#[test]
fn long_lines_of_sources_go_through_passes() {
    for codec in [None, Some(Codec::Lz4)] {
        let sorted = |seed| {
            expected(&[some_long(20_000, usize::from(seed % 100 == 0), 120_000, seed)], false)
        };
        let texts: Vec<Vec<u8>> = (0..300).map(sorted).collect();
        let (merged, report) =
            merge(&LinesOptions { codec, ..options(4 * MIB, 1, false) }, &texts).unwrap();
        assert!(merged == expected(&texts, false));
        assert!(report.spilled_bytes > 0, "{report:?}");
    }
}

#[test]
fn a_line_that_is_too_long_to_be_merged_is_refused_with_a_budget_that_is_enough() {
    for threads in [1, 2] {
        let mut long = vec![b'x'; 3 << 20];
        long.push(b'\n');
        let texts = [b"a\n".to_vec(), long.clone(), long];
        let error = merge(&options(4 * MIB, threads, false), &texts).unwrap_err().to_string();
        assert!(error.starts_with("lines: a line of 3145729 bytes is too long"), "{error}");
        let (merged, _) = merge(&options(enough_bytes(&error), threads, false), &texts).unwrap();
        assert!(merged == expected(&texts, false));
    }
    let many = vec![vec![b'x'; 3 << 20]; 7];
    let error = merge(&options(64 * MIB, 2, false), &many).unwrap_err().to_string();
    assert!(error.contains("without -m"), "{error}");
}

/// Merges by always taking the smallest head; of equal ones the first source's.
fn by_heads(texts: &[Vec<u8>], is_unique: bool) -> Vec<u8> {
    let lines = |text: &Vec<u8>| {
        let mut lines: Vec<Vec<u8>> =
            text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.pop_if(|last| last.is_empty());
        std::collections::VecDeque::from(lines)
    };
    let mut rest: Vec<_> = texts.iter().map(lines).collect();
    let mut merged: Vec<Vec<u8>> = Vec::new();
    while let Some(first) =
        rest.iter_mut().filter(|lines| !lines.is_empty()).min_by(|a, b| a[0].cmp(&b[0]))
    {
        merged.extend(first.pop_front());
    }
    if is_unique {
        merged.dedup();
    }
    merged.into_iter().flat_map(|line| [line, vec![b'\n']].concat()).collect()
}

#[test]
fn the_plain_merge_takes_the_smallest_head_whatever_the_order() {
    let mut random = Random::new(1);
    let mut below = |end: usize| random.below(end);
    for round in 0..quick_or_long(100, 300) {
        let alphabet = [2, 5, 200][round % 3];
        let texts: Vec<Vec<u8>> = (0..below(20))
            .map(|_| {
                let mut text = Vec::new();
                for _ in 0..below(30) {
                    let length = if below(40) == 0 { 200_000 } else { below(20) };
                    text.extend((0..length).map(|_| b'a' + below(alphabet) as u8 % 20));
                    text.push(b'\n');
                }
                text.truncate(text.len() - usize::from(text.len() > 1 && below(2) == 0));
                text
            })
            .collect();
        for is_unique in [false, true] {
            let options = options(2 * MIB, 1, is_unique);
            let sources = texts.iter().map(|text| source(text, false)).collect();
            let mut output = Vec::new();
            let report =
                merge_sequential(&options, &ByBytes, sources, &mut output, &Unobserved).unwrap();
            assert_eq!(report.written_bytes, output.len() as u64);
            assert!(output == by_heads(&texts, is_unique), "round {round}, unique: {is_unique}");
        }
    }
}
