//! Stretches of inputs that are in order, and the rest after them: a plan for their merge, and how
//! their records are read.

use super::job::SortJob;
use super::options::Method;
use super::plan::{Facts, INDEX_ENTRY_BYTES, MergeShape, Plan, Shape, merge_plan};
use super::runs::RecordRange;
use crate::Error;
use xsort_disk::{ALIGNMENT, FileId, Lease, align_up};

/// Most reads in flight of pieces that are read one after the other, and bytes of each.
const PIECES_MAX: usize = 4;
const PIECE_BYTES: usize = 1 << 20;
/// The share of the budget for the rest, as a divisor.
const REST_SHARE: u64 = 2;

/// Records of an input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Number of the input.
    pub(super) input: usize,
    /// Number of the first record in the input.
    pub(super) from: u64,
    /// Number of records; at least one.
    pub(super) records: u64,
}

/// All records of the inputs, in their order.
pub(super) struct Stretches {
    /// Each of these is in order.
    pub(super) sorted: Vec<Stretch>,
    /// What follows, in any order.
    pub(super) rest: Vec<Stretch>,
}

impl Stretches {
    /// Number of records in the rest.
    pub(super) fn rest_records(&self) -> u64 {
        self.rest.iter().map(|stretch| stretch.records).sum()
    }

    /// Plans a merge within the budget of `plan`. `None` if the budget is too small.
    pub(super) fn plan(&self, plan: &Plan) -> Option<Plan> {
        let rest_bytes = rest_bytes(plan, self.rest_records());
        if rest_bytes > plan.budget_bytes / REST_SHARE {
            return None;
        }
        let bytes = |stretch: &Stretch| stretch.records * plan.record_bytes;
        let facts = Facts {
            input_bytes: self.sorted.iter().map(bytes).collect(),
            record_bytes: plan.record_bytes,
            key_bytes: plan.key_bytes,
            budget_bytes: plan.budget_bytes - rest_bytes,
            threads: plan.threads,
            method: Method::MergeInputs,
            codec: None,
            may_keep: true,
            in_place: false,
        };
        let merge = merge_plan(&facts)?;
        let Shape::MergeInputs(shape) = &merge.shape else { return None };
        // The runs of the rest are in memory, and take no blocks.
        let fan_in_max = shape.fan_in_max + plan.threads;
        let shape = Shape::MergeInputs(MergeShape { fan_in_max, ..shape.clone() });
        let Plan { records, bytes, budget_bytes, .. } = *plan;
        Some(Plan { shape, records, bytes, budget_bytes, ..merge })
    }
}

/// Bytes of memory for sorting `records` records of the rest, and for their index.
fn rest_bytes(plan: &Plan, records: u64) -> u64 {
    let parts = plan.threads as u64;
    let part_records = records.div_ceil(parts);
    let records_bytes = align_up(part_records * plan.record_bytes);
    let index_bytes = records_bytes / ALIGNMENT as u64 * (INDEX_ENTRY_BYTES + plan.key_bytes);
    parts * (records_bytes + 2 * align_up(part_records * 8) + index_bytes)
}

/// Cuts records into pieces that are read at once. Each comes with the number of its first record.
pub(super) fn pieces(
    job: &SortJob<'_>,
    file: FileId,
    from: u64,
    records: u64,
) -> impl Iterator<Item = (u64, RecordRange)> + use<> {
    let record_bytes = job.record_bytes;
    let piece = (PIECE_BYTES / record_bytes).max(1) as u64;
    (from..from + records).step_by(piece as usize).map(move |first| {
        let records = piece.min(from + records - first);
        (first, RecordRange::new(file, first, records, record_bytes))
    })
}

/// Reads pieces, and passes the number of the first record and the records of each to `take`.
pub(super) fn read_pieces(
    job: &SortJob<'_>,
    pieces: impl Iterator<Item = (u64, RecordRange)>,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let buffer_bytes = align_up(PIECE_BYTES.max(job.record_bytes) as u64) as usize + ALIGNMENT;
    let buffers = (0..PIECES_MAX).map(|_| Lease::map(buffer_bytes)).collect::<Result<_, _>>()?;
    let reads = pieces.map(|(first, RecordRange { pages, lead })| (pages, (first, lead)));
    job.read_in_order(buffers, reads, |(first, lead), read| take(first, &read[lead..])).map(drop)
}
