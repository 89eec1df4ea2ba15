//! `xsort lines` with records of several lines, compared with a stable sort of the records by the
//! standard library.

use crate::sandbox::{Sandbox, clean, program};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use xsort_testing::Random;

const FASTQ: &str = "--record-lines=4";

/// Reads of FASTQ, each as its four lines.
fn reads(count: usize) -> Vec<[String; 4]> {
    let random = &mut Random::new(61);
    (0..count)
        .map(|number| {
            let bytes = random.below(160);
            let sequence: String =
                (0..bytes).map(|_| random.one_of(&['A', 'C', 'G', 'T'])).collect();
            let name = format!("@run.{} lane:{number}", random.below(count));
            [name, sequence, "+".to_owned(), "I".repeat(bytes)]
        })
        .collect()
}

fn text(reads: &[[String; 4]]) -> Vec<u8> {
    reads.iter().map(|lines| lines.join("\n") + "\n").collect::<String>().into_bytes()
}

fn sorted_by<K: Ord>(reads: &[[String; 4]], key: impl FnMut(&[String; 4]) -> K) -> Vec<u8> {
    let mut sorted = reads.to_vec();
    sorted.sort_by_key(key);
    text(&sorted)
}

fn first_field(line: &str) -> String {
    line.split(' ').next().unwrap().to_owned()
}

struct Ended {
    status: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

/// Runs `xsort lines OPTIONS`, and pipes `input` to it.
fn run(sandbox: &Sandbox, options: &[&str], input: &[u8]) -> Ended {
    let mut child = clean(program())
        .arg("lines")
        .args(options)
        .current_dir(sandbox.path())
        .env("XSORT_STATUS", "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // What is refused reads nothing.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    });
    let stderr = String::from_utf8(output.stderr).unwrap();
    Ended { status: output.status.code(), stdout: output.stdout, stderr }
}

/// The standard output of `xsort lines OPTIONS` of `input`.
#[track_caller]
fn lines(sandbox: &Sandbox, options: &[&str], input: &[u8]) -> Vec<u8> {
    let run = run(sandbox, options, input);
    assert_eq!(run.status, Some(0), "{options:?}: {}", run.stderr);
    run.stdout
}

/// The message of `xsort lines OPTIONS`, which is refused.
#[track_caller]
fn refused(sandbox: &Sandbox, options: &[&str], input: &[u8]) -> String {
    let run = run(sandbox, options, input);
    assert_eq!((run.status, &run.stdout[..]), (Some(2), &b""[..]), "{options:?}: {}", run.stderr);
    run.stderr
}

#[test]
fn reads_are_sorted_by_name_sequence_and_length() {
    let sandbox = Sandbox::new();
    let reads = reads(3000);
    let input = text(&reads);
    let whole = |read: &[String; 4]| read.join("\n");
    let number = |read: &[String; 4]| {
        let name = first_field(&read[0]);
        name.trim_start_matches("@run.").parse::<u64>().unwrap()
    };
    let cases: [(&[&str], Vec<u8>); 10] = [
        (&[], sorted_by(&reads, whole)),
        (&["-k1,1"], sorted_by(&reads, |read| (first_field(&read[0]), whole(read)))),
        (&["-k1,1", "-s"], sorted_by(&reads, |read| first_field(&read[0]))),
        (&["-k1,1V", "-s"], sorted_by(&reads, number)),
        (&["-kL2", "-s"], sorted_by(&reads, |read| read[1].clone())),
        (&["-kL2.3,3", "-tA", "-s"], {
            sorted_by(&reads, |read| read[1].split('A').nth(2).unwrap_or("").to_owned())
        }),
        (&["-klength(L2)", "-s"], sorted_by(&reads, |read| read[1].len())),
        (&["-klength(L2)r", "-kL2", "-s"], {
            sorted_by(&reads, |read| (std::cmp::Reverse(read[1].len()), read[1].clone()))
        }),
        (&["-klength", "-s"], sorted_by(&reads, |read| whole(read).len())),
        (&[r"-k/lane:(\d+)/nr"], {
            let mut all = reads.clone();
            all.reverse();
            text(&all)
        }),
    ];
    for (options, expected) in &cases {
        for memory in [&[][..], &["-S4M"], &["-S16M", "--parallel=2"]] {
            let options = [&["--record-lines=4"], memory, options].concat();
            assert!(lines(&sandbox, &options, &input) == *expected, "{options:?}");
        }
    }
}

#[test]
fn what_is_spilled_comes_back_in_order() {
    let sandbox = Sandbox::new();
    let mut reads = reads(9000);
    for read in &mut reads {
        read[1] += &"ACGT".repeat(300);
    }
    sandbox.write("in.fastq", text(&reads));
    for (key, expected) in [
        ("-kL2", sorted_by(&reads, |read| read[1].clone())),
        ("-k1,1", sorted_by(&reads, |read| first_field(&read[0]))),
    ] {
        let run = run(&sandbox, &[FASTQ, "-S5M", "-s", "-v", key, "in.fastq", "-o", "out"], b"");
        assert!(run.status == Some(0) && run.stderr.contains("of scratch"), "{}", run.stderr);
        assert!(run.stderr.contains("sorted   9,000 records"), "{}", run.stderr);
        assert!(sandbox.read("out") == expected, "{key}");
    }
}

#[test]
fn compressed_reads_come_and_go() {
    let sandbox = Sandbox::new();
    let reads = reads(2000);
    let expected = sorted_by(&reads, |read| read[1].clone());
    sandbox.write("in.fastq", text(&reads));
    for packed in ["in.fastq.gz", "in.fq.bgz", "in.fastq.zst"] {
        // Sorted by the lane is as it was.
        lines(&sandbox, &[FASTQ, r"-k/lane:(\d+)/n", "in.fastq", "-o", packed], b"");
        for out in ["out.fastq.gz", "out.zst", "out"] {
            lines(&sandbox, &[FASTQ, "-kL2", "-s", packed, "-o", out], b"");
            let again = lines(&sandbox, &[FASTQ, "-k/none/", "-s", out], b"");
            assert!(again == expected, "{packed} {out}");
        }
    }
    let head = sandbox.read("out.fastq.gz");
    assert_eq!(&head[12..14], b"BC", "gzip in blocks, by its name");
}

#[test]
fn several_inputs_each_begin_with_a_record() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "2\nx\n3\ny");
    sandbox.write("b", "1\nz\n");
    let sorted = lines(&sandbox, &["--record-lines=2", "a", "b"], b"");
    assert_eq!(sorted, b"1\nz\n2\nx\n3\ny\n");
    sandbox.write("a", " of an older file\nB\n c\n");
    sandbox.write("b", " d\nA\n");
    let sorted = lines(&sandbox, &["--record-begins=/^[A-Z]/", "-s", "a", "b"], b"");
    assert_eq!(sorted, b" d\n of an older file\nA\nB\n c\n");
}

