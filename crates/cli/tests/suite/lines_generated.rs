//! Random options and inputs, from fixed seeds: scripts must behave the same with GNU sort and with
//! xsort.
//!
//! `XSORT_SEEDS=50000 cargo test -p xsort-cli generated` runs more seeds, `XSORT_SEED=7` runs one
//! seed alone.

use crate::lines::{Outcome, run_in};
use crate::sandbox::clean;
use std::path::Path;
use xsort_testing::{Random, gnu, seeds};

/// The number of scripts by default, and of scripts whose inputs go to scratch. The whole takes
/// some seconds.
const SCRIPTS: u64 = 70;
const LARGE_SCRIPTS: u64 = 2;

/// Options, of which a few are combined. If some exclude each other, both programs must refuse
/// alike.
const OPTIONS: &[&str] = &[
    "-n",
    "-r",
    "-u",
    "-s",
    "-f",
    "-b",
    "-d",
    "-i",
    "-g",
    "-h",
    "-V",
    "-M",
    "-z",
    "-m",
    "-c",
    "-C",
    "-k2",
    "-k2,2",
    "-k1,1n",
    "-k2n",
    "-k2,2r",
    "-k1.2,1.3",
    "-k3,1",
    "-k2b,2",
    "-k1,1f",
    "-k2,2V",
    "-k2h",
    "-k1,1M",
    "-k2g",
    "-k1,1b -k2,2nr",
    "-t:",
    "-t:",
    "-t,",
    "-t.",
    "-t-",
    "-ta",
    "-t '\\0'",
    "-k2.1b,2.3b",
    "-k0",
    "-k1x",
    "+1",
    "+1 -2",
    "+0.1n -1.2b",
    "--parallel=2",
    "--debug",
    "--sort=human",
    "--sort=ver",
    "--numeric",
    "--ignore-case",
    "--check=quiet",
    "-S1M",
    "-Sx",
    "--batch-size=2",
    "-o out",
    "-o 1",
    "-R --random-source=seed",
    "-k1,1R --random-source=seed",
];

/// The parts of lines.
const PIECES: &[&[u8]] = &[
    b"a",
    b"b",
    b"B",
    b"A",
    b"ab",
    b" ",
    b"  ",
    b"\t",
    b":",
    b":",
    b",",
    b"0",
    b"1",
    b"2",
    b"10",
    b"007",
    b"-",
    b"+",
    b"-1",
    b"1.5",
    b".5",
    b"-.0",
    b"1e3",
    b"1e-4950",
    b"3K",
    b"2M",
    b"1Ki",
    b"9Y",
    b"1,000",
    b"1.000",
    b"1\x80000",
    b"1\xA0000K",
    b"jan",
    b"FEB",
    b"dec",
    b"Mai",
    b"v1.2",
    b"v1.10",
    b"~",
    b"_",
    b".",
    b"..",
    b".a",
    b"x",
    b"\x01",
    b"nan",
    b"inf",
    b"-INFINITY",
    b"0x1f",
    b"0x1p-3",
    b"0x",
    b"99999999999999999999",
    b"a.tar.gz",
    b"b-1.0~rc1",
    b"\xE4",
    b"\xFD",
    b"\xC3\xA4",
    b"\xC4\xB1",
    b"\xFF",
    b"\x0B",
    b"\r",
    b"\x7F",
    b"'",
    b"ch",
];

/// Locales that are compiled for the test: name, source and character set.
const LOCALES: [(&str, &str, &str); 3] = [
    ("en_US.UTF-8", "en_US", "UTF-8"),
    ("cs_CZ.ISO-8859-2", "cs_CZ", "ISO-8859-2"),
    ("tr_TR.ISO-8859-9", "tr_TR", "ISO-8859-9"),
];

/// The names of the available locales. Those of `LOCALES` are in a folder of their own.
fn locales(folder: &Path) -> Vec<&'static str> {
    let make = |&(name, source, characters): &(&'static str, &str, &str)| {
        let made = clean("localedef")
            .args(["-i", source, "-f", characters])
            .arg(folder.join(name))
            .output();
        made.is_ok_and(|made| made.status.success()).then_some(name)
    };
    let mut names = vec!["C", "C", "C", "C.UTF-8", "no_SUCH"];
    names.extend(LOCALES.iter().filter_map(make));
    if names.len() == 5 {
        eprintln!("SKIPPED: `localedef` or the sources of its locales are missing");
    }
    names
}

