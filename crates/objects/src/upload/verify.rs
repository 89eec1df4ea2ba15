//! What a store says of an object that it has put together, compared with what it was sent.

use crate::client::{Part, StoredChecksum};
use md5::{Digest, Md5};

/// The tag that S3 gives an object of these parts: the MD5 of their MD5s, and their number. `None`
/// if the parts' tags are no MD5s. If an object has this tag, it consists of these parts; if it has
/// another one, that says nothing, because stores differ.
pub(super) fn etag_of_parts(parts: &[Part]) -> Option<String> {
    let mut digest = Md5::new();
    for part in parts {
        digest.update(md5_of(&part.etag)?);
    }
    Some(format!("\"{}-{}\"", hex(&digest.finalize()), parts.len()))
}

/// The tag that S3 gives an object that came in one request.
pub(super) fn etag_of_bytes(bytes: &[u8]) -> String {
    format!("\"{}\"", hex(&Md5::digest(bytes)))
}

/// Whether a checksum that the store has computed is that of these parts.
pub(super) fn agrees(checksum: StoredChecksum, parts: &[Part]) -> bool {
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

/// The bytes of an MD5 in a tag.
fn md5_of(etag: &str) -> Option<[u8; 16]> {
    let digits = etag.trim_matches('"');
    if digits.len() != 32 || !digits.is_ascii() {
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
}
