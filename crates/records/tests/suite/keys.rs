//! One suite for every kind of key: the encoded bytes, the words, both comparisons and the verifier
//! against an oracle that uses the machine's own number types.

use std::cmp::Ordering;

use proptest::prelude::*;
use xsort_records::{
    Endian, Key, KeyField, KeyKind, KeyRule, Layout, LittleKey, PlainKey, VerifySummary,
};

use crate::grammar::any_field;

/// Orders two fields by reading them with the machine's own types.
fn oracle_field(field: &KeyField, a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (&a[field.offset..][..field.length], &b[field.offset..][..field.length]);
    macro_rules! number {
        ($($type:ty),* ; $endian:expr, $compare:expr) => {
            match field.length {
                $(n if n == size_of::<$type>() => {
                    let read = |bytes: &[u8]| match $endian {
                        Endian::Little => <$type>::from_le_bytes(bytes.try_into().unwrap()),
                        Endian::Big => <$type>::from_be_bytes(bytes.try_into().unwrap()),
                    };
                    $compare(&read(a), &read(b))
                })*
                n => unreachable!("{n} bytes"),
            }
        };
    }
    let order = match field.kind {
        KeyKind::Bytes => a.cmp(b),
        KeyKind::Unsigned(endian) => number!(u8, u16, u32, u64, u128; endian, Ord::cmp),
        KeyKind::Signed(endian) => number!(i8, i16, i32, i64, i128; endian, Ord::cmp),
        KeyKind::Float(endian) if field.length == 4 => number!(f32; endian, f32::total_cmp),
        KeyKind::Float(endian) => number!(f64; endian, f64::total_cmp),
        // Where the verifier decodes them, the oracle turns their bits. What is none comes last.
        KeyKind::Number(endian) => {
            let place = |bytes: &[u8]| {
                let mut big = bytes.to_vec();
                if endian == Endian::Little {
                    big.reverse();
                }
                let (infinity, bits) = match big.len() {
                    2 => (0x7c00, i64::from(i16::from_be_bytes(big.try_into().unwrap()))),
                    4 => (0x7f80_0000, i64::from(i32::from_be_bytes(big.try_into().unwrap()))),
                    _ => (f64::INFINITY.to_bits(), i64::from_be_bytes(big.try_into().unwrap())),
                };
                let magnitude = bits & i64::MAX >> (64 - 8 * bytes.len());
                let value = if bits < 0 { -magnitude } else { magnitude };
                if magnitude as u64 > infinity {
                    i64::MAX
                } else if field.descending {
                    -value
                } else {
                    value
                }
            };
            return place(a).cmp(&place(b));
        }
        KeyKind::Time(endian) => {
            let place = |bytes: &[u8]| {
                let bytes = bytes.try_into().unwrap();
                let time = match endian {
                    Endian::Little => i64::from_le_bytes(bytes),
                    Endian::Big => i64::from_be_bytes(bytes),
                };
                let key = if field.descending { !time } else { time };
                (time == i64::MIN, key)
            };
            return place(a).cmp(&place(b));
        }
    };
    if field.descending { order.reverse() } else { order }
}

fn oracle(fields: &[KeyField], a: &[u8], b: &[u8]) -> Ordering {
    fields
        .iter()
        .fold(Ordering::Equal, |order, field| order.then_with(|| oracle_field(field, a, b)))
}

fn check_key<K: Key>(key: K, fields: &[KeyField], a: &[u8], b: &[u8]) {
    let expected = oracle(fields, a, b);
    assert_eq!(key.bytes(), fields.iter().map(|field| field.length).sum::<usize>());
    let [encoded_a, encoded_b] = [a, b].map(|record| {
        let mut encoded = vec![0x55; key.bytes()];
        key.encode(record, &mut encoded);
        encoded
    });
    assert_eq!(encoded_a.cmp(&encoded_b), expected, "encoded");
    assert_eq!(key.compare(a, b), expected, "compare");
    assert_eq!(key.compare(b, a), expected.reverse(), "compare");
    assert_eq!(key.compare_encoded(a, &encoded_b), expected, "compare_encoded");
    assert_eq!(key.compare_encoded(a, &encoded_a), Ordering::Equal, "compare_encoded");
    for at in 0..key.bytes() + 20 {
        let mut eight = [0; 8];
        let rest = encoded_a.get(at..).unwrap_or(&[]);
        let there = rest.len().min(8);
        eight[..there].copy_from_slice(&rest[..there]);
        assert_eq!(key.word(a, at), u64::from_be_bytes(eight), "word at {at}");
    }
    assert_eq!(key.word(a, usize::MAX), 0);
}

