//! How a verification divides its budget.

use crate::Error;
use xsort_disk::{ALIGNMENT, align_down, align_up};

/// Maximum size of a section in bytes, if the budget allows it.
const SECTION_BYTES_MAX: u64 = 4 << 20;

/// Sections are not made smaller than this many bytes to have more of them.
const SECTION_BYTES_MIN: u64 = 64 << 10;

/// Number of sections being read or queued, in addition to the sections being judged. On a drive
/// that answers in batches, 28 read a fifth faster than 4 (docs/experiments/2026-11-26-batches.md).
const IN_FLIGHT_SECTIONS: u64 = 28;

/// Number of sections in flight if memory is short: more would be smaller than
/// [`SECTION_BYTES_GOOD`], the size for efficient reads.
const IN_FLIGHT_SECTIONS_FEW: u64 = 4;
const SECTION_BYTES_GOOD: u64 = 1 << 20;

/// The budget, divided. All sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryPlan {
    pub(super) section_bytes: u64,
    /// Size of the lease that holds the pages of a section.
    pub(super) lease_bytes: u64,
    pub(super) leases: u64,
    pub(super) threads: u64,
}

impl MemoryPlan {
    /// A lease for each thread and some in flight, if the budget allows a useful size. Otherwise
    /// fewer leases, down to the pages of a single record.
    pub(super) fn fit(
        budget_bytes: u64,
        threads: usize,
        record_bytes: u64,
    ) -> Result<MemoryPlan, Error> {
        let threads = threads.max(1) as u64;
        let (smallest, needed_bytes) = MemoryPlan::section(record_bytes, 0);
        if budget_bytes < needed_bytes {
            return Err(Error::Memory { budget_bytes, needed_bytes });
        }
        let wanted = threads + IN_FLIGHT_SECTIONS;
        let few = threads + IN_FLIGHT_SECTIONS_FEW;
        let share = (budget_bytes / wanted)
            .max((budget_bytes / few).min(SECTION_BYTES_GOOD))
            .max(budget_bytes.min(SECTION_BYTES_MIN));
        let (section_bytes, lease_bytes) = match MemoryPlan::section(record_bytes, share) {
            (_, lease) if lease > budget_bytes => (smallest, needed_bytes),
            fitting => fitting,
        };
        let leases = (budget_bytes / lease_bytes).min(wanted);
        assert!(leases >= 1 && section_bytes >= record_bytes);
        Ok(MemoryPlan { section_bytes, lease_bytes, leases, threads: threads.min(leases) })
    }

    /// Limits memory and threads to the work in `sections` sections.
    pub(super) fn for_sections(self, sections: u64) -> MemoryPlan {
        let leases = self.leases.min(sections.max(1));
        MemoryPlan { leases, threads: self.threads.min(leases), ..self }
    }

    /// The largest section whose pages fit into `space_bytes` (one record if none fits), and the
    /// size of its pages.
    fn section(record_bytes: u64, space_bytes: u64) -> (u64, u64) {
        let page = ALIGNMENT as u64;
        let aligned = record_bytes / gcd(record_bytes, page) * page;
        let space_bytes = align_down(space_bytes.min(SECTION_BYTES_MAX));
        if aligned <= space_bytes || aligned == record_bytes {
            let section = (space_bytes / aligned).max(1) * aligned;
            return (section, section);
        }
        if page.is_multiple_of(record_bytes) {
            return (page, page);
        }
        let section = (space_bytes.saturating_sub(page) / record_bytes).max(1) * record_bytes;
        (section, align_up(section) + page)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_sections_are_not_smaller_than_is_good_to_read() {
        let plan = |budget| MemoryPlan::fit(budget, 2, 100).unwrap();
        let (little, some, much) = (plan(4 << 20), plan(16 << 20), plan(1 << 30));
        assert!(little.section_bytes > 512 << 10 && little.leases == 6, "{little:?}");
        assert!(some.section_bytes > 900 << 10 && some.leases > 12, "{some:?}");
        assert!(much.section_bytes > 3 << 20 && much.leases == 30, "{much:?}");
    }

    #[test]
    fn leases_hold_any_section_and_fit_the_budget() {
        for record in [1, 8, 10, 100, 128, 1000, 4095, 4096, 4097, 8192, 65_536, 100_001, 5 << 20] {
            let (_, needed) = MemoryPlan::section(record, 0);
            assert!(
                matches!(MemoryPlan::fit(needed - 1, 1, record), Err(Error::Memory { .. })),
                "{record}"
            );
            for budget in [needed, needed + 1, needed + 5000, 3 * needed, needed + (64 << 20)] {
                for threads in [1, 2, 9, 64] {
                    let memory = MemoryPlan::fit(budget, threads, record).unwrap();
                    assert!(
                        memory.leases * memory.lease_bytes <= budget,
                        "{record} {budget} {memory:?}"
                    );
                    assert!(
                        memory.section_bytes.is_multiple_of(record),
                        "{record} {budget} {memory:?}"
                    );
                    let worst = (0..20).map(|n| {
                        let start = n * memory.section_bytes;
                        align_up(start + memory.section_bytes) - align_down(start)
                    });
                    assert!(
                        worst.max().unwrap() <= memory.lease_bytes,
                        "{record} {budget} {memory:?}"
                    );
                }
            }
        }
    }
}
