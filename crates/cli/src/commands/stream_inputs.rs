//! The files of a job that reads each of them as a stream: of tables, and of records that begin
//! with their length.

use crate::exit::Failure;
use crate::inputs::stdin::{NAME, StandardInput, go_to_end, index_of_stdin};
use crate::settings::JobLimits;
use crate::signals::Stop;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{Disk, Operation, is_url};
use xsort_extsort::variable::{Content, LinesInput};

/// The inputs at these paths, none of which is a directory; `-` is standard input, `at` makes that
/// of a file, and URLs are the disk's. What isn't there is an error now, all else when it is read.
pub(super) fn inputs(
    paths: &[PathBuf],
    at: fn(&Path) -> LinesInput,
    disk: &Arc<dyn Disk>,
    limits: &JobLimits,
    stop: &Stop,
) -> Result<Vec<LinesInput>, Failure> {
    index_of_stdin(paths)?;
    let input = |path: &PathBuf| match is_url(path) {
        true => LinesInput::on(disk, path).map_err(Failure::from),
        false => input(path, at, stop),
    };
    paths.iter().map(|path| input(path).map(|input| limits.hold(input))).collect()
}

fn input(path: &Path, at: fn(&Path) -> LinesInput, stop: &Stop) -> Result<LinesInput, Failure> {
    if path.as_os_str() != "-" {
        let missing = |error| xsort_disk::Error::new(Operation::Open, path, error);
        fs::metadata(path).map_err(missing)?;
        return Ok(at(path));
    }
    Ok(match StandardInput::open(stop)? {
        StandardInput::File(path) => {
            go_to_end();
            at(&path)
        }
        StandardInput::Stream(read) => {
            LinesInput { path: NAME.into(), bytes: None, content: Content::Stream(read) }
        }
    })
}
