//! Summaries as files, in valsort's layout. So each part of a data set can be verified where it is,
//! and the summaries joined later.
//!
//! ```text
//! byte   0                 16          32        48           64         80      80 + R 80 + 2R
//!        | first unordered | unordered | records | duplicates | checksum | first | last |
//! ```
//!
//! Each of the five numbers has 128 bits, as two little-endian words with the upper one first. For
//! the Sort Benchmark's records R = 100, and a summary has 280 bytes. The first unordered record is
//! 0 if there is none (record 0 has no predecessor, so 0 is no valid index). A summary of no
//! records has zeros for its records.

use crate::order_check::{OrderCounts, compare};
use crate::{Checksum, Layout, VerifySummary};

const NUMBER_BYTES: usize = 16;
const NUMBERS: usize = 5;

/// The error for bytes that aren't a summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// The wrong number of bytes for the layout.
    #[error(
        "{bytes} bytes of summary: one for records of {record_bytes} bytes has {}",
        summary_bytes(*.record_bytes)
    )]
    Length {
        /// Number of bytes.
        bytes: usize,
        /// Size of the layout's records in bytes.
        record_bytes: usize,
    },
    /// Numbers that no sequence of records has.
    #[error("the summary contradicts itself: {contradiction}; was it made for other records?")]
    Contradiction {
        /// The contradiction.
        contradiction: &'static str,
    },
}

/// Size of one summary in bytes.
const fn summary_bytes(record_bytes: usize) -> usize {
    NUMBERS * NUMBER_BYTES + 2 * record_bytes
}

impl VerifySummary {
    /// The summary as bytes: 80 bytes and two records.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let record_bytes = self.layout.record_bytes();
        let mut summary = Vec::with_capacity(summary_bytes(record_bytes));
        let numbers = [
            u128::from(self.first_unordered().unwrap_or(0)),
            u128::from(self.unordered()),
            u128::from(self.records()),
            u128::from(self.duplicates()),
            self.checksum().sum(),
        ];
        for number in numbers {
            summary.extend_from_slice(&((number >> 64) as u64).to_le_bytes());
            summary.extend_from_slice(&(number as u64).to_le_bytes());
        }
        for record in [&self.first, &self.last] {
            summary.extend_from_slice(record);
            summary.resize(summary.len() + record_bytes - record.len(), 0);
        }
        summary
    }

    /// Reads one summary of records of `layout`.
    ///
    /// # Errors
    /// If it has the wrong length or contradicts itself.
    pub fn from_bytes(summary: &[u8], layout: &Layout) -> Result<VerifySummary, SummaryError> {
        let record_bytes = layout.record_bytes();
        if summary.len() != summary_bytes(record_bytes) {
            return Err(SummaryError::Length { bytes: summary.len(), record_bytes });
        }
        let (numbers, two_records) = summary.split_at(NUMBERS * NUMBER_BYTES);
        let (first, last) = two_records.split_at(record_bytes);
        let number = |place: usize| {
            let (words, _) = numbers[place * NUMBER_BYTES..].as_chunks::<8>();
            u128::from(u64::from_le_bytes(words[0])) << 64
                | u128::from(u64::from_le_bytes(words[1]))
        };
        let count = |place: usize| {
            u64::try_from(number(place))
                .map_err(|_| contradiction("a count of 2^64 records or more"))
        };
        let (first_unordered, unordered, records, duplicates) =
            (count(0)?, count(1)?, count(2)?, count(3)?);
        let sum = number(4);

        let neighbours = records.saturating_sub(1);
        if unordered.checked_add(duplicates).is_none_or(|found| found > neighbours) {
            return Err(contradiction("more unordered and duplicate records than records"));
        }
        if unordered > 0 && !(1..records - unordered + 1).contains(&first_unordered) {
            return Err(contradiction("the first unordered record is not where it could be"));
        }
        if sum > u128::from(records) * u128::from(u32::MAX) {
            return Err(contradiction("a checksum larger than its records allow"));
        }
        if records > 0 && unordered == 0 && compare(layout.fields(), last, first).is_lt() {
            return Err(contradiction(
                "all in order, but the last record is smaller than the first",
            ));
        }
        let present = |record: &[u8]| if records == 0 { Vec::new() } else { record.to_vec() };
        Ok(VerifySummary {
            layout: layout.clone(),
            counts: OrderCounts {
                unordered,
                first_unordered: (unordered > 0).then_some(first_unordered),
                duplicates,
            },
            checksum: Checksum::from_parts(records, sum),
            first: present(first),
            last: present(last),
        })
    }

    /// Appends summaries of consecutive parts, in order. Returns the number of summaries.
    ///
    /// # Errors
    /// If the bytes aren't a whole number of summaries, one of them contradicts itself, or the
    /// total number of records is too large.
    pub fn append_summaries(&mut self, summaries: &[u8]) -> Result<usize, SummaryError> {
        let summaries = summaries.chunks(summary_bytes(self.layout.record_bytes()));
        let count = summaries.len();
        for summary in summaries {
            let next = VerifySummary::from_bytes(summary, &self.layout)?;
            if self.records().checked_add(next.records()).is_none() {
                return Err(contradiction("2^64 records or more, with those before them"));
            }
            self.append(&next);
        }
        Ok(count)
    }
}

fn contradiction(contradiction: &'static str) -> SummaryError {
    SummaryError::Contradiction { contradiction }
}
