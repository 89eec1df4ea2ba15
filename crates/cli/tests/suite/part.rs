//! A sort in parts: whole jobs beside the single command, and what must not be taken for a result.

use crate::lines_locales::words;
use crate::sandbox::{Sandbox, clean, names, program};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;
use xsort_gnu::Locale;
use xsort_testing::Random;

/// A job in a sandbox, whose slices are mapped to two directories in turns.
pub(crate) struct Job {
    pub(crate) sandbox: Sandbox,
    slices: usize,
    parts: usize,
}

impl Job {
    /// Plans, samples and splits a sort of these inputs.
    fn split(sandbox: Sandbox, inputs: &str, slice: &str, parts: usize, words: &str) -> Job {
        let plan = format!("part plan {inputs} --slice-size {slice} --parts {parts} -o job.json");
        // What stands behind -- is the command.
        let planned: Value =
            serde_json::from_str(&sandbox.ok(&format!("{plan} --json -- {words}"))).unwrap();
        let slices = planned["slices"].as_u64().unwrap() as usize;
        assert_eq!(planned["parts"], parts);
        let half = slices / 2;
        sandbox.ok(&format!("part sample job.json --slice {half}-{} -o 1.sample -q", slices - 1));
        let mut samples = "1.sample".to_owned();
        if half > 0 {
            let first = (0..half).map(|slice| slice.to_string()).collect::<Vec<_>>().join(",");
            sandbox.ok(&format!("part sample job.json --slice {first} -o 0.sample -q --keys 99"));
            samples += " 0.sample";
        }
        sandbox.ok(&format!("part split job.json {samples} -o splitters.json -q"));
        fs::create_dir(sandbox.path().join("a")).unwrap();
        fs::create_dir(sandbox.path().join("b")).unwrap();
        Job { sandbox, slices, parts }
    }

    /// The same, with all slices mapped.
    pub(crate) fn mapped(
        sandbox: Sandbox,
        inputs: &str,
        slice: &str,
        parts: usize,
        words: &str,
    ) -> Job {
        let job = Job::split(sandbox, inputs, slice, parts, words);
        for slice in 0..job.slices {
            job.map(slice, ["a", "b"][slice % 2]);
        }
        job
    }

    fn map(&self, slice: usize, to: &str) {
        let map = format!("part map job.json splitters.json --slice {slice} --to {to} -m 16M");
        let done = self.sandbox.json(&map);
        assert_eq!((&done["slice"], &done["was_done"]), (&slice.into(), &false.into()), "{done}");
    }

    fn merge_line(part: usize, from: &str) -> String {
        format!(
            "part merge job.json --part {part} {from} -o {part}.out --summary {part}.sum -m 64M"
        )
    }

    /// Merges all parts, validates them, and returns their outputs.
    fn outputs(&self, from: &str) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for part in 0..self.parts {
            self.sandbox.ok(&(Job::merge_line(part, from) + " -q"));
            all.push(self.sandbox.read(&format!("{part}.out")));
        }
        let verdict = self.sandbox.json(&self.validate_line());
        assert_eq!(verdict["ok"], true, "{verdict}");
        all
    }

    fn validate_line(&self) -> String {
        let at = |slice| format!("{}/slice-{slice}.json", ["a", "b"][slice % 2]);
        let manifests: Vec<String> = (0..self.slices).map(at).collect();
        let summaries: Vec<String> = (0..self.parts).map(|part| format!("{part}.sum")).collect();
        let (manifests, summaries) = (manifests.join(" "), summaries.join(" "));
        format!("part validate job.json --read --manifests {manifests} --summaries {summaries}")
    }
}

const DIRECTORIES: &str = "--from a --from b";

/// Records of 20 bytes, the first four of them the key.
fn records(count: usize, mut key: impl FnMut(usize) -> u32) -> Vec<u8> {
    let record =
        |number| [&key(number).to_le_bytes()[..], format!("{number:016}").as_bytes()].concat();
    (0..count).flat_map(record).collect()
}

