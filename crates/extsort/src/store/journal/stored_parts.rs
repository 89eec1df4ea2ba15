//! The parts of an output that goes to a store. A part is durable once the store has taken it,
//! which may be long after its bytes were written, and no `sync` can hasten that. So what the
//! journal has to say of the output waits until the parts are there.

use super::step::{Step, Steps, encoded};
use crate::store::output_prefix::OutputPrefix;
use std::collections::VecDeque;
use xsort_disk::{Disk, FileId, StoredPart};

/// The parts that the journal has, and how far the output is written behind them.
#[derive(Debug, Default)]
pub(super) struct StoredParts {
    count: usize,
    /// Where the last of them ends in the output.
    bytes: u64,
    /// Results of [`Step::Written`], and how many bytes have to be durable before.
    held: VecDeque<(u64, Vec<u8>)>,
}

impl StoredParts {
    /// Adds the parts to `steps` that are new in the store, and takes back how far the output is
    /// written as far as it isn't there. Leaves everything as it is if none of the files is in a
    /// store.
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
