//! Files of columns with any bytes, Parquet or Arrow by how they begin: rows in order or an error
//! that says why; never a panic, and never memory without bound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fs;
use std::panic;
use std::path::Path;
use std::sync::Once;
use xsort_columns::{Columns, ColumnsOptions, InputFormat, OutputFormat};
use xsort_extsort::Error;
use xsort_fuzz::memory::{Counting, peak_bytes};
use xsort_table::Keys;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MEMORY: u64 = 64 << 20;
/// What a process may take beyond the memory that it was given.
const BEYOND: usize = 64 << 20;

static QUIET: Once = Once::new();

fuzz_target!(|bytes: &[u8]| {
    // The decoder's panics are caught and become errors; libFuzzer's hook would end the process.
    QUIET.call_once(|| panic::set_hook(Box::new(|_| {})));
    let folder = tempfile::tempdir_in(memory_files()).unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&input, bytes).unwrap();
    let format = if bytes.starts_with(b"PAR1") { InputFormat::Parquet } else { InputFormat::Arrow };
    let mut options = ColumnsOptions::new("#1".parse::<Keys>().unwrap());
    options.input_format = format;
    options.output_format = match format {
        InputFormat::Parquet => OutputFormat::Parquet,
        InputFormat::Arrow | InputFormat::Rows(_) => OutputFormat::ArrowFile,
    };
    let columns = Columns::with_options(options, [&input]).memory(MEMORY).threads(2);
    let (result, bytes) = peak_bytes(|| columns.run(&output));
    match result {
        Ok(_) => {}
        Err(Error::Panicked) => panic!("a thread panicked"),
        Err(error) => assert!(!output.exists(), "an output beside an error: {error}"),
    }
    assert!(bytes <= MEMORY as usize + BEYOND, "{bytes} bytes were allocated");
});

/// Where files are quick, if there is such a place.
fn memory_files() -> &'static Path {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { shared } else { Path::new("/tmp") }
}
