//! Sorts of prefixed records on the simulated disk, compared with the standard library's sort.

use std::cmp::Ordering;
use std::io::Cursor;
use std::sync::Arc;
use xsort_disk::{Disk, SimDisk, SimOptions};
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::lines::{Content, InputBytes, LinesInput, SortedOutput};
use xsort_extsort::prefixed::{PrefixedOptions, sort_prefixed};
use xsort_extsort::{Error, LinesOptions, PrefixedVerifyOptions, Unobserved, verify_prefixed};
use xsort_records::{Prefix, VaryingSummary};
use xsort_testing::{Dribble, Random, for_each_seed, quick_or_long};

/// A record: its prefix and its body.
#[derive(Clone)]
struct Record {
    prefix: Vec<u8>,
    body: Vec<u8>,
}

impl Record {
    /// A varint may be longer than necessary.
    fn new(prefix: Prefix, body: Vec<u8>, random: &mut Random) -> Record {
        let length = body.len() as u64;
        let little = length.to_le_bytes();
        let name = prefix.to_string();
        let width = match name.trim_start_matches("prefixed:").trim_end_matches(['l', 'e', 'b']) {
            "u8" => 1,
            "u16" => 2,
            "u32" => 4,
            "u64" => 8,
            _ => 0,
        };
        let prefix = match width {
            0 => varint(length, random.one_of(&[0, 0, 0, 1, 5])),
            width if name.ends_with("be") => little[..width].iter().rev().copied().collect(),
            width => little[..width].to_vec(),
        };
        Record { prefix, body }
    }

    fn part(&self, from: usize, to: usize) -> &[u8] {
        let end = self.body.len();
        &self.body[from.min(end)..to.min(end)]
    }

    fn number(&self) -> i32 {
        i32::from_be_bytes(self.body[1..5].try_into().unwrap())
    }
}