fn check(record_bytes: usize, fields: &[KeyField], a: &[u8], b: &[u8]) {
    let layout = Layout::new(record_bytes, fields.to_vec()).unwrap();
    check_key(layout.rule(), fields, a, b);
    match layout.rule() {
        KeyRule::Plain(key) => check_key(key, fields, a, b),
        KeyRule::Little(key) => check_key(key, fields, a, b),
        KeyRule::Fields(key) => check_key(key, fields, a, b),
    }
    let mut part = VerifySummary::new(&layout);
    part.extend(a);
    part.extend(b);
    let found = match oracle(fields, a, b) {
        Ordering::Less => (0, 0),
        Ordering::Equal => (0, 1),
        Ordering::Greater => (1, 0),
    };
    assert_eq!((part.unordered(), part.duplicates()), found, "verifier");
}

/// Pairs of records that agree in most bytes, made of the bytes at which orders change.
fn pair(record_bytes: usize) -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let byte = || {
        prop_oneof![
            3 => prop::sample::select(&[0u8, 1, 0x3f, 0x7f, 0x80, 0xbf, 0xfe, 0xff, 0xf0][..]),
            1 => any::<u8>()
        ]
    };
    let record = prop::collection::vec(byte(), record_bytes);
    (record, prop::collection::vec(prop::option::weighted(0.15, byte()), record_bytes)).prop_map(
        |(a, changes)| {
            let b = a.iter().zip(changes).map(|(&byte, change)| change.unwrap_or(byte)).collect();
            (a, b)
        },
    )
}