/// Calls `one` with each seed, its random numbers, the locales, and the folder of these.
fn for_each_case(cases: u64, one: impl Fn(u64, &mut Random, &[&'static str], &str)) {
    if !gnu::has("sort") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let locales = locales(folder.path());
    for seed in seeds(cases) {
        one(seed, &mut Random::new(seed), &locales, folder.path().to_str().unwrap());
    }
}

#[test]
fn generated_scripts_cannot_tell_it_from_gnu_sort() {
    for_each_case(SCRIPTS, |seed, random, locales, folder| {
        let options: Vec<&str> = (0..random.below(5)).map(|_| random.one_of(OPTIONS)).collect();
        let options = options.join(" ");
        let files = [
            ("seed", b"sixteen bytes or more".to_vec()),
            ("1", text(random)),
            ("2", text(random)),
            ("3", text(random)),
        ];
        let script = match random.below(9) {
            0 => format!("sort {options} 1"),
            1 => format!("sort {options} 1 >s1; sort {options} 2 >s2; sort {options} -m s1 s2"),
            2 => format!("cat 2 | sort {options} 1 - 3"),
            3 => format!("sort {options} <2; sort {options} 1 2 >s; sort {options} -C s; echo $?"),
            4 => format!("sort {options} -m 1 2 3 1"),
            5 => format!("sort {options} 1 2 -o 2"),
            6 => format!("sort {options} -m 3 2 -o 2"),
            _ => format!("sort {options} 1 2"),
        };
        let locale = random.one_of(locales);
        let run = |is_ours| in_locale(&script, &files, locale, folder, is_ours);
        assert_eq!(run(true), run(false), "seed {seed}, {locale}: {script}");
    });
}

/// Scratch is used, also in several passes, and all threads take part.
#[test]
fn generated_large_inputs_come_out_as_gnu_sorts() {
    for_each_case(LARGE_SCRIPTS, |seed, random, locales, folder| {
        let bytes = (1 + random.below(4)) << 20;
        let mut files = [
            ("seed", b"sixteen bytes or more".to_vec()),
            ("1", large(random, bytes)),
            ("2", large(random, 1 << 20)),
        ];
        let orders = [
            "",
            "-n",
            "-k2",
            "-k2n",
            "-f",
            "-k1.3,1.5",
            "-g",
            "-h",
            "-V",
            "-b -k2,2",
            "-z",
            "-R --random-source=seed",
        ];
        let ways = ["", "", "-u", "-s", "-r", "-us", "-rs", "-m", "-mu"];
        let options = [
            random.one_of(&orders),
            random.one_of(&ways),
            random.one_of(&["-S500K", "-S2M", "-S3M", "-S50M"]),
            random.one_of(&["--parallel=1", "--parallel=2", "--parallel=3"]),
        ];
        if options[0] == "-g" {
            files.iter_mut().for_each(|(_, bytes)| leave_out_nans(bytes));
        }
        let options = options.join(" ");
        let script = match random.below(3) {
            0 => format!("cat 1 2 | sort {options} -T . | cksum"),
            1 => format!("sort {options} -T . 1 2 1 | cksum"),
            _ => format!("sort {options} -T . 2 1 -o 1"),
        };
        let locale = random.one_of(locales);
        let run = |is_ours| in_locale(&script, &files, locale, folder, is_ours);
        assert_eq!(run(true), run(false), "seed {seed}, {locale}: {script}");
    });
}

/// Lines that may all be late, and lines in the order of the first key, in all orders.
#[test]
fn generated_lines_that_come_nearly_in_order_come_out_as_gnu_sorts() {
    for_each_case(SCRIPTS, |seed, random, locales, folder| {
        let files = [("1", text(random)), ("2", text(random))];
        let key = random.one_of(&["1", "1,1", "2,2n", "2,2h", "1,1V", "1.2,1.3f", "2b,2", "1M"]);
        let more = random.one_of(&["", "-k2", "-k2,2r", "-k1,1f -k3"]);
        let ways = random.one_of(&["", "-u", "-s", "-r", "-z", "-t:", "-d", "-fr"]);
        let options = format!("{ways} -k{key} {more}");
        let locale = random.one_of(locales);
        for (before, how) in
            [("cat 1 2".to_owned(), "--within=99"), (format!("sort -s {ways} -k{key} 1 2"), "")]
        {
            let how = if how.is_empty() { format!("--sorted-by={key}") } else { how.to_owned() };
            let script = |how: &str| format!("{before} | sort {how} {options}");
            let run = |script: &str, is_ours| in_locale(script, &files, locale, folder, is_ours);
            let (ours, theirs) = (run(&script(&how), true), run(&script(""), false));
            assert_eq!(ours, theirs, "seed {seed}, {locale}: {}", script(&how));
        }
    });
}

/// GNU sort's order of NaNs depends on the memory next to them: another `-S` leads to another
/// order.
fn leave_out_nans(text: &mut [u8]) {
    for at in 2..text.len() {
        if text[at - 2..=at].eq_ignore_ascii_case(b"nan") {
            text[at - 1] = b'o';
        }
    }
}

/// Messages stay English in any locale.
fn in_locale(
    script: &str,
    files: &[(&str, Vec<u8>)],
    locale: &str,
    folder: &str,
    is_ours: bool,
) -> Outcome {
    let variables = [("LANG", locale), ("LC_MESSAGES", "C"), ("LOCPATH", folder)];
    run_in(&["sh", "-c", script], &variables, files, is_ours)
}

fn text(random: &mut Random) -> Vec<u8> {
    let few = random.below(2) == 0;
    let pieces: Vec<&[u8]> =
        (0..if few { 8 } else { 100 }).map(|_| random.one_of(PIECES)).collect();
    let mut text = Vec::new();
    for _ in 0..random.below(40) {
        (0..random.below(6)).for_each(|_| text.extend(random.one_of(&pieces)));
        let end = if random.below(30) == 0 { b'\0' } else { b'\n' };
        text.push(end);
    }
    if random.below(4) == 0 {
        text.pop();
    }
    text
}

fn large(random: &mut Random, bytes: usize) -> Vec<u8> {
    let kind = random.below(4);
    let mut text = Vec::new();
    while text.len() < bytes {
        match kind {
            0 => text.extend(random.below(1 << 30).to_string().bytes()),
            1 => (0..random.below(6)).for_each(|_| text.extend(random.one_of(PIECES))),
            2 => text.extend(
                format!("the same for long in all lines {}", random.below(1 << 20)).bytes(),
            ),
            _ => text.extend(format!("{} {}\t", random.below(100), random.below(1 << 20)).bytes()),
        }
        text.push(if random.below(20) == 0 { b'\0' } else { b'\n' });
    }
    text
}