fn varint(mut length: u64, more_zeros: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while length > 0x7f {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    for _ in 0..more_zeros {
        *out.last_mut().unwrap() |= 0x80;
        out.push(0);
    }
    out
}

fn bytes(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Record { prefix, body } in records {
        bytes.extend_from_slice(prefix);
        bytes.extend_from_slice(body);
    }
    bytes
}

fn input(name: &str, content: InputBytes<'static>) -> LinesInput {
    LinesInput { path: name.into(), bytes: None, content: Content::Stream(content) }
}

fn engine(budget_bytes: u64, threads: usize) -> LinesOptions {
    LinesOptions {
        delimiter: 0,
        scratch: vec!["/scratch".into()],
        ..LinesOptions::new(budget_bytes, threads)
    }
}

fn options(prefix: Prefix, fields: &str) -> PrefixedOptions {
    let fields = fields.split_whitespace().map(|field| field.parse().unwrap()).collect();
    PrefixedOptions { prefix, fields, merges: false }
}

fn sort(
    options: &PrefixedOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
    disk: &SimDisk,
) -> Result<KeyedReport, Error> {
    let output = SortedOutput::File { path: "/out/sorted".as_ref(), sync: true };
    sort_prefixed(options, engine, inputs, output, disk, &Unobserved)
}

type Compare = fn(&Record, &Record) -> Ordering;

/// Orders, each with the length of the shortest record that has all numbers.
const ORDERS: &[(&str, usize, Compare)] = &[
    ("", 0, |a, b| a.body.cmp(&b.body)),
    ("2:4", 0, |a, b| a.part(2, 6).cmp(b.part(2, 6))),
    ("3:90:desc", 0, |a, b| b.part(3, 93).cmp(a.part(3, 93))),
    ("1:4:i32be", 5, |a, b| a.number().cmp(&b.number())),
    ("0:1:u8:desc 5:2", 1, |a, b| b.body[0].cmp(&a.body[0]).then(a.part(5, 7).cmp(b.part(5, 7)))),
    ("6:1 1:4:i32be:desc", 5, |a, b| {
        a.part(6, 7).cmp(b.part(6, 7)).then(b.number().cmp(&a.number()))
    }),
];

fn records(prefix: Prefix, bytes_min: usize, count: u64, random: &mut Random) -> Vec<Record> {
    let alphabet = [0, 0, 1, 2, 0x7f, 0xfe, 0xff];
    let one = |random: &mut Random| {
        let more = random.one_of(&[0, 1, 2, 3, 20, 60, 200]);
        let body: Vec<u8> = (0..bytes_min + more).map(|_| random.one_of(&alphabet)).collect();
        let body = if prefix == Prefix::U8 { body[..body.len().min(255)].to_vec() } else { body };
        Record::new(prefix, body, random)
    };
    (0..count).map(|_| one(random)).collect()
}

#[test]
fn records_come_in_order_with_the_bytes_that_they_had() {
    for_each_seed("sort of prefixed records", 24, |seed| {
        let random = &mut Random::new(seed);
        let prefix = random.one_of(Prefix::all());
        let (fields, bytes_min, compare) = random.one_of(ORDERS);
        let count = random.one_of(&[0, 1, 50, 60_000]);
        let mut all = records(prefix, bytes_min, count, random);
        let cut = random.between(0, count) as usize;
        let dribble = random.one_of(&[1000, 1 << 20]);
        let disk = Arc::new(SimDisk::new(SimOptions::rough(seed)));
        disk.put("/out/sorted", "old");
        let shared = Arc::clone(&disk) as Arc<dyn Disk>;
        let are_at_urls = random.one_in(2);
        let inputs = [("s3://in/0", &all[..cut]), ("s3://in/1", &all[cut..])];
        let inputs = inputs.map(|(url, records)| {
            if are_at_urls {
                disk.put(url, bytes(records));
                return LinesInput::on(&shared, url.as_ref()).unwrap();
            }
            input("in", Box::new(Dribble::new(bytes(records), dribble)))
        });
        all.sort_by(compare);

        let options = options(prefix, fields);
        let budget_bytes = random.one_of(&[8 << 20, 64 << 20]);
        let engine = engine(budget_bytes, random.one_of(&[1, 3]));
        let report = sort(&options, &engine, inputs.into(), &disk).map_err(|e| e.to_string())?;
        let sorted = disk.get("/out/sorted").unwrap();
        if sorted != bytes(&all) || disk.open_files() > 0 {
            return Err(format!("{prefix} {fields}: the output is wrong, or files are open"));
        }
        let mut summary = VaryingSummary::new(options.fields);
        for record in &all {
            let whole = [&record.prefix[..], &record.body].concat();
            summary.add(&whole, &record.body).map_err(|field| field.to_string())?;
        }
        let expected = (count, Some(summary.checksum().to_string()), sorted.len() as u64);
        if (report.counted.count(), report.checksum.clone(), report.bytes) != expected
            || report.written_bytes != report.bytes
            || summary.unordered() > 0
        {
            return Err(format!("{report:?}"));
        }
        Ok(())
    });
}

/// The longest possible record, and a longer one.
#[test]
fn long_records_are_sorted_up_to_the_limit_that_the_refusal_names() {
    let prefix: Prefix = "prefixed:u32le".parse().unwrap();
    let random = &mut Random::new(1);
    for (mib, orders) in [(8, &["0:8"][..]), (64, &["", "0:8"])] {
        let budget_bytes = mib << 20;
        let longest = (budget_bytes / 16) as usize - 4;
        for &fields in orders {
            let body = |last: u8| [&vec![7; longest - 1][..], &[last]].concat();
            let all: Vec<_> = [3, 1, 2].map(|last| Record::new(prefix, body(last), random)).into();
            let expected = match fields {
                "" => bytes(&[all[1].clone(), all[2].clone(), all[0].clone()]),
                _ => bytes(&all),
            };
            let disk = SimDisk::new(SimOptions::default());
            let inputs = vec![input("in", Box::new(Cursor::new(bytes(&all))))];
            sort(&options(prefix, fields), &engine(budget_bytes, 2), inputs, &disk).unwrap();
            assert!(disk.get("/out/sorted").unwrap() == expected, "{budget_bytes} {fields}");
        }
        let text = bytes(&[Record::new(prefix, vec![7; longest + 1], random)]);
        let inputs = vec![input("in", Box::new(Cursor::new(text[..100].to_vec())))];
        let disk = SimDisk::new(SimOptions::default());
        let error = sort(&options(prefix, ""), &engine(budget_bytes, 2), inputs, &disk);
        let said = error.unwrap_err().to_string();
        let limit = format!("record 1, from byte 0 on, has {} bytes by its prefix", longest + 1);
        assert!(said.contains(&limit), "{said}");
        assert!(said.contains(&format!("may have {} in this memory", longest + 4)), "{said}");
        assert_is_enough(&said, prefix, "", &text);
    }
}

/// Checks that the memory named by a refusal is enough for the record.
fn assert_is_enough(said: &str, prefix: Prefix, fields: &str, text: &[u8]) {
    let (before, _) = said.split_once("M is enough for it").expect(said);
    let mebibytes: u64 = before.rsplit_once("-m ").expect(said).1.parse().expect(said);
    let disk = SimDisk::new(SimOptions::default());
    let inputs = vec![input("in", Box::new(Cursor::new(text.to_vec())))];
    let engine = engine(mebibytes << 20, 2);
    sort(&options(prefix, fields), &engine, inputs, &disk).expect(said);
    assert!(disk.get("/out/sorted").unwrap() == text, "{said}");
}

/// Each byte of a key may take two bytes in the sort.
#[test]
fn a_key_without_room_is_refused_before_the_engine_sees_it() {
    let prefix: Prefix = "prefixed:u32le".parse().unwrap();
    for mib in [2, 3, 8, quick_or_long(13, 64)] {
        let budget_bytes = mib << 20;
        let longest = (budget_bytes / 16) as usize - 4;
        let record = Record::new(prefix, vec![0; longest], &mut Random::new(1));
        for fields in ["0:8", "0:8 0:60000", "", "0:99999999 0:99999999"] {
            let disk = SimDisk::new(SimOptions::default());
            let text = [bytes(&vec![record.clone(); 3])].concat();
            let inputs = vec![input("in", Box::new(Cursor::new(text.clone())))];
            match sort(&options(prefix, fields), &engine(budget_bytes, 2), inputs, &disk) {
                Ok(_) => assert!(disk.get("/out/sorted").unwrap() == text),
                Err(error) => {
                    let said = error.to_string();
                    assert!(said.contains("with its key on its way"), "{said}");
                    assert!(fields.is_empty() || fields.contains("99"), "{said}");
                    assert_is_enough(&said, prefix, fields, &text);
                }
            }
        }
    }
}

#[test]
fn what_is_no_record_is_named_and_the_old_output_stays() {
    let many = [2, 7, 7].repeat(300_000);
    let cases: &[(&str, &str, &[&[u8]], &str)] = &[
        ("prefixed:u8", "", &[&[1, 9, 3, 1]], "in0: it ends in record 2, from byte 2 on"),
        ("prefixed:u16be", "", &[&[], &[0]], "in1: it ends in the prefix of record 1, at byte 0"),
        ("prefixed:varint", "", &[&[0, 0xff]], "in0: it ends in the prefix of record 2"),
        ("prefixed:varint", "", &[&[0xff; 11]], "in0: record 1: its prefix at byte 0 is a varint"),
        ("prefixed:u64le", "", &[&[0xff; 9]], "has 18446744073709551615 bytes by its prefix"),
        ("prefixed:u8", "2:4:f32", &[&[1, 9]], "few for the number of --key 2:4:f32le: compare"),
        ("prefixed:u8", "16777216:1", &[&[]], "no record has a byte there"),
        ("prefixed:u8", "", &[&many, &[1]], "in1: it ends in record 1, from byte 0 on: of the 1"),
        ("prefixed:u8", "0:2:u16", &[&many, &[1, 7]], "in1: record 1, from byte 0 on, has 1"),
    ];
    for (prefix, fields, texts, words) in cases {
        let disk = SimDisk::new(SimOptions::default());
        disk.put("/out/sorted", "old");
        let texts = (0..).zip(*texts);
        let inputs =
            texts.map(|(n, text)| input(&format!("in{n}"), Box::new(Cursor::new(text.to_vec()))));
        let options = options(prefix.parse().unwrap(), fields);
        let error = sort(&options, &engine(8 << 20, 3), inputs.collect(), &disk).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(words), "{said}");
        assert!(matches!(error, Error::Input { .. } | Error::Settings(_)), "{error:?}");
        assert_eq!(disk.get("/out/sorted").unwrap(), b"old");
        assert_eq!((disk.open_files(), disk.paths().len()), (0, 1));
    }
}

