//! Which layouts there are, and which rule each gets.

use xsort_records::{
    Format, Key, KeyField, KeyRule, Layout, LayoutError, LittleKey, PlainKey, RECORD_BYTES_MAX,
};

fn fields(texts: &[&str]) -> Vec<KeyField> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn the_cheapest_rule_is_chosen() {
    for (texts, expected) in [
        (&["3:10"][..], Some(PlainKey::new(3, 10))),
        (&["3:8:u64be"], Some(PlainKey::new(3, 8))),
        (&["3:1:u8"], Some(PlainKey::new(3, 1))),
        (&["3:2", "5:4:u32be", "9:1:u8", "10:3"], Some(PlainKey::new(3, 10))),
        (&["3:2", "6:4"], None),
        (&["3:2", "4:4"], None),
        (&["5:2", "3:2"], None),
        (&["3:2", "5:2:desc"], None),
        (&["3:1:i8"], None),
        (&["3:4:f32be"], None),
        (&["3:2:u16le", "5:2"], None),
    ] {
        let layout = Layout::new(20, fields(texts)).unwrap();
        let plain = match layout.rule() {
            KeyRule::Plain(key) => Some(key),
            KeyRule::Fields(_) => None,
            KeyRule::Little(_) => panic!("{texts:?}"),
        };
        assert_eq!(plain, expected, "{texts:?}");
        assert_eq!(layout.rule().bytes(), layout.key_bytes());
    }
    for (text, expected) in
        [("4:16:u128le", LittleKey::new(4, 16)), ("4:2:u16", LittleKey::new(4, 2))]
    {
        let layout = Layout::new(20, fields(&[text])).unwrap();
        assert!(matches!(layout.rule(), KeyRule::Little(key) if key == expected), "{text}");
    }
}

#[test]
fn named_formats() {
    for (format, record_bytes, key_bytes) in [
        (Format::Gensort, 100, 10),
        (Format::GensortAscii, 100, 10),
        (Format::Kv128, 128, 16),
        (Format::Block4k, 4096, 4096),
    ] {
        let layout = format.layout();
        assert_eq!(
            (layout.record_bytes(), layout.key_bytes()),
            (record_bytes, key_bytes),
            "{format}"
        );
        assert_eq!(
            matches!(layout.rule(), KeyRule::Little(_)),
            format == Format::Kv128,
            "{format}"
        );
    }
}

#[test]
fn impossible_layouts_say_what_is_possible() {
    for (record_bytes, texts, advice) in [
        (0, &["0:1"][..], "from 1 to 16777216"),
        (RECORD_BYTES_MAX + 1, &["0:1"], "from 1 to 16777216"),
        (10, &[], "at least one field"),
        (10, &["0:11"], "OFFSET + LENGTH must be at most 10"),
        (10, &["3:8:u64le"], "key field 3:8:u64le ends past the record of 10 bytes"),
        (10, &["0:1", "10:1"], "key field 10:1"),
        (10, &["18446744073709551615:1"], "OFFSET + LENGTH"),
    ] {
        let error = Layout::new(record_bytes, fields(texts)).unwrap_err().to_string();
        assert!(error.contains(advice) && !error.contains('\n'), "{texts:?}: {error}");
    }
    let mut field = fields(&["0:8:u64le"])[0];
    for length in [0, 3, 32] {
        field.length = length;
        let error = Layout::new(100, vec![field]).unwrap_err();
        assert_eq!(error, LayoutError::FieldLength { field });
        assert!(error.to_string().contains("1, 2, 4, 8 or 16 bytes"), "{error}");
    }
}

#[test]
fn fields_may_overlap_and_fill_the_largest_record() {
    let layout = Layout::new(10, fields(&["0:10", "2:8:i64le", "0:10:desc"])).unwrap();
    assert_eq!((layout.key_bytes(), layout.fields().len()), (28, 3));
    let text = format!("0:{RECORD_BYTES_MAX}");
    assert!(Layout::new(RECORD_BYTES_MAX, fields(&[&text])).is_ok());
}
