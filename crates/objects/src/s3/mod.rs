//! Amazon's S3, and what speaks its language elsewhere: where it is, and how requests are signed.

mod aws;
mod process;
mod profile;

pub(crate) use aws::Aws;
