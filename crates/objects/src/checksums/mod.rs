//! Compares a store's checksums with those of the bytes sent and read.
//!
//! A store that receives a checksum should compare it, but many don't. So the store's own checksums
//! are compared here: the MD5 that most stores use as a tag, and the CRC that they compute.

mod coverage;
mod crc64;

use crate::client::{Checksums, Part, Payload, StoredChecksum};
use crate::failure::{Failure, Reason};
pub(crate) use coverage::Coverage;
use md5::{Digest, Md5};

impl Checksums {
    /// Returns the checksums in a tag, for stores whose tags depend on the content: an MD5, or the
    /// MD5 of the parts' MD5s.
    pub fn of_tag(etag: Option<&str>) -> Checksums {
        let Some(tag) = etag.map(|etag| etag.trim_matches('"')) else {
            return Checksums::default();
        };
        let of_parts = tag.split_once('-');
        Checksums {
            md5: md5_of(tag),
            md5_of_parts: of_parts
                .and_then(|(md5, parts)| Some((md5_of(md5)?, parts.parse().ok()?))),
            ..Checksums::default()
        }
    }

    /// Returns the checksum over all bytes of an object, if there is one.
    pub(crate) fn expected(&self) -> Option<Expected> {
        match *self {
            Checksums { crc32: Some(StoredChecksum::Whole(sum)), .. } => Some(Expected::Crc32(sum)),
            Checksums { crc32c: Some(sum), .. } => Some(Expected::Crc32c(sum)),
            Checksums { crc64: Some(sum), .. } => Some(Expected::Crc64(sum)),
            _ => None,
        }
    }

    /// Compares the checksums with the bytes that were sent.
    ///
    /// # Errors
    /// Names the first checksum that differs.
    pub(crate) fn check(&self, sent: &Payload) -> Result<(), Failure> {
        let bytes = &sent.bytes;
        let is_other = [
            ("MD5", self.md5.is_some_and(|md5| md5 != <[u8; 16]>::from(Md5::digest(bytes)))),
            ("CRC-32", self.crc32.is_some_and(|crc| !agrees_with_bytes(crc, sent.crc))),
            ("CRC-32C", self.crc32c.is_some_and(|crc| crc != crc32c::crc32c(bytes))),
            ("CRC-64", self.crc64.is_some_and(|crc| crc != crc64::hash(bytes))),
        ];
        first(is_other)
    }

    /// Compares the checksums with the parts that were sent. `tags_are_md5s` says that the parts'
    /// tags are the MD5s of their bytes.
    ///
    /// # Errors
    /// Names the first checksum that differs.
    pub(crate) fn check_parts(&self, parts: &[Part], tags_are_md5s: bool) -> Result<(), Failure> {
        let of_parts = self.md5_of_parts.filter(|_| tags_are_md5s).zip(md5_of_parts(parts));
        let is_other_md5 = of_parts
            .is_some_and(|((md5, count), expected)| count == parts.len() && md5 != expected);
        let is_other =
            [("MD5", is_other_md5), ("CRC-32", self.crc32.is_some_and(|crc| !agrees(crc, parts)))];
        first(is_other)
    }
}

/// Fails with the name of the first checksum that differs.
fn first<const N: usize>(is_other: [(&str, bool); N]) -> Result<(), Failure> {
    match is_other.into_iter().find(|(_, is_other)| *is_other) {
        None => Ok(()),
        Some((name, _)) => {
            Err(Failure::new(Reason::Damaged, format!("the {name} of what it has is another one")))
        }
    }
}

/// The checksum that all bytes of an object must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Crc32(u32),
    Crc32c(u32),
    Crc64(u64),
}

impl Expected {
    /// Returns the expected value.
    fn sum(self) -> u64 {
        match self {
            Expected::Crc32(sum) | Expected::Crc32c(sum) => sum.into(),
            Expected::Crc64(sum) => sum,
        }
    }

    /// Returns the checksum of the same kind over `bytes`.
    fn hash(self, bytes: &[u8]) -> u64 {
        match self {
            Expected::Crc32(_) => crc32fast::hash(bytes).into(),
            Expected::Crc32c(_) => crc32c::crc32c(bytes).into(),
            Expected::Crc64(_) => crc64::hash(bytes),
        }
    }

    /// Returns the checksum of bytes followed by `other_bytes` other bytes.
    fn combine(self, sum: u64, other: u64, other_bytes: u64) -> u64 {
        match self {
            Expected::Crc32(_) => {
                let mut whole = crc32fast::Hasher::new_with_initial(sum as u32);
                let other = crc32fast::Hasher::new_with_initial_len(other as u32, other_bytes);
                whole.combine(&other);
                whole.finalize().into()
            }
            Expected::Crc32c(_) => {
                crc32c::crc32c_combine(sum as u32, other as u32, other_bytes as usize).into()
            }
            Expected::Crc64(_) => crc64::combine(sum, other, other_bytes),
        }
    }
}

/// Returns the tag that S3 gives to an object with these parts: the MD5 of their MD5s, and their
/// number. `None` if the parts' tags are no MD5s. An object with this tag consists of these parts.
pub(crate) fn etag_of_parts(parts: &[Part]) -> Option<String> {
    Some(format!("\"{}-{}\"", hex(&md5_of_parts(parts)?), parts.len()))
}

