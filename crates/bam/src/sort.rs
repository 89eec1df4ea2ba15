//! The outline of a sort of BAM files.

use crate::bad_record::BadRecord;
use crate::header::BamHeader;
use crate::keying::BamKeying;
use crate::order::BamOrder;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::Disk;
use xsort_extsort::keyed::{
    ByKey, Counted, InputRest, KeyedInput, KeyedReport, KeyingMemory, KeyingThreads, Piece,
    RecordRoom, ToFirstRecord, copies_bytes, merge_keyed, of_input, of_keyed, of_merged,
    plan_keyed, sort_keyed,
};
use xsort_extsort::lines::{
    CompressedOutput, CompressionThreads, Content, IndexForm, LinesDryRun, LinesInput, OutputCodec,
    PositionIndex, SortedOutput, dry_run_lines,
};
use xsort_extsort::units::Count;
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer};

/// Copies of the longest record beside the engine's pool: as it was read, with a quarter of its
/// length read after it, and with its key; one more for a key that is a long text of a tag.
const COPIES: u64 = 4;
/// Copies of a header in memory, and bytes of an input's reading of it.
const HEADER_COPIES: u64 = 6;
/// The share of the budget that they may take, as a divisor.
const HEADER_SHARE: u64 = 2;

/// The options of a sort of BAM files.
#[derive(Clone, Debug)]
pub struct BamOptions {
    /// The order of the alignments.
    pub order: BamOrder,
    /// True if each input is in this order already: they are merged, and their order is checked.
    pub merges: bool,
    /// The form of the index that is written beside a file, if any: CSI, BAI
    /// ([`IndexForm::Tbi`]), or the one that has room for the positions.
    pub index: Option<IndexForm>,
    /// Version and command line for the header's line of programs; `None` to add no line.
    pub program: Option<(String, String)>,
}

/// Sorts the alignments of `inputs` together, or merges inputs that are in order. Alignments with
/// equal keys keep the order of the input. The inputs are the bytes that BGZF holds. `engine` sets
/// memory, threads and scratch. A stream gets no index.
///
/// # Errors
///
/// [`Error::Settings`] if the inputs have different sequences; [`Error::Input`] if an input is no
/// BAM; otherwise those of [`sort_lines`](xsort_extsort::sort_lines).
pub fn sort_bam(
    options: &BamOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
    output: SortedOutput<'_>,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<KeyedReport, Error> {
    let expected_bytes = inputs.iter().filter_map(|input| input.bytes).sum();
    let (header, inputs) = read_headers(options, inputs, observer)?;
    let sequences = header.count;
    let header = header.to_bytes();
    let held = HEADER_COPIES * header.len() as u64;
    let (budget_bytes, needed_bytes) = (engine.budget_bytes, HEADER_SHARE * held);
    if needed_bytes > budget_bytes {
        return Err(Error::Memory { budget_bytes, needed_bytes });
    }
    let reservation = engine.reservation.clone().with("lines above the rows", held);
    let given = LinesOptions { reservation, ..engine.clone() };
    let wanted = given.clone();
    let options_of_room = options.clone();
    let room = RecordRoom::new(engine.budget_bytes, move |budget_bytes| {
        of_alignments(&options_of_room, &LinesOptions { budget_bytes, ..wanted.clone() })
    });
    let bytes = AtomicU64::new(0);
    let keying = Arc::new(BamKeying { order: options.order, sequences, room, bytes });
    let engine = of_alignments(options, &given);
    let engine = if options.merges { of_merged(&engine, inputs.len())? } else { engine };
    let threads = KeyingThreads::new(Arc::clone(&keying), keying_memory(options, &engine, &inputs));
    let threads = Arc::new(threads);
    let inputs = (0..).zip(inputs).map(|(number, (input, skipped))| {
        let path = input.path.clone();
        let keyed =
            KeyedInput::new(input.into_bytes(), behind(skipped, number), Arc::clone(&threads));
        LinesInput { path, bytes: None, content: Content::Stream(Box::new(keyed)) }
    });
    let inputs = inputs.collect();
    let job = BamJob { options, engine: &engine, header: &header, disk, observer };
    let report = job.sort(inputs, output, expected_bytes, sequences);
    let report = report.map_err(|error| of_input::<BadRecord>(error, observer))?;
    let written_bytes = header.len() as u64 + report.written_bytes;
    let bytes = keying.bytes.load(Relaxed);
    let counted = Counted::Records(report.lines);
    Ok(KeyedReport { written_bytes, ..KeyedReport::new(counted, bytes, &report) })
}

/// Plans a sort or a merge of `inputs` inputs, `bytes` bytes in all. That of compressed inputs is
/// known only when they are read.
///
/// # Errors
///
/// [`Error::Memory`] if the budget is too small.
pub fn plan_bam(
    options: &BamOptions,
    engine: &LinesOptions,
    inputs: usize,
    bytes: Option<u64>,
) -> Result<LinesDryRun, Error> {
    let engine = of_alignments(options, engine);
    match options.merges {
        true => dry_run_lines(&of_merged(&engine, inputs)?, &ByKey, bytes, Some(inputs)),
        false => plan_keyed(&engine, bytes),
    }
}

/// The engine's settings, with the memory for reading records, building their keys, and compressing
/// and indexing the output.
fn of_alignments(options: &BamOptions, engine: &LinesOptions) -> LinesOptions {
    let threads = engine.threads;
    let compression = move |budget| CompressionThreads::of_budget(budget, threads).taken_bytes;
    let has_index = options.index.is_some();
    let index = move |budget| if has_index { PositionIndex::taken_bytes(budget) } else { 0 };
    let reservation = engine
        .reservation
        .clone()
        .with_share("compressors of the output", compression)
        .with_share("index of the output", index)
        .with_share("copies of the longest record", |budget| copies_bytes(budget, COPIES));
    of_keyed(&LinesOptions { reservation, ..engine.clone() })
}

