//! The steps of a sort, and their encoding in the journal.
//!
//! An encoded step has three fields: its length (eight bytes), the [`Step`], and its result.
//! Postcard encodes the last two. The order of the variants is part of the format.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum size of one encoded step in bytes. A longer one is damaged.
const STEP_BYTES_MAX: usize = 1 << 31;

/// A step of a sort. Variants are in the order in which steps can depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Step {
    /// The header of the checkpoint, which identifies the sort.
    Begin,
    /// The tag for reopening the output.
    Output,
    /// The fingerprint of an input.
    Input(u64),
    /// The sampled keys.
    Sample,
    /// A chunk of the input, which is on scratch.
    Chunk(u64),
    /// All chunks have been read: the inputs are not needed any more.
    InputRead,
    /// A merge of an intermediate pass, or the split of a bin.
    IntermediatePass(u64),
    /// A part of an output in a store. The store has accepted everything up to the part's end.
    Part(u64),
    /// The written prefix of the output: an
    /// [`OutputPrefix`](crate::store::output_prefix::OutputPrefix), and the method's state for
    /// continuing after it. Only the last such step counts.
    Written,
    /// The output is complete and about to get its name.
    Publish,
}

/// Steps with their encoded results.
pub(crate) type Steps = BTreeMap<Step, Vec<u8>>;

/// Encodes the result of a step.
pub(crate) fn encoded<T: Serialize>(result: &T) -> Vec<u8> {
    postcard::to_stdvec(result).expect("a result has a length and no pointers")
}

/// Encodes steps for [`StepDecoder`].
pub(super) fn encode_steps(steps: &Steps) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (step, result) in steps {
        let step = encoded(step);
        bytes.extend(((step.len() + result.len()) as u64).to_le_bytes());
        bytes.extend(step);
        bytes.extend(result);
    }
    bytes
}

/// Decodes the steps of a journal from stretches of any length. Keeps only the last result of each
/// step, so that a long journal of few steps takes little memory.
#[derive(Debug, Default)]
pub(super) struct StepDecoder {
    pub(super) steps: Steps,
    /// The beginning of an incomplete step.
    partial: Vec<u8>,
    /// Some bytes were not a step. Everything after them is ignored.
    is_damaged: bool,
}

impl StepDecoder {
    /// Decodes the next bytes. Returns true if they end with a complete step.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        if self.is_damaged {
            return false;
        }
        self.partial.extend_from_slice(bytes);
        let mut rest = &self.partial[..];
        while let Some((length, encoded)) = rest.split_first_chunk() {
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
            self.is_damaged = length > STEP_BYTES_MAX;
            let Some((encoded, behind)) = encoded.split_at_checked(length) else { break };
            let Ok((step, result)) = postcard::take_from_bytes::<Step>(encoded) else {
                self.is_damaged = true;
                break;
            };
            self.steps.insert(step, result.to_vec());
            rest = behind;
        }
        let decoded = self.partial.len() - rest.len();
        self.partial.drain(..decoded);
        self.partial.is_empty() && !self.is_damaged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_steps_or_none_however_they_come() {
        let steps =
            (0..50).map(|number| (Step::Chunk(number), encoded(&vec![number; number as usize])));
        let whole = encode_steps(&steps.collect());
        let steps = |bytes: &[u8], most: usize| {
            let mut decoder = StepDecoder::default();
            bytes.chunks(most).for_each(|bytes| _ = decoder.take(bytes));
            decoder.steps
        };
        assert_eq!(steps(&whole, usize::MAX).len(), 50);
        for most in [1, 7, 100, 4096] {
            assert_eq!(steps(&whole, most), steps(&whole, usize::MAX));
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x81;
            assert_eq!(steps(&damaged, 13), steps(&damaged, usize::MAX), "byte {at}");
        }
    }
}
