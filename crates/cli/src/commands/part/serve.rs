//! `xsort part serve`.

use crate::args::ServeArgs;
use crate::exit::Failure;
use crate::output::{json, write_stdout};
use crate::signals::Stop;
use crate::system::random_bytes;
use serde::Serialize;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use xsort_disk::DisplayPath;
use xsort_parts::Server;

pub(super) fn run(args: &ServeArgs, stop: &Stop) -> Result<(), Failure> {
    let token = match &args.token_file {
        // A token that isn't UTF-8 is refused like any other token that isn't plain.
        Some(path) => fs::read(path).map(|text| String::from_utf8_lossy(&text).trim().to_owned()),
        None => random_bytes::<16>().map(|bytes| format!("{:032x}", u128::from_ne_bytes(bytes))),
    };
    let of_token = |source| {
        let file = args.token_file.as_deref().unwrap_or("a random token".as_ref());
        Failure::File { what: format!("reading {}", DisplayPath(file)), source }
    };
    let token = token.map_err(of_token)?;
    let server = Server::bind(&args.directory, args.listen, token.clone())?;
    let of_server = |source| Failure::File { what: "serving".into(), source };
    let address = server.address().map_err(of_server)?;

    #[derive(Serialize)]
    struct Ready {
        url: String,
    }
    let host = args.advertise.clone().unwrap_or_else(|| host_of(address));
    let url = format!("http://{host}:{}/{token}", address.port());
    write_stdout(json(&Ready { url })?.as_bytes())?;

    let is_closed = Arc::new(AtomicBool::new(false));
    if args.until_stdin_closes {
        let flag = Arc::clone(&is_closed);
        // If the input never ends, the thread ends with the process.
        let wait = move || {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            flag.store(true, Ordering::Relaxed);
        };
        thread::Builder::new().name("stdin".into()).spawn(wait).map_err(of_server)?;
    }
    server.run(|| stop.is_set() || is_closed.load(Ordering::Relaxed)).map_err(of_server)
}

/// The address by which others reach this machine, if `address` names one; otherwise its name.
fn host_of(address: SocketAddr) -> String {
    match address {
        address if address.ip().is_unspecified() => {
            rustix::system::uname().nodename().to_string_lossy().into_owned()
        }
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}