/// Parts of one size, whatever the keys are, which are together what the single command writes.
#[test]
fn parts_of_records_are_the_sorted_file() {
    let mut random = Random::new(1);
    let any = records(40_000, |_| random.word() as u32);
    let skewed = records(40_000, |_| match random.below(10) {
        0..6 => 7,
        _ => random.word() as u32 % 99,
    });
    let equal = records(40_000, |_| 5);
    let words = "sort --record 20 --key 0:4:u32le:desc";
    for (inputs, slice, parts) in [
        (vec![&any], "300K", 3),
        (vec![&skewed, &any], "500K", 5),
        (vec![&equal], "300K", 4),
        (vec![&skewed], "10M", 1),
        (vec![&Vec::new()], "1M", 2),
        (vec![&any[..20].to_vec(), &any[..40].to_vec()], "20", 5),
    ] {
        let sandbox = Sandbox::new();
        let names: Vec<String> = (0..inputs.len()).map(|number| format!("in{number}")).collect();
        names.iter().zip(&inputs).for_each(|(name, bytes)| sandbox.write(name, bytes));
        let bytes: usize = inputs.iter().map(|bytes| bytes.len()).sum();
        let names = names.join(" ");
        sandbox.ok(&format!("{words} {names} -o sorted -q"));
        let job = Job::mapped(sandbox, &names, slice, parts, words);
        let outputs = job.outputs(DIRECTORIES);
        assert!(outputs.concat() == job.sandbox.read("sorted"), "{slice} {parts}");
        let largest = outputs.iter().map(Vec::len).max().unwrap();
        let is_even = bytes < 1000 || largest < bytes / parts + bytes / 8;
        assert!(is_even, "{largest} of {bytes} bytes in one of {parts} parts");
    }
}

#[test]
fn parts_of_lines_are_the_sorted_file() {
    let mut random = Random::new(2);
    let mut word = || ["b", "A", "", "a b", "\u{e9}", "zz"][random.below(6)];
    let mut text: String = (0..30_000).map(|n| format!("{},{},{n}\n", word(), n % 77)).collect();
    text += &format!("{},5,{}\nlast,without,end", word(), "long".repeat(40_000));
    for (words, parts) in [("lines", 3), ("lines -t, -k2,2n -s", 4), ("lines -z", 2)] {
        let sandbox = Sandbox::new();
        sandbox.write("in", &text);
        sandbox.write("more", "b,3,x\n\n");
        sandbox.ok(&format!("{words} in more -o sorted"));
        let job = Job::mapped(sandbox, "in more", "150K", parts, words);
        assert!(job.slices > 3 || words.ends_with('z'), "{}", job.slices);
        assert!(job.outputs(DIRECTORIES).concat() == job.sandbox.read("sorted"), "{words}");
    }
}

/// All but the header, which every part has.
#[test]
fn parts_of_tables_are_the_sorted_table() {
    let mut random = Random::new(3);
    let mut row = |n| format!("{},\"two\nlines {n}\"\n", random.below(50));
    let csv: String = (0..9000).map(&mut row).collect();
    let json: String =
        (0..9000).map(|n| format!("{{\"k\":{},\"n\":{n}}}\n", 7919 * n % 91)).collect();
    let header = "key,text\n";
    for (words, suffix, text, header) in [
        ("table --by key:int", "csv", &csv, header),
        ("table --by #1:int --no-header --format csv", "data", &csv, ""),
        ("table --by .k:int:desc", "ndjson", &json, ""),
    ] {
        let sandbox = Sandbox::new();
        let (half, names) = (text.len() / 2, format!("1.{suffix} 2.{suffix}"));
        let half = half
            + text[half..]
                .find("\"\n")
                .map_or_else(|| text[half..].find('\n').unwrap() + 1, |at| at + 2);
        sandbox.write(&format!("1.{suffix}"), [header, &text[..half]].concat());
        sandbox.write(&format!("2.{suffix}"), [header, &text[half..]].concat());
        sandbox.ok(&format!("{words} {names} -o sorted -q"));
        let job = Job::mapped(sandbox, &names, "50K", 3, words);
        let mut all = header.as_bytes().to_vec();
        for part in job.outputs(DIRECTORIES) {
            all.extend(part.strip_prefix(header.as_bytes()).unwrap());
        }
        assert!(all == job.sandbox.read("sorted"), "{words}");
    }
}