#[test]
fn a_trace_stays_below_its_line_of_the_log() {
    let sandbox = Sandbox::new();
    let random = &mut Random::new(4);
    let mut records = Vec::new();
    for number in 0..2000 {
        let mut record = format!("20{:02}-01-02 event {number}\n", random.below(90) + 10);
        for _ in 0..random.below(4) * random.below(9) {
            writeln!(record, "\tat line {} of 2001-1", random.below(99)).unwrap();
        }
        records.push(record);
    }
    let input = records.concat().into_bytes();
    records.sort_by_key(|record| first_field(record));
    let expected = records.concat().into_bytes();
    for begins in [r"/^\d{4}-/", "20"] {
        for memory in ["-S4M", "-S64M"] {
            let options = ["--record-begins", begins, "-k1,1", "-s", memory];
            assert!(lines(&sandbox, &options, &input) == expected, "{options:?}");
        }
    }
}

#[test]
fn entries_end_with_blank_lines() {
    let sandbox = Sandbox::new();
    let by_name = ["--record-ends-blank", "-k", "/^cn: (.*)$/", "-s"];
    let input = b"dn: 1\ncn: b\n\n\ndn: 2\ncn: a\n\ndn: 3\n\ndn: 4\ncn: 0";
    let expected = b"dn: 3\n\ndn: 4\ncn: 0\n\ndn: 2\ncn: a\n\ndn: 1\ncn: b\n\n\n";
    assert_eq!(lines(&sandbox, &by_name, input), expected);
    assert_eq!(lines(&sandbox, &by_name, expected), expected, "sorted again, it is the same");
    let of_windows = b"b\r\n2\r\n\r\na\r\n1\r\n";
    let sorted = b"a\r\n1\r\n\r\nb\r\n2\r\n\r\n";
    assert_eq!(lines(&sandbox, &["--record-ends-blank"], of_windows), sorted);
    let begins_blank = b"\n\nb\n\na\n\n";
    assert_eq!(lines(&sandbox, &["--record-ends-blank"], begins_blank), b"\n\na\n\nb\n\n");
}

