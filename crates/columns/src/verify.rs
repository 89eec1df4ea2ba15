//! Whether files are in order, and have the rows of other files.
//!
//! ```text
//!  batches --> digested on all threads --> in order: the last key of one, the first of the next
//! ```

use crate::errors::{of_arrow, of_thread};
use crate::keyed_source::keyed_source;
use crate::sort_plan::SortPlan;
use arrow_array::{Array, RecordBatch};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use xsort::Verdict;
use xsort_arrow::{BatchDigest, BatchDigester};
use xsort_extsort::{Error, Observer};
use xsort_records::Checksum;

/// What was found in rows that follow each other.
#[derive(Default)]
struct Found {
    rows: u64,
    /// The sum of the hashes of all rows.
    sum: u128,
    /// Rows that belong before the row before them, and the number of the first one, from 0.
    unordered: u64,
    first_unordered: Option<u64>,
    /// Rows with the key of the row before them.
    duplicates: u64,
    /// The first and the last key.
    ends: Option<[Box<[u8]>; 2]>,
}

/// A batch to digest, and where the result goes.
struct Work {
    batch: RecordBatch,
    to: Sender<Result<Found, Error>>,
}

/// Checks the first `files` inputs of a plan as one sequence. Also returns the checksum of all
/// others.
pub(crate) fn verify(
    plan: &SortPlan,
    files: usize,
    threads: usize,
    observer: &dyn Observer,
) -> Result<(Verdict, Checksum), Error> {
    let (mut checked, mut others) = (Found::default(), Found::default());
    thread::scope(|scope| {
        let (to, work) = unbounded::<Work>();
        for _ in 0..threads {
            let (work, digester) = (work.clone(), plan.digester()?);
            let thread = thread::Builder::new().name("xsort-digest".into());
            let run = move || work.iter().for_each(|work| work.run(&digester));
            thread.spawn_scoped(scope, run).map_err(of_thread)?;
        }
        let mut reading = keyed_source(plan)?;
        let mut waiting: VecDeque<(usize, Receiver<_>)> = VecDeque::new();
        let mut is_read = false;
        while !(is_read && waiting.is_empty()) {
            if observer.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if !is_read && waiting.len() <= threads {
                let Some(batch) = reading.next()? else {
                    is_read = true;
                    continue;
                };
                let (result, from) = bounded(1);
                waiting.push_back((batch.input, from));
                // The threads end only when this is dropped.
                let _ = to.send(Work { batch: batch.rows, to: result });
                observer.advance(batch.bytes);
            } else if let Some((input, from)) = waiting.pop_front() {
                let found: Result<Found, Error> = from.recv().map_err(|_| Error::Panicked)?;
                if input < files { &mut checked } else { &mut others }.add(found?);
            }
        }
        Ok(())
    })?;
    let checksum = |found: &Found| Checksum::from_parts(found.rows, found.sum);
    let verdict = Verdict {
        records: checked.rows,
        bytes: plan.bytes(),
        checksum: checksum(&checked),
        unordered: checked.unordered,
        duplicates: checked.duplicates,
        first_unordered: checked.first_unordered,
        against: None,
    };
    Ok((verdict, checksum(&others)))
}

impl Work {
    fn run(self, digester: &BatchDigester) {
        let Work { batch, to } = self;
        // Unwind safety: everything that has been used is gone.
        let found = catch_unwind(AssertUnwindSafe(|| digester.digest(&batch).map_err(of_arrow)));
        if let Ok(digest) = found {
            // The receiver may be gone.
            let _ = to.send(digest.map(|digest| Found::of(&digest)));
        }
    }
}

impl Found {
    /// Looks at the rows of a batch.
    fn of(digest: &BatchDigest) -> Found {
        let keys = &digest.keys;
        let rows = keys.len();
        let mut found = Found { rows: rows as u64, sum: digest.sum, ..Found::default() };
        for row in 1..rows {
            found.compare(keys.value(row - 1), keys.value(row), row as u64);
        }
        if rows > 0 {
            found.ends = Some([keys.value(0).into(), keys.value(rows - 1).into()]);
        }
        found
    }

    /// Compares the key of row `row` with that of the row before it.
    fn compare(&mut self, last: &[u8], key: &[u8], row: u64) {
        match last.cmp(key) {
            Ordering::Less => {}
            Ordering::Equal => self.duplicates += 1,
            Ordering::Greater => {
                self.unordered += 1;
                self.first_unordered.get_or_insert(row);
            }
        }
    }

    /// Adds the rows that follow.
    fn add(&mut self, next: Found) {
        let Some([first, last]) = next.ends else { return };
        let begin = match self.ends.take() {
            None => first,
            Some([begin, end]) => {
                self.compare(&end, &first, self.rows);
                begin
            }
        };
        self.ends = Some([begin, last]);
        self.first_unordered =
            self.first_unordered.or(next.first_unordered.map(|row| self.rows + row));
        self.unordered += next.unordered;
        self.duplicates += next.duplicates;
        self.rows += next.rows;
        self.sum += next.sum;
    }
}