/// Files are slices as a whole: where a record ends is known only from the beginning.
#[test]
fn parts_of_prefixed_records_are_the_sorted_file() {
    let mut random = Random::new(5);
    let mut record = |number: usize| {
        let body = format!("{:03}{number}\0{}", random.below(500), "x".repeat(random.below(40)));
        [&(body.len() as u32).to_le_bytes()[..], body.as_bytes()].concat()
    };
    let sandbox = Sandbox::new();
    // The first one is in order by itself, and all of it lies below the others.
    let ascending = |number: u32| [&4_u32.to_le_bytes()[..], &number.to_be_bytes()].concat();
    sandbox.write("0", (0..9000).flat_map(ascending).collect::<Vec<u8>>());
    for name in 1..5 {
        sandbox.write(&name.to_string(), (0..5000).flat_map(&mut record).collect::<Vec<u8>>());
    }
    sandbox.write("5", [1, 0, 0, 0, b'z']);
    sandbox.write("6", "");
    let words = "sort --record prefixed:u32le --key 0:3:desc";
    sandbox.ok(&format!("{words} 0 1 2 3 4 5 6 -o sorted -q"));
    let job = Job::mapped(sandbox, "0 1 2 3 4 5 6", "150K", 4, words);
    assert!(job.slices > 3, "{}", job.slices);
    let outputs = job.outputs(DIRECTORIES);
    let sorted = job.sandbox.read("sorted");
    assert!(outputs.concat() == sorted);
    let largest = outputs.iter().map(Vec::len).max().unwrap();
    assert!(largest < sorted.len() / 2, "{largest}");
    // Two records change places.
    let (first, second) = outputs[1].split_at(4 + usize::from(outputs[1][0]));
    let (second, rest) = second.split_at(4 + usize::from(second[0]));
    job.sandbox.write("1.out", [rest, second, first].concat());
    let ended = job.sandbox.run(&job.validate_line());
    assert_eq!((ended.code, ended.stdout.contains("out of order")), (Some(1), true));
    job.sandbox.write("1.out", &outputs[1][..outputs[1].len() - 1]);
    let ended = job.sandbox.run(&job.validate_line());
    assert!(ended.code != Some(0) && ended.stderr.contains("is cut off"), "{}", ended.stderr);
    for (words, code, expected) in [
        ("sort --record prefixed:u8 --key 99999999:1", 2, "no record has a byte there"),
        ("sort --record prefixed:u64be", 3, "records may have"),
    ] {
        job.sandbox.ok(&format!("part plan 1 -o other.json --parts 2 -q -- {words}"));
        let error = job.sandbox.fails("part sample other.json --slice 0 -o x -m 64M", code);
        assert!(error.contains(expected), "{error}");
    }
}

