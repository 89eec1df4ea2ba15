//! Samples the keys of a slice at evenly spaced places, with one small read each.

use super::Records;
use crate::error::Error;
use crate::hex::Hex;
use crate::input_tag::check_unchanged;
use crate::job::{Slice, SliceInput};
use crate::means::Means;
use crate::places::read_places;
use crate::sample::{SampledKey, SliceSample};
use std::path::Path;
use xsort_records::Key;

impl Records {
    /// Returns the keys of `keys` records of a slice, or of all its records if there are fewer:
    /// each from the middle of one of `keys` equal stretches.
    pub(super) fn sample_slice(
        &self,
        slice: &Slice,
        keys: u64,
        means: &Means<'_>,
    ) -> Result<SliceSample, Error> {
        let record_bytes = self.layout.record_bytes() as u64;
        let records = slice.bytes / record_bytes;
        let count = keys.clamp(1, records.max(1)).min(records);
        let middle = |place: u64| {
            let twice = u128::from(2 * place + 1) * u128::from(records);
            (twice / u128::from(2 * count)) as u64 * record_bytes
        };
        let mut places = (0..count).map(middle).peekable();
        let (mut found, mut begin) = (Vec::new(), 0);
        for input in &slice.inputs {
            let end = begin + input.bytes;
            let here: Vec<u64> =
                std::iter::from_fn(|| places.next_if(|&place| place < end)).collect();
            self.sample_input(input, begin, &here, means, &mut found)?;
            begin = end;
        }
        Ok(SliceSample { slice: slice.index, bytes: slice.bytes, keys: found })
    }

    /// Samples the keys at these places of the slice, all of which lie in `input`, which begins at
    /// `begin`.
    fn sample_input(
        &self,
        input: &SliceInput,
        begin: u64,
        places: &[u64],
        means: &Means<'_>,
        found: &mut Vec<SampledKey>,
    ) -> Result<(), Error> {
        let (disk, path) = (&*means.job.disk, Path::new(&input.path));
        check_unchanged(disk, path, &input.tag)?;
        let offset = |place: &u64| input.offset + (place - begin);
        let offsets: Vec<u64> = places.iter().map(offset).collect();
        let first = found.len();
        let record_bytes = self.layout.record_bytes() as u64;
        read_places(disk, path, &offsets, record_bytes, |number, record| {
            found.push(SampledKey { key: Hex(self.key(record)), offset: places[number] });
        })?;
        found[first..].sort_by_key(|key| key.offset);
        Ok(())
    }

    /// Returns the normalised key of a record.
    pub(super) fn key(&self, record: &[u8]) -> Vec<u8> {
        let rule = self.layout.rule();
        let mut key = vec![0; rule.bytes()];
        rule.encode(record, &mut key);
        key
    }
}
