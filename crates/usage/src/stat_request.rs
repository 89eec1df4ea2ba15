//! One stat call, for exactly the data that the walk needs.

use crate::options::{Follow, Options};
use crate::stat::FileStatus;
use crate::system::Fields;
use rustix::fs::CWD;
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::AsFd;

/// The stat calls of a walk with certain options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatRequest {
    fields: Fields,
    follow: Follow,
}

impl StatRequest {
    pub(crate) fn new(options: &Options) -> StatRequest {
        StatRequest { fields: Fields::with_time(options.time), follow: options.follow }
    }

    pub(crate) fn stat_argument(&self, path: &CStr) -> Result<FileStatus, Errno> {
        self.fields.stat(CWD, path, self.follow != Follow::Never)
    }

    pub(crate) fn stat_entry(
        &self,
        directory: impl AsFd,
        name: &CStr,
    ) -> Result<FileStatus, Errno> {
        self.fields.stat(directory, name, self.follow == Follow::Always)
    }

    pub(crate) fn stat_open(&self, file: impl AsFd) -> Result<FileStatus, Errno> {
        self.fields.stat_open(file)
    }
}