/// Several times the memory of a merge, and more slices than it has memory for at once: neighbours
/// are merged to scratch first, of which nothing is left.
#[test]
fn a_part_larger_than_memory_is_merged_within_it() {
    let mut random = Random::new(4);
    let keys: Vec<u64> = (0..90_000).map(|_| random.word() % 100_000).collect();
    let all = |row: fn(usize, &u64) -> String| -> String {
        keys.iter().enumerate().map(|(number, key)| row(number, key)).collect()
    };
    let text = all(|number, key| format!("{key:05} {number:0220}\n"));
    let rows = all(|number, key| format!("{{\"k\":{key},\"n\":\"{number:0220}\"}}\n"));
    for (words, name, text) in
        [("lines -s -k1,1", "in", &text), ("table --by .k:int", "in.ndjson", &rows)]
    {
        let sandbox = Sandbox::new();
        sandbox.write(name, text);
        sandbox.ok(&format!("{words} {name} -o sorted"));
        let slice = (text.len() / 45).to_string();
        let job = Job::mapped(sandbox, name, &slice, 1, words);
        assert!(job.slices > 40, "{}", job.slices);
        fs::create_dir(job.sandbox.path().join("scratch")).unwrap();
        let merge = format!(
            "part merge job.json --part 0 {DIRECTORIES} -o 0.out --summary 0.sum -T scratch"
        );
        // Enough for some twenty slices, and a part in 64 MiB fits in.
        for memory in ["7M", "64M"] {
            job.sandbox.ok(&format!("{merge} -m {memory} -q"));
            assert_eq!(job.sandbox.sha256("0.out"), job.sandbox.sha256("sorted"), "{memory}");
            assert!(names(&job.sandbox.path().join("scratch")).is_empty());
            assert_eq!(job.sandbox.json(&job.validate_line())["ok"], true, "{words} {memory}");
        }
        // What is wrong with a slice is found in the first pass, too.
        let data = job.sandbox.path().join("b/slice-41.data");
        let mut bytes = fs::read(&data).unwrap();
        bytes[9] ^= 1;
        fs::write(&data, bytes).unwrap();
        let told = job.sandbox.json(&format!("{merge} -m 7M"));
        assert_eq!(told["damaged_slice"], 41, "{told}");
        let error = job.sandbox.fails(&format!("{merge} -m 3M"), 4);
        assert!(error.contains("it needs at least 7.00 MiB"), "{error}");
    }
}

/// The order is that of the job's locale, wherever its steps run.
#[test]
fn parts_in_the_order_of_a_language_are_the_sorted_file() {
    let text = words();
    let rows: String = String::from_utf8_lossy(&text)
        .lines()
        .map(|line| serde_json::json!({ "t": line }).to_string() + "\n")
        .collect();
    for locale in ["en_US.UTF-8", "sv_SE.UTF-8", "de_DE.UTF-8"] {
        if Locale::named(locale).is_none() {
            eprintln!("SKIPPED: there is no locale {locale}");
            continue;
        }
        for (words, name, bytes) in [
            ("lines", "in", &*text),
            ("lines -f -k2,2 -k1,1r", "in", &text),
            ("table --by .t:locale", "in.ndjson", rows.as_bytes()),
        ] {
            let sandbox = Sandbox::with_variables(&[("LC_ALL", locale)]);
            sandbox.write(name, bytes);
            sandbox.ok(&format!("{words} {name} -o sorted"));
            let mut job = Job::mapped(sandbox, name, "20K", 3, words);
            assert!(job.slices > 3, "{}", job.slices);
            // Merged where the environment names another one.
            job.sandbox.variables = vec![("LC_ALL".to_owned(), "C".to_owned())];
            let outputs = job.outputs(DIRECTORIES);
            assert!(outputs.concat() == job.sandbox.read("sorted"), "{locale} {words}");
            assert!(outputs.iter().all(|part| part.len() > bytes.len() / 6), "{locale} {words}");
        }
    }
}

/// A job of 1.2 MB in four slices, and three parts.
fn small() -> Job {
    let sandbox = Sandbox::new();
    sandbox.write("in", records(60_000, |number| 7919 * number as u32 % 50_000));
    Job::mapped(sandbox, "in", "300K", 3, "sort --record 20 --key 0:4:u32le")
}

#[test]
fn a_slice_that_is_missing_is_named() {
    let job = small();
    fs::remove_file(job.sandbox.path().join("b/slice-1.json")).unwrap();
    let line = Job::merge_line(0, DIRECTORIES);
    let told = job.sandbox.json(&line);
    assert_eq!(told["missing_slices"], serde_json::json!([1]), "{told}");
    assert!(job.sandbox.fails(&line, 3).contains("slices 1"), "the line");
    assert!(!job.sandbox.path().join("0.out").exists());
    // Twice the same is once.
    job.map(1, "a");
    job.map(0, "b");
    job.sandbox.ok(&(line + " -q"));
}