#[test]
fn a_full_drive_is_named_with_the_output() {
    let disk = SimDisk::new(SimOptions { capacity_bytes: Some(1 << 20), ..SimOptions::default() });
    let inputs = vec![input("in", Box::new(Cursor::new([7; 8].repeat(400_000))))];
    let options = options(Prefix::U8, "0:1");
    let error = sort(&options, &engine(64 << 20, 2), inputs, &disk).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("/out/sorted") && said.contains("No space left"), "{said}");
    assert_eq!((disk.open_files(), disk.paths().len()), (0, 0));
}

/// Two independent parsers find the same records in any bytes, or none.
#[test]
fn the_sort_and_the_verifier_agree_on_any_bytes() {
    for_each_seed("two walks over any bytes", 400, |seed| {
        let random = &mut Random::new(seed);
        let prefix = random.one_of(Prefix::all());
        let alphabet = [0, 0, 0, 0, 1, 2, 3, 0x80, 0x81, 0xff];
        let bytes: Vec<u8> = (0..random.below(60)).map(|_| random.one_of(&alphabet)).collect();
        let options = options(prefix, random.one_of(&["", "0:1", "1:2:desc", "0:2:u16be"]));
        let disk = SimDisk::new(SimOptions::default());
        let inputs = vec![input("in", Box::new(Cursor::new(bytes.clone())))];
        let sorted = sort(&options, &engine(8 << 20, 1), inputs, &disk);
        let judge = |bytes: &[u8]| {
            let options = PrefixedVerifyOptions {
                prefix,
                fields: options.fields.clone(),
                budget_bytes: 2 << 20,
            };
            verify_prefixed(&options, [("in".into(), bytes)], &Unobserved)
        };
        match (sorted, judge(&bytes)) {
            (Err(Error::Input { .. }), Err(Error::Input { .. })) => Ok(()),
            (Ok(report), Ok(before)) => {
                let before = before.summary;
                let after = judge(&disk.get("/out/sorted").unwrap()).unwrap().summary;
                let is_same = before.checksum() == after.checksum();
                let is_reported = report.checksum == Some(after.checksum().to_string());
                match is_same && is_reported && after.unordered() == 0 {
                    true => Ok(()),
                    false => Err(format!("{prefix} {bytes:?}: {report:?}")),
                }
            }
            (sort, verify) => Err(format!("{prefix} {bytes:?}: {sort:?} {verify:?}")),
        }
    });
}
