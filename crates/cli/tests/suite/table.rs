//! `xsort table` as users meet it. Its crate tests the sorting of rows.

use crate::limits::peak_bytes;
use crate::sandbox::{Sandbox, clean, program};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt::Write;
use std::process::Stdio;
use std::time::Duration;
use xsort_testing::quick_or_long;

const MIB: u64 = 1 << 20;
/// Memory that a job may need besides its budget.
const OVERHEAD_BYTES: u64 = 64 * MIB;

const ORDERS: &str = "\
id,name,amount,date
3,\"Smith, \"\"Jo\"\"\",10.5,2026-01-02
1,\"two
lines\",-3,2025-12-31
20,,1e2,2026-01-02
";

const EVENTS: &str = "{\"t\":\"b\", \"u\":{\"id\":10}}\n{}\n{\"u\":{\"id\":2},\"t\":null}";

/// Random rows with quoted line ends, and the numbers in them.
fn orders(rows: u64) -> (String, Vec<u64>) {
    let mut text = "id,name,note\n".to_owned();
    let numbers: Vec<u64> =
        (1..=rows).map(|row| row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24).collect();
    for number in &numbers {
        let note = if number % 3 == 0 { "\"two\nlines\"" } else { "a longer note of some words" };
        writeln!(text, "{number},name {},{note}", number % 997).unwrap();
    }
    (text, numbers)
}

