//! Tries each option of each command once, with each kind of value. The list of options comes from
//! the program: its definition as a completion script. An option without a case fails the test.

use crate::sandbox::Sandbox;
use std::collections::{BTreeMap, BTreeSet};

/// An option, with values that are accepted, and values that are refused as usage. An option
/// without a value has one empty value.
type Case = (&'static str, &'static [&'static str], &'static [&'static str]);

/// A valid command line, and the options that may follow it.
struct Cases {
    /// The name of the command in the completion script.
    command: &'static str,
    /// A line that runs before each case.
    line: &'static str,
    options: &'static [&'static [Case]],
    /// The statuses of an accepted value. The next field has those of a refused one.
    taken: &'static [i32],
    refused: &'static [i32],
}

const FLAG: &[&str] = &[""];
const NUMBERS: &[&str] = &["x", "-1", "", "99999999999999999999999"];

const RESOURCES: &[Case] = &[
    ("memory", &["64M", "64MiB", "1%"], &["x", "-1", "", "64Q", "0%"]),
    ("threads", &["0", "2"], NUMBERS),
    ("io", &["auto", "sync"], &["x", ""]),
    ("temperature-limit", &["199"], &["0", "201", "x", ""]),
    ("bandwidth-limit", &["1G", "1.5GiB"], &["x", "0", "", "-1"]),
    ("s3-part-size", &["5M"], &["4M", "6G", "x", ""]),
    ("s3-connections", &["16"], &["0", "1025", "x", ""]),
    ("verify-output", &[], &["=x"]),
];
const REPORT: &[Case] = &[
    ("json", FLAG, &["=x"]),
    ("progress", &["", "=never", "=always", "=auto"], &["=x", "="]),
    ("quiet", FLAG, &["=x"]),
    ("verbose", FLAG, &["=x"]),
    COLOR,
];
const RUN_FILES: &[Case] = &[
    ("report", &["page.html"], &["", "-", "missing/page.html", "/dev/null"]),
    ("trace", &["trace.json"], &["", "-", "missing/trace.json"]),
];
const COLOR: Case = ("color", &["", "=never", "=always", "=auto"], &["=x", "="]);
const HELP: Case = ("help", FLAG, &[]);
const OUTPUT: &[Case] =
    &[("dry-run", FLAG, &[]), ("no-clobber", FLAG, &[]), ("no-sync", FLAG, &[])];
const CHECKPOINTS: &[Case] = &[
    ("checkpoint", FLAG, &["=x"]),
    ("resume", FLAG, &["=x"]),
    ("restart", FLAG, &["=x"]),
    ("checkpoint-every", &["1 --checkpoint", "0.5 --checkpoint"], &["1", "x --resume", "-1"]),
];
const RECORDS: &[Case] = &[
    ("format", &["gensort", "block4k", "kv128", "gensort-ascii"], &["x", ""]),
    ("record", &["100", "prefixed:u8"], &["0", "x", "", "-1", "prefixed:x"]),
    ("key", &["0:4:u32le:desc --record 100"], &["0:4", "x --record 100", " --record 100"]),
    ("count-links", FLAG, &["=x"]),
    ("allow-empty", FLAG, &["=x"]),
];

const ALL: &[Cases] = &[
    Cases {
        command: "gen",
        line: "gen 100r new",
        options: &[
            RESOURCES,
            REPORT,
            RUN_FILES,
            OUTPUT,
            &[
                HELP,
                ("format", &["gensort", "block4k", "kv128", "gensort-ascii"], &["x", ""]),
                ("skewed", FLAG, &["=x"]),
                ("pattern", &["uniform", "zipf"], &["x", ""]),
                ("start", &["0", "340282366920938463463374607431768211"], &["x", "-1", ""]),
                ("seed", &["0", "7"], NUMBERS),
            ],
        ],
        taken: &[0],
        refused: &[2],
    },
    Cases {
        command: "sort",
        line: "sort in -o new",
        options: &[
            RECORDS,
            RESOURCES,
            REPORT,
            RUN_FILES,
            OUTPUT,
            CHECKPOINTS,
            &[
                HELP,
                ("scratch", &["."], &[""]),
                ("compress", &["none", "lz4", "zstd", "auto"], &["x", ""]),
                ("method", &["auto", "merge", "scatter"], &["x", ""]),
                ("merge", &["", "=any", "=sorted"], &["=x", "="]),
                ("cache-size", &["1M"], &["x", "", "-1"]),
                ("stable", FLAG, &["=x"]),
                ("remove-input", FLAG, &["=x"]),
                ("probe", FLAG, &["=x"]),
                ("output", &["other"], &[]),
            ],
        ],
        // Records of another size, options that exclude each other, and too little memory.
        taken: &[0, 2, 3, 4],
        refused: &[2, 3],
    },
    Cases {
        command: "verify",
        line: "verify sorted",
        options: &[
            RECORDS,
            RESOURCES,
            REPORT,
            RUN_FILES,
            &[
                HELP,
                ("summary", &["new"], &[]),
                ("summaries", FLAG, &["=x"]),
                ("expect", &["0", "ff"], &["x", ""]),
                ("against", &["in"], &[]),
                ("by", &[], &["id", ""]),
            ],
        ],
        taken: &[0, 1, 2, 3],
        refused: &[2],
    },
    Cases {
        command: "table",
        line: "table a.csv --by id -o new.csv",
        options: &[
            RESOURCES,
            REPORT,
            RUN_FILES,
            OUTPUT,
            CHECKPOINTS,
            &[
                HELP,
                (
                    "by",
                    &["id:int", "#1", "\"id\":desc", "n:datetime(%Y)"],
                    &["x:y", "", "#0", "#9", "no"],
                ),
                ("format", &["csv", "tsv", "ndjson", "parquet", "arrow"], &["x", ""]),
                // For Parquet: columns.rs tries them.
                ("compression", &[], &["zstd", "none", "x", ""]),
                ("row-group-size", &[], &["5", "0", "x", ""]),
                ("output-format", &["csv"], &["x", ""]),
                // For conversions: columns.rs tries them.
                ("schema", &[], &["id:int64", "id", ""]),
                ("infer", &[], &["", "=x"]),
                ("delimiter", &[",", ";", "\\t"], &["ab", "", "\u{e9}"]),
                ("quote", &["'", "\"", "", "|"], &["ab", "\u{e9}", ","]),
                ("escape", &["\\", "'"], &["ab", ""]),
                ("comment", &["#", "i"], &["ab", ""]),
                ("no-header --by #1", FLAG, &[]),
                ("header-prefix", &["##", "i"], &[""]),
                ("unique", &["", "=first", "=last"], &["=x", "="]),
                (
                    "keep",
                    &["max:id:int --unique", "min:n --unique"],
                    &["max:id", "id --unique", "max:id:desc --unique", "max:id --unique=last"],
                ),
                ("count", &[" --unique"], &["", "=x"]),
                ("merge", &["", "=any", "=sorted"], &["=x", "="]),
                ("sorted-by", &["id"], &["n", "id:int", "x:y", ""]),
                ("within", &["0", "5", "100k", "2M", "10m", "0.5s"], &["x", "-1", "", "1.5", "5K"]),
                ("late", &["late.csv --within 5"], &["late.csv", "new.csv --within 5"]),
                ("shuffle", FLAG, &["=x"]),
                ("seed", &["1 --shuffle"], &["1", "x --shuffle"]),
                ("top", &["0", "1"], NUMBERS),
                ("file-size", &["1K"], &["0", "x", ""]),
                ("on-bad", &["error", "first", "last"], &["x", ""]),
                ("check", FLAG, &["=x"]),
                ("allow-empty", FLAG, &["=x"]),
                ("scratch", &["."], &[]),
                ("compress", &["none", "lz4", "zstd", "auto"], &["x", ""]),
                (
                    "write-index",
                    &[
                        "=tbi --no-header --index-columns=1,2 -o new.csv.gz",
                        "=gzi -o new.csv.gz",
                        " -o new.csv.gz --index-columns=bed",
                    ],
                    &["=x", ""],
                ),
                ("index-columns", &[], &["1,2", "bed", "x --write-index", ""]),
                ("min-shift", &[], &["14", "0 --write-index", "x --write-index", ""]),
                ("compress-output", &["bgzip", "gzip", "lz4", "zstd", "none"], &["xz", ""]),
                ("output", &["other.csv"], &[]),
            ],
        ],
        // Out of order, columns that don't exist in another dialect, values of another type.
        taken: &[0, 1, 2, 3],
        refused: &[2],
    },
    Cases {
        command: "bam",
        line: "bam in.bam -o new",
        options: &[
            RESOURCES,
            REPORT,
            RUN_FILES,
            OUTPUT,
            &[
                HELP,
                ("by", &["coordinate", "name", "name-bytes", "tag:NM"], &["x", "", "tag:"]),
                ("merge", FLAG, &["=x"]),
                ("write-index", &["", "=auto", "=bai", "=csi"], &["=tbi", "="]),
                ("no-pg", FLAG, &["=x"]),
                ("count-links", FLAG, &["=x"]),
                ("allow-empty", FLAG, &["=x"]),
                ("scratch", &["."], &[""]),
                ("compress", &["none", "lz4", "zstd", "auto"], &["x", ""]),
                ("output", &["other"], &[]),
            ],
        ],
        taken: &[0],
        refused: &[2],
    },
    Cases {
        command: "bio",
        line: "bio bed --allow-empty empty",
        options: &[&[HELP]],
        taken: &[0],
        refused: &[2],
    },
    Cases {
        command: "status",
        line: "status",
        options: &[&[
            HELP,
            COLOR,
            // It needs a terminal.
            ("watch", FLAG, &["=x"]),
            ("json", FLAG, &["=x"]),
            ("clear", FLAG, &["=x"]),
            ("older-than", &["2d --clear"], &["2d", "2 --clear", " --clear", "x --clear"]),
            ("scratch", &["."], &[]),
        ]],
        taken: &[0, 2],
        refused: &[2],
    },
    Cases {
        command: "part plan",
        line: "part plan in -o job.json -- sort",
        options: &[
            RESOURCES,
            REPORT,
            &[
                HELP,
                ("slice-size", &["1M"], NUMBERS),
                ("part-size", &["1M"], NUMBERS),
                ("parts", &["2"], &["0", "x", "", "1000001"]),
                ("allow-empty", FLAG, &["=x"]),
                ("output", &["other"], &[]),
            ],
        ],
        taken: &[0, 2],
        refused: &[2],
    },
    Cases {
        command: "part sample",
        line: "part sample plan.json --slice 0 -o new",
        options: &[
            RESOURCES,
            REPORT,
            &[
                HELP,
                ("slice", &["0", "0-0"], &["x", "", "2-1", "9"]),
                ("keys", &["10"], NUMBERS),
                ("output", &["other"], &[]),
            ],
        ],
        taken: &[0, 2],
        refused: &[2],
    },
    Cases {
        command: "part split",
        line: "part split plan.json sample.json -o new",
        options: &[RESOURCES, REPORT, &[HELP, ("output", &["other"], &[])]],
        taken: &[0, 2],
        refused: &[2],
    },
    Cases {
        command: "part map",
        line: "part map plan.json splitters.json --slice 0 --to .",
        options: &[
            RESOURCES,
            REPORT,
            &[
                HELP,
                ("slice", &["0"], NUMBERS),
                ("to", &["."], &[]),
                ("scratch", &["."], &[]),
                ("sync", FLAG, &["=x"]),
            ],
        ],
        taken: &[0, 2],
        refused: &[2],
    },
    Cases {
        command: "part serve",
        line: "part serve . --until-stdin-closes",
        options: &[&[
            HELP,
            ("listen", &["127.0.0.1:0"], &["x", "", "127.0.0.1"]),
            ("advertise", &["localhost"], &[]),
            ("token-file", &["token"], &["missing", "latin1"]),
            ("until-stdin-closes", &[], &["=x"]),
        ]],
        taken: &[0, 2],
        refused: &[2, 3],
    },
    Cases {
        command: "part merge",
        line: "part merge plan.json --part 0 --from slices -o new",
        options: &[
            RESOURCES,
            REPORT,
            &[
                HELP,
                ("part", &["0"], NUMBERS),
                ("from", &["slices"], &[]),
                ("from-file", &[], &[""]),
                ("output", &["other"], &[]),
                ("give-up-after", &["1", "0.5"], &["x", "-1", ""]),
                ("summary", &["sum"], &[]),
                ("scratch", &["."], &[]),
                ("no-sync", FLAG, &["=x"]),
            ],
        ],
        taken: &[0, 2],
        refused: &[2],
    },
    Cases {
        command: "part validate",
        line: "part validate plan.json --manifests slices --summaries sums",
        options: &[
            RESOURCES,
            REPORT,
            &[
                HELP,
                ("manifests", &["slices", "missing"], &[]),
                ("summaries", &["sums", "missing"], &[]),
                ("outputs", FLAG, &["=x"]),
                ("read", FLAG, &["=x"]),
            ],
        ],
        taken: &[0, 1, 2, 3],
        refused: &[2],
    },
    Cases {
        command: "report",
        line: "report run.json",
        options: &[&[HELP, ("output", &["page.html", "-"], &["", "missing/x", "run.json"])]],
        taken: &[0],
        refused: &[2],
    },
    Cases {
        command: "completions",
        line: "completions bash",
        options: &[&[HELP]],
        taken: &[0],
        refused: &[2],
    },
    Cases { command: "man", line: "man", options: &[&[HELP]], taken: &[0], refused: &[2] },
];

/// The long options of each command, from the program's definition for fish.
fn defined(sandbox: &Sandbox) -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for line in sandbox.ok("completions fish").lines() {
        let Some((_, rest)) = line.split_once("__fish_xsort_using_subcommand ") else { continue };
        let Some((condition, rest)) = rest.split_once('"') else { continue };
        let words = condition
            .split("; and __fish_seen_subcommand_from ")
            .filter(|words| !words.starts_with("not"));
        let words: Vec<&str> = words.flat_map(|words| words.split(';').next()).collect();
        let options = all.entry(words.join(" ")).or_default();
        let mut words = rest.split_whitespace();
        while let Some(word) = words.next() {
            if word == "-d" {
                break;
            }
            if word == "-l" {
                options.extend(words.next().map(str::to_owned));
            }
        }
    }
    all
}

#[test]
fn each_option_of_each_command_has_a_known_end() {
    let sandbox = Sandbox::new();
    let defined = defined(&sandbox);
    // Other tests cover GNU's grammar, and the package's commands have their own.
    let others = ["lines", "du", "cluster", "help", "help part", "part", "part help"];
    let commands: Vec<&str> = defined.keys().map(String::as_str).collect();
    for command in commands.iter().filter(|command| !others.contains(command)) {
        assert!(ALL.iter().any(|cases| cases.command == *command), "no cases for {command}");
    }
    prepare(&sandbox);
    for cases in ALL {
        let tried = cases.options.iter().flat_map(|options| options.iter());
        let names = tried.map(|(name, ..)| name.split(' ').next().unwrap_or_default().to_owned());
        let names: BTreeSet<String> = names.collect();
        let expected = defined.get(cases.command).cloned().unwrap_or_default();
        assert_eq!(names, expected, "options of {}", cases.command);
        for &(name, good, bad) in cases.options.iter().flat_map(|options| options.iter()) {
            good.iter().for_each(|value| run(&sandbox, cases, name, value, cases.taken));
            bad.iter().for_each(|value| run(&sandbox, cases, name, value, cases.refused));
        }
    }
}

/// The inputs of the commands: records, a table, and a job in parts.
fn prepare(sandbox: &Sandbox) {
    sandbox.ok("gen -q 100r in");
    let json = sandbox.ok("sort in -o sorted --json");
    sandbox.write("run.json", json);
    sandbox.write("a.csv", "id,n\n2,x\n1,y\n");
    sandbox.write("in.bam", b"BAM\x01\0\0\0\0\0\0\0\0");
    sandbox.write("token", "0123456789abcdef");
    sandbox.write("latin1", b"0123456789abcdef\xe9");
    // A copy, because one of the cases removes the other file.
    sandbox.ok("gen -q 100r data");
    sandbox.ok("part plan data -q --parts 1 -o plan.json -- sort");
    sandbox.ok("part sample plan.json -q --slice 0 -o sample.json");
    sandbox.ok("part split plan.json sample.json -q -o splitters.json");
    std::fs::create_dir(sandbox.path().join("slices")).unwrap();
    std::fs::create_dir(sandbox.path().join("sums")).unwrap();
    sandbox.ok("part map plan.json splitters.json -q --slice 0 --to slices");
    sandbox.ok("part merge plan.json -q --part 0 --from slices -o part --summary sums/0.json");
}

/// Runs a command with an option, and compares its status.
fn run(sandbox: &Sandbox, cases: &Cases, name: &str, value: &str, expected: &[i32]) {
    let files = ["new", "new.csv", "other", "other.csv", "new-00001.csv", "job.json"];
    files.iter().for_each(|file| drop(std::fs::remove_file(sandbox.path().join(file))));
    if !sandbox.names().iter().any(|name| name == "in") {
        sandbox.ok("gen -q 100r in");
    }
    let (line, rest) = match cases.line.split_once(" -- ") {
        Some((line, rest)) => (line, format!(" -- {rest}")),
        None => (cases.line, String::new()),
    };
    // A line's words are split at spaces: so an empty value is joined, as is one that must be
    // joined.
    let (value, more) = value.split_once(' ').unwrap_or((value, ""));
    let (name, with) = name.split_once(' ').unwrap_or((name, ""));
    let is_flag = value.is_empty() || value.starts_with('=');
    let takes_value = takes_value(cases, name);
    let own = match is_flag && (!takes_value || value.starts_with('=')) {
        true => format!("--{name}{value}"),
        false => format!("--{name}={value}"),
    };
    let given = format!(" --{name} ");
    // An option that the line already has is replaced.
    let line = match name {
        "by" | "output" | "slice" | "to" | "part" | "from" | "manifests" | "summaries" => {
            without(line, name)
        }
        _ if with.contains("--by") => without(line, "by"),
        "shuffle" => without(line, "by"),
        "seed" if more == "--shuffle" => without(line, "by"),
        "check" => without(line, "output"),
        _ => line.replace(&given, " "),
    };
    let line = format!("{line} {own} {with} {more}{rest}");
    let ended = sandbox.run(&line);
    let text = format!("xsort {line}: {:?}\n{}", ended.code, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{text}");
    assert!(ended.code.is_some_and(|code| expected.contains(&code)), "{text}");
}

/// True if an option has values, by its cases: one is accepted without being joined.
fn takes_value(cases: &Cases, name: &str) -> bool {
    let mut all = cases.options.iter().flat_map(|options| options.iter());
    let values = all.find(|(own, ..)| own.split(' ').next() == Some(name));
    values.is_some_and(|(_, good, bad)| {
        good.iter().chain(*bad).any(|value| !value.is_empty() && !value.starts_with(['=', ' ']))
    })
}

/// The line without an option of two words.
fn without(line: &str, name: &str) -> String {
    let letter = if name == "output" { "-o" } else { "" };
    let (mut words, mut kept) = (line.split(' '), Vec::new());
    while let Some(word) = words.next() {
        if word == letter || word == format!("--{name}") {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}
