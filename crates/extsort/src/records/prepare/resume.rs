//! Preparing to continue a sort that an earlier process began, by its plan.

use super::prepared::{Preparation, Prepared, PublishedSort};
use crate::records::options::SortOptions;
use crate::records::plan::Plan;
use crate::store::checkpoint::{ReopenedInput, ReopenedSort, SavedCheckpoint};
use crate::store::open_files::OpenFiles;
use crate::{Error, Observer, scratch_directories};
use std::io::ErrorKind;
use std::path::PathBuf;
use xsort_disk::{Disk, DisplayPath, FileId};
use xsort_records::Checksum;

/// Prepares to resume a sort.
pub(super) fn resume<'a>(
    options: &SortOptions,
    saved: SavedCheckpoint<'a>,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
) -> Result<Preparation<'a>, Error> {
    let plan: Plan = saved.plan()?;
    if plan.is_in_place() {
        // No sort that can be resumed has its scratch in the output's file.
        return Err(saved.contradiction());
    }
    let (input_guard, found) = reopen_inputs(options, &saved, disk)?;
    let inputs_go_early = saved.inputs_go_early;
    let are_removed = inputs_go_early && saved.is_input_read();
    // After a merge pass or a split, the chunks no longer show whether everything is on scratch.
    // Then the remaining inputs stay until the output is published.
    let needs_input_space = inputs_go_early && !saved.has_intermediate_pass();
    if are_removed && !saved.has_chunks(plan.spilled_chunks) {
        return Err(saved.contradiction());
    }
    if !saved.may_be_published() {
        refuse_changed(options, &found, are_removed)?;
    }
    let input_bytes = saved.inputs.iter().map(|input| input.bytes).collect();
    let memory_bytes = options.budget_bytes / 2;
    let (checkpoint, output_file) = match saved.reopen(&options.output, memory_bytes, observer)? {
        ReopenedSort::Published { files, result: (records, sum), .. } => {
            refuse_other_inputs(options, &found)?;
            let checksum = Checksum::from_parts(records, sum);
            let inputs = present(&found);
            let published =
                PublishedSort { plan, checksum, inputs, input_guard, checkpoint: files };
            return Ok(Preparation::Published(Box::new(published)));
        }
        ReopenedSort::Unfinished { files, output } => (files, output),
    };
    let output_guard = OpenFiles::one(disk, output_file);
    refuse_changed(options, &found, are_removed)?;
    let present = present(&found);
    let inputs = if are_removed { &[] } else { &present[..] };
    Ok(Preparation::Sort(Box::new(Prepared {
        plan,
        inputs: inputs.iter().map(|(_, file)| *file).collect(),
        input_bytes,
        present,
        input_guard: Some(input_guard),
        spool: None,
        needs_input_space,
        // Once the inputs have been read, whatever the earlier process has reserved.
        reserves_late: true,
        scratch_directories: scratch_directories(&options.scratch, &options.output),
        output_file,
        output_guard,
        checkpoint: Some(checkpoint),
        is_resumed: true,
    })))
}

/// Opens the inputs that still exist, and compares them with their fingerprints.
fn reopen_inputs<'a>(
    options: &SortOptions,
    saved: &SavedCheckpoint<'_>,
    disk: &'a dyn Disk,
) -> Result<(OpenFiles<'a>, Vec<ReopenedInput>), Error> {
    let mut guard = OpenFiles::none(disk);
    let mut found = Vec::with_capacity(options.inputs.len());
    for (number, path) in options.inputs.iter().enumerate() {
        found.push(match disk.open_input(path) {
            Ok(file) => {
                guard.add(file);
                saved.compare_input(number, file)?
            }
            Err(error) if error.source.kind() == ErrorKind::NotFound => {
                ReopenedInput::Missing(error)
            }
            Err(error) => return Err(error.into()),
        });
    }
    Ok((guard, found))
}

/// The inputs that exist and are unchanged, with their numbers.
fn present(found: &[ReopenedInput]) -> Vec<(usize, FileId)> {
    let is_present = |(number, found): (usize, &ReopenedInput)| match found {
        ReopenedInput::Unchanged(file) => Some((number, *file)),
        ReopenedInput::Changed | ReopenedInput::Missing(_) => None,
    };
    found.iter().enumerate().filter_map(is_present).collect()
}

/// Refuses to continue with changed inputs. If the interrupted sort has removed the inputs, or was
/// about to, none is needed. But if a file has the name of a removed input, the user must decide
/// about it.
fn refuse_changed(
    options: &SortOptions,
    found: &[ReopenedInput],
    are_removed: bool,
) -> Result<(), Error> {
    for (path, found) in options.inputs.iter().zip(found) {
        let reason = match found {
            ReopenedInput::Unchanged(_) => continue,
            ReopenedInput::Missing(_) if are_removed => continue,
            ReopenedInput::Missing(error) => format!(
                "the interrupted sort has not read all of it, and it can't be opened again ({}): \
                 put it back, or begin anew with --restart",
                error.source
            ),
            ReopenedInput::Changed if are_removed => {
                "it isn't what the interrupted sort has read and was to remove, and only its \
                 scratch has that now: move this file elsewhere and go on with --resume"
                    .into()
            }
            ReopenedInput::Changed => {
                "it was changed since the sort was interrupted (size, time or content): \
                 begin anew with --restart"
                    .into()
            }
        };
        return Err(Error::Input { path: path.clone(), reason });
    }
    Ok(())
}

/// Refuses to report a sort as finished if its inputs have changed.
fn refuse_other_inputs(options: &SortOptions, found: &[ReopenedInput]) -> Result<(), Error> {
    let is_changed =
        |(_, found): &(&PathBuf, &ReopenedInput)| matches!(found, ReopenedInput::Changed);
    let Some((path, _)) = options.inputs.iter().zip(found).find(is_changed) else { return Ok(()) };
    Err(Error::Input {
        path: path.clone(),
        reason: format!(
            "it was changed since it was sorted (size, time or content); what it was then is \
             complete in {}: sort it anew with --restart",
            DisplayPath(&options.output)
        ),
    })
}
