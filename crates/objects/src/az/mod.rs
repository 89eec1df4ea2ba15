//! Azure's Blob Storage: its address, the authorisation of requests, and the requests that have
//! nothing in common with S3's.

mod azure;
mod blobs;
mod block;
mod xml;

pub(crate) use azure::Azure;
pub(crate) use blobs::{AZURE_MARK, Blobs, no_uploads};
