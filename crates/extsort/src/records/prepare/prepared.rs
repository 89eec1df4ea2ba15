//! A sort that can run, or whose output an earlier process has already published.

use crate::records::options::SortOptions;
use crate::records::plan::Plan;
use crate::records::spool::Spool;
use crate::store::checkpoint::{CheckpointFiles, SortRequest};
use crate::store::open_files::OpenFiles;
use std::path::{Path, PathBuf};
use xsort_disk::FileId;
use xsort_records::Checksum;

/// The remaining work.
pub(crate) enum Preparation<'a> {
    /// The whole sort, or the rest of an interrupted one.
    Sort(Box<Prepared<'a>>),
    /// The output is published; only cleaning up remains.
    Published(Box<PublishedSort<'a>>),
}

/// A sort that can run.
pub(crate) struct Prepared<'a> {
    pub(crate) plan: Plan,
    pub(super) inputs: Vec<FileId>,
    /// Size of each input in bytes.
    pub(super) input_bytes: Vec<u64>,
    /// The inputs that exist, with their numbers. They are removed on request.
    pub(crate) present: Vec<(usize, FileId)>,
    /// `None` once the inputs are closed.
    pub(crate) input_guard: Option<OpenFiles<'a>>,
    /// The input that was a stream, if there was one.
    pub(crate) spool: Option<Spool>,
    /// True if the drives can't hold inputs, output and scratch together. The inputs must then be
    /// removed before the output is written.
    pub(crate) needs_input_space: bool,
    /// True if the output's space can be reserved only after the inputs or the spool have freed
    /// theirs.
    pub(crate) reserves_late: bool,
    pub(crate) scratch_directories: Vec<PathBuf>,
    /// The output, not yet published.
    pub(crate) output_file: FileId,
    pub(crate) output_guard: OpenFiles<'a>,
    /// The checkpoint of a sort that can be resumed.
    pub(crate) checkpoint: Option<CheckpointFiles<'a>>,
    /// True if an earlier process began the sort.
    pub(crate) is_resumed: bool,
}

impl Prepared<'_> {
    /// Takes the inputs to read, and the size of each in bytes.
    pub(crate) fn take_inputs(&mut self) -> (Vec<FileId>, Vec<u64>) {
        (std::mem::take(&mut self.inputs), std::mem::take(&mut self.input_bytes))
    }

    /// The inputs that exist, with their paths.
    pub(crate) fn removable<'o>(
        &self,
        options: &'o SortOptions,
    ) -> impl Iterator<Item = (&'o Path, FileId)> + use<'o> {
        let present = self.present.clone();
        present.into_iter().map(|(number, file)| (&*options.inputs[number], file))
    }
}

/// A sort whose output an earlier process has published.
pub(crate) struct PublishedSort<'a> {
    pub(crate) plan: Plan,
    /// The output's checksum.
    pub(crate) checksum: Checksum,
    /// The inputs that still exist, with their numbers.
    pub(crate) inputs: Vec<(usize, FileId)>,
    pub(crate) input_guard: OpenFiles<'a>,
    pub(crate) checkpoint: CheckpointFiles<'a>,
}

/// The meaning of the options, as far as the output or the memory depends on them.
pub(super) fn meaning(options: &SortOptions) -> String {
    // Another codec may need more memory than the plan has.
    match options.codec {
        Some(codec) => format!("{:?}, {} scratch", options.layout, codec.name()),
        None => format!("{:?}", options.layout),
    }
}

/// The sort that the options ask for.
pub(super) fn request<'t>(options: &'t SortOptions, meaning: &'t str) -> SortRequest<'t> {
    SortRequest {
        output: &options.output,
        meaning,
        budget_bytes: options.budget_bytes,
        inputs: options.inputs.len(),
    }
}