fn fields_and_pair(
    fields: impl Strategy<Value = Vec<KeyField>>,
) -> impl Strategy<Value = (usize, Vec<KeyField>, (Vec<u8>, Vec<u8>))> {
    (fields, 0usize..12).prop_flat_map(|(fields, behind)| {
        // Fields may end with the record, and a record may be shorter than a word.
        let record_bytes =
            fields.iter().map(|field| field.offset + field.length).max().unwrap() + behind;
        (Just(record_bytes), Just(fields), pair(record_bytes))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn single_fields(
        (record_bytes, fields, (a, b)) in
            fields_and_pair(any_field().prop_map(|field| vec![field])),
    ) {
        check(record_bytes, &fields, &a, &b);
    }

    #[test]
    fn lists_of_fields(
        (record_bytes, fields, (a, b)) in fields_and_pair(prop::collection::vec(any_field(), 1..5)),
    ) {
        check(record_bytes, &fields, &a, &b);
    }

    /// A string, and fields that adjoin, as one plain key.
    #[test]
    fn plain_keys(
        lengths in prop::collection::vec(1usize..12, 1..4),
        offset in 0usize..10,
        behind in 0usize..9,
        seed in any::<u64>(),
    ) {
        let mut fields = Vec::new();
        let mut at = offset;
        for length in lengths {
            fields.push(KeyField { offset: at, length, kind: KeyKind::Bytes, descending: false });
            at += length;
        }
        let record = |seed: u64| -> Vec<u8> {
            (0..at + behind).map(|i| (seed >> (i % 8 * 8)) as u8 & 1).collect()
        };
        let layout = Layout::new(at + behind, fields.clone()).unwrap();
        prop_assert!(
            matches!(
                layout.rule(),
                KeyRule::Plain(key) if key == PlainKey::new(offset, at - offset)
            ),
        );
        check(at + behind, &fields, &record(seed), &record(seed ^ seed >> 32));
    }
}

/// Numbers at which the order of a type turns, in order; every pair of them in both byte orders and
/// directions.
#[test]
fn edges_of_every_number_type() {
    fn all_pairs(kind: fn(Endian) -> KeyKind, little: &[Vec<u8>]) {
        for (x, a) in little.iter().enumerate() {
            for (y, b) in little.iter().enumerate() {
                for descending in [false, true] {
                    let field = KeyField {
                        offset: 0,
                        length: a.len(),
                        kind: kind(Endian::Little),
                        descending,
                    };
                    let expected = if descending { y.cmp(&x) } else { x.cmp(&y) };
                    assert_eq!(oracle(&[field], a, b), expected);
                    check(a.len(), &[field], a, b);
                    let reversed = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<u8>>();
                    let field = KeyField { kind: kind(Endian::Big), ..field };
                    check(a.len(), &[field], &reversed(a), &reversed(b));
                }
            }
        }
    }
    macro_rules! integers {
        ($($type:ty => $kind:path),*) => {$(
            let (min, max) = (<$type>::MIN, <$type>::MAX);
            let mut edges = vec![min, min + 1, 0, 1, max / 2, max - 1, max];
            edges.push((0 as $type).wrapping_sub(1));
            edges.sort();
            edges.dedup();
            all_pairs(
                $kind,
                &edges.iter().map(|edge| edge.to_le_bytes().to_vec()).collect::<Vec<_>>(),
            );
        )*};
    }
    use KeyKind::{Signed, Unsigned};
    integers!(u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned, u128 => Unsigned);
    integers!(i8 => Signed, i16 => Signed, i32 => Signed, i64 => Signed, i128 => Signed);
    macro_rules! floats {
        ($($type:ty),*) => {$(
            let edges: &[$type] = &[
                -<$type>::NAN, <$type>::NEG_INFINITY, <$type>::MIN, -1.5, -1.0,
                -<$type>::MIN_POSITIVE, -<$type>::from_bits(1), -0.0,
                0.0, <$type>::from_bits(1), <$type>::MIN_POSITIVE, 1.0, 1.5,
                <$type>::MAX, <$type>::INFINITY, <$type>::NAN,
            ];
            all_pairs(
                KeyKind::Float,
                &edges.iter().map(|edge| edge.to_le_bytes().to_vec()).collect::<Vec<_>>(),
            );
        )*};
    }
    floats!(f32, f64);
}

/// A number that is none comes last either way, and -0 is 0.
#[test]
fn numbers_and_times_that_are_none() {
    let order = |text: &str, a: &[u8], b: &[u8]| {
        let field: KeyField = text.parse().unwrap();
        check(a.len(), &[field], a, b);
        let layout = Layout::new(a.len(), vec![field]).unwrap();
        layout.rule().compare(a, b)
    };
    let floats = [-f64::INFINITY, -1.5, -0.0, 1.5, f64::INFINITY, f64::NAN].map(f64::to_le_bytes);
    for pair in floats.windows(2) {
        assert_eq!(order("0:8:n64le", &pair[0], &pair[1]), Ordering::Less);
        let falls =
            if pair[1] == f64::NAN.to_le_bytes() { Ordering::Less } else { Ordering::Greater };
        assert_eq!(order("0:8:n64le:desc", &pair[0], &pair[1]), falls);
    }
    for (a, b) in [(0.0_f32, -0.0), (f32::NAN, -f32::NAN), (f32::NAN, f32::from_bits(0xffc0_0001))]
    {
        for text in ["0:4:n32be", "0:4:n32be:desc"] {
            assert_eq!(order(text, &a.to_be_bytes(), &b.to_be_bytes()), Ordering::Equal);
        }
    }
    // 1, infinity, NaN.
    for pair in [0x3c00_u16, 0x7c00, 0xfe00].map(u16::to_le_bytes).windows(2) {
        assert_eq!(order("0:2:n16", &pair[0], &pair[1]), Ordering::Less);
    }
    let times = [i64::MIN + 1, -1, 0, i64::MAX, i64::MIN].map(i64::to_le_bytes);
    for pair in times.windows(2) {
        assert_eq!(order("0:8:t64", &pair[0], &pair[1]), Ordering::Less);
    }
    assert_eq!(order("0:8:t64:desc", &times[4], &times[0]), Ordering::Greater);
    assert_eq!(order("0:8:t64:desc", &times[3], &times[2]), Ordering::Less);
}

/// Keys at the very start and end of records, down to records of one byte.
#[test]
fn plain_keys_in_short_records() {
    for record_bytes in 1..20 {
        let a: Vec<u8> = (1..=record_bytes as u8).collect();
        for offset in 0..record_bytes {
            for length in 1..=record_bytes - offset {
                let field = KeyField { offset, length, kind: KeyKind::Bytes, descending: false };
                for changed in 0..record_bytes {
                    let mut b = a.clone();
                    b[changed] += 1;
                    check_key(PlainKey::new(offset, length), &[field], &a, &b);
                    check(record_bytes, &[KeyField { descending: true, ..field }], &a, &b);
                }
            }
        }
    }
}

#[test]
fn little_keys_of_every_width() {
    let a: Vec<u8> = (0..20).map(|byte| byte * 7 + 1).collect();
    let b: Vec<u8> = a.iter().rev().copied().collect();
    for width in [1, 2, 4, 8, 16] {
        for offset in 0..=20 - width {
            let kind = KeyKind::Unsigned(Endian::Little);
            let field = KeyField { offset, length: width, kind, descending: false };
            check_key(LittleKey::new(offset, width), &[field], &a, &b);
        }
    }
}
