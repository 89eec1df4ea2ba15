//! The system calls that differ between systems: one file each for Linux and for all others.
//!
//! Built with `--cfg portable`, Linux gets the calls of the others, so that tests run on them.

#[cfg(all(target_os = "linux", not(portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(portable))))]
mod portable;

#[cfg(all(target_os = "linux", not(portable)))]
pub(crate) use linux::*;
#[cfg(not(all(target_os = "linux", not(portable))))]
pub(crate) use portable::*;

/// What a range of memory is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Advice {
    /// Huge pages are wanted.
    HugePages,
    /// Huge pages aren't wanted.
    SmallPages,
    /// Children of forks get none of it.
    NotInChildren,
    /// It is about to be written, so it needs its pages now.
    Populate,
    /// Its bytes are no longer needed and may become zeros.
    Forget,
}

/// Numbers of pages of a range in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CachedPages {
    /// All that are there.
    pub(crate) cached: u64,
    /// Those that are not written back yet, or are being written back.
    pub(crate) unwritten: u64,
}

/// What the system says of a name beside its mode.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) is_mount_point: bool,
    /// A file that only grows, or a directory that loses no names.
    pub(crate) is_append_only: bool,
}
