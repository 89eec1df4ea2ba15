//! Azure's Blob Storage: where it is, how requests are authorised, and those requests that have
//! nothing in common with S3's.

mod azure;
mod blobs;
mod block;
mod xml;

pub(crate) use azure::Azure;
pub(crate) use blobs::{AZURE_MARK, Blobs, no_uploads};