#[test]
fn a_slice_that_is_there_is_not_mapped_again() {
    let job = small();
    let map = "part map job.json splitters.json --slice 1 --to b";
    assert_eq!(job.sandbox.json(map)["was_done"], true);
    // Not if its data is shorter, or its index or manifest was cut.
    let data = job.sandbox.path().join("b/slice-1.data");
    fs::write(&data, &job.sandbox.read("b/slice-1.data")[..20]).unwrap();
    assert_eq!(job.sandbox.json(map)["was_done"], false);
    job.sandbox.write("b/slice-1.index", &job.sandbox.read("b/slice-1.index")[..99]);
    let error = job.sandbox.fails(&Job::merge_line(0, DIRECTORIES), 6);
    assert!(error.contains("slice 1 from b is damaged: its index"), "{error}");
    assert_eq!(job.sandbox.json(map)["was_done"], false);
    job.sandbox.write("b/slice-1.json", &job.sandbox.read("b/slice-1.json")[..99]);
    assert_eq!(job.sandbox.json(map)["was_done"], false);
    job.outputs(DIRECTORIES);
}

#[test]
fn other_jobs_and_splitters_are_refused() {
    let job = small();
    let sandbox = &job.sandbox;
    sandbox.ok("part plan in --parts 3 -o other.json -q -- sort --record 20 --key 4:4");
    sandbox.ok("part sample other.json --slice 0 -o other.sample -q");
    sandbox.ok("part split other.json other.sample -o other.splitters -q");
    for (line, expected) in [
        ("part map job.json other.splitters --slice 0 --to c", "splitters belong to the job"),
        ("part map other.json other.splitters --slice 0 --to a", "slice-0.json: it belongs to"),
        ("part merge other.json --part 0 --from a -o x", "slice 0 belongs to the job"),
        ("part split job.json other.sample -o x", "a sample belongs to the job"),
        ("part sample splitters.json --slice 0 -o x", "it is not a job"),
        ("part merge job.json --part 3 --from a -o x", "there is no part 3"),
        ("part map job.json splitters.json --slice 4 --to a", "there is no slice 4"),
        ("part split job.json 0.sample -o x", "no sample of the slices 2-3"),
        ("part split job.json 0.sample 1.sample 0.sample -o x", "slice 0 is sampled twice"),
    ] {
        let ended = sandbox.run(line);
        assert!(matches!(ended.code, Some(2 | 3)), "{line}: {:?}", ended.code);
        assert!(ended.stderr.contains(expected), "{line}: {}", ended.stderr);
        assert!(!sandbox.path().join("x").exists());
    }
    // The same slices, cut elsewhere.
    sandbox.ok("part sample job.json --slice 0-3 --keys 3 -o few.sample -q");
    sandbox.ok("part split job.json few.sample -o few.json -q");
    sandbox.ok("part map job.json few.json --slice 1 --to b -q");
    let error = sandbox.fails(&Job::merge_line(0, DIRECTORIES), 3);
    assert!(error.contains("other splitters"), "{error}");
}

#[test]
fn a_bit_that_flipped_is_found_before_the_part_is_there() {
    let job = small();
    let data = job.sandbox.path().join("a/slice-2.data");
    let mut bytes = fs::read(&data).unwrap();
    bytes[11] ^= 4;
    fs::write(&data, bytes).unwrap();
    let told = job.sandbox.json(&Job::merge_line(0, DIRECTORIES));
    assert_eq!((&told["damaged_slice"], &told["lost_source"]), (&2.into(), &"a".into()), "{told}");
    let error = job.sandbox.fails(&Job::merge_line(0, DIRECTORIES), 6);
    assert!(error.contains("slice 2 from a is damaged"), "{error}");
    assert!(!names(job.sandbox.path()).iter().any(|name| name.contains(".out")));
    job.sandbox.ok(&(Job::merge_line(2, DIRECTORIES) + " -q"));
}

