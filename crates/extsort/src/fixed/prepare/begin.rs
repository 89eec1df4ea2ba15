//! Preparing a sort from the beginning.

use super::inputs::Inputs;
use super::prepared::{Preparation, Prepared, meaning, request};
use super::space::Space;
use crate::fixed::options::SortOptions;
use crate::fixed::plan::{Facts, Plan, plan, resident_bytes_max};
use crate::fixed::spool::{Spool, Stream, spool};
use crate::store::checkpoint::{CheckpointFiles, FreshCheckpoint, InputFingerprint, SortRequest};
use crate::store::open_files::OpenFiles;
use crate::store::probe::probe;
use crate::{Codec, Error, Observer, scratch_directories};
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_disk::{Disk, FileId, is_standard_output, is_url, parent_directory};

/// A drive is measured only for sorts of at least so much.
const PROBED_BYTES_MIN: u64 = 256 << 20;
/// Three times for so long, but no longer than a hundredth of the time that the fastest sort would
/// take, and with so much memory.
const PROBE_TIME_MAX: Duration = Duration::from_millis(50);
const PROBED_BYTES_PER_NANOSECOND: u64 = 200;
const PROBE_BYTES: u64 = 16 << 20;
/// Beside a drive that writes more than this, compressing gains nothing
/// (docs/experiments/2026-11-23-compression-auto.md).
const FAST_BYTES_PER_SECOND: f64 = 1e9;

/// Prepares a sort. If it can be resumed, `fresh` is its checkpoint.
pub(super) fn begin<'a>(
    options: &SortOptions,
    stream: Option<Stream>,
    fresh: Option<FreshCheckpoint<'a>>,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
) -> Result<Preparation<'a>, Error> {
    let stream_number = stream.as_ref().map(|stream| stream.input);
    if stream.is_some() && options.remove_input {
        return Err(Error::Settings("a stream can't be removed (--remove-input)".into()));
    }
    let mut inputs = Inputs::open(options, stream_number, disk, observer)?;
    let scratch_directories = scratch_directories(&options.scratch, &options.output);
    let (mut output_file, mut output_guard) = open_output(options, &scratch_directories, disk)?;
    let in_place = fresh.is_none() && may_be_in_place(options, &scratch_directories, disk)?;
    let spool = stream
        .map(|stream| {
            let facts = facts(options, &inputs, in_place);
            spool_stream(stream, options, &facts, &scratch_directories, &mut inputs, disk, observer)
        })
        .transpose()?;
    let mut facts = facts(options, &inputs, in_place);
    let mut planned = plan(&facts)?;
    let space =
        Space::measure(options, &scratch_directories, &inputs, spool.as_ref(), disk, observer)?;
    let mut checked = space.check(&planned);
    // In place, the output's file must have its space before the inputs are read.
    let has_space = checked.as_ref().is_ok_and(|space| !space.reserves_late);
    if planned.is_in_place()
        && !(has_space && is_best_in_place(options, &scratch_directories[0], planned.bytes, disk))
    {
        facts.in_place = false;
        planned = plan(&facts)?;
        checked = space.check(&planned);
    }
    let mut space_use = checked?;
    let mut checkpoint = None;
    if let Some(fresh) = fresh {
        if space_use.needs_input_space && planned.resident_chunks() > 0 {
            // Once the inputs are gone, what is only in memory would be lost with the process.
            facts.may_keep = false;
            planned = plan(&facts)?;
            space_use = space.check(&planned)?;
        }
        // The checkpoint's output takes the place of this one, which has shown that there can be
        // one.
        drop(output_guard);
        let inputs_go_early = space_use.needs_input_space;
        let (files, output) =
            begin_checkpoint(fresh, options, &inputs, &planned, inputs_go_early, disk)?;
        (output_file, output_guard) = (output, OpenFiles::one(disk, output));
        checkpoint = Some(files);
    }
    let is_file = |(number, _): &(usize, _)| Some(*number) != stream_number;
    Ok(Preparation::Sort(Box::new(Prepared {
        plan: planned,
        present: inputs.files.iter().copied().enumerate().filter(is_file).collect(),
        inputs: inputs.files,
        input_bytes: inputs.bytes,
        input_guard: Some(inputs.guard),
        spool,
        needs_input_space: space_use.needs_input_space,
        reserves_late: space_use.reserves_late,
        scratch_directories,
        output_file,
        output_guard,
        checkpoint,
        is_resumed: false,
    })))
}

