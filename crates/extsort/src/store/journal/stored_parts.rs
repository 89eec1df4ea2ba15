//! The parts of an output in a store. A part is durable once the store has accepted it. This may be
//! long after its bytes were written, and `sync` can't hasten it. So the journal records the
//! written output only after its parts have been accepted.

use super::step::{Step, Steps, encoded};
use crate::store::output_prefix::OutputPrefix;
use std::collections::VecDeque;
use xsort_disk::{Disk, FileId, StoredPart};

/// The parts in the journal, and the recorded prefixes that wait for more parts.
#[derive(Debug, Default)]
pub(super) struct StoredParts {
    count: usize,
    /// Where the last part ends in the output.
    bytes: u64,
    /// Results of [`Step::Written`], each with the number of bytes that must be durable before it
    /// is recorded.
    held: VecDeque<(u64, Vec<u8>)>,
}

impl StoredParts {
    /// Adds newly stored parts to `steps`. Holds back [`Step::Written`] until the store has its
    /// bytes. Does nothing if none of the `data` files is in a store.
    pub(super) fn hold_back(&mut self, disk: &dyn Disk, data: &[FileId], steps: &mut Steps) {
        let new = data.iter().find_map(|&file| disk.stored_parts(file, self.count));
        let Some(new) = new else { return };
        for StoredPart { bytes, crc, tag } in new {
            steps.insert(Step::Part(self.count as u64), encoded(&(bytes, crc, tag)));
            self.count += 1;
            self.bytes += bytes;
        }
        if let Some(written) = steps.remove(&Step::Written) {
            let (prefix, _) = postcard::take_from_bytes::<OutputPrefix>(&written)
                .expect("what is written begins with a prefix");
            self.held.push_back((prefix.durable_bytes(), written));
        }
        let durable = self.held.partition_point(|(needs, _)| *needs <= self.bytes);
        if let Some((_, written)) = self.held.drain(..durable).next_back() {
            steps.insert(Step::Written, written);
        }
    }
}
