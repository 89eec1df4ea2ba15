//! A version that keeps its reader alive: for owners that can't borrow, such as objects of other
//! languages.
#![allow(unsafe_code, reason = "keeps what it borrows from")]

use crate::checksum::Xxh3;
use crate::error::Result;
use crate::reader::{Reader, Version};
use std::fmt;
use std::hash::Hasher;
use std::mem;
use std::ops::Deref;

/// A [`Version`] held for as long as this lives, together with its reader.
pub struct HeldVersion<H = Xxh3> {
    /// Borrows from `_reader`, and is dropped first.
    version: Version<'static>,
    _reader: Reader<H>,
}

impl<H> HeldVersion<H> {
    /// Keeps `version` and `reader`.
    ///
    /// # Safety
    /// The version was read by `reader`.
    unsafe fn new(version: Version<'_>, reader: Reader<H>) -> HeldVersion<H> {
        // SAFETY: the version borrows from what all clones of a reader share. That is neither moved
        // nor dropped before the last clone, and one clone is kept in the same struct. The version
        // never leaves it with this lifetime.
        let version = unsafe { mem::transmute::<Version<'_>, Version<'static>>(version) };
        HeldVersion { version, _reader: reader }
    }

    /// Returns the version's number. Numbers only grow.
    pub fn sequence(&self) -> u64 {
        self.version.sequence()
    }
}

impl<H: Hasher + Default> Reader<H> {
    /// Reads the current version for an owner that can't borrow from the reader.
    ///
    /// # Errors
    /// The errors of [`Reader::read`].
    pub fn read_held(&self) -> Result<HeldVersion<H>> {
        let version = self.read()?;
        // SAFETY: a clone is the same reader.
        Ok(unsafe { HeldVersion::new(version, self.clone()) })
    }
}

impl<H> Deref for HeldVersion<H> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.version
    }
}

impl<H> fmt::Debug for HeldVersion<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeldVersion").field(&self.version).finish()
    }
}
