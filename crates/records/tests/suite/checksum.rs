//! The multiset checksum: known CRCs, order, parts, and its text.

use proptest::prelude::*;
use xsort_records::Checksum;

fn checksum(records: &[u8], record_bytes: usize) -> Checksum {
    let mut sum = Checksum::default();
    sum.add_records(records, record_bytes);
    sum
}

/// CRC-32 bit by bit, from the polynomial.
fn crc32(bytes: &[u8]) -> u32 {
    let shift = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| shift(crc)))
}

/// The check value that catalogues of CRCs give for zlib's.
#[test]
fn known_check_value() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let sum = checksum(b"123456789", 9);
    assert_eq!((sum.records(), sum.sum(), sum.to_string().as_str()), (1, 0xcbf4_3926, "cbf43926"));
}

#[test]
fn empty_is_zero() {
    assert_eq!(checksum(&[], 100), Checksum::default());
    assert_eq!(Checksum::default().to_string(), "0");
}

#[test]
#[should_panic(expected = "no whole number of records")]
fn partial_record_is_refused() {
    checksum(&[0; 101], 100);
}

#[test]
fn sums_are_read_as_printed_and_a_little_more() {
    for (text, sum) in [
        ("0", 0),
        ("1ea6370b955", 0x1ea_6370_b955),
        ("1EA6370B955", 0x1ea_6370_b955),
        ("0x1ea6370b955", 0x1ea_6370_b955),
        ("ffffffffffffffffffffffffffffffff", u128::MAX),
    ] {
        assert_eq!(Checksum::parse_sum(text), Ok(sum), "{text}");
    }
    for text in ["", "0x", "+1", "-1", "1 ", "1g", "1_0", "100000000000000000000000000000000"] {
        let error = Checksum::parse_sum(text).unwrap_err().to_string();
        assert!(error.contains("hexadecimal digits") && error.contains(text), "{error}");
    }
}

proptest! {
    /// Every record length takes the sum of its records' CRCs, in any order and any parts.
    #[test]
    fn is_the_sum_of_crcs(
        record_bytes in 1usize..300,
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        cut in any::<prop::sample::Index>(),
    ) {
        let count = bytes.len() / record_bytes;
        let records = &bytes[..count * record_bytes];
        let crcs = records.chunks(record_bytes).map(|record| u128::from(crc32(record)));
        let expected: u128 = crcs.sum();
        let whole = checksum(records, record_bytes);
        prop_assert_eq!(whole, Checksum::from_parts(count as u64, expected));
        prop_assert_eq!(Checksum::parse_sum(&whole.to_string()), Ok(expected));

        let reversed: Vec<u8> = records.chunks(record_bytes).rev().flatten().copied().collect();
        prop_assert_eq!(checksum(&reversed, record_bytes), whole);

        let cut = cut.index(count + 1) * record_bytes;
        let mut parts = checksum(&records[cut..], record_bytes);
        parts.merge(checksum(&records[..cut], record_bytes));
        prop_assert_eq!(parts, whole);
    }
}