fn shell(sandbox: &Sandbox, script: &str) -> (Option<i32>, String, String) {
    let output = sandbox.script(script);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn names_pipes_and_compressed_files_are_the_same_table() {
    let sandbox = Sandbox::new();
    sandbox.write("orders.csv", ORDERS);
    let sorted = "id,name,amount,date\n1,\"two\nlines\",-3,2025-12-31\n\
                  3,\"Smith, \"\"Jo\"\"\",10.5,2026-01-02\n20,,1e2,2026-01-02\n";
    for script in [
        "$xsort table orders.csv --by id:int",
        "$xsort table --format csv --by '#1:int' <orders.csv",
        "cat orders.csv | $xsort table -f csv --by id:int - -o -",
        "$xsort table orders.csv --by id:int -o out.csv -q && cat out.csv",
        "cp orders.csv a.csv && $xsort table a.csv --by id:int -o a.csv -q && cat a.csv",
        "gzip -k orders.csv && $xsort table orders.csv.gz --by id:int",
        "$xsort table orders.csv --by id:int -o out.csv.zst -q && zstd -dcq out.csv.zst || true",
        "$xsort table orders.csv --by id:int -o out.csv.gz -q && gzip -dc out.csv.gz",
        "tr , ';' <orders.csv | $xsort table -f csv --delimiter ';' --by '#1:int' | tr ';' ,",
    ] {
        if script.contains("zstd -") && shell(&sandbox, "type zstd").0 != Some(0) {
            continue;
        }
        let (code, printed, said) = shell(&sandbox, script);
        assert_eq!((code, &*printed, &*said), (Some(0), sorted, ""), "{script}");
    }
    sandbox.write("events.jsonl", EVENTS);
    let sorted = "{\"u\":{\"id\":2},\"t\":null}\n{\"t\":\"b\", \"u\":{\"id\":10}}\n{}\n";
    for script in [
        "$xsort table events.jsonl --by .u.id:int",
        "gzip -k events.jsonl && $xsort table events.jsonl.gz --by .u.id:int",
        "$xsort table -f ndjson --by .u.id:num,. <events.jsonl",
    ] {
        let (code, printed, said) = shell(&sandbox, script);
        assert_eq!((code, &*printed, &*said), (Some(0), sorted, ""), "{script}");
    }
    sandbox.write("c.csv", "# first\nk,v\nb,1\n# \"odd\na,2\nb,3\nb,4\n");
    sandbox.write("d.csv", "#,\"x\nk,v\na,5\n");
    for (options, expected) in [
        ("--by k c.csv", "# first\nk,v\n# \"odd\na,2\nb,1\nb,3\nb,4\n"),
        ("--by k:desc c.csv d.csv", "# first\nk,v\n# \"odd\n#,\"x\nb,1\nb,3\nb,4\na,2\na,5\n"),
        ("--by k -u c.csv", "# first\nk,v\n# \"odd\na,2\nb,1\n"),
        ("--by k --unique=last c.csv", "# first\nk,v\n# \"odd\na,2\nb,4\n"),
        ("--by k -u --count c.csv", "# first\ncount,k,v\n# \"odd\n1,a,2\n3,b,1\n"),
    ] {
        let script = format!("$xsort table --comment '#' {options}");
        let (code, printed, said) = shell(&sandbox, &script);
        assert_eq!((code, &*printed, &*said), (Some(0), expected, ""), "{script}");
    }
    let script =
        "$xsort table events.jsonl events.jsonl --by .u.id:int --unique=last --count --top 1";
    let (_, printed, _) = shell(&sandbox, script);
    assert_eq!(printed, "{\"count\":2,\"row\":{\"u\":{\"id\":2},\"t\":null}}\n");
    let script = "mkdir -p d/e && echo x >d/readme && cp c.csv d/e && cp c.csv d && \
                  $xsort table d --comment '#' --by k --unique=last --count";
    let (code, printed, said) = shell(&sandbox, script);
    assert_eq!(code, Some(0), "{said}");
    assert!(printed.ends_with("\n2,a,2\n6,b,4\n"), "{printed}");
    assert!(said.contains("d: 1 file of other names left out"), "{said}");
    let (_, printed, _) = shell(&sandbox, "$xsort table orders.csv --by name --top 1");
    assert_eq!(printed, "id,name,amount,date\n20,,1e2,2026-01-02\n");
}

#[test]
fn parts_have_a_size_and_each_the_header() {
    let sandbox = Sandbox::new();
    let (text, _) = orders(30_000);
    sandbox.write("orders.csv", &text);
    sandbox.ok("table orders.csv --by id:int -o whole.csv");
    sandbox.ok("table orders.csv --by id:int --file-size 100kB --no-sync -o part.csv");
    let header = text.split_inclusive('\n').next().unwrap();
    let mut together = header.to_owned();
    let parts = (1..).map(|number| format!("part-{number:05}.csv"));
    let parts = parts.take_while(|name| sandbox.names().contains(name));
    let parts: Vec<String> = parts.collect();
    for (at, name) in parts.iter().enumerate() {
        let part = String::from_utf8(sandbox.read(name)).unwrap();
        assert!(part.len() <= 100_000 && (part.len() > 98_000 || at + 1 == parts.len()), "{name}");
        together += part.strip_prefix(header).unwrap();
    }
    assert!(together.as_bytes() == sandbox.read("whole.csv") && parts.len() > 9);
    let refused = sandbox.fails("table orders.csv --by id:int --file-size 1MB -o part.csv", 2);
    assert!(refused.contains("part-0") && refused.contains("remove or move"), "{refused}");
    let refused = sandbox.fails("table orders.csv --by name:int --file-size 1MB -o new.csv", 3);
    assert!(refused.contains("orders.csv: row 2"), "{refused}");
    assert!(sandbox.names().iter().all(|name| !name.starts_with("new")));
    sandbox.ok("table orders.csv --by id:int --file-size 1MB -o zipped.csv.gz");
    let (_, unzipped, _) = shell(&sandbox, "gzip -dc zipped-00001.csv.gz | wc -c");
    assert!(unzipped.trim().parse::<u64>().unwrap() <= 1_000_000);
    sandbox.write("empty.csv", "id,name\n");
    sandbox.ok("table empty.csv --by id --file-size 1MB -o none.csv");
    assert_eq!(sandbox.read("none-00001.csv"), b"id,name\n");
}

#[test]
fn a_dry_run_says_what_a_sort_takes_and_reads_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("orders.csv", ORDERS);
    sandbox.write("out.csv", "old");
    let script = "$xsort table orders.csv --by id:int --dry-run -m 64M -o out.csv";
    let (code, printed, said) = shell(&sandbox, script);
    assert_eq!((code, &*said), (Some(0), ""));
    let input = format!("input    {} B in 1 file\n", ORDERS.len());
    for line in [&*input, "output   out.csv\n", "memory   at most", "scratch  none"] {
        assert!(printed.contains(line), "{printed}");
    }
    assert_eq!(sandbox.read("out.csv"), b"old");
    // Reading this pipe would wait forever.
    let script = "mkfifo pipe && $xsort table -f csv --by id --dry-run --json <>pipe";
    let (code, printed, _) = shell(&sandbox, script);
    assert_eq!(code, Some(0));
    assert!(printed.contains("dry_run"), "{printed}");
}