#[test]
fn an_input_that_changed_is_an_error() {
    let job = small();
    job.sandbox.write("in", records(60_000, |number| number as u32));
    for line in
        ["part map job.json splitters.json --slice 0 --to b", "part sample job.json --slice 3 -o x"]
    {
        let error = job.sandbox.fails(line, 3);
        assert!(error.contains("has changed since the job was planned"), "{error}");
    }
    assert!(!job.sandbox.path().join("b/slice-0.json").exists());
}

/// Only the first input was asked for the column. The single command takes it from any.
#[test]
fn a_column_that_any_input_without_a_header_has_is_enough() {
    let sandbox = Sandbox::new();
    sandbox.write("short", "2\n9\n");
    sandbox.write("long", "1,b\n3,a\n");
    sandbox.write("nothing", "");
    let script = "printf '' | gzip >nothing.gz";
    std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(sandbox.path())
        .status()
        .unwrap();
    let words = "table --by #2,#1:int --no-header --format csv";
    for inputs in ["nothing nothing.gz short long", "long short nothing.gz", "short short long"] {
        sandbox.ok(&format!("{words} {inputs} -o sorted -q"));
        let directory = Sandbox::new();
        for name in inputs.split(' ') {
            directory.write(name, sandbox.read(name));
        }
        let outputs = Job::mapped(directory, inputs, "1K", 2, words).outputs(DIRECTORIES);
        assert!(outputs.concat() == sandbox.read("sorted"), "{inputs}");
    }
    for inputs in ["short short", "nothing.gz short", "short"] {
        let line = format!("part plan {inputs} -o other.json -q -- {words}");
        let error = sandbox.fails(&line, 2);
        assert!(
            error.contains("short: there is no column #2 in its first row, which has 1"),
            "{error}"
        );
    }
}

/// The single command counts them, and the steps said nothing of them.
#[test]
fn bad_rows_of_all_slices_are_counted() {
    let sandbox = Sandbox::new();
    let rows = |bad: u32| {
        let row = |number| if number < bad { "none\n".to_owned() } else { format!("{number}\n") };
        format!("n\n{}", (0..2000).map(row).collect::<String>())
    };
    sandbox.write("0.csv", rows(3));
    sandbox.write("1.csv", rows(0));
    sandbox.write("2.csv", rows(70));
    let words = "table --by n:int --on-bad last";
    let whole = sandbox.json(&format!("{words} 0.csv 1.csv 2.csv -o sorted"));
    assert_eq!(whole["bad_rows"], 73);
    let job = Job::mapped(sandbox, "0.csv 1.csv 2.csv", "8K", 2, words);
    assert_eq!(job.slices, 3);
    job.outputs(DIRECTORIES);
    assert_eq!(job.sandbox.json(&job.validate_line())["bad_rows"], 73);
    let said = job.sandbox.ok(&job.validate_line());
    assert!(said.contains("73 rows with a value of another type"), "{said}");
    let again = "part map job.json splitters.json --slice 2 --to a -m 16M";
    let again = job.sandbox.json(again);
    assert_eq!((&again["was_done"], &again["bad_rows"]), (&true.into(), &70.into()), "{again}");
    // Where they are errors, there is no count.
    let job = small();
    job.outputs(DIRECTORIES);
    assert!(job.sandbox.json(&job.validate_line()).get("bad_rows").is_none());
}

/// Changed fields were believed, but for those that add up with others.
#[test]
fn a_summary_that_was_changed_is_refused_by_name() {
    let job = small();
    job.outputs(DIRECTORIES);
    let written = String::from_utf8(job.sandbox.read("1.sum")).unwrap();
    let summary: Value = serde_json::from_str(&written).unwrap();
    for (name, value) in summary.as_object().unwrap() {
        let changed = match value {
            Value::Number(number) => (number.as_u64().unwrap() + 1).into(),
            Value::String(text) => format!("{text}0").into(),
            other => panic!("{name}: {other}"),
        };
        let mut other = summary.clone();
        other[name] = changed;
        job.sandbox.write("1.sum", other.to_string());
        let line = job.validate_line().replace(" --read", " -q");
        let error = job.sandbox.fails(&line, 3);
        assert!(error.contains("1.sum: it is not the summary of a part"), "{name}: {error}");
    }
    // Whatever writes it anew may order it otherwise.
    job.sandbox.write("1.sum", summary.to_string());
    job.sandbox.ok(&(job.validate_line() + " --outputs -q"));
}

