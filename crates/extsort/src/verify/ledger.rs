//! Collecting the results of sections, which arrive in any order, and joining them in the order of
//! the sequence.

use super::options::VerifyOptions;
use crate::Error;
use std::collections::BTreeMap;
use xsort_records::{Checksum, VerifySummary};

/// The result of a range of records.
#[derive(Debug)]
pub(super) enum Tally {
    /// Order, duplicates and checksum.
    Order(VerifySummary),
    /// The checksum only.
    Sum(Checksum),
}

impl Tally {
    pub(super) fn new(options: &VerifyOptions) -> Tally {
        if options.order {
            Tally::Order(VerifySummary::new(&options.layout))
        } else {
            Tally::Sum(Checksum::default())
        }
    }

    /// Adds the next records.
    pub(super) fn extend(&mut self, records: &[u8], record_bytes: usize) {
        match self {
            Tally::Order(part) => part.extend(records),
            Tally::Sum(checksum) => checksum.add_records(records, record_bytes),
        }
    }

    /// Appends the result of the records that follow.
    pub(super) fn append(&mut self, next: &Tally) {
        match (self, next) {
            (Tally::Order(part), Tally::Order(next)) => part.append(next),
            (Tally::Sum(checksum), Tally::Sum(next)) => checksum.merge(*next),
            _ => unreachable!("a job has tallies of one kind"),
        }
    }

    /// Number of records.
    pub(super) fn records(&self) -> u64 {
        match self {
            Tally::Order(part) => part.records(),
            Tally::Sum(checksum) => checksum.records(),
        }
    }
}

/// Joins the tallies of sections, which arrive in any order, in the order of the sequence. The
/// number of waiting tallies is at most the number of leases.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) whole: Tally,
    /// The number of the next section to append. All earlier ones have been judged.
    pub(super) next: u64,
    waiting: BTreeMap<u64, Tally>,
    /// The first error of any thread.
    pub(super) failure: Option<Error>,
}

impl Ledger {
    pub(super) fn new(options: &VerifyOptions) -> Ledger {
        Ledger { whole: Tally::new(options), next: 0, waiting: BTreeMap::new(), failure: None }
    }

    /// Adds the result of a section.
    pub(super) fn enter(&mut self, number: u64, tally: Tally) {
        self.waiting.insert(number, tally);
        while let Some(tally) = self.waiting.remove(&self.next) {
            self.whole.append(&tally);
            self.next += 1;
        }
    }
}