#[test]
fn tables_are_merged_if_all_are_in_order_and_else_sorted() {
    let sandbox = Sandbox::new();
    let table = |ids: &mut dyn Iterator<Item = u32>| {
        ids.fold("id,name\n".to_owned(), |text, id| text + &format!("{id},name {}\n", id % 5))
    };
    sandbox.write("a.csv", table(&mut (1..9000).step_by(7)));
    sandbox.write("b.csv", table(&mut (3..9000).step_by(7)));
    sandbox.write("c.csv", table(&mut (2..9000).step_by(7).rev()));
    sandbox.fails("table a.csv c.csv --by id:int --merge -q -o out", 3);
    for inputs in ["a.csv b.csv", "a.csv c.csv b.csv"] {
        sandbox.ok(&format!("table {inputs} --by id:int -q -o expected"));
        for output in ["-o out", "-o - >out", "--file-size 1G -o new && mv new-00001 out"] {
            sandbox
                .script_ok(&format!("$xsort table {inputs} --by id:int --merge=any -q {output}"));
            assert!(sandbox.read("out") == sandbox.read("expected"), "{inputs} {output}");
        }
    }
}

#[test]
fn a_shuffle_is_that_of_its_seed_whatever_the_memory() {
    let sandbox = Sandbox::new();
    let (text, _) = orders(60_000);
    sandbox.write("orders.csv", &text);
    let shuffled = |options: &str| {
        sandbox.ok(&format!("table orders.csv --shuffle {options} -o out.csv"));
        String::from_utf8(sandbox.read("out.csv")).unwrap()
    };
    let one = shuffled("--seed 1 -m 64M -j 3");
    assert!(one == shuffled("--seed 1 -m 8M -j 1"));
    let others = [shuffled("--seed 2"), shuffled(""), shuffled("")];
    for other in &others {
        assert!(*other != one && *other != text);
    }
    assert!(others[1] != others[2]);
    sandbox.write("shuffled.csv", &one);
    sandbox.ok("table shuffled.csv --by id:int -o a.csv");
    sandbox.ok("table orders.csv --by id:int --no-sync -o b.csv");
    assert!(sandbox.read("a.csv") == sandbox.read("b.csv"));
}

