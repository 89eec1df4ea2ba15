//! The checksums in an answer's headers: those of the bytes that a store has.

use super::answer::header;
use super::encode::{parse_bytes, parse_checksum};
use crate::client::{Checksums, StoredChecksum};
use crate::location::Scheme;
use http::HeaderMap;

/// Returns the checksums of an object or a part from an answer.
pub(crate) fn checksums(scheme: Scheme, headers: &HeaderMap) -> Checksums {
    match scheme {
        Scheme::S3 => of_s3(headers),
        Scheme::Gs => of_google(headers),
        Scheme::Az | Scheme::Https | Scheme::Http => Checksums::default(),
    }
}

/// Returns the checksums in the tag, unless the bytes are encrypted.
fn of_tag(headers: &HeaderMap) -> Checksums {
    let hides = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        name.as_str().contains("encryption")
            && (name.as_str() != "x-amz-server-side-encryption" || value != "AES256")
    };
    Checksums::of_tag(header(headers, "etag").filter(|_| !headers.iter().any(hides)))
}

fn of_s3(headers: &HeaderMap) -> Checksums {
    let of_tag = of_tag(headers);
    let kind = header(headers, "x-amz-checksum-type");
    // Without this header, the checksum covers all bytes if there are no parts.
    let is_whole = match kind {
        Some(kind) => kind == "FULL_OBJECT",
        None => of_tag.md5_of_parts.is_none(),
    };
    let whole = |name| header(headers, name).filter(|_| is_whole);
    let crc32 = header(headers, "x-amz-checksum-crc32").and_then(|text| match kind {
        None => stored(text).filter(|crc| is_whole || matches!(crc, StoredChecksum::OfParts(_))),
        Some("FULL_OBJECT") => parse_checksum(text).map(StoredChecksum::Whole),
        Some(_) => stored(text).filter(|crc| matches!(crc, StoredChecksum::OfParts(_))),
    });
    let crc64 = whole("x-amz-checksum-crc64nvme").and_then(parse_bytes).map(u64::from_be_bytes);
    let crc32c = whole("x-amz-checksum-crc32c").and_then(parse_checksum);
    Checksums { crc32, crc32c, crc64, ..of_tag }
}

/// Parses a CRC-32 that S3 has computed. For parts their number follows it.
pub(crate) fn stored(text: &str) -> Option<StoredChecksum> {
    match text.split_once('-') {
        Some((crc, _)) => parse_checksum(crc).map(StoredChecksum::OfParts),
        None => parse_checksum(text).map(StoredChecksum::Whole),
    }
}

/// Returns Google's checksums. An object of parts has a tag of another kind, but always a CRC-32C.
fn of_google(headers: &HeaderMap) -> Checksums {
    let hashes = headers.get_all("x-goog-hash").iter().filter_map(|value| value.to_str().ok());
    let hashes: Vec<&str> = hashes.flat_map(|value| value.split(',')).map(str::trim).collect();
    let find = |name: &str| hashes.iter().find_map(|hash| hash.strip_prefix(name));
    let md5 = find("md5=").and_then(parse_bytes).or_else(|| of_tag(headers).md5);
    let crc32c = find("crc32c=").and_then(parse_checksum);
    Checksums { md5, crc32c, ..Checksums::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: (&str, &str) = ("etag", "\"900150983cd24fb0d6963f7d28e17f72\"");
    const TAG_OF_PARTS: (&str, &str) = ("etag", "\"900150983cd24fb0d6963f7d28e17f72-3\"");
    const CRC: (&str, &str) = ("x-amz-checksum-crc32", "NhCmhg==");
    const CRC_OF_PARTS: (&str, &str) = ("x-amz-checksum-crc32", "NhCmhg==-3");

    fn said(scheme: Scheme, headers: &[(&'static str, &str)]) -> Checksums {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        checksums(scheme, &map)
    }

    #[test]
    fn a_tag_is_an_md5_unless_a_header_says_otherwise() {
        let kms = |value| ("x-amz-server-side-encryption", value);
        let (nothing, md5) =
            (Checksums::default, |headers: &[_]| said(Scheme::S3, headers).md5.is_some());
        assert!(md5(&[TAG]) && md5(&[TAG, kms("AES256")]));
        let customer = ("x-amz-server-side-encryption-customer-algorithm", "AES256");
        for header in [kms("aws:kms"), kms("aws:kms:dsse"), customer] {
            assert!(!md5(&[TAG, header]), "{header:?}");
            assert_eq!(said(Scheme::S3, &[TAG_OF_PARTS, header]), nothing(), "{header:?}");
        }
        assert!(said(Scheme::Gs, &[TAG]).md5.is_some());
        let customer = ("x-goog-encryption-algorithm", "AES256");
        assert_eq!(said(Scheme::Gs, &[TAG, customer]), nothing());
        assert_eq!(said(Scheme::Https, &[TAG]), nothing());
        assert_eq!(said(Scheme::Az, &[TAG]), nothing());
    }

    #[test]
    fn a_checksum_of_parts_is_none_of_all_bytes() {
        let crc = |headers: &[_]| said(Scheme::S3, headers).crc32;
        let whole = Some(StoredChecksum::Whole(0x3610_a686));
        let of_parts = Some(StoredChecksum::OfParts(0x3610_a686));
        let (full, composite) =
            (("x-amz-checksum-type", "FULL_OBJECT"), ("x-amz-checksum-type", "COMPOSITE"));
        assert_eq!(crc(&[TAG, CRC]), whole);
        assert_eq!(crc(&[TAG_OF_PARTS, CRC, full]), whole);
        assert_eq!(crc(&[TAG_OF_PARTS, CRC]), None);
        assert_eq!(crc(&[TAG_OF_PARTS, CRC, composite]), None);
        assert_eq!(crc(&[TAG_OF_PARTS, CRC_OF_PARTS, composite]), of_parts);
        assert_eq!(crc(&[TAG_OF_PARTS, CRC_OF_PARTS]), of_parts);
        let castagnoli = ("x-amz-checksum-crc32c", "NhCmhg==");
        assert_eq!(said(Scheme::S3, &[TAG_OF_PARTS, castagnoli, composite]).crc32c, None);
        let nvme = ("x-amz-checksum-crc64nvme", "rosUhgp5mIg=");
        let said = said(Scheme::S3, &[TAG_OF_PARTS, nvme, full]);
        assert_eq!(said.crc64, Some(0xae8b_1486_0a79_9888));
    }

    #[test]
    fn googles_hashes_come_in_one_header_or_two() {
        let (crc, md5) = ("crc32c=NhCmhg==", "md5=kAFQmDzST7DWlj99KOF/cg==");
        let both = format!("{crc},{md5}");
        for headers in
            [vec![("x-goog-hash", crc), ("x-goog-hash", md5)], vec![("x-goog-hash", &*both)]]
        {
            let said = said(Scheme::Gs, &headers);
            assert_eq!((said.crc32c, said.md5.is_some()), (Some(0x3610_a686), true));
        }
    }
}