fn keying_memory<T>(options: &BamOptions, engine: &LinesOptions, inputs: &[T]) -> KeyingMemory {
    let LinesOptions { budget_bytes, threads, .. } = *engine;
    match options.merges {
        true => KeyingMemory::of_merge(budget_bytes, threads, inputs.len()),
        false => KeyingMemory::of_budget(budget_bytes, threads),
    }
}

/// The inputs, with the bytes of their headers.
type InputsAfterHeaders = Vec<(LinesInput, u64)>;

/// Reads the headers of all inputs. Returns the one of the output.
fn read_headers(
    options: &BamOptions,
    inputs: Vec<LinesInput>,
    observer: &dyn Observer,
) -> Result<(BamHeader, InputsAfterHeaders), Error> {
    let (mut all, mut left_out, mut found) = (None::<BamHeader>, 0, Vec::new());
    for mut input in inputs {
        let path = input.path.clone();
        let failed = |error| {
            let error = xsort_disk::Error::of_read(&path, error).into();
            of_input::<BadRecord>(error, observer)
        };
        // What is read of a stream is read again.
        let header = input.peek(|from| {
            let mut read = Vec::new();
            let (header, bytes) = BamHeader::read(&mut Tee { from, read: &mut read })?;
            Ok((read, (header, bytes)))
        });
        let header = match header.map_err(failed)? {
            Some(header) => header,
            None => BamHeader::read(&mut LinesInput::at(&path).into_bytes()).map_err(failed)?,
        };
        let (own, bytes) = header;
        match &mut all {
            None => all = Some(own),
            Some(all) => {
                left_out += all.add(&own).map_err(|error| Error::Input {
                    path: path.clone(),
                    reason: error.to_string(),
                })?;
            }
        }
        found.push((input, bytes));
    }
    if left_out > 0 {
        observer.notice(&format!(
            "{} of later headers left out: an input before has their IDs with other fields",
            Count(left_out, "line")
        ));
    }
    let mut header = all.ok_or_else(|| Error::Settings("there is no input".into()))?;
    header.set_order(options.order.sort_order());
    if let Some((version, command_line)) = &options.program {
        header.add_program(version, command_line);
    }
    Ok((header, found))
}

/// Keeps what is read.
struct Tee<'t> {
    from: &'t mut dyn Read,
    read: &'t mut Vec<u8>,
}

impl Read for Tee<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.from.read(out)?;
        self.read.extend_from_slice(&out[..bytes]);
        Ok(bytes)
    }
}

/// Returns what moves an input behind its header.
fn behind(header_bytes: u64, input: u32) -> ToFirstRecord {
    Arc::new(move |mut from| {
        let skipped = io::copy(&mut from.by_ref().take(header_bytes), &mut io::sink())?;
        if skipped < header_bytes {
            return Err(BadRecord::CutHeader { offset: skipped }.into());
        }
        let at = Piece { input, record: 1, offset: header_bytes };
        Ok(InputRest { from, read: Vec::new(), at })
    })
}

/// A running sort of BAM files.
struct BamJob<'a> {
    options: &'a BamOptions,
    engine: &'a LinesOptions,
    header: &'a [u8],
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
}

impl BamJob<'_> {
    /// Sorts to the output, and writes the index of a file.
    fn sort(
        &self,
        inputs: Vec<LinesInput>,
        output: SortedOutput<'_>,
        expected_bytes: u64,
        sequences: u32,
    ) -> Result<LinesReport, Error> {
        let (Some(form), &SortedOutput::File { path, sync }) = (self.options.index, &output) else {
            return output.write(expected_bytes, self.disk, |to| self.sort_to(inputs, to, None));
        };
        let place = (self.header.len() as u64, sequences);
        let mut index = PositionIndex::of_bam(form, place, self.engine.budget_bytes);
        let (report, index) = output.write(expected_bytes, self.disk, |to| {
            let report = self.sort_to(inputs, to, Some(&mut index))?;
            Ok((report, index.finish(self.disk, path)?))
        })?;
        index.publish(sync)?;
        Ok(report)
    }

    /// Sorts to an open output, compresses it, and builds its index.
    fn sort_to(
        &self,
        inputs: Vec<LinesInput>,
        to: &mut (dyn Write + Send),
        index: Option<&mut PositionIndex>,
    ) -> Result<LinesReport, Error> {
        let BamJob { options, engine, header, disk, observer } = *self;
        let threads = CompressionThreads::of_budget(engine.budget_bytes, engine.threads).threads;
        let to = CompressedOutput::new(to, OutputCodec::Bgzf, threads, Vec::new());
        let mut to = to.with_index(index);
        to.write_all(header).map_err(Error::Output)?;
        let sorted = SortedOutput::Stream(&mut to);
        let report = match options.merges {
            true => merge_keyed(engine, &[], inputs, sorted, disk, observer),
            false => sort_keyed(engine, &[], inputs, sorted, disk, observer),
        };
        let report = report.map_err(not_in_order)?;
        to.flush().map_err(Error::Output)?;
        Ok(report)
    }
}

/// The error for an input of a merge that isn't in order.
fn not_in_order(error: Error) -> Error {
    let Error::NotSorted { path, number, .. } = error else { return error };
    let reason = format!(
        "record {number} belongs before the record before it, so the file is not in order: sort \
         all inputs together, without --merge"
    );
    Error::Unordered { path, reason }
}
