//! Judging a sequence of files at the speed of the drive: order, duplicates, records, checksum.
//!
//! ```text
//! feeder (the caller's thread): take memory -> submit the next piece's read     in the order of the files
//! workers:                      completion -> judge the piece on its own        in any order
//! ledger:                       append the piece's part to the whole            in the order of the files again
//! ```
//!
//! A piece is judged without its neighbours, and the seam between two pieces is judged when their
//! parts are appended: the last record of one against the first of the next, exactly as between the
//! files of a sequence. So one thread or sixty-four, small memory or large, give the same verdict.
//!
//! Pieces begin and end at records. Where some multiple of the record is a multiple of the page too
//! (102,400 bytes for records of 100), pieces are multiples of that and no byte is read twice; for
//! odd records a read begins at the page below and the page at the seam is read by both.
//!
//! What "in order" means is not here: that is the records' room.

use crate::job::threads::spawn_up_to;
use crate::{Error, Gauges, JobInfo, Observer};
use crossbeam_channel::{Receiver, Sender};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use xsort_disk::{
    ALIGNMENT, BlockPool, Completion, Direction, Disk, FileId, Lease, Request, align_down, align_up,
};
use xsort_records::{Checksum, Content, Layout, VerifySummary};

/// Size in bytes of a piece when the budget allows.
const PIECE_BYTES_MAX: u64 = 4 << 20;

/// Below this size in bytes a piece is not made smaller for the sake of having more of them.
const PIECE_BYTES_MIN: u64 = 64 << 10;

/// Pieces on their way from the drive besides those being judged.
const IN_FLIGHT_PIECES: u64 = 4;

/// What to judge, and with how much.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// The files, judged as one sequence in this order.
    pub inputs: Vec<PathBuf>,
    /// Size and key of the records.
    pub layout: Layout,
    /// Nobody said what the records are: refuse files that look like something else.
    pub format_is_assumed: bool,
    /// Memory for pieces in bytes.
    pub budget_bytes: u64,
    /// Worker threads, at least one.
    pub threads: usize,
    /// Judge the order and the duplicates; otherwise only count and sum up, as for a sort's input.
    pub order: bool,
}

/// The verdict.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    /// Records read.
    pub records: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Checksum of the records.
    pub checksum: Checksum,
    /// Order and duplicates, if they were asked for.
    pub part: Option<VerifySummary>,
}

/// Reads all files and judges them.
///
/// Disorder is a verdict, not an error.
///
/// # Errors
/// [`Error::Input`] if a file's size is no multiple of the record, [`Error::Memory`] if the budget
/// can't hold a record's pages, [`Error::Disk`] if a file can't be opened or read,
/// [`Error::Cancelled`] if the observer says so.
pub fn verify(
    options: &VerifyOptions,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<VerifyReport, Error> {
    let record_bytes = options.layout.record_bytes() as u64;
    let shape = Shape::fit(options.budget_bytes, options.threads, record_bytes)?;
    let sequence = Sequence::open(&options.inputs, disk, record_bytes, shape.piece_bytes)?;
    let shape = shape.for_pieces(sequence.pieces_total());
    for line in disk.notices() {
        observer.notice(&line);
    }
    let gauges = Gauges::new(JobInfo {
        record_bytes: Some(record_bytes),
        budget_bytes: options.budget_bytes,
        threads: shape.threads as usize,
        chunks: None,
    });
    observer.show(gauges.clone());
    observer.phase(if options.order { "verify" } else { "checksum" }, sequence.bytes());

    let memory = Lease::map(shape.lease_bytes as usize * shape.leases as usize)?;
    let job = Job {
        options,
        sequence: &sequence,
        disk,
        observer,
        gauges,
        block_pool: BlockPool::new([memory], shape.lease_bytes as usize),
        ledger: Mutex::new(Ledger::new(options)),
    };
    let whole = job.run(shape.threads as usize)?;

    let records = sequence.bytes() / record_bytes;
    assert_eq!(whole.records(), records, "every record was judged once");
    let (checksum, part) = match whole {
        Tally::Sum(checksum) => (checksum, None),
        Tally::Order(part) => (part.checksum(), Some(part)),
    };
    Ok(VerifyReport { records, bytes: sequence.bytes(), checksum, part })
}

/// How the budget is cut up. All sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    piece_bytes: u64,
    lease_bytes: u64,
    leases: u64,
    threads: u64,
}

