//! The text of a key field, and what its errors say.

use proptest::prelude::*;
use xsort_records::{Endian, KeyField, KeyKind};

fn field(offset: usize, length: usize, kind: KeyKind, descending: bool) -> KeyField {
    KeyField { offset, length, kind, descending }
}

#[test]
fn texts_and_their_fields() {
    use Endian::{Big, Little};
    use KeyKind::{Bytes, Float, Signed, Unsigned};
    for (text, expected, printed) in [
        ("0:10", field(0, 10, Bytes, false), "0:10"),
        ("0:10:bytes", field(0, 10, Bytes, false), "0:10"),
        ("7:3:desc", field(7, 3, Bytes, true), "7:3:desc"),
        ("7:3:asc", field(7, 3, Bytes, false), "7:3"),
        ("7:3:bytes:desc", field(7, 3, Bytes, true), "7:3:desc"),
        ("0:1:u8", field(0, 1, Unsigned(Little), false), "0:1:u8"),
        ("0:1:i8:desc", field(0, 1, Signed(Little), true), "0:1:i8:desc"),
        ("0:2:u16", field(0, 2, Unsigned(Little), false), "0:2:u16le"),
        ("0:2:u16be", field(0, 2, Unsigned(Big), false), "0:2:u16be"),
        ("8:4:i32le:asc", field(8, 4, Signed(Little), false), "8:4:i32le"),
        ("8:8:u64be:desc", field(8, 8, Unsigned(Big), true), "8:8:u64be:desc"),
        ("0:16:u128le", field(0, 16, Unsigned(Little), false), "0:16:u128le"),
        ("0:16:i128", field(0, 16, Signed(Little), false), "0:16:i128le"),
        ("3:4:f32be", field(3, 4, Float(Big), false), "3:4:f32be"),
        ("3:8:f64:desc", field(3, 8, Float(Little), true), "3:8:f64le:desc"),
        ("3:2:n16", field(3, 2, KeyKind::Number(Little), false), "3:2:n16le"),
        ("3:8:t64be:desc", field(3, 8, KeyKind::Time(Big), true), "3:8:t64be:desc"),
        ("007:010", field(7, 10, Bytes, false), "7:10"),
    ] {
        assert_eq!(text.parse(), Ok(expected), "{text}");
        assert_eq!(expected.to_string(), printed);
        assert_eq!(printed.parse(), Ok(expected), "{printed}");
    }
}

/// Each error is one line, repeats the text, and says what to write instead.
#[test]
fn errors_say_what_to_write() {
    for (text, advice) in [
        ("", "write OFFSET:LENGTH[:TYPE][:desc]"),
        ("10", "write OFFSET:LENGTH[:TYPE][:desc]"),
        (":10", "write OFFSET as decimal bytes"),
        ("0:", "write LENGTH as decimal bytes"),
        ("8::u64le", "write LENGTH as decimal bytes"),
        ("+1:10", "write OFFSET as decimal bytes"),
        ("0: 10", "write LENGTH as decimal bytes"),
        ("0x10:4", "write OFFSET as decimal bytes"),
        ("-1:4", "write OFFSET as decimal bytes"),
        ("0:0", "write the number of bytes"),
        ("99999999999999999999:4", "larger than any record"),
        ("0:8:u64:down", "write asc or desc"),
        ("0:8:desc:u64", "write asc or desc"),
        ("0:8:u64:desc:asc", "too many parts"),
        ("0:8:long", "write bytes, u8, u16le"),
        ("0:8:U64", "write bytes, u8, u16le"),
        ("0:8:", "write bytes, u8, u16le"),
        ("0:8:u24le", "write bytes, u8, u16le"),
        ("0:2:f16", "write bytes, u8, u16le"),
        ("0:4:bytesle", "write bytes, u8, u16le"),
        ("0:8:le", "write bytes, u8, u16le"),
        ("5:1:u8le", "write 5:1:u8"),
        ("5:1:i8be", "write 5:1:i8"),
        ("5:4:u64be", "write 5:8:u64be"),
        ("5:8:f32:desc", "write 5:4:f32"),
        ("0:8:desc:desc", "'desc' is no type"),
    ] {
        let error = text.parse::<KeyField>().unwrap_err().to_string();
        assert!(error.contains(advice) && error.contains(&format!("'{text}'")), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

/// A field of any kind, with a byte order that its text can express.
pub(crate) fn any_field() -> impl Strategy<Value = KeyField> {
    let kinds = prop_oneof![
        (1usize..20).prop_map(|length| (KeyKind::Bytes, length)),
        (0u32..5, any::<bool>(), any::<bool>()).prop_map(|(log, signed, big)| {
            let endian = if big && log > 0 { Endian::Big } else { Endian::Little };
            let kind = if signed { KeyKind::Signed(endian) } else { KeyKind::Unsigned(endian) };
            (kind, 1 << log)
        }),
        (2u32..4, any::<bool>()).prop_map(|(log, big)| {
            (KeyKind::Float(if big { Endian::Big } else { Endian::Little }), 1 << log)
        }),
        (1u32..4, any::<bool>()).prop_map(|(log, big)| {
            (KeyKind::Number(if big { Endian::Big } else { Endian::Little }), 1 << log)
        }),
        any::<bool>()
            .prop_map(|big| { (KeyKind::Time(if big { Endian::Big } else { Endian::Little }), 8) }),
    ];
    (0usize..12, kinds, any::<bool>())
        .prop_map(|(offset, (kind, length), descending)| field(offset, length, kind, descending))
}

proptest! {
    #[test]
    fn parses_as_it_prints(field in any_field()) {
        prop_assert_eq!(field.to_string().parse(), Ok(field));
    }

    #[test]
    fn no_text_panics(text in "[0-9:a-z +-]{0,24}") {
        let _ = text.parse::<KeyField>();
    }
}
