//! Checksums of versions: any [`Hasher`] that can be made by [`Default`], two of which are here.
//!
//! The writer hashes each version once, and a reader once when it pins it. Against accidents only:
//! whoever can write the files can also make the checksum match.

use std::hash::Hasher;

/// The default: XXH3-64, faster than memory delivers large versions, and 3 ns for 64 bytes.
///
/// Each [`write`](Hasher::write) is hashed whole, with what came before as its seed: equal to
/// XXH3-64 for a single one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Xxh3(u64);

impl Hasher for Xxh3 {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxhash_rust::xxh3::xxh3_64_with_seed(bytes, self.0);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// No checksum: for versions that are too large, or change too often, to be read once more, and for
/// those that have a checksum of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoChecksum;

impl Hasher for NoChecksum {
    #[inline]
    fn write(&mut self, _bytes: &[u8]) {}

    #[inline]
    fn finish(&self) -> u64 {
        0
    }
}

/// The checksum of `bytes`.
#[inline]
pub(crate) fn checksum<H: Hasher + Default>(bytes: &[u8]) -> u64 {
    let mut hasher = H::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Tells hashers apart: the checksum of a fixed text.
pub(crate) fn hasher_name<H: Hasher + Default>() -> u64 {
    checksum::<H>(b"the checksum of this line names the hasher")
}
