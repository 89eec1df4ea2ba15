//! `xsort sort`, but for the process: any layout, both methods, files and streams, memory for all
//! records or for hardly any, on a simulated disk; beside the standard library's stable sort by the
//! verifier's order.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::records::Method;
use xsort_extsort::{Error, SortOptions, Stream, Unobserved, dry_run, sort_streamed};
use xsort_fuzz::texts::{Dribble, parts};
use xsort_records::{Endian, Key, KeyField, KeyKind, Layout, VerifySummary};

#[derive(Arbitrary, Debug)]
struct Case {
    record_bytes: RecordBytes,
    fields: Vec<Field>,
    threads: u8,
    scatters: bool,
    /// Memory, in hundredths of what is needed, beyond it.
    budget: u8,
    scratch: u8,
    remove_input: bool,
    streams: Option<(u8, u16)>,
    is_disk_rough: Option<u8>,
    cuts: [u16; 3],
    inputs: u8,
    /// KiB to which the records are repeated, each with another number in it.
    grow: Option<(u8, u16)>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct RecordBytes(usize);

/// Mostly short, for then there are more of them.
impl<'a> Arbitrary<'a> for RecordBytes {
    fn arbitrary(data: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let [low, high]: [u8; 2] = data.arbitrary()?;
        Ok(RecordBytes(match high {
            0..=200 => usize::from(low % 40) + 1,
            201..=240 => usize::from(low) + 1,
            _ => usize::from(low) * 37 + 1,
        }))
    }
}

#[derive(Arbitrary, Debug)]
struct Field {
    offset: u16,
    length: u16,
    kind: u8,
    is_big: bool,
    descending: bool,
}

impl Field {
    /// Within a record, as far as it has room for one of this kind.
    fn of(&self, record_bytes: usize) -> KeyField {
        let endian = if self.is_big { Endian::Big } else { Endian::Little };
        let (kind, lengths): (KeyKind, &[usize]) = match self.kind % 6 {
            0 => (KeyKind::Unsigned(endian), &[1, 2, 4, 8, 16]),
            1 => (KeyKind::Signed(endian), &[1, 2, 4, 8, 16]),
            2 => (KeyKind::Float(endian), &[4, 8]),
            _ => (KeyKind::Bytes, &[]),
        };
        let numbers: Vec<usize> =
            lengths.iter().copied().filter(|&length| length <= record_bytes).collect();
        let (kind, length) = match numbers.get(usize::from(self.length) % numbers.len().max(1)) {
            Some(&length) => (kind, length),
            None => (KeyKind::Bytes, usize::from(self.length) % record_bytes + 1),
        };
        let offset = usize::from(self.offset) % (record_bytes - length + 1);
        KeyField { offset, length, kind, descending: self.descending }
    }
}

fuzz_target!(|case: Case| {
    let record_bytes = case.record_bytes.0;
    let mut fields: Vec<KeyField> =
        case.fields.iter().take(4).map(|field| field.of(record_bytes)).collect();
    if fields.is_empty() {
        fields.push(KeyField {
            offset: 0,
            length: record_bytes,
            kind: KeyKind::Bytes,
            descending: false,
        });
    }
    let layout = Layout::new(record_bytes, fields).unwrap();
    let bytes = records(&case, record_bytes);
    let cuts: Vec<u16> = case.cuts[..usize::from(case.inputs % 4)].to_vec();
    // Cut between records.
    let inputs: Vec<Vec<u8>> = {
        let numbers: Vec<u8> = vec![0; bytes.len() / record_bytes];
        let lengths = parts(&numbers, &cuts).into_iter().map(<[u8]>::len);
        let mut rest = &bytes[..];
        let mut take = |records: usize| rest.split_off(..records * record_bytes).unwrap().to_vec();
        lengths.map(&mut take).collect()
    };
    let mut options = SortOptions {
        inputs: (0..inputs.len()).map(|number| PathBuf::from(format!("/in/{number}"))).collect(),
        output: "/out/sorted".into(),
        method: if case.scatters { Method::Scatter } else { Method::Merge },
        scratch: (0..case.scratch % 3)
            .map(|number| PathBuf::from(format!("/scratch{number}")))
            .collect(),
        remove_input: case.remove_input && case.streams.is_none(),
        sync: false,
        ..SortOptions::new(layout, 0, usize::from(case.threads % 3) + 1)
    };
    options.budget_bytes = least_budget(&options, &inputs) * (100 + u64::from(case.budget)) / 100;
    let disk = SimDisk::new(
        case.is_disk_rough.map_or_else(SimOptions::default, |seed| SimOptions::rough(seed.into())),
    );
    put(&disk, &options, &inputs);
    let stream = case.streams.map(|(which, few)| {
        let input = usize::from(which) % inputs.len();
        Stream { input, read: Box::new(Dribble::new(inputs[input].clone(), few.into())) }
    });
    let report = match sort_streamed(&options, stream, &disk, &Unobserved) {
        Ok(report) => report,
        // The least was asked for files: a stream may take more.
        Err(Error::Memory { needed_bytes, .. })
            if case.streams.is_some() && needed_bytes > options.budget_bytes =>
        {
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(disk.open_files(), 0);
    assert_eq!(report.records, (bytes.len() / record_bytes) as u64);
    judge(&options.layout, &bytes, &disk.get(&options.output).unwrap());
});

/// The case's bytes as whole records, once or many times.
fn records(case: &Case, record_bytes: usize) -> Vec<u8> {
    let few = &case.bytes[..case.bytes.len() / record_bytes * record_bytes];
    let Some((kib, place)) = case.grow.filter(|_| !few.is_empty()) else { return few.to_vec() };
    let most = (usize::from(kib) << 10).max(few.len()).min(10_000 * record_bytes);
    let mut bytes: Vec<u8> =
        few.iter().copied().cycle().take(most / record_bytes * record_bytes).collect();
    for (number, record) in bytes.chunks_mut(record_bytes).enumerate() {
        let number = (number as u32).wrapping_mul(2_654_435_769).to_be_bytes();
        for (at, byte) in number.iter().enumerate().take(usize::from(place >> 14) + 1) {
            let place = (usize::from(place) + at) % record_bytes;
            record[place] = record[place].wrapping_add(*byte);
        }
    }
    bytes
}

fn put(disk: &SimDisk, options: &SortOptions, inputs: &[Vec<u8>]) {
    options.inputs.iter().zip(inputs).for_each(|(path, bytes)| disk.put(path, bytes));
}

/// The least budget that works, by asking.
fn least_budget(options: &SortOptions, inputs: &[Vec<u8>]) -> u64 {
    let disk = SimDisk::new(SimOptions::default());
    put(&disk, options, inputs);
    match dry_run(options, &disk, &Unobserved) {
        Err(Error::Memory { needed_bytes, .. }) => needed_bytes,
        other => panic!("no budget at all is not too little: {other:?}"),
    }
}

/// Sorted, stable, and by the verifier's reading of the key too.
fn judge(layout: &Layout, bytes: &[u8], output: &[u8]) {
    let mut records: Vec<&[u8]> = bytes.chunks(layout.record_bytes()).collect();
    records.sort_by(|a, b| layout.rule().compare(a, b));
    assert!(output == records.concat());
    let (mut before, mut after) = (VerifySummary::new(layout), VerifySummary::new(layout));
    before.extend(bytes);
    after.extend(output);
    assert!(after.is_sorted());
    assert_eq!(before.checksum(), after.checksum());
}
