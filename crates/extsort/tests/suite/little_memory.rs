//! Sorts with the minimum memory: many tiny inputs, skewed keys, all methods. Chunks that stay in
//! memory fragment the pool, and the next phase must cut its memory from the fragments.

use crate::simulation::{layout, options, records};
use crate::sort::oracle;
use std::io::Cursor;
use std::path::PathBuf;
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::records::Method;
use xsort_extsort::{Error, SortOptions, Stream, Unobserved, sort_streamed};
use xsort_testing::{Random, for_each_seed};

/// Divides records into inputs at random places. Some inputs are empty.
fn put(
    random: &mut Random,
    disk: &SimDisk,
    options: &mut SortOptions,
    bytes: &[u8],
    inputs: usize,
) {
    let record_bytes = options.layout.record_bytes();
    let records = (bytes.len() / record_bytes) as u64;
    let mut cuts: Vec<u64> = (1..inputs).map(|_| random.between(0, records)).collect();
    cuts.sort_unstable();
    cuts.insert(0, 0);
    cuts.push(records);
    options.inputs = (0..inputs).map(|number| PathBuf::from(format!("/in/{number}"))).collect();
    for (path, cut) in options.inputs.iter().zip(cuts.windows(2)) {
        disk.put(path, &bytes[cut[0] as usize * record_bytes..cut[1] as usize * record_bytes]);
    }
}

/// Returns the records of tiny inputs, with a few records each or none.
fn few_records(random: &mut Random, options: &SortOptions, inputs: usize) -> Vec<u8> {
    let record_bytes = options.layout.record_bytes();
    let count = inputs * random.one_of(&[1, 2, 2, 3, 10, 40]);
    let spread = random.one_of(&[1, 2, 256]);
    (0..(count * record_bytes).min(2_000_000) / record_bytes * record_bytes)
        .map(|_| (random.word() % spread) as u8)
        .collect()
}

/// Finds the minimum budget by trying. A slightly larger budget may be divided quite differently.
fn budget(random: &mut Random, options: &SortOptions, disk: &SimDisk) -> u64 {
    let asked = xsort_extsort::dry_run(options, disk, &Unobserved);
    let Err(Error::Memory { needed_bytes, .. }) = asked else {
        panic!("no budget is too little: {asked:?}")
    };
    match random.between(0, 3) {
        0 => needed_bytes,
        1 => needed_bytes + random.between(0, 30) * 4096,
        2 => needed_bytes + random.between(0, needed_bytes),
        _ => needed_bytes * random.between(1, 40),
    }
}

fn simulate(seed: u64) -> Result<(), String> {
    let random = &mut Random::new(seed);
    let layout = layout(random);
    let inputs = random.one_of(&[1, 2, 16, 16, 60, 300]);
    let mut options = options(random, &layout, 1);
    options.threads = random.one_of(&[1, 1, 2, 3, 4, 8, 17]);
    options.method =
        random.one_of(&[Method::Merge, Method::Scatter, Method::Scatter, Method::Auto]);
    options.codec = options.codec.filter(|_| options.method != Method::Scatter);
    options.remove_input = false;
    let is_tiny = random.between(0, 2) > 0;
    let bytes =
        if is_tiny { few_records(random, &options, inputs) } else { records(random, &layout) };
    let disk = SimDisk::new(SimOptions { seed, ..SimOptions::default() });
    put(random, &disk, &mut options, &bytes, inputs);
    options.budget_bytes = budget(random, &options, &disk);
    let stream = (random.between(0, 4) == 0).then(|| {
        let input = random.between(0, inputs as u64 - 1) as usize;
        let bytes = disk.get(&options.inputs[input]).expect("it was put there");
        Stream { input, read: Box::new(Cursor::new(bytes)) }
    });
    let asked =
        format!("{inputs} inputs, {} records, {options:?}", bytes.len() / layout.record_bytes());
    sort_streamed(&options, stream, &disk, &Unobserved)
        .map_err(|error| format!("{error}: {asked}"))?;
    match disk.get(&options.output) {
        Some(output) if output == oracle(&layout, &bytes) => Ok(()),
        _ => Err(format!("the output is wrong: {asked}")),
    }
}

#[test]
fn whatever_is_planned_is_enough() {
    for_each_seed("little memory", 30, simulate);
}