impl Shape {
    /// One lease for each thread and some in flight if the budget has them at a useful size, down
    /// to a single record's pages.
    fn fit(budget_bytes: u64, threads: usize, record_bytes: u64) -> Result<Shape, Error> {
        let threads = threads.max(1) as u64;
        let (smallest, needed_bytes) = Shape::piece(record_bytes, 0);
        if budget_bytes < needed_bytes {
            return Err(Error::Memory { budget_bytes, needed_bytes });
        }
        let wanted = threads + IN_FLIGHT_PIECES;
        let room = (budget_bytes / wanted).max(budget_bytes.min(PIECE_BYTES_MIN));
        let (piece_bytes, lease_bytes) = match Shape::piece(record_bytes, room) {
            (_, lease) if lease > budget_bytes => (smallest, needed_bytes),
            fitting => fitting,
        };
        let leases = (budget_bytes / lease_bytes).min(wanted);
        assert!(leases >= 1 && piece_bytes >= record_bytes);
        Ok(Shape { piece_bytes, lease_bytes, leases, threads: threads.min(leases) })
    }

    /// No more memory and threads than so many pieces can use.
    fn for_pieces(self, pieces: u64) -> Shape {
        let leases = self.leases.min(pieces.max(1));
        Shape { leases, threads: self.threads.min(leases), ..self }
    }

    /// The largest piece whose pages fit into `room` (one record if none does), and its pages.
    fn piece(record_bytes: u64, room: u64) -> (u64, u64) {
        let page = ALIGNMENT as u64;
        let aligned = record_bytes / gcd(record_bytes, page) * page;
        let room = align_down(room.min(PIECE_BYTES_MAX));
        if aligned <= room || aligned == record_bytes {
            let piece = (room / aligned).max(1) * aligned;
            return (piece, piece);
        }
        if page.is_multiple_of(record_bytes) {
            return (page, page);
        }
        let piece = (room.saturating_sub(page) / record_bytes).max(1) * record_bytes;
        (piece, align_up(piece) + page)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The files as one sequence of pieces.
#[derive(Debug)]
struct Sequence {
    sources: Vec<Source>,
    piece_bytes: u64,
}

/// A file of the sequence.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    bytes: u64,
    /// Number of its first piece, counted over all files.
    first_piece: u64,
}

/// A range of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    start: u64,
    end: u64,
}

impl Sequence {
    /// Looks at every file once, before any is read, so that a bad one is found in the first second
    /// and not in the last.
    fn open(
        inputs: &[PathBuf],
        disk: &dyn Disk,
        record_bytes: u64,
        piece_bytes: u64,
    ) -> Result<Sequence, Error> {
        let mut sources = Vec::with_capacity(inputs.len());
        let mut first_piece = 0;
        for path in inputs {
            let file = disk.open_input(path)?;
            let bytes = disk.file_bytes(file);
            disk.close(file);
            let bytes = bytes?;
            if !bytes.is_multiple_of(record_bytes) {
                return Err(partial_record(path.clone(), bytes, record_bytes));
            }
            sources.push(Source { path: path.clone(), bytes, first_piece });
            first_piece += bytes.div_ceil(piece_bytes);
        }
        Ok(Sequence { sources, piece_bytes })
    }

    fn bytes(&self) -> u64 {
        self.sources.iter().map(|source| source.bytes).sum()
    }

    fn pieces_total(&self) -> u64 {
        let last = self.sources.last();
        last.map_or(0, |last| last.first_piece + last.bytes.div_ceil(self.piece_bytes))
    }

    /// The pieces of one file, with their numbers.
    fn pieces(&self, source: &Source) -> impl Iterator<Item = (u64, Piece)> {
        let (first, bytes, step) = (source.first_piece, source.bytes, self.piece_bytes);
        (0..bytes.div_ceil(step))
            .map(move |n| (first + n, Piece { start: n * step, end: ((n + 1) * step).min(bytes) }))
    }

    /// The file of this piece.
    fn source(&self, number: u64) -> &Source {
        let after = self.sources.partition_point(|source| source.first_piece <= number);
        &self.sources[after - 1]
    }

    /// The piece of this number.
    fn piece(&self, number: u64) -> Piece {
        let source = self.source(number);
        let start = (number - source.first_piece) * self.piece_bytes;
        assert!(
            start < source.bytes,
            "piece {number} is past the end of {}",
            source.path.display()
        );
        Piece { start, end: (start + self.piece_bytes).min(source.bytes) }
    }
}

/// A file that is longer or shorter than when it was first looked at.
fn refuse_resized(source: &Source, bytes: u64) -> Result<(), Error> {
    if bytes == source.bytes {
        return Ok(());
    }
    let reason = format!(
        "it had {} bytes when it was looked at first and has {bytes} now; run again when nobody writes to it",
        source.bytes
    );
    Err(Error::Input { path: source.path.clone(), reason })
}