/// Of five rows a key, whose values have ties and are missing.
#[test]
fn the_best_row_of_each_key_is_kept() {
    let sandbox = Sandbox::new();
    let rows = (0..5000_u64).map(|row| {
        let value = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        (row % 1000, (value > 3).then_some(value), row)
    });
    let rows: Vec<(u64, Option<u64>, u64)> = rows.collect();
    let shown = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let lines = |rows: &[(u64, Option<u64>, u64)], separator: &str| -> String {
        let line = |&(key, value, row): &(u64, Option<u64>, u64)| {
            format!("{key}{separator}{}{separator}{row}\n", shown(value))
        };
        rows.iter().map(line).collect()
    };
    sandbox.write("in.csv", format!("key,value,row\n{}", lines(&rows, ",")));
    let json: String = rows
        .iter()
        .map(|&(key, value, row)| {
            let value = value.map_or("null".to_owned(), |value| value.to_string());
            format!("{{\"key\":{key},\"value\":{value},\"row\":{row}}}\n")
        })
        .collect();
    sandbox.write("in.ndjson", json);
    for (how, is_max) in [("max", true), ("min", false)] {
        let best = |key: u64| {
            let own = rows.iter().filter(|row| row.0 == key);
            let rank = |&(_, value, row): &(u64, Option<u64>, u64)| {
                let value = value.map_or(u64::MAX, |value| if is_max { 99 - value } else { value });
                (value, row)
            };
            *own.min_by_key(|row| rank(row)).unwrap()
        };
        let wanted: Vec<_> = (0..1000).map(best).collect();
        let by = format!("--by key:int --unique --keep {how}:value:int -q");
        sandbox.ok(&format!("table in.csv {by} -m 2M -o out.csv"));
        let wanted_csv = format!("key,value,row\n{}", lines(&wanted, ","));
        assert!(sandbox.read("out.csv") == wanted_csv.as_bytes(), "{how}");
        sandbox.ok(&format!("table in.csv {by} --count --top 3 -o out.csv"));
        let counted: String =
            wanted[..3].iter().map(|&row| format!("5,{}", lines(&[row], ","))).collect();
        assert_eq!(sandbox.read("out.csv"), format!("count,key,value,row\n{counted}").as_bytes());
        let by_path = by.replace(" key", " .key").replace(":value", ":.value");
        sandbox.ok(&format!("table in.ndjson {by_path} -o out.ndjson"));
        let schema = "--schema key:int64,value:int64,row:int64";
        sandbox.ok(&format!("table out.ndjson --by .row {schema} -q -o back.csv"));
        sandbox.ok(&format!("table in.csv {by} {schema} -o out.parquet"));
        sandbox.ok("table out.parquet --by row -q -o columns.csv");
        assert_eq!(sandbox.read("columns.csv"), sandbox.read("back.csv"), "{how}");
        let mut by_row = wanted;
        by_row.sort_by_key(|row| row.2);
        let by_row = format!("key,value,row\n{}", lines(&by_row, ","));
        assert!(sandbox.read("back.csv") == by_row.as_bytes(), "{how}");
    }
}

