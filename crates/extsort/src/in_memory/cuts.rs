//! Cutting a merge of runs in memory into segments of similar size. Cuts are points in the total
//! order (key, run, place), found from a sample of each run.

use xsort_kernels::{RecordKernels, shared_prefix};

/// Number of samples for each segment.
const SAMPLES: usize = 8;

/// A point in the order of all records.
pub(super) struct Cut {
    /// For each run, the number of records before the cut.
    pub(super) places: Vec<usize>,
    /// The normalised key of the first record after the cut; `None` at both ends.
    key: Option<Vec<u8>>,
}

impl Cut {
    /// Number of records before the cut.
    pub(super) fn records(&self) -> usize {
        self.places.iter().sum()
    }

    /// Length in bytes of a prefix that all keys between two cuts share. The real shared prefix may
    /// be longer.
    pub(super) fn shared_bytes(from: &Cut, to: &Cut) -> usize {
        let keys = from.key.as_ref().zip(to.key.as_ref());
        keys.map_or(0, |(from, to)| shared_prefix(from, to))
    }
}

/// The cuts at the beginning, between segments of about `segment_records` records, and at the end.
/// `runs` are indexes of `records`.
pub(super) fn cuts(
    kernels: &dyn RecordKernels,
    records: &[u8],
    record_bytes: usize,
    runs: &[&[u64]],
    segment_records: usize,
) -> Vec<Cut> {
    let record = |(run, place): (usize, usize)| {
        &records[runs[run][place] as usize * record_bytes..][..record_bytes]
    };
    let step = (segment_records / SAMPLES).max(1);
    let places = |(run, order): (usize, &&[u64])| {
        (step..order.len()).step_by(step).map(move |place| (run, place))
    };
    let mut samples: Vec<(usize, usize)> = runs.iter().enumerate().flat_map(places).collect();
    samples.sort_by(|&a, &b| kernels.compare(record(a), record(b)).then(a.cmp(&b)));
    let cut_at = |&(run, place): &(usize, usize)| {
        let mut encoded = vec![0; kernels.key_bytes()];
        kernels.encode(record((run, place)), &mut encoded);
        let place_in = |(other, order): (usize, &&[u64])| {
            if other == run {
                return place;
            }
            // Equal keys of earlier runs come before the cut, equal keys of later runs after it.
            kernels.bound_in_order(records, record_bytes, order, &encoded, other < run)
        };
        let places = runs.iter().enumerate().map(place_in).collect();
        Cut { places, key: Some(encoded) }
    };
    let first = Cut { places: vec![0; runs.len()], key: None };
    let last = Cut { places: runs.iter().map(|order| order.len()).collect(), key: None };
    let between = samples.iter().skip(SAMPLES - 1).step_by(SAMPLES).map(cut_at);
    std::iter::once(first).chain(between).chain([last]).collect()
}
