//! Reads what `writer` has written: `cargo run -p xsort-shm --example reader`.
#![allow(clippy::print_stdout, reason = "an example's output")]

mod common;

use common::HelloWorld;
use xsort_shm::Synchronizer;

fn main() -> xsort_shm::Result<()> {
    let mut synchronizer = Synchronizer::new(&common::path());
    let data = synchronizer.read::<HelloWorld>()?;
    println!("version: {} | messages: {:?}", data.version, data.messages);
    Ok(())
}
