//! Chunks in the journal: the chunks of the input that are on scratch.

use super::job::SortJob;
use crate::Error;
use crate::store::journal::Step;
use serde::Serialize;
use serde::de::DeserializeOwned;
use xsort_records::Checksum;

/// A chunk that an earlier process has written to scratch.
pub(crate) struct ReplayedChunk<T> {
    pub(crate) number: usize,
    /// The chunk's blocks on scratch.
    pub(crate) blocks: T,
    pub(crate) checksum: Checksum,
}

/// Records that a chunk is on scratch.
pub(crate) fn record_chunk<T: Serialize>(
    job: &SortJob<'_>,
    number: usize,
    blocks: &T,
    checksum: Checksum,
) {
    if job.journal.is_recording() {
        let checksum = (checksum.records(), checksum.sum());
        job.journal.record(Step::Chunk(number as u64), &(blocks, checksum));
    }
}

/// The chunks that an earlier process has written to scratch. `claim` keeps the blocks of a chunk,
/// or returns what is wrong with them.
pub(crate) fn replay_chunks<T: DeserializeOwned>(
    job: &SortJob<'_>,
    claim: impl Fn(&T) -> Result<(), String>,
) -> Result<Vec<ReplayedChunk<T>>, Error> {
    let mut chunks = Vec::new();
    for number in 0..job.plan.spilled_chunks {
        let step = Step::Chunk(number as u64);
        let Some((blocks, (records, sum))) = job.journal.replay::<(T, (u64, u128))>(step)? else {
            continue;
        };
        claim(&blocks).map_err(|detail| job.journal.refuse(step, &detail))?;
        job.observer.advance(records * job.record_bytes as u64);
        let checksum = Checksum::from_parts(records, sum);
        chunks.push(ReplayedChunk { number, blocks, checksum });
    }
    Ok(chunks)
}
