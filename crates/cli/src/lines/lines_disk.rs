//! The disk of a command of lines, and which of its names are URLs. It is set up when it is first
//! needed, which for little on this machine is never.

use super::limits::Limits;
use super::resources;
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{Disk, is_url};

/// The disk of a command.
pub(super) struct LinesDisk<'l> {
    /// To GNU sort no name is a URL.
    has_urls: bool,
    limits: &'l Limits,
    disk: OnceCell<Arc<dyn Disk>>,
}

impl<'l> LinesDisk<'l> {
    pub(super) fn new(has_urls: bool, limits: &'l Limits) -> LinesDisk<'l> {
        LinesDisk { has_urls, limits, disk: OnceCell::new() }
    }

    /// The disk.
    pub(super) fn get(&self) -> &Arc<dyn Disk> {
        self.disk.get_or_init(|| Arc::new(self.limits.disk(resources::disk())))
    }

    /// The disk, if this name is a URL.
    pub(super) fn of_url(&self, name: &OsStr) -> Option<&Arc<dyn Disk>> {
        (self.has_urls && is_url(Path::new(name))).then(|| self.get())
    }
}
