//! `xsort sort` and `xsort verify` of records that begin with their length, but for the process:
//! any bytes, cut anywhere, any prefix and key. Two walks that share nothing must agree on them.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::lines::{Content, LinesInput, SortedOutput};
use xsort_extsort::prefixed::{PrefixedOptions, sort_prefixed};
use xsort_extsort::{Error, LinesOptions, PrefixedVerifyOptions, Unobserved, verify_prefixed};
use xsort_fuzz::texts::Dribble;
use xsort_records::{KeyField, Prefix};

const KEYS: [&str; 6] = ["0:1", "1:2:desc", "0:2:u16be", "1:4:f32:desc", "2:9999", "0:8:i64"];

#[derive(Arbitrary, Debug)]
struct Case {
    prefix: u8,
    keys: Vec<u8>,
    threads: u8,
    step: u16,
    bytes: Vec<u8>,
}

fuzz_target!(|case: Case| {
    let prefix = Prefix::all()[usize::from(case.prefix) % Prefix::all().len()];
    let keys = case.keys.iter().take(3).map(|&key| KEYS[usize::from(key) % KEYS.len()]);
    let fields: Vec<KeyField> = keys.map(|key| key.parse().unwrap()).collect();
    let judge = |bytes: &[u8]| {
        let options =
            PrefixedVerifyOptions { prefix, fields: fields.clone(), budget_bytes: 2 << 20 };
        verify_prefixed(&options, [(PathBuf::from("in"), bytes)], &Unobserved)
    };
    let engine = LinesOptions {
        delimiter: 0,
        scratch: vec!["/scratch".into()],
        ..LinesOptions::new(8 << 20, usize::from(case.threads % 3) + 1)
    };
    let stream = Dribble::new(case.bytes.clone(), usize::from(case.step) + 1);
    let content = Content::Stream(Box::new(stream));
    let inputs = vec![LinesInput { path: "in".into(), bytes: None, content }];
    let options = PrefixedOptions { prefix, fields: fields.clone(), merges: false };
    let mut out = Vec::new();
    let disk = SimDisk::new(SimOptions::default());
    let output = SortedOutput::Stream(&mut out);
    let sorted = sort_prefixed(&options, &engine, inputs, output, &disk, &Unobserved);
    match (sorted, judge(&case.bytes)) {
        (Err(Error::Input { .. }), Err(Error::Input { .. })) => {}
        (Ok(report), Ok(before)) => {
            let before = before.summary;
            let after = judge(&out).expect("what came out is what went in").summary;
            assert_eq!(before.checksum(), after.checksum());
            assert_eq!(report.checksum, Some(after.checksum().to_string()));
            assert_eq!((after.unordered(), out.len()), (0, case.bytes.len()));
        }
        (sort, verify) => panic!("{sort:?} {verify:?}"),
    }
});
