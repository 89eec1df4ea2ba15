//! The ID of a block: its upload, its number, and its checksum.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Number of digits of an upload's number, which is also its mark.
const UPLOAD_DIGITS: usize = 32;

/// The ID of a block. All unused blocks of a name, including those of other programs, must have IDs
/// of the same length: this one has 48 bytes, like those of Azure's libraries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockId {
    /// The number of its upload.
    pub(super) upload: String,
    /// The block's number, from 1.
    pub(super) number: u32,
    /// The CRC-32 of its bytes, so that a listed block says what it contains.
    pub(super) crc: u32,
}

impl BlockId {
    /// Returns the ID in its encoded form.
    pub(super) fn encoded(&self) -> String {
        let BlockId { upload, number, crc } = self;
        BASE64_STANDARD.encode(format!("{upload}{number:08x}{crc:08x}"))
    }

    /// Parses an encoded ID. Returns `None` if another program created it.
    pub(super) fn parse(text: &str) -> Option<BlockId> {
        let id = String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok()?;
        let (upload, rest) = id.split_at_checked(UPLOAD_DIGITS)?;
        let (number, crc) = rest.split_at_checked(8).filter(|(_, crc)| crc.len() == 8)?;
        let digits = |text| u32::from_str_radix(text, 16).ok();
        Some(BlockId { upload: upload.to_owned(), number: digits(number)?, crc: digits(crc)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_48_bytes_and_says_what_its_block_is() {
        let id = BlockId { upload: "0123456789abcdef".repeat(2), number: 9999, crc: 0xffff_0001 };
        assert_eq!(id.encoded().len(), 64);
        assert_eq!(BlockId::parse(&id.encoded()), Some(id));
        for other in ["", "YQ==", "?", &BASE64_STANDARD.encode([0xff; 48])] {
            assert_eq!(BlockId::parse(other), None);
        }
    }
}
