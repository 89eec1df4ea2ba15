//! What is taken for something else than records, and what never is.

use xsort_records::{Compression, Content, Format, GenerateSpec, Generator, Pattern};
use xsort_testing::Random;

fn generated(
    format: Format,
    pattern: Pattern,
    seed: u64,
    start: u128,
    records: u64,
    skewed: bool,
) -> Vec<u8> {
    let spec = GenerateSpec { format, skewed, pattern, start, seed, total: records };
    let generator = Generator::new(spec).unwrap();
    let mut bytes = vec![0; records as usize * format.record_bytes()];
    generator.fill(0, &mut bytes);
    bytes
}

/// As a reader sees the file.
fn of(file: &[u8]) -> Option<Content> {
    Content::of(&file[..file.len().min(Content::HEAD_BYTES)], file.len() <= Content::HEAD_BYTES)
}

#[test]
fn what_is_generated_is_known_by_any_of_its_records() {
    for &pattern in Pattern::all() {
        for (seed, start) in [(0, 0), (1, 0), (77, 1 << 90), (u64::MAX, 12_345)] {
            for records in [1, 3, 40, 41, 1000] {
                for skewed in [false, true] {
                    let skewed = skewed && pattern == Pattern::Uniform;
                    for format in [Format::Gensort, Format::GensortAscii] {
                        let file = generated(format, pattern, seed, start, records, skewed);
                        assert_eq!(
                            of(&file),
                            None,
                            "{format} {pattern} {seed} {start} {records} {skewed}"
                        );
                    }
                }
                let pairs = generated(Format::Kv128, pattern, seed, start, records, false);
                for first in [0, records as usize / 2, records as usize - 1] {
                    assert_eq!(of(&pairs[first * 128..]), Some(Content::Records(Format::Kv128)));
                }
            }
            let blocks = generated(Format::Block4k, pattern, seed, start, 2, false);
            assert_eq!(of(&blocks), Some(Content::Records(Format::Block4k)));
        }
    }
}

#[test]
fn text_is_text_in_any_language_and_with_any_line_ends() {
    let lines: String = (0..9000).map(|n| format!("{}\n", n * 7919 % 10_007)).collect();
    let russian = "Съешь же ещё этих мягких французских булок\n".repeat(300);
    let latin: Vec<u8> = b"na\xefve r\xe9sum\xe9s \x80 \xa7 caf\xe9\n".repeat(100);
    let sjis: Vec<u8> =
        b"\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83\x65\x83\x4c\x83\x58\x83\x67\r\n".repeat(60);
    let coloured = "\u{1b}[31mred\u{1b}[0m\talert\u{7}\u{8}\n".repeat(200);
    for text in [
        lines.as_bytes(),
        &lines.as_bytes()[..100],
        russian.as_bytes(),
        "\u{feff}a,b\r\n1,2\r\n".as_bytes(),
        &latin,
        &sjis,
        coloured.as_bytes(),
        lines.replace('\n', "\r\n").as_bytes(),
        lines.replace('\n', " ").as_bytes(),
        "x".repeat(200).as_bytes(),
        format!("{:99}\n", 7).repeat(70).as_bytes(),
        b"\n\n\n",
    ] {
        assert_eq!(of(text), Some(Content::Text), "{}", text.escape_ascii());
    }
    assert_eq!(of(b"/bin\0/etc/passwd\0"), Some(Content::NulText));
    let wide = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}Größe\r\n".repeat(9).encode_utf16().flat_map(bytes).collect()
    };
    for text in [wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
        assert!(matches!(of(&text), Some(Content::Other(_))));
    }
}

/// Text in the middle of which the head ends, and a file that ends there.
#[test]
fn a_head_may_end_within_a_character() {
    let text = "é".repeat(100);
    for end in 2..=text.len() {
        assert_eq!(Content::of(&text.as_bytes()[..end], false), Some(Content::Text));
    }
    assert_eq!(Content::of(&text.as_bytes()[..3], true), None);
}

