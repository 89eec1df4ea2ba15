//! The orders of alignments, and their keys: bytes that compare as samtools compares.

use std::cmp::Ordering;
use std::str::FromStr;
use thiserror::Error;
use xsort_extsort::keyed::KeyWriter;

/// The flags that samtools compares after names: first and last read of a template.
const READS: u8 = 0xc0;
/// The reverse strand.
const REVERSE: u16 = 0x10;
/// Marks of the strands.
const FORWARD_MARK: u8 = 0x11;
const REVERSE_MARK: u8 = 0x12;
/// Bytes of a record before its name, without the number of its bytes.
const FIXED_BYTES: usize = 32;
/// Precedes a number in a name: the least digit, so that numbers sort where digits do.
const NUMBER: u8 = b'0';

/// The order of alignments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BamOrder {
    /// By sequence, position and strand; those without a place come last.
    Coordinate,
    /// By name, in which runs of digits compare as numbers.
    Name,
    /// By the bytes of the name.
    NameBytes,
    /// By the value of a tag, then by coordinate; those without it come first.
    Tag([u8; 2]),
}

/// There is no such order.
#[derive(Clone, Copy, Debug, Error)]
#[error("coordinate, name, name-bytes or tag:XX is wanted")]
pub struct NoOrder;

impl FromStr for BamOrder {
    type Err = NoOrder;

    fn from_str(text: &str) -> Result<BamOrder, NoOrder> {
        match text {
            "coordinate" => Ok(BamOrder::Coordinate),
            "name" => Ok(BamOrder::Name),
            "name-bytes" => Ok(BamOrder::NameBytes),
            _ => match text.strip_prefix("tag:").map(str::as_bytes) {
                Some(&[a, b]) if a.is_ascii_alphabetic() && b.is_ascii_alphanumeric() => {
                    Ok(BamOrder::Tag([a, b]))
                }
                _ => Err(NoOrder),
            },
        }
    }
}

impl BamOrder {
    /// What the header says of it, in `SO`.
    pub(crate) fn sort_order(self) -> &'static str {
        match self {
            BamOrder::Coordinate => "coordinate",
            BamOrder::Name | BamOrder::NameBytes => "queryname",
            BamOrder::Tag(_) => "unknown",
        }
    }

    /// Appends the key of a record, which `check` has found to be one.
    pub(crate) fn push_key(self, record: &Alignment<'_>, out: &mut Vec<u8>, name: &mut Vec<u8>) {
        let mut writer = KeyWriter { out, is_descending: false };
        match self {
            BamOrder::Coordinate => push_coordinate(&mut writer, record),
            BamOrder::Name => {
                name.clear();
                push_natural(name, record.name());
                writer.text(name);
                push_reads(&mut writer, record);
            }
            BamOrder::NameBytes => {
                writer.text(record.name());
                push_reads(&mut writer, record);
            }
            BamOrder::Tag(tag) => {
                push_tag(&mut writer, record.tag(tag));
                push_coordinate(&mut writer, record);
            }
        }
    }
}

/// A sequence that is missing (-1) comes after all others, and a missing position before.
fn push_coordinate(writer: &mut KeyWriter<'_>, record: &Alignment<'_>) {
    writer.fixed(&(record.sequence() as u32).to_be_bytes());
    writer.fixed(&(record.position().wrapping_add(1) as u32).to_be_bytes());
    writer.mark(if record.flags() & REVERSE == 0 { FORWARD_MARK } else { REVERSE_MARK });
}

fn push_reads(writer: &mut KeyWriter<'_>, record: &Alignment<'_>) {
    writer.fixed(&[record.flags() as u8 & READS]);
}

