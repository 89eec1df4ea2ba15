//! The plan of a sort of tables or of prefixed records.

use crate::exit::Failure;
use crate::job::Session;
use crate::lines_plan::LinesPlan;
use std::path::{Path, PathBuf};
use xsort_disk::{is_standard_output, public_path};
use xsort_extsort::lines::LinesDryRun;
use xsort_extsort::scratch_directories;

/// `--dry-run`: prints what the sort of `inputs` inputs would use.
pub(super) fn print_plan(
    session: Session<'_>,
    figures: LinesDryRun,
    inputs: usize,
    scratch: &[PathBuf],
    output: &Path,
) -> Result<(), Failure> {
    let plan = LinesPlan {
        inputs,
        output: (!is_standard_output(output))
            .then(|| public_path(output).to_string_lossy().into_owned()),
        scratch: LinesPlan::scratch_of(&figures, scratch_directories(scratch, output)),
        figures,
    };
    let command = session.command();
    session.end_plan().print(command, &plan)
}