#[test]
fn the_first_of_equal_records_is_kept() {
    let sandbox = Sandbox::new();
    let input = b"b 1\nx\na 2\ny\nb 3\nz\na 2\ny\n";
    let pairs = "--record-lines=2";
    assert_eq!(lines(&sandbox, &[pairs, "-u", "-k1,1"], input), b"a 2\ny\nb 1\nx\n");
    assert_eq!(lines(&sandbox, &[pairs, "-u"], input), b"a 2\ny\nb 1\nx\nb 3\nz\n");
    assert_eq!(lines(&sandbox, &[pairs, "-u", "-k1,1g"], input), b"b 1\nx\n");
    assert_eq!(lines(&sandbox, &[pairs, "-R", "-u"], input).len(), 18);
    assert_eq!(lines(&sandbox, &[pairs, "--top=2", "-k1,1r"], input), b"b 1\nx\nb 3\nz\n");
    let ends = b"b\n\n\na\n\nc\n";
    assert_eq!(lines(&sandbox, &["--record-ends-blank", "--top=2"], ends), b"a\n\nb\n\n\n");
}

#[test]
fn a_header_is_before_the_first_record() {
    let sandbox = Sandbox::new();
    let input = b"# of all\nb\n2\na\n1\n";
    let expected = b"# of all\na\n1\nb\n2\n";
    for header in ["--header", "--header-prefix=#"] {
        assert_eq!(lines(&sandbox, &["--record-lines=2", header], input), expected);
    }
    let message = refused(&sandbox, &["--record-lines=3", "--header"], input);
    assert!(message.contains("record 2, which begins at byte 15, has 1 of 3 lines"), "{message}");
}

#[test]
fn few_records_are_sorted_too() {
    let sandbox = Sandbox::new();
    for rule in ["--record-lines=2", "--record-begins=a", "--record-ends-blank"] {
        assert_eq!(lines(&sandbox, &[rule], b""), b"");
    }
    assert_eq!(lines(&sandbox, &["--record-lines=2"], b"b\na"), b"b\na\n");
    assert_eq!(lines(&sandbox, &["--record-lines=1", "-k/./r"], b"b\na\n"), b"b\na\n");
    assert_eq!(lines(&sandbox, &["--record-lines=2", "-r"], b"a\n\0\nb\n\0"), b"b\n\0\na\n\0\n");
    assert_eq!(
        lines(&sandbox, &["--record-lines=2", "-z", "-kL2"], b"a\0z\0b\0y"),
        b"b\0y\0a\0z\0"
    );
    let folded = lines(&sandbox, &["--record-lines=2", "-f"], b"b\nx\nA\ny\na\nZ\n");
    assert_eq!(folded, b"A\ny\na\nZ\nb\nx\n");
}

#[test]
fn a_record_that_is_cut_short_is_an_error_with_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write("in.fastq", "@b\nA\n+\n!\n@a\nC\n");
    sandbox.write("out", "old");
    let refusal = refused(&sandbox, &[FASTQ, "in.fastq", "-o", "out"], b"");
    let message = "record 2, which begins at byte 9, has 2 of 4 lines, where the input ends: \
                   complete or remove it, or say how many lines a record has (--record-lines)";
    assert!(refusal.contains(&format!(": in.fastq: {message}")), "{refusal}");
    assert_eq!(sandbox.read("out"), b"old");
}