/// Whether scratch may be in the output's file: that can be read back, and is on the drive that
/// scratch is to be on.
fn may_be_in_place(
    options: &SortOptions,
    scratch_directories: &[PathBuf],
    disk: &dyn Disk,
) -> Result<bool, Error> {
    if is_standard_output(&options.output) || is_url(&options.output) {
        return Ok(false);
    }
    // Who names several directories wants scratch spread over them.
    let [directory] = scratch_directories else { return Ok(false) };
    let output_drive = disk.drive(&parent_directory(&options.output))?;
    if !output_drive.overwrites || disk.drive(directory)?.id != output_drive.id {
        return Ok(false);
    }
    Ok(options.codec.is_none_or(Codec::is_auto))
}

/// Whether bins in place, which are never compressed, are better than runs that can be: beside a
/// fast drive, which is measured if there is so much to sort that it doesn't matter what that
/// takes.
fn is_best_in_place(options: &SortOptions, directory: &Path, bytes: u64, disk: &dyn Disk) -> bool {
    if options.codec.is_none() {
        return true;
    }
    // Of a limit reads take a half.
    let is_limited = disk.drive(directory).is_ok_and(|drive| {
        let limit = drive.limit_bytes_per_second.map_or(f64::MAX, |limit| limit as f64);
        limit <= 2.0 * FAST_BYTES_PER_SECOND
    });
    if bytes < PROBED_BYTES_MIN || is_limited {
        return false;
    }
    let time = Duration::from_nanos(bytes / PROBED_BYTES_PER_NANOSECOND).min(PROBE_TIME_MAX);
    // A drive that can't be measured, because it is full, is no reason to end the sort.
    let rates = probe(disk, directory, PROBE_BYTES.min(options.budget_bytes), time);
    rates.is_ok_and(|rates| rates.write_bytes_per_second > FAST_BYTES_PER_SECOND)
}

/// What the planner has to know.
fn facts(options: &SortOptions, inputs: &Inputs<'_>, in_place: bool) -> Facts {
    Facts {
        input_bytes: inputs.bytes.clone(),
        record_bytes: options.layout.record_bytes() as u64,
        key_bytes: options.layout.key_bytes() as u64,
        budget_bytes: options.budget_bytes,
        threads: options.threads,
        method: options.method,
        codec: options.codec,
        may_keep: true,
        in_place,
    }
}

/// Reads the stream to its end, and adds it to the inputs.
fn spool_stream<'a>(
    stream: Stream,
    options: &SortOptions,
    facts: &Facts,
    scratch_directories: &[PathBuf],
    inputs: &mut Inputs<'a>,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
) -> Result<Spool, Error> {
    let number = stream.input;
    let memory_bytes = resident_bytes_max(facts, number);
    let (spool, guard) = spool(stream, memory_bytes, options, scratch_directories, disk, observer)?;
    inputs.add_stream(number, spool.file, spool.report.bytes, guard);
    Ok(spool)
}

/// Creates the output, and shows that there can be scratch. This comes before the space is
/// measured, so that the error for a directory that can't be written to says that.
fn open_output<'a>(
    options: &SortOptions,
    scratch_directories: &[PathBuf],
    disk: &'a dyn Disk,
) -> Result<(FileId, OpenFiles<'a>), Error> {
    let file = disk.create_output(&options.output)?;
    let guard = OpenFiles::one(disk, file);
    for directory in scratch_directories {
        disk.close(disk.create_scratch(directory)?);
    }
    Ok((file, guard))
}

/// Creates the files of the checkpoint, the output among them.
fn begin_checkpoint<'a>(
    fresh: FreshCheckpoint<'a>,
    options: &SortOptions,
    inputs: &Inputs<'_>,
    plan: &Plan,
    inputs_go_early: bool,
    disk: &dyn Disk,
) -> Result<(CheckpointFiles<'a>, FileId), Error> {
    let open = inputs.files.iter().zip(&inputs.bytes);
    let fingerprints = open.map(|(&file, &bytes)| InputFingerprint::take(disk, file, bytes));
    let fingerprints = fingerprints.collect::<Result<Vec<_>, _>>()?;
    let meaning = meaning(options);
    let request = SortRequest { budget_bytes: plan.budget_bytes, ..request(options, &meaning) };
    fresh.begin(&request, plan, &fingerprints, inputs_go_early)
}
