//! The Sort Benchmark's binary record, equal to the public generator's output byte for byte.
//!
//! ```text
//! byte   0         10        20                90        100
//!        | piece 0 | piece 1 | piece 2 |  ...  | piece 9 |
//!
//! piece i = top 10 bytes of X(n+1+i), xor MASK[i]
//! ```
//!
//! Record n+1 has all numbers of record n except the first, and one new number. So the unmasked
//! pieces of all records form one stream of ten bytes a number: record n is the 100 bytes at 10 n
//! of that stream, XORed with a constant. A record costs one step of the generator, one overlapping
//! store of 16 bytes, and an XOR of 100 bytes.

use crate::lcg::Lcg;
use crate::mix::Words;

pub(crate) const RECORD_BYTES: usize = 100;
const PIECE_BYTES: usize = 10;
const PIECES: usize = 10;

/// The mask for the pieces after the key; the key is unchanged.
const MASK: [u8; RECORD_BYTES] = {
    const BYTES: [u8; 90] = [
        0xf0, 0xe8, 0xe4, 0xe2, 0xe1, 0xd8, 0xd4, 0xd2, 0xd1, 0xcc, //
        0xca, 0xc9, 0xc6, 0xc5, 0xc3, 0xb8, 0xb4, 0xb2, 0xb1, 0xac, //
        0xaa, 0xa9, 0xa6, 0xa5, 0xa3, 0x9c, 0x9a, 0x99, 0x96, 0x95, //
        0x93, 0x8e, 0x8d, 0x8b, 0x87, 0x78, 0x74, 0x72, 0x71, 0x6c, //
        0x6a, 0x69, 0x66, 0x65, 0x63, 0x5c, 0x5a, 0x59, 0x56, 0x55, //
        0x53, 0x4e, 0x4d, 0x4b, 0x47, 0x3c, 0x3a, 0x39, 0x36, 0x35, //
        0x33, 0x2e, 0x2d, 0x2b, 0x27, 0x1e, 0x1d, 0x1b, 0x17, 0x0f, //
        0xc8, 0xc4, 0xc2, 0xc1, 0x98, 0x94, 0x92, 0x91, 0x8c, 0xe0, //
        0x17, 0x0f, 0x33, 0x2e, 0x2d, 0x2b, 0x27, 0x1e, 0x1d, 0x1b, //
    ];
    let mut mask = [0; RECORD_BYTES];
    let mut at = 0;
    while at < BYTES.len() {
        mask[PIECE_BYTES + at] = BYTES[at];
        at += 1;
    }
    mask
};

/// Number of records in a strip: 6.4 KB of records and 0.7 KB of stream stay in the first-level
/// cache.
const STRIP_RECORDS: usize = 64;
/// Bytes of stream for a strip, and space for the last piece's 16-byte store.
const STREAM_BYTES: usize = (STRIP_RECORDS + PIECES - 1) * PIECE_BYTES + 6;
/// Bytes of the pieces of a strip that the next strip begins with.
const CARRIED_BYTES: usize = (PIECES - 1) * PIECE_BYTES;

/// Writes the top ten bytes of `number` at piece `place` of the stream. Also writes six bytes that
/// the next piece overwrites.
#[inline]
fn put_piece(stream: &mut [u8; STREAM_BYTES], place: usize, number: u128) {
    let at = place * PIECE_BYTES;
    stream[at..at + 16].copy_from_slice(&number.to_be_bytes());
}

/// Fills `out` with consecutive records. The first one takes the next number of `numbers`.
pub(crate) fn fill(mut numbers: Lcg, out: &mut [u8]) {
    let mut stream = [0; STREAM_BYTES];
    for place in 0..PIECES - 1 {
        put_piece(&mut stream, place, numbers.step());
    }
    let (records, rest) = out.as_chunks_mut::<RECORD_BYTES>();
    debug_assert!(rest.is_empty());
    for strip in records.chunks_mut(STRIP_RECORDS) {
        for place in 0..strip.len() {
            put_piece(&mut stream, PIECES - 1 + place, numbers.step());
        }
        for (place, record) in strip.iter_mut().enumerate() {
            let at = place * PIECE_BYTES;
            let pieces: &[u8; RECORD_BYTES] = stream[at..].first_chunk().expect("a strip's stream");
            for ((byte, piece), mask) in record.iter_mut().zip(pieces).zip(&MASK) {
                *byte = piece ^ mask;
            }
        }
        let carried_from = strip.len() * PIECE_BYTES;
        stream.copy_within(carried_from..carried_from + CARRIED_BYTES, 0);
    }
}

/// The key of a record whose first number is `number`.
pub(crate) fn key(number: u128) -> [u8; 10] {
    *number.to_be_bytes().first_chunk().expect("ten of sixteen bytes")
}

/// Writes a key at `position` of 2^64; its last two bytes are unchanged.
#[inline]
pub(crate) fn put_position(record: &mut [u8; RECORD_BYTES], position: u64) {
    record[..8].copy_from_slice(&position.to_be_bytes());
}

/// Writes a key of random bytes.
#[inline]
pub(crate) fn put_random(record: &mut [u8; RECORD_BYTES], mut words: Words) {
    record[..10].copy_from_slice(&key(words.step_wide()));
}
