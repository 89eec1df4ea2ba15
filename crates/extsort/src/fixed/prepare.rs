//! Everything that is checked before any work: inputs, output, scratch, and the space for all of
//! it.

use super::options::SortOptions;
use super::plan::{Facts, Plan, plan, resident_bytes_max};
use super::spool::{Spool, Stream, spool};
use crate::job::units::Bytes;
use crate::store::checkpoint::{
    CheckpointFiles, CheckpointNames, FreshCheckpoint, InputFingerprint, OpenedCheckpoint,
    ReopenedInput, ReopenedSort, SavedCheckpoint, SortRequest, open_checkpoint,
};
use crate::store::content::{InputFile, check_contents};
use crate::store::open_files::OpenFiles;
use crate::{Error, Observer};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use xsort_disk::{Disk, DisplayPath, Drive, FileId};
use xsort_records::Checksum;

/// A sort that can begin.
pub(crate) struct Prepared<'a> {
    pub(crate) plan: Plan,
    pub(crate) inputs: Vec<FileId>,
    /// Size of each input.
    pub(crate) input_bytes: Vec<u64>,
    /// The inputs that are there, with their places in the list, to be removed if that is asked
    /// for.
    pub(crate) present: Vec<(usize, FileId)>,
    /// None if the inputs are not to be touched any more.
    pub(crate) input_guard: Option<OpenFiles<'a>>,
    /// The input that was a stream.
    pub(crate) spool: Option<Spool>,
    /// The output and scratch have no room beside the inputs: these have to go before the output is
    /// written.
    pub(crate) needs_input_space: bool,
    /// The output has no room before the inputs, or the spool, have given theirs back.
    pub(crate) reserves_late: bool,
    pub(crate) scratch_directories: Vec<PathBuf>,
    /// The output, not yet published.
    pub(crate) output_file: FileId,
    pub(crate) output_guard: OpenFiles<'a>,
    /// What is kept for a later process, if anything is.
    pub(crate) checkpoint: Option<CheckpointFiles<'a>>,
    /// Some of what is kept comes from an earlier process.
    pub(crate) is_resumed: bool,
}

impl Prepared<'_> {
    /// The inputs that are there, with their paths.
    pub(crate) fn removable<'o>(
        &self,
        options: &'o SortOptions,
    ) -> impl Iterator<Item = (&'o Path, FileId)> + use<'o> {
        let present = self.present.clone();
        present.into_iter().map(|(number, file)| (&*options.inputs[number], file))
    }
}

/// What there is to do.
pub(crate) enum Work<'a> {
    /// A sort.
    Sort(Box<Prepared<'a>>),
    /// The rest of what comes after.
    Finish(Box<Finished<'a>>),
}

/// A sort whose output an earlier process has put in place.
pub(crate) struct Finished<'a> {
    pub(crate) plan: Plan,
    /// Of the output.
    pub(crate) checksum: Checksum,
    /// The inputs that are still there, with their places in the list.
    pub(crate) inputs: Vec<(usize, FileId)>,
    pub(crate) input_guard: OpenFiles<'a>,
    pub(crate) checkpoint: CheckpointFiles<'a>,
}

/// Opens and measures the inputs, reads a stream, plans, and checks the space.
pub(crate) fn prepare<'a>(
    options: &SortOptions,
    stream: Option<Stream>,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
) -> Result<Work<'a>, Error> {
    let mut fresh = None;
    if let Some(checkpoint) = options.checkpoint {
        if stream.is_some() {
            return Err(Error::Settings(
                "a stream can't be read again, so its sort can't be resumed: write it to a file first".into(),
            ));
        }
        let names = CheckpointNames::of(&options.output, &scratch_directories(options));
        let meaning = format!("{:?}", options.layout);
        match open_checkpoint(checkpoint, names, &task(options, &meaning), disk, observer)? {
            OpenedCheckpoint::Saved(saved) => return resume(options, *saved, disk, observer),
            OpenedCheckpoint::Fresh(checkpoint) => fresh = Some(*checkpoint),
        }
    }
    begin(options, stream, fresh, disk, observer).map(|prepared| Work::Sort(Box::new(prepared)))
}

/// What an interrupted sort must have been asked for.
fn task<'t>(options: &'t SortOptions, meaning: &'t str) -> SortRequest<'t> {
    SortRequest {
        output: &options.output,
        meaning,
        budget_bytes: options.budget_bytes,
        inputs: options.inputs.len(),
    }
}

/// The directories for scratch.
fn scratch_directories(options: &SortOptions) -> Vec<PathBuf> {
    if options.scratch.is_empty() {
        vec![directory_of(&options.output).to_path_buf()]
    } else {
        options.scratch.clone()
    }
}

