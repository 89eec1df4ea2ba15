//! Verifies a sequence of files at the speed of the drive: order, duplicates, records, checksum.
//!
//! ```text
//! feeder (the caller): take memory, submit the next read    in the order of the files
//! workers:             check a section that has been read   in any order
//! ledger:              append its result to the whole       in the order of the files again
//! ```
//!
//! A section is checked without its neighbours. The boundary of two sections is checked when their
//! results are appended: the last record of one is compared with the first of the next, exactly as
//! between the files of a sequence. So the verdict doesn't depend on threads or memory.
//!
//! Sections begin and end at records. If a small multiple of the record size is also a multiple of
//! the page (102,400 bytes for records of 100), section sizes are multiples of that, and no byte is
//! read twice. For other record sizes a read begins at the start of the section's first page, so
//! two reads share the page at their boundary.
//!
//! `xsort_records` defines what "in order" means. The verifier shares no code with the sort that it
//! checks.
//!
//! | file | idea |
//! |---|---|
//! | `options` | what to verify, and the verdict |
//! | `memory` | the division of the budget |
//! | `sequence` | the files as one sequence of sections |
//! | `ledger` | the results of sections, in order |
//! | `stream` | streams, which can be read only once |
//! | `prefixed` | records that begin with their length |

mod ledger;
mod memory;
mod options;
mod prefixed;
mod sequence;
mod stream;

pub use options::{VerifyOptions, VerifyReport};
pub use prefixed::{PrefixedVerifyOptions, PrefixedVerifyReport, verify_prefixed};
pub use stream::verify_stream;

use crate::job::threads::spawn_up_to;
use crate::{Error, Gauges, JobInfo, Observer};
use crossbeam_channel::{Receiver, Sender};
use ledger::{Ledger, Tally};
use memory::MemoryPlan;
use parking_lot::Mutex;
use sequence::{OpenSequence, Section, Sequence, check_content};
use std::sync::Arc;
use std::thread;
use xsort_disk::{BlockPool, Completion, Direction, Disk, Lease, Request, align_down, align_up};

/// Reads all files and checks their order, duplicates and checksum.
///
/// Records out of order are a verdict, not an error.
///
/// # Errors
/// [`Error::Input`] if a file's size is no multiple of the record size, [`Error::Memory`] if the
/// budget can't hold a record's pages, [`Error::Disk`] if a file can't be opened or read,
/// [`Error::Cancelled`] if the observer cancels.
pub fn verify(
    options: &VerifyOptions,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<VerifyReport, Error> {
    let record_bytes = options.layout.record_bytes() as u64;
    let memory = MemoryPlan::fit(options.budget_bytes, options.threads, record_bytes)?;
    let sequence = Sequence::open(options, disk, memory.section_bytes)?;
    let memory = memory.for_sections(sequence.section_count());
    for line in disk.notices() {
        observer.notice(&line);
    }
    let frame = JobInfo {
        record_bytes: Some(record_bytes),
        budget_bytes: options.budget_bytes,
        threads: memory.threads as usize,
        chunks: None,
    };
    let gauges = Gauges::new(frame, observer.spans());
    observer.show(gauges.clone());
    observer.phase(if options.order { "verify" } else { "checksum" }, sequence.bytes());

    let lease_bytes = memory.lease_bytes as usize;
    let pool = Lease::map(lease_bytes * memory.leases as usize)?;
    let verification = Verification {
        options,
        sequence: &sequence,
        disk,
        observer,
        gauges,
        block_pool: BlockPool::new([pool], lease_bytes),
        ledger: Mutex::new(Ledger::new(options)),
    };
    let whole = verification.run(memory.threads as usize)?;

    let records = sequence.bytes() / record_bytes;
    assert_eq!(whole.records(), records, "every record was judged once");
    let (checksum, part) = match whole {
        Tally::Sum(checksum) => (checksum, None),
        Tally::Order(part) => (part.checksum(), Some(part)),
    };
    Ok(VerifyReport { records, bytes: sequence.bytes(), checksum, part })
}

/// A verification, shared by the feeder and the workers.
struct Verification<'a> {
    options: &'a VerifyOptions,
    sequence: &'a Sequence,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
    gauges: Gauges,
    block_pool: Arc<BlockPool>,
    ledger: Mutex<Ledger>,
}