#[test]
fn refusals_name_the_way_out_and_leave_the_old_output() {
    let sandbox = Sandbox::new();
    sandbox.write("orders.csv", ORDERS);
    sandbox.write("open.csv", "id\n\"1\n2\n");
    sandbox.write("text", "a\n");
    sandbox.write("bad.ndjson", "{\"a\":1}\n{\"a\":x}\n");
    sandbox.write("out.csv", "old");
    for (line, code, said) in [
        ("table orders.csv --by nope -o out.csv", 2, "the header has: id, name, amount, date"),
        (
            "table orders.csv --by amount:int -o out.csv",
            3,
            "row 2, byte 38, column 'amount': '10.5'",
        ),
        ("table open.csv --by id -o out.csv", 3, "open.csv: row 2: the quote at byte 3"),
        ("table text --by #1 -o out.csv", 2, "--format csv"),
        ("table missing.csv --by id -o out.csv", 3, "missing.csv"),
        ("table . --format tsv --by id -o out.csv", 2, "is the output"),
        ("table . --format tsv --by id", 3, "no file below"),
        ("table orders.csv --by id:integer -o out.csv", 2, "'integer' is none of"),
        ("table orders.csv --by id -o out.csv.xz", 2, "... | xz"),
        ("table orders.csv open.csv --check --by id", 2, "one by one"),
        ("table - - --by id --format csv", 2, "named twice"),
        ("table orders.csv", 2, "--by"),
        ("table orders.csv --by id --checkpoint", 2, "needs an output file"),
        ("table - -f csv --by id --resume -o out.csv", 2, "files only"),
        ("table orders.csv --by id --resume --file-size 1M -o out.csv", 2, "--file-size"),
        ("table orders.csv --shuffle --resume -o out.csv", 2, "--seed"),
        ("table orders.csv --by id --resume -uo out.csv.gz", 2, "isn't compressed"),
        ("table orders.csv --by .id -o out.csv", 2, "paths are for ndjson"),
        ("table bad.ndjson --by id -o out.csv", 2, "as in jq: .id"),
        ("table bad.ndjson --by .a --no-header -o out.csv", 2, "no header"),
        ("table bad.ndjson --by .a -o out.csv", 3, "bad.ndjson: row 2, byte 13 is no JSON"),
        ("table bad.ndjson --by .a[] -o out.csv", 2, "in brackets"),
        ("table orders.csv --by #9:int -o out.csv", 2, "no column #9; the header has 4 columns"),
        ("table orders.csv --by #9 --unique -o orders.csv", 2, "no column #9"),
        ("table orders.csv --by #9 --check", 2, "no column #9"),
        ("table orders.csv --by #9 --no-header -o out.csv", 2, "no column #9 in its first row"),
        ("table orders.csv --by date:datetime(%Q) -o out.csv", 2, "time zone"),
        ("table orders.csv --by date:datetime(%a) -o out.csv", 2, "a weekday"),
        ("table orders.csv --by id --delimiter | -o out.csv", 2, "no column 'id'"),
        ("table orders.csv --by id --quote , -o out.csv", 2, "the quote is the delimiter"),
        ("table orders.csv --by id --escape , -o out.csv", 2, "the escape is the delimiter"),
        ("table orders.csv --by id --escape \" -o out.csv", 2, "the escape is the quote"),
        ("table orders.csv --by id --comment , -o out.csv", 2, "the comment is the delimiter"),
        ("table orders.csv --by id --comment \" -o out.csv", 2, "the comment is the quote"),
        ("table missing.csv --by x:datetime(%E) -o out.csv", 2, "no directive"),
    ] {
        let stderr = sandbox.fails(line, code);
        assert!(stderr.contains(said), "{line}: {stderr}");
        assert_eq!(sandbox.read("out.csv"), b"old", "{line}");
        assert_eq!(
            sandbox.names(),
            ["bad.ndjson", "open.csv", "orders.csv", "out.csv", "text"],
            "{line}"
        );
    }
    let ended = sandbox.run("table orders.csv --check --by id:int");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("orders.csv: row 3 is out of order: 1,"), "{}", ended.stderr);
    sandbox.ok("table orders.csv --check --by name:length:desc,#1:int --on-bad=last");
}

/// The option's values once ended in a panic: the parser had another type than the one requested.
#[test]
fn a_quote_is_any_byte_or_none() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "id,n\n'2\n',x\n\"1,'y'\n");
    for (quote, sorted) in [
        ("--quote \"'\" --by n", "id,n\n'2\n',x\n\"1,'y'\n"),
        ("--quote '' --by id", "id,n\n\"1,'y'\n',x\n'2\n"),
        ("--quote= --by id", "id,n\n\"1,'y'\n',x\n'2\n"),
        ("--quote '|' --by id", "id,n\n\"1,'y'\n',x\n'2\n"),
    ] {
        let (code, printed, said) = shell(&sandbox, &format!("$xsort table a.csv {quote}"));
        assert_eq!((code, &*printed, &*said), (Some(0), sorted, ""), "{quote}");
    }
    for quote in ["ab", "\u{e9}", "$'\\n'"] {
        let script = format!("$xsort table a.csv --by id --quote {quote}");
        assert_eq!(shell(&sandbox, &script).0, Some(2), "{quote}");
    }
}

