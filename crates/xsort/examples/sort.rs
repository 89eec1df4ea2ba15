//! Sorts a file of the Sort Benchmark's records in 256 MiB of memory and tells how far it is.
//! usage: cargo run --release -p xsort --example sort -- INPUT OUTPUT

use std::env;
use xsort::{Error, Format, Sort};

fn main() -> Result<(), Error> {
    let mut arguments = env::args_os().skip(1);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err(Error::Settings("usage: sort INPUT OUTPUT".into()));
    };
    let report = Sort::files([input])
        .format(Format::Gensort)
        .memory(256 << 20)
        .on_progress(|progress| {
            let share = 100 * progress.done_bytes / progress.bytes.max(1);
            eprint!("\r{} {share}% ", progress.phase);
        })
        .run(output)?;
    eprintln!(
        "\r{} records in {:.1} s, checksum {}",
        report.records, report.seconds, report.checksum
    );
    Ok(())
}