impl Verification<'_> {
    /// Reads and checks all files. Returns once no read is in flight, even after a failure.
    fn run(self, threads: usize) -> Result<Tally, Error> {
        let (reply, completions) = crossbeam_channel::unbounded();
        let mut open = OpenSequence::new(self.disk);
        thread::scope(|scope| {
            let started = spawn_up_to(
                scope,
                threads,
                |error| self.fail(error),
                |_| {
                    let (verification, completions) = (&self, completions.clone());
                    move || verification.work(&completions)
                },
            );
            if let Err(error) = started.and_then(|_| self.feed(reply, &mut open)) {
                self.fail(error);
            }
        });
        let ledger = self.ledger.into_inner();
        match ledger.failure {
            Some(error) => Err(error),
            None if self.observer.is_cancelled() => Err(Error::Cancelled),
            None => open.close_judged(u64::MAX).map(|()| ledger.whole),
        }
    }

    /// Submits the reads of all sections, each as soon as there is memory for it. The workers end
    /// when `reply` and its clones are dropped.
    fn feed(&self, reply: Sender<Completion>, open: &mut OpenSequence<'_>) -> Result<(), Error> {
        for input in &self.sequence.files {
            let file = open.open(input, self.sequence)?;
            for (number, section) in self.sequence.sections(input) {
                let take = || self.block_pool.take();
                let Some(lease) = self.gauges.stage_times.read_waits_for_areas.time(take) else {
                    break;
                };
                if self.observer.is_cancelled() {
                    break;
                }
                let offset = align_down(section.start);
                let request = Request {
                    direction: Direction::Read,
                    file,
                    offset,
                    bytes: (align_up(section.end) - offset) as usize,
                    bytes_needed: (section.end - offset) as usize,
                    lease,
                    tag: number,
                    reply: reply.clone(),
                };
                self.gauges.traffic.submit(self.disk, request);
            }
            let judged = self.ledger.lock().next;
            open.close_judged(judged)?;
        }
        Ok(())
    }

    /// A worker's loop: checks sections until none is left. After a failure it only drops them.
    fn work(&self, completions: &Receiver<Completion>) {
        let record_bytes = self.options.layout.record_bytes();
        let Gauges { stage_times, traffic, .. } = &self.gauges;
        while let Ok(completion) = stage_times.work_waits_for_read.time(|| completions.recv()) {
            traffic.finish(&completion);
            if let Err(error) = completion.result {
                self.fail(Error::Disk(error));
                continue;
            }
            let section = self.sequence.section(completion.tag);
            let begin = (section.start - completion.offset) as usize;
            let end = (section.end - completion.offset) as usize;
            let mut tally = Tally::new(self.options);
            let records = &completion.lease[begin..end];
            if let Err(error) = self.check_content(completion.tag, section, records) {
                self.fail(error);
                continue;
            }
            stage_times.checksum_busy.time(|| tally.extend(records, record_bytes));
            drop(completion.lease);
            self.ledger.lock().enter(completion.tag, tally);
            self.observer.advance(section.end - section.start);
        }
    }

    /// Refuses a file whose first section doesn't look like records.
    fn check_content(&self, number: u64, section: Section, records: &[u8]) -> Result<(), Error> {
        if !self.options.format_is_assumed || section.start > 0 {
            return Ok(());
        }
        let input = self.sequence.input(number);
        check_content(&input.path, records, input.bytes)
    }

    /// Stores the first error, and stops the feeder.
    fn fail(&self, error: Error) {
        self.ledger.lock().failure.get_or_insert(error);
        self.block_pool.close();
    }
}
