//! What the two examples share: the type, and where it is.
#![allow(unreachable_pub, reason = "a module of two programs")]

use rkyv::{Archive, Deserialize, Serialize};

/// Where the files are, unless the first argument says otherwise.
pub const PATH: &str = "/dev/shm/hello_world";

/// The value that goes from one process to the others.
#[derive(Archive, Deserialize, Serialize, Debug, PartialEq)]
#[rkyv(derive(Debug))]
pub struct HelloWorld {
    /// A number.
    pub version: u32,
    /// Some texts.
    pub messages: Vec<String>,
}

/// The path prefix: the first argument, or [`PATH`].
pub fn path() -> std::ffi::OsString {
    std::env::args_os().nth(1).unwrap_or_else(|| PATH.into())
}
