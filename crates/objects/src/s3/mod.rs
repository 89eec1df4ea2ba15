//! Amazon's S3, and other stores with its interface: their address, and how requests are signed.

mod aws;
mod process;
mod profile;

pub(crate) use aws::Aws;