/// These errors once had the words of `xsort lines`, and the status of a drive that fails.
#[test]
fn compressed_inputs_that_are_not_read_have_a_way_out_for_tables() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv.xz", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46");
    sandbox.write("b.csv.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03nothing that is packed");
    for (input, what) in [
        ("a.csv.xz -f csv", "xz, which isn't read here: decompress it first (xz -dc FILE | ...)"),
        ("b.csv.gz", "it isn't valid gzip to its end"),
    ] {
        let refused = sandbox.fails(&format!("table {input} --by id -o out.csv"), 3);
        assert!(refused.contains(what), "{refused}");
        assert!(!refused.contains("lines") && !refused.contains("--no-decompress"), "{refused}");
    }
    let deep = format!("{}1{}\n", "[".repeat(600), "]".repeat(600));
    sandbox.write("deep.ndjson", deep);
    let refused = sandbox.fails("table deep.ndjson --by . -o out.ndjson", 3);
    assert!(
        refused.contains("byte 512: arrays and objects are nested deeper than 512"),
        "{refused}"
    );
}

#[test]
fn the_report_counts_bad_rows() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "t\n12:30\nnoon\n");
    let report = sandbox.json("table a.csv --by t:datetime(%H:%M) --on-bad=last -o out.csv");
    assert_eq!(report["bad_rows"], 1);
    let ended = sandbox.run("table a.csv --by t:date --on-bad=last -o out.csv");
    assert!(ended.stderr.contains("column 't': not one of its 2 values is of the type date"));
    assert!(ended.stdout.contains("bad      2 rows"), "{}", ended.stdout);
}

#[test]
fn a_table_larger_than_its_budget_is_sorted_within_it() {
    let sandbox = Sandbox::new();
    let (text, mut numbers) = orders(quick_or_long(500_000, 3_000_000));
    sandbox.write("orders.csv", &text);
    let sorts = [
        ("id:int", 8, ""),
        ("id:int:desc", 16, "--compress zstd"),
        ("name,id:int", 16, "--compress auto"),
        ("id:int", 8, "--compress lz4"),
    ];
    // The columns and codecs in 8 MiB, and in a long run in 16.
    for (by, memory, compress) in sorts.into_iter().step_by(quick_or_long(3, 1)) {
        let line =
            format!("table orders.csv --by {by} -m {memory}M -j 3 -T . {compress} -o out.csv");
        let mut command = clean(program());
        command.args(line.split_whitespace()).current_dir(sandbox.path());
        let peak = peak_bytes(command);
        assert!(peak <= memory * MIB + OVERHEAD_BYTES, "{line}: {} MiB", peak / MIB);
        assert_eq!(sandbox.read("out.csv").len(), text.len(), "{line}");
        sandbox.ok(&format!("table out.csv --check --by {by}"));
    }
    let plain = sandbox.ok("table orders.csv --by id:int -m 16M --json -o out.csv");
    let compressed =
        sandbox.ok("table orders.csv --by id:int -m 16M --json --compress zstd -o out.csv");
    let scratch_bytes = |report: &str| {
        let report: Value = serde_json::from_str(report).unwrap();
        report["scratch_bytes"].as_u64().unwrap()
    };
    assert!(scratch_bytes(&compressed) < scratch_bytes(&plain) * 3 / 4, "{compressed}");
    numbers.sort_unstable();
    let out = String::from_utf8(sandbox.read("out.csv")).unwrap();
    let ids = out.lines().skip(1).filter_map(|line| line.split_once(',')?.0.parse().ok());
    assert_eq!(ids.collect::<Vec<u64>>(), numbers);
    let hash = |text: &str| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.concat()
    };
    assert!(hash(&out) == hash(&text), "the same lines in another order");
}

