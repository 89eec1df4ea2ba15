//! Preparing a sort from the beginning.

use super::in_place::{is_best_in_place, may_be_in_place, plan_with_space};
use super::inputs::Inputs;
use super::prepared::{Preparation, Prepared, meaning, request};
use super::space::Space;
use crate::records::options::SortOptions;
use crate::records::plan::{Facts, Plan, plan, resident_bytes_max};
use crate::records::spool::{Spool, Stream, spool};
use crate::store::checkpoint::{CheckpointFiles, FreshCheckpoint, InputFingerprint, SortRequest};
use crate::store::open_files::OpenFiles;
use crate::{Error, Observer, scratch_directories};
use std::path::PathBuf;
use xsort_disk::{Disk, FileId};

/// Prepares a sort. If the sort can be resumed, `fresh` is its checkpoint.
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
    let space = Space::measure(options, &scratch_directories, &inputs, spool.as_ref(), disk)?;
    let is_best = |plan: &Plan| is_best_in_place(plan, options, &scratch_directories[0], disk);
    let (mut planned, mut space_use) = plan_with_space(&facts, &space, is_best)?;
    space.notice_memory(&planned, observer)?;
    let mut checkpoint = None;
    if let Some(fresh) = fresh {
        if space_use.needs_input_space && planned.resident_chunks() > 0 {
            // Once the inputs are removed, records that are only in memory would be lost with the
            // process.
            facts.may_keep = false;
            planned = plan(&facts)?;
            space_use = space.check(&planned)?;
        }
        // The checkpoint's output replaces this one, which has shown that the output can be
        // created.
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

/// The planner's input.
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

/// Creates the output, and verifies that scratch can be created. This comes before the space is
/// measured, so that the error for an unwritable directory says so.
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

/// Creates the checkpoint's files, including the output.
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