#[test]
fn printable_records_are_no_text_if_each_is_a_line() {
    let record = |number: usize| format!("{:010}{number:10}{}\r\n", number * 7919, "A".repeat(78));
    let file: String = (0..100).map(record).collect();
    assert_eq!(of(file.as_bytes()), None);
    assert_eq!(of(&file.as_bytes()[..150]), None, "the size is judged by others");
    assert_eq!(of(&file.as_bytes()[1..]), Some(Content::Text), "lines that are cut");
    assert_eq!(of(file.replace("AAAA\r\n", "AA\r\n\r\n").as_bytes()), Some(Content::Text));
}

/// Records of zeros, numbers, padded names, random bytes of any length.
#[test]
fn bytes_of_any_kind_may_be_records() {
    assert_eq!(of(b""), None);
    assert_eq!(of(&[0; 200]), None);
    assert_eq!(of(&[0xff; 5000]), None);
    let padded: Vec<u8> =
        (0..50).flat_map(|n| format!("name{n:-<6}{}", "\0".repeat(90)).into_bytes()).collect();
    assert_eq!(of(&padded), None);
    let numbered: Vec<u8> =
        (0..50u64).flat_map(|n| [&(n * n).to_be_bytes()[..], &[7; 92]].concat()).collect();
    assert_eq!(of(&numbered), None);
    let mut random = Random::new(1);
    for round in 0..20_000 {
        let bytes = [100, 100, 200, 300, 600, 1000, 4096][round % 7];
        let file = random.bytes(bytes);
        assert_eq!(of(&file), None, "{}", file.escape_ascii());
    }
}

/// Records of 24 bytes were sorted as such of 100, without a word.
#[test]
fn records_of_another_size_are_known_by_their_fields() {
    let mut random = Random::new(3);
    let mut records = |bytes: usize, random_bytes: usize| -> Vec<u8> {
        let record = |n: u64| {
            let mut record = random.bytes(random_bytes);
            record.extend((n * n).to_le_bytes());
            record.resize(bytes, 0);
            record
        };
        (0..4000 / bytes as u64 * 10).flat_map(record).collect()
    };
    for (bytes, random_bytes) in [(8, 0), (24, 8), (32, 16), (64, 8), (12, 4), (128, 40)] {
        let found = of(&records(bytes, random_bytes));
        assert_eq!(found, Some(Content::Period(bytes)));
    }
    for random_bytes in [0, 10, 50, 92] {
        assert_eq!(of(&records(100, random_bytes)), None, "{random_bytes}");
    }
    // As the older generator of the Sort Benchmark makes them.
    let old = |n: u32| -> Vec<u8> {
        let digits: String =
            random.bytes(12).iter().map(|byte| format!("{:X}", byte % 16)).collect();
        let filler = digits.bytes().flat_map(|digit| [digit; 4]);
        let mut record = n.wrapping_mul(2_654_435_761).to_le_bytes().repeat(3)[..10].to_vec();
        record.extend([0, 0x11]);
        record.extend(format!("{n:032X}").bytes());
        record.extend([0x88, 0x99, 0xaa, 0xbb]);
        record.extend(filler);
        record.extend([0xcc, 0xdd, 0xee, 0xff]);
        record
    };
    let old: Vec<u8> = (0..50).flat_map(old).collect();
    assert_eq!((old.len(), of(&old)), (5000, None));
}