/// The longest row is limited to a share of the memory. A refusal finds the end of a longer row,
/// and the memory that it names is enough for any keys.
#[test]
fn a_row_that_is_too_long_is_refused_with_memory_that_is_enough() {
    let sandbox = Sandbox::new();
    let long = "1,\"".to_owned() + &"\"\"x,\n".repeat(100_000) + "\"\n";
    let csv = format!("id,text\n2,b\n{long}3,c\n");
    let value = "z".repeat(700_000);
    let json = format!("{{\"a\":2}}\n{{\"a\":1,\"b\":\"{value}\"}}\n{{\"a\":3}}\n");
    sandbox.write("in.csv", &csv);
    sandbox.write("in.ndjson", &json);
    let row = |bytes: usize| format!("has {bytes} bytes, and rows may have 131072 in this memory");
    for (input, by, said) in [
        ("in.csv", "id:int", format!("in.csv: row 3, from byte 12 on, {}", row(long.len()))),
        ("in.csv", "text", row(long.len())),
        ("in.csv", "text:natural", row(long.len())),
        ("in.ndjson", ".a", format!("in.ndjson: row 2, from byte 8 on, {}", row(700_015))),
        ("in.ndjson", ".b", row(700_015)),
    ] {
        let line = format!("table {input} --by {by} -j 2 -q -o out");
        let refused = sandbox.run(&format!("{line} -m 2M"));
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        assert!(refused.stderr.contains(&said), "{}", refused.stderr);
        let (before, _) = refused.stderr.split_once(" is enough for it").unwrap();
        let (_, memory) = before.rsplit_once("-m ").unwrap();
        sandbox.ok(&format!("{line} -m {memory}"));
        sandbox.ok(&format!("table out --format {} --by {by} --check", &input[3..]));
        let less: u64 = memory.trim_end_matches('M').parse().unwrap();
        let refused = sandbox.run(&format!("{line} -m {}M", less / 2));
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    }
    sandbox.write("open.csv", csv.replace("\"\n3,c", "\n3,c"));
    let refused = sandbox.run("table open.csv --by id -m 2M -q -o out");
    assert!(refused.stderr.contains("the quote at byte 14 is never closed"), "{}", refused.stderr);
    // A key as often as the row has room for, and once more.
    let by = ["text"; 5].join(",");
    let refused = sandbox.run(&format!("table in.csv --by {by} -m 10M -q -o out"));
    assert!(refused.stderr.contains("bytes with its key on its way"), "{}", refused.stderr);
    let (before, _) = refused.stderr.split_once(" is enough for it").unwrap();
    let (_, memory) = before.rsplit_once("-m ").unwrap();
    sandbox.ok(&format!("table in.csv --by {by} -m {memory} -q -o out"));
}

/// It waits for a silent stream: for its header, and for more rows.
#[test]
fn a_wait_for_a_stream_ends_when_it_is_stopped() {
    let sandbox = Sandbox::new();
    for begun in ["", "id,name\n1,x\n"] {
        let mut child = clean(program())
            .args("table --format csv --by #1 -q -o out.csv".split_whitespace())
            .current_dir(sandbox.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, begun.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        // SIGINT may be ignored where tests run: in the background of a shell.
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(143), "{begun:?}");
        drop(stdin);
        assert_eq!(sandbox.names(), [""; 0]);
    }
}

#[test]
fn one_that_is_killed_leaves_the_old_output_and_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.write("orders.csv", orders(300_000).0);
    sandbox.write("out.csv", "old");
    for milliseconds in [20, 60, 100, 200] {
        let mut child = clean(program())
            .args("table orders.csv --by name -m 8M -q -o out.csv".split_whitespace())
            .current_dir(sandbox.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        let _ = child.kill();
        let is_done = child.wait().unwrap().success();
        let is_old = sandbox.read("out.csv") == b"old";
        assert!(
            is_old || is_done || sandbox.run("table out.csv --check --by name").code == Some(0)
        );
        sandbox.write("out.csv", "old");
        assert_eq!(sandbox.names(), ["orders.csv", "out.csv"]);
    }
    let (code, ..) =
        shell(&sandbox, "$xsort table orders.csv --by name -m 8M | head -1 >/dev/null");
    assert_eq!(code, Some(141), "nobody reads the output");
}