#[test]
fn a_record_that_is_too_long_names_the_memory_that_is_enough() {
    let sandbox = Sandbox::new();
    let long = format!("b\n{}a\n2\n", "line\n".repeat(200_000));
    let with = |memory| ["--record-begins=/^[ab]/", "-S", memory];
    let refusal = refused(&sandbox, &with("8M"), long.as_bytes());
    assert!(refusal.contains("a record of 1000002 bytes is too long"), "{refusal}");
    let enough = refusal.split("-S ").nth(1).and_then(|text| text.split(' ').next()).unwrap();
    let sorted = lines(&sandbox, &with(enough), long.as_bytes());
    assert!(sorted.starts_with(b"a\n2\nb\nline\n") && sorted.len() == long.len(), "{enough}");
    let refusal = refused(&sandbox, &with("1M"), b"a\n");
    assert!(refusal.contains("needs at least -S 4M"), "{refusal}");
}

#[test]
fn a_check_finds_the_first_record_out_of_order() {
    let sandbox = Sandbox::new();
    let check = |options: &[&str], input: &[u8]| {
        run(&sandbox, &[&["--record-lines=2"], options].concat(), input)
    };
    assert_eq!(check(&["-c"], b"a\n2\nb\n1\n").status, Some(0));
    assert_eq!(check(&["-C", "-kL2"], b"a\n2\nb\n1\n").status, Some(1));
    let run = check(&["-c", "-kL2"], b"a\n2\nb\n1\n");
    assert_eq!(run.status, Some(1));
    assert!(run.stderr.ends_with(": -: record 2: disorder: b\n"), "{}", run.stderr);
    assert_eq!(check(&["-cu", "-k1,1"], b"a\n2\na\n3\n").status, Some(1));
    let run = check(&["-c"], b"a\n2\nb\n");
    assert!(run.status == Some(2) && run.stderr.contains("has 1 of 2 lines"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_read() {
    let sandbox = Sandbox::new();
    for (options, part) in [
        (&["--record-lines=2", "-m"][..], "don't go with -m"),
        (&["--record-lines=2", "--debug"], "don't go with --debug"),
        (&["--record-lines=2", "-u", "--count"], "don't go with --count"),
        (&["--record-lines=2", "--shuffle"], "don't go with --shuffle"),
        (&["--record-lines=2", "--within=5"], "don't go with --sorted-by and --within"),
        (&["--record-lines=2", "--checkpoint", "-o", "x"], "don't go with --checkpoint"),
        (&["--record-lines=2", "--write-index=gzi", "-o", "x.gz"], "don't go with --write-index"),
        (&["--record-lines=2", "--record-ends-blank"], "one of --record-lines"),
        (&["--record-lines=0"], "must be nonzero"),
        (&["--record-begins="], "needs a text"),
        (&["--record-begins=//"], "needs a text"),
        (&["--record-begins=/(/"], "invalid regular expression '(': unclosed group"),
        (&["--record-begins=/a{9999}{9999}/"], "it is too large"),
        (&["--record-lines=2", "-k/a"], "between two slashes"),
        (&["--record-lines=2", "-k/a/x"], "stray character"),
        (&["--record-lines=2", "-klength(L2)n"], "take only the letter r"),
        (&["--record-lines=2", "-klength(2)"], "stray character"),
        (&["--record-lines=2", "-kL0"], "line number is zero"),
        (&["--record-lines=2", "-kL2.x"], "invalid number at field start"),
        (&["-kL2"], "invalid number at field start"),
        (&["-kL2", "--", "--record-lines=2"], "a key of a record needs --record-lines"),
    ] {
        let message = refused(&sandbox, &[options, &["missing"]].concat(), b"");
        assert!(message.contains(part), "{options:?}: {message}");
    }
    let hint = refused(&sandbox, &["-klength"], b"");
    assert!(hint.contains("needs --record-lines, --record-begins or --record-ends"), "{hint}");
}

#[test]
fn a_plan_and_a_report_are_of_records() {
    let sandbox = Sandbox::new();
    sandbox.write("in", "b\n2\na\n1\n");
    lines(&sandbox, &["--record-lines=2", "--dry-run", "in"], b"");
    let run = run(&sandbox, &["--record-lines=2", "--json", "in", "-o", "out"], b"");
    assert!(run.stderr.contains("\"records\":2") && !run.stderr.contains("\"lines\":"));
}
