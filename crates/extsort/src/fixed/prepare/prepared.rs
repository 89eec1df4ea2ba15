//! A sort that can run, or that an earlier process has all but finished.

use crate::fixed::options::SortOptions;
use crate::fixed::plan::Plan;
use crate::fixed::spool::Spool;
use crate::store::checkpoint::{CheckpointFiles, SortRequest};
use crate::store::open_files::OpenFiles;
use std::path::{Path, PathBuf};
use xsort_disk::FileId;
use xsort_records::Checksum;

/// What there is to do.
pub(crate) enum Preparation<'a> {
    /// A sort.
    Sort(Box<Prepared<'a>>),
    /// What is left after the output was put in place.
    Published(Box<PublishedSort<'a>>),
}

/// A sort that can run.
pub(crate) struct Prepared<'a> {
    pub(crate) plan: Plan,
    pub(super) inputs: Vec<FileId>,
    /// Size of each input.
    pub(super) input_bytes: Vec<u64>,
    /// The inputs that are there, with their numbers, to be removed if that is asked for.
    pub(crate) present: Vec<(usize, FileId)>,
    /// None once the inputs are closed.
    pub(crate) input_guard: Option<OpenFiles<'a>>,
    /// The input that was a stream.
    pub(crate) spool: Option<Spool>,
    /// The drives can't hold the output and scratch besides the inputs: these have to go before the
    /// output is written.
    pub(crate) needs_input_space: bool,
    /// The output's space can't be reserved before the inputs, or the spool, have given theirs
    /// back.
    pub(crate) reserves_late: bool,
    pub(crate) scratch_directories: Vec<PathBuf>,
    /// The output, not yet published.
    pub(crate) output_file: FileId,
    pub(crate) output_guard: OpenFiles<'a>,
    /// Of a sort that can be resumed.
    pub(crate) checkpoint: Option<CheckpointFiles<'a>>,
    /// An earlier process has begun the sort.
    pub(crate) is_resumed: bool,
}

impl Prepared<'_> {
    /// The inputs to read, and the size of each.
    pub(crate) fn take_inputs(&mut self) -> (Vec<FileId>, Vec<u64>) {
        (std::mem::take(&mut self.inputs), std::mem::take(&mut self.input_bytes))
    }

    /// The inputs that are there, with their paths.
    pub(crate) fn removable<'o>(
        &self,
        options: &'o SortOptions,
    ) -> impl Iterator<Item = (&'o Path, FileId)> + use<'o> {
        let present = self.present.clone();
        present.into_iter().map(|(number, file)| (&*options.inputs[number], file))
    }
}

/// A sort whose output an earlier process has put in place.
pub(crate) struct PublishedSort<'a> {
    pub(crate) plan: Plan,
    /// Of the output.
    pub(crate) checksum: Checksum,
    /// The inputs that are still there, with their numbers.
    pub(crate) inputs: Vec<(usize, FileId)>,
    pub(crate) input_guard: OpenFiles<'a>,
    pub(crate) checkpoint: CheckpointFiles<'a>,
}

/// What the options mean, as far as the output or the memory depends on it.
pub(super) fn meaning(options: &SortOptions) -> String {
    // Another codec may need more memory than the plan has.
    match options.codec {
        Some(codec) => format!("{:?}, {} scratch", options.layout, codec.name()),
        None => format!("{:?}", options.layout),
    }
}

/// The sort that is asked for.
pub(super) fn request<'t>(options: &'t SortOptions, meaning: &'t str) -> SortRequest<'t> {
    SortRequest {
        output: &options.output,
        meaning,
        budget_bytes: options.budget_bytes,
        inputs: options.inputs.len(),
    }
}
