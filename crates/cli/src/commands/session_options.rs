//! Passes the arguments of each command to its session.

use crate::args::{BamArgs, GenArgs, SortArgs, TableArgs, Trees, VerifyArgs};
use crate::inputs::tree::TreeOptions;
use crate::job::SessionOptions;
use crate::signals::Stop;

/// Which files of directories are read, by the options that several commands have.
fn of_trees<'t>(trees: &Trees, others: TreeOptions<'t>) -> TreeOptions<'t> {
    TreeOptions { counts_links: trees.count_links, allows_empty: trees.empty.allow_empty, ..others }
}

impl GenArgs {
    /// The session's arguments for `xsort gen`: the file to write, and the resources.
    pub(super) fn session_options<'g>(&'g self, stop: &'g Stop) -> SessionOptions<'g> {
        SessionOptions {
            output: Some(&self.file),
            no_clobber: self.no_clobber,
            files: self.files_of_run.request(self.dry_run),
            ..SessionOptions::new("gen", &self.resources, &self.report, stop)
        }
    }
}

impl SortArgs {
    /// The session's arguments for `xsort sort`: the files to read and write, and the resources.
    pub(super) fn session_options<'g>(&'g self, stop: &'g Stop) -> SessionOptions<'g> {
        SessionOptions {
            read: [&self.inputs, &[]],
            scratch: &self.scratch,
            output: Some(&self.output),
            no_clobber: self.no_clobber,
            cache_bytes: self.cache_size,
            files: self.files_of_run.request(self.dry_run),
            ..SessionOptions::new("sort", &self.resources, &self.report, stop)
        }
    }

    /// Which files of directories are sorted.
    pub(super) fn trees(&self) -> TreeOptions<'_> {
        of_trees(&self.trees, TreeOptions::beside(&self.output))
    }
}

impl BamArgs {
    /// The session's arguments for `xsort bam`: the files to read and write, and the resources.
    pub(super) fn session_options<'g>(&'g self, stop: &'g Stop) -> SessionOptions<'g> {
        SessionOptions {
            read: [&self.inputs, &[]],
            scratch: &self.scratch,
            output: Some(&self.output),
            no_clobber: self.no_clobber,
            files: self.files_of_run.request(self.dry_run),
            ..SessionOptions::new("bam", &self.resources, &self.report, stop)
        }
    }

    /// Which files of directories are sorted.
    pub(super) fn trees(&self) -> TreeOptions<'_> {
        of_trees(&self.trees, TreeOptions::beside(&self.output))
    }
}

impl TableArgs {
    /// The session's arguments for `xsort table`: the files to read and write, and the resources.
    pub(super) fn session_options<'g>(&'g self, stop: &'g Stop) -> SessionOptions<'g> {
        SessionOptions {
            read: [&self.inputs, &[]],
            scratch: &self.scratch,
            output: Some(&self.output),
            no_clobber: self.no_clobber,
            files: self.files_of_run.request(self.dry_run || self.check),
            ..SessionOptions::new("table", &self.resources, &self.report, stop)
        }
    }
}

impl VerifyArgs {
    /// The session's arguments for `xsort verify`: the files to read, the summary to write, and the
    /// resources.
    pub(super) fn session_options<'g>(&'g self, stop: &'g Stop) -> SessionOptions<'g> {
        SessionOptions {
            read: [&self.files, &self.against],
            output: self.summary.as_deref(),
            files: self.files_of_run.request(self.summaries),
            ..SessionOptions::new("verify", &self.resources, &self.report, stop)
        }
    }

    /// Which files of directories are checked.
    pub(super) fn trees(&self) -> TreeOptions<'_> {
        of_trees(&self.trees, TreeOptions::default())
    }
}
