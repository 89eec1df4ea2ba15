//! The verifier for records of varying length: each record is compared with its predecessor.

use crate::order_check::{OrderCounts, compare_varying, ends_before, summary_figures};
use crate::{Checksum, KeyField};

/// The order, the number and the checksum of consecutive records.
///
/// Without fields, the whole record is its key. A byte field that ends after the record is
/// shortened to the record.
///
/// ```
/// # use xsort_records::*;
/// let mut summary = VaryingSummary::new(vec!["0:2".parse().unwrap()]);
/// for record in [&b"a"[..], b"ab", b"abc", b"aa"] {
///     summary.add(record, record).unwrap();
/// }
/// assert_eq!((summary.records(), summary.duplicates(), summary.unordered()), (4, 1, 1));
/// assert_eq!(summary.first_unordered(), Some(3));
/// ```
#[derive(Clone, Debug)]
pub struct VaryingSummary {
    fields: Vec<KeyField>,
    counts: OrderCounts,
    checksum: Checksum,
    previous: Vec<u8>,
}

impl VaryingSummary {
    /// The summary of no records.
    #[must_use]
    pub fn new(fields: Vec<KeyField>) -> VaryingSummary {
        let (counts, checksum) = (OrderCounts::default(), Checksum::default());
        VaryingSummary { fields, counts, checksum, previous: Vec::new() }
    }

    /// Adds the next record. `whole` is the record as in its file; `body` is the part that contains
    /// its key.
    ///
    /// # Errors
    /// The number field that the record is too short for.
    pub fn add(&mut self, whole: &[u8], body: &[u8]) -> Result<(), KeyField> {
        if let Some(field) = self.fields.iter().find(|field| ends_before(field, body)) {
            return Err(*field);
        }
        let records = self.records();
        if records > 0 {
            let order = compare_varying(&self.fields, body, &self.previous);
            self.counts.count(records as usize, order);
        }
        self.checksum.add_records(whole, whole.len());
        self.previous.clear();
        self.previous.extend_from_slice(body);
        Ok(())
    }

    summary_figures!();
}
