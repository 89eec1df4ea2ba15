//! Versions whose every word says which version it belongs to, and whose length does: a torn one
//! can't pass.

use xsort_shm::Writer;

fn mix(sequence: u64, place: u64) -> u64 {
    (sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place)
        .wrapping_mul(0xd6e8_feb8_6659_fd93)
        .rotate_left(29)
}

/// Length in bytes of version `sequence`: 8 to 16,384.
fn length(sequence: u64) -> usize {
    8 * (1 + (mix(sequence, u64::MAX) % 2048) as usize)
}

/// Writes the next version, stamped.
pub(crate) fn write(writer: &mut Writer) -> xsort_shm::Result<u64> {
    let sequence = writer.next_version();
    let written = writer.write_with(length(sequence), |bytes| {
        for (place, word) in bytes.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&mix(sequence, place as u64).to_le_bytes());
        }
    })?;
    assert_eq!(written, sequence);
    Ok(written)
}

/// Checks all of a version.
#[track_caller]
pub(crate) fn check(sequence: u64, bytes: &[u8]) {
    assert_eq!(bytes.len(), length(sequence), "length of version {sequence}");
    for (place, word) in bytes.chunks_exact(8).enumerate() {
        assert_eq!(
            word,
            mix(sequence, place as u64).to_le_bytes(),
            "word {place} of version {sequence} is torn"
        );
    }
}
