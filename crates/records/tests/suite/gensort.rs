//! The Sort Benchmark's formats against a second writing of their description, a byte at a time,
//! and at record numbers too high for the golden files.

use xsort_records::{Format, GenerateSpec};

use crate::{records, spec};

const A: u128 = 0x2360ed051fc65da44385df649fccf645;
const C: u128 = 0x4a696d47726179524950202020202001;

/// `X(n)` by square and multiply over f^(2k) = (a*a, a*c + c).
fn number(n: u128) -> u128 {
    let (mut a, mut c, mut x) = (A, C, 0u128);
    for bit in 0..128 {
        if n >> bit & 1 == 1 {
            x = a.wrapping_mul(x).wrapping_add(c);
        }
        c = a.wrapping_mul(c).wrapping_add(c);
        a = a.wrapping_mul(a);
    }
    x
}

fn binary(n: u128) -> Vec<u8> {
    const XORED: &str = "F0E8E4E2E1D8D4D2D1CC CAC9C6C5C3B8B4B2B1AC AAA9A6A5A39C9A999695 \
        938E8D8B87787472716C \
                         6A696665635C5A595655 534E4D4B473C3A393635 332E2D2B271E1D1B170F \
                         C8C4C2C1989492918CE0 170F332E2D2B271E1D1B";
    let mut record = Vec::new();
    for piece in 0..10 {
        let xored = if piece == 0 {
            "00000000000000000000"
        } else {
            XORED.split(' ').nth(piece - 1).unwrap()
        };
        let random = number(n.wrapping_add(1 + piece as u128));
        for byte in 0..10 {
            let mask = u8::from_str_radix(&xored[2 * byte..2 * byte + 2], 16).unwrap();
            record.push((random >> (120 - 8 * byte)) as u8 ^ mask);
        }
    }
    record
}

fn printable(n: u128) -> Vec<u8> {
    let random = number(n + 1);
    let (mut hi, mut lo) = ((random >> 64) as u64, random as u64);
    let mut record = String::new();
    let digit = |from: &mut u64| {
        let digit = char::from(b' ' + (*from % 95) as u8);
        *from /= 95;
        digit
    };
    (0..8).for_each(|_| record.push(digit(&mut hi)));
    (0..2).for_each(|_| record.push(digit(&mut lo)));
    record += &format!("  {n:032X}  ");
    for digit in format!("{:013X}", random & ((1 << 52) - 1)).chars() {
        (0..4).for_each(|_| record.push(digit));
    }
    (record + "\r\n").into_bytes()
}

fn generated(format: Format, start: u128, total: u64, skewed: bool) -> Vec<Vec<u8>> {
    let block = records(GenerateSpec { start, skewed, ..spec(format, total) });
    block.chunks(100).map(<[u8]>::to_vec).collect()
}

/// Some record numbers up to the last with a successor.
const STARTS: [u128; 9] = [
    0,
    1,
    1_000_000,
    (1 << 32) - 3,
    (1 << 60) - 3,
    (1 << 64) - 3,
    1 << 100,
    (1 << 124) - 3,
    u128::MAX - 70,
];

#[test]
fn both_formats_are_as_described() {
    for start in STARTS {
        let (ours, printed) = (
            generated(Format::Gensort, start, 66, false),
            generated(Format::GensortAscii, start, 66, false),
        );
        for place in [0, 1, 2, 3, 4, 62, 63, 64, 65] {
            let n = start + place as u128;
            assert_eq!(ours[place], binary(n), "record {n}");
            assert_eq!(printed[place], printable(n), "record {n}");
        }
    }
}

/// `X(1)` is the constant c, whose first ten bytes are text, and so is the first key.
#[test]
fn the_first_key_is_a_dedication() {
    let first = &generated(Format::Gensort, 0, 1, false)[0];
    assert_eq!(&first[..10], b"JimGrayRIP");
    let first = &generated(Format::GensortAscii, 0, 1, false)[0];
    assert_eq!(first[10..46], *b"  00000000000000000000000000000000  ");
    assert_eq!(first[46..58], *b"000022220000");
    assert_eq!(first[94..], *b"1111\r\n");
}

/// Stretches of records (the first, and how many) and the record that lends all of them the fronts
/// of their keys.
const DONORS: [(u128, u64, u128); 16] = [
    (0, 1, 0),
    (1, 1, 1),
    (2, 2, 2),
    (4, 4, 3),
    (8, 8, 4),
    (64, 64, 7),
    (1 << 59, 64, 60),
    ((1 << 60) - 64, 64, 60),
    (1 << 60, 64, 64),
    (1 << 63, 64, 64),
    ((1 << 64) - 64, 64, 64),
    (1 << 64, 64, 65),
    ((1 << 124) - 64, 64, 124),
    (1 << 124, 64, 128),
    (1 << 127, 64, 128),
    (u128::MAX - 64, 64, 128),
];

#[test]
fn skewed_keys_borrow_from_their_donors() {
    for (from, same, donor) in DONORS {
        let (bits, bytes) = (key_bits, |record: &[u8]| record[..10].to_vec());
        let theirs = &generated(Format::Gensort, donor, 1, false)[0];
        let plain = generated(Format::Gensort, from, same, false);
        for (place, record) in generated(Format::Gensort, from, same, true).iter().enumerate() {
            let n = from + place as u128;
            let drawn = (number(n + 1) as u64 >> 32) & 63;
            let lent = if drawn > 48 { 0 } else { drawn };
            let own = bits(&plain[place]) & (u128::MAX >> 48 >> lent);
            let expected = bits(theirs) >> (80 - lent) << (80 - lent) | own;
            assert_eq!(bits(record), expected, "record {n}, {lent} bits");
            assert_eq!(record[10..], plain[place][10..], "record {n}");
        }
        let theirs = &generated(Format::GensortAscii, donor, 1, false)[0];
        let plain = generated(Format::GensortAscii, from, same, false);
        for (place, record) in generated(Format::GensortAscii, from, same, true).iter().enumerate()
        {
            let n = from + place as u128;
            let drawn = (number(n + 1) as u64 >> 32 & 7) as usize;
            let lent = if drawn > 6 { 0 } else { drawn };
            let expected = [&theirs[..lent], &plain[place][lent..10]].concat();
            assert_eq!(bytes(record), expected, "record {n}, {lent} bytes");
            assert_eq!(record[10..], plain[place][10..], "record {n}");
        }
    }
}

fn key_bits(record: &[u8]) -> u128 {
    record[..10].iter().fold(0, |bits, &byte| bits << 8 | u128::from(byte))
}

/// A seed begins the same sequence elsewhere: pieces of neighbouring records still overlap, record
/// numbers stay.
#[test]
fn a_seed_moves_the_sequence_only() {
    let seeded = |format| records(GenerateSpec { seed: 12, ..spec(format, 20) });
    let mask: Vec<u8> =
        binary(0).iter().zip(pieces_of(0)).map(|(byte, piece)| byte ^ piece).collect();
    let block = seeded(Format::Gensort);
    let open: Vec<Vec<u8>> = block
        .chunks(100)
        .map(|record| record.iter().zip(&mask).map(|(a, b)| a ^ b).collect())
        .collect();
    for pair in open.windows(2) {
        assert_eq!(pair[0][10..], pair[1][..90]);
    }
    for (n, record) in seeded(Format::GensortAscii).chunks(100).enumerate() {
        assert_eq!(record[12..44], *format!("{n:032X}").as_bytes());
    }
}

fn pieces_of(n: u128) -> Vec<u8> {
    (0..10).flat_map(|piece| number(n + 1 + piece).to_be_bytes()[..10].to_vec()).collect()
}