/// A file that ends within a record.
fn partial_record(path: PathBuf, bytes: u64, record_bytes: u64) -> Error {
    Error::Input {
        path,
        reason: format!(
            "partial record at the end: {bytes} bytes are {} records of {record_bytes} bytes and {} bytes more; \
             check the format (-f, --record) or the file's origin",
            bytes / record_bytes,
            bytes % record_bytes
        ),
    }
}

/// What is known of a stretch of records.
#[derive(Debug)]
enum Tally {
    Order(VerifySummary),
    Sum(Checksum),
}

impl Tally {
    fn new(options: &VerifyOptions) -> Tally {
        if options.order {
            Tally::Order(VerifySummary::new(&options.layout))
        } else {
            Tally::Sum(Checksum::default())
        }
    }

    fn extend(&mut self, records: &[u8], record_bytes: usize) {
        match self {
            Tally::Order(part) => part.extend(records),
            Tally::Sum(checksum) => checksum.add_records(records, record_bytes),
        }
    }

    fn append(&mut self, next: &Tally) {
        match (self, next) {
            (Tally::Order(part), Tally::Order(next)) => part.append(next),
            (Tally::Sum(checksum), Tally::Sum(next)) => checksum.merge(*next),
            _ => unreachable!("a job has tallies of one kind"),
        }
    }

    fn records(&self) -> u64 {
        match self {
            Tally::Order(part) => part.records(),
            Tally::Sum(checksum) => checksum.records(),
        }
    }
}

/// Brings the tallies of pieces, which arrive in any order, back into the order of the sequence. As
/// many wait as there are leases at most.
#[derive(Debug)]
struct Ledger {
    whole: Tally,
    next: u64,
    waiting: BTreeMap<u64, Tally>,
    failure: Option<Error>,
}

impl Ledger {
    fn new(options: &VerifyOptions) -> Ledger {
        Ledger { whole: Tally::new(options), next: 0, waiting: BTreeMap::new(), failure: None }
    }

    fn enter(&mut self, number: u64, tally: Tally) {
        self.waiting.insert(number, tally);
        while let Some(tally) = self.waiting.remove(&self.next) {
            self.whole.append(&tally);
            self.next += 1;
        }
    }
}

/// Files of which pieces are being read: no more than there are leases for those, but for one.
struct Reading<'a> {
    disk: &'a dyn Disk,
    /// In order, each with the number of the first piece behind it.
    files: VecDeque<(FileId, u64)>,
}

impl Reading<'_> {
    /// Closes the files of whose pieces all are judged, the first `judged` of all pieces, unless
    /// they were changed meanwhile.
    fn end(&mut self, judged: u64) -> Result<(), Error> {
        while let Some((file, _)) = self.files.pop_front_if(|(_, end)| *end <= judged) {
            let unchanged = self.disk.check_unchanged(file);
            self.disk.close(file);
            unchanged?;
        }
        Ok(())
    }
}

impl Drop for Reading<'_> {
    /// Reads in flight keep a file alive.
    fn drop(&mut self) {
        self.files.iter().for_each(|(file, _)| self.disk.close(*file));
    }
}

/// One verification; shared by feeder and workers.
struct Job<'a> {
    options: &'a VerifyOptions,
    sequence: &'a Sequence,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
    gauges: Gauges,
    block_pool: Arc<BlockPool>,
    ledger: Mutex<Ledger>,
}

