//! Stores that answer over HTTP: S3 and what speaks its language, and plain web servers, from which
//! is only read.
//!
//! Credentials, signatures and HTTP are those of the crate object_store. Its stores aren't used:
//! they normalise keys (`a//b`), hide the status that decides whether a request is worth making
//! again, and can't complete an upload on the condition that there is no object yet.

mod answer;
mod aws;
mod encode;
mod process;
mod profile;
mod stores;
mod transport;
mod xml;

pub use aws::Environment;
pub(crate) use stores::Stores;
