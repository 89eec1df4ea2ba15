//! The tests of `xsort-records`, one module a subject.

mod checksum;
mod content;
mod generate;
mod gensort;
mod golden;
mod grammar;
mod keys;
mod layout;
mod patterns;
mod summary;
mod verify;

use xsort_records::{Format, GenerateSpec, Generator, Pattern};

/// Uniform records from number 0 on, with seed 0.
fn spec(format: Format, total: u64) -> GenerateSpec {
    GenerateSpec { format, skewed: false, pattern: Pattern::Uniform, start: 0, seed: 0, total }
}

/// All records of `spec` in one block.
fn records(spec: GenerateSpec) -> Vec<u8> {
    let mut records = vec![0; spec.total as usize * spec.format.record_bytes()];
    Generator::new(spec).unwrap().fill(0, &mut records);
    records
}