/// Returns the MD5 of the parts' MD5s, which are their tags.
fn md5_of_parts(parts: &[Part]) -> Option<[u8; 16]> {
    let mut digest = Md5::new();
    for part in parts {
        digest.update(md5_of(part.etag.trim_matches('"'))?);
    }
    Some(digest.finalize().into())
}

/// Returns the tag that S3 gives to an object that was sent in one request.
pub(crate) fn etag_of_bytes(bytes: &[u8]) -> String {
    format!("\"{}\"", hex(&Md5::digest(bytes)))
}

/// Returns whether the store's checksum matches bytes with this CRC-32.
fn agrees_with_bytes(checksum: StoredChecksum, crc: u32) -> bool {
    match checksum {
        StoredChecksum::Whole(stored) => stored == crc,
        StoredChecksum::OfParts(stored) => stored == crc32fast::hash(&crc.to_be_bytes()),
    }
}

/// Returns whether the store's checksum matches these parts.
fn agrees(checksum: StoredChecksum, parts: &[Part]) -> bool {
    match checksum {
        StoredChecksum::OfParts(stored) => {
            let crcs: Vec<u8> = parts.iter().flat_map(|part| part.crc.to_be_bytes()).collect();
            crc32fast::hash(&crcs) == stored
        }
        StoredChecksum::Whole(stored) => {
            let mut whole = crc32fast::Hasher::new();
            for part in parts {
                whole.combine(&crc32fast::Hasher::new_with_initial_len(part.crc, part.bytes));
            }
            whole.finalize() == stored
        }
    }
}

/// Returns whether a store's checksums prove that its object consists of these parts.
pub(crate) fn proves(said: &Checksums, parts: &[Part]) -> bool {
    said.crc32.is_some_and(|crc| agrees(crc, parts))
}

/// Parses an MD5 in hexadecimal digits.
fn md5_of(digits: &str) -> Option<[u8; 16]> {
    if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(0..) {
        *byte = u8::from_str_radix(&digits[2 * pair..2 * pair + 2], 16).ok()?;
    }
    Some(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u32, bytes: &[u8]) -> Part {
        let etag = etag_of_bytes(bytes);
        Part { number, bytes: bytes.len() as u64, etag, crc: crc32fast::hash(bytes) }
    }

    #[test]
    fn the_tag_of_parts_is_the_md5_of_their_md5s() {
        assert_eq!(etag_of_bytes(b"abc"), "\"900150983cd24fb0d6963f7d28e17f72\"");
        let parts = [part(1, b"abc"), part(2, b"")];
        // From `printf abc | md5sum`, `md5sum </dev/null`, and both through `xxd -r -p | md5sum`.
        let tag = etag_of_parts(&parts).unwrap();
        assert!(tag.ends_with("-2\"") && tag.len() == 36, "{tag}");
        let other = Part { etag: "\"opaque\"".into(), ..part(1, b"") };
        assert_eq!(etag_of_parts(&[other]), None);
        let said = Checksums::of_tag(Some(&tag));
        said.check_parts(&parts, true).unwrap();
        let others = [part(1, b"abd"), part(2, b"")];
        assert_eq!(said.check_parts(&others, true).unwrap_err().reason, Reason::Damaged);
        said.check_parts(&others, false).unwrap();
        said.check_parts(&[part(1, b"abd")], true).expect("it counts others");
    }

    #[test]
    fn a_checksum_of_other_parts_is_noticed() {
        let parts = [part(1, b"abc"), part(2, b"defg")];
        assert!(agrees(StoredChecksum::Whole(crc32fast::hash(b"abcdefg")), &parts));
        assert!(!agrees(StoredChecksum::Whole(crc32fast::hash(b"abcdefh")), &parts));
        let crcs = [crc32fast::hash(b"abc").to_be_bytes(), crc32fast::hash(b"defg").to_be_bytes()];
        let of_parts = StoredChecksum::OfParts(crc32fast::hash(&crcs.concat()));
        assert!(agrees(of_parts, &parts));
        assert!(!agrees(of_parts, &parts[..1]));
    }

    #[test]
    fn each_checksum_of_other_bytes_is_noticed() {
        let sent = Payload::new(b"123456789".as_slice().into());
        let none = Checksums::default;
        let right = [
            Checksums::of_tag(Some("\"25F9E794323B453885F5181F1B624D0B\"")),
            Checksums { crc32: Some(StoredChecksum::Whole(0xcbf4_3926)), ..none() },
            Checksums { crc32c: Some(0xe306_9283), ..none() },
            Checksums { crc64: Some(0xae8b_1486_0a79_9888), ..none() },
            Checksums::of_tag(Some("\"opaque\"")),
            Checksums::of_tag(Some("\"25f9e794323b453885f5181f1b624d0b-1\"")),
            none(),
        ];
        right.iter().for_each(|checksums| checksums.check(&sent).unwrap());
        let wrong = [
            Checksums::of_tag(Some("\"25f9e794323b453885f5181f1b624d0c\"")),
            Checksums { crc32: Some(StoredChecksum::Whole(0xcbf4_3927)), ..none() },
            Checksums { crc32c: Some(0xe306_9284), ..none() },
            Checksums { crc64: Some(0xae8b_1486_0a79_9889), ..none() },
        ];
        for checksums in wrong {
            let failure = checksums.check(&sent).unwrap_err();
            assert_eq!(failure.reason, Reason::Damaged, "{failure:?}");
        }
    }
}