/// Goes on with what an earlier process has left, by its plan.
fn resume<'a>(
    options: &SortOptions,
    saved: SavedCheckpoint<'a>,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
) -> Result<Work<'a>, Error> {
    let plan: Plan = saved.plan()?;
    let (input_guard, found) = find_inputs(options, &saved, disk)?;
    let inputs_go_early = saved.inputs_go_early;
    let are_removed = inputs_go_early && saved.is_input_read();
    // Once chunks were merged or split there is no telling by them whether all is there: then
    // inputs that are still there stay until the output is in place.
    let needs_input_space = inputs_go_early && !saved.has_intermediate_pass();
    if are_removed && !saved.has_chunks(plan.spilled_chunks) {
        return Err(saved.contradiction());
    }
    if !saved.may_be_published() {
        refuse_changed(options, &found, are_removed)?;
    }
    let input_bytes = saved.inputs.iter().map(|mark| mark.bytes).collect();
    let memory_bytes = options.budget_bytes / 2;
    let (checkpoint, output_file) = match saved.reopen(&options.output, memory_bytes, observer)? {
        ReopenedSort::Published { files, result: (records, sum) } => {
            refuse_others(options, &found)?;
            let checksum = Checksum::from_parts(records, sum);
            let inputs = present(&found);
            let done = Finished { plan, checksum, inputs, input_guard, checkpoint: files };
            return Ok(Work::Finish(Box::new(done)));
        }
        ReopenedSort::Unfinished { files, output } => (files, output),
    };
    let output_guard = OpenFiles::one(disk, output_file);
    refuse_changed(options, &found, are_removed)?;
    let present = present(&found);
    let inputs = if are_removed { &[] } else { &present[..] };
    Ok(Work::Sort(Box::new(Prepared {
        plan,
        inputs: inputs.iter().map(|(_, file)| *file).collect(),
        input_bytes,
        present,
        input_guard: Some(input_guard),
        spool: None,
        needs_input_space,
        // When the inputs have been read, whatever was reserved before.
        reserves_late: true,
        scratch_directories: scratch_directories(options),
        output_file,
        output_guard,
        checkpoint: Some(checkpoint),
        is_resumed: true,
    })))
}