impl Job<'_> {
    /// Reads and judges everything; returns once no read is in flight, however it went.
    fn run(self, threads: usize) -> Result<Tally, Error> {
        let (reply, completions) = crossbeam_channel::unbounded();
        let mut reading = Reading { disk: self.disk, files: VecDeque::new() };
        thread::scope(|scope| {
            let started = spawn_up_to(
                scope,
                threads,
                |error| self.fail(error),
                |_| {
                    let (job, completions) = (&self, completions.clone());
                    move || job.work(&completions)
                },
            );
            if let Err(error) = started.and_then(|_| self.feed(reply, &mut reading)) {
                self.fail(error);
            }
        });
        let ledger = self.ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
        match ledger.failure {
            Some(error) => Err(error),
            None if self.observer.is_cancelled() => Err(Error::Cancelled),
            None => reading.end(u64::MAX).map(|()| ledger.whole),
        }
    }

    /// Submits the reads of all pieces, each as soon as there is memory for it. The workers end
    /// when `reply` and its copies are gone.
    fn feed(&self, reply: Sender<Completion>, reading: &mut Reading<'_>) -> Result<(), Error> {
        for source in &self.sequence.sources {
            let file = self.disk.open_input(&source.path)?;
            let pieces_end = source.first_piece + source.bytes.div_ceil(self.sequence.piece_bytes);
            reading.files.push_back((file, pieces_end));
            refuse_resized(source, self.disk.file_bytes(file)?)?;
            for (number, piece) in self.sequence.pieces(source) {
                let take = || self.block_pool.take();
                let Some(lease) = self.gauges.stage_times.read_waits_for_areas.time(take) else {
                    break;
                };
                if self.observer.is_cancelled() {
                    break;
                }
                let offset = align_down(piece.start);
                let request = Request {
                    direction: Direction::Read,
                    file,
                    offset,
                    bytes: (align_up(piece.end) - offset) as usize,
                    bytes_needed: (piece.end - offset) as usize,
                    lease,
                    tag: number,
                    reply: reply.clone(),
                };
                self.gauges.traffic.submit(self.disk, request);
            }
            let judged = self.ledger().next;
            reading.end(judged)?;
        }
        Ok(())
    }

    /// One worker: pieces until none is left. After a failure it only drops what still arrives.
    fn work(&self, completions: &Receiver<Completion>) {
        let record_bytes = self.options.layout.record_bytes();
        let Gauges { stage_times, traffic, .. } = &self.gauges;
        while let Ok(completion) = stage_times.work_waits_for_read.time(|| completions.recv()) {
            traffic.finish(&completion);
            if let Err(error) = completion.result {
                self.fail(Error::Disk(error));
                continue;
            }
            let piece = self.sequence.piece(completion.tag);
            let begin = (piece.start - completion.offset) as usize;
            let end = (piece.end - completion.offset) as usize;
            let mut tally = Tally::new(self.options);
            let records = &completion.lease[begin..end];
            if let Err(error) = self.check_content(completion.tag, piece, records) {
                self.fail(error);
                continue;
            }
            stage_times.checksum_busy.time(|| tally.extend(records, record_bytes));
            drop(completion.lease);
            self.ledger().enter(completion.tag, tally);
            self.observer.advance(piece.end - piece.start);
        }
    }

    /// Refuses the piece of a file's beginning if it is no beginning of records.
    fn check_content(&self, number: u64, piece: Piece, records: &[u8]) -> Result<(), Error> {
        if !self.options.format_is_assumed || piece.start > 0 {
            return Ok(());
        }
        let source = self.sequence.source(number);
        let head = &records[..records.len().min(Content::HEAD_BYTES)];
        match Content::of(head, head.len() as u64 == source.bytes) {
            None => Ok(()),
            Some(content) => {
                Err(Error::Input { path: source.path.clone(), reason: content.to_string() })
            }
        }
    }

    /// Keeps the first error and stops the feeder.
    fn fail(&self, error: Error) {
        self.ledger().failure.get_or_insert(error);
        self.block_pool.close();
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_hold_any_piece_and_fit_the_budget() {
        for record in [1, 8, 10, 100, 128, 1000, 4095, 4096, 4097, 8192, 65_536, 100_001, 5 << 20] {
            let (_, needed) = Shape::piece(record, 0);
            assert!(
                matches!(Shape::fit(needed - 1, 1, record), Err(Error::Memory { .. })),
                "{record}"
            );
            for budget in [needed, needed + 1, needed + 5000, 3 * needed, needed + (64 << 20)] {
                for threads in [1, 2, 9, 64] {
                    let shape = Shape::fit(budget, threads, record).unwrap();
                    assert!(
                        shape.leases * shape.lease_bytes <= budget,
                        "{record} {budget} {shape:?}"
                    );
                    assert!(
                        shape.piece_bytes.is_multiple_of(record),
                        "{record} {budget} {shape:?}"
                    );
                    let worst = (0..20).map(|n| {
                        let start = n * shape.piece_bytes;
                        align_up(start + shape.piece_bytes) - align_down(start)
                    });
                    assert!(
                        worst.max().unwrap() <= shape.lease_bytes,
                        "{record} {budget} {shape:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn pieces_tile_the_files_and_are_found_by_number() {
        let mut sources = vec![];
        let mut first_piece = 0;
        for bytes in [1000, 0, 10, 300, 0] {
            sources.push(Source { path: "file".into(), bytes, first_piece });
            first_piece += bytes.div_ceil(300u64);
        }
        let sequence = Sequence { sources, piece_bytes: 300 };
        let mut expected = 0;
        for source in &sequence.sources {
            let mut end = 0;
            for (number, piece) in sequence.pieces(source) {
                assert_eq!((number, piece.start), (expected, end));
                assert_eq!(sequence.piece(number), piece);
                end = piece.end;
                expected += 1;
            }
            assert_eq!(end, source.bytes);
        }
        assert_eq!((expected, sequence.pieces_total()), (6, 6));
    }
}
