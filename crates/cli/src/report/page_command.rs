//! `xsort report`: makes a page from reports of earlier runs.

use super::files::write_page;
use crate::args::PageArgs;
use crate::exit::Failure;
use crate::output::write_data_to_stdout;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use xsort_disk::is_standard_output;
use xsort_extsort::Error;
use xsort_report::{Run, page};

pub(crate) fn run(args: &PageArgs) -> Result<(), Failure> {
    let run = read(&args.report)?;
    let other = args.other.as_deref().map(read).transpose()?;
    let text = page(&run, other.as_ref());
    if is_standard_output(&args.output) {
        return write_data_to_stdout(text.as_bytes());
    }
    let mut inputs = vec![args.report.clone()];
    inputs.extend(args.other.clone());
    write_page(&args.output, &text, &inputs)
}

/// Reads a report; `-` is standard input.
fn read(path: &Path) -> Result<Run, Failure> {
    let bad = |reason: String| Failure::Job(Error::Input { path: path.to_owned(), reason });
    let read = match path.as_os_str() == "-" {
        true => Run::read(io::stdin().lock()),
        false => {
            let file = File::open(path).map_err(|error| bad(error.to_string()))?;
            Run::read(BufReader::new(file))
        }
    };
    read.map_err(|error| bad(error.to_string()))
}
