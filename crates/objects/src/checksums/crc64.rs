//! CRC-64/NVME. Amazon's tools compute it for what they send, and S3 for everything else.
//!
//! It processes sixteen bytes per step with tables. No crate with this polynomial can combine
//! checksums without adding the tables of all other polynomials to the program.

/// The polynomial, lowest power first.
const POLYNOMIAL: u64 = 0x9a6c_9329_ac4b_c9b5;

static TABLES: [[u64; 256]; 16] = tables();

/// `TABLES[n][byte]`: the contribution of `byte` to the checksum when `n` bytes follow it in the
/// step.
const fn tables() -> [[u64; 256]; 16] {
    let mut tables = [[0; 256]; 16];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ ((crc & 1) * POLYNOMIAL);
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 16 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// Returns the checksum of these bytes.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut crc = !0u64;
    let (steps, rest) = bytes.as_chunks::<16>();
    for step in steps {
        let first = crc.to_le_bytes();
        crc = 0;
        for (at, &byte) in step.iter().enumerate() {
            let byte = if at < 8 { byte ^ first[at] } else { byte };
            crc ^= TABLES[15 - at][usize::from(byte)];
        }
    }
    for &byte in rest {
        crc = (crc >> 8) ^ TABLES[0][usize::from(crc as u8 ^ byte)];
    }
    !crc
}

/// Returns the checksum of bytes followed by `other_bytes` other bytes.
pub(super) fn combine(crc: u64, other: u64, other_bytes: u64) -> u64 {
    multiply(crc, power_of_x(other_bytes.wrapping_mul(8))) ^ other
}

/// Returns x to the power of `exponent`, modulo the polynomial.
fn power_of_x(mut exponent: u64) -> u64 {
    let (mut power, mut square) = (1 << 63, 1 << 62);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = multiply(power, square);
        }
        square = multiply(square, square);
        exponent >>= 1;
    }
    power
}

/// Returns the product modulo the polynomial. The highest bit of a word is the power 0.
fn multiply(one: u64, mut other: u64) -> u64 {
    let mut product = 0;
    for power in (0..64).rev() {
        product ^= (one >> power & 1) * other;
        other = (other >> 1) ^ ((other & 1) * POLYNOMIAL);
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_checksum_of_the_catalogue_and_can_be_combined() {
        assert_eq!(hash(b"123456789"), 0xae8b_1486_0a79_9888);
        assert_eq!(hash(b""), 0);
        let bytes: Vec<u8> = (0..10_000u32).map(|n| ((n * n) >> 5) as u8).collect();
        for cut in [0, 1, 7, 16, 17, 4096, 9_999, 10_000] {
            let (one, other) = bytes.split_at(cut);
            let combined = combine(hash(one), hash(other), other.len() as u64);
            assert_eq!(combined, hash(&bytes), "{cut}");
        }
    }
}