/// Opens the inputs again that are there, and compares them with what they were.
fn find_inputs<'a>(
    options: &SortOptions,
    saved: &SavedCheckpoint<'_>,
    disk: &'a dyn Disk,
) -> Result<(OpenFiles<'a>, Vec<ReopenedInput>), Error> {
    let mut guard = OpenFiles::none(disk);
    let mut found = Vec::with_capacity(options.inputs.len());
    for (number, path) in options.inputs.iter().enumerate() {
        match disk.open_input(path) {
            Ok(file) => {
                guard.add(file);
                found.push(saved.compare_input(number, file)?);
            }
            Err(error) if error.source.kind() == ErrorKind::NotFound => {
                found.push(ReopenedInput::Missing(error))
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok((guard, found))
}

/// The inputs that are there, as they were.
fn present(found: &[ReopenedInput]) -> Vec<(usize, FileId)> {
    let is_there = |(number, found): (usize, &ReopenedInput)| match found {
        ReopenedInput::Unchanged(file) => Some((number, *file)),
        ReopenedInput::Changed | ReopenedInput::Missing(_) => None,
    };
    found.iter().enumerate().filter_map(is_there).collect()
}

/// Refuses to go on with inputs that are not what they were. If the interrupted sort was about to
/// remove them, or has, none is needed; but a file that has the name of one is a reason to ask.
fn refuse_changed(
    options: &SortOptions,
    found: &[ReopenedInput],
    are_removed: bool,
) -> Result<(), Error> {
    for (path, found) in options.inputs.iter().zip(found) {
        let reason = match found {
            ReopenedInput::Unchanged(_) => continue,
            ReopenedInput::Missing(_) if are_removed => continue,
            ReopenedInput::Missing(error) => {
                return Err(Error::Input {
                    path: path.clone(),
                    reason: format!(
                        "the interrupted sort has not read all of it, and it can't be opened again ({}): put it \
                         back, or begin anew with --restart",
                        error.source
                    ),
                });
            }
            ReopenedInput::Changed if are_removed => {
                "it isn't what the interrupted sort has read and was to remove, and only its scratch has that now: \
                 move this file elsewhere and go on with --resume"
            }
            ReopenedInput::Changed => {
                "it was changed since the sort was interrupted (size, time or content): begin anew with --restart"
            }
        };
        return Err(Error::Input { path: path.clone(), reason: reason.into() });
    }
    Ok(())
}

/// Refuses to call a sort finished that was one of other inputs.
fn refuse_others(options: &SortOptions, found: &[ReopenedInput]) -> Result<(), Error> {
    let changed = |(_, found): &(&PathBuf, &ReopenedInput)| matches!(found, ReopenedInput::Changed);
    match options.inputs.iter().zip(found).find(changed) {
        None => Ok(()),
        Some((path, _)) => Err(Error::Input {
            path: path.clone(),
            reason: format!(
                "it was changed since it was sorted (size, time or content); what it was then is complete in {}: sort \
                 it anew with --restart",
                DisplayPath(&options.output)
            ),
        }),
    }
}

/// Begins from the beginning.
fn begin<'a>(
    options: &SortOptions,
    stream: Option<Stream>,
    fresh: Option<FreshCheckpoint<'a>>,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
) -> Result<Prepared<'a>, Error> {
    let record_bytes = options.layout.record_bytes() as u64;
    let mut input_guard = OpenFiles::none(disk);
    let mut input_bytes = Vec::new();
    let (mut inputs, mut looked) = (Vec::new(), Vec::new());
    let stream_input = stream.as_ref().map(|stream| stream.input);
    if stream.is_some() && options.remove_input {
        return Err(Error::Settings("a stream can't be removed (--remove-input)".into()));
    }
    for (number, path) in options.inputs.iter().enumerate() {
        if Some(number) == stream_input {
            input_bytes.push(0);
            continue;
        }
        let file = disk.open_input(path)?;
        input_guard.add(file);
        inputs.push(file);
        let bytes = disk.file_bytes(file)?;
        input_bytes.push(bytes);
        looked.push(InputFile { path, file, bytes });
    }
    if options.format_is_assumed {
        check_contents(disk, &looked, observer)?;
    }
    for InputFile { path, bytes, .. } in looked {
        if !bytes.is_multiple_of(record_bytes) {
            return Err(Error::Input {
                path: path.to_owned(),
                reason: format!(
                    "its size of {bytes} bytes is no multiple of the record's {record_bytes}: {} bytes are left over; \
                     is the format right (-f, --record), and the file complete?",
                    bytes % record_bytes
                ),
            });
        }
    }
    let mut facts = Facts {
        input_bytes: input_bytes.clone(),
        record_bytes,
        key_bytes: options.layout.key_bytes() as u64,
        budget_bytes: options.budget_bytes,
        threads: options.threads,
        method: options.method,
        may_keep: true,
    };
    let output_directory = directory_of(&options.output);
    let scratch_directories = scratch_directories(options);
    // Before the space is looked at, so that a place that can't be written to is called that.
    let mut output_file = disk.create_output(&options.output)?;
    let mut output_guard = OpenFiles::one(disk, output_file);
    for directory in &scratch_directories {
        disk.close(disk.create_scratch(directory)?);
    }
    let mut spooled = None;
    if let Some(stream) = stream {
        let number = stream.input;
        let memory_bytes = resident_bytes_max(&facts, number);
        let (spool, guard) =
            spool(stream, memory_bytes, options, &scratch_directories, disk, observer)?;
        input_guard.adopt(guard);
        inputs.insert(number, spool.file);
        input_bytes[number] = spool.report.bytes;
        facts.input_bytes[number] = spool.report.bytes;
        spooled = Some(spool);
    }
    let mut plan = plan(&facts)?;
    let output_drive = disk.drive(output_directory)?;
    let mut freed = Freed::default();
    if options.remove_input {
        freed.inputs_bytes = freed_bytes(disk, &inputs, &input_bytes, output_drive.id)?;
    }
    if let Some(spool) = &spooled
        && let Some(directory) = &spool.report.directory
    {
        freed.spool = Some((disk.drive(directory)?.id, spool.returned_bytes()));
    }
    let check = |plan: &Plan| {
        check_space(options, disk, observer, plan, &scratch_directories, &output_drive, &freed)
    };
    let (mut needs_input_space, mut reserves_late) = check(&plan)?;
    let mut checkpoint = None;
    if let Some(fresh) = fresh {
        let meaning = format!("{:?}", options.layout);
        if needs_input_space && plan.resident_chunks() > 0 {
            // Once the inputs are gone, what is only in memory would be lost with the process.
            facts.may_keep = false;
            plan = super::plan::plan(&facts)?;
            (needs_input_space, reserves_late) = check(&plan)?;
        }
        let mut marks = Vec::with_capacity(inputs.len());
        for (&file, &bytes) in inputs.iter().zip(&input_bytes) {
            marks.push(InputFingerprint::take(disk, file, bytes)?);
        }
        // In place of the nameless one, which has shown that there can be one.
        drop(output_guard);
        let task = SortRequest { budget_bytes: plan.budget_bytes, ..task(options, &meaning) };
        let (files, output) = fresh.begin(&task, &plan, &marks, needs_input_space)?;
        (output_file, output_guard) = (output, OpenFiles::one(disk, output));
        checkpoint = Some(files);
    }
    let is_file = |number: &usize| Some(*number) != stream_input;
    let present =
        (0..inputs.len()).filter(is_file).map(|number| (number, inputs[number])).collect();
    Ok(Prepared {
        plan,
        inputs,
        input_bytes,
        present,
        input_guard: Some(input_guard),
        spool: spooled,
        needs_input_space,
        reserves_late,
        scratch_directories,
        output_file,
        output_guard,
        checkpoint,
        is_resumed: false,
    })
}

/// Space that is free again when the inputs have been read.
#[derive(Default)]
struct Freed {
    /// On the output's drive, by removing inputs.
    inputs_bytes: u64,
    /// On which drive and how much, by reading the spool.
    spool: Option<(u64, u64)>,
}

impl Freed {
    /// Free bytes of a drive, and those that the spool gives back to it while it is read.
    fn free_bytes(&self, drive: &Drive) -> u64 {
        let spool = self.spool.filter(|(id, _)| *id == drive.id).map_or(0, |(_, bytes)| bytes);
        drive.free_bytes + spool
    }
}

/// Space on a drive that removing the inputs sets free: each file once, and none that has other
/// names.
fn freed_bytes(disk: &dyn Disk, files: &[FileId], bytes: &[u64], drive: u64) -> Result<u64, Error> {
    let mut freed = BTreeMap::new();
    for (&file, bytes) in files.iter().zip(bytes) {
        let identity = disk.identity(file)?;
        if identity.drive == drive && identity.links == 1 {
            freed.insert(identity.number, bytes);
        }
    }
    Ok(freed.into_values().sum())
}

/// The directory that a file is in, as a path that can be opened.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Whether there is space for everything; returns whether that takes the inputs' space, and whether
/// the output's can't be reserved before they are read.
fn check_space(
    options: &SortOptions,
    disk: &dyn Disk,
    observer: &dyn Observer,
    plan: &Plan,
    scratch_directories: &[PathBuf],
    output_drive: &Drive,
    freed: &Freed,
) -> Result<(bool, bool), Error> {
    // Each drive once, however many directories are on it.
    let mut drives: BTreeMap<u64, Drive> = BTreeMap::new();
    if plan.scratch_bytes > 0 {
        for directory in scratch_directories {
            let drive = disk.drive(directory)?;
            if drive.is_memory && !drives.contains_key(&drive.id) {
                observer.notice(&format!(
                    "{}: this scratch directory is memory ({}): what is spilled there counts against the machine's memory, \
                     not against -m; name a directory on a drive with -T",
                    DisplayPath(directory),
                    drive.kind
                ));
            }
            drives.insert(drive.id, drive);
        }
    }
    let scratch_free: u64 = drives.values().map(|drive| freed.free_bytes(drive)).sum();
    if scratch_free < plan.scratch_bytes {
        return Err(Error::Space {
            directory: scratch_directories[0].clone(),
            purpose: format!("scratch ({})", Bytes(plan.scratch_bytes)),
            needed_bytes: plan.scratch_bytes,
            free_bytes: scratch_free,
            way_out:
                "free some, add a directory on another drive with -T, or give more memory with -m"
                    .into(),
        });
    }

    // Scratch goes to the other drives first in this sum: the most optimistic split, since the sort
    // itself finds the real one.
    let elsewhere: u64 = drives
        .values()
        .filter(|drive| drive.id != output_drive.id)
        .map(|drive| freed.free_bytes(drive))
        .sum();
    let scratch_here = plan.scratch_bytes.saturating_sub(elsewhere);
    let needed_bytes = plan.bytes + scratch_here;
    let free_here = freed.free_bytes(output_drive);
    let free_bytes = free_here + freed.inputs_bytes;
    if free_bytes < needed_bytes {
        let purpose = if scratch_here > 0 {
            format!("the output ({}) and scratch ({})", Bytes(plan.bytes), Bytes(scratch_here))
        } else {
            format!("the output ({})", Bytes(plan.bytes))
        };
        return Err(Error::Space {
            directory: directory_of(&options.output).to_path_buf(),
            purpose,
            needed_bytes,
            free_bytes,
            way_out: "free some, put scratch on another drive with -T, or let the input's space be used with --remove-input".into(),
        });
    }
    Ok((free_here < needed_bytes, output_drive.free_bytes < needed_bytes))
}