/// What `gzip`, `zstd`, `lz4`, `xz`, `bzip2`, `lzip`, `lzma`, `zip` and `7z` begin files with.
#[test]
fn compressed_files_are_known() {
    use Compression::*;
    for (head, expected) in [
        (&b"\x1f\x8b\x08\x08\x30\x11\x20\x65\0\x03text\0\x4b\x4c\x4a"[..], Gzip),
        (b"\x1f\x8b\x08\0\0\0\0\0\x04\xff\x01\x02\x03\x04\x05", Gzip),
        (b"\x28\xb5\x2f\xfd\x04\x58\x19\0\0\x61\x0a\x62", Zstandard),
        (b"\x50\x2a\x4d\x18\x04\0\0\0\x8a\x01\0\0\x28\xb5\x2f\xfd", Zstandard),
        (b"\x04\x22\x4d\x18\x64\x40\xa7\x04\0\0\x80\x61\x0a", Lz4),
        (b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46", Xz),
        (b"BZh91AY&SY\x0f\x1e", Bzip2),
        (b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0", Bzip2),
        (b"LZIP\x01\x0c\0\x30\x98", Lzip),
        (b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x30", Lzma),
        (b"PK\x03\x04\x14\0\0\0\x08\0", Zip),
        (b"7z\xbc\xaf\x27\x1c\0\x04", SevenZip),
    ] {
        assert_eq!(of(head), Some(Content::Compressed(expected)), "{}", head.escape_ascii());
        assert_eq!(Compression::detect(head), Some(expected));
    }
    // Bytes that can't come from gzip may be a record's; for whoever asked for gzip they are a
    // damaged one.
    for damaged in [
        &b"\x1f\x8b\x07\0\0\0\0\0\0\x03\0\0"[..],
        b"\x1f\x8b\x08\xff\0\0\0\0\0\x03\0\0",
        b"\x1f\x8b",
    ] {
        assert_eq!((of(damaged), Compression::detect(damaged)), (None, Some(Gzip)));
    }
    for (whole, expected) in [
        (&b"\x1f"[..], Some(Gzip)),
        (b"\x28\xb5", Some(Zstandard)),
        (b"\x04\x22\x4d", Some(Lz4)),
        (b"\xfd7zXZ", Some(Xz)),
        (b"(", None),
        (b"\xfd", None),
        (b"BZh9", None),
        (b"PK", None),
        (b"]\0", None),
        (b"", None),
        (b"\x1f\x20", None),
    ] {
        assert_eq!(Compression::detect_truncated(whole), expected, "{}", whole.escape_ascii());
    }
    for text in [&b"BZh9 is a line\n"[..], b"PK\n", b"7z\n", b"LZIP\0", b"]\0\0", b"(a)\n"] {
        assert_eq!(Compression::detect(text), None, "{}", text.escape_ascii());
    }
}

#[test]
fn databases_programs_and_archives_are_known() {
    let mut tar = b"name".to_vec();
    tar.resize(257, 0);
    tar.extend(b"ustar\x0000");
    let mut program = b"MZ\x90\0".to_vec();
    program.resize(60, 1);
    program.extend([0x80, 0, 0, 0]);
    program.resize(0x80, 7);
    program.extend(b"PE\0\0");
    for head in [
        &b"PAR1\x15\x04\x15"[..],
        b"ARROW1\0\0\xff\xff\xff\xff",
        b"SQLite format 3\0\x10\0\x01\x01",
        b"\x7fELF\x02\x01\x01\0\0\0\0\0",
        b"Obj\x01\x04\x14avro.codec",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n\0",
        b"\0\0\0\x20ftypisom\0\0\x02\0",
        &tar,
        &program,
    ] {
        assert!(matches!(of(head), Some(Content::Other(_))), "{}", head.escape_ascii());
    }
}

/// Each is one line, and names what to do.
#[test]
fn refusals_say_what_to_do() {
    for (content, way_out) in [
        (Content::Text, "'xsort lines'"),
        (Content::NulText, "'xsort lines -z'"),
        (Content::Records(Format::Kv128), "-f kv128"),
        (Content::Records(Format::Block4k), "-f block4k"),
        (Content::Compressed(Compression::Xz), "xz -dc"),
        (Content::Other("a Parquet file"), "a Parquet file"),
        (Content::Period(24), "--record 24"),
    ] {
        let text = content.to_string();
        assert!(
            text.contains(way_out) && text.ends_with("-f gensort") && !text.contains('\n'),
            "{text}"
        );
    }
}
