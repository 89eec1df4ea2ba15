//! Blocks of BGZF, the blocked gzip of the SAM specification: each is a gzip member whose header
//! says how long it is. So a reader finds any block without inflating those before it, and an index
//! of positions (`position_index`) can point into the text.

use libdeflater::Compressor as Deflater;
use std::{io, iter};

/// Most bytes of text in a block that is written. Compressed, even noise fits in 64 KiB.
const TEXT_BYTES: usize = 0xff00;
/// A block ends at the end of a line if there is one among its last bytes.
const NEAR_END_BYTES: usize = 16 << 10;
/// Bytes before and after the deflated text.
pub(super) const HEADER_BYTES: usize = 18;
const TRAILER_BYTES: usize = 8;
/// The beginning of every header: gzip, deflate, extra fields; no time, and an unknown system; six
/// bytes of extra fields, of which BC has two. These two are the block's bytes, less one.
const HEADER: [u8; 16] = *b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0";

/// The empty block at the end of a whole file.
pub(super) const END: [u8; 28] = *b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\
                                    \x03\0\0\0\0\0\0\0\0\0";

/// Splits off the bytes of the next block from `text`. It is followed by at least one block more,
/// or with `is_all` the last one has all bytes that are left. A split of the blocks alone gives the
/// same blocks, because two of them never fit into one.
pub(super) fn split_block(text: &[u8], is_all: bool) -> Option<(&[u8], &[u8])> {
    let Some(most) = text.get(..TEXT_BYTES).filter(|most| most.len() < text.len()) else {
        return Some((text, &text[text.len()..])).filter(|_| is_all && !text.is_empty());
    };
    let near_end = &most[TEXT_BYTES - NEAR_END_BYTES..];
    let line_end = memchr::memrchr(b'\n', near_end);
    Some(text.split_at(TEXT_BYTES - line_end.map_or(0, |at| NEAR_END_BYTES - 1 - at)))
}

/// Appends a block of `text`, at most [`TEXT_BYTES`], to `blocks`.
pub(super) fn append_block(
    deflater: &mut Deflater,
    text: &[u8],
    blocks: &mut Vec<u8>,
) -> io::Result<()> {
    let begin = blocks.len();
    let deflated_max = deflater.deflate_compress_bound(text.len());
    blocks.extend_from_slice(&HEADER);
    blocks.resize(begin + HEADER_BYTES + deflated_max, 0);
    let deflated = deflater
        .deflate_compress(text, &mut blocks[begin + HEADER_BYTES..])
        .map_err(io::Error::other)?;
    blocks.truncate(begin + HEADER_BYTES + deflated);
    blocks.extend_from_slice(&crc32fast::hash(text).to_le_bytes());
    blocks.extend_from_slice(&(text.len() as u32).to_le_bytes());
    let bytes = u16::try_from(blocks.len() - begin - 1).map_err(io::Error::other)?;
    blocks[begin + HEADER.len()..][..2].copy_from_slice(&bytes.to_le_bytes());
    Ok(())
}

/// True if a block of BGZF begins with these bytes.
pub(super) fn is_begin(head: &[u8]) -> bool {
    let head = head.first_chunk::<{ HEADER.len() }>();
    head.is_some_and(|head| head[..4] == HEADER[..4] && head[10..] == HEADER[10..])
}

/// Bytes of text of a block, as it says; `None` if these are more than a block may have.
pub(super) fn text_bytes(block: &[u8]) -> Option<usize> {
    let bytes = u32::from_le_bytes(*block.last_chunk()?) as usize;
    (bytes <= 1 << 16).then_some(bytes)
}

/// Bytes of the block that begins with these bytes; `None` if they begin no block of BGZF.
pub(super) fn block_bytes(header: &[u8]) -> Option<usize> {
    let bytes = header.get(HEADER.len()..HEADER_BYTES).filter(|_| is_begin(header))?;
    let bytes = usize::from(u16::from_le_bytes([bytes[0], bytes[1]])) + 1;
    (bytes >= HEADER_BYTES + TRAILER_BYTES).then_some(bytes)
}

/// The bytes of each of several blocks.
pub(super) fn lengths(blocks: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut at = 0;
    iter::from_fn(move || {
        let bytes = block_bytes(&blocks[at..])?;
        at += bytes;
        Some(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use libdeflater::CompressionLvl;

    fn blocks(mut text: &[u8], is_all: bool) -> Vec<&[u8]> {
        let mut blocks = Vec::new();
        while let Some((block, rest)) = split_block(text, is_all) {
            blocks.push(block);
            text = rest;
        }
        blocks
    }

    #[test]
    fn blocks_end_at_lines_where_they_are_short() {
        let short = b"a line\n".repeat(100_000);
        assert!(blocks(&short, true).iter().all(|block| block.ends_with(b"\n")));
        let one_line = vec![b'a'; 3 * TEXT_BYTES + 1];
        let lengths: Vec<usize> = blocks(&one_line, true).iter().map(|block| block.len()).collect();
        assert_eq!(lengths, [TEXT_BYTES, TEXT_BYTES, TEXT_BYTES, 1]);
        assert_eq!(blocks(&one_line, false).len(), 3);
        // What was split off is split alike.
        let split = blocks(&short, false);
        assert_eq!(blocks(&split.concat(), true), split);
        assert!(blocks(b"", true).is_empty());
    }

    #[test]
    fn a_block_says_its_length_whatever_its_content() {
        let mut deflater = Deflater::new(CompressionLvl::new(1).unwrap());
        let noise: Vec<u8> = (0..TEXT_BYTES as u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 13 ^ n.wrapping_mul(40_503) >> 7) as u8)
            .collect();
        for text in [&noise[..], b"a\n", &[0; TEXT_BYTES]] {
            let mut block = b"before".to_vec();
            append_block(&mut deflater, text, &mut block).unwrap();
            assert_eq!(block_bytes(&block[6..]), Some(block.len() - 6));
        }
        assert_eq!(block_bytes(&END), Some(END.len()));
        assert_eq!(block_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0"), None);
        assert_eq!(block_bytes(&END[..17]), None);
    }
}
