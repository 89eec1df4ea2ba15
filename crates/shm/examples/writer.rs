//! Writes a value that `reader` reads, in another process: `cargo run -p xsort-shm --example
//! writer`.
#![allow(clippy::print_stdout, reason = "an example's output")]

mod common;

use common::HelloWorld;
use xsort_shm::Synchronizer;

fn main() -> xsort_shm::Result<()> {
    let mut synchronizer = Synchronizer::new(&common::path());
    let messages = ["Hello", "World", "!"].map(String::from).to_vec();
    let bytes = synchronizer.write(&HelloWorld { version: 7, messages })?;
    println!("written: {bytes} bytes");
    Ok(())
}
