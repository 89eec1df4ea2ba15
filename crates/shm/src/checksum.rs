//! Checksums of versions: any [`Hasher`] that implements [`Default`]. This file has two of them.
//!
//! The writer hashes each version once, and a reader hashes it once when it pins it. The checksum
//! only detects accidents: a process that can write the files can also write a matching checksum.

use std::hash::Hasher;

/// The default hasher: XXH3-64. It is faster than memory delivers large versions, and takes 3 ns
/// for 64 bytes.
///
/// Each [`write`](Hasher::write) is hashed whole, with the previous hash as its seed. A single
/// write gives the XXH3-64 of its bytes.
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

/// No checksum: for versions that are too large or change too often to be read once more, and for
/// versions with a checksum of their own.
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

/// Returns the checksum of `bytes`.
#[inline]
pub(crate) fn checksum<H: Hasher + Default>(bytes: &[u8]) -> u64 {
    let mut hasher = H::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Returns a number that identifies the hasher: the checksum of a fixed text.
pub(crate) fn hasher_name<H: Hasher + Default>() -> u64 {
    checksum::<H>(b"the checksum of this line names the hasher")
}
