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