#[test]
fn an_output_that_changed_is_not_valid() {
    let job = small();
    job.outputs(DIRECTORIES);
    let mut bytes = job.sandbox.read("1.out");
    bytes.swap(15, 35);
    job.sandbox.write("1.out", &bytes);
    let ended = job.sandbox.run(&job.validate_line());
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("INVALID"), "{}", ended.stdout);
    let line = job.validate_line().replace("1.sum", "0.sum");
    let verdict = job.sandbox.json(&line);
    assert_eq!(
        (&verdict["ok"], &verdict["fault"]),
        (&false.into(), &"part 0 is there twice".into())
    );
}

#[test]
fn options_that_say_nothing_of_the_order_are_refused_by_name() {
    let sandbox = Sandbox::new();
    sandbox.write("in", [0; 100]);
    for (words, expected) in [
        ("sort --format gensort -m 1G", "--memory says nothing"),
        ("sort --format gensort --method merge", "--method says nothing"),
        ("sort in", "there are inputs"),
        ("lines -u", "--unique"),
        ("lines -R", "random order"),
        ("lines -o x", "how lines compare"),
        ("lines in", "how lines compare"),
        ("lines --frobnicate", "unrecognized option"),
        ("table --by id:int --unique --format csv", "--unique says nothing"),
        ("table --shuffle --format csv", "--shuffle says nothing"),
        ("verify", "'verify' can't be sorted in parts"),
    ] {
        let error = sandbox.fails(&format!("part plan in -o job.json -- {words}"), 2);
        assert!(error.contains(expected), "{words}: {error}");
    }
    assert_eq!(sandbox.names(), ["in"]);
}

