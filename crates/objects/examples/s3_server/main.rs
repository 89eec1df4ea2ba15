//! A small S3 for demonstrations, tests and measurements, on a port of this machine.
//!
//! `cargo run --release -p xsort-objects --example s3_server -- [listen=127.0.0.1:0]
//! [directory=.] [delay_ms=0] [bucket=NAME]...`
//!
//! Every answer begins after the delay, as it does in a store that is far away.
//!
//! Prints its endpoint, and runs until it is killed; then all data is gone. `server` says what it
//! doesn't check, and it is a lot: it is for data that anybody on this machine may read and change.
#![allow(clippy::print_stdout)]

mod server;

use server::{Store, serve};
use std::env;
use std::error::Error;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What can be given.
const NAMES: [&str; 4] = ["listen", "directory", "delay_ms", "bucket"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let mut pairs = Vec::new();
    for argument in &arguments {
        let pair = argument.split_once('=').filter(|(name, _)| NAMES.contains(name));
        pairs.push(pair.ok_or_else(|| format!("{argument}: {}= can be given", NAMES.join("=, ")))?);
    }
    let values = |wanted| pairs.iter().filter(move |(name, _)| *name == wanted).map(|pair| pair.1);
    let store = Arc::new(Store::new(Path::new(values("directory").next_back().unwrap_or(".")))?);
    values("bucket").for_each(|name| store.create_bucket(name));
    let listener = TcpListener::bind(values("listen").next_back().unwrap_or("127.0.0.1:0"))?;
    let delay = Duration::from_millis(values("delay_ms").next_back().unwrap_or("0").parse()?);
    println!("http://{}", listener.local_addr()?);
    Ok(serve(&listener, &store, delay)?)
}
