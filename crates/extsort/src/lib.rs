//! The pipelines: what is planned, read, ordered, written and reported.
#![forbid(unsafe_code)]

mod error;
mod observer;

pub use error::Error;
pub use observer::{Observer, Unobserved};
