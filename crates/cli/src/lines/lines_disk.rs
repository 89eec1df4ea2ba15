//! The disk of a `lines` command, and which of its names are URLs. The disk is set up at the first
//! use. Small local sorts never use it.

use super::limits::Limits;
use super::resources;
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{Disk, RateLimit, is_url};
use xsort_gnu::sort::Command;
use xsort_objects::{ObjectLimits, ObjectUse};

/// The disk of a command.
pub(super) struct LinesDisk<'l> {
    /// To GNU sort no name is a URL.
    has_urls: bool,
    command: &'l Command,
    limits: &'l Limits,
    objects: Option<ObjectLimits>,
    /// True if a name on the command line is a URL, not only one in a list of names.
    is_url_given: bool,
    disk: OnceCell<Arc<dyn Disk>>,
}

impl<'l> LinesDisk<'l> {
    pub(super) fn new(has_urls: bool, command: &'l Command, limits: &'l Limits) -> Self {
        let given = match has_urls {
            true => ObjectUse::of(&command.files, command.output.as_deref().map(Path::new)),
            false => ObjectUse::default(),
        };
        let is_url_given = given != ObjectUse::default();
        let reads = given.reads || (has_urls && command.files0_from.is_some());
        let objects = (reads || given.writes).then(|| {
            ObjectLimits::decide(
                ObjectUse { reads, ..given },
                limits.objects,
                resources::threads(command),
                resources::budget_bytes(command),
            )
        });
        let disk = OnceCell::new();
        let objects = objects.flatten();
        LinesDisk { has_urls, command, limits, objects, is_url_given, disk }
    }

    /// The disk.
    pub(super) fn get(&self) -> &Arc<dyn Disk> {
        self.disk.get_or_init(|| {
            let local = Arc::new(self.limits.disk(resources::disk(self.command)));
            match &self.objects {
                Some(objects) => objects.disk(local, self.limits.rate.clone()),
                None => local,
            }
        })
    }

    /// Notices for the user about the stores that were used.
    pub(super) fn notices_of_objects(&self) -> Vec<String> {
        let disk = self.disk.get().filter(|_| self.objects.is_some());
        disk.map(|disk| disk.notices()).unwrap_or_default()
    }

    /// Bytes of the budget reserved for transfers of objects.
    pub(super) fn object_bytes(&self) -> u64 {
        let objects = self.objects.as_ref().filter(|_| self.is_url_given);
        objects.map_or(0, |objects| objects.taken_bytes)
    }

    /// The limit in bytes per second, for transfers outside the disk.
    pub(super) fn rate(&self) -> Option<Arc<RateLimit>> {
        self.limits.rate.clone()
    }

    /// The disk, if `name` is a URL.
    pub(super) fn of_url(&self, name: &OsStr) -> Option<&Arc<dyn Disk>> {
        (self.has_urls && is_url(Path::new(name))).then(|| self.get())
    }
}