/// A server of a directory, and its URL.
pub(crate) struct Server {
    process: Child,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn of(sandbox: &Sandbox, directory: &str) -> Server {
        let mut process = clean(program())
            .args(["part", "serve", directory, "--until-stdin-closes"])
            .current_dir(sandbox.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Server { process, url: ready["url"].as_str().unwrap().to_owned() }
    }

    /// Its URL as messages have it.
    fn shown(&self) -> String {
        self.url.rsplit_once('/').unwrap().0.to_owned() + "/***"
    }

    fn token(&self) -> String {
        self.url.rsplit_once('/').unwrap().1.to_owned()
    }

    pub(crate) fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

#[test]
fn parts_are_merged_from_servers() {
    let job = small();
    job.sandbox.ok("sort --record 20 --key 0:4:u32le in -o sorted -q");
    let (a, b) = (Server::of(&job.sandbox, "a"), Server::of(&job.sandbox, "b"));
    let from = format!("--from {} --from {}", a.url, b.url);
    assert!(job.outputs(&from).concat() == job.sandbox.read("sorted"));
    let told = job.sandbox.json(&Job::merge_line(0, &format!("--from {}0 --from b", a.url)));
    assert_eq!(told["lost_source"], a.shown(), "without the secret: {told}");
    let (gone, shown) = (b.url.clone(), b.shown());
    a.end();
    b.end();
    let line = Job::merge_line(0, &format!("--from a --from {gone} --give-up-after 0"));
    let told = job.sandbox.json(&line);
    assert_eq!(told["lost_source"], shown, "{told}");
    assert_eq!(job.sandbox.run(&line).code, Some(5));
}

#[test]
fn sources_come_from_a_file_or_standard_input() {
    let job = small();
    job.sandbox.ok("sort --record 20 --key 0:4:u32le in -o sorted -q");
    let (a, b) = (Server::of(&job.sandbox, "a"), Server::of(&job.sandbox, "b"));
    fs::write(job.sandbox.path().join("urls"), format!("\n  {}\r\n{}\n\n", a.url, b.url)).unwrap();
    assert!(job.outputs("--from-file urls").concat() == job.sandbox.read("sorted"));
    fs::write(job.sandbox.path().join("urls"), &a.url).unwrap();
    assert!(job.outputs("--from b --from-file urls").concat() == job.sandbox.read("sorted"));
    fs::write(job.sandbox.path().join("none"), "\n\n").unwrap();
    for (from, code, words) in [
        ("--from-file none", 2, "none names no source"),
        ("--from-file missing", 2, "reading missing"),
        ("", 2, "--from"),
    ] {
        let run = job.sandbox.run(&Job::merge_line(0, from));
        assert!(run.stderr.contains(words), "{from}: {}", run.stderr);
        assert_eq!(run.code, Some(code), "{from}");
    }
    a.end();
    b.end();
}

#[test]
fn secrets_of_servers_are_not_told() {
    let job = small();
    let (a, b) = (Server::of(&job.sandbox, "a"), Server::of(&job.sandbox, "b"));
    let secrets = [a.token(), b.token()];
    let check = |from: &str, code: i32| {
        for json in ["", " --json", " --progress=always"] {
            let run = job.sandbox.run(&(Job::merge_line(0, from) + json));
            assert_eq!(run.code, Some(code), "{from}: {}", run.stderr);
            for secret in &secrets {
                let told = format!("{}{}", run.stdout, run.stderr);
                assert!(!told.contains(secret.as_str()), "{from}: {told}");
            }
        }
    };
    let (one, both) = (format!("--from {}", a.url), format!("--from {} --from {}", a.url, b.url));
    check(&both, 0);
    // A slice that no source has, a wrong secret, a slice that is damaged.
    check(&one, job.sandbox.run(&Job::merge_line(0, "--from a")).code.unwrap());
    check(&format!("--from {}0 --from {}", a.url, b.url), 5);
    let data = job.sandbox.path().join("b/slice-1.data");
    let data = if data.exists() { data } else { job.sandbox.path().join("b/slice-0.data") };
    let mut bytes = fs::read(&data).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 1);
    fs::write(&data, bytes).unwrap();
    let damaged = job.sandbox.run(&Job::merge_line(0, "--from a --from b")).code.unwrap();
    assert_ne!(damaged, 0);
    check(&both, damaged);
    a.end();
    b.end();
    check(&format!("{both} --give-up-after 0"), 5);
}

/// A step that is so slow that it can be killed.
fn slow(sandbox: &Sandbox, line: &str) -> Child {
    clean(program())
        .args(line.split_whitespace())
        .args(["--bandwidth-limit", "100K", "--json"])
        .current_dir(sandbox.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_source_that_dies_in_the_middle_is_named() {
    let job = small();
    let mut server = Server::of(&job.sandbox, "b");
    let from = format!("--from a --from {} --give-up-after 0", server.url);
    let merge = slow(&job.sandbox, &Job::merge_line(0, &from));
    sleep(Duration::from_millis(300));
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let ended = merge.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((ended.status.code(), &told["lost_source"]), (Some(5), &server.shown().into()));
    assert!(!job.sandbox.path().join("0.out").exists());
}

/// And can be run again.
#[test]
fn what_was_killed_is_not_taken_for_complete() {
    let job = small();
    fs::create_dir(job.sandbox.path().join("c")).unwrap();
    let map = "part map job.json splitters.json --slice 0 --to c";
    let merge = Job::merge_line(0, DIRECTORIES);
    for line in [map, &merge] {
        let mut step = slow(&job.sandbox, line);
        sleep(Duration::from_millis(200));
        step.kill().unwrap();
        step.wait().unwrap();
    }
    for file in ["c/slice-0.json", "0.out", "0.sum"] {
        assert!(!job.sandbox.path().join(file).exists(), "{file}");
    }
    assert_eq!(job.sandbox.json(map)["was_done"], false);
    job.outputs(DIRECTORIES);
}