/// Appends a name whose runs of digits compare as numbers. Of equal numbers that with more zeros
/// before it comes first.
fn push_natural(out: &mut Vec<u8>, mut name: &[u8]) {
    while let Some(at) = name.iter().position(u8::is_ascii_digit) {
        out.extend_from_slice(&name[..at]);
        let digits = name[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = name[at..].split_at(digits);
        let zeros = number.iter().take_while(|&&digit| digit == b'0').count();
        out.push(NUMBER);
        // A name has 254 bytes at most.
        out.push((digits - zeros) as u8);
        out.extend_from_slice(&number[zeros..]);
        out.push(u8::MAX - zeros as u8);
        name = rest;
    }
    out.extend_from_slice(name);
}

/// Appends the value of a tag: those of one kind together, in the order of their types' letters.
fn push_tag(writer: &mut KeyWriter<'_>, value: Option<Tag<'_>>) {
    match value {
        None => writer.mark(0x11),
        Some(Tag::Char(byte)) => {
            writer.mark(0x12);
            writer.fixed(&[byte]);
        }
        Some(Tag::Text(text)) => {
            writer.mark(0x13);
            writer.text(text);
        }
        Some(Tag::Whole(number)) => {
            writer.mark(0x14);
            writer.fixed(&(number as u64 ^ 1 << 63).to_be_bytes());
        }
        Some(Tag::Float(number)) => {
            writer.mark(0x15);
            let bits = number.to_bits();
            let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
            writer.fixed(&ordered.to_be_bytes());
        }
    }
}

/// The value of a tag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tag<'r> {
    Char(u8),
    Text(&'r [u8]),
    Whole(i64),
    Float(f32),
}

/// A record without the number of its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alignment<'r>(&'r [u8]);

impl<'r> Alignment<'r> {
    /// The record in these bytes, of a file with this number of sequences; else what is wrong.
    pub(crate) fn new(bytes: &'r [u8], sequences: u32) -> Result<Alignment<'r>, &'static str> {
        if bytes.len() < FIXED_BYTES {
            return Err("it has less than 32 bytes");
        }
        let record = Alignment(bytes);
        match record.sequence().cmp(&-1) {
            Ordering::Less => return Err("the number of its sequence is negative"),
            Ordering::Greater if record.sequence() as u32 >= sequences => {
                return Err("the header doesn't have its sequence");
            }
            _ => {}
        }
        if record.position() < -1 {
            return Err("its position is negative");
        }
        match record.name_bytes() {
            0 => return Err("it has no name"),
            end if record.0.get(FIXED_BYTES + end - 1) != Some(&0) => {
                return Err("its name has no end");
            }
            _ => {}
        }
        match record.tags_begin() <= bytes.len() {
            true => Ok(record),
            false => Err("it is shorter than its parts"),
        }
    }

    fn four(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    fn two(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    fn sequence(&self) -> i32 {
        self.four(0)
    }

    fn position(&self) -> i32 {
        self.four(4)
    }

    fn name_bytes(&self) -> usize {
        usize::from(self.0[8])
    }

    fn flags(&self) -> u16 {
        self.two(14)
    }

    /// The name, without the byte 0 at its end.
    fn name(&self) -> &'r [u8] {
        &self.0[FIXED_BYTES..FIXED_BYTES + self.name_bytes() - 1]
    }

    fn tags_begin(&self) -> usize {
        let bases = usize::try_from(self.four(16)).unwrap_or(usize::MAX / 4);
        let cigar_bytes = 4 * usize::from(self.two(12));
        FIXED_BYTES + self.name_bytes() + cigar_bytes + bases.div_ceil(2) + bases
    }

    /// The value of a tag, if the record has it. An array has none.
    pub(crate) fn tag(&self, wanted: [u8; 2]) -> Option<Tag<'r>> {
        let mut rest = &self.0[self.tags_begin()..];
        while let [a, b, kind, value @ ..] = rest {
            let bytes = value_bytes(*kind, value)?;
            if [*a, *b] == wanted {
                return tag_value(*kind, value.get(..bytes)?);
            }
            rest = value.get(bytes..)?;
        }
        None
    }
}

/// Bytes of the value of a tag of this type; `None` if there is no such type, or no end.
fn value_bytes(kind: u8, value: &[u8]) -> Option<usize> {
    Some(match kind {
        b'A' | b'c' | b'C' => 1,
        b's' | b'S' => 2,
        b'i' | b'I' | b'f' => 4,
        b'Z' | b'H' => memchr::memchr(0, value)? + 1,
        b'B' => {
            let (inner, count) = (*value.first()?, value.get(1..5)?);
            let count = u32::from_le_bytes(count.try_into().ok()?) as usize;
            5 + count.checked_mul(value_bytes(inner, b"\0")?)?
        }
        _ => return None,
    })
}

fn tag_value(kind: u8, value: &[u8]) -> Option<Tag<'_>> {
    let number = |is_signed: bool| {
        let bytes = value.iter().rev();
        let unsigned = bytes.fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
        let shift = 64 - 8 * value.len() as u32;
        let signed = ((unsigned << shift) as i64) >> shift;
        Tag::Whole(if is_signed { signed } else { unsigned as i64 })
    };
    Some(match kind {
        b'A' => Tag::Char(*value.first()?),
        b'c' | b's' | b'i' => number(true),
        b'C' | b'S' | b'I' => number(false),
        b'f' => Tag::Float(f32::from_le_bytes(value.try_into().ok()?)),
        b'Z' | b'H' => Tag::Text(value.strip_suffix(b"\0")?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with this name, place, flags and tags.
    pub(crate) fn record(
        name: &str,
        (sequence, position): (i32, i32),
        flags: u16,
        tags: &[u8],
    ) -> Vec<u8> {
        let mut bytes = [sequence.to_le_bytes(), position.to_le_bytes()].concat();
        bytes.extend([name.len() as u8 + 1, 60, 0, 0, 1, 0]);
        bytes.extend(flags.to_le_bytes());
        bytes.extend(3_i32.to_le_bytes());
        bytes.extend([0xff; 8]);
        bytes.extend([0; 4]);
        bytes.extend(name.bytes().chain([0]));
        bytes.extend([0x30, 0, 0, 0, 0x12, 0x40, 9, 9, 9]);
        bytes.extend(tags);
        bytes
    }

    fn key(order: BamOrder, record: &[u8]) -> Vec<u8> {
        let (mut out, mut name) = (Vec::new(), Vec::new());
        order.push_key(&Alignment::new(record, 100).unwrap(), &mut out, &mut name);
        out
    }

    fn rising(order: BamOrder, records: &[Vec<u8>]) {
        for pair in records.windows(2) {
            assert!(key(order, &pair[0]) < key(order, &pair[1]), "{order:?} {pair:?}");
        }
    }

    #[test]
    fn keys_compare_as_the_alignments_do() {
        rising(
            BamOrder::Coordinate,
            &[(0, 5, 0), (0, 5, 16), (0, 300, 0), (2, -1, 0), (2, 0, 0), (10, 0, 0), (-1, -1, 4)]
                .map(|(sequence, position, flags)| record("r", (sequence, position), flags, b"")),
        );
        rising(
            BamOrder::Name,
            &["a", "a001", "a1", "a02x", "a2", "a2x", "a:1:9", "a:1:10", "b00", "b0", "b1"]
                .map(|name| record(name, (0, 0), 0, b"")),
        );
        rising(
            BamOrder::NameBytes,
            &["a", "a1", "a10", "a9", "a:"].map(|name| record(name, (0, 0), 0, b"")),
        );
        rising(BamOrder::Name, &[0x10, 0x40, 0x80].map(|of| record("r", (0, 0), of, b"")));
        let [a, b] = [0x840, 0x150].map(|flags| record("r", (0, 0), flags, b""));
        assert_eq!(key(BamOrder::Name, &a), key(BamOrder::Name, &b));
        let tags: [&[u8]; 9] = [
            b"",
            b"XBAz",
            b"XBZa\0",
            b"XBZab\0",
            b"YYC\x05XBc\xff",
            b"XBC\0",
            b"XBi\0\x01\0\0",
            b"XBf\0\0\x80\xbf",
            b"XBf\0\0\x80\x3f",
        ];
        let order = BamOrder::Tag(*b"XB");
        rising(order, &tags.map(|tags| record("r", (0, 0), 0, tags)));
        let array = record("r", (0, 0), 0, b"ZZBs\x02\0\0\0\x01\0\x02\0XBAz");
        assert_eq!(key(order, &array), key(order, &record("r", (0, 0), 0, b"XBAz")));
    }

    #[test]
    fn what_can_not_be_an_alignment_is_refused() {
        let good = record("r", (1, 1), 0, b"");
        assert!(Alignment::new(&good, 2).is_ok());
        for (bytes, sequences, why) in [
            (&good[..31], 2, "less than 32"),
            (&good[..], 1, "doesn't have its sequence"),
            (&record("r", (-2, 1), 0, b""), 2, "sequence is negative"),
            (&record("r", (1, -2), 0, b""), 2, "position is negative"),
            (&good[..40], 2, "shorter than its parts"),
        ] {
            assert!(Alignment::new(bytes, sequences).unwrap_err().contains(why), "{why}");
        }
        let mut no_end = good.clone();
        no_end[33] = b'x';
        assert!(Alignment::new(&no_end, 2).unwrap_err().contains("no end"));
    }

    #[test]
    fn orders_have_names() {
        assert_eq!("tag:CB".parse::<BamOrder>().unwrap(), BamOrder::Tag(*b"CB"));
        for bad in ["", "tag:", "tag:C", "tag:1B", "position"] {
            assert!(bad.parse::<BamOrder>().is_err(), "{bad}");
        }
    }
}
